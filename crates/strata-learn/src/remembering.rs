//! Tables that predict in a machine: what an engineer would build before a model. They hear requests as [`crate::online::Online`]
//! does and foresee the next one; with the few requests of most warps, none further away would ever be learned.

use crate::access::{Access, Cluster, FirstTouches, Unit};
use rustc_hash::FxHashMap;

/// What a table remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    /// The last delta between requests of the same instruction and warp.
    Stride,
    /// The delta that followed the same delta most recently, of any warp.
    Markov,
}

impl Table {
    /// The table of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "stride" => Some(Self::Stride),
            "markov" => Some(Self::Markov),
            _ => None,
        }
    }
}

/// A table that learns as it hears.
pub struct Remembering {
    table: Table,
    unit: Unit,
    touches: FirstTouches,
    /// The last request of each warp, or of each instruction of it, and the delta by which it was reached.
    last: FxHashMap<(u64, u32), (Access, Option<i64>)>,
    /// What followed a delta.
    next: FxHashMap<i64, i64>,
    foreseen: Option<u64>,
}

impl Remembering {
    /// Nothing heard yet.
    pub fn new(table: Table, unit: Unit) -> Self {
        let (last, next) = (FxHashMap::default(), FxHashMap::default());
        Self { table, unit, touches: FirstTouches::default(), last, next, foreseen: None }
    }

    /// What it foresees.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// A request; false if it does not count for the unit.
    pub fn observe(&mut self, access: &Access) -> bool {
        self.foreseen = None;
        if !self.touches.counts(self.unit, access) {
            return false;
        }
        // Warps do not come back to blocks and roots often enough to have a stride in them: arrays do.
        let key = match (self.unit, self.table) {
            (Unit::Page, Table::Stride) => (Cluster::SmWarp.key(access), access.pc),
            (Unit::Page, Table::Markov) => (Cluster::SmWarp.key(access), 0),
            _ => (Cluster::Array.key(access), 0),
        };
        let before = self.last.get(&key).copied();
        let delta = before.map(|(last, _)| self.unit.delta(access, &last));
        self.last.insert(key, (*access, delta));
        let follows = match (self.table, delta) {
            (_, None) => None,
            (Table::Stride, delta) => delta,
            (Table::Markov, Some(delta)) => {
                if let Some((_, Some(old))) = before {
                    self.next.insert(old, delta);
                }
                self.next.get(&delta).copied()
            }
        };
        self.foreseen = follows.and_then(|delta| self.unit.after(access.page, delta));
        true
    }

    /// The page that will be asked for after the last request, if it knows.
    pub fn predict(&self) -> Option<u64> {
        self.foreseen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages that warps ask for, as (warp, program counter, page), and the page that is foreseen in the end.
    #[track_caller]
    fn check(table: Table, requests: &[(u32, u32, u64)], foreseen: Option<u64>) {
        let mut remembering = Remembering::new(table, Unit::Page);
        for &(warp, pc, page) in requests {
            remembering.observe(&Access { warp, pc, page: page << 12, ..Access::default() });
        }
        assert_eq!(remembering.predict().map(|page| page >> 12), foreseen, "{requests:?}");
    }

    #[test]
    fn a_stride_is_that_of_an_instruction_and_warp() {
        check(Table::Stride, &[(0, 1, 10)], None);
        check(Table::Stride, &[(0, 1, 10), (0, 2, 50), (1, 1, 7), (0, 1, 14)], Some(18));
        check(Table::Stride, &[(0, 1, 3), (0, 1, 1)], None);
    }

    #[test]
    fn what_followed_a_delta_is_told_to_all_warps() {
        let first = [(0, 1, 10), (0, 1, 11), (0, 1, 31)];
        check(Table::Markov, &first, None);
        check(Table::Markov, &[&first[..], &[(5, 1, 100), (5, 1, 101)]].concat(), Some(121));
    }

    #[test]
    fn a_stride_of_roots_is_that_of_an_array() {
        let mut remembering = Remembering::new(Table::Stride, Unit::Root);
        let mut hears = |warp, array, root: u64| {
            remembering.observe(&Access { warp, array, page: root << 21, ..Access::default() })
        };
        assert!(hears(0, 0, 0) && hears(1, 90, 90) && hears(2, 0, 1));
        assert!(!hears(3, 0, 0), "it is not the first");
        assert!(hears(4, 90, 91));
        assert_eq!(remembering.predict(), Some(92 << 21));
    }
}
