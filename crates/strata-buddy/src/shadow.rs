//! Metadata caches of other sizes, beside the one that takes part: one run says what each of them would have hit (Figure 6b).
//!
//! They see the accesses of the run as it is, in its order: what their own misses would have delayed is not there.

use crate::EntryState;
use strata_core::{LINE_BYTES, LineAddr, SECTOR_BYTES};
use strata_sim::cache::{SectorMask, Tags};
use strata_sim::seam::LocalLine;

/// Sizes of all partitions' caches together, KiB.
pub const SHADOW_KIB: [u64; 7] = [4, 8, 16, 32, 64, 128, 256];

/// The shadow caches of one partition.
pub(crate) struct Shadows {
    caches: Vec<Tags>,
    pub(crate) accesses: u64,
    pub(crate) hits: [u64; SHADOW_KIB.len()],
}

impl Shadows {
    /// Of a partition out of so many.
    pub(crate) fn new(partitions: u32, ways: u32) -> Self {
        let cache = |kib: u64| {
            let lines = ((kib << 10) / u64::from(partitions) / LINE_BYTES).max(1) as u32;
            let ways = ways.min(lines);
            Tags::new((lines / ways).max(1), ways)
        };
        Self { caches: SHADOW_KIB.into_iter().map(cache).collect(), accesses: 0, hits: [0; SHADOW_KIB.len()] }
    }

    /// An entry's metadata is looked up.
    pub(crate) fn access(&mut self, line: LocalLine) {
        let sector = line.0 * u64::from(EntryState::BITS) / 8 / SECTOR_BYTES;
        let (line, sector) = (LineAddr(sector / 4), SectorMask(1 << (sector % 4)));
        self.accesses += 1;
        for (tags, hits) in self.caches.iter_mut().zip(&mut self.hits) {
            let set = (line.0 ^ line.0 >> 7) as u32 % tags.sets();
            let Some(place) = tags.find(set, line).or_else(|| tags.insert(set, line).map(|(place, _)| place)) else {
                continue;
            };
            let state = tags.line_mut(place);
            *hits += u64::from(!state.valid.and(sector).is_empty());
            state.valid = state.valid.or(sector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_caches_hold_more() {
        let mut shadows = Shadows::new(1, 4);
        // 16 Ki entries are 8 KiB of metadata: what is larger hits in the second round but for the first of each sector.
        for _ in 0..2 {
            (0..16 << 10).for_each(|line| shadows.access(LocalLine(line)));
        }
        let misses = shadows.hits.map(|hits| shadows.accesses - hits);
        let sectors = (16 << 10) / 64;
        assert_eq!(misses[0], 2 * sectors);
        assert!(misses[1..].iter().all(|&m| m == sectors), "{misses:?}");
    }
}
