//! What can go wrong while a mechanism is chosen, prepared or saved.

use std::path::Path;
use strata_core::config::Diagnostic;
use strata_core::file_error::why;

/// Why a mechanism cannot be had, or what it saw not be saved; the text names the cause and the cure.
#[derive(Debug, thiserror::Error)]
pub enum MechanismError {
    /// What was asked for is wrong.
    #[error("{0}")]
    Request(String),
    /// A file that a setting names is wrong, in one or several places.
    #[error("`{path}`: {}", list.first().map_or("", |first| &first.message))]
    File {
        /// The file.
        path: String,
        /// What it holds.
        text: String,
        /// Everything that is wrong with it.
        list: Vec<Diagnostic>,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} `{path}`: {}", why(action, Path::new(path), source))]
    Io {
        /// "read" or "write".
        action: &'static str,
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// An execution of the program that a mechanism asked for failed; the error is the lab's.
    #[error(transparent)]
    Execution(Box<dyn std::error::Error + Send + Sync>),
}

impl MechanismError {
    /// A file cannot be read or written.
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.display().to_string(), source }
    }
}
