//! The states of a partition's entries: what its metadata in DRAM says.

use crate::EntryState;
use rustc_hash::FxHashMap;
use strata_sim::seam::LocalLine;

/// Entries whose states are kept together.
const BLOCK: u64 = 64;

/// A state per line; memory that nobody wrote is zero.
#[derive(Debug, Default)]
pub(crate) struct States(FxHashMap<u64, [EntryState; BLOCK as usize]>);

impl States {
    /// The state of a line's entry.
    pub(crate) fn get(&self, line: LocalLine) -> EntryState {
        self.0.get(&(line.0 / BLOCK)).map_or(EntryState::Zero, |block| block[(line.0 % BLOCK) as usize])
    }

    /// Gives a line's entry a state, and tells the one it had.
    pub(crate) fn set(&mut self, line: LocalLine, state: EntryState) -> EntryState {
        let block = self.0.entry(line.0 / BLOCK).or_insert([EntryState::Zero; BLOCK as usize]);
        std::mem::replace(&mut block[(line.0 % BLOCK) as usize], state)
    }
}
