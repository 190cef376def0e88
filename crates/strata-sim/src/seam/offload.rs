//! The offload seam: whether a warp runs a block of code elsewhere.

use strata_core::{LineAddr, OpInfo, WarpId};

/// A memory stack that has SMs of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StackId(pub u32);

/// A block of code that may be offloaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Its first and last program counter.
    pub begin: u32,
    /// See `begin`.
    pub end: u32,
    /// Registers of a thread that it reads, and those that it leaves.
    pub live_in: u32,
    /// See `live_in`.
    pub live_out: u32,
}

/// Decides which candidates are offloaded.
pub trait Offload {
    /// The candidates of a kernel that begins.
    fn candidates(&mut self, instructions: &[OpInfo]) -> Vec<Candidate>;

    /// A warp comes to a candidate whose first access is to `first`: where it shall run, if not here.
    fn decide(&mut self, candidate: &Candidate, warp: WarpId, first: Option<LineAddr>) -> Option<StackId>;
}
