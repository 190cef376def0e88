//! Which target each address has: what page tables and TLBs know, as the memory side of a partition asks for it.

use crate::{Target, Targets};
use std::collections::BTreeMap;
use strata_core::{Addr, Bytes, HostEvent, LINE_BYTES, LineAddr};

/// Allocations with their targets, as the host's events tell of them.
///
/// Allocations do not overlap, and a line belongs to one at most: allocations begin at multiples of a line.
#[derive(Clone, Debug, Default)]
pub struct Allocations {
    targets: Targets,
    /// Managed memory is compressed, too: its pages are on the device while they are used.
    paged: bool,
    /// By their first lines.
    living: BTreeMap<u64, Allocation>,
}

#[derive(Clone, Copy, Debug)]
struct Allocation {
    /// The line after its last.
    end: u64,
    target: Target,
}

impl Allocations {
    /// None yet; those with these names will have these targets.
    pub fn new(targets: Targets) -> Self {
        Self { targets, paged: false, living: BTreeMap::new() }
    }

    /// The same where a mechanism moves managed pages.
    #[must_use]
    pub fn with_pages(self, paged: bool) -> Self {
        Self { paged, ..self }
    }

    /// The host did something. Memory that the host shares is not compressed, unless it is in pages that come to the device.
    pub fn host_event(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Alloc(a) if !a.flags.pinned && (self.paged || !a.flags.managed) => {
                self.add(a.start, a.size, self.targets.get(&a.name));
            }
            HostEvent::Free { start, .. } => self.remove(*start),
            _ => {}
        }
    }

    fn add(&mut self, start: Addr, size: Bytes, target: Target) {
        let end = (start.0 + size.0).div_ceil(LINE_BYTES);
        self.living.insert(start.line().0, Allocation { end, target });
    }

    fn remove(&mut self, start: Addr) {
        self.living.remove(&start.line().0);
    }

    /// The target of a line; what was never allocated is not compressed.
    pub fn target(&self, line: LineAddr) -> Target {
        let before = self.living.range(..=line.0).next_back();
        before.filter(|(_, a)| line.0 < a.end).map_or(Target::X1, |(_, a)| a.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Target::{X1, X2, X16};
    use strata_core::{AllocFlags, AllocationId};

    #[test]
    fn every_line_has_the_target_of_its_allocation() {
        let mut allocations = Allocations::default();
        allocations.add(Addr(512), Bytes(200), Target::X2);
        allocations.add(Addr(1024), Bytes(128), Target::X16);
        let targets = |allocations: &Allocations, lines: std::ops::Range<u64>| {
            lines.map(|l| allocations.target(LineAddr(l))).collect::<Vec<_>>()
        };
        assert_eq!(targets(&allocations, 3..10), [X1, X2, X2, X1, X1, X16, X1]);
        allocations.remove(Addr(512));
        assert_eq!(targets(&allocations, 4..6), [X1, X1]);
    }

    #[test]
    fn the_host_tells_of_allocations_by_name() {
        let mut named = Targets::default();
        named.set("a", X2);
        let mut allocations = Allocations::new(named);
        let pinned = AllocFlags { pinned: true, ..AllocFlags::default() };
        let on_device = |name, start| strata_core::Allocation::on_device(0, name, Addr(start), Bytes(128));
        allocations.host_event(&HostEvent::Alloc(on_device("a", 128)));
        allocations.host_event(&HostEvent::Alloc(on_device("b", 256)));
        allocations.host_event(&HostEvent::Alloc(strata_core::Allocation { flags: pinned, ..on_device("a", 384) }));
        let targets = |allocations: &Allocations| [1, 2, 3].map(|l| allocations.target(LineAddr(l)));
        assert_eq!(targets(&allocations), [X2, X1, X1]);
        allocations.host_event(&HostEvent::Free { id: AllocationId(0), start: Addr(128), size: Bytes(128) });
        assert_eq!(targets(&allocations), [X1; 3]);
    }
}
