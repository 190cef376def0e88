//! `strata check`.

use super::files::{Told, look_at};
use crate::args::Check;
use crate::output::{self, Failure};
use serde_json::json;
use std::process::ExitCode;
use strata_lab::ptx_check::check_file;

pub(crate) fn check(args: &Check) -> Result<ExitCode, Failure> {
    let files = look_at(&args.files, args.json, &json!({ "unsupported": [], "kernels": [] }), |path| {
        let facts = check_file(path)?;
        let diagnostics = facts.rendered(output::colours());
        Ok(Told { errors: facts.errors(), diagnostics, json: facts.to_json(), table: Some(facts.table()) })
    })?;
    if args.json {
        output::json(&json!({ "files": files.json }))?;
    }
    Ok(match (files.unreadable, files.faulty) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::SUCCESS,
    })
}
