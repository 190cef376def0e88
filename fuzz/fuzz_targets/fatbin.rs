//! Any bytes are read as a fat binary, without a panic, a hang or runaway memory; what is found to be PTX is text.
//!
//! `cargo +nightly fuzz run fatbin -- -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_lab::cuda::fatbin;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(entries) = fatbin::entries(bytes) {
        // Most bytes that unpack at all are found out by their first block.
        entries.iter().filter(|entry| entry.is_ptx()).for_each(|entry| drop(entry.text()));
    }
    if let Ok((_, text)) = fatbin::best_ptx(bytes) {
        assert!(!text.contains('\0'));
    }
});
