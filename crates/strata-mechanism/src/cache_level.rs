//! The caches that a mechanism beside a cache is in: a setting that prefetchers and replacement policies have alike.

use strata_core::settings::{Allowed, Settings};

/// Caches of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheLevel {
    /// The L1 of every SM.
    L1,
    /// Every slice of L2.
    L2,
    /// All of them.
    Both,
}

impl CacheLevel {
    /// What a setting called `level` may be.
    pub const ALLOWED: Allowed = Allowed::Choice(&["l1", "l2", "both"]);

    /// The value of the setting `level`.
    pub fn of(values: &Settings) -> Self {
        match values.text("level") {
            "l1" => Self::L1,
            "l2" => Self::L2,
            _ => Self::Both,
        }
    }

    /// True if L1s are among them.
    pub fn has_l1(self) -> bool {
        self != Self::L2
    }

    /// True if slices of L2 are among them.
    pub fn has_l2(self) -> bool {
        self != Self::L1
    }
}
