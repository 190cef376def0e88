//! The same code, compiled for what the processor has.
//!
//! A code is written once, over any `Lanes`. On x86-64 it is compiled for plain arrays and, with AVX2 and the bit
//! instructions of that generation, for registers; the second runs where the processor has these. The tests compare them.

use crate::Entry;
use crate::bits::{BitReader, BitWriter};
use crate::codes::{Code, Malformed};
#[cfg(target_arch = "x86_64")]
use crate::lanes::Avx2;
use crate::lanes::{Lanes, Plain};
use crate::words::{all_zero, from_entry, to_entry};

/// Bits of an entry's code, 0 if the entry is all zero.
#[inline]
pub(crate) fn bits<C: Code>(entry: &Entry) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the processor has what it was compiled for.
        return unsafe { wide::bits::<C>(entry) };
    }
    bits_with::<C, Plain>(entry)
}

/// Writes an entry's code.
#[inline]
pub(crate) fn write<C: Code>(entry: &Entry, out: &mut BitWriter) {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the processor has what it was compiled for.
        return unsafe { wide::write::<C>(entry, out) };
    }
    write_with::<C, Plain>(entry, out);
}

/// Reads an entry from its code.
#[inline]
pub(crate) fn read<C: Code>(code: &mut BitReader) -> Result<Entry, Malformed> {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the processor has what it was compiled for.
        return unsafe { wide::read::<C>(code) };
    }
    read_with::<C, Plain>(code)
}

#[inline(always)]
fn bits_with<C: Code, L: Lanes>(entry: &Entry) -> u32 {
    let words = from_entry(entry);
    if all_zero(&words) { 0 } else { C::bits::<L>(&words) }
}

#[inline(always)]
fn write_with<C: Code, L: Lanes>(entry: &Entry, out: &mut BitWriter) {
    C::write::<L>(&from_entry(entry), out);
}

#[inline(always)]
fn read_with<C: Code, L: Lanes>(code: &mut BitReader) -> Result<Entry, Malformed> {
    Ok(to_entry(&C::read::<L>(code)?))
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Avx2, BitReader, BitWriter, Code, Entry, Malformed, bits_with, read_with, write_with};
    use std::sync::LazyLock;

    /// Whether the processor has the features below: asked once, not once per entry and feature.
    static AVAILABLE: LazyLock<bool> = LazyLock::new(|| {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    });

    #[inline]
    pub(super) fn available() -> bool {
        *AVAILABLE
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn bits<C: Code>(entry: &Entry) -> u32 {
        bits_with::<C, Avx2>(entry)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn write<C: Code>(entry: &Entry, out: &mut BitWriter) {
        write_with::<C, Avx2>(entry, out);
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn read<C: Code>(code: &mut BitReader) -> Result<Entry, Malformed> {
        read_with::<C, Avx2>(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{Bdi, Bpc, CPack, Fibonacci, Fpc, Mpc, ZeroValue};
    use crate::words::{WORDS, Words};
    use crate::{Size, words};
    use proptest::prelude::*;

    /// What both say of an entry's size, code and decoding is the same.
    fn compare<C: Code>(words: &Words) {
        let entry = words::to_entry(words);
        let plain_bits = bits_with::<C, Plain>(&entry);
        assert_eq!(bits::<C>(&entry), plain_bits);
        if Size::of_code(plain_bits) == Size::RAW {
            return;
        }
        let (mut plain, mut chosen) = (BitWriter::new(), BitWriter::new());
        write_with::<C, Plain>(&entry, &mut plain);
        write::<C>(&entry, &mut chosen);
        let (plain, chosen) = (plain.finish(), chosen.finish());
        assert_eq!(plain, chosen);
        compare_reading::<C>(&plain);
    }

    /// Both read the same from any bytes.
    fn compare_reading<C: Code>(code: &Entry) {
        let (mut plain, mut chosen) = (BitReader::new(code), BitReader::new(code));
        assert_eq!(read_with::<C, Plain>(&mut plain), read::<C>(&mut chosen));
        assert_eq!(plain.position(), chosen.position());
    }

    fn compare_all(words: &Words) {
        compare::<Bpc>(words);
        compare::<Bdi>(words);
        compare::<Fpc>(words);
        compare::<CPack>(words);
        compare::<ZeroValue>(words);
        compare::<Fibonacci>(words);
        compare::<Mpc>(words);
    }

    proptest! {
        #[test]
        fn all_processors_agree(random: Words, shift in 0u32..32, base: u32, few in 1usize..20) {
            compare_all(&random);
            compare_all(&random.map(|word| word >> shift));
            compare_all(&random.map(|word| (word as i32 >> shift) as u32));
            compare_all(&random.map(|word| base.wrapping_add(word >> shift)));
            compare_all(&std::array::from_fn(|i| random[i % few]));
            compare_all(&std::array::from_fn(|i| if i % few == 0 { random[i] } else { 0 }));
            compare_all(&std::array::from_fn(|i| base.wrapping_mul(i as u32 / few as u32)));
            compare_all(&[0; WORDS]);
        }

        #[test]
        fn all_processors_read_the_same_from_any_bytes(random: Words, shift in 0u32..32) {
            for code in [random, random.map(|word| word >> shift)] {
                let code = words::to_entry(&code);
                compare_reading::<Bpc>(&code);
                compare_reading::<Bdi>(&code);
                compare_reading::<Fpc>(&code);
                compare_reading::<CPack>(&code);
                compare_reading::<ZeroValue>(&code);
                compare_reading::<Fibonacci>(&code);
                compare_reading::<Mpc>(&code);
            }
        }
    }
}
