//! The programs of the paper's Table I, and the machines that it sets side by side.

/// One program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// What limits it, says the paper.
    pub(super) memory_intensive: bool,
}

const fn compute(name: &'static str) -> Program {
    Program { name, memory_intensive: false }
}

const fn memory(name: &'static str) -> Program {
    Program { name, memory_intensive: true }
}

/// All of them, in the paper's order.
pub(super) const PROGRAMS: [Program; 13] = [
    compute("darknet"),
    compute("yolo-tiny"),
    compute("yolo2"),
    compute("yolo3"),
    memory("bfs"),
    memory("mis"),
    memory("pagerank"),
    memory("color"),
    memory("backprop"),
    memory("dwt2d"),
    memory("kmeans"),
    memory("cfd"),
    memory("sssp"),
];

/// Read-only FIFOs of Figure 18, in entries; 16 is the design.
pub(super) const FIFO_DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Hash stores of Figure 17a, KB of all controllers together; 384 is the design.
pub(super) const HASH_STORES_KB: [u32; 4] = [77, 192, 384, 538];
/// Metadata caches of Figures 17b to 17d, in eighths of the design's.
pub(super) const METADATA_EIGHTHS: [u32; 4] = [2, 4, 8, 16];
/// Core cycles between two blocks in a hash unit; the paper charges none.
pub(super) const HASH_INTERVALS: [u32; 4] = [1, 16, 64, 228];

/// A machine: the paper's with something in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scheme {
    /// As it is.
    Baseline,
    /// As `--with` names it, with the settings that the paper gives it.
    Named(&'static str),
    /// Write deduplication whose fingerprints take no time.
    NoHashLatency,
    /// Write deduplication by CRC, each match read and compared.
    Crc,
    /// CMD with a hash store as large as it need be.
    Exact,
    /// CMD with a hash store of so many KB in all.
    HashStore(u32),
    /// CMD with metadata caches of so many eighths.
    Metadata(u32),
    /// CMD with a FIFO of so many entries.
    Fifo(u32),
    /// CMD with so many core cycles between two blocks in a hash unit.
    HashInterval(u32),
}

/// The schemes of Figures 14, 15 and 19.
pub(super) const NAMED: [&str; 8] = ["l2-5mb", "bpc", "bcd", "esd", "dedup", "dedup-car", "cmd", "cmd+bpc"];

/// The design itself.
pub(super) const CMD: Scheme = Scheme::Named("cmd");

/// What the design has at each controller, KiB; CMD, section IV-E.
const HASH_STORE_KIB: u64 = 48;
const MAP_KIB: u64 = 48;
const TYPE_KIB: u64 = 5;
const MASK_KIB: u64 = 10;
/// Sets of an L2 slice: 4 MB in all.
const L2_SETS: u64 = 128;
const CONTROLLERS: u64 = 8;

/// A working set is at least eight times what the metadata caches and L2 reach; the farthest are masks and types, with four
/// blocks of 128 bytes to a byte of types.
pub(super) const LEAST_WORKING_SET: u64 = 8 * CONTROLLERS * (TYPE_KIB << 10) * 4 * 128;

impl Scheme {
    /// All of them; `sweeps` adds those of the sensitivity studies.
    pub(super) fn all(sweeps: bool) -> Vec<Self> {
        let mut all = vec![Self::Baseline];
        all.extend(NAMED.map(Self::Named));
        all.extend([Self::NoHashLatency, Self::Crc, Self::Exact]);
        let other = |scheme: &Self| scheme.same_as_design().is_none();
        if sweeps {
            all.extend(HASH_STORES_KB.map(Self::HashStore).into_iter().filter(other));
            all.extend(METADATA_EIGHTHS.map(Self::Metadata).into_iter().filter(other));
            all.extend(FIFO_DEPTHS.map(Self::Fifo).into_iter().filter(other));
            all.extend(HASH_INTERVALS.map(Self::HashInterval).into_iter().filter(other));
        }
        all
    }

    /// A point of a sweep that is the design itself.
    pub(super) fn same_as_design(self) -> Option<Self> {
        matches!(self, Self::HashStore(384) | Self::Metadata(8) | Self::Fifo(16) | Self::HashInterval(1)).then_some(CMD)
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Baseline => "the plain machine".into(),
            Self::Named(name) => name.into(),
            Self::NoHashLatency => "dedup without hash latency".into(),
            Self::Crc => "dedup with CRC".into(),
            Self::Exact => "cmd, exact".into(),
            Self::HashStore(kb) => format!("cmd, {kb} KB of hashes"),
            Self::Metadata(eighths) => format!("cmd, {eighths}/8 of the metadata caches"),
            Self::Fifo(depth) => format!("cmd, FIFO of {depth}"),
            Self::HashInterval(cycles) => format!("cmd, a hash every {cycles} cycles"),
        }
    }

    /// As `--with` names it.
    pub(super) const fn with(self) -> &'static str {
        match self {
            Self::Baseline => "none",
            Self::Named(name) => name,
            Self::NoHashLatency | Self::Crc => "dedup",
            _ => "cmd",
        }
    }

    /// Its settings, on a machine whose caches are smaller by `scale`.
    pub(super) fn set(self, scale: u64) -> Vec<String> {
        let mut set = vec![format!("l2.sets={}", L2_SETS / scale)];
        let eighths = if let Self::Metadata(eighths) = self { u64::from(eighths) } else { 8 };
        let store =
            if let Self::HashStore(kb) = self { (u64::from(kb) << 10) / CONTROLLERS } else { HASH_STORE_KIB << 10 };
        let cache = |kib: u64| (kib << 10) * eighths / 8 / scale;
        for scheme in self.with().split('+') {
            let mut add = |key: &str, value: u64| set.push(format!("{scheme}.{key}={value}"));
            match scheme {
                "bcd" | "esd" | "dedup" | "dedup-car" | "cmd" => {
                    add("hash_store", store / scale);
                    add("map_cache", cache(MAP_KIB));
                    add("type_cache", cache(TYPE_KIB));
                    if scheme != "bcd" {
                        add("mask_cache", cache(MASK_KIB));
                    }
                }
                "bpc" => set.push("bpc.metadata=cached".into()),
                _ => {}
            }
        }
        match self {
            CMD => set.push("cmd.study=on".into()),
            Self::NoHashLatency => set.push("dedup.hash=ideal".into()),
            Self::Crc => set.push("dedup.hash=crc".into()),
            Self::Exact => set.push("cmd.store=exact".into()),
            Self::Fifo(depth) => set.push(format!("cmd.fifo_depth={depth}")),
            Self::HashInterval(cycles) => set.push(format!("cmd.hash_interval={cycles}")),
            _ => {}
        }
        set
    }
}
