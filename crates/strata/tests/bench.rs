//! `strata bench --json`: what scripts read.

use serde_json::Value;
use std::process::Command;

fn json(args: &[&str]) -> Value {
    let strata = Command::new(env!("CARGO_BIN_EXE_strata")).arg("bench").args(args).output().expect("it runs");
    assert_eq!(strata.status.code(), Some(0), "{}", String::from_utf8_lossy(&strata.stderr));
    serde_json::from_slice(&strata.stdout).expect("standard output is one JSON object")
}

#[test]
fn a_program_has_a_functional_row_and_one_for_each_machine() {
    let json = json(&["saxpy", "chase", "--json"]);
    let rows = json["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2 * 3);
    for of_program in rows.chunks(3) {
        let [functional, timed @ ..] = of_program else { panic!("no row") };
        assert_eq!(functional["mode"], "functional");
        for (timed, gpu) in timed.iter().zip(["v100", "titan-x-pascal"]) {
            assert_eq!((&timed["mode"], &timed["gpu"]), (&"timed".into(), &gpu.into()));
            for key in ["name", "instance", "thread_instructions"] {
                assert_eq!(functional[key], timed[key], "{key}");
            }
            for key in ["thread_instructions_per_second", "cpu_seconds"] {
                assert!(functional[key].as_f64() > Some(0.0) && timed[key].as_f64() > Some(0.0), "{key}");
            }
            for key in
                ["cycles", "requests_per_second", "l2_missing_sectors_per_second", "process_cpu_seconds", "factor"]
            {
                assert!(functional[key].is_null() && timed[key].is_number(), "{key} of {timed}");
            }
        }
    }
    assert_eq!(json["means"][0]["programs"], 2);
}

#[test]
fn another_simulator_can_stand_beside() {
    let folder = tempfile::tempdir().expect("a folder");
    let peer = folder.path().join("peer.json");
    let rows = r#"[{"name": "chase", "thread_instructions_per_second": 1000}]"#;
    let text = format!(r#"{{"simulator": "ours of last year", "measured": "here", "rows": {rows}}}"#);
    std::fs::write(&peer, text).expect("it is written");
    let json = json(&["chase", "--gpu", "v100", "--json", "--beside", peer.to_str().expect("a name")]);
    assert_eq!(json["peer"]["simulator"], "ours of last year");
    let timed = &json["rows"][1];
    let expected = timed["process_thread_instructions_per_second"].as_f64().expect("a rate") / 1000.0;
    assert!((timed["factor"].as_f64().expect("a factor") - expected).abs() < 1e-6 * expected);
}
