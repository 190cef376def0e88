//! The same code, compiled for what the processor has.
//!
//! A code is written once, in plain loops over 32 words. On x86-64 it is compiled a second time with AVX2 and the bit
//! instructions of that generation, and that copy runs where the processor has them. So the two cannot differ in what they
//! mean; the tests compare them all the same, because compilers err too. AVX-512 is left out:
//! nobody has shown that it is faster here.

use crate::bits::{BitReader, BitWriter};
use crate::codes::{Code, Malformed};
use crate::words::Words;

/// `Code::bits` for the processor we run on.
#[inline]
pub(crate) fn bits<C: Code>(words: &Words) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the processor has what it was compiled for.
        return unsafe { wide::bits::<C>(words) };
    }
    C::bits(words)
}

/// `Code::write` for the processor we run on.
#[inline]
pub(crate) fn write<C: Code>(words: &Words, out: &mut BitWriter) {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the processor has what it was compiled for.
        return unsafe { wide::write::<C>(words, out) };
    }
    C::write(words, out);
}

/// `Code::read` for the processor we run on.
#[inline]
pub(crate) fn read<C: Code>(code: &mut BitReader) -> Result<Words, Malformed> {
    #[cfg(target_arch = "x86_64")]
    if wide::available() {
        // SAFETY: the processor has what it was compiled for.
        return unsafe { wide::read::<C>(code) };
    }
    C::read(code)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{BitReader, BitWriter, Code, Malformed, Words};

    /// The features below; the answer is cached by the standard library.
    #[inline]
    pub(super) fn available() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn bits<C: Code>(words: &Words) -> u32 {
        C::bits(words)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn write<C: Code>(words: &Words, out: &mut BitWriter) {
        C::write(words, out);
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn read<C: Code>(code: &mut BitReader) -> Result<Words, Malformed> {
        C::read(code)
    }
}
