//! The published coverage table is what the instruction table says.

use std::path::Path;

#[test]
fn the_published_table_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ptx-coverage.md");
    let current = strata_ptx::coverage_table();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &current).expect("docs/ptx-coverage.md can be written");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == current, "docs/ptx-coverage.md is stale: run the tests once with UPDATE_DOCS=1");
}
