//! The profiler: which target each allocation gets, from snapshots of a representative run (section III).
//!
//! Pure functions on histograms: whoever has the memory counts its entries ([`Histogram`]), and gets targets, the ratio
//! and how often buddy memory would be accessed. The rules, where the paper leaves them open:
//!
//! * A target is allowed if its overflow (the share of entries that need buddy memory) is at most the Buddy Threshold in
//!   the *worst* snapshot: targets are static, and "chosen conservatively". The largest allowed target is chosen.
//! * That share is of entries, as snapshots have it, or of accesses, as [`Crossings`] of a timed run have it ([`Measure`]): the paper
//!   says accesses, and its profiler has snapshots. An allocation that nothing crosses L2's edge of is judged by its entries.
//! * 16x is for what is mostly zero "for the entire benchmark run": [`Rule::mostly_zero`] of the entries fit their 8 bytes
//!   in *every* snapshot.
//! * The whole program stays at or below 4x, the size of the carve-out: above it, 16x targets are demoted (`cap.rs`).
//! * Allocations of the same name share a target: an annotation is a place in the program's source.
//! * Of an allocation without entries nothing is known; it is not compressed.
//! * Compressed memory comes in whole pages, so a small allocation may take more of the device than it would as it is. Of the
//!   allowed targets the one that takes the least is chosen, and ratios are of bytes that are really taken.

mod cap;
mod histogram;

pub use histogram::Histogram;

use crate::share::{PAGE, Share};
use crate::{Crossings, Target, Targets};
use std::collections::BTreeMap;
use strata_codec::ENTRY_BYTES;
use strata_core::Bytes;

/// What the profiler knows of one allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// What annotations call it.
    pub name: String,
    /// Bytes that the program asked for.
    pub bytes: Bytes,
    /// Its entries, snapshot by snapshot of the program; empty in those in which it does not live.
    pub snapshots: Vec<Histogram>,
}

/// How finely a program is annotated: the designs of Figure 7, each with what those before it have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Design {
    /// One target for the whole program.
    Naive,
    /// A target for each allocation.
    PerAllocation,
    /// And 16x for those that stay mostly zero: the paper's final design.
    ZeroPage,
}

impl Design {
    /// All of them, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::Naive, Self::PerAllocation, Self::ZeroPage];
}

/// What the Buddy Threshold limits the share of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Measure {
    /// Entries, in the worst snapshot.
    #[default]
    Entries,
    /// Fills and write-backs, over the run.
    Accesses,
}

/// What a target must satisfy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// The Buddy Threshold: the largest share of an allocation's entries, or accesses, that may need buddy memory.
    pub threshold: f64,
    /// Of which of the two.
    pub measure: Measure,
    /// The least share of entries within 8 bytes, in every snapshot, for 16x.
    pub mostly_zero: f64,
}

impl Rule {
    /// The thresholds of Figure 10.
    pub const SWEEP: [f64; 4] = [0.10, 0.20, 0.30, 0.40];

    /// The rule with the threshold on accesses.
    #[must_use]
    pub fn by_accesses(self) -> Self {
        Self { measure: Measure::Accesses, ..self }
    }

    /// The rule with another Buddy Threshold.
    pub fn with_threshold(threshold: f64) -> Self {
        Self { threshold, ..Self::default() }
    }
}

impl Default for Rule {
    /// 30 %, the paper's choice (section III-C); it does not say what "mostly" zero is, 95 % is ours.
    fn default() -> Self {
        Self { threshold: 0.30, measure: Measure::Entries, mostly_zero: 0.95 }
    }
}

/// Targets, and what they come to on the snapshots they were chosen from.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// The target of every allocation.
    pub targets: Targets,
    /// What comes of it.
    pub outcome: Outcome,
}

/// What targets come to on some snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Bytes allocated.
    bytes: u128,
    /// Bytes of device memory that take their place.
    device_bytes: u128,
    /// Entries of all snapshots.
    entries: u64,
    /// Those of them that need buddy memory.
    over: u64,
    /// Fills and write-backs that were counted, and those of them that need buddy memory.
    crossings: u64,
    crossings_over: u64,
}

impl Outcome {
    /// Bytes that the program asks for, and bytes of the device that it takes.
    pub fn footprint(&self) -> (u128, u128) {
        (self.bytes, self.device_bytes)
    }

