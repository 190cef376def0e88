//! Who owns which addresses: bump allocation with first-fit reuse, and a memory of what was freed.

use super::{DEVICE_ALIGN, MANAGED_ALIGN, MemoryError};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use strata_core::{Addr, Bytes};

/// Which arena an allocation comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Device,
    Managed,
}

/// One allocation, live or freed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocationRecord {
    /// Number in order of allocation, never reused.
    pub id: u32,
    /// Address of its first byte.
    pub start: Addr,
    /// Size as asked for (0 counts as 1).
    pub size: Bytes,
    /// What the program calls it.
    pub name: String,
    /// True for managed memory.
    pub managed: bool,
}

/// What is known of an address outside every live allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nearest {
    /// Nothing was ever allocated near it.
    Nothing,
    /// It lies in memory that was freed.
    Freed {
        /// The allocation that was there.
        was: AllocationRecord,
        /// Offset in it.
        offset: u64,
    },
    /// The access begins in a live allocation and ends outside.
    Across {
        /// The allocation in which it begins.
        of: AllocationRecord,
        /// Bytes between the address and its end.
        room: u64,
    },
    /// It lies past the end of a live allocation.
    After {
        /// The last live allocation before the address.
        of: AllocationRecord,
        /// Bytes between its end and the address.
        past: u64,
    },
    /// It lies before the first live allocation.
    Before {
        /// The first live allocation.
        of: AllocationRecord,
        /// Bytes between the address and its start.
        short: u64,
    },
}

/// Reads as the end of a sentence: "; 4 bytes past the end of 'a' (400 B at 0x…)".
impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Freed { was, offset } => {
                write!(f, "; it was byte {offset} of `{}` ({} at {}), which was freed", was.name, was.size, was.start)
            }
            Self::Across { of, room } => {
                write!(f, "; only {room} bytes are left of `{}` ({} at {})", of.name, of.size, of.start)
            }
            Self::After { of, past: 0 } => {
                write!(f, "; just past the end of `{}` ({} at {})", of.name, of.size, of.start)
            }
            Self::After { of, past } => {
                write!(f, "; {past} bytes past the end of `{}` ({} at {})", of.name, of.size, of.start)
            }
            Self::Before { of, short } => {
                write!(f, "; {short} bytes before `{}` ({} at {})", of.name, of.size, of.start)
            }
        }
    }
}

/// One arena: a bump pointer and the holes behind it.
struct Arena {
    range: Range<u64>,
    next: u64,
    /// Freed ranges by start, neighbours merged.
    holes: BTreeMap<u64, u64>,
    align: u64,
    /// Bytes that stay free behind every allocation.
    guard: u64,
}

impl Arena {
    /// What an allocation takes of the arena.
    fn need(&self, size: u64) -> Option<u64> {
        size.checked_add(self.guard)?.checked_next_multiple_of(self.align)
    }

    fn take(&mut self, size: u64) -> Option<u64> {
        let need = self.need(size)?;
        let hole = self.holes.iter().find(|&(_, &len)| len >= need).map(|(&s, &len)| (s, len));
        if let Some((start, len)) = hole {
            self.holes.remove(&start);
            if len > need {
                self.holes.insert(start + need, len - need);
            }
            return Some(start);
        }
        let start = self.next;
        let end = start.checked_add(need)?;
        if end > self.range.end {
            return None;
        }
        self.next = end;
        Some(start)
    }

    fn give_back(&mut self, start: u64, size: u64) {
        let mut start = start;
        let Some(mut len) = self.need(size) else { return };
        if let Some((&s, &l)) = self.holes.range(..start).next_back()
            && s + l == start
        {
            self.holes.remove(&s);
            start = s;
            len += l;
        }
        if let Some(l) = self.holes.remove(&(start + len)) {
            len += l;
        }
        if start + len == self.next {
            self.next = start;
        } else {
            self.holes.insert(start, len);
        }
    }

    fn free_bytes(&self) -> u64 {
        self.range.end - self.next + self.holes.values().sum::<u64>()
    }
}

/// Farther than this from any allocation, an address is a wild pointer rather than an index too large.
const NEAR: u64 = 1 << 32;

/// All allocations of a device.
pub(super) struct Table {
    device: Arena,
    managed: Arena,
    live: BTreeMap<u64, AllocationRecord>,
    freed: BTreeMap<u64, AllocationRecord>,
    next_id: u32,
}

impl Table {
    pub(super) fn new(device: Range<u64>, managed: Range<u64>, guard: Bytes) -> Self {
        let guard = guard.0;
        let arena = |range: Range<u64>, align| Arena { next: range.start, range, holes: BTreeMap::new(), align, guard };
        Self {
            device: arena(device, DEVICE_ALIGN),
            managed: arena(managed, MANAGED_ALIGN),
            live: BTreeMap::new(),
            freed: BTreeMap::new(),
            next_id: 0,
        }
    }

