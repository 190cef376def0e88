//! The states of a partition's entries: what its metadata in DRAM says.

use crate::EntryState;
use strata_core::Paged;
use strata_sim::seam::LocalLine;

/// A state per line; memory that nobody wrote is zero.
#[derive(Debug)]
pub(crate) struct States(Paged<EntryState>);

impl Default for States {
    fn default() -> Self {
        Self(Paged::filled_with(EntryState::Zero))
    }
}

impl States {
    /// The state of a line's entry.
    pub(crate) fn get(&self, line: LocalLine) -> EntryState {
        *self.0.get(line.0)
    }

    /// Gives a line's entry a state, and tells the one it had.
    pub(crate) fn set(&mut self, line: LocalLine, state: EntryState) -> EntryState {
        std::mem::replace(self.0.get_mut(line.0), state)
    }
}
