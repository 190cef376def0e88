//! `strata offload`.

use crate::args::Offload;
use crate::output::{self, Failure};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use strata_lab::LabError;
use strata_lab::offload::{assumptions_json, search_file};

pub(crate) fn offload(args: &Offload) -> Result<ExitCode, Failure> {
    let assumptions = args.assumptions()?;
    let (mut files, mut faulty) = (Vec::new(), false);
    for path in &args.files {
        let found = match search_file(path, &assumptions) {
            Ok(found) => found,
            Err(error) => {
                output::message(&format!("{}\n", error.render(output::colours())));
                faulty = true;
                files.push(unreadable_file(path, &error));
                continue;
            }
        };
        faulty |= found.errors() > 0;
        output::message(&found.rendered(output::colours()));
        if args.json {
            files.push(found.to_json());
        } else if found.errors() == 0 {
            output::text(&found.table())?;
        }
    }
    if args.json {
        output::json(&json!({ "files": files, "assumptions": assumptions_json(&assumptions) }))?;
    }
    Ok(if faulty { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Scripts that search many files find each of them in the list.
fn unreadable_file(path: &Path, error: &LabError) -> Value {
    let diagnostic = json!({ "severity": "error", "message": error.to_string() });
    json!({
        "path": path.display().to_string(),
        "errors": 1,
        "diagnostics": [diagnostic],
        "examined": 0,
        "candidates": [],
        "refused_loops": [],
        "dropped": [],
    })
}
