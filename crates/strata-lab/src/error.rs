//! What can go wrong before a program runs: mistakes in what was asked for.
//!
//! A program that fails on the device, or whose result is wrong, is not an error of the lab but a result.

use crate::diagnostics::Diagnostics;
use crate::tensors::TensorError;
use std::path::Path;
use strata_host::HostError;
use strata_workloads::GraphError;

/// A request that cannot be carried out; the text names the cause and the cure.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The request itself is wrong: an unknown workload, a size it does not have.
    #[error("{0}")]
    Request(String),
    /// A launch file is wrong, in one or several places.
    #[error("{0}")]
    LaunchFile(Diagnostics),
    /// A GPU is wrong: its file, a base of it, or overrides.
    #[error("{}", rendered(.0, false))]
    Gpu(Vec<Diagnostics>),
    /// A module does not parse. The text is a rendered diagnostic.
    #[error("{0}")]
    Module(String),
    /// The device refused a call.
    #[error("the device refuses: {0}")]
    Device(HostError),
    /// A trace cannot be written or read.
    #[error("`{path}`: {source}")]
    Trace {
        /// Which.
        path: String,
        /// Why.
        source: strata_trace::TraceError,
    },
    /// A file holds no graph that a program can run on.
    #[error("`{path}`, {source}")]
    Graph {
        /// Which.
        path: String,
        /// Where, why, and what to do.
        source: GraphError,
    },
    /// A file of tensors is wrong.
    #[error(transparent)]
    Tensors(#[from] TensorError),
    /// A predictor cannot be trained or used.
    #[error(transparent)]
    Learn(#[from] strata_learn::LearnError),
    /// Several errors, of as many files.
    #[error("{}", lines(.0, ToString::to_string))]
    Several(Vec<LabError>),
    /// A file or directory cannot be read or written.
    #[error("cannot {action} `{path}`: {source}")]
    Io {
        /// "read", "write" or "run".
        action: &'static str,
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl LabError {
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.display().to_string(), source }
    }

    pub(crate) fn trace(path: &Path, source: strata_trace::TraceError) -> Self {
        Self::Trace { path: path.display().to_string(), source }
    }

    /// The error as text for a terminal, with or without colours.
    pub fn render(&self, colours: bool) -> String {
        match self {
            Self::LaunchFile(diagnostics) => diagnostics.render(colours),
            Self::Gpu(files) => rendered(files, colours),
            Self::Module(rendered) => rendered.clone(),
            Self::Several(errors) => lines(errors, |error| error.render(colours)),
            other => format!("error: {other}"),
        }
    }
}

fn rendered(files: &[Diagnostics], colours: bool) -> String {
    let texts: Vec<_> = files.iter().map(|file| file.render(colours)).collect();
    texts.join("\n\n")
}

fn lines(errors: &[LabError], text: impl Fn(&LabError) -> String) -> String {
    errors.iter().map(text).collect::<Vec<_>>().join("\n")
}

impl From<HostError> for LabError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Module(text) => Self::Module(text),
            other => Self::Device(other),
        }
    }
}
