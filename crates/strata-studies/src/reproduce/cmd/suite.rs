//! The programs of the paper's Table I, and the machines that it sets side by side.

use crate::reproduce::scale_model::ScaleModel;
use strata_core::Bytes;

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
    /// Write deduplication of single sectors.
    Sectors,
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
    /// CMD with something that is not in the paper.
    Beyond(Beyond),
    /// CMD with a limit lifted, as no hardware could: what the limit costs.
    Without(Limit),
    /// The plain machine, or CMD, with the values of later simulators where the authors' version had others.
    Later(&'static str),
}

/// What is added to CMD here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beyond {
    /// Old sectors that L2 still holds of a line are not read from DRAM.
    HeldSectors,
    /// Metadata are prefetched along streams.
    Prefetch,
    /// Deduplication is switched off where it does not repay.
    Guard,
    /// All of these.
    All,
}

impl Beyond {
    pub(super) const EACH: [Self; 4] = [Self::HeldSectors, Self::Prefetch, Self::Guard, Self::All];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HeldSectors => "Dedup-Reads from L2",
            Self::Prefetch => "metadata prefetched",
            Self::Guard => "guard",
            Self::All => "all three",
        }
    }

    fn set(self) -> Vec<String> {
        let one = |what, text: &str| (self == what || self == Self::All).then(|| text.to_owned());
        let each = [
            one(Self::HeldSectors, "cmd.dedup_reads=l2"),
            one(Self::Prefetch, "cmd.metadata_prefetch=stream"),
            one(Self::Guard, "cmd.guard=on"),
        ];
        each.into_iter().flatten().collect()
    }
}

/// Blocks taken as duplicates so that writes have the paper's share of them. Of the writes of our thirteen programs 28.7 % equal
/// another block, of the paper's 51.58 % (Figure 3): with 32 % of all blocks it is 0.287 + 0.713 * 0.32 = 0.515.
const PRESUMED: &str = "cmd.presumed_duplicates=32";

/// What keeps CMD from doing more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    /// Fingerprints take time.
    Hash,
    /// Metadata have to be fetched.
    Metadata,
    /// The FIFO is small: with as many entries as an L2 slice has sectors it is another L2.
    Fifo,
    /// All of these, and that the hash store is small.
    All,
    /// Programs write fewer duplicates than the paper's.
    Duplicates,
    /// That, and all above.
    AllAndDuplicates,
}

impl Limit {
    pub(super) const EACH: [Self; 6] =
        [Self::Hash, Self::Metadata, Self::Fifo, Self::All, Self::Duplicates, Self::AllAndDuplicates];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hash => "no hash latency",
            Self::Metadata => "all metadata cached",
            Self::Fifo => "FIFO of 8192",
            Self::All => "no limit",
            Self::Duplicates => "more duplicates",
            Self::AllAndDuplicates => "no limit, more duplicates",
        }
    }

    fn set(self) -> Vec<String> {
        let mut set = Vec::new();
        let all = matches!(self, Self::All | Self::AllAndDuplicates);
        if all || self == Self::Hash {
            set.push("cmd.hash=ideal");
        }
        if all || self == Self::Metadata {
            set.extend(["cmd.map_cache=16 MiB", "cmd.type_cache=16 MiB", "cmd.mask_cache=16 MiB"]);
        }
        if all || self == Self::Fifo {
            set.push("cmd.fifo_depth=8192");
        }
        if all {
            set.push("cmd.store=exact");
        }
        if matches!(self, Self::Duplicates | Self::AllAndDuplicates) {
            set.push(PRESUMED);
        }
        set.into_iter().map(str::to_owned).collect()
    }
}

/// Where later files of Accel-Sim for the RTX 2060 differ from those of GPGPU-Sim 4.0.1, which the preset has.
const LATER: [&str; 7] = [
    "sm.ctas=16",
    "sm.policy=loose-round-robin",
    "l1.latency=32",
    "l1.write_allocate=true",
    "shared.latency=30",
    "l2.latency=194",
    "dram.controller_cycles=96",
];

/// The schemes of Figures 14, 15 and 19.
pub(super) const NAMED: [&str; 8] = ["l2-5mb", "bpc", "bcd", "esd", "dedup", "dedup-car", "cmd", "cmd+bpc"];

/// The design itself.
pub(super) const CMD: Scheme = Scheme::Named("cmd");
/// The scheme whose L2 has 5 MB.
const LARGE_L2: Scheme = Scheme::Named("l2-5mb");

/// What the design has at each of eight controllers, KiB; CMD, section IV-E.
const MAP_KIB: u32 = 48;
const TYPE_KIB: u32 = 5;
const MASK_KIB: u32 = 10;
const CONTROLLERS: u32 = 8;
/// 4 MB in 16 ways are 5 MB in 20.
const LARGE_L2_WAYS: u32 = 20;

/// The machine, and a working set of eight times what L2 and the metadata caches reach; the farthest are masks and types, with
/// four blocks of 128 bytes to a byte of types. Programs with less run on a part of it in a quick study, and only there.
pub(super) const MODEL: ScaleModel = ScaleModel {
    sms: 80,
    slices: 16,
    channels: CONTROLLERS,
    least_working_set: Bytes(8 * CONTROLLERS as u64 * (TYPE_KIB as u64 * 1024) * 4 * 128),
    most: 8,
};

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// What the paper compares, on parts of the machine that are as small as the inputs.
    Quick,
    /// The whole machine of Table II: the same, variants of deduplication, sensitivities, what is beyond the paper, and the quick
    /// study's plain machine and CMD beside them.
    Standard,
    /// And how fast a hash unit must be.
    Full,
}

