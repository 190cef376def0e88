//! Files that users keep still load: GPU files, launch files and a trace as they were in November 2026.
//!
//! The files beside this one are not to be brought up to date; what replaces a key or a format reads the old one, too. The
//! GPUs are the presets of then with all their bases, the trace has format 1.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compatibility");

/// GPU files and the cycles that `pipeline.toml` took on each. A change of the model changes these numbers, and the
/// committed digests of the model with them; a change of how files are read does not.
const GPUS: [(&str, u64); 2] = [("cmd-gddr6-l2-5mb.toml", 17_399), ("ndp-maxwell.toml", 3_530)];

/// The standard output of `strata ARGS… --json`.
fn strata(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_strata")).args(args).arg("--json").current_dir(FOLDER).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON object")
}

fn run(what: &str, gpu: &str, out: &Path) -> Value {
    strata(&["run", what, "--gpu", gpu, "--out", out.to_str().expect("a path of text")])
}

#[test]
fn old_traces_on_old_gpus_take_the_cycles_of_their_programs() {
    assert_eq!(strata(&["trace", "info", "pipeline.strata-trace"])["format"], 1);
    let folder = tempfile::tempdir().expect("a folder");
    for (gpu, cycles) in GPUS {
        let [replayed, executed] = ["pipeline.strata-trace", "pipeline.toml"].map(|what| run(what, gpu, folder.path()));
        assert_eq!(replayed["cycles"], cycles, "{gpu}");
        assert_eq!(executed["passed"], true, "{gpu}");
        for key in ["cycles", "kernels", "stats", "thread_instructions"] {
            assert_eq!(replayed[key], executed[key], "{gpu}: {key}");
        }
    }
}

#[test]
fn the_example_of_old_still_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let result = strata(&["run", "vecadd.toml", "--out", folder.path().to_str().expect("a path of text")]);
    assert_eq!((&result["passed"], &result["thread_instructions"]), (&true.into(), &22_192.into()));
}

#[test]
fn old_gpus_inherit_as_they_did() {
    let parameters = |gpu: &str| strata(&["gpus", gpu])["gpus"][0]["parameters"].clone();
    let origin = |parameters: &Value, key: &str| {
        let found = parameters.as_array().expect("a list").iter().find(|p| p["key"] == key).expect("a parameter");
        (found["value"].clone(), found["from"].clone())
    };
    let larger = parameters("cmd-gddr6-l2-5mb.toml");
    assert_eq!(origin(&larger, "l2.ways"), ("20".into(), "cmd-gddr6-l2-5mb.toml".into()));
    assert_eq!(origin(&larger, "isa.fuse_wide"), ("true".into(), "isa-volta.toml".into()));
    let stacked = parameters("ndp-maxwell.toml");
    assert_eq!(origin(&stacked, "sm.count"), ("64".into(), "ndp-maxwell.toml".into()));
    assert_eq!(origin(&stacked, "isa.fuse_wide"), ("false".into(), "isa-pascal.toml".into()));
}
