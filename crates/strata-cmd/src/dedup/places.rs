//! Blocks and places: what metadata say of each block, who occupies each place, which places are free.

use crate::block::Block;
use crate::hash_store::EntryId;
use strata_core::Paged;

/// What is known of a place.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Place {
    /// Masked sectors of some block are there.
    pub(super) occupied: bool,
    /// It stands in the list of free places.
    listed: bool,
    /// Its entry in the hash store.
    pub(super) entry: EntryId,
}

/// A block and the place that is its home.
#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    block: Block,
    place: Place,
}

/// All of a partition.
pub(super) struct Places {
    cells: Paged<Cell>,
    /// Homes that were free when they were noted; looked at again before they are used.
    free: Vec<u64>,
    /// The spill area: its first line, the lines used of it at most, and those given back.
    spill: u64,
    spilled: u64,
    spill_free: Vec<u64>,
}

impl Places {
    pub(super) fn new(spill: u64) -> Self {
        Self { cells: Paged::default(), free: Vec::new(), spill, spilled: 0, spill_free: Vec::new() }
    }

    pub(super) fn block(&self, line: u64) -> Block {
        self.cells.get(line).block
    }

    pub(super) fn set_block(&mut self, line: u64, block: Block) {
        self.cells.get_mut(line).block = block;
    }

    pub(super) fn place(&self, place: u64) -> Place {
        self.cells.get(place).place
    }

    pub(super) fn place_mut(&mut self, place: u64) -> &mut Place {
        &mut self.cells.get_mut(place).place
    }

    pub(super) fn spilled(&self) -> u64 {
        self.spilled
    }

    /// Nobody's sectors are at a place any more.
    pub(super) fn vacate(&mut self, place: u64) {
        let cell = self.place_mut(place);
        (cell.occupied, cell.entry) = (false, EntryId::NONE);
        if place >= self.spill {
            self.spill_free.push(place);
        } else {
            self.note_if_free(place);
        }
    }

    /// Notes a home that others may have.
    pub(super) fn note_if_free(&mut self, home: u64) {
        let Cell { block, place } = self.cells.get_mut(home);
        if block.leaves_home_free() && !place.occupied && !place.listed {
            place.listed = true;
            self.free.push(home);
        }
    }

    /// A place for the new data of a block that has none: its home, a free place, or a line of the spill area.
    pub(super) fn take(&mut self, line: u64) -> u64 {
        if !self.place(line).occupied {
            return line;
        }
        while let Some(home) = self.free.pop() {
            let Cell { block, place } = self.cells.get_mut(home);
            place.listed = false;
            if block.leaves_home_free() && !place.occupied {
                return home;
            }
        }
        self.take_spilled()
    }

    /// The same for a block that is to go home: while a guest is there it has a line of the spill area. Two blocks at the homes of each
    /// other would stay there for good if one took the other's home again.
    pub(super) fn take_home(&mut self, line: u64) -> u64 {
        if self.place(line).occupied { self.take_spilled() } else { line }
    }

    fn take_spilled(&mut self) -> u64 {
        self.spill_free.pop().unwrap_or_else(|| {
            self.spilled += 1;
            self.spill + self.spilled - 1
        })
    }

    /// Every block and every place in use.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Block, Place)> {
        self.cells.iter().map(|(line, cell)| (line, cell.block, cell.place))
    }

    /// Lines of the spill area that are in use.
    #[cfg(test)]
    pub(super) fn spill_in_use(&self) -> u64 {
        self.spilled - self.spill_free.len() as u64
    }
}
