//! The memory of a process: what each allocation is called, and what the host did to it.

use std::collections::BTreeMap;
use strata_core::Stats;
use strata_core::stats::Unit;
use strata_cudart::protocol::kind;

/// Kinds of memory by their numbers: what allocations of each are called.
const KINDS: [(u8, &str); 4] =
    [(kind::DEVICE, "device"), (kind::MANAGED, "managed"), (kind::PINNED, "pinned"), (kind::ARRAY, "array")];

/// So many allocations have statistics of their own; a program that makes more is not interested in each.
const MOST_COUNTED: usize = 1000;

/// What the host does to memory.
#[derive(Clone, Copy)]
pub(super) enum Way {
    In,
    Out,
    Set,
}

/// An allocation of the program and the copies that touched it.
struct Allocation {
    name: String,
    size: u64,
    kind: u8,
    /// Bytes copied, by [`Way`].
    moved: [u64; 3],
}

/// All allocations of a process.
#[derive(Default)]
pub(super) struct Allocations {
    /// Allocations that are not freed, by the address of their first byte.
    live: BTreeMap<u64, Allocation>,
    /// Allocations that were freed, in that order.
    past: Vec<Allocation>,
    /// How many were made, by kind.
    made: [u32; KINDS.len()],
}

impl Allocations {
    /// What the next allocation of a kind will be called. Nobody says what an allocation is called: its number among those of
    /// its kind is the same in every run.
    pub(super) fn next_name(&self, kind: u8) -> Option<String> {
        let (number, label) = KINDS.iter().find(|(number, _)| *number == kind)?;
        Some(format!("{label}{}", self.made[usize::from(*number)]))
    }

    /// The program has allocated `size` bytes at `start`.
    pub(super) fn made(&mut self, name: String, start: u64, size: u64, kind: u8) {
        self.made[usize::from(kind)] += 1;
        self.live.insert(start, Allocation { name, size, kind, moved: [0; 3] });
    }

    /// The program has freed the allocation at `start`.
    pub(super) fn freed(&mut self, start: u64) {
        if let Some(allocation) = self.live.remove(&start)
            && self.past.len() < MOST_COUNTED
        {
            self.past.push(allocation);
        }
    }

    /// The host did something to `size` bytes at `start`.
    pub(super) fn moved(&mut self, start: u64, size: u64, way: Way) {
        if let Some((first, allocation)) = self.live.range_mut(..=start).next_back()
            && start - first < allocation.size
        {
            allocation.moved[way as usize] += size;
        }
    }

    /// Bytes from `start` to the end of its allocation.
    pub(super) fn room(&self, start: u64) -> Option<u64> {
        let (first, allocation) = self.live.range(..=start).next_back()?;
        allocation.size.checked_sub(start - first).filter(|&room| room > 0)
    }

    /// Bytes of device memory that are taken.
    pub(super) fn on_device(&self) -> u64 {
        self.live.values().filter(|a| matches!(a.kind, kind::DEVICE | kind::ARRAY)).map(|a| a.size).sum()
    }

    /// Memory that the host can touch without saying so; managed memory only if its pages do not move (`paged`): then they
    /// come with what the host wrote.
    pub(super) fn seen_by_host(&self, paged: bool) -> Vec<(u64, u64)> {
        let seen = |a: &Allocation| a.kind == kind::PINNED || a.kind == kind::MANAGED && !paged;
        self.live.iter().filter(|(_, a)| seen(a)).map(|(&start, a)| (start, a.size)).collect()
    }

    /// Adds what is known of each allocation to a tree.
    pub(super) fn count(&self, stats: &mut Stats) {
        for allocation in self.past.iter().chain(self.live.values()).take(MOST_COUNTED) {
            let path = format!("allocation[{}]", allocation.name);
            stats.count(format!("{path}.bytes"), allocation.size, Unit::Bytes, "size of this allocation");
            let ways = [
                ("copied_in", "bytes copied into this allocation"),
                ("copied_out", "bytes copied out of this allocation"),
                ("set", "bytes of this allocation that memsets wrote"),
            ];
            for ((name, what), &bytes) in ways.iter().zip(&allocation.moved) {
                if bytes > 0 {
                    stats.count(format!("{path}.{name}"), bytes, Unit::Bytes, what);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_numbered_by_kind_and_tell_what_happened_to_them() {
        let mut allocations = Allocations::default();
        for (start, kind) in [(0, kind::DEVICE), (1000, kind::PINNED), (2000, kind::DEVICE)] {
            let name = allocations.next_name(kind).expect("a kind");
            allocations.made(name, start, 100, kind);
        }
        assert_eq!(allocations.next_name(9), None);
        assert_eq!([2000, 2040, 2100].map(|at| allocations.room(at)), [Some(100), Some(60), None]);
        allocations.moved(2040, 60, Way::In);
        allocations.moved(2100, 5, Way::In);
        allocations.freed(0);
        assert_eq!((allocations.on_device(), allocations.seen_by_host(false)), (100, vec![(1000, 100)]));
        let mut stats = Stats::default();
        allocations.count(&mut stats);
        let found: Vec<_> = stats.iter().map(|(path, stat)| (path.to_owned(), stat.value.as_f64())).collect();
        let expected = [
            ("device0", "bytes", 100.0),
            ("device1", "bytes", 100.0),
            ("device1", "copied_in", 60.0),
            ("pinned0", "bytes", 100.0),
        ];
        assert_eq!(found, expected.map(|(name, what, bytes)| (format!("allocation[{name}].{what}"), bytes)));
    }
}
