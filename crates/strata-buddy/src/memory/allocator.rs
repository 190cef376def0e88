//! Which units of a memory are free: runs of them, first fit.
//!
//! Invariants: runs do not overlap or touch, so two lists with the same free units are equal; the runs hold `free` units.

use std::collections::BTreeMap;

/// The free units of a memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Runs {
    /// By where each run begins.
    lengths: BTreeMap<u64, u64>,
    total: u64,
    free: u64,
}

impl Runs {
    /// Units 0 to `total`, all free.
    pub(super) fn new(total: u64) -> Self {
        let lengths = (total > 0).then_some((0, total)).into_iter().collect();
        Self { lengths, total, free: total }
    }

    /// Free units.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// Units that are not free.
    pub(super) fn used(&self) -> u64 {
        self.total - self.free
    }

    /// The length of the longest run.
    pub(super) fn longest(&self) -> u64 {
        self.lengths.values().copied().max().unwrap_or(0)
    }

    /// Takes the first `count` units in a row that begin at a multiple of `align`; gives the first.
    pub(super) fn take(&mut self, count: u64, align: u64) -> Option<u64> {
        debug_assert!(count > 0 && align.is_power_of_two());
        let fits = |(&start, &length): (&u64, &u64)| {
            let first = start.next_multiple_of(align);
            let end = start + length;
            (first <= end && end - first >= count).then_some((start, length, first))
        };
        let (start, length, first) = self.lengths.iter().find_map(fits)?;
        self.lengths.remove(&start);
        if first > start {
            self.lengths.insert(start, first - start);
        }
        let (after, end) = (first + count, start + length);
        if end > after {
            self.lengths.insert(after, end - after);
        }
        self.free -= count;
        Some(first)
    }

    /// Gives `count` units back that [`take`](Self::take) gave.
    pub(super) fn give(&mut self, first: u64, count: u64) {
        debug_assert!(first + count <= self.total);
        let (mut start, mut end) = (first, first + count);
        if let Some((&before, &length)) = self.lengths.range(..first).next_back() {
            debug_assert!(before + length <= first, "unit {first} is free already");
            if before + length == first {
                start = before;
            }
        }
        if let Some((&after, &length)) = self.lengths.range(first..).next() {
            debug_assert!(after >= end, "unit {after} is free already");
            if after == end {
                self.lengths.remove(&after);
                end += length;
            }
        }
        self.lengths.insert(start, end - start);
        self.free += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_that_is_long_enough_is_taken() {
        let mut runs = Runs::new(16);
        assert_eq!([runs.take(3, 1), runs.take(5, 1), runs.take(8, 1)], [Some(0), Some(3), Some(8)]);
        assert_eq!((runs.take(1, 1), runs.free(), runs.used()), (None, 0, 16));
        runs.give(8, 8);
        runs.give(0, 3);
        assert_eq!((runs.take(4, 1), runs.take(3, 1)), (Some(8), Some(0)));
    }

    #[test]
    fn units_that_meet_again_are_one_run() {
        let mut runs = Runs::new(12);
        for _ in 0..4 {
            runs.take(3, 1);
        }
        for first in [3, 9, 0, 6] {
            runs.give(first, 3);
        }
        assert_eq!((runs.clone(), runs.longest()), (Runs::new(12), 12));
    }

    #[test]
    fn alignment_leaves_what_it_skips() {
        let mut runs = Runs::new(12);
        assert_eq!([runs.take(1, 4), runs.take(4, 4), runs.take(1, 1)], [Some(0), Some(4), Some(1)]);
        assert_eq!((runs.take(8, 4), runs.free(), runs.longest()), (None, 6, 4));
        assert_eq!(Runs::new(0).take(1, 1), None);
    }
}
