//! Pages that come and go: what the host's copy of each holds.
//!
//! Lines of a paged range are at the host until their page arrives, and again after it has left. A page that arrives brings
//! what the host's copy holds; one that leaves gives its writes to that copy, if it is copied.

use super::failure::Copy;
use super::ledger::{Sector, members};
use super::write_set::WriteSet;
use super::{DataChecker, LineCopy};
use crate::coalesce::CoalescedAccess;
use rustc_hash::FxHashSet;
use std::ops::Range;
use strata_core::LineAddr;

/// Which lines come and go, and which of them are here.
#[derive(Default)]
pub(super) struct Pages {
    /// Lines of the range that a paging mechanism has charge of.
    pub(super) range: Range<u64>,
    here: FxHashSet<LineAddr>,
}

impl Pages {
    /// True for a line of a page that is not on the device.
    pub(super) fn is_away(&self, line: LineAddr) -> bool {
        self.range.contains(&line.0) && !self.here.contains(&line)
    }
}

impl DataChecker {
    /// A paging mechanism has charge of these lines; none is on the device.
    pub(in crate::machine) fn set_paged_lines(&mut self, range: Range<u64>) {
        self.pages.range = range;
    }

    /// Pages with these lines have come.
    #[cold]
    pub(in crate::machine) fn page_in(&mut self, lines: Range<u64>) {
        for line in lines.map(LineAddr) {
            self.pages.here.insert(line);
            for sector in self.ledger.known_mut(line).into_iter().flatten() {
                sector.memory = sector.host.clone();
                sector.forget_l2();
            }
        }
    }

    /// Pages with these lines have left.
    #[cold]
    pub(in crate::machine) fn page_out(&mut self, lines: Range<u64>, copied: bool) {
        for line in lines.map(LineAddr) {
            self.pages.here.remove(&line);
            let Some(known) = self.ledger.known_mut(line) else { continue };
            self.open.insert(line);
            for Sector { memory, host, l2, .. } in known {
                if copied {
                    host.join(memory);
                }
                (*memory, *l2) = (WriteSet::default(), WriteSet::default());
            }
        }
    }

    /// The issuing access is served by the host's copy.
    #[cold]
    pub(in crate::machine) fn remote(&mut self, request: &CoalescedAccess, write: bool) {
        let line = request.line;
        if write {
            self.open.insert(line);
            let origin = self.issuing;
            let known = self.ledger.line_mut(line);
            for s in members(request.asked) {
                let number = known[s].write(origin);
                let whole = request.full.0 >> s & 1 != 0;
                let Sector { arrived, host, .. } = &mut known[s];
                for copy in [arrived, host] {
                    if whole { copy.add_whole(number) } else { copy.add(number) }
                }
            }
            return;
        }
        let need = self.need(line);
        let copy: LineCopy =
            self.ledger.line(line).map_or_else(Default::default, |known| known.each_ref().map(|s| s.host.clone()));
        self.counts.overtaken += self.missed_writes(&need, line, request.asked, &copy, Copy::HostPage);
    }
}
