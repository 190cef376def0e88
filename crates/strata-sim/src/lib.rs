//! Event-driven timing of a GPU's memory system.

pub mod cache;
mod calendar;
pub mod coalesce;
pub mod config;
pub mod dram;
pub mod machine;
pub mod queue;
mod slab;
pub mod stats;
pub mod time;
pub mod view;

pub use machine::{KernelNeeds, KernelTime, Machine, MachineError};
