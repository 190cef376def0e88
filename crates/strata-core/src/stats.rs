//! Statistics: a typed tree of named values.
//!
//! A path is written `gpu.l2[3].read_hits`: names joined by dots, members of a group in brackets. Every value carries
//! its unit and a sentence that says what was counted. One tree feeds the table a person reads and the JSON a script
//! reads, so that the two cannot disagree.
//!
//! ```
//! use strata_core::stats::{Stats, Unit};
//!
//! let mut stats = Stats::default();
//! stats.count("gpu.launches", 3, Unit::Launches, "kernels launched");
//! stats.real("gpu.lane_use", 0.5, Unit::Fraction, "active lanes per warp instruction, of 32");
//! assert_eq!(stats.get("gpu.launches").unwrap().value.as_f64(), 3.0);
//! assert_eq!(stats.under("gpu").count(), 2);
//! ```

use std::collections::BTreeMap;
use std::fmt;

/// What a value counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the variants are their names")]
pub enum Unit {
    Instructions,
    Bytes,
    Launches,
    Cycles,
    /// Things that have no unit of their own; the description names them.
    Events,
    /// A share between 0 and 1.
    Fraction,
    /// One quantity per another; the description names both.
    Ratio,
}

impl Unit {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Bytes => "bytes",
            Self::Launches => "launches",
            Self::Cycles => "cycles",
            Self::Events => "events",
            Self::Fraction => "fraction",
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
    /// Derived; always finite.
    Real(f64),
}

impl Value {
    /// The number, rounded to 53 bits.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Count(n) => n as f64,
            Self::Real(x) => x,
        }
    }
}

/// One statistic.
#[derive(Clone, PartialEq, Debug)]
pub struct Stat {
    /// How much.
    pub value: Value,
    /// Of what.
    pub unit: Unit,
    /// What was counted, as a phrase.
    pub description: &'static str,
}

/// All statistics of a run, ordered by path.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stats {
    entries: BTreeMap<String, Stat>,
}

impl Stats {
    /// Adds `value` to the count at `path`: what two parts of the machine report under one name adds up.
    pub fn count(&mut self, path: impl Into<String>, value: u64, unit: Unit, description: &'static str) {
        let stat = self.entries.entry(path.into()).or_insert(Stat { value: Value::Count(0), unit, description });
        stat.value = match stat.value {
            Value::Count(n) => Value::Count(n.saturating_add(value)),
            Value::Real(x) => Value::Real(x + value as f64),
        };
    }

    /// Sets a derived value. A quotient by zero has no value and leaves no entry.
    pub fn real(&mut self, path: impl Into<String>, value: f64, unit: Unit, description: &'static str) {
        if value.is_finite() {
            self.entries.insert(path.into(), Stat { value: Value::Real(value), unit, description });
        }
    }

    /// The statistic at `path`.
    pub fn get(&self, path: &str) -> Option<&Stat> {
        self.entries.get(path)
    }

    /// Every path with its statistic, in order of path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Stat)> {
        self.entries.iter().map(|(path, stat)| (path.as_str(), stat))
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
    fn a_quotient_by_zero_leaves_no_entry() {
        let mut stats = Stats::default();
        stats.real("a", f64::NAN, Unit::Fraction, "nothing");
        assert!(stats.get("a").is_none());
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
