//! The memory allocation table: ranges of the program, and whether candidates access them (TOM, section 4.3).

use strata_core::{Addr, Bytes, LineAddr};

/// One entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    first: u64,
    end: u64,
    is_candidates: bool,
}

/// The table, by address.
#[derive(Clone, Default, Debug)]
pub struct Allocations(Vec<Entry>);

impl Allocations {
    /// The program gets memory; `is_candidates` if it is known already that candidates access it.
    pub fn allocated(&mut self, start: Addr, size: Bytes, is_candidates: bool) {
        let first = start.line().0;
        let end = start.offset(size.0.max(1) - 1).line().0 + 1;
        let at = self.0.partition_point(|e| e.first < first);
        self.0.insert(at, Entry { first, end, is_candidates });
    }

    /// The program gives memory back.
    pub fn freed(&mut self, start: Addr) {
        self.0.retain(|e| e.first != start.line().0);
    }

    fn find(&self, line: LineAddr) -> Option<usize> {
        let after = self.0.partition_point(|e| e.first <= line.0);
        let at = after.checked_sub(1)?;
        (line.0 < self.0[at].end).then_some(at)
    }

    /// A candidate accesses a line.
    pub fn mark(&mut self, line: LineAddr) {
        if let Some(at) = self.find(line) {
            self.0[at].is_candidates = true;
        }
    }

    /// True if a line is in a range that candidates access.
    pub fn is_marked(&self, line: LineAddr) -> bool {
        self.find(line).is_some_and(|at| self.0[at].is_candidates)
    }

    /// Where the marked ranges begin.
    pub fn marked(&self) -> Vec<LineAddr> {
        self.0.iter().filter(|e| e.is_candidates).map(|e| LineAddr(e.first)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_candidates_access_is_marked_as_a_whole() {
        let mut table = Allocations::default();
        table.allocated(Addr(0x2000), Bytes(0x400), false);
        table.allocated(Addr(0x1000), Bytes(0x400), false);
        table.mark(Addr(0x2380).line());
        table.mark(Addr(0x9000).line());
        let marked =
            |table: &Allocations| [0x1000, 0x1400, 0x2000, 0x23ff, 0x2400].map(|a| table.is_marked(Addr(a).line()));
        assert_eq!(marked(&table), [false, false, true, true, false]);
        assert_eq!(table.marked(), [Addr(0x2000).line()]);
        table.freed(Addr(0x2000));
        assert_eq!(marked(&table), [false; 5]);
    }
}