    /// Bytes allocated for each byte of device memory; 1 if nothing is allocated.
    pub fn ratio(&self) -> f64 {
        if self.device_bytes == 0 { 1.0 } else { self.bytes as f64 / self.device_bytes as f64 }
    }

    /// The share of fills and write-backs that need buddy memory, if they were counted: of all memory, compressed or not.
    pub fn link_accesses(&self) -> Option<f64> {
        (self.crossings > 0).then(|| self.crossings_over as f64 / self.crossings as f64)
    }

    /// The share of entries that need buddy memory, every entry of every snapshot counted once: how many accesses would
    /// go there if all entries were accessed alike.
    pub fn buddy_accesses(&self) -> f64 {
        if self.entries == 0 { 0.0 } else { self.over as f64 / self.entries as f64 }
    }
}

/// Allocations of one name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Profiled {
    /// Bytes of each.
    sizes: Vec<u64>,
    /// What compressed memory comes in.
    unit: u64,
    snapshots: Vec<Histogram>,
    crossings: Crossings,
}

impl Profiled {
    fn merge(&mut self, bytes: Bytes, snapshots: &[Histogram]) {
        self.sizes.push(bytes.0);
        self.merge_snapshots(snapshots);
    }

    fn merge_snapshots(&mut self, snapshots: &[Histogram]) {
        let all = self.snapshots.len().max(snapshots.len());
        self.snapshots.resize(all, Histogram::default());
        for (sum, more) in self.snapshots.iter_mut().zip(snapshots) {
            sum.merge(more);
        }
    }

    fn bytes(&self) -> u128 {
        self.sizes.iter().map(|&size| u128::from(size)).sum()
    }

    /// What they take of the device, in whole pages where they are compressed.
    fn device_bytes(&self, target: Target) -> u128 {
        self.sizes.iter().map(|&size| u128::from(Share::in_units(size, target, self.unit).device)).sum()
    }

    /// The target of these that takes the least of the device; the smaller one if two do.
    fn least(&self, allowed: impl IntoIterator<Item = Target>) -> Target {
        let all = [Target::X1].into_iter().chain(allowed);
        all.min_by_key(|&target| (self.device_bytes(target), target)).unwrap_or_default()
    }

    fn is_unknown(&self) -> bool {
        self.snapshots.iter().all(|snapshot| snapshot.entries() == 0)
    }

    /// The share that the Buddy Threshold limits.
    fn expected_over(&self, target: Target, measure: Measure) -> f64 {
        match (measure, self.crossings.accesses()) {
            (Measure::Entries, _) | (Measure::Accesses, 0) => self.worst_overflow(target),
            (Measure::Accesses, all) => self.crossings.over(target) as f64 / all as f64,
        }
    }

    fn worst_overflow(&self, target: Target) -> f64 {
        self.snapshots.iter().map(|snapshot| snapshot.overflow(target)).fold(0.0, f64::max)
    }

    /// The largest allowed target up to 4x.
    fn largest(&self, rule: &Rule) -> Target {
        if self.is_unknown() {
            return Target::X1;
        }
        let ordinary = [Target::X4Over3, Target::X2, Target::X4];
        self.least(ordinary.into_iter().filter(|&target| self.expected_over(target, rule.measure) <= rule.threshold))
    }

    /// The same, and 16x where it is allowed.
    fn largest_with_zero_pages(&self, rule: &Rule) -> Target {
        let mostly_zero = |snapshot: &Histogram| {
            let (entries, over) = (snapshot.entries(), snapshot.over(Target::X16));
            // A quotient is rounded like the literal it is compared with: 19 of 20 are 0.95.
            entries == 0 || (entries - over) as f64 / entries as f64 >= rule.mostly_zero
        };
        let stays_zero = !self.is_unknown() && self.snapshots.iter().all(mostly_zero);
        let allowed = stays_zero && self.expected_over(Target::X16, rule.measure) <= rule.threshold;
        self.least([self.largest(rule)].into_iter().chain(allowed.then_some(Target::X16)))
    }

    /// The target whose device bytes are nearest to the mean stored bytes of an entry, the larger target if two are.
    fn nearest(&self) -> Target {
        let mut all = Histogram::default();
        self.snapshots.iter().for_each(|snapshot| all.merge(snapshot));
        if all.entries() == 0 {
            return Target::X1;
        }
        let entries = u128::from(all.entries());
        let distance = |target: &Target| (u128::from(target.device_bytes()) * entries).abs_diff(all.stored_bytes());
        self.least(Target::ALL.into_iter().rev().min_by_key(distance))
    }
}

