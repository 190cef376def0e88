//! `strata validate`.

use crate::args::Validate;
use crate::output::{self, Failure};
use crate::progress::Series;
use std::process::ExitCode;
use strata_lab::validate::{ValidateRequest, validate as compare};

pub(crate) fn validate(args: Validate) -> Result<ExitCode, Failure> {
    let mut line = Series::new();
    let request = ValidateRequest { gpu: args.gpu, set: args.set };
    let validation = compare(&request, &mut |step| line.begins(step.done, step.of, step.name))?;
    drop(line);
    if args.json {
        output::json(&validation.to_json())?;
    } else {
        output::text(&validation.table())?;
    }
    for failure in &validation.failures {
        output::message(&format!("error: {failure}\n"));
    }
    Ok(if validation.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
