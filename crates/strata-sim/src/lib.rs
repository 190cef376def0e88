//! Event-driven timing of a GPU's memory system.
//!
//! A [`Machine`] is made of a [`config::GpuConfig`] and pulls what warps do from a [`strata_core::GridSource`]; it never
//! decides what a program computes, only when. The road of a request: `machine` (issue, L1, crossbar, L2), then [`dram`];
//! a [`link`] leads to the host. What was counted is a [`stats::Reading`], from which [`energy`] follows.
//!
//! Invariants: time is integer picoseconds, and everything that happens is ordered by (time, sequence), so two runs agree
//! byte for byte; nothing polls; no number that describes hardware stands in the code, all come from the configuration.

pub mod cache;
mod calendar;
pub mod coalesce;
pub mod config;
mod counters;
pub mod dram;
pub mod energy;
mod expand;
mod image;
mod joined;
pub mod link;
pub mod machine;
pub mod queue;
pub mod seam;
pub mod side_stats;
mod slab;
pub mod stack_map;
pub mod stats;
pub mod time;
mod unroll;
pub mod view;

/// The revision of the machine. A change that moves a row of the fingerprint (`strata fingerprint`) raises it, so that results
/// of different machines are told apart.
pub const MODEL: u32 = 6;

pub use machine::{
    AllocationUse, CheckCounts, KernelNeeds, KernelTime, Layer, Machine, MachineBuilder, MachineError, PageUse,
};
