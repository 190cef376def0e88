//! How large a compressed entry is, and the sizes that a memory can store.

use crate::ENTRY_BYTES;

/// The size of a compressed entry: 0 to 1024 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u16);

impl Size {
    /// An entry of which nothing is stored.
    pub(crate) const ZERO: Self = Self(0);

    /// An entry that is stored as it is.
    pub(crate) const RAW: Self = Self(ENTRY_BYTES as u16 * 8);

    /// The size of a code of so many bits; what saves no byte counts as raw.
    pub(crate) fn of_code(bits: u32) -> Self {
        if bits.div_ceil(8) < ENTRY_BYTES as u32 { Self(bits as u16) } else { Self::RAW }
    }

    /// Bits, as the codec counts them.
    #[inline]
    pub fn bits(self) -> u32 {
        self.0.into()
    }

    /// Whole bytes.
    #[inline]
    pub fn bytes(self) -> usize {
        usize::from(self.0.div_ceil(8))
    }
}

/// The sizes in which a memory stores entries, ascending, from 0 to 128 bytes.
///
/// ```
/// use strata_codec::{Codec, SizeClasses};
///
/// let size = Codec::Bpc.size(&[0; 128]);
/// assert_eq!(SizeClasses::SECTORS.index(size), 0);
/// assert_eq!(SizeClasses::BUDDY.all(), [0, 8, 32, 64, 96, 128]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeClasses {
    classes: &'static [u16],
    /// The index of the class for every number of bytes.
    index: [u8; ENTRY_BYTES + 1],
}

impl SizeClasses {
    /// The eight sizes of the ideal study (Buddy Compression, section II-C).
    pub const IDEAL: Self = Self::new(&[0, 8, 16, 32, 64, 80, 96, 128]);

    /// Whole sectors of 32 B, which Buddy Compression stores (section III). The index of a class is its number of sectors.
    pub const SECTORS: Self = Self::new(&[0, 32, 64, 96, 128]);

    /// Whole sectors, and the 8 B that an entry has in a mostly-zero region with a target of 16x (section III-B).
    pub const BUDDY: Self = Self::new(&[0, 8, 32, 64, 96, 128]);

    const fn new(classes: &'static [u16]) -> Self {
        let mut index = [0; ENTRY_BYTES + 1];
        let mut bytes = 1;
        while bytes <= ENTRY_BYTES {
            let before = index[bytes - 1];
            index[bytes] = if bytes > classes[before as usize] as usize { before + 1 } else { before };
            bytes += 1;
        }
        Self { classes, index }
    }

    /// All classes, in bytes.
    pub const fn all(&self) -> &'static [u16] {
        self.classes
    }

    /// The smallest class that holds an entry of this size, as an index into [`all`](Self::all).
    #[inline]
    pub fn index(&self, size: Size) -> usize {
        self.index[size.bytes()].into()
    }

    /// The smallest class that holds an entry of this size, in bytes.
    #[inline]
    pub fn bytes(&self, size: Size) -> u16 {
        self.classes[self.index(size)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(classes: SizeClasses, code_bits: u32, bytes: u16) {
        let size = Size::of_code(code_bits);
        assert_eq!(classes.bytes(size), bytes, "{code_bits} bits in {classes:?}");
        assert_eq!(classes.all()[classes.index(size)], bytes);
    }

    #[test]
    fn sizes_are_rounded_up_to_the_next_class() {
        check(SizeClasses::IDEAL, 0, 0);
        check(SizeClasses::IDEAL, 1, 8);
        check(SizeClasses::IDEAL, 64, 8);
        check(SizeClasses::IDEAL, 65, 16);
        check(SizeClasses::IDEAL, 80 * 8, 80);
        check(SizeClasses::IDEAL, 80 * 8 + 1, 96);
        check(SizeClasses::IDEAL, 96 * 8 + 1, 128);
        check(SizeClasses::SECTORS, 1, 32);
        check(SizeClasses::SECTORS, 32 * 8 + 1, 64);
        check(SizeClasses::SECTORS, 5000, 128);
        check(SizeClasses::BUDDY, 64, 8);
        check(SizeClasses::BUDDY, 65, 32);
    }

    #[test]
    fn what_saves_no_byte_is_raw() {
        assert_eq!(Size::of_code(127 * 8).bits(), 1016);
        assert_eq!(Size::of_code(127 * 8 + 1), Size::RAW);
        assert_eq!(Size::of_code(u32::MAX), Size::RAW);
    }

    #[test]
    fn the_index_of_a_sector_class_counts_sectors() {
        for bits in 0..=1024 {
            let size = Size::of_code(bits);
            assert_eq!(SizeClasses::SECTORS.index(size), size.bytes().div_ceil(32));
        }
    }
}
