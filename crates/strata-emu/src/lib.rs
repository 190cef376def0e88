//! Under construction.

pub mod semantics;
