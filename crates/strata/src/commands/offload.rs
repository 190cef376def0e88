//! `strata offload`.

use super::files::{Told, look_at};
use crate::args::Offload;
use crate::output::{self, Failure};
use serde_json::json;
use std::process::ExitCode;
use strata_lab::candidates::{assumptions_json, search_file};

pub(crate) fn offload(args: &Offload) -> Result<ExitCode, Failure> {
    let assumptions = args.assumptions()?;
    let nothing = json!({ "examined": 0, "candidates": [], "refused_loops": [], "dropped": [] });
    let files = look_at(&args.files, args.json, &nothing, |path| {
        let found = search_file(path, &assumptions)?;
        let (errors, diagnostics) = (found.errors(), found.rendered(output::colours()));
        Ok(Told { errors, diagnostics, json: found.to_json(), table: (errors == 0).then(|| found.table()) })
    })?;
    if args.json {
        output::json(&json!({ "files": files.json, "assumptions": assumptions_json(&assumptions) }))?;
    }
    Ok(if files.unreadable || files.faulty { ExitCode::from(2) } else { ExitCode::SUCCESS })
}
