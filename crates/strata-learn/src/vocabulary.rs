//! Which values of a feature have a number of their own.
//!
//! Number 0 is "unknown": values that are not in the vocabulary, and, in front of a history that is too short, no value at all.
//! As a label it is the class of unseen deltas, which no prediction gets right.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The class of values that have no number.
pub const UNKNOWN: u32 = 0;

/// Values and their numbers.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<i64>", into = "Vec<i64>")]
pub struct Vocabulary {
    values: Vec<i64>,
    numbers: FxHashMap<i64, u32>,
}

impl From<Vec<i64>> for Vocabulary {
    fn from(values: Vec<i64>) -> Self {
        let numbers = values.iter().enumerate().map(|(k, &value)| (value, k as u32 + 1)).collect();
        Self { values, numbers }
    }
}

impl From<Vocabulary> for Vec<i64> {
    fn from(vocabulary: Vocabulary) -> Self {
        vocabulary.values
    }
}

impl Vocabulary {
    /// The commonest values of some, at most `most`; equally common ones in their own order.
    pub fn of(values: impl Iterator<Item = i64>, most: usize) -> Self {
        let mut counts: FxHashMap<i64, u64> = FxHashMap::default();
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
        counts.into_iter().take(most).map(|(value, _)| value).collect::<Vec<_>>().into()
    }

    /// Adds values that are not there yet, the commonest first, while there are fewer than `most`.
    pub fn learn(&mut self, values: impl Iterator<Item = i64>, most: usize) {
        let new =
            Self::of(values.filter(|value| !self.numbers.contains_key(value)).collect::<Vec<_>>().into_iter(), most);
        for value in new.values.into_iter().take(most.saturating_sub(self.values.len())) {
            self.values.push(value);
            self.numbers.insert(value, self.values.len() as u32);
        }
    }

    /// The number of a value.
    #[inline]
    pub fn number(&self, value: i64) -> u32 {
        self.numbers.get(&value).copied().unwrap_or(UNKNOWN)
    }

    /// The value of a number; none of the unknown.
    pub fn value(&self, number: u32) -> Option<i64> {
        self.values.get((number as usize).checked_sub(1)?).copied()
    }

    /// Numbers in use, the unknown included.
    pub fn size(&self) -> usize {
        self.values.len() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_values_come_first_and_the_rest_is_unknown() {
        let vocabulary = Vocabulary::of([5, -1, 5, 7, -1, 5, 9].into_iter(), 3);
        assert_eq!([5, -1, 7, 9].map(|value| vocabulary.number(value)), [1, 2, 3, UNKNOWN]);
        assert_eq!((vocabulary.value(2), vocabulary.value(UNKNOWN), vocabulary.value(9)), (Some(-1), None, None));
        assert_eq!(vocabulary.size(), 4);
    }

    #[test]
    fn new_values_take_the_room_that_is_left() {
        let mut vocabulary = Vocabulary::of([1, 1, 2].into_iter(), 10);
        vocabulary.learn([3, 2, 4, 4].into_iter(), 3);
        assert_eq!([1, 2, 4, 3].map(|value| vocabulary.number(value)), [1, 2, 3, UNKNOWN]);
    }
}
