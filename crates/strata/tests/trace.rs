//! `strata trace` from the command line to the replay of what it wrote.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn strata(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_strata")).args(args).current_dir(folder).output().expect("it runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON object")
}

const FILE: &str = "matmul.strata-trace";

#[test]
fn a_program_is_recorded_shown_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let recorded = strata(folder.path(), &["trace", "record", "matmul-tiled", "--size", "tiny", "-o", FILE]);
    assert_eq!(recorded.status.code(), Some(0), "{}", String::from_utf8_lossy(&recorded.stderr));
    assert_eq!(String::from_utf8_lossy(&recorded.stderr), format!("recorded in {FILE}\n"));

    let shown = strata(folder.path(), &["trace", "info", FILE]);
    assert_eq!(shown.stdout, recorded.stdout);
    let text = String::from_utf8_lossy(&shown.stdout);
    let mut lines = text.lines();
    let head = lines.next().expect("a line");
    assert!(head.starts_with("matmul-tiled (tiny, seed 1): 1 launches, "), "{head}");
    assert!(text.contains("\nmatmul_tiled         1     4             33,024          17,536"), "{text}");

    let info = json(&strata(folder.path(), &["trace", "info", FILE, "--json"]));
    let file = std::fs::metadata(folder.path().join(FILE)).expect("there");
    assert_eq!(info["bytes"], file.len());
    assert_eq!((&info["warp_instructions"], &info["ctas"]), (&33_024.into(), &4.into()));
    assert_eq!(info["launches"][0]["name"], "matmul_tiled");
    let ratio = info["ratio"].as_f64().expect("a number");
    assert!(ratio > 20.0, "{ratio}");

    let timed = |what: &str, options: &[&str]| {
        let args = [&["run", what, "--gpu", "titan-v", "--json"], options].concat();
        json(&strata(folder.path(), &args))
    };
    let (replayed, executed) = (timed(FILE, &[]), timed("matmul-tiled", &["--size", "tiny"]));
    assert!(replayed["passed"].is_null());
    for key in ["name", "cycles", "kernels", "stats", "thread_instructions", "ipc"] {
        assert_eq!(replayed[key], executed[key], "{key}");
    }
}

#[test]
fn recording_twice_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["a.strata-trace", "b.strata-trace"].map(|name| {
        let recorded = strata(folder.path(), &["trace", "record", "bfs", "--size", "tiny", "-o", name, "--json"]);
        assert_eq!(json(&recorded)["passed"], true);
        std::fs::read(folder.path().join(name)).expect("written")
    });
    assert!(first == second);
}
