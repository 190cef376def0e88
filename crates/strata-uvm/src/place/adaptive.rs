//! UVMSmart's adaptive engine: what the blocks scheduled for each allocation look like, kernel by kernel, and the policy that
//! follows when memory is full.

use crate::geometry::Block;
use std::collections::{BTreeMap, BTreeSet};

/// How an allocation is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pattern {
    Linear,
    LinearReuse,
    Random,
    RandomReuse,
    Mixed,
    MixedReuse,
}

use Pattern::{Linear, LinearReuse, Mixed, MixedReuse, Random, RandomReuse};

impl Pattern {
    fn reuses(self) -> bool {
        matches!(self, LinearReuse | RandomReuse | MixedReuse)
    }

    fn is_linear(self) -> bool {
        matches!(self, Linear | LinearReuse)
    }

    /// With the pattern of a later kernel.
    fn then(self, later: Self) -> Self {
        match (self, later) {
            (Mixed | MixedReuse, _) => self,
            (a, b) if a.is_linear() != b.is_linear() => {
                if a.reuses() || b.reuses() {
                    MixedReuse
                } else {
                    Mixed
                }
            }
            (Linear, LinearReuse) => LinearReuse,
            (Random, RandomReuse) => RandomReuse,
            _ => self,
        }
    }
}

/// What one kernel does to one allocation.
#[derive(Clone, Debug, Default)]
struct Course {
    last: Option<Block>,
    falls: bool,
    repeats: bool,
    blocks: BTreeSet<Block>,
}

/// One allocation in the course of the program.
#[derive(Clone, Debug, Default)]
struct History {
    pattern: Option<Pattern>,
    /// Blocks of earlier kernels.
    before: BTreeSet<Block>,
    now: Course,
}

impl History {
    fn scheduled(&mut self, block: Block) {
        let course = &mut self.now;
        course.falls |= course.last.is_some_and(|last| block < last);
        course.repeats |= !course.blocks.insert(block) || self.before.contains(&block);
        course.last = Some(block);
    }

    /// The pattern so far.
    fn pattern(&self) -> Option<Pattern> {
        if self.now.last.is_none() {
            return self.pattern;
        }
        let now = match (self.now.falls, self.now.repeats) {
            (false, false) => Linear,
            (false, true) => LinearReuse,
            (true, false) => Random,
            (true, true) => RandomReuse,
        };
        Some(self.pattern.map_or(now, |before| before.then(now)))
    }
}

/// What changes when memory is full.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Policy {
    /// Reads go to the host until a block is hot; eviction follows the tree in any case.
    pub(crate) delays_migration: bool,
}

/// The engine.
#[derive(Default, Debug)]
pub(crate) struct Adaptive {
    allocations: BTreeMap<u32, History>,
    told: Option<Policy>,
}

impl Adaptive {
    /// A block is scheduled for migration.
    pub(crate) fn scheduled(&mut self, allocation: u32, block: Block) {
        self.allocations.entry(allocation).or_default().scheduled(block);
    }

    pub(crate) fn kernel_begins(&mut self) {
        self.kernel_ends();
    }

    /// What this kernel did becomes history.
    pub(crate) fn kernel_ends(&mut self) {
        for history in self.allocations.values_mut() {
            history.pattern = history.pattern();
            let Course { blocks, .. } = std::mem::take(&mut history.now);
            history.before.extend(blocks);
        }
    }

    /// The policy for what was seen, if it is another than before.
    pub(crate) fn policy(&mut self) -> Option<Policy> {
        let patterns = || self.allocations.values().filter_map(History::pattern);
        let random = patterns().any(|p| !p.is_linear());
        let found = (random || patterns().any(Pattern::reuses)).then_some(Policy { delays_migration: random });
        // Policies only get stricter: patterns never become simpler.
        if found <= self.told {
            return None;
        }
        self.told = found;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels as lists of blocks of one allocation; the policy, if any.
    #[track_caller]
    fn check(kernels: &[&[u32]], delays_migration: Option<bool>) {
        let mut adaptive = Adaptive::default();
        for blocks in kernels {
            adaptive.kernel_begins();
            blocks.iter().for_each(|&b| adaptive.scheduled(0, Block(b)));
        }
        assert_eq!(adaptive.policy().map(|p| p.delays_migration), delays_migration, "{kernels:?}");
        assert_eq!(adaptive.policy(), None, "told once");
    }

    #[test]
    fn patterns_lead_to_policies() {
        check(&[&[0, 1, 2]], None);
        check(&[&[0, 1, 2], &[3, 4]], None);
        check(&[&[0, 1, 2], &[0, 1]], Some(false));
        check(&[&[0, 1, 1]], Some(false));
        check(&[&[0, 2, 1]], Some(true));
        check(&[&[0, 1], &[5, 4]], Some(true));
        check(&[&[5, 4], &[0, 1]], Some(true));
    }

    #[test]
    fn classes_merge_as_published() {
        let rows = [
            (Linear, LinearReuse, LinearReuse),
            (LinearReuse, Linear, LinearReuse),
            (Linear, Random, Mixed),
            (Random, Linear, Mixed),
            (LinearReuse, Random, MixedReuse),
            (Random, LinearReuse, MixedReuse),
            (Random, RandomReuse, RandomReuse),
            (Mixed, LinearReuse, Mixed),
            (MixedReuse, Linear, MixedReuse),
        ];
        for (before, later, merged) in rows {
            assert_eq!(before.then(later), merged, "{before:?} then {later:?}");
        }
    }
}
