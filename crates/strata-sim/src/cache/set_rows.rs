//! What a set must be asked first: which of its ways may hold a line, and in which order they were used.
//!
//! Both are a byte per way, sixteen to a word, and lie side by side: a set of sixteen ways is half a cache line of the host. A
//! mark is a hash of the line's number: bytes that match are found all at once, and the way they name is then looked at.

/// Bytes of a word.
const WORD: usize = 16;
/// The bytes of a word up to each of its positions.
const UP_TO: [u128; WORD] = {
    let mut masks = [u128::MAX; WORD];
    let mut k = 0;
    while k < WORD {
        masks[k] >>= 8 * (WORD - 1 - k);
        k += 1;
    }
    masks
};

/// Marks and order of all sets.
pub(super) struct SetRows {
    /// For each set: its marks, then its ways, most recently used first.
    words: Box<[[u8; WORD]]>,
    /// Words that the bytes of a set's ways take.
    per_set: usize,
}

/// The bytes of a word that equal `byte`, as a set of their positions.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal_bytes(word: &[u8; WORD], byte: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let word = u128::from_le_bytes(*word);
    // SAFETY: these are instructions of SSE2, which every such processor has; they touch no memory.
    unsafe {
        let word = _mm_set_epi64x((word >> 64) as i64, word as i64);
        _mm_movemask_epi8(_mm_cmpeq_epi8(word, _mm_set1_epi8(byte as i8))) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn equal_bytes(word: &[u8; WORD], byte: u8) -> u32 {
    word.iter().enumerate().fold(0, |equal, (k, &b)| equal | u32::from(b == byte) << k)
}

impl SetRows {
    /// Rows of so many sets, of at most 256 ways, in which the first way was used last.
    pub(super) fn new(sets: u32, ways: u32) -> Self {
        let per_set = (ways as usize).div_ceil(WORD).max(1);
        let order = |word: usize| std::array::from_fn(|k| (word * WORD + k) as u8);
        let set: Vec<[u8; WORD]> = (0..per_set).map(|_| [0; WORD]).chain((0..per_set).map(order)).collect();
        Self { words: set.repeat(sets as usize).into_boxed_slice(), per_set }
    }

    /// The mark of a line.
    #[inline]
    pub(super) fn mark(line: u64) -> u8 {
        (line ^ line >> 8 ^ line >> 16) as u8
    }

    /// Asks the host's caches for the words of a set.
    #[inline]
    pub(super) fn prefetch(&self, set: u32) {
        if let Some(word) = self.words.get(set as usize * 2 * self.per_set) {
            strata_core::prefetch(word);
        }
    }

    /// The words of a set: its marks and its order.
    #[inline]
    fn words_of(&self, set: u32) -> (&[[u8; WORD]], &[[u8; WORD]]) {
        let first = set as usize * 2 * self.per_set;
        self.words[first..first + 2 * self.per_set].split_at(self.per_set)
    }

    #[inline]
    fn words_of_mut(&mut self, set: u32) -> (&mut [[u8; WORD]], &mut [[u8; WORD]]) {
        let first = set as usize * 2 * self.per_set;
        self.words[first..first + 2 * self.per_set].split_at_mut(self.per_set)
    }

    /// The first way of a set that has the mark and of which `is_it` is true.
    #[inline]
    pub(super) fn find(&self, set: u32, mark: u8, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        for (k, word) in self.words_of(set).0.iter().enumerate() {
            let mut equal = equal_bytes(word, mark);
            while equal != 0 {
                let way = (k * WORD) as u32 + equal.trailing_zeros();
                if is_it(way) {
                    return Some(way);
                }
                equal &= equal - 1;
            }
        }
        None
    }

    /// Gives a way a mark.
    #[inline]
    pub(super) fn set_mark(&mut self, set: u32, way: u32, mark: u8) {
        self.words_of_mut(set).0.as_flattened_mut()[way as usize] = mark;
    }

    /// The way at a position of a set's order.
    #[inline]
    pub(super) fn way_at(&self, set: u32, position: usize) -> u32 {
        self.words_of(set).1.as_flattened()[position].into()
    }

    /// The ways of a set, most recently used first; behind them may follow numbers that are no ways.
    #[inline]
    pub(super) fn order(&self, set: u32) -> &[u8] {
        self.words_of(set).1.as_flattened()
    }

    /// Where a way stands in its set's order.
    #[inline]
    pub(super) fn position(&self, set: u32, way: u32) -> usize {
        for (k, word) in self.words_of(set).1.iter().enumerate() {
            let equal = equal_bytes(word, way as u8);
            if equal != 0 {
                return k * WORD + equal.trailing_zeros() as usize;
            }
        }
        0
    }

    /// Puts the way at a position of a set's order in front.
    #[inline]
    pub(super) fn move_to_front(&mut self, set: u32, position: usize) {
        let order = self.words_of_mut(set).1;
        let mut carried = order.as_flattened()[position];
        for word in &mut order[..position / WORD] {
            let out = word[WORD - 1];
            *word = (u128::from_le_bytes(*word) << 8 | u128::from(carried)).to_le_bytes();
            carried = out;
        }
        let word = &mut order[position / WORD];
        let (old, moved) = (u128::from_le_bytes(*word), UP_TO[position % WORD]);
        *word = (old & !moved | (old << 8 | u128::from(carried)) & moved).to_le_bytes();
    }

    /// Puts a way behind all the `ways` of its set.
    pub(super) fn move_to_back(&mut self, set: u32, way: u32, ways: u32) {
        let position = self.position(set, way);
        self.words_of_mut(set).1.as_flattened_mut()[position..ways as usize].rotate_left(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against the obvious implementation: a list of ways and a list of marks.
        #[test]
        fn rows_are_lists(ways in 1u32..70, steps in proptest::collection::vec((0u8..4, any::<u32>(), any::<u8>()), 1..200)) {
            let (mut rows, set) = (SetRows::new(3, ways), 1);
            let (mut order, mut marks): (Vec<u32>, Vec<u8>) = ((0..ways).collect(), vec![0; ways as usize]);
            for (what, which, mark) in steps {
                let which = which % ways;
                let position = order.iter().position(|&w| w == which).unwrap();
                match what {
                    0 => {
                        rows.set_mark(set, which, mark % 8);
                        marks[which as usize] = mark % 8;
                    }
                    1 => {
                        rows.move_to_front(set, position);
                        let way = order.remove(position);
                        order.insert(0, way);
                    }
                    2 => {
                        rows.move_to_back(set, which, ways);
                        let way = order.remove(position);
                        order.push(way);
                    }
                    _ => prop_assert_eq!(rows.position(set, which), position),
                }
                let seen: Vec<u32> = (0..ways as usize).map(|p| rows.way_at(set, p)).collect();
                prop_assert_eq!(&seen, &order);
                let has_mark = |way: u32| way < ways && marks[way as usize] == mark % 8;
                prop_assert_eq!(rows.find(set, mark % 8, has_mark), (0..ways).find(|&w| has_mark(w)));
            }
        }
    }
}
