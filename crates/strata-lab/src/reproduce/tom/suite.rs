//! The programs of the paper's Table 2, and the machines that it sets side by side.

/// One program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Program {
    /// As the paper abbreviates it.
    pub(super) name: &'static str,
    pub(super) workload: &'static str,
}

/// All of them, in the paper's order.
pub(super) const PROGRAMS: [Program; 10] = [
    Program { name: "BP", workload: "backprop" },
    Program { name: "BFS", workload: "bfs" },
    Program { name: "KM", workload: "kmeans" },
    Program { name: "CFD", workload: "cfd" },
    Program { name: "HW", workload: "heartwall" },
    Program { name: "LIB", workload: "libor" },
    Program { name: "RAY", workload: "ray" },
    Program { name: "FWT", workload: "fwt" },
    Program { name: "SP", workload: "scalarprod" },
    Program { name: "RD", workload: "reduction" },
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

/// 68 SMs on the GPU, nothing offloaded.
pub(super) const BASELINE: Scheme = Scheme { name: "baseline", gpu: "ndp-maxwell-68", with: "none", set: &[] };
/// Figures 8 to 10.
pub(super) const NOCTRL_BMAP: Scheme = near("no-ctrl, bmap", &["tom.policy=uncontrolled", "tom.mapping=baseline"]);
pub(super) const NOCTRL_TMAP: Scheme = near("no-ctrl, tmap", &["tom.policy=uncontrolled"]);
pub(super) const CTRL_BMAP: Scheme = near("ctrl, bmap", &["tom.mapping=baseline"]);
pub(super) const CTRL_TMAP: Scheme = near("ctrl, tmap", &[]);
/// Figure 2.
pub(super) const IDEAL: Scheme = near("ideal", &["tom.policy=ideal", "tom.mapping=baseline"]);
/// Figure 3, and what section 6.1 says of BFS.
pub(super) const CTRL_ORACLE: Scheme = near("ctrl, oracle", &["tom.mapping=oracle"]);
/// Beyond the paper: section 6.4 leaves it to others.
pub(super) const ALU_AWARE: Scheme = near("ALU-aware", &["tom.policy=alu-aware"]);
pub(super) const ALU_AWARE_4X: Scheme = near("ALU-aware, 4x warps", &["tom.policy=alu-aware", "stacks.warps=192"]);
/// Figures 11 and 12.
pub(super) const WARPS_2X: Scheme = near("2x warps", &["stacks.warps=96"]);
pub(super) const WARPS_4X: Scheme = near("4x warps", &["stacks.warps=192"]);
/// Figure 13: a column every four cycles is half the bandwidth of the vaults.
pub(super) const INTERNAL_1X: Scheme = near("1x internal", &["dram.timing.ccd=4"]);
/// Section 6.5.
pub(super) const CROSS: [(&str, Scheme); 3] = [
    ("0_125x", near("cross 0.125x", &["stacks.cross_link.bandwidth=10 GB/s"])),
    ("0_25x", near("cross 0.25x", &["stacks.cross_link.bandwidth=20 GB/s"])),
    ("1x", near("cross 1x", &["stacks.cross_link.bandwidth=80 GB/s"])),
];

impl Scheme {
    /// All of them; `sweeps` adds those of the sensitivity studies.
    pub(super) fn all(sweeps: bool) -> Vec<Self> {
        let mut all = vec![BASELINE, NOCTRL_BMAP, NOCTRL_TMAP, CTRL_BMAP, CTRL_TMAP, IDEAL, CTRL_ORACLE];
        if sweeps {
            all.extend([ALU_AWARE, ALU_AWARE_4X, WARPS_2X, WARPS_4X, INTERNAL_1X]);
            all.extend(CROSS.map(|(_, scheme)| scheme));
        }
        all
    }
}
