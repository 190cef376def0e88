//! Commands that look at one file after another.

use crate::output::{self, Failure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use strata_lab::LabError;

/// What a file told.
pub(crate) struct Told {
    pub(crate) errors: usize,
    /// Errors and warnings, rendered.
    pub(crate) diagnostics: String,
    pub(crate) json: Value,
    /// For people, unless there is nothing to show.
    pub(crate) table: Option<String>,
}

/// What all files told together.
pub(crate) struct Files {
    /// One object per file, if JSON was asked for or the file could not be read.
    pub(crate) json: Vec<Value>,
    pub(crate) unreadable: bool,
    pub(crate) faulty: bool,
}

/// Looks at each file and prints what it told, but for JSON. Of one that cannot be read the object ends like `blank`, so that scripts
/// that look at many files find each of them in the list.
pub(crate) fn look_at(
    paths: &[PathBuf],
    json: bool,
    blank: &Value,
    look: impl Fn(&Path) -> Result<Told, LabError>,
) -> Result<Files, Failure> {
    let mut files = Files { json: Vec::new(), unreadable: false, faulty: false };
    for path in paths {
        let told = match look(path) {
            Ok(told) => told,
            Err(error) => {
                output::message(&format!("{}\n", error.render(output::colours())));
                files.unreadable = true;
                files.json.push(unreadable(path, &error, blank));
                continue;
            }
        };
        files.faulty |= told.errors > 0;
        output::message(&told.diagnostics);
        if json {
            files.json.push(told.json);
        } else if let Some(table) = told.table {
            output::text(&table)?;
        }
    }
    Ok(files)
}

fn unreadable(path: &Path, error: &LabError, blank: &Value) -> Value {
    let diagnostic = json!({ "severity": "error", "message": error.to_string() });
    let mut file = json!({ "path": path.display().to_string(), "errors": 1, "diagnostics": [diagnostic] });
    for (key, value) in blank.as_object().into_iter().flatten() {
        file[key] = value.clone();
    }
    file
}
