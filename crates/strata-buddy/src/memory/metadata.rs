//! Four bits per entry, in a region of device memory behind the data: two entries in a byte, the first in its low half.
//!
//! The paper does not say how an entry finds its metadata. Here the region is a table by page number, so that no bit of the
//! page-table entry is spent on it.

use super::store::Store;
use crate::EntryState;

/// Where the region is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metadata {
    /// Its first byte in device memory.
    pub(super) base: u64,
    /// Bytes for a page.
    pub(super) page: u64,
}

impl Metadata {
    /// The byte that holds an entry's bits, and how far they are shifted.
    fn place(self, page: u64, entry: u64) -> (u64, u32) {
        (self.base + page * self.page + entry / 2, if entry.is_multiple_of(2) { 0 } else { EntryState::BITS })
    }

    /// The code of an entry, which may be none that a state has.
    pub(super) fn code(self, device: &Store, page: u64, entry: u64) -> u8 {
        let (at, shift) = self.place(page, entry);
        let mut byte = [0];
        device.read(at, &mut byte);
        byte[0] >> shift & 0xf
    }

    /// Writes the code of an entry.
    pub(super) fn set_code(self, device: &mut Store, page: u64, entry: u64, code: u8) {
        let (at, shift) = self.place(page, entry);
        let mut byte = [0];
        device.read(at, &mut byte);
        byte[0] = byte[0] & !(0xf << shift) | code << shift;
        device.write(at, &byte);
    }

    /// Makes all entries of a page zero.
    pub(super) fn clear(self, device: &mut Store, page: u64) {
        device.clear(self.base + page * self.page, self.page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_entries_share_a_byte_and_not_their_bits() {
        let mut device = Store::default();
        let metadata = Metadata { base: 1000, page: 4 };
        for entry in 0..8 {
            metadata.set_code(&mut device, 1, entry, 0xf - entry as u8);
        }
        metadata.set_code(&mut device, 1, 4, 2);
        let mut bytes = [0; 12];
        device.read(1000, &mut bytes);
        assert_eq!(bytes, [0, 0, 0, 0, 0xef, 0xcd, 0xa2, 0x89, 0, 0, 0, 0]);
        assert_eq!((metadata.code(&device, 1, 4), metadata.code(&device, 1, 5)), (2, 0xa));
        metadata.clear(&mut device, 1);
        device.read(1000, &mut bytes);
        assert_eq!(bytes, [0; 12]);
    }
}
