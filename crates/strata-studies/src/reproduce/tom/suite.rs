//! The programs of the paper's Table 2, and the machines that it sets side by side.

use crate::reproduce::Effort;

/// One program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Program {
    /// As the paper abbreviates it.
    pub(super) name: &'static str,
    pub(super) workload: &'static str,
    /// Its sizes: quick, standard and full.
    sizes: [&'static str; 3],
}

impl Program {
    /// How much of it is run; sensitivities are studied one effort below.
    pub(super) fn size(&self, effort: Effort) -> &'static str {
        self.sizes[match effort {
            Effort::Quick => 0,
            Effort::Standard => 1,
            Effort::Full => 2,
        }]
    }
}

const fn program(name: &'static str, workload: &'static str, sizes: [&'static str; 3]) -> Program {
    Program { name, workload, sizes }
}

/// All of them, in the paper's order. The paper names no inputs; these are those that come with the published programs, or give the GPU
/// several waves of blocks (`workloads/NAME/README.md` has the reasons). KM's quick input was changed after runs with the mechanism (`docs/tom.md`). Section 5.3
/// takes programs that use more than half of the bandwidth. HW and RAY do not at any size that was published.
pub(super) const PROGRAMS: [Program; 10] = [
    program("BP", "backprop", ["paper-tom", "paper-tom", "small"]),
    // A million nodes, as the largest graph that comes with Rodinia.
    program("BFS", "bfs", ["paper-uvm", "paper-tom", "paper-tom"]),
    program("KM", "kmeans", ["small", "medium", "medium"]),
    program("CFD", "cfd", ["small", "paper-tom", "medium"]),
    program("HW", "heartwall", ["small", "paper-tom", "medium"]),
    program("LIB", "libor", ["medium", "paper-tom", "paper-tom"]),
    program("RAY", "ray", ["small", "paper-tom", "paper-tom"]),
    program("FWT", "fwt", ["small", "small", "medium"]),
    program("SP", "scalarprod", ["small", "medium", "medium"]),
    program("RD", "reduction", ["paper-tom", "paper-tom", "paper-tom"]),
];

/// A machine: the baseline, or the near-data system with settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scheme {
    pub(super) name: &'static str,
    pub(super) gpu: &'static str,
    pub(super) with: &'static str,
    pub(super) set: &'static [&'static str],
}

