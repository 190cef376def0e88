//! `strata validate --json`: what scripts read, and that its summary follows from its rows.

use serde_json::Value;
use std::process::Command;

fn validate(options: &[&str]) -> Value {
    let strata = Command::new(env!("CARGO_BIN_EXE_strata")).args(["validate", "--json"]).args(options).output();
    let output = strata.expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON object")
}

/// The programs of the third table take minutes: they are run by hand, and their rows are checked where they are read.
#[test]
fn every_row_has_its_keys_and_the_summary_follows_from_them() {
    let json = validate(&["--gpu", "titan-x-pascal"]);
    let rows = json["rows"].as_array().expect("a list");
    for row in rows {
        for key in ["table", "name", "quantity", "silicon", "ours", "accel_sim", "error"] {
            assert!(row.get(key).is_some(), "{key} of {row}");
        }
    }
    let cycles: Vec<_> = rows.iter().filter(|row| row["quantity"] == "cycles").collect();
    assert_eq!(cycles.len(), 24);
    let errors = cycles.iter().map(|row| row["error"].as_f64().expect("a value").abs());
    let mape = 100.0 * errors.sum::<f64>() / cycles.len() as f64;
    assert!((json["mape"].as_f64().expect("a number") - mape).abs() < 1e-9);
    assert!(json["correlation"].is_f64());
    let verdict = |passed: bool| rows.iter().filter(|row| row["passed"] == passed).count();
    assert_eq!(json["passed"], verdict(true));
    assert_eq!(json["judged"], verdict(true) + verdict(false));
}

#[test]
fn one_cards_table_alone_has_no_score_of_the_other() {
    let json = validate(&["--gpu", "titan-v"]);
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(20));
    assert!(json["mape"].is_null() && json["gpus"]["kernels"].is_null());
}
