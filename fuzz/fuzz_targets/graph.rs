//! Any bytes are read as a graph file, in either format, without a panic; a graph has no more nodes and links than its file
//! has room for.
//!
//! `cargo +nightly fuzz run graph -- -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_workloads::Graph;

fuzz_target!(|bytes: &[u8]| {
    match Graph::parse(bytes) {
        Ok(graph) => assert!((1..=bytes.len()).contains(&graph.nodes()) && graph.links() <= bytes.len() / 4),
        Err(error) => assert!(error.line >= 1 && !error.to_string().is_empty()),
    }
});
