//! Data that no program made: files of tensors ([`tensors`]), and how compressible they are ([`compress`](mod@compress)).
//!
//! Invariants: files are hostile, so lengths are never trusted and nothing recurses on them; memory does not grow with a file.
//!
//! ```
//! use strata_tensors::tensors::Format;
//! assert!(matches!(Format::of(std::path::Path::new("model.safetensors")), Format::Safetensors));
//! ```

pub mod compress;
pub mod tensors;
