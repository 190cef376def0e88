//! `strata workloads`.

use crate::args::Workloads;
use crate::output::{self, Failure};
use serde_json::json;
use std::process::ExitCode;
use strata_lab::table::{Align, columns};
use strata_lab::workloads;

pub(crate) fn list(args: &Workloads) -> Result<ExitCode, Failure> {
    let infos: Vec<_> = workloads().collect();
    if args.json {
        let list: Vec<_> = infos
            .iter()
            .map(|w| {
                let sizes: Vec<_> = w.sizes.iter().map(|s| s.name()).collect();
                json!({
                    "name": w.name,
                    "suite": w.suite,
                    "papers": w.papers,
                    "sizes": sizes,
                    "description": w.description,
                })
            })
            .collect();
        output::json(&json!({ "workloads": list }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let headings = [
        ("name", Align::Left),
        ("suite", Align::Left),
        ("papers", Align::Left),
        ("sizes", Align::Left),
        ("description", Align::Left),
    ];
    let rows: Vec<_> = infos
        .iter()
        .map(|w| {
            let sizes: Vec<_> = w.sizes.iter().map(|s| s.name()).collect();
            vec![w.name.into(), w.suite.into(), w.papers.join(" "), sizes.join(" "), w.description.into()]
        })
        .collect();
    output::text(&columns(&headings, &rows))?;
    Ok(ExitCode::SUCCESS)
}
