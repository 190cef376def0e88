//! The memory image: the bytes that DRAM holds, line by line.
//!
//! The emulator's memory runs ahead of DRAM: a store is there as soon as it issues, while its line may stay dirty in L2 for
//! long. A mechanism that compresses or compares lines must see what memory would really hold. So the machine keeps this
//! image, and only host copies and write-backs change it. It exists only if some mechanism looks at data.

use crate::cache::SectorMask;
use crate::seam::{Line, LocalLine};
use strata_core::{Paged, SECTOR_BYTES};

/// The image of one partition. Lines that nobody wrote are zero.
pub(crate) struct MemoryImage {
    lines: Paged<Line>,
}

impl Default for MemoryImage {
    fn default() -> Self {
        Self { lines: Paged::filled_with(ZEROS) }
    }
}

/// A line of zeros.
pub(crate) const ZEROS: Line = [0; strata_core::LINE_BYTES as usize];

impl MemoryImage {
    /// What a line holds.
    pub(crate) fn line(&self, line: LocalLine) -> &Line {
        self.lines.get(line.0)
    }

    /// Sectors of a line get the bytes they have in `data`.
    pub(crate) fn write(&mut self, line: LocalLine, sectors: SectorMask, data: &Line) {
        let held = self.lines.get_mut(line.0);
        let bytes = SECTOR_BYTES as usize;
        for (k, (to, from)) in held.chunks_exact_mut(bytes).zip(data.chunks_exact(bytes)).enumerate() {
            if sectors.0 >> k & 1 != 0 {
                to.copy_from_slice(from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_written_sectors_change() {
        let mut image = MemoryImage::default();
        image.write(LocalLine(3), SectorMask(0b0101), &[7; 128]);
        let line = image.line(LocalLine(3));
        assert_eq!((line[0], line[32], line[64], line[96]), (7, 0, 7, 0));
        assert_eq!(image.line(LocalLine(4)), &ZEROS);
    }
}
