//! `strata report`.

use crate::args::Report;
use crate::output::{self, Failure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strata_lab::LabError;
use strata_lab::report::{Document, from_saved};
use strata_lab::sweep::show::{Results, find};

/// Files that hold a result, in the order in which a folder is searched.
const FILES: [&str; 3] = ["compare.json", "reproduction.json", "result.json"];

/// What a point of a store holds.
const RECORD: &str = "point.json";

pub(crate) fn report(args: &Report) -> Result<ExitCode, Failure> {
    let document = document(&args.results)?;
    let page = document.html();
    strata_lab::write_text(&args.output, &page)?;
    if args.json {
        output::json(&json!({ "report": args.output.display().to_string(), "bytes": page.len() }))?;
    } else {
        output::text(&format!("{} ({:.1} kB)\n", args.output.display(), page.len() as f64 / 1e3))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A document of files and folders.
pub(super) fn document(results: &[PathBuf]) -> Result<Document, LabError> {
    let read = |path: &PathBuf| Ok((path.display().to_string(), saved(path)?));
    let all = results.iter().map(read).collect::<Result<Vec<_>, LabError>>()?;
    from_saved(&all).map_err(LabError::Request)
}

/// The JSON object of a result.
fn saved(path: &Path) -> Result<Value, LabError> {
    let file = if path.is_dir() {
        FILES.map(|name| path.join(name)).into_iter().find(|file| file.is_file())
    } else {
        Some(path.to_owned())
    };
    let is_table = |file: &Path| file.extension().is_some_and(|ending| ending == "parquet");
    match file {
        Some(file) if !is_table(&file) => {
            let text = std::fs::read(&file).map_err(|e| LabError::io("read", &file, e))?;
            let mut value: Value = serde_json::from_slice(&text).map_err(|e| {
                LabError::Request(format!(
                    "`{}` is no JSON: {e}; name a saved result, such as `result.json` of a run",
                    file.display()
                ))
            })?;
            // A result knows where it was made; it may have been moved since.
            if let (Some(host), Some(folder)) = (value.get_mut("host").and_then(Value::as_object_mut), file.parent()) {
                host.insert("directory".to_owned(), json!(folder.display().to_string()));
            }
            Ok(value)
        }
        _ => match find(path) {
            Ok(table) => {
                let results = Results::read(&table)?;
                results.to_json(&results.all(), &[])
            }
            // A sweep that still runs, or several in one store.
            Err(error) => points(path).ok_or(error),
        },
    }
}

/// The points of a store so far, as rows.
fn points(store: &Path) -> Option<Value> {
    let below = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        all.sort();
        all
    };
    let records = below(&store.join("points")).into_iter().flat_map(|group| below(&group));
    let rows: Vec<Value> = records
        .filter_map(|point| serde_json::from_slice(&std::fs::read(point.join(RECORD)).ok()?).ok())
        .map(|record: Value| {
            let mut row = json!({});
            for key in ["name", "size", "seed", "gpu", "with"] {
                row[key] = record[key].clone();
            }
            for (key, value) in record["settings"].as_object().into_iter().flatten() {
                row[key] = value.clone();
            }
            for key in ["cycles", "ipc"] {
                row[key] = record["totals"][key].clone();
            }
            row["gpu.energy.total"] = record["stats"]["gpu.energy.total"][0].clone();
            row["passed"] = record["passed"].clone();
            row
        })
        .collect();
    (!rows.is_empty()).then(|| json!({ "rows": rows }))
}
