//! Any text is read as the plan of a sweep without a panic, and its errors can be shown.
//!
//! `cargo +nightly fuzz run plan -- -max_len=4096`
#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_lab::diagnostics::Diagnostics;
use strata_lab::sweep::parse;

fuzz_target!(|text: &str| {
    let (_, errors) = parse(text);
    Diagnostics::new("fuzz.toml", text, errors).render(true);
});
