//! The bytes at each place, for those who check data and for what is below the deduplicated memory.

use strata_core::{Paged, SECTOR_BYTES};
use strata_sim::cache::SectorMask;
use strata_sim::seam::Line;

const ZEROS: Line = [0; strata_core::LINE_BYTES as usize];

/// Places that nobody wrote are zero.
pub(super) struct PlaceBytes(Paged<Line>);

impl Default for PlaceBytes {
    fn default() -> Self {
        Self(Paged::filled_with(ZEROS))
    }
}

impl PlaceBytes {
    pub(super) fn line(&self, place: u64) -> &Line {
        self.0.get(place)
    }

    /// Sectors of a place get the bytes that they have in `data`.
    pub(super) fn write(&mut self, place: u64, sectors: SectorMask, data: &Line) {
        copy_sectors(data, sectors, self.0.get_mut(place));
    }

    /// Copies sectors of a place.
    pub(super) fn copy(&self, place: u64, sectors: SectorMask, out: &mut Line) {
        copy_sectors(self.line(place), sectors, out);
    }
}

fn copy_sectors(from: &Line, sectors: SectorMask, to: &mut Line) {
    for k in (0..4).filter(|k| sectors.0 >> k & 1 != 0) {
        let range = k * SECTOR_BYTES as usize..(k + 1) * SECTOR_BYTES as usize;
        to[range.clone()].copy_from_slice(&from[range]);
    }
}

/// Fills sectors with a word.
pub(super) fn repeat(word: u32, sectors: SectorMask, out: &mut Line) {
    let mut line = ZEROS;
    line.chunks_exact_mut(4).for_each(|w| w.copy_from_slice(&word.to_le_bytes()));
    copy_sectors(&line, sectors, out);
}
