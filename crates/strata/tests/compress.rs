//! `strata compress` from the command line to its heat map.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[test]
fn a_dump_is_measured_and_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let dump: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(folder.path().join("dump.bin"), &dump).expect("written");
    let strata = |args: &[&str]| {
        let args = [&["compress", "dump.bin", "--json"], args].concat();
        let output = Command::new(env!("CARGO_BIN_EXE_strata")).args(args).current_dir(folder.path()).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("standard output is one JSON object")
    };
    let plain = strata(&[]);
    let drawn = strata(&["--heat-map", "maps"]);
    assert_eq!((&plain["files"][0]["bytes"], &plain["files"][0]["heat_map"]), (&400_000.into(), &Value::Null));
    assert_eq!(plain["files"][0]["ratio"].as_object().map(serde_json::Map::len), Some(8));
    assert_eq!(plain["files"][0]["tensors"], drawn["files"][0]["tensors"]);
    let map = drawn["files"][0]["heat_map"].as_str().expect("a path");
    assert_eq!(Path::new(map), Path::new("maps/dump.bin.png"));
    let picture = std::fs::read(folder.path().join(map)).expect("drawn");
    assert!(picture.starts_with(b"\x89PNG"));
}
