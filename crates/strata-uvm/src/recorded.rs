//! What a run before used, in its order: what a prefetcher of roots could do that knew what follows.
//!
//! The launches of a program use the same roots in every run, in nearly the same order. So the uses that are still to come are
//! known at any time: the next ones are named, so many ahead, of each root the 64 KB blocks that are accessed from then on; and
//! what has to leave is what is used last (`uvm.eviction=foreseen`). What that costs is what it costs any predictor.

use crate::Predictor;
use crate::geometry::{BLOCK_BYTES, TREE_BYTES};
use crate::uses::NEVER;
use rustc_hash::FxHashMap;
use std::path::Path;
use strata_core::Addr;
use strata_learn::LearnError;
use strata_learn::access::{Access, Unit};
use strata_learn::trace_file;

/// What is to become of a root.
#[derive(Clone, Debug, Default)]
struct Future {
    /// Launches that use it, and the places of these uses among all, ascending.
    uses: Vec<(u32, usize)>,
    /// The blocks that are accessed in each of these launches or later.
    blocks: Vec<u32>,
    /// Uses that have been.
    done: usize,
}

pub(crate) struct Recorded {
    /// The roots in the order of their uses.
    order: Vec<u64>,
    roots: FxHashMap<u64, Future>,
    /// Roots ahead.
    lead: usize,
    /// Behind the furthest use that has been.
    place: usize,
    /// There was a use since it named what follows.
    is_due: bool,
}

impl Recorded {
    /// Of the uses that a run kept.
    pub(crate) fn load(path: &Path, lead: usize) -> Result<Self, LearnError> {
        Ok(Self::of(&trace_file::read(path)?, lead))
    }

    pub(crate) fn of(uses: &[Access], lead: usize) -> Self {
        let (mut order, mut roots) = (Vec::new(), FxHashMap::<u64, Future>::default());
        for one in uses {
            let root = one.page / TREE_BYTES;
            let future = roots.entry(root).or_default();
            if future.uses.last().is_none_or(|&(launch, _)| launch != one.kernel) {
                future.uses.push((one.kernel, order.len()));
                future.blocks.push(0);
                order.push(root);
            }
            if let Some(blocks) = future.blocks.last_mut() {
                *blocks |= 1 << (one.page % TREE_BYTES / BLOCK_BYTES);
            }
        }
        for future in roots.values_mut() {
            let mut later = 0;
            for blocks in future.blocks.iter_mut().rev() {
                later |= *blocks;
                *blocks = later;
            }
        }
        Self { order, roots, lead, place: 0, is_due: false }
    }

    fn future(&self, root: Addr) -> Option<&Future> {
        self.roots.get(&(root.0 / TREE_BYTES))
    }
}

impl Predictor for Recorded {
    fn unit(&self) -> Unit {
        Unit::Root
    }

    fn observe(&mut self, _: &Access) -> bool {
        std::mem::take(&mut self.is_due)
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) {
        let ahead = self.order.iter().enumerate().skip(self.place).take(self.lead);
        addresses.extend(ahead.map(|(_, root)| Addr(root * TREE_BYTES)));
    }

    fn used(&mut self, launch: u32, root: Addr) {
        let Some(future) = self.roots.get_mut(&(root.0 / TREE_BYTES)) else { return };
        while let Some(&(_, place)) = future.uses.get(future.done).filter(|(of, _)| *of <= launch) {
            future.done += 1;
            self.place = self.place.max(place + 1);
            self.is_due = true;
        }
    }

    fn next_use(&self, root: Addr) -> Option<u64> {
        let next = self.future(root).and_then(|future| future.uses.get(future.done));
        Some(next.map_or(NEVER, |&(_, place)| place.saturating_sub(self.place) as u64))
    }

    fn wanted(&self, root: Addr) -> Option<u32> {
        Some(self.future(root).and_then(|f| f.blocks.get(f.done.saturating_sub(1))).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn what_was_used_is_named_in_its_order_and_so_far_ahead() {
        // Launches and blocks: roots 1 and 0, then 1 and 2.
        let trace = [(1, 32), (1, 33), (1, 5), (2, 40), (2, 70)];
        let trace = trace.map(|(kernel, block)| Access { kernel, page: block * BLOCK_BYTES, ..Access::default() });
        let mut recorded = Recorded::of(&trace, 2);
        let root = |number: u64| Addr(number * 2 * MB);
        let distances = |recorded: &Recorded| [0, 1, 2, 3].map(|number| recorded.next_use(root(number)));
        let mut uses = |launch, number| {
            recorded.used(launch, root(number));
            let mut addresses = Vec::new();
            if recorded.observe(&Access::default()) {
                recorded.predict(&mut addresses);
            }
            let named: Vec<u64> = addresses.iter().map(|address| address.0 / (2 * MB)).collect();
            (named, distances(&recorded), recorded.wanted(root(1)))
        };
        let all = Some(1 | 1 << 1 | 1 << 8);
        assert_eq!(uses(1, 1), (vec![0, 1], [Some(0), Some(1), Some(2), Some(NEVER)], all));
        assert_eq!(uses(1, 1).0, [0; 0], "that was no other use");
        assert_eq!(uses(1, 0), (vec![1, 2], [Some(NEVER), Some(0), Some(1), Some(NEVER)], all));
        assert_eq!(uses(2, 1), (vec![2], [Some(NEVER), Some(NEVER), Some(0), Some(NEVER)], Some(1 << 8)));
    }
}
