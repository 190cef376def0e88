//! What TOM has to store on the chip (TOM, section 6.6).

use crate::analyser::MAPPINGS;

/// Bits of a virtual address, and of the length of a range.
const ADDRESS_BITS: u64 = 48;

/// Bits of an entry of the offloading metadata table, as the paper estimates them: begin and end, vectors of live registers,
/// the tag and the condition.
const METADATA_ENTRY_BITS: u64 = 258;

/// Bits of storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storage {
    /// The memory map analyser of one SM.
    pub analyser_per_sm: u64,
    /// The memory allocation table, which all SMs share.
    pub allocation_table: u64,
    /// The offloading metadata table of one SM.
    pub metadata_table_per_sm: u64,
}

/// Square micrometres of a bit of static memory: a six-transistor cell of TSMC's 40 nm process (its announcement of March 2008),
/// without what an array needs around its cells.
const CELL_UM2: f64 = 0.242;

impl Storage {
    /// For the paper's machine: four stacks, 48 warps, 100 ranges, 40 candidates.
    pub const PAPER: Self = Self::of(4, 48, 100, 40);

    /// The area of all bits for so many SMs, in square millimetres.
    pub const fn cells_mm2(&self, sms: u64) -> f64 {
        self.total(sms) as f64 * CELL_UM2 * 1e-6
    }

    /// For stacks, warps of an SM, and entries of the two tables: a bit for each stack and mapping of an instance; start, length
    /// and a bit for a range.
    pub const fn of(stacks: u64, warps: u64, ranges: u64, candidates: u64) -> Self {
        Self {
            analyser_per_sm: stacks * MAPPINGS as u64 * warps,
            allocation_table: (2 * ADDRESS_BITS + 1) * ranges,
            metadata_table_per_sm: METADATA_ENTRY_BITS * candidates,
        }
    }

    /// All of it, for so many SMs.
    pub const fn total(&self, sms: u64) -> u64 {
        self.allocation_table + sms * (self.analyser_per_sm + self.metadata_table_per_sm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_the_paper() {
        let paper = Storage::PAPER;
        let expected = Storage { analyser_per_sm: 1_920, allocation_table: 9_700, metadata_table_per_sm: 10_320 };
        assert_eq!(paper, expected);
        assert_eq!(paper.total(64), 9_700 + 64 * 12_240);
    }
}
