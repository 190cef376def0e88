//! The settings of `cmd`, `dedup-car`, `dedup`, `esd` and `bcd`.

use crate::Fingerprint;
use crate::dedup::Rules;
use crate::hash_store::entries_in;
use strata_core::Bytes;
use strata_core::settings::{Allowed, Setting, Settings as Values};

/// First line of the spill area: behind every line that a program can have.
const SPILL: u64 = 1 << 44;

const CACHE: Allowed = Allowed::Size(128, 64 << 20);

/// All settings, in the order in which the schemes have them: each has a run of this table, but for BCD.
const ALL: [Setting; 22] = [
    Setting {
        key: "granularity",
        default: "block",
        allowed: Allowed::Choice(&["block", "sector"]),
        meaning: "what is compared and mapped: blocks of 128 bytes with sector masks, or each sector of 32 bytes by itself",
        source: "CMD, section IV-B: sectors were tried and take too much of DRAM",
    },
    Setting {
        key: "one_word_reads",
        default: "dram",
        allowed: Allowed::Choice(&["dram", "map"]),
        meaning: "what a read of a block of one repeated word costs: an access to DRAM, or a look into the address map, which has the word",
        source: "CMD, sections IV-C and V-B: answers from the map are a part of cache-assisted reads, and `dedup` has none",
    },
    Setting {
        key: "hash",
        default: "md5",
        allowed: Allowed::Choice(&["md5", "crc", "ideal"]),
        meaning: "how duplicates are found: MD5 in 228 core cycles, trusted; CRC-32 in 40, the reference read and compared; or MD5 in no time",
        source: "CMD, section IV-A and Figure 5",
    },
    Setting {
        key: "hash_interval",
        default: "1",
        allowed: Allowed::Whole(1, 1000),
        meaning: "core cycles until the hash unit of a controller takes the next block",
        source: "choice: CMD charges the latency alone; at 228 a controller could write 0.8 GB/s",
    },
    Setting {
        key: "simulation_key",
        default: "xxh3",
        allowed: Allowed::Choice(&["xxh3", "md5"]),
        meaning: "what the simulator compares in place of MD5; results are the same, MD5 takes longer to simulate",
        source: "choice: contents are compared, too",
    },
    Setting {
        key: "store",
        default: "partial",
        allowed: Allowed::Choice(&["partial", "exact"]),
        meaning: "whether the hash store is as large as `hash_store` says or as large as it need be, without traffic",
        source: "CMD, section V-D: partial deduplication, compared with exact",
    },
    Setting {
        key: "hash_store",
        default: "48 KiB",
        allowed: CACHE,
        meaning: "bytes of a controller's hash store, or of what a scheme has in its place",
        source: "CMD, section IV-E: 48 KB",
    },
    Setting {
        key: "max_count",
        default: "65535",
        allowed: Allowed::Whole(1, 65535),
        meaning: "blocks that an entry of the hash store can count",
        source: "CMD, section IV-B: 2 bytes",
    },
    Setting {
        key: "map_cache",
        default: "48 KiB",
        allowed: CACHE,
        meaning: "bytes of a controller's cache of the address map",
        source: "CMD, section IV-E: 48 KB",
    },
    Setting {
        key: "type_cache",
        default: "5 KiB",
        allowed: CACHE,
        meaning: "bytes of a controller's cache of type flags",
        source: "CMD, section IV-E: 5 KB",
    },
    Setting {
        key: "mask_cache",
        default: "10 KiB",
        allowed: CACHE,
        meaning: "bytes of a controller's cache of sector masks",
        source: "CMD, section IV-E: 10 KB",
    },
    Setting {
        key: "metadata_ways",
        default: "16",
        allowed: Allowed::Whole(1, 64),
        meaning: "ways of the metadata caches",
        source: "choice: CMD's Table II says 128 B lines and LRU",
    },
    Setting {
        key: "metadata_cycles",
        default: "20",
        allowed: Allowed::Whole(0, 1000),
        meaning: "core cycles of a hit in a metadata cache",
        source: "CMD, Table II",
    },
    Setting {
        key: "partial_sectors",
        default: "free",
        allowed: Allowed::Choice(&["free", "merge"]),
        meaning: "a sector of which kernels wrote some bytes and L2 has not the others: hashed as if it had them, or read first",
        source: "CMD is silent and counts whole sectors",
    },
    Setting {
        key: "study",
        default: "off",
        allowed: Allowed::Choice(&["off", "on"]),
        meaning: "count which written blocks are duplicates of any other, whatever the hash store holds, and how long after they left L2 sectors are read again",
        source: "CMD, Figures 3 and 18",
    },
    Setting {
        key: "probe_cycles",
        default: "20",
        allowed: Allowed::Whole(0, 1000),
        meaning: "core cycles until a controller knows whether L2 has the reference of a block",
        source: "choice: as long as a metadata cache; CMD says only that it costs time (section V-B)",
    },
    Setting {
        key: "fifo_depth",
        default: "16",
        allowed: Allowed::Whole(1, 1 << 22),
        meaning: "sectors that the read-only FIFO of an L2 slice holds; beyond hundreds no hardware would be searched so, and the depth shows where reuse begins",
        source: "CMD, section IV-D",
    },
    Setting {
        key: "fifo_cycles",
        default: "2",
        allowed: Allowed::Whole(0, 1000),
        meaning: "L2 cycles that a hit in the FIFO takes longer than one in L2",
        source: "choice: looked up when L2 has missed",
    },
    Setting {
        key: "dedup_reads",
        default: "dram",
        allowed: Allowed::Choice(&["dram", "l2"]),
        meaning: "where old sectors come from that a write does not cover: all from DRAM, or from L2 those that the evicted line still has",
        source: "beyond CMD, which reads them (section IV-A)",
    },
    Setting {
        key: "metadata_prefetch",
        default: "off",
        allowed: Allowed::Choice(&["off", "stream"]),
        meaning: "whether metadata of the blocks that come next in a stream are fetched before they are asked for",
        source: "beyond CMD",
    },
    Setting {
        key: "guard",
        default: "off",
        allowed: Allowed::Choice(&["off", "on"]),
        meaning: "whether deduplication is switched off in regions of 2 MiB where it moves more sectors than it saves, and metadata are not looked up where every block is at home",
        source: "beyond CMD: docs/cmd.md",
    },
    Setting {
        key: "presumed_duplicates",
        default: "0",
        allowed: Allowed::Whole(0, 100),
        meaning: "percent of blocks whose writes are taken as one repeated word whatever their bytes: what would more duplicates give? Timing alone; `--check-data` finds such bytes wrong",
        source: "experiment: the share of duplicates of CMD's Figure 3 with other inputs than the paper's",
    },
];

