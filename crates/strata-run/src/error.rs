//! What can go wrong before a program runs: mistakes in what was asked for.
//!
//! A program that fails on the device, or whose result is wrong, is not an error of the lab but a result.

use crate::diagnostics::Diagnostics;
use std::path::Path;
use strata_core::file_error::why;
use strata_host::HostError;
use strata_mechanism::MechanismError;
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
    /// Another file that people write is wrong, in one or several places.
    #[error("{0}")]
    File(Diagnostics),
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
        /// The trace file.
        path: String,
        /// What is wrong with it.
        source: strata_trace::TraceError,
    },
    /// A file holds no graph that a program can run on.
    #[error("`{path}`, {source}")]
    Graph {
        /// The graph file.
        path: String,
        /// Line, cause and cure.
        source: GraphError,
    },
    /// An error of another part of the lab, which words it.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
    /// Several errors, of as many files.
    #[error("{}", lines(.0, ToString::to_string))]
    Several(Vec<LabError>),
    /// A file or directory cannot be read or written.
    #[error("cannot {action} `{path}`: {}", why(action, Path::new(path), source))]
    Io {
        /// "read", "write" or "run".
        action: &'static str,
        /// The file, directory or program.
        path: String,
        /// What the operating system says.
        source: std::io::Error,
    },
}

impl LabError {
    /// An error of another part of the lab.
    pub fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Other(Box::new(error))
    }

    /// A file or directory cannot be read or written.
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.display().to_string(), source }
    }

    /// A trace cannot be written or read.
    pub fn trace(path: &Path, source: strata_trace::TraceError) -> Self {
        Self::Trace { path: path.display().to_string(), source }
    }

    /// The error as text for a terminal, with or without colours.
    pub fn render(&self, colours: bool) -> String {
        match self {
            Self::LaunchFile(diagnostics) | Self::File(diagnostics) => diagnostics.render(colours),
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

impl From<MechanismError> for LabError {
    fn from(error: MechanismError) -> Self {
        match error {
            MechanismError::Request(reason) => Self::Request(reason),
            MechanismError::File { path, text, list } => Self::Gpu(vec![Diagnostics::new(path, text, list)]),
            MechanismError::Io { action, path, source } => Self::Io { action, path, source },
            // What a mechanism had executed failed in the lab: the error comes back as it was.
            MechanismError::Execution(error) => error.downcast::<Self>().map_or_else(Self::Other, |error| *error),
        }
    }
}

impl From<LabError> for MechanismError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Request(reason) => Self::Request(reason),
            other => Self::Execution(Box::new(other)),
        }
    }
}
