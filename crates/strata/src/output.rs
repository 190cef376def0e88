//! The two streams: results on standard output, everything else on standard error.

use serde_json::Value;
use std::io::{self, IsTerminal, Write};
use strata_lab::{LabError, MechanismError};

/// Why a command did not come to its end.
pub(crate) enum Failure {
    /// The laboratory refused the request, or a run of it failed.
    Lab(LabError),
    /// Standard output cannot be written.
    Output(io::Error),
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

impl From<MechanismError> for Failure {
    fn from(error: MechanismError) -> Self {
        Self::Lab(error.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Writes text to standard output.
pub(crate) fn text(text: &str) -> io::Result<()> {
    bytes(text.as_bytes())
}

/// Writes bytes to standard output.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes a message to standard error. Unlike `eprintln!` it does not panic if nobody reads it any more.
pub(crate) fn message(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes the one JSON object to standard output.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    text(&format!("{value:#}\n"))
}

/// True if standard error shows colours: it is a terminal, and nobody asked for none (<https://no-color.org>).
pub(crate) fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
