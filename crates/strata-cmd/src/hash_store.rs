//! The hash store of a memory controller: `[hash, reference, count]` of blocks that others may be equal to.
//!
//! Invariants: a count includes the reference itself and is never zero; an entry with a count over 1 is never evicted; counts
//! never pass the maximum. What must leave for a new entry is, of those with count 1, the one that has been so longest. The
//! store is on chip alone: what is not in it is no duplicate.
//!
//! An entry keeps the bytes of its block beside the fingerprint. The hardware has no such thing; here they tell a real
//! duplicate from a collision.

use rustc_hash::FxHashMap;
use strata_sim::cache::SectorMask;
use strata_sim::seam::Line;

/// Names an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EntryId(u32);

impl EntryId {
    /// No entry.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// This, if it is an entry.
    pub(crate) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

impl Default for EntryId {
    fn default() -> Self {
        Self::NONE
    }
}

/// Bytes of a reference and of a count (CMD, section IV-B).
const REFERENCE_BYTES: u64 = 4;
const COUNT_BYTES: u64 = 2;

/// Entries that fit into so many bytes, with fingerprints of `hash` bytes.
pub(crate) fn entries_in(bytes: u64, hash: u64) -> u32 {
    u32::try_from(bytes / (hash + REFERENCE_BYTES + COUNT_BYTES)).unwrap_or(u32::MAX).max(1)
}

struct Entry {
    key: u128,
    place: u64,
    count: u32,
    mask: SectorMask,
    bytes: Line,
    /// Neighbours among those with count 1.
    older: EntryId,
    younger: EntryId,
}

/// Fingerprints of the blocks that a partition stores, with where each is and how often it is referred to.
pub(crate) struct HashStore {
    entries: Vec<Entry>,
    unused: Vec<u32>,
    by_key: FxHashMap<u128, u32>,
    capacity: u32,
    max_count: u32,
    oldest: EntryId,
    youngest: EntryId,
}

impl HashStore {
    /// Of so many entries, whose counts go up to `max_count`.
    pub(crate) fn new(capacity: u32, max_count: u32) -> Self {
        Self {
            entries: Vec::new(),
            unused: Vec::new(),
            by_key: FxHashMap::default(),
            capacity,
            max_count,
            oldest: EntryId::NONE,
            youngest: EntryId::NONE,
        }
    }

    /// The entry of a fingerprint.
    pub(crate) fn find(&self, key: u128) -> Option<EntryId> {
        self.by_key.get(&key).map(|&at| EntryId(at))
    }

    /// Where the block of an entry is.
    pub(crate) fn place(&self, id: EntryId) -> u64 {
        self.entry(id).place
    }

    /// Blocks that are there.
    pub(crate) fn count(&self, id: EntryId) -> u32 {
        self.entry(id).count
    }

    /// True if these masked bytes are those of the entry.
    pub(crate) fn holds(&self, id: EntryId, mask: SectorMask, bytes: &Line) -> bool {
        let entry = self.entry(id);
        entry.mask == mask && entry.bytes == *bytes
    }

    /// One more block is equal to the entry's; false if its count is at the maximum already.
    pub(crate) fn join(&mut self, id: EntryId) -> bool {
        match self.entry(id).count {
            count if count >= self.max_count => return false,
            1 => self.unlink(id),
            _ => {}
        }
        self.entry_mut(id).count += 1;
        true
    }

    /// One block less is there: how many are left. With none, the entry is gone.
    pub(crate) fn leave(&mut self, id: EntryId) -> u32 {
        let left = self.entry(id).count - 1;
        match left {
            0 => self.remove(id),
            1 => {
                self.entry_mut(id).count = 1;
                self.link(id);
            }
            _ => self.entry_mut(id).count = left,
        }
        left
    }

    /// The block of an entry was written with what it held.
    pub(crate) fn touch(&mut self, id: EntryId) {
        if self.entry(id).count == 1 {
            self.unlink(id);
            self.link(id);
        }
    }

    /// Removes an entry of count 1.
    pub(crate) fn remove(&mut self, id: EntryId) {
        self.unlink(id);
        let key = self.entry(id).key;
        self.by_key.remove(&key);
        self.unused.push(id.0);
    }

