//! The programs of the paper's Table I, and the machines that it sets side by side.

use crate::reproduce::scale_model::ScaleModel;
use strata_core::Bytes;

/// One program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// What limits it, says the paper.
    pub(super) memory_intensive: bool,
    /// The smallest size that does not fit into the caches of the smallest model of the machine. `small` where there is none
    /// below the paper's (pagerank), or where the next one takes hours (bfs).
    pub(super) standard: &'static str,
}

const fn compute(name: &'static str) -> Program {
    Program { name, memory_intensive: false, standard: "small" }
}

const fn memory(name: &'static str, standard: &'static str) -> Program {
    Program { name, memory_intensive: true, standard }
}

/// All of them, in the paper's order.
pub(super) const PROGRAMS: [Program; 13] = [
    compute("darknet"),
    compute("yolo-tiny"),
    compute("yolo2"),
    compute("yolo3"),
    memory("bfs", "small"),
    memory("mis", "medium"),
    memory("pagerank", "small"),
    memory("color", "medium"),
    memory("backprop", "small"),
    memory("dwt2d", "medium"),
    memory("kmeans", "medium"),
    memory("cfd", "medium"),
    memory("sssp", "medium"),
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
}

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
/// four blocks of 128 bytes to a byte of types.
pub(super) const MODEL: ScaleModel = ScaleModel {
    sms: 80,
    slices: 16,
    channels: CONTROLLERS,
    least_working_set: Bytes(8 * CONTROLLERS as u64 * (TYPE_KIB as u64 * 1024) * 4 * 128),
    most: 8,
};

/// Whose sensitivities are studied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sweeps {
    /// Nobody's.
    None,
    /// Those of programs whose standard input is `small`: those of the others take more than an hour.
    OfSmall,
    /// Everybody's.
    OfAll,
}

impl Sweeps {
    /// The machines that a program runs on.
    pub(super) fn schemes(self, program: &Program) -> Vec<Scheme> {
        Scheme::all(match self {
            Self::None => false,
            Self::OfSmall => program.standard == "small",
            Self::OfAll => true,
        })
    }
}

impl Scheme {
    /// All of them; `sweeps` adds those of the sensitivity studies.
    pub(super) fn all(sweeps: bool) -> Vec<Self> {
        let mut all = vec![Self::Baseline];
        all.extend(NAMED.map(Self::Named));
        all.extend([Self::NoHashLatency, Self::Crc, Self::Sectors, Self::Exact]);
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
            Self::Sectors => "dedup of sectors".into(),
            Self::Exact => "cmd, exact".into(),
            Self::HashStore(kb) => format!("cmd, {kb} KB of hashes"),
            Self::Metadata(eighths) => format!("cmd, {eighths}/8 of the metadata caches"),
            Self::Fifo(depth) => format!("cmd, FIFO of {depth}"),
            Self::HashInterval(cycles) => format!("cmd, a hash every {cycles} cycles"),
        }
    }

    /// As `--with` names it. `l2-5mb` is a plain machine with more ways: a model of a machine has no 5 MB.
    pub(super) fn with(self) -> &'static str {
        match self {
            Self::Baseline | LARGE_L2 => "none",
            Self::Named(name) => name,
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
        let all = Scheme::all(true);
        assert_eq!(all.iter().filter(|scheme| scheme.with() == "cmd").count(), 16);
        assert_eq!(Scheme::Metadata(4).set(), ["cmd.map_cache=24576", "cmd.type_cache=2560", "cmd.mask_cache=5120"]);
        assert_eq!((LARGE_L2.with(), LARGE_L2.set()), ("none", vec!["l2.ways=20".to_owned()]));
    }
}
