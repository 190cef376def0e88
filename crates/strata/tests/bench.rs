//! `strata bench --json`: what scripts read.

use serde_json::Value;
use std::process::Command;

#[test]
fn every_program_has_a_functional_and_a_timed_row() {
    let strata = Command::new(env!("CARGO_BIN_EXE_strata")).args(["bench", "--json"]).output().expect("it runs");
    assert_eq!(strata.status.code(), Some(0), "{}", String::from_utf8_lossy(&strata.stderr));
    let json: Value = serde_json::from_slice(&strata.stdout).expect("standard output is one JSON object");
    let rows = json["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 14);
    for pair in rows.chunks(2) {
        let [functional, timed] = pair else { panic!("an odd number of rows") };
        assert_eq!((&functional["mode"], &timed["mode"]), (&"functional".into(), &"timed".into()));
        for key in ["name", "instance", "thread_instructions"] {
            assert_eq!(functional[key], timed[key], "{key}");
        }
        for key in ["thread_instructions_per_second", "cpu_seconds"] {
            assert!(functional[key].as_f64() > Some(0.0) && timed[key].as_f64() > Some(0.0), "{key}");
        }
        for key in ["cycles", "requests_per_second", "l2_missing_sectors_per_second"] {
            assert!(functional[key].is_null() && timed[key].is_number(), "{key} of {timed}");
        }
    }
}
