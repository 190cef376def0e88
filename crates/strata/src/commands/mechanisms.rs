//! `strata mechanisms`.

use crate::args::Mechanisms;
use crate::output::{self, Failure};
use std::process::ExitCode;
use strata_lab::mechanisms::{table, to_json};

pub(crate) fn list(args: &Mechanisms) -> Result<ExitCode, Failure> {
    if args.json {
        output::json(&to_json())?;
    } else {
        output::text(&table())?;
    }
    Ok(ExitCode::SUCCESS)
}
