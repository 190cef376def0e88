//! Codes as bits: the first bit written is the most significant of the first byte.
//!
//! Neither side can fail in the middle. The writer is only asked for codes that fit an entry, because their size is
//! known before; the reader gives zeros after the end, and whoever reads asks once, at the end, whether it was passed.

use crate::ENTRY_BYTES;

/// What one load or store moves: a partial byte and up to 57 bits more.
const WORD: usize = size_of::<u64>();

/// Writes a code of up to [`ENTRY_BYTES`].
pub(crate) struct BitWriter {
    /// One word longer than any code: every store is a whole word.
    bytes: [u8; ENTRY_BYTES + WORD],
    /// Bits of the byte being filled, at the top.
    pending: u64,
    written: usize,
}

impl BitWriter {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { bytes: [0; ENTRY_BYTES + WORD], pending: 0, written: 0 }
    }

    /// Appends the lowest `count` bits of `value`, 1 to 56; the others must be zero.
    #[inline(always)]
    pub(crate) fn put(&mut self, value: u64, count: u32) {
        debug_assert!((1..=56).contains(&count) && value >> count == 0, "{value:#x} in {count} bits");
        let filled = self.written as u32 % 8;
        self.pending |= value << (64 - filled - count);
        let at = (self.written / 8).min(ENTRY_BYTES);
        self.bytes[at..at + WORD].copy_from_slice(&self.pending.to_be_bytes());
        self.pending <<= (filled + count) & !7;
        self.written += count as usize;
    }

    /// Bits written so far.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    /// The code, and zeros after it.
    pub(crate) fn finish(self) -> [u8; ENTRY_BYTES] {
        let mut code = [0; ENTRY_BYTES];
        code.copy_from_slice(&self.bytes[..ENTRY_BYTES]);
        code
    }
}

/// Reads a code; endless zeros follow it.
pub(crate) struct BitReader {
    bytes: [u8; ENTRY_BYTES + WORD],
    len: usize,
    position: usize,
}

impl BitReader {
    /// A reader of the first [`ENTRY_BYTES`]; no code is longer.
    pub(crate) fn new(code: &[u8]) -> Self {
        let len = code.len().min(ENTRY_BYTES);
        let mut bytes = [0; ENTRY_BYTES + WORD];
        bytes[..len].copy_from_slice(&code[..len]);
        Self { bytes, len: len * 8, position: 0 }
    }

    /// The next 57 bits, at the top of the word; what is below them is undefined.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u64 {
        let at = (self.position / 8).min(ENTRY_BYTES);
        let mut word = [0; WORD];
        word.copy_from_slice(&self.bytes[at..at + WORD]);
        u64::from_be_bytes(word) << (self.position % 8)
    }

    /// Passes `count` bits.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) {
        self.position += count as usize;
    }

    /// The next `count` bits, 1 to 57, as a number.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u64 {
        debug_assert!((1..=57).contains(&count), "{count} bits");
        let value = self.peek() >> (64 - count);
        self.skip(count);
        value
    }

    /// The next `count` bits as a signed number, sign-extended to a word.
    #[inline(always)]
    pub(crate) fn take_signed(&mut self, count: u32) -> u32 {
        let value = (self.peek() as i64 >> (64 - count)) as u32;
        self.skip(count);
        value
    }

    /// Bits read so far.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Whether more was read than there is.
    pub(crate) fn passed_the_end(&self) -> bool {
        self.position > self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_bit_is_the_top_of_the_first_byte() {
        let mut writer = BitWriter::new();
        writer.put(0b1, 1);
        writer.put(0b01, 2);
        writer.put(0xabc, 12);
        assert_eq!(writer.written(), 15);
        assert_eq!(writer.finish()[..3], [0b1011_0101, 0b0111_1000, 0]);
    }

    #[test]
    fn after_the_end_come_zeros() {
        let mut reader = BitReader::new(&[0xff]);
        assert_eq!(reader.take(8), 0xff);
        assert!(!reader.passed_the_end());
        assert_eq!(reader.take(57), 0);
        assert!(reader.passed_the_end());
        reader.skip(5000);
        assert_eq!(reader.take(57), 0);
    }

    #[test]
    fn signed_numbers_are_extended() {
        let mut reader = BitReader::new(&[0b1000_0111]);
        assert_eq!(reader.take_signed(4), -8i32 as u32);
        assert_eq!(reader.take_signed(4), 7);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(fields in proptest::collection::vec((any::<u64>(), 1u32..=56), 0..18)) {
            let fields: Vec<_> = fields.into_iter().map(|(value, count)| (value & ((1 << count) - 1), count)).collect();
            let mut writer = BitWriter::new();
            for &(value, count) in &fields {
                writer.put(value, count);
            }
            let mut reader = BitReader::new(&writer.finish());
            for &(value, count) in &fields {
                prop_assert_eq!(reader.take(count), value);
            }
            prop_assert!(!reader.passed_the_end());
        }
    }
}
