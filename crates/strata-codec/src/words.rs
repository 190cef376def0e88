//! An entry as 32 little-endian words, and what several codes do to them.

use crate::Entry;

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
    let mut entry = [0; _];
    for (bytes, word) in entry.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    entry
}

#[inline(always)]
pub(crate) fn all_zero(words: &Words) -> bool {
    words.iter().fold(0, |seen, word| seen | word) == 0
}

/// The 8-byte value that the entry repeats, if it does.
#[inline(always)]
pub(crate) fn repeated(words: &Words) -> Option<u64> {
    let differences = (2..WORDS).fold(0, |seen, i| seen | (words[i] ^ words[i - 2]));
    (differences == 0).then_some(u64::from(words[1]) << 32 | u64::from(words[0]))
}

/// Bit i is set where word i is not zero.
#[inline(always)]
pub(crate) fn nonzero_mask(words: &Words) -> u32 {
    (0..WORDS).fold(0, |mask, i| mask | u32::from(words[i] != 0) << i)
}

/// Whether the word is the sign extension of its lowest `bits`.
#[inline(always)]
pub(crate) fn fits(word: u32, bits: u32) -> bool {
    word.wrapping_add(1 << (bits - 1)) >> bits == 0
}

/// The bit matrix transposed: bit i of word b was bit b of word i. Its own inverse.
#[inline(always)]
pub(crate) fn transposed(mut matrix: Words) -> Words {
    // Swap the off-diagonal quarters of ever smaller squares (Hacker's Delight, section 7-3).
    let mut low = 0x0000_ffff;
    let mut half = WORDS / 2;
    while half > 0 {
        for square in (0..WORDS).step_by(2 * half) {
            for row in square..square + half {
                let swap = (matrix[row] >> half ^ matrix[row + half]) & low;
                matrix[row + half] ^= swap;
                matrix[row] ^= swap << half;
            }
        }
        half /= 2;
        low ^= low << half;
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_transposed_matrix_has_rows_for_columns(words: Words) {
            let planes = transposed(words);
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

    #[test]
    fn a_repeated_value_has_eight_bytes() {
        let words = std::array::from_fn(|i| if i % 2 == 0 { 5 } else { 9 });
        assert_eq!(repeated(&words), Some(9 << 32 | 5));
        let mut other = words;
        other[31] = 8;
        assert_eq!(repeated(&other), None);
    }
}
