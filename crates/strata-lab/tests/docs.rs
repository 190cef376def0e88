//! `docs/mechanisms.md` is what the code says. `UPDATE_DOCS=1` writes it anew.

use std::path::Path;

#[test]
fn mechanisms_are_documented_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mechanisms.md");
    let current = strata_lab::mechanisms::reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &current).expect("docs can be written");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == current, "docs/mechanisms.md is stale: run the tests once with UPDATE_DOCS=1");
}