impl Extent {
    /// The size of a program's input. The graph of bfs at `small` took a fifth of the quick study's time; its next smaller one has half
    /// as many nodes.
    pub(super) fn size(self, program: &str) -> &'static str {
        match (self, program) {
            (Self::Quick, "bfs") => "paper-uvm",
            (Self::Quick, _) => "small",
            (Self::Standard | Self::Full, _) => "paper-cmd",
        }
    }

    /// What its page says of them.
    pub(super) const fn sizes(self) -> &'static str {
        match self {
            Self::Quick => "small (bfs: paper-uvm)",
            Self::Standard | Self::Full => "paper-cmd",
        }
    }

    /// The machines that each program runs on, those of all figures first: a study that is cut has them.
    pub(super) fn schemes(self) -> Vec<Scheme> {
        let mut all = vec![Scheme::Baseline];
        all.extend(NAMED.map(Scheme::Named));
        if self != Self::Quick {
            all.extend([Scheme::NoHashLatency, Scheme::Crc, Scheme::Exact, Scheme::Sectors]);
            all.extend(Beyond::EACH.map(Scheme::Beyond));
            all.extend(Limit::EACH.map(Scheme::Without));
            all.extend(["none", "cmd"].map(Scheme::Later));
            all.extend(FIFO_DEPTHS.map(Scheme::Fifo));
            all.extend(HASH_STORES_KB.map(Scheme::HashStore));
            all.extend(METADATA_EIGHTHS.map(Scheme::Metadata));
        }
        if self == Self::Full {
            all.extend(HASH_INTERVALS.map(Scheme::HashInterval));
        }
        all.retain(|scheme| scheme.same_as_design().is_none());
        all
    }
}

impl Scheme {
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
            Self::Sectors => "dedup of sectors".into(),
            Self::Exact => "cmd, exact".into(),
            Self::HashStore(kb) => format!("cmd, {kb} KB of hashes"),
            Self::Metadata(eighths) => format!("cmd, {eighths}/8 of the metadata caches"),
            Self::Fifo(depth) => format!("cmd, FIFO of {depth}"),
            Self::HashInterval(cycles) => format!("cmd, a hash every {cycles} cycles"),
            Self::Beyond(what) => format!("cmd, {}", what.name()),
            Self::Without(limit) => format!("cmd, {}", limit.name()),
            Self::Later("none") => "the plain machine of later simulators".into(),
            Self::Later(name) => format!("{name} on the machine of later simulators"),
        }
    }

    /// As `--with` names it. `l2-5mb` is a plain machine with more ways: a model of a machine has no 5 MB.
    pub(super) fn with(self) -> &'static str {
        match self {
            Self::Baseline | LARGE_L2 => "none",
            Self::Named(name) | Self::Later(name) => name,
            Self::NoHashLatency | Self::Crc | Self::Sectors => "dedup",
            _ => "cmd",
        }
    }

    /// Its settings.
    pub(super) fn set(self) -> Vec<String> {
        match self {
            LARGE_L2 => vec![format!("l2.ways={LARGE_L2_WAYS}")],
            Self::Named("bpc" | "cmd+bpc") => vec!["bpc.metadata=cached".into()],
            Self::Baseline | Self::Named(_) if self != CMD => Vec::new(),
            Self::NoHashLatency => vec!["dedup.hash=ideal".into()],
            Self::Crc => vec!["dedup.hash=crc".into()],
            Self::Sectors => vec!["dedup.granularity=sector".into()],
            Self::Exact => vec!["cmd.store=exact".into()],
            Self::HashStore(kb) => vec![format!("cmd.hash_store={}", kb * 1024 / CONTROLLERS)],
            Self::Metadata(eighths) => [("map", MAP_KIB), ("type", TYPE_KIB), ("mask", MASK_KIB)]
                .map(|(cache, kib)| format!("cmd.{cache}_cache={}", kib * 1024 * eighths / 8))
                .into(),
            Self::Fifo(depth) => vec![format!("cmd.fifo_depth={depth}")],
            Self::HashInterval(cycles) => vec![format!("cmd.hash_interval={cycles}")],
            Self::Beyond(what) => what.set(),
            Self::Without(limit) => limit.set(),
            Self::Later(_) => LATER.map(str::to_owned).into(),
            _ => vec!["cmd.study=on".into()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_built_in_and_belongs_to_the_paper() {
        for program in PROGRAMS {
            let workload = strata_workloads::find(program.name).expect("built in");
            assert!(workload.info().papers.contains(&"cmd"), "{}", program.name);
        }
    }

    #[test]
    fn a_sweep_leaves_the_design_itself_out() {
        let all = Extent::Full.schemes();
        assert!(all.iter().all(|scheme| scheme.same_as_design().is_none()));
        // The design, exact, 4 beyond the paper, 6 without limits, one of later simulators, and 5, 3, 3 and 3 points of sweeps.
        assert_eq!(all.iter().filter(|scheme| scheme.with() == "cmd").count(), 27);
        assert_eq!(Scheme::Metadata(4).set(), ["cmd.map_cache=24576", "cmd.type_cache=2560", "cmd.mask_cache=5120"]);
        assert_eq!((LARGE_L2.with(), LARGE_L2.set()), ("none", vec!["l2.ways=20".to_owned()]));
        assert_eq!(Scheme::Beyond(Beyond::All).set().len(), 3);
    }

    #[test]
    fn a_longer_study_has_all_of_a_shorter_one() {
        let [quick, standard, full] = [Extent::Quick, Extent::Standard, Extent::Full].map(Extent::schemes);
        assert!(standard.starts_with(&quick) && full.starts_with(&standard));
    }
}
