//! `strata mechanisms`.

use crate::args::Mechanisms;
use crate::output::{self, Failure};
use std::process::ExitCode;
use strata_lab::mechanisms::{list_table, named_or_all, table, to_json};

pub(crate) fn list(args: &Mechanisms) -> Result<ExitCode, Failure> {
    let mechanisms = named_or_all(args.name.as_deref())?;
    match (args.json, &args.name, &mechanisms[..]) {
        (true, ..) => output::json(&to_json(&mechanisms))?,
        (false, Some(_), [mechanism]) => output::text(&table(*mechanism))?,
        _ => output::text(&list_table(&mechanisms))?,
    }
    Ok(ExitCode::SUCCESS)
}
