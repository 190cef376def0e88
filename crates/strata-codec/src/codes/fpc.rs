//! Frequent Pattern Compression (Alameldeen and Wood, 2004): a prefix of 3 bits for each word.
//!
//! | prefix | word | bits after it |
//! | --- | --- | --- |
//! | `000` | 1 to 8 zero words | 3: their number less one |
//! | `001` | 4 bits, sign-extended | 4 |
//! | `010` | 8 bits, sign-extended | 8 |
//! | `011` | 16 bits, sign-extended | 16 |
//! | `100` | lower half zero | 16: the upper half |
//! | `101` | each half a byte, sign-extended | 16: the upper half's first |
//! | `110` | one byte four times | 8 |
//! | `111` | anything | 32 |
//!
//! Of the prefixes that fit a word, the shortest code is taken, then the lowest prefix.

use super::{Code, Malformed};
use crate::bits::{BitReader, BitWriter};
use crate::lanes::Lanes;
use crate::words::{WORDS, Words, fits, nonzero_mask};

/// Longest run of zero words in one code.
const LONGEST_RUN: u32 = 8;

pub(crate) struct Fpc;

impl Code for Fpc {
    #[inline(always)]
    fn bits<L: Lanes>(words: &Words) -> u32 {
        let mut bits = 6 * zero_run_codes(!nonzero_mask::<L>(words));
        for &word in words {
            bits += word_bits(word);
        }
        bits
    }

    #[inline(always)]
    fn write<L: Lanes>(words: &Words, out: &mut BitWriter) {
        let mut i = 0;
        while i < WORDS {
            let run = words[i..].iter().take(LONGEST_RUN as usize).take_while(|&&word| word == 0).count();
            if run > 0 {
                out.put(run as u64 - 1, 6);
                i += run;
            } else {
                write_word(words[i], out);
                i += 1;
            }
        }
    }

    #[inline(always)]
    fn read<L: Lanes>(code: &mut BitReader) -> Result<Words, Malformed> {
        let mut words = [0; WORDS];
        let mut i = 0;
        while i < WORDS {
            words[i] = match code.take(3) {
                0 => {
                    i += code.take(3) as usize + 1;
                    if i > WORDS {
                        return Err("a run of zero words is longer than what is left of the entry");
                    }
                    continue;
                }
                1 => code.take_signed(4),
                2 => code.take_signed(8),
                3 => code.take_signed(16),
                4 => (code.take(16) as u32) << 16,
                5 => code.take_signed(8) << 16 | code.take_signed(8) & 0xffff,
                6 => code.take(8) as u32 * 0x0101_0101,
                _ => code.take(32) as u32,
            };
            i += 1;
        }
        Ok(words)
    }
}

/// Bits of a word's code; none of a zero word, which is coded in a run.
#[inline(always)]
fn word_bits(word: u32) -> u32 {
    let mut bits = 35;
    if fits(word, 16) || word << 16 == 0 || halves_are_bytes(word) {
        bits = 19;
    }
    if fits(word, 8) || word.rotate_left(8) == word {
        bits = 11;
    }
    if fits(word, 4) {
        bits = 7;
    }
    if word == 0 {
        bits = 0;
    }
    bits
}

#[inline(always)]
fn write_word(word: u32, out: &mut BitWriter) {
    let value = u64::from(word);
    if fits(word, 4) {
        out.put(0b001 << 4 | value & 0xf, 7);
    } else if fits(word, 8) {
        out.put(0b010 << 8 | value & 0xff, 11);
    } else if word.rotate_left(8) == word {
        out.put(0b110 << 8 | value & 0xff, 11);
    } else if fits(word, 16) {
        out.put(0b011 << 16 | value & 0xffff, 19);
    } else if word << 16 == 0 {
        out.put(0b100 << 16 | value >> 16, 19);
    } else if halves_are_bytes(word) {
        out.put(0b101 << 16 | value >> 8 & 0xff00 | value & 0xff, 19);
    } else {
        out.put(0b111 << 32 | value, 35);
    }
}

/// Whether both halves are sign-extended bytes.
#[inline(always)]
fn halves_are_bytes(word: u32) -> bool {
    let (upper, lower) = ((word >> 16) + 0x80, (word & 0xffff) + 0x80);
    (upper | lower) & 0xff00 == 0
}

/// How many codes the runs in a mask of zero words take.
#[inline(always)]
fn zero_run_codes(zeros: u32) -> u32 {
    // Bit i: the eight words before word i, and word i, are zero.
    let two = zeros & zeros << 1;
    let four = two & two << 2;
    let goes_on = (four & four << 4) << 1 & zeros;
    let first = zeros & !(zeros << 1);
    let second = first << LONGEST_RUN & goes_on;
    let third = second << LONGEST_RUN & goes_on;
    let fourth = third << LONGEST_RUN & goes_on;
    first.count_ones() + second.count_ones() + third.count_ones() + fourth.count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::testing::{check, check_malformed, starting_with};

    /// One word, then 31 zeros in four runs.
    fn check_word(word: u32, code: &str) {
        check::<Fpc>(starting_with(&[word]), &format!("{code} 000111 000111 000111 000110"));
    }

    #[test]
    fn every_pattern() {
        check_word(7, "001 0111");
        check_word(-8i32 as u32, "001 1000");
        check_word(8, "010 00001000");
        check_word(-128i32 as u32, "010 10000000");
        check_word(0x7fff, "011 0111111111111111");
        check_word(-32768i32 as u32, "011 1000000000000000");
        check_word(0x1234_0000, "100 0001001000110100");
        check_word(0x0012_ff85, "101 00010010 10000101");
        check_word(0xff80_007f, "101 10000000 01111111");
        check_word(0xabab_abab, "110 10101011");
        check_word(0x0001_0203, "111 00000000000000010000001000000011");
    }

    #[test]
    fn overlapping_patterns_take_the_shortest() {
        check_word(0xffff_ffff, "001 1111");
        check_word(0xffff_0000, "100 1111111111111111");
    }

    #[test]
    fn runs_of_zeros() {
        check::<Fpc>([0; WORDS], &"000111".repeat(4));
        for length in 1..=31 {
            let words = std::array::from_fn(|i| u32::from(i >= length));
            let runs = "000111".repeat(length / 8);
            let rest = if length % 8 > 0 { format!("000{:03b}", length % 8 - 1) } else { String::new() };
            check::<Fpc>(words, &format!("{runs} {rest} {}", "0010001".repeat(32 - length)));
        }
    }

    #[test]
    fn a_run_past_the_end_is_malformed() {
        let reason = "a run of zero words is longer than what is left of the entry";
        check_malformed::<Fpc>(&format!("0010001 {}", "000111".repeat(4)), reason);
    }
}
