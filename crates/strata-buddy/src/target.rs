//! Target compression ratios: what an allocation is annotated with.

use std::fmt;
use std::str::FromStr;
use strata_codec::ENTRY_BYTES;

/// How much smaller an allocation's part of device memory is than the allocation.
///
/// Sectors of 32 bytes are what device memory moves, so a ratio is a number of sectors that stay there (section III); the
/// exception is [`Target::X16`], for allocations that are mostly zero, where four entries share a sector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Target {
    /// Not compressed: the whole entry is in device memory.
    #[default]
    X1,
    /// 4/3: three sectors of four.
    X4Over3,
    /// Two sectors.
    X2,
    /// One sector.
    X4,
    /// Eight bytes: a quarter of a sector.
    X16,
}

impl Target {
    /// All of them, from the least to the most compressed.
    pub const ALL: [Self; 5] = [Self::X1, Self::X4Over3, Self::X2, Self::X4, Self::X16];

    /// Bytes of each entry that are in device memory.
    pub const fn device_bytes(self) -> u32 {
        match self {
            Self::X1 => 128,
            Self::X4Over3 => 96,
            Self::X2 => 64,
            Self::X4 => 32,
            Self::X16 => 8,
        }
    }

    /// The ratio as a number: 1, 1.333, 2, 4 or 16.
    pub fn ratio(self) -> f64 {
        ENTRY_BYTES as f64 / f64::from(self.device_bytes())
    }

    /// The name that annotation files carry; [`FromStr`] reads it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X1 => "1",
            Self::X4Over3 => "4/3",
            Self::X2 => "2",
            Self::X4 => "4",
            Self::X16 => "16",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        Self::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| UnknownTarget { name: name.to_owned() })
    }
}

/// A text that is no target ratio.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is no target ratio; there are {}", Target::ALL.map(Target::name).join(", "))]
pub struct UnknownTarget {
    /// What was written.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for target in Target::ALL {
            assert_eq!(target.name().parse(), Ok(target));
        }
        let error = "3".parse::<Target>().expect_err("no such ratio").to_string();
        assert_eq!(error, "`3` is no target ratio; there are 1, 4/3, 2, 4, 16");
    }

    #[test]
    fn a_ratio_is_the_entry_over_its_device_part() {
        let ratios = Target::ALL.map(Target::ratio);
        assert_eq!(ratios, [1.0, 4.0 / 3.0, 2.0, 4.0, 16.0]);
    }
}
