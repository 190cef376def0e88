//! `strata bench`.

use crate::args::Bench;
use crate::output::{self, Failure};
use crate::progress::Series;
use std::process::ExitCode;
use strata_lab::bench::measure;

pub(crate) fn bench(args: &Bench) -> Result<ExitCode, Failure> {
    let mut line = Series::new();
    let speeds = measure(&args.gpu, &args.set, &mut |step| line.begins(step.done, step.of, step.name))?;
    drop(line);
    if args.json {
        output::json(&speeds.to_json())?;
    } else {
        output::text(&speeds.table())?;
    }
    for failure in &speeds.failures {
        output::message(&format!("error: {failure}\n"));
    }
    Ok(if speeds.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
