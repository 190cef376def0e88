//! Streams of look-ups, for which metadata are prefetched; beyond the paper.
//!
//! A sector of the address map has the entries of eight blocks. When the first of a sector's blocks is looked up soon after one of
//! the sector before it, or behind it, the next in that direction is asked for, too. The controller remembers the last sixteen
//! sectors (32 bits each).

use crate::block::MAP_BITS;
use strata_core::SECTOR_BYTES;

/// Blocks whose map entries are in one sector.
const BLOCKS: u64 = SECTOR_BYTES * 8 / MAP_BITS as u64;
/// Sectors that are remembered.
const RECENT: usize = 16;

/// The last sectors of a controller's address map that blocks were looked up in.
#[derive(Default)]
pub(crate) struct Streams {
    recent: [Option<u64>; RECENT],
    next: usize,
}

impl Streams {
    /// A block is looked up: the first block of the sector that comes next, if it belongs to a stream.
    pub(crate) fn looked_up(&mut self, line: u64) -> Option<u64> {
        let sector = line / BLOCKS;
        if self.has(sector) {
            return None;
        }
        let ahead = if sector.checked_sub(1).is_some_and(|before| self.has(before)) {
            Some(sector + 1)
        } else if self.has(sector + 1) {
            sector.checked_sub(1)
        } else {
            None
        };
        self.recent[self.next] = Some(sector);
        self.next = (self.next + 1) % RECENT;
        ahead.map(|sector| sector * BLOCKS)
    }

    fn has(&self, sector: u64) -> bool {
        self.recent.contains(&Some(sector))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_followed_in_both_directions_and_nothing_else_is() {
        let mut streams = Streams::default();
        let mut next = |line| streams.looked_up(line);
        assert_eq!([0, 7, 9, 8, 15, 16].map(&mut next), [None, None, Some(16), None, None, Some(24)]);
        assert_eq!([807, 792, 800, 784].map(&mut next), [None, Some(784), None, Some(776)]);
        assert_eq!([4000, 5000, 6000].map(&mut next), [None; 3]);
        // Long forgotten.
        (0..16).for_each(|k| assert_eq!(next(100_000 + 1000 * k), None));
        assert_eq!(next(8), None);
    }
}