const fn near(name: &'static str, set: &'static [&'static str]) -> Scheme {
    Scheme { name, gpu: "ndp-maxwell", with: "tom", set }
}

const fn plain(name: &'static str, set: &'static [&'static str]) -> Scheme {
    Scheme { name, gpu: "ndp-maxwell-68", with: "none", set }
}

/// 68 SMs on the GPU, nothing offloaded.
pub(super) const BASELINE: Scheme = plain("baseline", &[]);
/// Figures 8 to 10.
pub(super) const NOCTRL_BMAP: Scheme = near("no-ctrl, bmap", &["tom.policy=uncontrolled", "tom.mapping=baseline"]);
pub(super) const NOCTRL_TMAP: Scheme = near("no-ctrl, tmap", &["tom.policy=uncontrolled"]);
pub(super) const CTRL_BMAP: Scheme = near("ctrl, bmap", &["tom.mapping=baseline"]);
pub(super) const CTRL_TMAP: Scheme = near("ctrl, tmap", &[]);
/// Figure 2.
pub(super) const IDEAL: Scheme = near("ideal", &["tom.policy=ideal", "tom.mapping=baseline"]);
/// Figure 3, which does not include all mechanisms (footnote 9): offloading is not controlled.
pub(super) const NOCTRL_ORACLE: Scheme = near("no-ctrl, oracle", &["tom.policy=uncontrolled", "tom.mapping=oracle"]);
/// What section 6.1 says of BFS.
pub(super) const CTRL_ORACLE: Scheme = near("ctrl, oracle", &["tom.mapping=oracle"]);
/// Beyond the paper: section 6.4 leaves it to others.
pub(super) const ALU_AWARE: Scheme = near("ALU-aware", &["tom.policy=alu-aware"]);
pub(super) const ALU_AWARE_4X: Scheme = near("ALU-aware, 4x warps", &["tom.policy=alu-aware", "stacks.warps=192"]);
/// Beyond the paper: what would wait long for issue slots stays, too.
pub(super) const QUEUE_AWARE: Scheme = near("queue-aware", &["tom.policy=queue-aware"]);
pub(super) const QUEUE_AWARE_4X: Scheme =
    near("queue-aware, 4x warps", &["tom.policy=queue-aware", "stacks.warps=192"]);
/// Beyond the paper: a warp stays on the stack for the block that comes straight behind.
pub(super) const BATCHED: Scheme = near("batched per warp", &["tom.batch=per-warp"]);
/// Figures 11 and 12.
pub(super) const WARPS_2X: Scheme = near("2x warps", &["stacks.warps=96"]);
pub(super) const WARPS_4X: Scheme = near("4x warps", &["stacks.warps=192"]);
/// Figure 13: a column every four cycles is half the bandwidth of the vaults.
pub(super) const INTERNAL_1X: Scheme = near("1x internal", &["dram.timing.ccd=4"]);
/// Section 4.4.2: what keeps caches coherent, left out.
pub(super) const INCOHERENT: Scheme = near("no coherence", &["tom.coherence=left-out"]);
/// Section 6.5.
pub(super) const CROSS: [(&str, Scheme); 3] = [
    ("0_125x", near("cross 0.125x", &["stacks.cross_link.bandwidth=10 GB/s"])),
    ("0_25x", near("cross 0.25x", &["stacks.cross_link.bandwidth=20 GB/s"])),
    ("1x", near("cross 1x", &["stacks.cross_link.bandwidth=80 GB/s"])),
];
/// Figure 6 in time; and instances watched to their ends however long they are, which a short learning phase may not wait for.
pub(super) const LEARNED: [Scheme; 3] = [
    near("learn 0.5 %", &["tom.learning_share=0.005"]),
    near("learn 1 %", &["tom.learning_share=0.01"]),
    near("whole instances", &["tom.learning_most=0"]),
];
/// The way to the host while learning: 1 us is our choice.
pub(super) const HOST: [Scheme; 2] =
    [near("host 0.5 us", &["host_link.latency=0.5 us"]), near("host 4 us", &["host_link.latency=4 us"])];
/// Granularity of allocations: 64 KiB is our choice.
pub(super) const PAGES: [Scheme; 2] = [near("pages of 4 KiB", &["tom.page=4 KiB"]), near("2 MiB", &["tom.page=2 MiB"])];
/// Pairs of higher bits in the baseline map's stack: two are our choice. The baseline, and TOM on that map.
pub(super) const PAIRS: [(Scheme, Scheme); 2] = [
    (
        plain("no pair, baseline", &["stacks.hashed_pairs=0"]),
        near("no pair", &["stacks.hashed_pairs=0", "tom.mapping=baseline"]),
    ),
    (
        plain("one pair, baseline", &["stacks.hashed_pairs=1"]),
        near("one pair", &["stacks.hashed_pairs=1", "tom.mapping=baseline"]),
    ),
];
/// Section 4.4.1: TLBs, whose walks cross stacks. The baseline, and TOM.
pub(super) const TRANSLATED: (Scheme, Scheme) =
    (plain("TLBs, baseline", &["tlb.enabled=true"]), near("TLBs", &["tlb.enabled=true"]));
/// Section 4.4.2 to the letter.
pub(super) const EVERY_SPAWN: Scheme = near("dropped at every spawn", &["tom.invalidation=every-spawn"]);
/// Beyond the paper: the stack that holds most of what the first segment accesses, lines that all lanes share left out.
pub(super) const MAJORITY: Scheme = near("stack of most lines", &["tom.stack=most-lines"]);
pub(super) const MAJORITY_BMAP: Scheme =
    near("stack of most lines, bmap", &["tom.stack=most-lines", "tom.mapping=baseline"]);
/// Beyond the paper: a stack's SM fetches the sectors that it needs, not whole lines.
pub(super) const SECTORED: Scheme = near("sectored L1 on stacks", &["stacks.sectored_l1=true"]);
/// When a channel is busy: 90 % is our choice.
pub(super) const BUSY: [Scheme; 3] = [
    near("busy from 70 %", &["tom.busy_threshold=0.7"]),
    near("busy from 80 %", &["tom.busy_threshold=0.8"]),
    near("busy from 100 %", &["tom.busy_threshold=1"]),
];
/// The same SMs, vaults and bandwidth in another number of stacks: the baseline, and TOM.
pub(super) const STACKS: [(Scheme, Scheme); 3] = [
    (
        // 66 SMs cannot share ports by fours.
        plain("2 stacks, baseline", &["stacks.count=2", "stacks.link.bandwidth=160 GB/s", "sm.per_port=2"]),
        near(
            "2 stacks",
            &[
                "stacks.count=2",
                "stacks.link.bandwidth=160 GB/s",
                "stacks.cross_link.bandwidth=80 GB/s",
                "sm.count=66",
                "sm.per_port=2",
            ],
        ),
    ),
    (
        plain("8 stacks, baseline", &["stacks.count=8", "stacks.link.bandwidth=40 GB/s"]),
        near(
            "8 stacks",
            &["stacks.count=8", "stacks.link.bandwidth=40 GB/s", "stacks.cross_link.bandwidth=20 GB/s", "sm.count=60"],
        ),
    ),
    (
        plain("16 stacks, baseline", &["stacks.count=16", "stacks.link.bandwidth=20 GB/s"]),
        near(
            "16 stacks",
            &["stacks.count=16", "stacks.link.bandwidth=20 GB/s", "stacks.cross_link.bandwidth=10 GB/s", "sm.count=52"],
        ),
    ),
];

#[cfg(test)]
impl Program {
    /// With inputs for tests.
    pub(super) fn tiny(self) -> Self {
        Self { sizes: ["tiny"; 3], ..self }
    }
}
