//! One entry: the states its metadata can name, and how a target splits it between the two memories.

use crate::Target;
use strata_codec::Size;

/// What the 4 bits of metadata of an entry say: how many bytes of it are stored.
///
/// Five sizes of section III, and 8 bytes for allocations that are mostly zero. Ten codes are left over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum EntryState {
    /// All zero: nothing is stored. New memory begins like this.
    #[default]
    Zero,
    /// Compressed to 8 bytes.
    B8,
    /// Compressed to one sector.
    B32,
    /// Compressed to two sectors.
    B64,
    /// Compressed to three sectors.
    B96,
    /// Not compressed: four sectors, as they are.
    B128,
}

impl EntryState {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 6] = [Self::Zero, Self::B8, Self::B32, Self::B64, Self::B96, Self::B128];

    /// Bits of metadata for an entry (section III).
    pub const BITS: u32 = 4;

    /// The state of an entry whose code has this size.
    pub fn of(size: Size) -> Self {
        let bytes = size.bits().div_ceil(8);
        Self::ALL.into_iter().find(|state| state.bytes() >= bytes).unwrap_or(Self::B128)
    }

    /// Bytes stored.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Zero => 0,
            Self::B8 => 8,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B96 => 96,
            Self::B128 => 128,
        }
    }

    /// The code in metadata.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The state of a code; none for those that are left over.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// How many sectors of an entry each memory moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    /// Sectors of device memory.
    pub device: u32,
    /// Sectors over the link.
    pub buddy: u32,
}

impl Split {
    /// Where an entry in `state` lies if its allocation has this target. One that is not compressed is moved whole.
    pub fn of(state: EntryState, target: Target) -> Self {
        const SECTOR: u32 = 32;
        let bytes = match target {
            Target::X1 => return Self { device: 4, buddy: 0 },
            // Its 8 bytes are a quarter of a device sector; what is beyond them fills whole sectors of buddy memory.
            Target::X16 => state.bytes(),
            // There is no smaller transfer than a sector.
            _ => state.bytes().next_multiple_of(SECTOR),
        };
        let device = bytes.min(target.device_bytes());
        Self { device: device.div_ceil(SECTOR), buddy: (bytes - device).div_ceil(SECTOR) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EntryState::{B8, B32, B64, B96, B128, Zero};
    use strata_codec::Codec;

    #[track_caller]
    fn check(target: Target, splits: [(EntryState, u32, u32); 6]) {
        for (state, device, buddy) in splits {
            assert_eq!(Split::of(state, target), Split { device, buddy }, "{state:?} with target {target}");
        }
    }

    #[test]
    fn a_target_of_two_keeps_the_first_two_sectors_on_the_device() {
        check(Target::X2, [(Zero, 0, 0), (B8, 1, 0), (B32, 1, 0), (B64, 2, 0), (B96, 2, 1), (B128, 2, 2)]);
    }

    #[test]
    fn other_targets_keep_three_or_one() {
        check(Target::X4Over3, [(Zero, 0, 0), (B8, 1, 0), (B32, 1, 0), (B64, 2, 0), (B96, 3, 0), (B128, 3, 1)]);
        check(Target::X4, [(Zero, 0, 0), (B8, 1, 0), (B32, 1, 0), (B64, 1, 1), (B96, 1, 2), (B128, 1, 3)]);
    }

    #[test]
    fn mostly_zero_allocations_keep_eight_bytes() {
        // ceil((size - 8) / 32) sectors over the link.
        check(Target::X16, [(Zero, 0, 0), (B8, 1, 0), (B32, 1, 1), (B64, 1, 2), (B96, 1, 3), (B128, 1, 4)]);
    }

    #[test]
    fn what_is_not_compressed_moves_whole() {
        check(Target::X1, EntryState::ALL.map(|state| (state, 4, 0)));
    }

    #[test]
    fn a_state_is_the_smallest_that_holds_the_code() {
        let zero = [0; 128];
        assert_eq!(EntryState::of(Codec::Bpc.size(&zero)), Zero);
        let mut counting = [0; 128];
        for (i, word) in counting.chunks_exact_mut(4).enumerate() {
            word.copy_from_slice(&(7 * i as u32).to_le_bytes());
        }
        assert_eq!(EntryState::of(Codec::Bpc.size(&counting)), B8);
        let mut state = 1u32;
        let noise = std::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        assert_eq!(EntryState::of(Codec::Bpc.size(&noise)), B128);
    }

    #[test]
    fn metadata_is_four_bits_of_1024() {
        assert!(EntryState::ALL.iter().all(|s| s.code() < 1 << EntryState::BITS));
        assert!(EntryState::ALL.iter().all(|s| EntryState::from_code(s.code()) == Some(*s)));
        assert_eq!(EntryState::from_code(6), None);
        // Section III: 0.4 % storage overhead.
        let overhead = f64::from(EntryState::BITS) / (128.0 * 8.0);
        assert_eq!((overhead * 1000.0).round() / 1000.0, 0.004);
    }
}
