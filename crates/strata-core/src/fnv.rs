//! FNV-1a with 64 bits: the checksum of buffers and the name of a request.
//!
//! Not cryptographic. It is printed, so it must be one that anybody can recompute: Fowler, Noll and Vo's constants, one
//! byte at a time.

use std::fmt;
use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

/// The hash of the bytes fed so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fnv1a64(u64);

impl Default for Fnv1a64 {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a64 {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = Self::default();
        hash.feed(bytes);
        hash
    }

    /// The hash of a file's contents.
    pub fn of_file(path: &Path) -> Result<Self> {
        let mut file = File::open(path)?;
        let mut piece = vec![0; 1 << 20];
        let mut hash = Self::default();
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(hash),
                n => hash.feed(&piece[..n]),
            }
        }
    }

    /// Continues with `bytes`.
    pub fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// The hash as a number.
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for Fnv1a64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the authors' test suite, `test_fnv.c`.
    #[test]
    fn known_vectors() {
        assert_eq!(Fnv1a64::of(b"").value(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fnv1a64::of(b"a").value(), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Fnv1a64::of(b"foobar").value(), 0x8594_4171_f739_67e8);
    }
}
