//! The states of a partition's entries: what its metadata in DRAM says.

use crate::EntryState;
use strata_core::Paged;
use strata_sim::seam::LocalLine;

/// A state per line.
#[derive(Debug)]
pub(crate) struct States(Paged<EntryState>);

impl States {
    /// Of memory that nobody has written yet, and which is in this state.
    pub(crate) fn of_memory(unwritten: EntryState) -> Self {
        Self(Paged::filled_with(unwritten))
    }

    /// The state of a line's entry.
    pub(crate) fn get(&self, line: LocalLine) -> EntryState {
        *self.0.get(line.0)
    }

    /// Gives a line's entry a state, and tells the one it had.
    pub(crate) fn set(&mut self, line: LocalLine, state: EntryState) -> EntryState {
        std::mem::replace(self.0.get_mut(line.0), state)
    }
}
