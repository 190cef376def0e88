//! The read-only FIFO beside an L2 slice (CMD, section IV-D): clean sectors that leave L2 stay a little longer.
//!
//! Fully associative. Any clean sector enters; a write or a host copy removes it; a hit gives it back to L2 and frees its
//! entry. The Bloom filters that the paper mentions would only say "no" earlier.
//!
//! How deep would it have to be? With `study` on, every clean sector that leaves L2 is remembered, and when it is missed again the
//! number of sectors that left since then is counted: [`Rereads`].

use crate::rereads::Rereads;
use crate::settings::FifoSettings;
use rustc_hash::FxHashMap;
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
    /// Numbers of sectors and when they entered, oldest first. What has been taken out stays until its turn comes: the map knows.
    order: VecDeque<(u64, u64)>,
    /// When each sector that is in it entered.
    entries: FxHashMap<u64, u64>,
    /// Sectors that have entered so far.
    entered: u64,
    rereads: Option<Rereads>,
    /// Sectors given back, by class.
    data_reads: u64,
    read_only: u64,
}

impl ReadOnlyFifo {
    /// An empty one.
    pub fn new(settings: FifoSettings) -> Self {
        let rereads = settings.study.then(Rereads::default);
        let (order, entries) = (VecDeque::new(), FxHashMap::default());
        Self { settings, order, entries, entered: 0, rereads, data_reads: 0, read_only: 0 }
    }

    fn numbers(line: LineAddr, sectors: SectorMask) -> impl Iterator<Item = u64> {
        (0..SECTORS).filter(move |s| sectors.0 >> s & 1 != 0).map(move |s| line.0 * SECTORS + s)
    }

    /// Takes the oldest sector out that is still in it.
    fn pop_oldest(&mut self) {
        while let Some((number, since)) = self.order.pop_front() {
            if self.entries.get(&number) == Some(&since) {
                self.entries.remove(&number);
                return;
            }
        }
    }
}

impl Victim for ReadOnlyFifo {
    fn evicted(&mut self, line: LineAddr, clean: SectorMask) {
        for number in Self::numbers(line, clean) {
            self.entered += 1;
            if self.entries.insert(number, self.entered).is_none() && self.entries.len() > self.settings.depth {
                self.pop_oldest();
            }
            self.order.push_back((number, self.entered));
            if self.order.len() > 2 * self.settings.depth + 64 {
                self.order.retain(|(number, since)| self.entries.get(number) == Some(since));
            }
            if let Some(rereads) = &mut self.rereads {
                rereads.evicted(number, self.entered);
            }
        }
    }

    fn missed(&mut self, line: LineAddr, sectors: SectorMask) -> (SectorMask, u32) {
        let mut found = SectorMask::NONE;
        for number in Self::numbers(line, sectors) {
            if let Some(rereads) = &mut self.rereads {
                rereads.missed(number, self.entered);
            }
            if self.entries.remove(&number).is_some() {
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
        for number in Self::numbers(line, sectors) {
            self.entries.remove(&number);
            if let Some(rereads) = &mut self.rereads {
                rereads.forget(number);
            }
        }
    }

    fn counts(&self) -> Vec<SideCount> {
        // Controllers count the same for what reaches them.
        let requests = |name, value| SideCount { name, unit: Unit::Requests, what: "sectors read", value };
        let sectors = |name, what, value| SideCount { name, unit: Unit::Sectors, what, value };
        let own = [
            requests("cmd.requests.data_read.before", self.data_reads),
            requests("cmd.requests.read_only.before", self.read_only),
            sectors("cmd.fifo.entered", "clean sectors that left L2 for the FIFO", self.entered),
            sectors("cmd.fifo.hits", "sectors read that the FIFO had", self.data_reads + self.read_only),
            sectors("cmd.fifo.read_only_hits", "of those, the ones that no kernel had written", self.read_only),
        ];
        own.into_iter().chain(self.rereads.iter().flat_map(Rereads::counts)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fifo(depth: usize) -> ReadOnlyFifo {
        ReadOnlyFifo::new(FifoSettings { depth, cycles: 2, study: false })
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
    fn what_was_taken_out_takes_no_room() {
        let mut fifo = fifo(2);
        for k in 0..1000 {
            fifo.evicted(LineAddr(k), SectorMask(1));
            fifo.missed(LineAddr(k), SectorMask(1));
        }
        assert!(fifo.entries.is_empty() && fifo.order.len() <= 68);
        fifo.evicted(A, SectorMask(0b0111));
        assert_eq!(fifo.missed(A, SectorMask::ALL).0, SectorMask(0b0110), "the oldest had to leave");
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
