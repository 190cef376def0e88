//! The read-only FIFO beside an L2 slice (CMD, section IV-D): clean sectors that leave L2 stay a little longer.
//!
//! Fully associative. Any clean sector enters; a write or a host copy removes it; a hit gives it back to L2 and frees its
//! entry. The Bloom filters that the paper mentions would only say "no" earlier.

use crate::settings::FifoSettings;
use std::collections::VecDeque;
use strata_core::LineAddr;
use strata_core::stats::Unit;
use strata_sim::cache::SectorMask;
use strata_sim::seam::{SideCount, Victim};

/// Sectors of a line.
const SECTORS: u64 = 4;

/// The FIFO of one slice.
pub struct ReadOnlyFifo {
    settings: FifoSettings,
    /// Numbers of sectors, oldest first.
    sectors: VecDeque<u64>,
    entered: u64,
    /// Sectors given back, by class.
    data_reads: u64,
    read_only: u64,
}

impl ReadOnlyFifo {
    /// An empty one.
    pub fn new(settings: FifoSettings) -> Self {
        let sectors = VecDeque::with_capacity(settings.depth);
        Self { settings, sectors, entered: 0, data_reads: 0, read_only: 0 }
    }

    fn numbers(line: LineAddr, sectors: SectorMask) -> impl Iterator<Item = u64> {
        (0..SECTORS).filter(move |s| sectors.0 >> s & 1 != 0).map(move |s| line.0 * SECTORS + s)
    }

    /// Takes a sector out.
    fn remove(&mut self, number: u64) -> bool {
        let found = self.sectors.iter().position(|&s| s == number);
        found.is_some_and(|at| self.sectors.remove(at).is_some())
    }
}

impl Victim for ReadOnlyFifo {
    fn evicted(&mut self, line: LineAddr, clean: SectorMask) {
        for number in Self::numbers(line, clean) {
            self.remove(number);
            if self.sectors.len() == self.settings.depth {
                self.sectors.pop_front();
            }
            self.sectors.push_back(number);
            self.entered += 1;
        }
    }

    fn missed(&mut self, line: LineAddr, sectors: SectorMask) -> (SectorMask, u32) {
        let mut found = SectorMask::NONE;
        for number in Self::numbers(line, sectors) {
            if self.remove(number) {
                found = found.or(SectorMask(1 << (number % SECTORS)));
            }
        }
        if found.is_empty() {
            return (found, 0);
        }
        (found, self.settings.cycles)
    }

    /// A controller notes which sectors kernels have written.
    fn supplied(&mut self, _: LineAddr, sectors: SectorMask, note: SectorMask) {
        let written = sectors.and(note).count();
        self.data_reads += u64::from(written);
        self.read_only += u64::from(sectors.count() - written);
    }

    fn written(&mut self, line: LineAddr, sectors: SectorMask) {
        let (first, mask) = (line.0 * SECTORS, u64::from(sectors.0));
        self.sectors.retain(|s| s.wrapping_sub(first) >= SECTORS || mask >> (s - first) & 1 == 0);
    }

    fn counts(&self) -> Vec<SideCount> {
        // Controllers count the same for what reaches them.
        let requests = |name, value| SideCount { name, unit: Unit::Requests, what: "sectors read", value };
        let sectors = |name, what, value| SideCount { name, unit: Unit::Sectors, what, value };
        vec![
            requests("cmd.requests.data_read.before", self.data_reads),
            requests("cmd.requests.read_only.before", self.read_only),
            sectors("cmd.fifo.entered", "clean sectors that left L2 for the FIFO", self.entered),
            sectors("cmd.fifo.hits", "sectors read that the FIFO had", self.data_reads + self.read_only),
            sectors("cmd.fifo.read_only_hits", "of those, the ones that no kernel had written", self.read_only),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fifo(depth: usize) -> ReadOnlyFifo {
        ReadOnlyFifo::new(FifoSettings { depth, cycles: 2 })
    }

    const A: LineAddr = LineAddr(10);
    const B: LineAddr = LineAddr(11);

    #[test]
    fn the_oldest_sector_leaves() {
        let mut fifo = fifo(3);
        fifo.evicted(A, SectorMask(0b0011));
        fifo.evicted(B, SectorMask(0b1001));
        assert_eq!(fifo.missed(A, SectorMask::ALL), (SectorMask(0b0010), 2));
        assert_eq!(fifo.missed(A, SectorMask::ALL), (SectorMask::NONE, 0), "a hit frees its entry");
        assert_eq!(fifo.missed(B, SectorMask(0b1000)), (SectorMask(0b1000), 2));
        assert_eq!(fifo.missed(B, SectorMask::ALL), (SectorMask(0b0001), 2));
    }

    #[test]
    fn what_is_written_is_dropped() {
        let mut fifo = fifo(16);
        fifo.evicted(A, SectorMask::ALL);
        fifo.evicted(B, SectorMask::ALL);
        fifo.written(A, SectorMask(0b0101));
        assert_eq!(fifo.missed(A, SectorMask::ALL).0, SectorMask(0b1010));
        assert_eq!(fifo.missed(B, SectorMask::ALL).0, SectorMask::ALL);
    }

    #[test]
    fn hits_are_told_apart_by_who_wrote_the_sector() {
        let mut fifo = fifo(16);
        fifo.evicted(A, SectorMask(0b0111));
        let (found, _) = fifo.missed(A, SectorMask::ALL);
        fifo.supplied(A, found, SectorMask(0b1001));
        assert_eq!((fifo.data_reads, fifo.read_only), (1, 2));
    }
}
