//! The seam of cache prefetchers: which lines a cache should have before anybody asks for them.

use super::SideCount;
use crate::cache::SectorMask;
use crate::time::Picos;
use strata_core::{LineAddr, WarpId};

/// How the tags of a cache answered an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All sectors are valid.
    Hit,
    /// All missing sectors are pending: a hit on a miss, merged in the MSHRs.
    Pending,
    /// At least one sector must be fetched from the next level.
    Miss,
}

/// A demand access to a cache, as a prefetcher sees it: at L1 the loads that may be cached there, at L2 all requests of SMs to
/// a slice but those of L1 prefetchers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheAccess {
    /// Address of the line that is accessed.
    pub line: LineAddr,
    /// The sectors that it wants or writes.
    pub sectors: SectorMask,
    /// Program counter of the instruction.
    pub pc: u32,
    /// The warp that issued it.
    pub warp: WarpId,
    /// The SM that the warp runs on.
    pub sm: u32,
    /// True for stores; they hit, whatever L2 holds.
    pub write: bool,
    /// Hit, hit on a miss, or miss.
    pub outcome: Outcome,
    /// This is the first demand access to a line that was prefetched.
    pub prefetched: bool,
    /// When the tags were looked up.
    pub now: Picos,
}

/// A prefetch that is proposed: sectors of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// Address of the line; dropped unless it is in the page of the access that led to it.
    pub line: LineAddr,
    /// Sectors to fetch; those that are valid or pending are left out.
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

    /// Its own counters, beside those of issued, useful, late and useless prefetches that the machine keeps.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
