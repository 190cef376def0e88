//! What is wrong with a file of tensors.

/// A file of tensors that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`, byte {offset}: {cause}; {cure}")]
pub struct TensorError {
    /// The file.
    pub path: String,
    /// The byte of it where the trouble is.
    pub offset: u64,
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub cure: &'static str,
}

impl From<TensorError> for strata_run::LabError {
    fn from(error: TensorError) -> Self {
        Self::other(error)
    }
}
