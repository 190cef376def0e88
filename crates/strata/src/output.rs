//! The two streams: results on standard output, everything else on standard error; or both to whoever called.

use crate::caller::Caller;
use serde_json::Value;
use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use strata_lab::{LabError, MechanismError, StopSign};

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
    if let Some(caller) = Caller::here() {
        caller.hear_result(bytes);
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes a message to standard error. Unlike `eprintln!` it does not panic if nobody reads it any more.
pub(crate) fn message(text: &str) {
    if let Some(caller) = Caller::here() {
        return caller.hear_message(text);
    }
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes the one JSON object to standard output.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    text(&format!("{value:#}\n"))
}

/// True if standard error shows colours: it is a terminal, and nobody asked for none (<https://no-color.org>).
pub(crate) fn colours() -> bool {
    Caller::here().is_none() && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// The sign that stops the command of this thread; nobody can give it where signals end the process.
pub(crate) fn stop_sign() -> StopSign {
    Caller::here().map(|caller| caller.stop().clone()).unwrap_or_default()
}

thread_local! {
    static COMMAND: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Says how the command line of this thread is started where it is no executable of its own.
pub(crate) fn set_this_command(words: Vec<String>) {
    COMMAND.set(Some(words));
}

/// The words that start this command line again.
pub(crate) fn this_command() -> Result<Vec<String>, LabError> {
    if let Some(words) = COMMAND.with_borrow(Clone::clone) {
        return Ok(words);
    }
    let this = std::env::current_exe().map_err(|e| LabError::io("find", Path::new("this executable"), e))?;
    Ok(vec![this.display().to_string()])
}
