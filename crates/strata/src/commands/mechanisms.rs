//! `strata mechanisms`.

use crate::args::Mechanisms;
use crate::output::{self, Failure};
use std::process::ExitCode;
use strata_lab::Registry;
use strata_lab::mechanisms::{list_table, table, to_json};

pub(crate) fn list(args: &Mechanisms, registry: &Registry) -> Result<ExitCode, Failure> {
    let mechanisms = match &args.name {
        Some(name) => vec![registry.find(name)?.clone()],
        None => registry.all().to_vec(),
    };
    match (args.json, &args.name, &mechanisms[..]) {
        (true, ..) => output::json(&to_json(&mechanisms))?,
        (false, Some(_), [mechanism]) => output::text(&table(&**mechanism))?,
        _ => output::text(&list_table(&mechanisms))?,
    }
    Ok(ExitCode::SUCCESS)
}