    fn arena(&mut self, kind: Kind) -> &mut Arena {
        match kind {
            Kind::Device => &mut self.device,
            Kind::Managed => &mut self.managed,
        }
    }

    pub(super) fn alloc(&mut self, size: Bytes, kind: Kind, name: &str) -> Result<AllocationRecord, MemoryError> {
        let size = Bytes(size.0.max(1));
        let arena = self.arena(kind);
        let Some(start) = arena.take(size.0) else {
            let capacity = Bytes(arena.range.end - arena.range.start);
            return Err(MemoryError::Full { asked: size, free: Bytes(arena.free_bytes()), capacity });
        };
        let record = AllocationRecord {
            id: self.next_id,
            start: Addr(start),
            size,
            name: name.to_owned(),
            managed: kind == Kind::Managed,
        };
        self.next_id += 1;
        let end = start + size.0;
        self.freed.retain(|&s, r| s + r.size.0 <= start || s >= end);
        self.live.insert(start, record.clone());
        Ok(record)
    }

    pub(super) fn free(&mut self, start: Addr) -> Result<AllocationRecord, MemoryError> {
        let Some(record) = self.live.remove(&start.0) else {
            return Err(MemoryError::NotAllocated(start, self.explain(start).to_string()));
        };
        let kind = if record.managed { Kind::Managed } else { Kind::Device };
        self.arena(kind).give_back(start.0, record.size.0);
        self.freed.insert(start.0, record.clone());
        Ok(record)
    }

    pub(super) fn find(&self, addr: Addr) -> Option<&AllocationRecord> {
        let (_, record) = self.live.range(..=addr.0).next_back()?;
        (addr.0 - record.start.0 < record.size.0).then_some(record)
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &AllocationRecord> {
        self.live.values()
    }

    pub(super) fn explain(&self, addr: Addr) -> Nearest {
        if let Some((_, r)) = self.freed.range(..=addr.0).next_back()
            && addr.0 - r.start.0 < r.size.0
        {
            return Nearest::Freed { was: r.clone(), offset: addr.0 - r.start.0 };
        }
        if let Some((_, r)) = self.live.range(..=addr.0).next_back() {
            let offset = addr.0 - r.start.0;
            if offset < r.size.0 {
                return Nearest::Across { of: r.clone(), room: r.size.0 - offset };
            }
            let past = offset - r.size.0;
            if past < NEAR {
                return Nearest::After { of: r.clone(), past };
            }
        }
        if let Some((_, r)) = self.live.range(addr.0..).next()
            && r.start.0 - addr.0 < NEAR
        {
            return Nearest::Before { of: r.clone(), short: r.start.0 - addr.0 };
        }
        Nearest::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new(0x10000..0x20000, 0x20_0000..0x80_0000, Bytes(0))
    }

    #[test]
    fn bump_then_first_fit() {
        let mut t = table();
        let a = t.alloc(Bytes(100), Kind::Device, "a").unwrap().start;
        let b = t.alloc(Bytes(1000), Kind::Device, "b").unwrap().start;
        let c = t.alloc(Bytes(10), Kind::Device, "c").unwrap().start;
        assert_eq!((b.0 - a.0, c.0 - b.0), (512, 1024));
        t.free(a).unwrap();
        t.free(b).unwrap();
        let d = t.alloc(Bytes(600), Kind::Device, "d").unwrap().start;
        assert_eq!(d, a, "the merged hole is reused from its start");
        let e = t.alloc(Bytes(600), Kind::Device, "e").unwrap().start;
        assert_eq!(e.0, c.0 + 512, "what is left of the hole is too small");
    }

    #[test]
    fn exhaustion_and_double_free_are_errors() {
        let mut t = table();
        assert!(matches!(t.alloc(Bytes(u64::MAX), Kind::Device, "x"), Err(MemoryError::Full { .. })));
        let a = t.alloc(Bytes(0x10000), Kind::Device, "a").unwrap().start;
        assert!(matches!(t.alloc(Bytes(1), Kind::Device, "b"), Err(MemoryError::Full { .. })));
        t.free(a).unwrap();
        assert!(matches!(t.free(a), Err(MemoryError::NotAllocated(..))));
    }

    #[test]
    fn addresses_are_explained() {
        let mut t = table();
        let a = t.alloc(Bytes(100), Kind::Device, "a").unwrap().start;
        let b = t.alloc(Bytes(100), Kind::Device, "b").unwrap().start;
        assert!(matches!(t.explain(a.offset(104)), Nearest::After { past: 4, .. }));
        t.free(a).unwrap();
        assert!(matches!(t.explain(a.offset(5)), Nearest::Freed { offset: 5, .. }));
        assert!(matches!(t.explain(Addr(b.0 - 8)), Nearest::Before { short: 8, .. }));
        assert!(matches!(t.explain(Addr(1 << 50)), Nearest::Nothing));
    }
}
