//! `strata mechanisms`.

use crate::args::Mechanisms;
use crate::output::{self, Failure};
use std::process::ExitCode;
use strata_lab::Registry;
use strata_lab::mechanisms::{list_table, matrix, matrix_json, table, to_json};

pub(crate) fn list(args: &Mechanisms, registry: &Registry) -> Result<ExitCode, Failure> {
    let mechanisms = match &args.name {
        Some(name) => vec![registry.find(name)?.clone()],
        None => registry.all().to_vec(),
    };
    if args.matrix {
        if args.json {
            output::json(&matrix_json(registry))?;
        } else {
            output::text(&matrix(registry))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    match (args.json, &args.name, &mechanisms[..]) {
        (true, ..) => output::json(&to_json(&mechanisms))?,
        (false, Some(_), [mechanism]) => output::text(&table(&**mechanism))?,
        _ => output::text(&list_table(&mechanisms))?,
    }
    Ok(ExitCode::SUCCESS)
}
