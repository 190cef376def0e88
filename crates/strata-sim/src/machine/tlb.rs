//! A TLB: sets of some ways, or fully associative; least recent out first.

use crate::cache::Tags;
use crate::seam::PageId;
use rustc_hash::FxHashMap;
use strata_core::LineAddr;

/// A TLB of some entries; with none of them it never knows a page.
pub(super) enum Tlb {
    /// A tag array of pages.
    Sets(Tags),
    Full(Full),
}

impl Tlb {
    /// So many entries in sets of `ways`; 0 ways: fully associative.
    pub(super) fn new(entries: u32, ways: u32) -> Self {
        if ways == 0 || entries == 0 {
            return Self::Full(Full::new(entries));
        }
        let ways = ways.min(entries);
        Self::Sets(Tags::new((entries / ways).max(1), ways))
    }

    /// True if it knows a page, which is the most recent one then.
    #[inline]
    pub(super) fn look_up(&mut self, page: PageId) -> bool {
        match self {
            Self::Sets(tags) => tags.find(set_of(tags, page), LineAddr(page.0)).is_some(),
            Self::Full(full) => full.look_up(page),
        }
    }

    /// Knows a page from now on.
    pub(super) fn insert(&mut self, page: PageId) {
        if self.look_up(page) {
            return;
        }
        match self {
            Self::Sets(tags) => {
                tags.insert(set_of(tags, page), LineAddr(page.0));
            }
            Self::Full(full) => full.insert(page),
        }
    }

    pub(super) fn invalidate(&mut self, page: PageId) {
        match self {
            Self::Sets(tags) => {
                tags.remove(set_of(tags, page), LineAddr(page.0));
            }
            Self::Full(full) => full.invalidate(page),
        }
    }
}

fn set_of(tags: &Tags, page: PageId) -> u32 {
    (page.0 ^ page.0 >> 7) as u32 % tags.sets()
}

/// The end of the list.
const NONE: u32 = u32::MAX;

/// An entry, in the list of recent use.
struct Entry {
    page: PageId,
    /// The less recent neighbour and the more recent one.
    older: u32,
    newer: u32,
}

/// A fully associative TLB: a hash from pages to entries, and a list through the entries.
pub(super) struct Full {
    capacity: usize,
    places: FxHashMap<PageId, u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
}

impl Full {
    fn new(capacity: u32) -> Self {
        Self {
            capacity: capacity as usize,
            places: FxHashMap::default(),
            entries: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    #[inline]
    fn look_up(&mut self, page: PageId) -> bool {
        // Most accesses are to the page of the one before.
        if self.newest != NONE && self.entries[self.newest as usize].page == page {
            return true;
        }
        let Some(&at) = self.places.get(&page) else { return false };
        self.unlink(at);
        self.link_newest(at);
        true
    }

    /// Adds a page that it does not know.
    fn insert(&mut self, page: PageId) {
        if self.capacity == 0 {
            return;
        }
        if self.places.len() == self.capacity {
            let oldest = self.entries[self.oldest as usize].page;
            self.invalidate(oldest);
        }
        let entry = Entry { page, older: NONE, newer: NONE };
        let at = if let Some(at) = self.free.pop() {
            self.entries[at as usize] = entry;
            at
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        };
        self.places.insert(page, at);
        self.link_newest(at);
    }

    fn invalidate(&mut self, page: PageId) {
        if let Some(at) = self.places.remove(&page) {
            self.unlink(at);
            self.free.push(at);
        }
    }

    fn link_newest(&mut self, at: u32) {
        let last = std::mem::replace(&mut self.newest, at);
        (self.entries[at as usize].older, self.entries[at as usize].newer) = (last, NONE);
        match last {
            NONE => self.oldest = at,
            last => self.entries[last as usize].newer = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let Entry { older, newer, .. } = self.entries[at as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        LookUp(u64),
        Insert(u64),
        Invalidate(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        (0..3, 0u64..12).prop_map(|(what, page)| match what {
            0 => Step::LookUp(page),
            1 => Step::Insert(page),
            _ => Step::Invalidate(page),
        })
    }

    proptest! {
        /// Against a plain list, oldest first, as UVMSmart keeps it.
        #[test]
        fn it_is_a_list_of_recent_use(entries in 0u32..6, steps in proptest::collection::vec(step(), 0..120)) {
            let mut tlb = Tlb::new(entries, 0);
            let mut plain: Vec<u64> = Vec::new();
            for step in steps {
                match step {
                    Step::LookUp(page) => {
                        let known = plain.contains(&page);
                        prop_assert_eq!(tlb.look_up(PageId(page)), known);
                        if known {
                            plain.retain(|p| *p != page);
                            plain.push(page);
                        }
                    }
                    Step::Insert(page) => {
                        tlb.insert(PageId(page));
                        if !plain.contains(&page) && plain.len() == entries as usize && entries > 0 {
                            plain.remove(0);
                        }
                        plain.retain(|p| *p != page);
                        if entries > 0 {
                            plain.push(page);
                        }
                    }
                    Step::Invalidate(page) => {
                        tlb.invalidate(PageId(page));
                        plain.retain(|p| *p != page);
                    }
                }
            }
            for page in 0..12 {
                prop_assert_eq!(tlb.look_up(PageId(page)), plain.contains(&page));
            }
        }
    }

    #[test]
    fn ways_that_collide_miss_where_a_full_one_does_not() {
        // Nine pages of one set of eight ways: each drives out the one that comes next.
        let misses = |mut tlb: Tlb| {
            let pages = || (0..9).map(|k| PageId(k * 128 * 128));
            pages().for_each(|page| tlb.insert(page));
            pages().filter(|&page| !tlb.look_up(page)).count()
        };
        assert_eq!(misses(Tlb::new(1024, 0)), 0);
        assert_eq!(misses(Tlb::new(1024, 8)), 1);
    }

    #[test]
    fn no_entries_know_no_page() {
        for ways in [0, 8] {
            let mut tlb = Tlb::new(0, ways);
            tlb.insert(PageId(1));
            assert!(!tlb.look_up(PageId(1)));
        }
    }
}
