//! An entry as 32 little-endian words, and what several codes do to them.

use crate::lanes::{Lanes, VECTORS};
use crate::{ENTRY_BYTES, Entry};

/// Words in an entry.
pub(crate) const WORDS: usize = 32;

/// An entry as the codes see it.
pub(crate) type Words = [u32; WORDS];

#[inline(always)]
pub(crate) fn from_entry(entry: &Entry) -> Words {
    let (chunks, _) = entry.as_chunks::<4>();
    std::array::from_fn(|i| u32::from_le_bytes(chunks[i]))
}

pub(crate) fn to_entry(words: &Words) -> Entry {
    let mut entry = [0; ENTRY_BYTES];
    for (bytes, word) in entry.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    entry
}

#[inline(always)]
pub(crate) fn all_zero(words: &Words) -> bool {
    let mut seen = 0;
    for word in words {
        seen |= word;
    }
    seen == 0
}

/// Bit i is set where word i is not zero.
#[inline(always)]
pub(crate) fn nonzero_mask<L: Lanes>(words: &Words) -> u32 {
    let [a, b, c, d] = L::from_words(words);
    !(a.zero_lanes() | b.zero_lanes() << 8 | c.zero_lanes() << 16 | d.zero_lanes() << 24)
}

/// Whether the word is the sign extension of its lowest `bits`.
#[inline(always)]
pub(crate) fn fits(word: u32, bits: u32) -> bool {
    word.wrapping_add(1 << (bits - 1)) >> bits == 0
}

/// The bit matrix transposed: bit i of word b was bit b of word i. Its own inverse.
#[inline(always)]
pub(crate) fn transposed<L: Lanes>(matrix: [L; VECTORS]) -> [L; VECTORS] {
    // Swap the off-diagonal quarters of ever smaller squares (Hacker's Delight, section 7-3): first of squares that
    // fill whole vectors, then of squares inside one.
    let [a, b, c, d] = matrix;
    let ((a, c), (b, d)) = (quarters_swapped::<L, 16>(a, c), quarters_swapped::<L, 16>(b, d));
    let ((a, b), (c, d)) = (quarters_swapped::<L, 8>(a, b), quarters_swapped::<L, 8>(c, d));
    [squares_swapped(a), squares_swapped(b), squares_swapped(c), squares_swapped(d)]
}

/// Columns from `half` on of the upper rows, and columns below `half` of the lower rows, change places.
#[inline(always)]
fn quarters_swapped<L: Lanes, const HALF: i32>(upper: L, lower: L) -> (L, L) {
    let low = L::splat(low_columns(HALF as u32));
    let swap = upper.shift_right::<HALF>().xor(lower).and(low);
    (upper.xor(swap.shift_left::<HALF>()), lower.xor(swap))
}

/// The same in squares of 8, 4 and 2 rows of one vector.
#[inline(always)]
fn squares_swapped<L: Lanes>(rows: L) -> L {
    let rows = exchanged::<L, 4>(rows, rows.swapped::<4>());
    let rows = exchanged::<L, 2>(rows, rows.swapped::<2>());
    exchanged::<L, 1>(rows, rows.swapped::<1>())
}

/// Every row keeps one half of its columns and takes the other from its partner, `HALF` rows away.
#[inline(always)]
fn exchanged<L: Lanes, const HALF: i32>(rows: L, partners: L) -> L {
    let low = low_columns(HALF as u32);
    let upper = |row: usize| row & HALF as usize == 0;
    let kept = L::from_array(std::array::from_fn(|row| if upper(row) { low } else { !low }));
    let left = L::from_array(std::array::from_fn(|row| if upper(row) { !low } else { 0 }));
    let right = L::from_array(std::array::from_fn(|row| if upper(row) { 0 } else { low }));
    rows.and(kept).or(partners.shift_left::<HALF>().and(left)).or(partners.shift_right::<HALF>().and(right))
}

/// The lower half of every `2 * half` columns.
const fn low_columns(half: u32) -> u32 {
    u32::MAX / ((1 << half) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Plain;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_transposed_matrix_has_rows_for_columns(words: Words) {
            let planes = Plain::to_words(transposed(Plain::from_words(&words)));
            for (i, word) in words.iter().enumerate() {
                for (b, plane) in planes.iter().enumerate() {
                    prop_assert_eq!(plane >> i & 1, word >> b & 1);
                }
            }
        }

        #[test]
        fn words_are_little_endian(words: Words) {
            let entry = to_entry(&words);
            prop_assert_eq!(u32::from(entry[4]) | u32::from(entry[7]) << 24, words[1] & 0xff00_00ff);
            prop_assert_eq!(from_entry(&entry), words);
        }
    }

    #[test]
    fn a_word_fits_if_it_is_a_sign_extension() {
        for (word, bits, expected) in [(7, 4, true), (8, 4, false), (-8, 4, true), (-9, 4, false), (-32768, 16, true)] {
            assert_eq!(fits(word as u32, bits), expected, "{word} in {bits} bits");
        }
    }
}