/// The snapshots of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    by_name: BTreeMap<String, Profiled>,
}

impl Profile {
    /// The profile of a program with these allocations; those of the same name are one.
    pub fn new(allocations: impl IntoIterator<Item = Allocation>) -> Self {
        Self::in_units(allocations, PAGE)
    }

    /// The same for what shares pages with its like, as tensors do in the pool of a framework: only entries are whole.
    pub fn pooled(allocations: impl IntoIterator<Item = Allocation>) -> Self {
        Self::in_units(allocations, ENTRY_BYTES as u64)
    }

    fn in_units(allocations: impl IntoIterator<Item = Allocation>, unit: u64) -> Self {
        let mut by_name = BTreeMap::<String, Profiled>::new();
        for Allocation { name, bytes, snapshots } in allocations {
            let fresh = || Profiled { unit, ..Profiled::default() };
            by_name.entry(name).or_insert_with(fresh).merge(bytes, &snapshots);
        }
        Self { by_name }
    }

    /// With what crossed L2's edge in a timed run, by the name of the allocation.
    #[must_use]
    pub fn with_crossings(mut self, counted: &BTreeMap<String, Crossings>) -> Self {
        for (name, one) in &mut self.by_name {
            one.crossings = counted.get(name).copied().unwrap_or_default();
        }
        self
    }

    /// Fills and write-backs of the allocations of one name, and those that need the link with a target.
    pub fn crossings(&self, name: &str, target: Target) -> (u64, u64) {
        self.by_name.get(name).map_or((0, 0), |one| (one.crossings.accesses(), one.crossings.over(target)))
    }

    /// The largest targets that the rule allows in a design.
    pub fn choose(&self, design: Design, rule: &Rule) -> Choice {
        let targets = match design {
            Design::Naive => {
                let mut program = Profiled::default();
                for one in self.by_name.values() {
                    program.unit = one.unit;
                    program.sizes.extend(&one.sizes);
                    program.merge_snapshots(&one.snapshots);
                    program.crossings.merge(&one.crossings);
                }
                let target = program.largest(rule);
                self.targets(|_| target)
            }
            Design::PerAllocation => self.targets(|one| one.largest(rule)),
            Design::ZeroPage => {
                let targets = self.targets(|one| one.largest_with_zero_pages(rule));
                self.capped(targets, |one| one.largest(rule))
            }
        };
        self.judged(targets)
    }

    /// The best achievable without a Buddy Threshold: Figure 10's marker.
    ///
    /// The paper does not define it, and without any threshold 4x would do for everything. Our reading: the target of
    /// an allocation is the one nearest to the size that its entries compress to (mean of all snapshots, in the sizes
    /// that Buddy Compression stores), whatever share of them is over it. The program still stays within 4x.
    pub fn best(&self) -> Choice {
        let targets = self.targets(Profiled::nearest);
        self.judged(self.capped(targets, |_| Target::X4))
    }

    /// A design under several Buddy Thresholds, as in Figure 10.
    pub fn sweep(&self, design: Design, thresholds: &[f64]) -> Vec<Choice> {
        thresholds.iter().map(|&threshold| self.choose(design, &Rule::with_threshold(threshold))).collect()
    }

    /// What targets come to here: they may have been chosen on the snapshots of another input.
    pub fn evaluate(&self, targets: &Targets) -> Outcome {
        let mut outcome = Outcome::default();
        for (name, one) in &self.by_name {
            let target = targets.get(name);
            outcome.bytes += one.bytes();
            outcome.device_bytes += one.device_bytes(target);
            outcome.entries += one.snapshots.iter().map(Histogram::entries).sum::<u64>();
            outcome.crossings += one.crossings.accesses();
            outcome.crossings_over += one.crossings.over(target);
            outcome.over += one.snapshots.iter().map(|snapshot| snapshot.over(target)).sum::<u64>();
        }
        outcome
    }

    fn targets(&self, of: impl Fn(&Profiled) -> Target) -> Targets {
        self.by_name.iter().map(|(name, one)| (name.clone(), of(one))).collect()
    }

    fn judged(&self, targets: Targets) -> Choice {
        Choice { outcome: self.evaluate(&targets), targets }
    }
}

#[cfg(test)]
mod tests;
