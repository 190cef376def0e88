//! Numbers and texts as bytes: LEB128 integers of seven bits per byte, signed ones folded (0, -1, 1, -2, …).
//!
//! Invariant: reading never allocates more than the bytes that are there justify, and never panics.

use std::borrow::Cow;
use strata_core::Dim3;

/// What is wrong with some bytes, and where in them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) at: usize,
    pub(crate) cause: Cow<'static, str>,
}

/// The longest name of a program, kernel, allocation or instruction.
pub(crate) const MAX_TEXT: usize = 1 << 16;

pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, fold(value));
}

/// Texts longer than [`MAX_TEXT`] are cut at a character.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn put_dim(out: &mut Vec<u8>, dim: Dim3) {
    for extent in [dim.x, dim.y, dim.z] {
        put(out, u64::from(extent));
    }
}

/// Small magnitudes become small numbers.
pub(crate) const fn fold(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(crate) const fn unfold(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads from the front of some bytes.
pub(crate) struct Take<'a> {
    bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Take<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Goes on at `at`.
    pub(crate) const fn from(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(crate) fn wrong<T>(&self, cause: impl Into<Cow<'static, str>>) -> Result<T, Malformed> {
        Err(Malformed { at: self.at, cause: cause.into() })
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let Some(&byte) = self.bytes.get(self.at) else { return self.wrong("it ends too early") };
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if count > self.left() {
            return self.wrong("it ends too early");
        }
        let bytes = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.wrong("a number has more than 64 bits")
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Malformed> {
        self.number().map(unfold)
    }

    /// A number of at most `max`.
    pub(crate) fn at_most(&mut self, what: &'static str, max: u64) -> Result<u64, Malformed> {
        let value = self.number()?;
        if value > max {
            return self.wrong(format!("{what} {value} is out of range, the most is {max}"));
        }
        Ok(value)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        self.at_most(what, u64::from(u32::MAX)).map(|v| v as u32)
    }

    /// The length of a list each of whose entries takes at least one byte.
    pub(crate) fn count(&mut self) -> Result<usize, Malformed> {
        let count = self.number()?;
        if count > self.left() as u64 {
            return self.wrong(format!("a list of {count} entries does not fit in {} bytes", self.left()));
        }
        Ok(count as usize)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let length = self.at_most("length of a name", MAX_TEXT as u64)? as usize;
        let bytes = self.bytes(length)?;
        std::str::from_utf8(bytes).or_else(|_| self.wrong("a name is not UTF-8"))
    }

    pub(crate) fn dim(&mut self, what: &'static str, limits: [u32; 3]) -> Result<Dim3, Malformed> {
        let mut extents = [0; 3];
        for (extent, limit) in extents.iter_mut().zip(limits) {
            *extent = self.at_most(what, u64::from(limit))? as u32;
            if *extent == 0 {
                return self.wrong(format!("{what} of extent 0"));
            }
        }
        Ok(Dim3::new(extents[0], extents[1], extents[2]))
    }

    /// Everything must have been read.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.left() == 0 { Ok(()) } else { self.wrong(format!("{} bytes too many", self.left())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in proptest::collection::vec(any::<u64>().prop_map(|v| v >> (v % 64)), 0..40)) {
            let mut bytes = Vec::new();
            for &v in &values {
                put(&mut bytes, v);
                put_signed(&mut bytes, v as i64);
            }
            let mut take = Take::new(&bytes);
            for &v in &values {
                prop_assert_eq!(take.number(), Ok(v));
                prop_assert_eq!(take.signed(), Ok(v as i64));
            }
            prop_assert_eq!(take.end(), Ok(()));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let mut take = Take::new(&bytes);
            while take.number().is_ok() && take.text().is_ok() {}
        }
    }

    #[test]
    fn small_magnitudes_are_small() {
        assert_eq!([0, -1, 1, -2].map(fold), [0, 1, 2, 3]);
        assert_eq!(Take::new(&[0xff; 12]).number().map_err(|e| e.cause), Err("a number has more than 64 bits".into()));
    }
}
