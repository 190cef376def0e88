//! Any bytes are read as the record of a point in a store, and as the Parquet file of a sweep, without a panic; what can be read can be
//! shown.
//!
//! `cargo +nightly fuzz run result -- -max_len=8192`
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::LazyLock;
use strata_lab::sweep::Record;
use strata_lab::sweep::show::{Goal, Results, sensitivity_table};

/// A file that is written anew each time: where there is memory for files, in that.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("strata-fuzz-result-{}.parquet", std::process::id()))
});

fuzz_target!(|bytes: &[u8]| {
    if let Some(record) = Record::parse(bytes, "k") {
        let _ = (record.failure(), record.passed(), record.seed(), record.total("cycles"), record.number("gpu.ipc"));
        assert_eq!(record.text_of("key"), Some("k"));
    }
    std::fs::write(&*FILE, bytes).expect("room for a file");
    let Ok(results) = Results::read(&FILE) else { return };
    let all = results.all();
    let _ = results.table(&all, &[]);
    let _ = results.to_json(&all, &[]);
    let _ = results.pareto(&[Goal::parse("cycles"), Goal::parse("ipc:max")]);
    if let Ok(rows) = results.sensitivity("cycles") {
        sensitivity_table(&rows, "cycles");
    }
});
