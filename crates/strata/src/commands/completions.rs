//! `strata completions`.

use crate::args::{Arguments, Completions};
use crate::output::{self, Failure};
use clap::CommandFactory;
use std::process::ExitCode;

pub(crate) fn print(args: &Completions) -> Result<ExitCode, Failure> {
    // Into memory first: the generator panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "strata", &mut script);
    output::text(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
