//! What metadata says of a 128-byte block: its type flag, its sector mask, its entry in the address map.

use strata_core::{LINE_BYTES, SECTOR_BYTES};
use strata_sim::cache::SectorMask;

/// The 2-bit type flag (CMD, section IV-B).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// `00`: never written by a kernel since the host gave it its contents, which are at its home.
    #[default]
    ReadOnly = 0b00,
    /// `01`: all 4-byte words of its masked sectors are equal; the word is in the map entry, nothing is in DRAM.
    Intra = 0b01,
    /// `10`: its masked sectors are at the place that the map entry names, alone or with others.
    Inter = 0b10,
    /// `11`: its masked sectors are at its home: a reference of others, or no duplicate.
    Own = 0b11,
}

/// Bits of a type flag.
pub const KIND_BITS: u32 = 2;
/// Bits of a sector mask.
pub const MASK_BITS: u32 = 4;
/// Bits of an entry of the address map.
pub const MAP_BITS: u32 = 32;

/// What the metadata says of a block of 128 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Where its data is: the type flag.
    pub kind: Kind,
    /// Sectors that kernels have written.
    pub mask: SectorMask,
    /// Sectors that the host has defined; those outside the mask are at the block's home.
    pub defined: SectorMask,
    /// The map entry: a word if [`Kind::Intra`], a line of the partition if [`Kind::Inter`].
    pub map: u64,
}

impl Block {
    /// Where the masked sectors of block `line` are; none if they are in the map entry or there are none.
    pub fn place(&self, line: u64) -> Option<u64> {
        match self.kind {
            Kind::ReadOnly | Kind::Intra => None,
            Kind::Inter => Some(self.map),
            Kind::Own => Some(line),
        }
    }

    /// Data that the block has at its home and that the mask does not cover: nobody else can have those sectors.
    pub fn pinned(&self) -> SectorMask {
        self.defined.without(self.mask)
    }

    /// True if the masked sectors are elsewhere and nothing else of the block is at its home.
    pub fn leaves_home_free(&self) -> bool {
        matches!(self.kind, Kind::Intra | Kind::Inter) && self.pinned().is_empty()
    }
}

/// Share of DRAM that the metadata of all blocks take.
pub fn capacity_overhead() -> f64 {
    f64::from(KIND_BITS + MASK_BITS + MAP_BITS) / 8.0 / LINE_BYTES as f64
}

/// The same if every sector is a block of its own, which needs no mask.
pub fn capacity_overhead_of_sectors() -> f64 {
    f64::from(KIND_BITS + MAP_BITS) / 8.0 / SECTOR_BYTES as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_take_as_much_of_dram_as_the_paper_says() {
        // CMD, section IV-E: 3.71 %.
        assert_eq!((capacity_overhead() * 1e4).round(), 371.0);
        assert_eq!((capacity_overhead_of_sectors() * 1e4).round(), 1328.0);
    }

    #[test]
    fn a_home_is_free_if_nothing_of_its_block_is_there() {
        let check = |kind, mask, defined, free| {
            let block = Block { kind, mask: SectorMask(mask), defined: SectorMask(defined), map: 0 };
            assert_eq!(block.leaves_home_free(), free, "{block:?}");
        };
        check(Kind::Intra, 0b1111, 0b1111, true);
        check(Kind::Inter, 0b0011, 0, true);
        check(Kind::Inter, 0b0011, 0b0111, false);
        check(Kind::Own, 0b1111, 0, false);
        check(Kind::ReadOnly, 0, 0, false);
    }
}
