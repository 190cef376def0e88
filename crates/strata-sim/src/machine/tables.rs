//! Tables of memory sides: caches of metadata, with lines of 128 B in sectors of 32 B, in front of a home in DRAM.

use crate::cache::{SectorMask, Tags};
use crate::seam::{Dir, LocalAddr, TableSpec};
use crate::side_stats::TableCounts;
use rustc_hash::FxHashMap;
use strata_core::{LINE_BYTES, LineAddr, SECTOR_BYTES};

/// Sectors of 32 B in a line of 128 B.
const SECTORS: u64 = LINE_BYTES / SECTOR_BYTES;

/// The table of one partition.
pub(super) struct Table {
    pub(super) spec: TableSpec,
    tags: Tags,
    /// Steps that are merged with the fill of a sector, by its number.
    waiting: FxHashMap<u64, Vec<u32>>,
    pub(super) counts: TableCounts,
}

/// The result of a lookup in a table's cache.
pub(super) enum TableLookup {
    /// The entry's sector is valid.
    Hit,
    /// The entry's sector is pending: the step waits for that fill.
    Merged,
    /// A miss: the entry's sector must be fetched from this address.
    Fetch(LocalAddr, SectorMask),
}

/// Dirty sectors that leave a cache: where they go.
pub(super) type Left = Option<(LocalAddr, SectorMask)>;

impl Table {
    pub(super) fn new(spec: TableSpec) -> Self {
        let lines = (spec.cache.0 / LINE_BYTES).max(1) as u32;
        let sets = (lines / spec.ways.clamp(1, lines)).max(1);
        // Lines that fill no set of their own are further ways.
        let tags = Tags::new(sets, lines / sets);
        Self { spec, tags, waiting: FxHashMap::default(), counts: TableCounts::default() }
    }

    /// The line of an entry, its sector there, and the sector's number.
    fn locate(&self, entry: u64) -> (LineAddr, SectorMask, u64) {
        let sector = entry * u64::from(self.spec.entry_bits) / 8 / SECTOR_BYTES;
        (LineAddr(sector / SECTORS), SectorMask(1 << (sector % SECTORS)), sector)
    }

    fn set_of(&self, line: LineAddr) -> u32 {
        (line.0 ^ line.0 >> 7) as u32 % self.tags.sets()
    }

    /// Where a line of the table is in DRAM.
    fn home(&self, line: LineAddr) -> LocalAddr {
        LocalAddr(self.spec.home.0 + line.0 * LINE_BYTES)
    }

    /// Looks an entry up, or updates it; `step` is merged with the fill if its sector is pending. Dirty sectors of the line
    /// that is evicted for it are to be written back.
    pub(super) fn look_up(&mut self, entry: u64, dir: Dir, step: u32) -> (TableLookup, Left) {
        let (line, sector, number) = self.locate(entry);
        let set = self.set_of(line);
        self.counts.accesses += 1;
        let found = self.tags.find(set, line).map(|way| (way, None));
        // If every line of the set waits for data, the sector is fetched for this access alone.
        let Some((way, evicted)) = found.or_else(|| self.tags.insert(set, line)) else {
            self.counts.fetches += 1;
            return (TableLookup::Fetch(self.home(line), sector), None);
        };
        let state = self.tags.line_mut(way);
        if dir == Dir::Write {
            state.dirty = state.dirty.or(sector);
        }
        if !state.valid.and(sector).is_empty() {
            self.counts.hits += 1;
            return (TableLookup::Hit, None);
        }
        if !state.pending.and(sector).is_empty() {
            self.counts.merges += 1;
            self.waiting.entry(number).or_default().push(step);
            return (TableLookup::Merged, None);
        }
        state.pending = state.pending.or(sector);
        self.counts.fetches += 1;
        let left = evicted.filter(|v| !v.dirty.is_empty()).map(|v| (self.home(v.line), v.dirty));
        self.counts.write_backs += left.map_or(0, |(_, sectors)| u64::from(sectors.count()));
        (TableLookup::Fetch(self.home(line), sector), left)
    }

    /// The sector of an entry has come from DRAM: the steps that waited for it.
    pub(super) fn fill(&mut self, entry: u64) -> Vec<u32> {
        let (line, sector, number) = self.locate(entry);
        let set = self.set_of(line);
        if let Some(way) = self.tags.find(set, line) {
            let state = self.tags.line_mut(way);
            (state.pending, state.valid) = (state.pending.without(sector), state.valid.or(sector));
        }
        self.waiting.remove(&number).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::Bytes;

    /// Entries of 4 bits: 64 to a sector, 256 to a line.
    fn table(cache: u64, ways: u32) -> Table {
        let (home, cache) = (LocalAddr(1 << 20), Bytes(cache));
        Table::new(TableSpec { name: "map", entry_bits: 4, home, cache, ways, latency: 1, access_fj: 0 })
    }

    #[track_caller]
    fn fetches(table: &mut Table, entry: u64, dir: Dir, sector: u8) -> Left {
        match table.look_up(entry, dir, 0) {
            (TableLookup::Fetch(_, sectors), left) => {
                assert_eq!(sectors, SectorMask(sector), "entry {entry}");
                assert!(table.fill(entry).is_empty());
                left
            }
            _ => panic!("entry {entry} is there"),
        }
    }

    #[test]
    fn no_line_of_a_cache_is_lost() {
        // 5 KB are 40 lines: 2 sets of 20, not of 16.
        let mut table = table(5 << 10, 16);
        (0..40).for_each(|line| assert_eq!(fetches(&mut table, 256 * line, Dir::Read, 1), None));
        assert!((0..40).all(|line| matches!(table.look_up(256 * line, Dir::Read, 0).0, TableLookup::Hit)));
    }

    #[test]
    fn a_miss_brings_the_63_neighbours_of_an_entry() {
        let mut table = table(1024, 4);
        fetches(&mut table, 70, Dir::Read, 0b0010);
        assert!((64..128).all(|entry| matches!(table.look_up(entry, Dir::Read, 0).0, TableLookup::Hit)));
        fetches(&mut table, 63, Dir::Read, 0b0001);
        fetches(&mut table, 128, Dir::Read, 0b0100);
        assert_eq!((table.counts.accesses, table.counts.hits, table.counts.fetches), (67, 64, 3));
    }

    #[test]
    fn who_comes_while_a_sector_is_on_its_way_waits_for_it() {
        let mut table = table(1024, 4);
        assert!(matches!(table.look_up(0, Dir::Read, 7).0, TableLookup::Fetch(LocalAddr(0x10_0000), SectorMask(1))));
        assert!(matches!(table.look_up(5, Dir::Read, 8).0, TableLookup::Merged));
        assert_eq!(table.fill(0), [8]);
        assert!(matches!(table.look_up(5, Dir::Read, 9).0, TableLookup::Hit));
    }

    #[test]
    fn changed_sectors_are_written_back_when_their_line_leaves() {
        let mut table = table(256, 2);
        fetches(&mut table, 0, Dir::Write, 1);
        fetches(&mut table, 64, Dir::Write, 2);
        fetches(&mut table, 128, Dir::Read, 4);
        assert_eq!(fetches(&mut table, 256, Dir::Read, 1), None);
        assert_eq!(fetches(&mut table, 512, Dir::Read, 1), Some((LocalAddr(1 << 20), SectorMask(0b0011))));
        assert_eq!(table.counts.write_backs, 2);
    }
}
