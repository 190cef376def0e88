//! What a program's memory holds, byte by byte.

use std::collections::BTreeMap;
use std::fmt;
use strata_core::{Addr, LINE_BYTES, LineAddr, SECTOR_BYTES};

/// The bytes of a line.
pub type Line = [u8; LINE_BYTES as usize];

/// Memory as a program sees it. What nobody wrote is zero.
///
/// ```
/// use strata_core::Addr;
/// use strata_testkit::Memory;
///
/// let mut memory = Memory::default();
/// memory.write(Addr(126), &[1, 2, 3]);
/// assert_eq!((memory.line(Addr(0).line())[126], memory.line(Addr(128).line())[0]), (1, 3));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Memory {
    lines: BTreeMap<LineAddr, Line>,
}

/// A byte that two memories hold differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongByte {
    /// Where.
    pub address: Addr,
    /// What should be there.
    pub expected: u8,
    /// What is there.
    pub found: u8,
}

impl fmt::Display for WrongByte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, expected, found } = self;
        write!(f, "the byte at {:#x} is {found:#04x} and should be {expected:#04x}", address.0)
    }
}

impl Memory {
    /// Zero everywhere.
    pub(crate) const EMPTY: Self = Self { lines: BTreeMap::new() };

    /// What a line holds.
    pub fn line(&self, line: LineAddr) -> Line {
        self.lines.get(&line).copied().unwrap_or([0; LINE_BYTES as usize])
    }

    /// A whole line gets these bytes.
    pub fn set_line(&mut self, line: LineAddr, bytes: &Line) {
        self.lines.insert(line, *bytes);
    }

    /// The sectors of a line whose bits are set get the bytes that they have in `bytes`.
    pub fn set_sectors(&mut self, line: LineAddr, sectors: u8, bytes: &Line) {
        let held = self.held(line);
        let each = SECTOR_BYTES as usize;
        for (k, (to, from)) in held.chunks_exact_mut(each).zip(bytes.chunks_exact(each)).enumerate() {
            if sectors >> k & 1 != 0 {
                to.copy_from_slice(from);
            }
        }
    }

    /// Writes bytes, over as many lines as they take.
    pub fn write(&mut self, start: Addr, bytes: &[u8]) {
        for (k, byte) in bytes.iter().enumerate() {
            let at = start.offset(k as u64);
            self.held(at.line())[(at.0 % LINE_BYTES) as usize] = *byte;
        }
    }

    /// Adds to a word of 4 bytes, which lies within a line, as an atomic does: overflow wraps.
    pub fn add(&mut self, start: Addr, word: u32) {
        let at = (start.0 % LINE_BYTES) as usize;
        if let Some(held) = self.held(start.line()).get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *held = u32::from_le_bytes(*held).wrapping_add(word).to_le_bytes();
        }
    }

    /// Forgets a line: it is zero again.
    pub fn free(&mut self, line: LineAddr) {
        self.lines.remove(&line);
    }

    /// The first byte of a line, among the sectors whose bits are set, that is not what these bytes say.
    pub fn first_difference(&self, line: LineAddr, sectors: u8, found: &Line) -> Option<WrongByte> {
        let expected = self.line(line);
        let differs = |k: &usize| sectors >> (*k as u64 / SECTOR_BYTES) & 1 != 0 && expected[*k] != found[*k];
        (0..expected.len()).find(differs).map(|k| WrongByte {
            address: Addr(line.0 * LINE_BYTES + k as u64),
            expected: expected[k],
            found: found[k],
        })
    }

    fn held(&mut self, line: LineAddr) -> &mut Line {
        self.lines.entry(line).or_insert([0; LINE_BYTES as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_words_and_sectors_are_where_they_were_put() {
        let mut memory = Memory::default();
        memory.set_sectors(LineAddr(2), 0b0101, &[7; 128]);
        memory.add(Addr(2 * 128), 0x0101_0101);
        memory.add(Addr(2 * 128 + 126), 1);
        let line = memory.line(LineAddr(2));
        assert_eq!((line[0], line[4], line[32], line[64], line[126]), (8, 7, 0, 7, 0));
        memory.free(LineAddr(2));
        assert_eq!(memory.line(LineAddr(2)), [0; 128]);
    }

    #[test]
    fn the_first_wrong_byte_is_named_and_sectors_that_do_not_count_are_not_looked_at() {
        let mut memory = Memory::default();
        memory.write(Addr(128 + 40), &[1, 2]);
        let mut found = memory.line(LineAddr(1));
        (found[0], found[41]) = (9, 3);
        let wrong = memory.first_difference(LineAddr(1), 0b0010, &found).expect("one");
        assert_eq!(wrong, WrongByte { address: Addr(169), expected: 2, found: 3 });
        assert_eq!(wrong.to_string(), "the byte at 0xa9 is 0x03 and should be 0x02");
        assert_eq!(memory.first_difference(LineAddr(1), 0b1100, &found), None);
    }
}
