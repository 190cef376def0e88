//! PTX text to a typed module, with a compiler's diagnostics, and the analyses that other rooms need.

pub mod analysis;
pub mod ast;
pub mod words;
