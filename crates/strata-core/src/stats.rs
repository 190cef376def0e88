//! Statistics: a typed tree of named values.
//!
//! A path is written `gpu.l2[3].read_hits`: names joined by dots, members of a group in brackets. Every value carries
//! its unit and a sentence that says what was counted. One tree feeds the table a person reads and the JSON a script
//! reads, so that the two cannot disagree.
//!
//! Invariant: trees add up. A derived value keeps what it was divided from, so the hit rate of ten launches is the hits
//! of all over the accesses of all, not a mean of rates.
//!
//! ```
//! use strata_core::stats::{Stats, Unit};
//!
//! let mut stats = Stats::default();
//! stats.count("gpu.launches", 3, Unit::Launches, "kernels launched");
//! stats.quotient("gpu.lane_use", 48.0, 64.0, Unit::Fraction, "active lanes per warp instruction, of 32");
//! let twice = stats.clone();
//! stats.add(&twice);
//! assert_eq!(stats.number("gpu.launches"), Some(6.0));
//! assert_eq!(stats.number("gpu.lane_use"), Some(0.75));
//! assert_eq!(stats.under("gpu").count(), 2);
//! ```

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

/// What a value counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the variants are their names")]
pub enum Unit {
    Instructions,
    Bytes,
    /// Transfers of 32 bytes.
    Sectors,
    /// Line requests: one for each line that a warp instruction touches.
    Requests,
    Launches,
    Pages,
    Cycles,
    /// Things that have no unit of their own; the description names them.
    Events,
    /// A share between 0 and 1.
    Fraction,
    BytesPerSecond,
    Joules,
    /// One quantity per another; the description names both.
    Ratio,
}

impl Unit {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Bytes => "bytes",
            Self::Sectors => "sectors",
            Self::Requests => "requests",
            Self::Launches => "launches",
            Self::Pages => "pages",
            Self::Cycles => "cycles",
            Self::Events => "events",
            Self::Fraction => "fraction",
            Self::BytesPerSecond => "bytes/s",
            Self::Joules => "joules",
            Self::Ratio => "ratio",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A counted or derived number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// Counted, exact.
    Count(u64),
    /// Computed, and additive like a count: an energy.
    Amount(f64),
    /// Derived: one sum divided by another; shown if that is not 0.
    Quotient {
        /// Numerator: a sum over members and launches.
        of: f64,
        /// Denominator: a sum over the same.
        by: f64,
    },
}

impl Value {
    /// The number, rounded to 53 bits.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Count(n) => n as f64,
            Self::Amount(x) => x,
            Self::Quotient { of, by } => of / by,
        }
    }

    /// Both together. Values under one path are of one kind, because they come from one place in the code.
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Count(a), Self::Count(b)) => Self::Count(a.saturating_add(b)),
            (Self::Amount(a), Self::Amount(b)) => Self::Amount(a + b),
            (Self::Quotient { of: a, by: b }, Self::Quotient { of: c, by: d }) => {
                Self::Quotient { of: a + c, by: b + d }
            }
            (mine, _) => {
                debug_assert!(false, "values of two kinds under one path");
                mine
            }
        }
    }
}

/// One number of the tree, with what a reader must know of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Stat {
    /// The number, or the two sums of which it is the quotient.
    pub value: Value,
    /// What one of it is: a request, a byte, a cycle.
    pub unit: Unit,
    /// What was counted, as a phrase.
    pub description: &'static str,
}

/// One counter that every member of a group has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemberCounter {
    /// Its name below the member's.
    pub name: &'static str,
    /// What it counts: requests, bytes, cycles.
    pub unit: Unit,
    /// What was counted, as a phrase.
    pub description: &'static str,
}

/// The counts of a group whose members are alike, as a dense table: hundreds of members, each launch, would cost more to
/// name than to count. [`Members::export`] names them when somebody wants to read them.
#[derive(Clone, PartialEq, Debug)]
pub struct Members {
    /// Path of the group: `gpu.l2` for `gpu.l2[0]`, `gpu.l2[1]`, …
    pub group: String,
    /// The counters of a member.
    pub counters: &'static [MemberCounter],
    /// The counts, member by member, each in the order of `counters`.
    pub counts: Vec<u64>,
}

impl Members {
    /// Adds the counts to a tree, as `group[3].name`. What a member did not do is left out.
    pub fn export(&self, stats: &mut Stats) {
        for (member, counts) in self.counts.chunks(self.counters.len().max(1)).enumerate() {
            for (counter, &count) in self.counters.iter().zip(counts).filter(|(_, count)| **count > 0) {
                let path = format!("{}[{member}].{}", self.group, counter.name);
                stats.count(path, count, counter.unit, counter.description);
            }
        }
    }
}

/// All statistics of a run, ordered by path.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stats {
    entries: BTreeMap<String, Stat>,
}

impl Stats {
    /// Adds `value` to the count at `path`: what two parts of the machine report under one name adds up.
    pub fn count(&mut self, path: impl Into<String>, value: u64, unit: Unit, description: &'static str) {
        self.put(path.into(), Stat { value: Value::Count(value), unit, description });
    }

