//! Event-driven timing of a GPU's memory system.

pub mod config;
pub mod dram;
pub mod queue;
pub mod time;
