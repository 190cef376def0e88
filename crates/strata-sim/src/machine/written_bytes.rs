//! Which bytes of sectors stores have written that did not cover them: together they may make a sector whole.
//!
//! A sector that is written whole, by however many requests, needs no data from memory: it is neither fetched nor merged.

use crate::cache::{SectorMask, WayIndex};

/// Bytes written in part, by way. Most programs store whole sectors, so there is nothing until one does not.
#[derive(Default)]
pub(super) struct WrittenBytes {
    /// One bit per byte of each line; empty before the first store that does not cover its sectors.
    masks: Vec<u128>,
    ways: usize,
}

impl WrittenBytes {
    /// For a cache of so many ways.
    pub(super) fn new(ways: usize) -> Self {
        Self { masks: Vec::new(), ways }
    }

    /// A store writes some bytes of sectors that are not valid: those of its sectors that are whole now.
    #[cold]
    pub(super) fn merge(&mut self, way: WayIndex, bytes: u128, sectors: SectorMask) -> SectorMask {
        if self.masks.is_empty() {
            self.masks = vec![0; self.ways];
        }
        let mask = &mut self.masks[way.index() as usize];
        *mask |= bytes & bytes_of(sectors);
        let is_whole = |sector: &u32| (*mask >> (32 * sector)) as u32 == u32::MAX;
        SectorMask((0..4).filter(is_whole).fold(0, |whole, sector| whole | 1 << sector)).and(sectors)
    }

    /// What was written of these sectors is known no more: the way has another line, or they were sent to memory.
    #[inline]
    pub(super) fn forget(&mut self, way: WayIndex, sectors: SectorMask) {
        if let Some(mask) = self.masks.get_mut(way.index() as usize) {
            *mask &= !bytes_of(sectors);
        }
    }
}

/// The bytes of sectors.
fn bytes_of(sectors: SectorMask) -> u128 {
    (0..4).filter(|s| sectors.0 >> s & 1 != 0).fold(0, |bytes, s| bytes | u128::from(u32::MAX) << (32 * s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_a_sector_whole() {
        let (mut written, way) = (WrittenBytes::new(4), WayIndex::at(2));
        let sectors = SectorMask(0b0011);
        assert_eq!(written.merge(way, 0xff << 8 | 0xffff << 32, sectors), SectorMask::NONE);
        assert_eq!(written.merge(way, 0xffff_00ff, SectorMask(1)), SectorMask(1), "the rest of the first");
        assert_eq!(written.merge(way, 0xffff << 48, sectors), sectors, "and of the second");
        written.forget(way, SectorMask(0b0010));
        assert_eq!(written.merge(way, 1, sectors), SectorMask(1));
        assert_eq!(written.merge(WayIndex::at(1), 0, sectors), SectorMask::NONE, "another way");
    }
}
