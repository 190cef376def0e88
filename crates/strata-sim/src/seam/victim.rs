//! The victim seam: what becomes of lines that leave L2.

use super::SideCount;
use crate::cache::SectorMask;
use strata_core::LineAddr;

/// A buffer beside an L2 slice; one instance serves one slice.
pub trait Victim {
    /// A line has left L2 with these clean sectors; dirty ones go to memory.
    fn evicted(&mut self, line: LineAddr, clean: SectorMask);

    /// L2 lacks sectors of a line: those the buffer has, which it gives up, and the L2 cycles it takes to hand them over.
    /// Memory is asked for the others.
    fn missed(&mut self, line: LineAddr, sectors: SectorMask) -> (SectorMask, u32);

    /// Sectors of a line were written, by the program or by the host, or their page left: what the buffer has of them is stale.
    fn written(&mut self, line: LineAddr, sectors: SectorMask);

    /// What it has counted.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
