//! What can go wrong with a trace.

use crate::wire::Malformed;
use std::io;

/// Why a trace cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(io::Error),
    /// The file cannot be read.
    #[error("the trace cannot be read: {0}")]
    Read(io::Error),
    /// The file is something else.
    #[error("this is no StrataSim trace: {0}")]
    NotATrace(&'static str),
    /// The file was written by a later version of this crate.
    #[error("the trace has format {found}, this program reads formats 1 to {known}: record it again")]
    Version {
        /// The format of the file.
        found: u32,
        /// The last format that can be read.
        known: u32,
    },
    /// The file was cut off or changed.
    #[error("the trace is damaged at byte {offset}: {cause}; record it again")]
    Damaged {
        /// Where in the file the faulty block begins.
        offset: u64,
        /// What no recorder writes there.
        cause: String,
    },
    /// The source did what a trace cannot hold, or not what its trait promises.
    #[error("the program cannot be recorded: {0}")]
    Stream(String),
    /// The source reported a failure of the program; it holds the cause.
    #[error("the program failed while it was recorded")]
    ProgramFailed,
}

impl TraceError {
    /// The contents of the block at `offset` are wrong.
    pub(crate) fn contents(offset: u64, malformed: &Malformed) -> Self {
        Self::Damaged { offset, cause: format!("byte {} of the block's contents: {}", malformed.at, malformed.cause) }
    }
}