/// The settings from one key to another.
const fn from_to(first: &str, last: &str) -> &'static [Setting] {
    const TABLE: &[Setting] = &ALL;
    TABLE.split_at(index(last) + 1).0.split_at(index(first)).1
}

/// Where a setting stands; a key that is in no table does not compile.
const fn index(key: &str) -> usize {
    let mut k = 0;
    while !same(ALL[k].key.as_bytes(), key.as_bytes()) {
        k += 1;
    }
    k
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut k = 0;
    while k < a.len() && k < b.len() && a[k] == b[k] {
        k += 1;
    }
    k == a.len() && k == b.len()
}

/// Settings of write deduplication.
pub const DEDUP: &[Setting] = from_to("granularity", "study");

/// The same with cache-assisted reads.
pub const DEDUP_CAR: &[Setting] = from_to("hash", "probe_cycles");

/// The same with the read-only FIFO.
pub const CMD: &[Setting] = from_to("hash", "presumed_duplicates");

/// Settings of ESD.
pub const ESD: &[Setting] = from_to("hash_store", "study");

/// Settings of BCD.
pub const BCD: &[Setting] = &[
    ALL[index("hash_store")],
    ALL[index("map_cache")],
    ALL[index("type_cache")],
    ALL[index("metadata_ways")],
    ALL[index("metadata_cycles")],
];

/// A scheme that deduplicates whole blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// Writes alone.
    Dedup,
    /// With cache-assisted reads.
    DedupCar,
    /// With the read-only FIFO, too.
    Cmd,
    /// ESD: the error-correcting code is the fingerprint, every match is compared.
    Esd,
}

/// The caches of metadata at a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caches {
    /// Capacity of the cache of the address map.
    pub map: Bytes,
    /// Capacity of the cache of type flags.
    pub kind: Bytes,
    /// Capacity of the cache of sector masks.
    pub mask: Bytes,
    /// Associativity of all three.
    pub ways: u32,
    /// Core cycles of a hit.
    pub cycles: u32,
}

impl Caches {
    /// From values; a scheme without masks has no cache for them.
    pub(crate) fn of(values: &Values, masks: bool) -> Self {
        Self {
            map: values.size("map_cache"),
            kind: values.size("type_cache"),
            mask: if masks { values.size("mask_cache") } else { Bytes(0) },
            ways: values.whole("metadata_ways") as u32,
            cycles: values.whole("metadata_cycles") as u32,
        }
    }
}

/// The read-only FIFO of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FifoSettings {
    /// Sectors.
    pub depth: usize,
    /// L2 cycles beyond those of a hit.
    pub cycles: u32,
    /// Count how deep it would have to be.
    pub study: bool,
}

/// What a read of a block of one repeated word costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OneWordReads {
    /// An access to its home.
    Dram,
    /// A look into the address map, which has the word.
    Map,
}

