//! `strata check`.

use crate::args::Check;
use crate::output::{self, Failure};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use strata_lab::LabError;
use strata_lab::ptx_check::check_file;

pub(crate) fn check(args: &Check) -> Result<ExitCode, Failure> {
    let (mut files, mut unreadable, mut faulty) = (Vec::new(), false, false);
    for path in &args.files {
        let facts = match check_file(path) {
            Ok(facts) => facts,
            Err(error) => {
                output::message(&format!("{}\n", error.render(output::colours())));
                unreadable = true;
                files.push(unreadable_file(path, &error));
                continue;
            }
        };
        faulty |= facts.errors() > 0;
        output::message(&facts.rendered(output::colours()));
        if args.json {
            files.push(facts.to_json());
        } else {
            output::text(&facts.table())?;
        }
    }
    if args.json {
        output::json(&json!({ "files": files }))?;
    }
    Ok(match (unreadable, faulty) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::FAILURE,
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Scripts that check many files find each of them in the list.
fn unreadable_file(path: &Path, error: &LabError) -> Value {
    let diagnostic = json!({ "severity": "error", "message": error.to_string() });
    json!({
        "path": path.display().to_string(),
        "errors": 1,
        "diagnostics": [diagnostic],
        "unsupported": [],
        "kernels": [],
    })
}
