//! The seam of cache prefetchers: which lines a cache should have before anybody asks for them.

use super::SideCount;
use crate::cache::SectorMask;
use crate::time::Picos;
use strata_core::{LineAddr, WarpId};

/// What an access found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All that it wants.
    Hit,
    /// What is missing is on its way already.
    Pending,
    /// Something has to be asked for.
    Miss,
}

/// An access to a cache, as a prefetcher sees it: at L1 the loads that may look there, at L2 what SMs ask of a slice, without
/// what other prefetchers ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheAccess {
    /// The line.
    pub line: LineAddr,
    /// The sectors that it wants or writes.
    pub sectors: SectorMask,
    /// Program counter of the instruction.
    pub pc: u32,
    /// The resident warp.
    pub warp: WarpId,
    /// Its SM.
    pub sm: u32,
    /// True for stores, which find nothing.
    pub write: bool,
    /// What it found.
    pub outcome: Outcome,
    /// The line is there or on its way because of a prefetch that nobody had use for until now.
    pub prefetched: bool,
    /// When the cache served it.
    pub now: Picos,
}

/// Sectors of a line that a cache should have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// The line.
    pub line: LineAddr,
    /// Its sectors.
    pub sectors: SectorMask,
}

/// Proposes lines to a cache; one instance serves the L1 of one SM, or one L2 slice.
///
/// The machine times proposals and counts them. One is dropped if it lies in another page than the access that led to it
/// (`tlb.page`), or if the cache has no MSHR, no way or no place in its queue for it: demand never waits for it but for what
/// both use. A proposal of an L2 slice goes to the slice that serves the line.
pub trait CachePrefetcher: Send {
    /// The cache was accessed; what it should have is added to `out`.
    fn accessed(&mut self, access: &CacheAccess, out: &mut Vec<Proposal>);

    /// What it counts itself.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