    /// A new entry of count 1, if there is room or somebody can leave: the entry, and the place whose entry has left.
    pub(crate) fn insert(&mut self, key: u128, mask: SectorMask, bytes: &Line, place: u64) -> (EntryId, Option<u64>) {
        let mut evicted = None;
        if self.by_key.len() >= self.capacity as usize {
            let Some(oldest) = self.oldest.some() else { return (EntryId::NONE, None) };
            evicted = Some(self.place(oldest));
            self.remove(oldest);
        }
        let none = EntryId::NONE;
        let entry = Entry { key, place, count: 1, mask, bytes: *bytes, older: none, younger: none };
        let at = self.unused.pop().unwrap_or(self.entries.len() as u32);
        if at as usize == self.entries.len() {
            self.entries.push(entry);
        } else {
            self.entries[at as usize] = entry;
        }
        self.by_key.insert(key, at);
        self.link(EntryId(at));
        (EntryId(at), evicted)
    }

    fn entry(&self, id: EntryId) -> &Entry {
        &self.entries[id.0 as usize]
    }

    fn entry_mut(&mut self, id: EntryId) -> &mut Entry {
        &mut self.entries[id.0 as usize]
    }

    /// Makes an entry the youngest of those with count 1.
    fn link(&mut self, id: EntryId) {
        let before = std::mem::replace(&mut self.youngest, id);
        (self.entry_mut(id).older, self.entry_mut(id).younger) = (before, EntryId::NONE);
        match before.some() {
            Some(before) => self.entry_mut(before).younger = id,
            None => self.oldest = id,
        }
    }

    /// Takes an entry out of those with count 1.
    fn unlink(&mut self, id: EntryId) {
        let (older, younger) = (self.entry(id).older, self.entry(id).younger);
        match older.some() {
            Some(older) => self.entry_mut(older).younger = younger,
            None => self.oldest = younger,
        }
        match younger.some() {
            Some(younger) => self.entry_mut(younger).older = older,
            None => self.youngest = older,
        }
    }

    /// All entries: their places and counts.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EntryId, u64, u32)> {
        self.by_key.values().map(|&at| (EntryId(at), self.entries[at as usize].place, self.entries[at as usize].count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(capacity: u32) -> HashStore {
        HashStore::new(capacity, 3)
    }

    fn put(store: &mut HashStore, key: u128) -> (EntryId, Option<u64>) {
        store.insert(key, SectorMask::ALL, &[key as u8; 128], key as u64)
    }

    #[test]
    fn entries_of_the_paper() {
        // 48 KB of [16 B, 4 B, 2 B].
        assert_eq!(entries_in(48 << 10, 16), 2234);
        assert_eq!(entries_in(1, 16), 1);
    }

    #[test]
    fn the_one_that_has_been_single_longest_leaves() {
        let mut store = store(3);
        let ids: Vec<_> = (1..=3).map(|key| put(&mut store, key).0).collect();
        store.touch(ids[0]);
        assert_eq!(put(&mut store, 4).1, Some(2));
        assert!(store.join(ids[2]));
        assert_eq!(put(&mut store, 5).1, Some(1), "3 has two blocks");
        assert_eq!(store.leave(ids[2]), 1);
        assert_eq!(put(&mut store, 6).1, Some(4));
        assert_eq!(put(&mut store, 7).1, Some(5));
        assert_eq!(put(&mut store, 8).1, Some(3), "3 became single after 5 came");
    }

    #[test]
    fn shared_entries_never_leave() {
        let mut store = store(2);
        let ids: Vec<_> = (1..=2).map(|key| put(&mut store, key).0).collect();
        assert!(ids.iter().all(|&id| store.join(id)));
        assert_eq!(put(&mut store, 3), (EntryId::NONE, None));
        assert!(store.find(1).is_some() && store.find(2).is_some() && store.find(3).is_none());
    }

    #[test]
    fn counts_saturate_and_end_at_nothing() {
        let mut store = store(2);
        let id = put(&mut store, 1).0;
        assert_eq!([store.join(id), store.join(id), store.join(id)], [true, true, false]);
        assert_eq!([store.leave(id), store.leave(id), store.leave(id)], [2, 1, 0]);
        assert_eq!(store.find(1), None);
        assert_eq!(put(&mut store, 2).0, id, "its slot is used again");
    }
}
