//! Zero-value compression: a mask of the words that are not zero, then those words.
//!
//! The mask has 32 bits, that of word 31 first. MPC ends in the same step.

use super::{Code, Malformed};
use crate::bits::{BitReader, BitWriter};
use crate::lanes::Lanes;
use crate::words::{WORDS, Words, nonzero_mask};

pub(crate) struct ZeroValue;

impl Code for ZeroValue {
    #[inline(always)]
    fn bits<L: Lanes>(words: &Words) -> u32 {
        32 + 32 * nonzero_mask::<L>(words).count_ones()
    }

    #[inline(always)]
    fn write<L: Lanes>(words: &Words, out: &mut BitWriter) {
        out.put(nonzero_mask::<L>(words).into(), 32);
        for &word in words.iter().filter(|&&word| word != 0) {
            out.put(word.into(), 32);
        }
    }

    #[inline(always)]
    fn read<L: Lanes>(code: &mut BitReader) -> Result<Words, Malformed> {
        let mask = code.take(32);
        let mut words = [0; WORDS];
        for (i, word) in words.iter_mut().enumerate() {
            if mask >> i & 1 == 1 {
                *word = code.take(32) as u32;
            }
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::testing::{check, starting_with};
    use crate::lanes::Plain;

    #[test]
    fn mask_and_words() {
        check::<ZeroValue>([0; WORDS], &"0".repeat(32));
        check::<ZeroValue>(
            starting_with(&[0, 3, 0, 1 << 31]),
            "00000000000000000000000000001010 00000000000000000000000000000011 10000000000000000000000000000000",
        );
    }

    #[test]
    fn a_full_entry_is_longer_than_itself() {
        assert_eq!(ZeroValue::bits::<Plain>(&[1; WORDS]), 1024 + 32);
    }
}