/// What a deduplicating memory side needs.
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How duplicates are found.
    pub rules: Rules,
    /// Core cycles of a fingerprint.
    pub hash_cycles: u32,
    /// Core cycles until the next one.
    pub hash_interval: u32,
    /// Bytes of the hash store.
    pub hash_store: Bytes,
    /// Metadata caches.
    pub caches: Caches,
    /// Sectors are compared and mapped each by itself: the scheme is a [`crate::SectorSide`].
    pub sectors: bool,
    /// Sectors written in part are read first.
    pub merges_partial: bool,
    /// Count duplicates of everything.
    pub study: bool,
    /// What answers reads of one-word blocks.
    pub one_word_reads: OneWordReads,
    /// Core cycles of a probe of L2; none without cache-assisted reads.
    pub probe_cycles: Option<u32>,
    /// The FIFO, if there is one.
    pub fifo: Option<FifoSettings>,
    /// Old sectors that L2 has of an evicted line are not read.
    pub held_sectors: bool,
    /// Metadata are prefetched along streams.
    pub prefetches: bool,
    /// Deduplication is switched off where it does not repay.
    pub guarded: bool,
    /// Percent of blocks that are taken as duplicates whatever they hold.
    pub presumed_duplicates: u64,
}

impl Settings {
    /// Of a scheme, from the values of its table.
    pub fn of(scheme: Scheme, values: &Values) -> Self {
        let esd = scheme == Scheme::Esd;
        let key = if !esd && values.text("simulation_key") == "md5" { Fingerprint::Md5 } else { Fingerprint::Xxh3 };
        // CMD, section IV-A: 228 cycles for MD5, 40 for CRC.
        let (fingerprint, verify, hash_cycles) = match if esd { "esd" } else { values.text("hash") } {
            "esd" => (Fingerprint::Ecc, true, 0),
            "crc" => (Fingerprint::Crc, true, 40),
            "ideal" => (key, false, 0),
            _ => (key, false, 228),
        };
        let hash_store = values.size("hash_store");
        let exact = !esd && values.text("store") == "exact";
        Self {
            rules: Rules {
                intra: !esd,
                fingerprint,
                verify,
                entries: if exact { u32::MAX } else { entries_in(hash_store.0, fingerprint.bytes()) },
                max_count: values.whole("max_count") as u32,
                spill: SPILL,
            },
            hash_cycles,
            hash_interval: if esd { 1 } else { values.whole("hash_interval") as u32 },
            hash_store,
            caches: Caches::of(values, true),
            sectors: scheme == Scheme::Dedup && values.text("granularity") == "sector",
            merges_partial: values.text("partial_sectors") == "merge",
            study: values.text("study") == "on",
            one_word_reads: if scheme == Scheme::Dedup && values.text("one_word_reads") == "dram" {
                OneWordReads::Dram
            } else {
                OneWordReads::Map
            },
            probe_cycles: matches!(scheme, Scheme::DedupCar | Scheme::Cmd).then(|| values.whole("probe_cycles") as u32),
            fifo: (scheme == Scheme::Cmd).then(|| FifoSettings {
                depth: values.whole("fifo_depth") as usize,
                cycles: values.whole("fifo_cycles") as u32,
                study: values.text("study") == "on",
            }),
            held_sectors: scheme == Scheme::Cmd && values.text("dedup_reads") == "l2",
            prefetches: scheme == Scheme::Cmd && values.text("metadata_prefetch") == "stream",
            guarded: scheme == Scheme::Cmd && values.text("guard") == "on",
            presumed_duplicates: if scheme == Scheme::Cmd { values.whole("presumed_duplicates") } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(scheme: Scheme, name: &str, table: &[Setting], set: &[&str]) -> Settings {
        Settings::of(scheme, &Values::read(name, table, set).expect("good values"))
    }

    #[test]
    fn schemes_are_what_the_paper_compares() {
        let cmd = settings(Scheme::Cmd, "cmd", CMD, &[]);
        assert_eq!((cmd.rules.entries, cmd.hash_cycles, cmd.fifo.map(|f| f.depth)), (2234, 228, Some(16)));
        let dedup = settings(Scheme::Dedup, "dedup", DEDUP, &["dedup.hash=crc"]);
        assert_eq!((dedup.rules.verify, dedup.hash_cycles, dedup.probe_cycles, dedup.fifo), (true, 40, None, None));
        // 4 B, 4 B and 2 B.
        assert_eq!(dedup.rules.entries, 4915);
        let esd = settings(Scheme::Esd, "esd", ESD, &[]);
        assert_eq!((esd.rules.verify, esd.rules.intra, esd.hash_cycles, esd.rules.entries), (true, false, 0, 3510));
        let exact = settings(Scheme::DedupCar, "dedup-car", DEDUP_CAR, &["dedup-car.store=exact"]);
        assert_eq!((exact.rules.entries, exact.probe_cycles), (u32::MAX, Some(20)));
    }
}
