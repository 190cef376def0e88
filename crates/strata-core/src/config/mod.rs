//! Reading configuration: TOML values to Rust values, with an error for everything that does not fit.
//!
//! Launch files, GPU presets and everything else that people write go through one [`Reader`]. It collects [`Diagnostic`]s
//! instead of stopping at the first: all errors of a file are reported at once, each with the bytes it is about.
//!
//! Invariants: nothing here touches a file, prints or panics; the number of errors kept is bounded ([`MOST_ERRORS`]).

mod reader;
mod size;

pub use reader::{Fields, Reader};
pub use size::{format_size, parse_size};

use std::ops::Range;

/// Errors that are kept: looking for the nearest name of a million misspelt ones would take minutes.
pub const MOST_ERRORS: usize = 1000;

/// One error in a text: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Bytes of the text it is about.
    pub span: Range<usize>,
    /// What is wrong with them, as a sentence without a full stop.
    pub message: String,
    /// How to write it right, if that is known.
    pub help: Option<String>,
}
