//! The victim seam: what becomes of lines that leave L2.

use super::SideCount;
use crate::cache::SectorMask;
use strata_core::LineAddr;

/// A buffer beside an L2 slice; one instance serves one slice.
pub trait Victim: Send {
    /// A line has left L2 with these clean sectors; dirty ones go to memory.
    fn evicted(&mut self, line: LineAddr, clean: SectorMask);

    /// L2 lacks sectors of a line: those the buffer has, which it gives up, and the L2 cycles it takes to hand them over.
    /// Memory is asked for the others.
    fn missed(&mut self, line: LineAddr, sectors: SectorMask) -> (SectorMask, u32);

    /// The buffer has just given sectors of a line back; `note` is what a memory side says of the line
    /// ([`MemorySide::note`](super::MemorySide::note)), nothing if there is none that does.
    fn supplied(&mut self, _line: LineAddr, _sectors: SectorMask, _note: SectorMask) {}

    /// Sectors of a line were written, by the program or by the host, or their page left: what the buffer has of them is stale.
    fn written(&mut self, line: LineAddr, sectors: SectorMask);

    /// What it has counted.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
