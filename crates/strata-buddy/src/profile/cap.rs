//! The cap of 4x on the whole program.
//!
//! Buddy memory is three times as large as device memory, so a program cannot grow more than fourfold (section III-B). Only
//! 16x targets can bring it over that, so it is they that are demoted, each to its largest target without zero pages.
//!
//! Which of them? Those that together add the least device memory, but enough. That is a knapsack; what is done is exact
//! if one demotion is enough (the smallest that is), and otherwise demotes the largest allocation and asks again.

use super::{Profile, Profiled};
use crate::{Target, Targets};
use std::cmp::Reverse;

/// The largest ratio of a program: a carve-out of three times the device memory (section III-C).
const LARGEST_RATIO: u128 = 4;

impl Profile {
    /// The targets with as many 16x ones demoted, to what `lower` says, as the cap demands.
    pub(super) fn capped(&self, mut targets: Targets, lower: impl Fn(&Profiled) -> Target) -> Targets {
        let outcome = self.evaluate(&targets);
        let Some(mut missing) = outcome.bytes.div_ceil(LARGEST_RATIO).checked_sub(outcome.device_bytes) else {
            return targets;
        };
        // The device memory that each demotion adds, from the most to the least; in the order of names if it is the same.
        let mut demotions: Vec<(u128, &str, Target)> = Vec::new();
        for (name, one) in self.by_name.iter().filter(|(name, _)| targets.get(name) == Target::X16) {
            let target = lower(one);
            demotions.push((one.device_bytes(target).saturating_sub(one.device_bytes(Target::X16)), name, target));
        }
        demotions.sort_by_key(|&(added, ..)| Reverse(added));
        let mut left = demotions.as_slice();
        while missing > 0 && !left.is_empty() {
            // The last that is enough alone, else the largest.
            let enough = left.partition_point(|&(added, ..)| added >= missing);
            let (added, name, target) = left[enough.saturating_sub(1)];
            targets.set(name, target);
            missing = missing.saturating_sub(added);
            left = &left[1..];
        }
        targets
    }
}