    /// Adds to a computed amount. One that is no number has no value and leaves no entry.
    pub fn amount(&mut self, path: impl Into<String>, value: f64, unit: Unit, description: &'static str) {
        if value.is_finite() {
            self.put(path.into(), Stat { value: Value::Amount(value), unit, description });
        }
    }

    /// Adds to a derived value. A quotient by zero has no value and is not shown, but what was divided counts once others are
    /// added: a launch may use what an earlier one fetched.
    pub fn quotient(&mut self, path: impl Into<String>, of: f64, by: f64, unit: Unit, description: &'static str) {
        if of.is_finite() && by.is_finite() && (of != 0.0 || by != 0.0) {
            self.put(path.into(), Stat { value: Value::Quotient { of, by }, unit, description });
        }
    }

    /// Adds everything in another tree.
    pub fn add(&mut self, other: &Self) {
        for (path, stat) in &other.entries {
            self.put(path.clone(), stat.clone());
        }
    }

    fn put(&mut self, path: String, stat: Stat) {
        match self.entries.entry(path) {
            Entry::Vacant(place) => {
                place.insert(stat);
            }
            Entry::Occupied(mut place) => place.get_mut().value = place.get().value.plus(stat.value),
        }
    }

    /// The number at `path`.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.get(path).map(|stat| stat.value.as_f64())
    }

    /// The statistic at `path`.
    pub fn get(&self, path: &str) -> Option<&Stat> {
        self.entries.get(path).filter(|stat| stat.value.as_f64().is_finite())
    }

    /// Every path with its statistic, in order of path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Stat)> {
        let shown = self.entries.iter().filter(|(_, stat)| stat.value.as_f64().is_finite());
        shown.map(|(path, stat)| (path.as_str(), stat))
    }

    /// The statistics below `prefix` (`gpu.l2` holds `gpu.l2.hits` and `gpu.l2[0].hits`, not `gpu.l2x`).
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Stat)> {
        self.iter().filter(move |(path, _)| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_under_one_name_add_up() {
        let mut stats = Stats::default();
        stats.count("a.b", 2, Unit::Events, "things");
        stats.count("a.b", 3, Unit::Events, "things");
        assert_eq!(stats.get("a.b").map(|s| s.value), Some(Value::Count(5)));
    }

    #[test]
    fn a_quotient_by_zero_is_not_shown() {
        let mut stats = Stats::default();
        stats.quotient("a", 0.0, 0.0, Unit::Fraction, "nothing");
        assert!(stats.get("a").is_none());
    }

    #[test]
    fn quotients_add_up_as_their_parts_do() {
        let tree = |hits: f64, of: f64| {
            let mut stats = Stats::default();
            stats.quotient("rate", hits, of, Unit::Fraction, "hits of accesses");
            stats
        };
        let mut all = tree(0.0, 0.0);
        for part in [tree(1.0, 10.0), tree(0.0, 0.0), tree(29.0, 30.0)] {
            all.add(&part);
        }
        assert_eq!(all.number("rate"), Some(0.75));
        // Two of nothing: not shown alone, and not forgotten.
        let late = tree(2.0, 0.0);
        assert_eq!((late.number("rate"), late.iter().count()), (None, 0));
        all.add(&late);
        assert_eq!(all.number("rate"), Some(0.8));
    }

    #[test]
    fn members_are_named_by_their_number() {
        const COUNTERS: &[MemberCounter] = &[
            MemberCounter { name: "reads", unit: Unit::Sectors, description: "read" },
            MemberCounter { name: "writes", unit: Unit::Sectors, description: "written" },
        ];
        let mut stats = Stats::default();
        Members { group: "gpu.l2".into(), counters: COUNTERS, counts: vec![1, 2, 0, 4] }.export(&mut stats);
        let found: Vec<_> = stats.iter().map(|(path, stat)| (path, stat.value.as_f64())).collect();
        assert_eq!(found, [("gpu.l2[0].reads", 1.0), ("gpu.l2[0].writes", 2.0), ("gpu.l2[1].writes", 4.0)]);
    }

    #[test]
    fn amounts_add_up() {
        let mut stats = Stats::default();
        for part in [0.5, f64::NAN, 0.25] {
            stats.amount("e", part, Unit::Joules, "energy");
        }
        assert_eq!(stats.get("e").map(|s| s.value), Some(Value::Amount(0.75)));
    }

    #[test]
    fn a_prefix_ends_at_a_name() {
        let mut stats = Stats::default();
        for path in ["gpu.l2.hits", "gpu.l2[0].hits", "gpu.l2x.hits"] {
            stats.count(path, 1, Unit::Events, "hits");
        }
        let paths: Vec<_> = stats.under("gpu.l2").map(|(path, _)| path).collect();
        assert_eq!(paths, ["gpu.l2.hits", "gpu.l2[0].hits"]);
    }
}
