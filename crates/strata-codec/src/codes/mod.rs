//! The codes, one file each: how many bits an entry takes, and its bits, both ways.

mod bdi;
mod bpc;
mod cpack;
mod fibonacci;
mod fpc;
mod mpc;
mod zero_value;

pub(crate) use bdi::Bdi;
pub(crate) use bpc::Bpc;
pub(crate) use cpack::CPack;
pub(crate) use fibonacci::Fibonacci;
pub(crate) use fpc::Fpc;
pub(crate) use mpc::Mpc;
pub(crate) use zero_value::ZeroValue;

use crate::bits::{BitReader, BitWriter};
use crate::lanes::Lanes;
use crate::words::Words;

/// What `bits` says of an entry that a code cannot express, or that it would not make shorter.
pub(crate) const NO_CODE: u32 = u32::MAX;

/// Why bits are no code of this kind.
pub(crate) type Malformed = &'static str;

/// One code. Always inlined, and without iterators over words, which are not: `cpu` compiles it for several processors.
pub(crate) trait Code {
    /// Bits that `write` will write, or [`NO_CODE`].
    fn bits<L: Lanes>(words: &Words) -> u32;

    /// Writes an entry; only called if its `bits` fit an entry.
    fn write<L: Lanes>(words: &Words, out: &mut BitWriter);

    /// Reads an entry. Whether the code ended too early is for the caller to ask the reader.
    fn read<L: Lanes>(code: &mut BitReader) -> Result<Words, Malformed>;
}

#[cfg(test)]
pub(crate) mod testing {
    //! Codes as text, for vectors worked out by hand.

    use super::*;
    use crate::lanes::Plain;

    /// The entry's code is these bits (blanks separate fields) and nothing else; and it reads back.
    #[track_caller]
    pub(crate) fn check<C: Code>(words: Words, expected: &str) {
        let expected = expected.replace(' ', "");
        let mut writer = BitWriter::new();
        C::write::<Plain>(&words, &mut writer);
        let written = writer.written();
        let bytes = writer.finish();
        let text = fields(8, bytes);
        assert_eq!(text[..written], expected);
        assert_eq!(C::bits::<Plain>(&words), expected.len() as u32);
        let mut reader = BitReader::new(&bytes);
        assert_eq!(C::read::<Plain>(&mut reader), Ok(words));
        assert_eq!(reader.position(), written);
    }

    /// These bits, and zeros after them, are no code, for this reason.
    #[track_caller]
    pub(crate) fn check_malformed<C: Code>(code: &str, reason: &str) {
        let mut writer = BitWriter::new();
        for bit in code.chars().filter(|c| *c != ' ') {
            writer.put(u64::from(bit == '1'), 1);
        }
        assert_eq!(C::read::<Plain>(&mut BitReader::new(&writer.finish())), Err(reason));
    }

    /// Numbers of so many bits, one after the other.
    pub(crate) fn fields(bits: usize, numbers: impl IntoIterator<Item: std::fmt::Binary>) -> String {
        let texts: Vec<_> = numbers.into_iter().map(|number| format!("{number:0bits$b}")).collect();
        texts.concat()
    }

    /// An entry that starts with these words and goes on with zeros.
    pub(crate) fn starting_with(first: &[u32]) -> Words {
        std::array::from_fn(|i| first.get(i).copied().unwrap_or(0))
    }
}
