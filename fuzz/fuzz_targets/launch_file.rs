//! Any text is read as a launch file without a panic, and its errors can be shown.
//!
//! `cargo +nightly fuzz run launch_file -- -max_len=4096 -dict=fuzz/launch_file.dict`
#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_lab::diagnostics::Diagnostics;
use strata_lab::launch_file::parse;

fuzz_target!(|text: &str| {
    let (_, errors) = parse(text);
    Diagnostics::new("fuzz.toml", text, errors).render(true);
});
