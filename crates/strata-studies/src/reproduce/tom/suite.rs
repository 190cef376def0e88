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
    /// How much of it is run.
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
/// several waves of blocks (`workloads/NAME/README.md` has the reasons). They were fixed by what the baseline alone does: section 5.3
/// takes programs that use more than half of the bandwidth. HW and RAY do not at any size that was published.
pub(super) const PROGRAMS: [Program; 10] = [
    program("BP", "backprop", ["paper-tom", "paper-tom", "small"]),
    // A million nodes, as the largest graph that comes with Rodinia.
    program("BFS", "bfs", ["paper-uvm", "paper-tom", "paper-tom"]),
    program("KM", "kmeans", ["small", "medium", "medium"]),
    program("CFD", "cfd", ["small", "paper-tom", "medium"]),
    program("HW", "heartwall", ["small", "small", "medium"]),
    program("LIB", "libor", ["medium", "paper-tom", "paper-tom"]),
    program("RAY", "ray", ["paper-tom", "small", "medium"]),
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
/// Figure 6 in time.
pub(super) const LEARNED: [Scheme; 2] =
    [near("learn 0.5 %", &["tom.learning_share=0.005"]), near("learn 1 %", &["tom.learning_share=0.01"])];
/// The way to the host while learning: 1 us is our choice.
pub(super) const HOST: [Scheme; 2] =
    [near("host 0.5 us", &["host_link.latency=0.5 us"]), near("host 4 us", &["host_link.latency=4 us"])];
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

impl Scheme {
    /// All of them; `sweeps` adds those of the sensitivity studies.
    pub(super) fn all(sweeps: bool) -> Vec<Self> {
        let mut all = vec![BASELINE, NOCTRL_BMAP, NOCTRL_TMAP, CTRL_BMAP, CTRL_TMAP, IDEAL, NOCTRL_ORACLE, CTRL_ORACLE];
        if sweeps {
            all.extend([ALU_AWARE, ALU_AWARE_4X, WARPS_2X, WARPS_4X, INTERNAL_1X, INCOHERENT]);
            all.extend(CROSS.map(|(_, scheme)| scheme));
            all.extend(LEARNED.into_iter().chain(HOST).chain(BUSY));
            all.extend(STACKS.iter().flat_map(|&(baseline, tom)| [baseline, tom]));
        }
        all
    }
}

#[cfg(test)]
impl Program {
    /// With inputs for tests.
    pub(super) fn tiny(self) -> Self {
        Self { sizes: ["tiny"; 3], ..self }
    }
}
