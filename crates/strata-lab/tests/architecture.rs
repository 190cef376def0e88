//! ARCHITECTURE.md says which crates of others are used and why: it is true to the manifests, both ways.

use std::collections::BTreeSet;
use std::path::Path;
use toml::Table;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn manifest(path: &Path) -> Table {
    text(path).parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn names(dependencies: Option<&toml::Value>) -> BTreeSet<String> {
    dependencies.and_then(toml::Value::as_table).into_iter().flat_map(|t| t.keys().cloned()).collect()
}

fn is_ours(name: &str) -> bool {
    name.starts_with("strata")
}

/// The crates of others that the workspace declares.
fn declared() -> BTreeSet<String> {
    let root = manifest(&Path::new(ROOT).join("Cargo.toml"));
    let mut all = names(root["workspace"].get("dependencies"));
    all.retain(|name| !is_ours(name));
    all
}

#[test]
fn the_table_of_dependencies_names_what_is_declared() {
    let page = text(&Path::new(ROOT).join("ARCHITECTURE.md"));
    let section = page.split("\n## ").find(|s| s.starts_with("Dependencies")).expect("a section on dependencies");
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|line| line.split('|').next());
    let listed: BTreeSet<String> =
        cells.flat_map(|cell| cell.split(',').map(|name| name.trim().trim_matches('`').to_owned())).collect();
    assert_eq!(listed, declared());
}

#[test]
fn every_declared_crate_is_used() {
    let folders = std::fs::read_dir(Path::new(ROOT).join("crates")).expect("the crates");
    let mut used = BTreeSet::new();
    for folder in folders {
        let member = manifest(&folder.expect("an entry").path().join("Cargo.toml"));
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            used.extend(names(member.get(kind)));
        }
    }
    used.retain(|name| !is_ours(name));
    assert_eq!(used, declared());
}
