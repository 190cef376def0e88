//! Addresses, sizes and launch shapes.

use std::fmt;

/// Bytes of one cache line, on every GPU modelled here.
pub const LINE_BYTES: u64 = 128;
/// Bytes of one sector: the unit of traffic between L2 and DRAM.
pub const SECTOR_BYTES: u64 = 32;

/// A byte address in the device's address space (global and managed memory, and the generic windows).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Addr(pub u64);

impl Addr {
    /// The address `bytes` further on; wraps like the device's own arithmetic.
    #[inline]
    #[must_use]
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// The 128 B line that holds this byte.
    #[inline]
    pub const fn line(self) -> LineAddr {
        LineAddr(self.0 / LINE_BYTES)
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The number of a 128 B line: its address divided by [`LINE_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
#[repr(transparent)]
pub struct LineAddr(pub u64);

impl LineAddr {
    /// Address of the first byte of the line.
    pub const fn addr(self) -> Addr {
        Addr(self.0 * LINE_BYTES)
    }
}

/// A size or an amount of traffic in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Bytes(pub u64);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Prints with a binary unit: `512 B`, `4.0 KiB`, `1.5 GiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{value:.1} {}", UNITS[unit])
    }
}

/// The three extents of a grid or a block, or a position in one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dim3 {
    /// Extent in x, the fastest-running dimension.
    pub x: u32,
    /// Extent in y.
    pub y: u32,
    /// Extent in z.
    pub z: u32,
}

impl Dim3 {
    /// Three extents.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// How many positions there are: the product of the extents.
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }

    /// The position with linear number `index`, x running fastest.
    #[must_use]
    pub const fn position(self, index: u64) -> Self {
        let (x, y) = (self.x as u64, self.y as u64);
        Self { x: (index % x) as u32, y: (index / x % y) as u32, z: (index / (x * y)) as u32 }
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self::new(x, 1, 1)
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self::new(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self::new(x, y, z)
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{},{})", self.x, self.y, self.z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_run_x_first() {
        let d = Dim3::new(3, 2, 2);
        assert_eq!(d.position(0), Dim3::new(0, 0, 0));
        assert_eq!(d.position(4), Dim3::new(1, 1, 0));
        assert_eq!(d.position(11), Dim3::new(2, 1, 1));
    }

    #[test]
    fn bytes_print_with_units() {
        assert_eq!(Bytes(511).to_string(), "511 B");
        assert_eq!(Bytes(4096).to_string(), "4.0 KiB");
        assert_eq!(Bytes(3 << 29).to_string(), "1.5 GiB");
    }
}
