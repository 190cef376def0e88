//! The victim seam: a victim buffer beside each L2 slice.

use super::SideCount;
use crate::cache::SectorMask;
use strata_core::LineAddr;

/// A buffer beside an L2 slice; one instance serves one slice.
pub trait Victim: Send {
    /// A line was evicted with these clean sectors; dirty ones are written back.
    fn evicted(&mut self, line: LineAddr, clean: SectorMask);

    /// L2 misses sectors of a line: those that the buffer supplies, and drops, and the L2 cycles of the transfer. The others
    /// are fetched from memory.
    fn missed(&mut self, line: LineAddr, sectors: SectorMask) -> (SectorMask, u32);

    /// The buffer has just given sectors of a line back; `note` is what a memory side says of the line
    /// ([`MemorySide::note`](super::MemorySide::note)), nothing if there is none that does.
    fn supplied(&mut self, _line: LineAddr, _sectors: SectorMask, _note: SectorMask) {}

    /// Sectors of a line were written, by the program or by the host, or their page left: what the buffer has of them is stale.
    fn written(&mut self, line: LineAddr, sectors: SectorMask);

    /// Its own counters.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
