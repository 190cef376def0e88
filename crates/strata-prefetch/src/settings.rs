//! The settings of `stride`.

use strata_core::settings::{Allowed, Setting, Settings as Values};
use strata_mechanism::CacheLevel;

/// Settings of the stride prefetcher.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "level",
        default: "l1",
        allowed: CacheLevel::ALLOWED,
        meaning: "the caches that have a prefetcher: every L1, every L2 slice, or both",
        source: "choice: the L1 of an SM sees all accesses of its warps, a slice those to its lines",
    },
    Setting {
        key: "entries",
        default: "512",
        allowed: Allowed::Whole(1, 1 << 20),
        meaning: "entries of a table, found by a hash of instruction and warp",
        source: "Chen and Baer 1995, section 5: 512 entries for one thread",
    },
    Setting {
        key: "degree",
        default: "2",
        allowed: Allowed::Whole(1, 16),
        meaning: "lines that are proposed at once, a stride apart",
        source: "choice: one to have while the next is fetched",
    },
    Setting {
        key: "distance",
        default: "1",
        allowed: Allowed::Whole(1, 64),
        meaning: "strides between an access and the first line that is proposed",
        source: "Chen and Baer 1995: the basic scheme looks one iteration ahead",
    },
    Setting {
        key: "train",
        default: "warp",
        allowed: Allowed::Choice(&["warp", "instruction"]),
        meaning: "whether each warp has strides of its own, or all warps those of the instruction",
        source: "Lee et al. 2010: strides are there within a warp and lost between warps",
    },
];

/// What a prefetcher needs of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Where it is.
    pub level: CacheLevel,
    /// Entries of its table.
    pub entries: usize,
    /// Lines proposed at once.
    pub degree: u64,
    /// Strides to the first of them.
    pub distance: u64,
    /// Each warp has its own strides.
    pub per_warp: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: CacheLevel::L1, entries: 512, degree: 2, distance: 1, per_warp: true }
    }
}

impl Settings {
    /// From the values of [`SETTINGS`].
    pub fn of(values: &Values) -> Self {
        Self {
            level: CacheLevel::of(values),
            entries: values.whole("entries") as usize,
            degree: values.whole("degree"),
            distance: values.whole("distance"),
            per_warp: values.text("train") == "warp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_table() {
        let values = Values::read("stride", SETTINGS, &[""; 0]).expect("defaults");
        assert_eq!(Settings::of(&values), Settings::default());
    }
}
