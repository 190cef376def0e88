//! The programs of Tables 1 to 8, and what is trained on each.

use crate::prefetch::{Cluster, Feature, Fitting, Kind, Precision, Protocol};
use crate::reproduce::Effort;

/// One program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Program {
    /// Ours.
    pub(super) name: &'static str,
    /// As the paper's tables have it.
    pub(super) paper: &'static str,
    /// The size whose trace is learned from.
    pub(super) size: &'static str,
}

const fn program(name: &'static str, paper: &'static str, size: &'static str) -> Program {
    Program { name, paper, size }
}

/// All of them, in the paper's order. The deltas that it prints of ATAX are those of a larger matrix than Table 10's; MVT, whose
/// threads repeat each other's requests, is smaller.
pub(super) const PROGRAMS: [Program; 9] = [
    program("addvectors", "AddVectors", "paper-uvm"),
    program("atax", "ATAX", "small"),
    program("backprop", "Backprop", "paper-uvm"),
    program("bicg", "BICG", "paper-uvm"),
    program("hotspot", "Hotspot", "paper-uvm"),
    program("mvt", "MVT", "small"),
    program("nw", "NW", "paper-uvm"),
    program("pathfinder", "Pathfinder", "paper-uvm"),
    program("srad", "Srad-v2", "paper-uvm"),
];

/// Programs of a quick study.
pub(super) const QUICK: [&str; 2] = ["addvectors", "nw"];
/// Programs of Table 2, and those of our ablations.
pub(super) const CLUSTERED: [&str; 2] = ["addvectors", "nw"];
/// Programs of Table 3.
pub(super) const FAR: [&str; 4] = ["backprop", "srad", "atax", "nw"];
/// Programs of Tables 4 and 5.
pub(super) const SIMPLIFIED: [&str; 4] = ["atax", "bicg", "nw", "backprop"];
/// Programs of Figures 6 and 9; with all effort, all.
pub(super) const ORDERED: [&str; 5] = ["addvectors", "atax", "backprop", "nw", "srad"];
/// The program of Figures 5 and 7.
pub(super) const LOOKED_INTO: &str = "nw";

/// Clusters of Table 2.
pub(super) const CLUSTERS: [Cluster; 5] = [Cluster::Pc, Cluster::Kernel, Cluster::Sm, Cluster::Cta, Cluster::Warp];

/// Models of Figure 9.
pub(super) const COMPARED: [Kind; 5] = [Kind::Transformer, Kind::Revised, Kind::Cnn, Kind::Lstm, Kind::Mlp];

/// How much is trained: sequences, and epochs of the Transformer and of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Amount {
    pub(super) sequences: usize,
    pub(super) transformer_epochs: usize,
    pub(super) epochs: usize,
}

/// How much of what is trained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    /// For Tables 1 and 8.
    pub(super) main: Amount,
    /// For the others; none leaves those out.
    pub(super) side: Option<Amount>,
    /// Figures 6 and 9 have all programs.
    pub(super) is_full: bool,
}

impl Extent {
    /// Of an effort.
    pub(super) fn of(effort: Effort) -> Self {
        let amount = |sequences, transformer_epochs, epochs| Amount { sequences, transformer_epochs, epochs };
        let (main, side) = match effort {
            Effort::Quick => (amount(1000, 3, 20), None),
            Effort::Standard => (amount(3000, 10, 60), Some(amount(1500, 10, 40))),
            Effort::Full => (amount(20_000, 15, 60), Some(amount(20_000, 15, 60))),
        };
        Self { main, side, is_full: effort == Effort::Full }
    }
}

impl Amount {
    fn fitting(self, kind: Kind) -> Fitting {
        let epochs = if kind == Kind::Transformer { self.transformer_epochs } else { self.epochs };
        Fitting { sequences: self.sequences, epochs, ..Fitting::new(kind) }
    }
}

/// A training and what it is for.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// What tables find it by.
    pub(super) label: String,
    pub(super) fitting: Fitting,
    pub(super) precisions: &'static [Precision],
}

