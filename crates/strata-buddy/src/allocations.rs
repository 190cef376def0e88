//! Which target each address has: what page tables and TLBs know, as the memory side asks for it.

use crate::Target;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use strata_core::{Addr, Bytes, LINE_BYTES, LineAddr};

/// Allocations with their targets, shared by the sides of all partitions and whoever hears of allocations.
///
/// Allocations do not overlap, and a line belongs to one at most: allocations begin at multiples of a line.
#[derive(Clone, Debug, Default)]
pub struct Allocations {
    /// By their first lines.
    living: Rc<RefCell<BTreeMap<u64, Allocation>>>,
    /// Names that have a target and that no allocation has had.
    unmet: Rc<RefCell<BTreeSet<String>>>,
}

#[derive(Clone, Copy, Debug)]
struct Allocation {
    /// The line after its last.
    end: u64,
    target: Target,
}

impl Allocations {
    /// An allocation was made.
    pub fn add(&self, start: Addr, size: Bytes, target: Target) {
        let end = (start.0 + size.0).div_ceil(LINE_BYTES);
        self.living.borrow_mut().insert(start.line().0, Allocation { end, target });
    }

    /// Names that targets were given for and that no allocation has had so far.
    pub fn unmet(&self) -> Vec<String> {
        self.unmet.borrow().iter().cloned().collect()
    }

    /// Targets were given for these names.
    pub(crate) fn expect(&self, names: impl IntoIterator<Item = String>) {
        self.unmet.borrow_mut().extend(names);
    }

    /// An allocation of this name was made.
    pub(crate) fn met(&self, name: &str) {
        self.unmet.borrow_mut().remove(name);
    }

    /// An allocation was freed.
    pub fn remove(&self, start: Addr) {
        self.living.borrow_mut().remove(&start.line().0);
    }

    /// The target of a line; what was never allocated is not compressed.
    pub fn target(&self, line: LineAddr) -> Target {
        let allocations = self.living.borrow();
        let before = allocations.range(..=line.0).next_back();
        before.filter(|(_, a)| line.0 < a.end).map_or(Target::X1, |(_, a)| a.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Target::{X1, X2, X16};

    #[test]
    fn every_line_has_the_target_of_its_allocation() {
        let allocations = Allocations::default();
        allocations.add(Addr(512), Bytes(200), Target::X2);
        allocations.add(Addr(1024), Bytes(128), Target::X16);
        let targets = |lines: std::ops::Range<u64>| lines.map(|l| allocations.target(LineAddr(l))).collect::<Vec<_>>();
        assert_eq!(targets(3..10), [X1, X2, X2, X1, X1, X16, X1]);
        allocations.remove(Addr(512));
        assert_eq!(targets(4..6), [X1, X1]);
    }
}
