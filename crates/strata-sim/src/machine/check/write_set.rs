//! Which writes to a sector a copy of it contains.
//!
//! The writes to a sector are numbered from 1 in the order in which they took functional effect. Copies receive them in
//! another order (two SMs, two ports), so a copy holds all writes up to a number and perhaps some beyond it.

/// A set of writes to one sector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WriteSet {
    /// All writes with numbers up to this one are in the set.
    upto: u32,
    /// And these, sorted, all larger than `upto + 1`.
    beyond: Vec<u32>,
}

impl WriteSet {
    /// Adds a write to some bytes of the sector.
    pub(super) fn add(&mut self, write: u32) {
        if write <= self.upto {
            return;
        }
        if let Err(at) = self.beyond.binary_search(&write) {
            self.beyond.insert(at, write);
        }
        self.absorb();
    }

    /// Adds a write to all bytes of the sector: what came before it no longer matters.
    pub(super) fn add_whole(&mut self, write: u32) {
        self.upto = self.upto.max(write);
        self.absorb();
    }

    /// Adds what another copy holds.
    pub(super) fn join(&mut self, other: &Self) {
        self.add_whole(other.upto);
        for &write in &other.beyond {
            self.add(write);
        }
    }

    /// Restores the invariant of `beyond`: numbers that follow `upto` without a gap move into it.
    fn absorb(&mut self) {
        let mut taken = 0;
        while let Some(&next) = self.beyond.get(taken)
            && next <= self.upto.saturating_add(1)
        {
            self.upto = self.upto.max(next);
            taken += 1;
        }
        self.beyond.drain(..taken);
    }

    /// True if it holds all writes up to `last`.
    pub(super) fn contains_up_to(&self, last: u32) -> bool {
        self.upto >= last
    }

    /// The writes up to `last` that it does not hold.
    pub(super) fn missing(&self, last: u32) -> impl Iterator<Item = u32> {
        (self.upto.saturating_add(1)..=last).filter(|write| self.beyond.binary_search(write).is_err())
    }

    /// The first write that the other holds and this does not.
    pub(super) fn first_missing_from(&self, other: &Self) -> Option<u32> {
        if self.upto < other.upto {
            return self.missing(other.upto).next();
        }
        other.beyond.iter().copied().find(|write| *write > self.upto && self.beyond.binary_search(write).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn members(held: &WriteSet, last: u32) -> BTreeSet<u32> {
        let missing: BTreeSet<_> = held.missing(last).collect();
        (1..=last).filter(|w| !missing.contains(w)).collect()
    }

    proptest! {
    /// Compared with `BTreeSet`s of write numbers.
            #[test]
            fn a_copy_is_the_set_of_its_writes(
                writes in proptest::collection::vec((1u32..20, any::<bool>()), 0..20),
                others in proptest::collection::vec(1u32..20, 0..10),
            ) {
                let (mut held, mut plain) = (WriteSet::default(), BTreeSet::new());
                for (write, whole) in writes {
                    if whole {
                        held.add_whole(write);
                        plain.extend(1..=write);
                    } else {
                        held.add(write);
                        plain.insert(write);
                    }
                }
                let (mut other, mut plain_other) = (WriteSet::default(), BTreeSet::new());
                for write in others {
                    other.add(write);
                    plain_other.insert(write);
                }
                prop_assert_eq!(members(&held, 20), plain.clone());
                prop_assert_eq!(held.first_missing_from(&other), plain_other.difference(&plain).next().copied());
                held.join(&other);
                prop_assert_eq!(members(&held, 20), plain.union(&plain_other).copied().collect::<BTreeSet<_>>());
            }
        }
}
