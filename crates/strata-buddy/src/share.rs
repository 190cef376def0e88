//! What an allocation takes of both memories.

use crate::Target;
use strata_codec::ENTRY_BYTES;

/// Bytes of a page: the smaller of the GPU's two (section III), so that the last page of an allocation wastes little.
pub(crate) const PAGE: u64 = 64 << 10;

/// What an allocation takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) device: u64,
    pub(crate) buddy: u64,
}

impl Share {
    /// Compressed allocations are whole pages, of each of which a part is on the device and the rest of what it can hold in
    /// buddy memory.
    pub(crate) fn of(size: u64, target: Target) -> Self {
        Self::in_units(size, target, PAGE)
    }

    /// The same where compressed memory comes in other units than pages, a multiple of 128 bytes.
    pub(crate) fn in_units(size: u64, target: Target, unit: u64) -> Self {
        if target == Target::X1 {
            return Self { device: size.next_multiple_of(ENTRY_BYTES as u64), buddy: 0 };
        }
        let whole = size.next_multiple_of(unit);
        let device = whole / ENTRY_BYTES as u64 * u64::from(target.device_bytes());
        Self { device, buddy: whole - device }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole() {
        let share = |size, target| (Share::of(size, target).device, Share::of(size, target).buddy);
        assert_eq!(share(PAGE, Target::X2), (PAGE / 2, PAGE / 2));
        assert_eq!(share(PAGE + 1, Target::X4), (PAGE / 2, 3 * PAGE / 2), "two pages");
        assert_eq!(share(1, Target::X2), (PAGE / 2, PAGE / 2), "more than it is large");
        assert_eq!(share(1, Target::X1), (128, 0), "an entry");
    }
}
