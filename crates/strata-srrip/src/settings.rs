//! The settings of `srrip`.

use strata_core::settings::{Allowed, Setting, Settings as Values};
use strata_mechanism::CacheLevel;

/// Settings of SRRIP.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "level",
        default: "l2",
        allowed: CacheLevel::ALLOWED,
        meaning: "the caches with this policy: every L1, every L2 slice, or both; the others replace what was used least recently",
        source: "Jaleel et al. 2010: the last-level cache",
    },
    Setting {
        key: "bits",
        default: "2",
        allowed: Allowed::Whole(1, 8),
        meaning: "bits of a line's re-reference prediction value; 1 is not-recently-used",
        source: "Jaleel et al. 2010, section 5: 2 bits are enough",
    },
];

/// What the policy needs of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Where it is.
    pub level: CacheLevel,
    /// Bits of a prediction.
    pub bits: u32,
}

impl Settings {
    /// From the values of [`SETTINGS`].
    pub fn of(values: &Values) -> Self {
        Self { level: CacheLevel::of(values), bits: values.whole("bits") as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bits_at_l2_unless_told_otherwise() {
        let read = |set: &[&str]| Settings::of(&Values::read("srrip", SETTINGS, set).expect("good"));
        assert_eq!(read(&[]), Settings { level: CacheLevel::L2, bits: 2 });
        assert_eq!(read(&["srrip.level=both", "srrip.bits=3"]), Settings { level: CacheLevel::Both, bits: 3 });
    }
}
