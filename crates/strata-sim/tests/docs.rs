//! The published documents are what the structures and the presets say. `UPDATE_DOCS=1` writes them anew.

use std::path::PathBuf;
use strata_sim::config::{calibration, key_reference};

fn document(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[track_caller]
fn check(name: &str, current: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(document(name), current).expect("the document can be written");
    }
    let published = std::fs::read_to_string(document(name)).unwrap_or_default();
    assert!(published == current, "docs/{name} is stale: run the tests once with UPDATE_DOCS=1");
}

#[test]
fn the_calibration_document_is_current() {
    check("calibration.md", &calibration().expect("presets are sound"));
}

#[test]
fn the_key_reference_is_current() {
    const BEGIN: &str = "<!-- The rest of this file is made by a test from the configuration itself. -->\n";
    let published = std::fs::read_to_string(document("configuration.md")).expect("the document");
    let (words, _) = published.split_once(BEGIN).expect("the place where the reference begins");
    check("configuration.md", &format!("{words}{BEGIN}{}", key_reference()));
}
