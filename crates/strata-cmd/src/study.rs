//! Duplicate ratios of written blocks (CMD, Figure 3), whatever the hash store of a controller can hold.

use crate::Fingerprint;
use crate::fingerprint::repeated_word;
use rustc_hash::FxHashMap;
use strata_core::stats::Unit;
use strata_sim::cache::SectorMask;
use strata_sim::seam::{Line, SideCount};

/// The contents of all blocks that kernels have written in a partition.
#[derive(Default)]
pub(crate) struct Study {
    /// The fingerprint of each block's masked sectors, and how many blocks have it.
    blocks: FxHashMap<u64, u128>,
    living: FxHashMap<u128, u32>,
    writes: u64,
    intra: u64,
    inter: u64,
    both: u64,
}

impl Study {
    /// A block is written, and then has these masked sectors.
    pub(crate) fn wrote(&mut self, line: u64, mask: SectorMask, data: &Line) {
        self.forget(line);
        let key = Fingerprint::Xxh3.of(mask, data);
        self.blocks.insert(line, key);
        let others = self.living.entry(key).or_default();
        let (intra, inter) = (repeated_word(mask, data).is_some(), *others > 0);
        *others += 1;
        self.writes += 1;
        self.intra += u64::from(intra);
        self.inter += u64::from(inter);
        self.both += u64::from(intra && inter);
    }

    /// A block no longer holds what kernels wrote.
    pub(crate) fn forget(&mut self, line: u64) {
        let Some(key) = self.blocks.remove(&line) else { return };
        if let Some(blocks) = self.living.get_mut(&key) {
            *blocks -= 1;
            if *blocks == 0 {
                self.living.remove(&key);
            }
        }
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = SideCount> {
        let list = [
            ("cmd.study.writes", "writes of blocks", self.writes),
            ("cmd.study.intra", "of those, the ones of one repeated word", self.intra),
            ("cmd.study.inter", "of those, the ones equal to another block of the partition at that time", self.inter),
            ("cmd.study.both", "of those, the ones that are both", self.both),
        ];
        list.into_iter().map(|(name, what, value)| SideCount { name, unit: Unit::Requests, what, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_living_blocks_are_duplicated() {
        let mut study = Study::default();
        let one: Line = std::array::from_fn(|k| k as u8);
        let all = SectorMask::ALL;
        study.wrote(1, all, &one);
        study.wrote(2, all, &one);
        study.wrote(1, all, &[0; 128]);
        study.wrote(2, all, &[0; 128]);
        // Nobody has it any more.
        study.wrote(3, all, &one);
        study.forget(3);
        study.wrote(4, all, &one);
        assert_eq!(study.counts().map(|c| c.value).collect::<Vec<_>>(), [6, 2, 2, 1]);
    }
}