const FLOAT: &[Precision] = &[Precision::Float];
const FOUR_BIT: &[Precision] = &[Precision::FourBit];

/// All trainings of a program.
pub(super) fn jobs(program: &Program, Extent { main, side, is_full }: Extent) -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut add = |label: String, precisions, fitting| jobs.push(Job { label, fitting, precisions });
    add("transformer".into(), FLOAT, main.fitting(Kind::Transformer));
    for protocol in [Protocol::Paper, Protocol::HeldOutInTime, Protocol::HeldOutAtRandom] {
        let fitting = Fitting { protocol, ..main.fitting(Kind::Revised) };
        // The precisions are compared where the paper compares.
        let precisions = if protocol == Protocol::Paper { &Precision::ALL[..] } else { FOUR_BIT };
        add(format!("revised {}", protocol.name()), precisions, fitting);
    }
    add("distilled".into(), FOUR_BIT, main.fitting(Kind::Distilled));
    let Some(side) = side else { return jobs };
    let transformer = side.fitting(Kind::Transformer);
    if is_full || ORDERED.contains(&program.name) || SIMPLIFIED.contains(&program.name) {
        add("ordered".into(), FLOAT, transformer.clone());
    }
    if is_full || ORDERED.contains(&program.name) {
        add("shuffled".into(), FLOAT, Fitting { shuffled: true, ..transformer.clone() });
        for kind in COMPARED {
            // A warp may have made a few requests only when its window is over.
            let fitting = Fitting { protocol: Protocol::NextWindow, least: 1, ..side.fitting(kind) };
            add(format!("window {}", kind.name()), FLOAT, fitting);
        }
    }
    if CLUSTERED.contains(&program.name) {
        for cluster in CLUSTERS {
            // CTAs of addvectors make fewer requests than a whole history has.
            let fitting = Fitting { cluster: Some(cluster), least: 1, ..transformer.clone() };
            add(format!("cluster {}", cluster.name()), FLOAT, fitting);
        }
        for (label, fitting) in ablations(&side.fitting(Kind::Revised)) {
            add(label.to_owned(), FLOAT, fitting);
        }
    }
    if FAR.contains(&program.name) {
        add("distance 30".into(), FLOAT, Fitting { distance: 30, ..transformer.clone() });
    }
    if SIMPLIFIED.contains(&program.name) {
        add("linear".into(), FLOAT, Fitting { shuffled: true, ..side.fitting(Kind::Linear) });
        add("hashed".into(), FLOAT, Fitting { hashed: Some(true), ..transformer.clone() });
    }
    if program.name == LOOKED_INTO {
        for feature in Feature::ALL {
            let fitting = Fitting { features: Some(vec![feature]), ..transformer.clone() };
            add(format!("feature {}", feature.name()), FLOAT, fitting);
        }
    }
    jobs
}

/// The revised predictor with something left out or otherwise.
pub(super) fn ablations(whole: &Fitting) -> Vec<(&'static str, Fitting)> {
    let with = |change: &dyn Fn(&mut Fitting)| {
        let mut fitting = whole.clone();
        change(&mut fitting);
        fitting
    };
    vec![
        ("as it is", whole.clone()),
        ("attention bypassed", with(&|f| f.bypass = Some(true))),
        ("full attention", with(&|f| f.hashed = Some(false))),
        ("hashing as written", with(&|f| f.hlsh.literal = true)),
        ("erased tokens masked", with(&|f| f.hlsh.masks = true)),
        ("HBOT 0.3", with(&|f| f.hlsh.alike = 0.3)),
        ("HTOP 0.7", with(&|f| f.hlsh.unlike = 0.7)),
        ("without PC", with(&|f| f.features = Some(vec![Feature::PageDelta]))),
        ("without delta", with(&|f| f.features = Some(vec![Feature::Pc]))),
        ("with page", with(&|f| f.features = Some(vec![Feature::PageDelta, Feature::Pc, Feature::Page]))),
    ]
}
