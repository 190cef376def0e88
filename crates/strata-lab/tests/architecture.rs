//! ARCHITECTURE.md says which crates of others are used and why: it is true to the manifests, both ways. And which of our own
//! crates each may know.

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

/// Which of our crates each may depend on, beside `strata-core`: what is not here it must not know.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("strata", &["strata-lab"]),
    ("strata-buddy", &["strata-codec", "strata-heatmap", "strata-mechanism", "strata-sim"]),
    ("strata-cmd", &["strata-mechanism", "strata-sim"]),
    ("strata-codec", &[]),
    ("strata-core", &[]),
    (
        "strata-cuda",
        &[
            "strata-cudart",
            "strata-emu",
            "strata-host",
            "strata-mechanism",
            "strata-ptx",
            "strata-run",
            "strata-sim",
            "strata-workloads",
        ],
    ),
    ("strata-cudart", &[]),
    ("strata-emu", &["strata-ptx"]),
    ("strata-heatmap", &[]),
    ("strata-host", &[]),
    (
        "strata-lab",
        &["strata-cuda", "strata-mechanism", "strata-run", "strata-studies", "strata-sweep", "strata-tensors"],
    ),
    ("strata-learn", &[]),
    ("strata-mechanism", &["strata-sim"]),
    ("strata-parquet", &[]),
    ("strata-prefetch", &["strata-mechanism", "strata-sim"]),
    ("strata-ptx", &[]),
    (
        "strata-run",
        &[
            "strata-emu",
            "strata-host",
            "strata-mechanism",
            "strata-parquet",
            "strata-ptx",
            "strata-sim",
            "strata-source",
            "strata-trace",
            "strata-workloads",
        ],
    ),
    ("strata-sim", &[]),
    ("strata-source", &[]),
    ("strata-srrip", &["strata-mechanism", "strata-sim"]),
    (
        "strata-studies",
        &[
            "strata-buddy",
            "strata-cmd",
            "strata-codec",
            "strata-emu",
            "strata-heatmap",
            "strata-host",
            "strata-learn",
            "strata-mechanism",
            "strata-prefetch",
            "strata-ptx",
            "strata-run",
            "strata-sim",
            "strata-source",
            "strata-srrip",
            "strata-sweep",
            "strata-tensors",
            "strata-tom",
            "strata-uvm",
            "strata-workloads",
        ],
    ),
    ("strata-sweep", &["strata-mechanism", "strata-parquet", "strata-run"]),
    ("strata-tensors", &["strata-buddy", "strata-codec", "strata-heatmap", "strata-run"]),
    ("strata-testkit", &["strata-sim"]),
    ("strata-tom", &["strata-mechanism", "strata-ptx", "strata-sim"]),
    ("strata-trace", &["strata-ptx"]),
    ("strata-uvm", &["strata-heatmap", "strata-learn", "strata-mechanism", "strata-parquet", "strata-sim"]),
    ("strata-workloads", &["strata-host"]),
    (
        "stratasim",
        &[
            "strata",
            "strata-host",
            "strata-lab",
            "strata-mechanism",
            "strata-parquet",
            "strata-ptx",
            "strata-run",
            "strata-sim",
        ],
    ),
];

#[test]
fn no_crate_knows_more_than_it_may() {
    let folders = std::fs::read_dir(Path::new(ROOT).join("crates")).expect("the crates");
    for folder in folders {
        let member = manifest(&folder.expect("an entry").path().join("Cargo.toml"));
        let name = member["package"]["name"].as_str().expect("a name");
        let (_, may) =
            MAY_KNOW.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}: what may it know?"));
        let known =
            names(member.get("dependencies")).into_iter().filter(|other| is_ours(other) && other != "strata-core");
        let too_much: Vec<String> = known.filter(|other| !may.contains(&other.as_str())).collect();
        assert!(too_much.is_empty(), "{name} must not know {too_much:?}");
    }
}
