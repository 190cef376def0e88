//! Off-chip requests by class, before and after deduplication, as CMD's Figures 2, 3, 8, 11 and 13 count them.
//!
//! A write is one request whatever its size; a read is one request per sector (CMD, section II-B). *Before* is what L2 and a
//! machine without mechanisms would have asked of DRAM, counted in the same run: *after* and what was removed.

use strata_core::Paged;
use strata_core::stats::Unit;
use strata_sim::cache::SectorMask;
use strata_sim::seam::{LocalLine, SideCount};

/// Requests of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Class {
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// What a controller counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requests {
    pub(crate) write: Class,
    /// The same in sectors.
    pub(crate) write_sectors: Class,
    pub(crate) data_read: Class,
    pub(crate) read_only: Class,
    /// Sectors that writes need to be compared: old sectors that they do not cover, and references.
    pub(crate) uncovered: u64,
    pub(crate) uncovered_writes: u64,
    pub(crate) partial: u64,
    pub(crate) compared: u64,
    pub(crate) intra: u64,
    pub(crate) inter: u64,
    pub(crate) hashed: u64,
    pub(crate) collided: u64,
    pub(crate) relocated: u64,
    pub(crate) displaced: u64,
    /// Sectors that a read found in the map, and that it wanted from L2 and got.
    pub(crate) from_map: u64,
    pub(crate) probed: u64,
    pub(crate) copied: u64,
    /// Sectors that a read found at the place of another that it wanted.
    pub(crate) shared: u64,
    /// Sectors of requests that looked the map, type flags and masks up.
    pub(crate) looked_up: LookedUp,
    /// Sectors not read for a write because L2 has them.
    pub(crate) held: u64,
    /// Blocks whose metadata were prefetched.
    pub(crate) prefetched: u64,
}

/// Sectors of requests, by the table that was looked up for them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LookedUp {
    pub(crate) map: u64,
    pub(crate) kind: u64,
    pub(crate) mask: u64,
}

/// How often read-only blocks are read from DRAM: the blocks that were read at least so often.
pub(crate) struct ReadCounts {
    reads: Paged<u8>,
    blocks: [u64; READ_COUNTS.len()],
}

/// The steps of Figure 11's histogram, a choice: the paper speaks of "more than twice" and "more than 20 times".
const READ_COUNTS: [(u8, &str); 6] = [
    (1, "cmd.read_only_blocks.read_01_times"),
    (2, "cmd.read_only_blocks.read_02_times"),
    (3, "cmd.read_only_blocks.read_03_times"),
    (6, "cmd.read_only_blocks.read_06_times"),
    (11, "cmd.read_only_blocks.read_11_times"),
    (21, "cmd.read_only_blocks.read_21_times"),
];

impl Default for ReadCounts {
    fn default() -> Self {
        Self { reads: Paged::default(), blocks: [0; READ_COUNTS.len()] }
    }
}

impl ReadCounts {
    /// DRAM is asked for sectors of a block that nobody has written.
    pub(crate) fn read(&mut self, line: u64) {
        let reads = self.reads.get_mut(line);
        *reads = reads.saturating_add(1);
        if let Some(step) = READ_COUNTS.iter().position(|(n, _)| n == reads)
            && *reads < u8::MAX
        {
            self.blocks[step] += 1;
        }
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = SideCount> + '_ {
        let what = "blocks whose read-only sectors were read from DRAM at least so often";
        let steps = READ_COUNTS.iter().zip(self.blocks);
        steps.map(move |(&(_, name), value)| SideCount { name, unit: Unit::Events, what, value })
    }
}

