//! How compressible the entries of an allocation are at one moment.

use crate::{EntryState, Split, Target};

/// How many entries are in each state: one snapshot of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: [u64; EntryState::ALL.len()],
}

impl Histogram {
    /// Counts entries in a state.
    pub fn add(&mut self, state: EntryState, entries: u64) {
        self.counts[usize::from(state.code())] += entries;
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }

    /// Each state with its entries.
    pub fn iter(&self) -> impl Iterator<Item = (EntryState, u64)> {
        EntryState::ALL.into_iter().zip(self.counts)
    }

    /// All entries.
    pub fn entries(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Entries that need buddy memory with this target.
    pub fn over(&self, target: Target) -> u64 {
        self.iter().filter(|&(state, _)| Split::of(state, target).buddy > 0).map(|(_, entries)| entries).sum()
    }

    /// Their share; 0 if there are no entries.
    pub fn overflow(&self, target: Target) -> f64 {
        match self.entries() {
            0 => 0.0,
            entries => self.over(target) as f64 / entries as f64,
        }
    }

    /// Bytes stored, in the sizes of the states.
    pub(super) fn stored_bytes(&self) -> u128 {
        self.iter().map(|(state, entries)| u128::from(state.bytes()) * u128::from(entries)).sum()
    }
}

impl FromIterator<EntryState> for Histogram {
    fn from_iter<I: IntoIterator<Item = EntryState>>(states: I) -> Self {
        let mut histogram = Self::default();
        states.into_iter().for_each(|state| histogram.add(state, 1));
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_is_the_share_that_needs_buddy_memory() {
        let one_of_each: Histogram = EntryState::ALL.into_iter().collect();
        let over = Target::ALL.map(|target| one_of_each.over(target));
        assert_eq!(over, [0, 1, 2, 3, 4]);
        assert_eq!(one_of_each.overflow(Target::X4), 0.5);
        assert_eq!(one_of_each.stored_bytes(), 8 + 32 + 64 + 96 + 128);
        assert_eq!(Histogram::default().overflow(Target::X4), 0.0);
    }
}
