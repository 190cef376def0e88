//! Massively Parallel Compression (Yang, Mukka, Hesaaraki, Burtscher: CLUSTER 2015), an entry as a chunk of 32 words.
//!
//! Four steps: every word less the one before it (records of one word; the first word stays); the bit matrix transposed,
//! most significant bits first; every plane xor the one before it; the planes that are not zero, behind a mask.

use super::{Code, Malformed, ZeroValue};
use crate::bits::{BitReader, BitWriter};
use crate::lanes::Lanes;
use crate::words::{WORDS, Words, transposed};

pub(crate) struct Mpc;

impl Code for Mpc {
    #[inline(always)]
    fn bits<L: Lanes>(words: &Words) -> u32 {
        // A plane is zero if its bit is zero in every word: no need to transpose.
        let mut kept = 0;
        for gray in gray_differences(words) {
            kept |= gray;
        }
        32 + 32 * kept.count_ones()
    }

    #[inline(always)]
    fn write<L: Lanes>(words: &Words, out: &mut BitWriter) {
        let mut planes = L::to_words(transposed(L::from_words(&gray_differences(words))));
        planes.reverse();
        ZeroValue::write::<L>(&planes, out);
    }

    #[inline(always)]
    fn read<L: Lanes>(code: &mut BitReader) -> Result<Words, Malformed> {
        let mut planes = ZeroValue::read::<L>(code)?;
        for i in 1..WORDS {
            planes[i] ^= planes[i - 1];
        }
        planes.reverse();
        let mut words = L::to_words(transposed(L::from_words(&planes)));
        for i in 1..WORDS {
            words[i] = words[i].wrapping_add(words[i - 1]);
        }
        Ok(words)
    }
}

/// The differences, every bit xor the one above it: what xor of neighbouring planes does, before the planes are formed.
#[inline(always)]
fn gray_differences(words: &Words) -> Words {
    let mut gray = [0; WORDS];
    for i in 0..WORDS {
        let before = if i == 0 { 0 } else { words[i - 1] };
        let delta = words[i].wrapping_sub(before);
        gray[i] = delta ^ delta >> 1;
    }
    gray
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::testing::{check, starting_with};

    #[test]
    fn steps_of_three() {
        // All differences are 3: planes 1 and 0, the last two, are ones; xor leaves the first of them, number 30.
        let words = std::array::from_fn(|i| 3 * (i as u32 + 1));
        check::<Mpc>(words, &format!("01{} {}", "0".repeat(30), "1".repeat(32)));
    }

    #[test]
    fn one_word() {
        // Differences: word 0 is 1, word 1 is -1. The planes above the last have bit 1 set, the last bits 0 and 1.
        // Plane 0 is kept as it is, planes 1 to 30 become zero, plane 31 is bit 0.
        check::<Mpc>(starting_with(&[1]), &format!("1{}1 {}10 {}1", "0".repeat(30), "0".repeat(30), "0".repeat(31)));
    }

    #[test]
    fn zeros() {
        check::<Mpc>([0; WORDS], &"0".repeat(32));
    }
}