impl Requests {
    /// As statistics; `metadata` are sectors of tables that DRAM moved.
    pub(crate) fn counts(&self, metadata: u64, spilled: u64) -> Vec<SideCount> {
        use Unit::{Events, Requests as R, Sectors};
        let writes = "write-backs of blocks, one request each";
        let data_reads = "sectors read that kernels had written";
        let read_only = "sectors read that no kernel had written";
        let sectors = "sectors of write-backs";
        let looked_up = "sectors of the requests that looked the table up";
        let list = [
            ("cmd.requests.write.before", R, writes, self.write.before),
            ("cmd.requests.write.after", R, writes, self.write.after),
            ("cmd.requests.data_read.before", R, data_reads, self.data_read.before),
            ("cmd.requests.data_read.after", R, data_reads, self.data_read.after),
            ("cmd.requests.read_only.before", R, read_only, self.read_only.before),
            ("cmd.requests.read_only.after", R, read_only, self.read_only.after),
            ("cmd.requests.metadata.after", R, "sectors of tables read from DRAM and written to it", metadata),
            (
                "cmd.requests.dedup_read.after",
                R,
                "sectors read for writes: old ones and references",
                self.dedup_reads(),
            ),
            ("cmd.write_sectors.before", Sectors, sectors, self.write_sectors.before),
            ("cmd.write_sectors.after", Sectors, sectors, self.write_sectors.after),
            (
                "cmd.dedup_read.uncovered",
                Sectors,
                "old sectors read because a write did not cover them",
                self.uncovered,
            ),
            ("cmd.dedup_read.writes", R, "writes that did not cover old sectors in DRAM", self.uncovered_writes),
            ("cmd.dedup_read.partial", Sectors, "sectors read because they were written in part", self.partial),
            ("cmd.dedup_read.compared", Sectors, "sectors of references read and compared", self.compared),
            ("cmd.writes.intra", R, "writes of one repeated word, kept in the map", self.intra),
            ("cmd.writes.inter", R, "writes of what is at another place already", self.inter),
            ("cmd.hash.lookups", R, "fingerprints looked up in the hash store", self.hashed),
            ("cmd.hash.collisions", R, "of those, the ones that were found and whose bytes were others", self.collided),
            ("cmd.relocations", Events, "writes to a place that is not the block's home", self.relocated),
            ("cmd.host_displaced", Events, "blocks of host copies whose home others occupy", self.displaced),
            ("cmd.spill.lines", Events, "lines that the spill area has grown to", spilled),
            ("cmd.reads.from_map", Sectors, "sectors read that are in the map entry", self.from_map),
            ("cmd.reads.probed", Sectors, "sectors read that L2 may have of a reference", self.probed),
            ("cmd.reads.copied", Sectors, "of those, the ones copied from L2", self.copied),
            (
                "cmd.reads.shared",
                Sectors,
                "sectors read that are at the place of another of the same fill",
                self.shared,
            ),
            ("cmd.look_ups.map_sectors", Sectors, looked_up, self.looked_up.map),
            ("cmd.look_ups.type_sectors", Sectors, looked_up, self.looked_up.kind),
            ("cmd.look_ups.mask_sectors", Sectors, looked_up, self.looked_up.mask),
            ("cmd.dedup_read.held", Sectors, "old sectors not read because L2 had them", self.held),
            ("cmd.prefetched", Events, "blocks whose metadata were asked for ahead of a stream", self.prefetched),
        ];
        list.into_iter().map(|(name, unit, what, value)| SideCount { name, unit, what, value }).collect()
    }

    fn dedup_reads(&self) -> u64 {
        self.uncovered + self.partial + self.compared
    }
}

/// Sectors of a partition's lines that kernels have written: what tells a Data-Read from a Read-Only one beside L2.
#[derive(Default)]
pub(crate) struct WrittenSectors(Paged<u8>);

impl WrittenSectors {
    pub(crate) fn set(&mut self, line: LocalLine, mask: SectorMask) {
        *self.0.get_mut(line.0) = mask.0;
    }

    pub(crate) fn get(&self, line: LocalLine) -> SectorMask {
        SectorMask(*self.0.get(line.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_once_at_each_step() {
        let mut reads = ReadCounts::default();
        for (line, times) in [(1, 300), (2, 2), (3, 6)] {
            (0..times).for_each(|_| reads.read(line));
        }
        assert_eq!(reads.counts().map(|c| c.value).collect::<Vec<_>>(), [3, 3, 2, 2, 1, 1]);
    }
}
