//! What can go wrong, said so that it can be put right.

use std::path::{Path, PathBuf};

/// Why something cannot be learned or predicted.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// A file that cannot be read or written.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file that was to be read or written.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A trace that is not there.
    #[error("there is no `{}`; `strata prefetch trace WORKLOAD -o {}` records it", .0.display(), .0.display())]
    NoTrace(PathBuf),
    /// A trace that is none, or of another version.
    #[error("`{}` is no trace of GMMU requests of this version: {reason}; record it again with `strata prefetch trace`", path.display())]
    Trace {
        /// The file that was to be read as a trace.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A checkpoint that is none, damaged, or of another version.
    #[error("`{}` is no usable checkpoint: {reason}", path.display())]
    Checkpoint {
        /// The file that was to be read as a checkpoint.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A model and data that do not belong together.
    #[error("{0}")]
    Mismatch(String),
    /// Nothing to learn from.
    #[error("{0}")]
    Empty(String),
}

impl LearnError {
    pub(crate) fn io(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), source }
    }

    pub(crate) fn trace(path: &Path, reason: impl Into<String>) -> Self {
        Self::Trace { path: path.to_owned(), reason: reason.into() }
    }

    pub(crate) fn checkpoint(path: &Path, reason: impl Into<String>) -> Self {
        Self::Checkpoint { path: path.to_owned(), reason: reason.into() }
    }
}
