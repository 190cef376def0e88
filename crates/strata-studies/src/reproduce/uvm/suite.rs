//! The programs of Tables 10 and 11, where the paper cut them, and the machines that are set side by side.

use super::predicting::Predicting;
use crate::reproduce::Effort;

/// Where a run of the paper stopped (its instruction counts are another compiler's, so a share of the run is meant).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Cut {
    /// At the end.
    Whole,
    /// After this share of the instructions: the published count over that of the published full run.
    Share(f64),
    /// After so many thread instructions of our own run: no full run was published, so that no share of one is known.
    Instructions(f64),
}

/// One program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Program {
    /// Ours.
    pub(super) name: &'static str,
    /// As the paper's tables have it.
    pub(super) paper: &'static str,
    pub(super) cut: Cut,
    /// It runs for minutes where others take seconds: a quick study has its baseline alone.
    pub(super) is_long: bool,
}

impl Program {
    /// One that the paper does not have, to its end.
    pub(super) const fn beyond(name: &'static str) -> Self {
        program(name, "", Cut::Whole)
    }
}

const fn program(name: &'static str, paper: &'static str, cut: Cut) -> Program {
    Program { name, paper, cut, is_long: false }
}

/// All of them, in the paper's order.
pub(super) const PROGRAMS: [Program; 11] = [
    program("addvectors", "AddVectors", Cut::Whole),
    program("atax", "ATAX", Cut::Whole),
    program("backprop", "Backprop", Cut::Share(0.393)),
    program("bicg", "BICG", Cut::Whole),
    program("hotspot", "Hotspot", Cut::Share(0.067)),
    // No full run was published, but that of BICG was, which executes as many instructions: 28 of 167.936 million.
    Program { is_long: true, ..program("mvt", "MVT", Cut::Share(0.1667)) },
    program("nw", "NW", Cut::Whole),
    program("pathfinder", "Pathfinder", Cut::Whole),
    program("srad", "Srad-v2", Cut::Instructions(160e6)),
    program("streamtriad", "StreamTriad", Cut::Share(0.254)),
    program("2dconv", "2DCONV", Cut::Whole),
];

/// Percent of managed memory over device memory.
pub(super) const PERCENTS: [u32; 3] = [110, 125, 150];
/// Eviction policies, as `uvm.eviction` names them.
pub(super) const EVICTIONS: [&str; 7] = ["lru", "tree", "sequential", "random", "lfu", "lru-page", "driver"];

/// A machine: UVMSmart's, with something else in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scheme {
    /// As it was run: tree prefetcher, enough memory, fault latency only reported.
    Baseline,
    /// Each fault takes its 45 us.
    Charged,
    /// The real driver's prefetcher in its place.
    DriversRule,
    /// All rules of the real driver.
    Driver,
    /// Memory for less than all; what leaves is chosen by this policy.
    Oversubscribed(u32, &'static str),
    /// The same with UVMSmart's adaptive engine.
    Adaptive(u32),
    /// No unified memory: everything is on the device.
    OnDevice,
    /// A prefetcher that predicts in place of the tree.
    Predicting(Predicting),
}

impl Scheme {
    /// What a quick study runs.
    const QUICK: [Self; 3] = [Self::Baseline, Self::Charged, Self::DriversRule];

    /// What a study runs of a program.
    pub(super) fn of(program: &Program, effort: Effort) -> Vec<Self> {
        match effort {
            Effort::Quick if program.is_long => vec![Self::Baseline],
            Effort::Quick => Self::QUICK.into_iter().chain(Predicting::of(program, effort)).collect(),
            Effort::Standard => Self::standard().into_iter().chain(Predicting::of(program, effort)).collect(),
            Effort::Full => Self::all().into_iter().chain(Predicting::of(program, effort)).collect(),
        }
    }

    /// Those, and memory for 80 % of all.
    fn standard() -> Vec<Self> {
        let few = |scheme: &Self| !matches!(scheme, Self::Oversubscribed(percent, _) | Self::Adaptive(percent) if *percent != 125);
        Self::all().into_iter().filter(few).collect()
    }

    /// All of them.
    fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Self::QUICK.into();
        all.extend([Self::Driver, Self::OnDevice]);
        for percent in PERCENTS {
            all.extend(EVICTIONS.map(|policy| Self::Oversubscribed(percent, policy)));
            all.push(Self::Adaptive(percent));
        }
        all
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Baseline => "UVMSmart".into(),
            Self::Charged => "UVMSmart, 45 us charged".into(),
            Self::DriversRule => "UVMSmart with the driver's prefetcher".into(),
            Self::Driver => "the driver".into(),
            Self::Oversubscribed(percent, policy) => format!("{percent} %, {policy}"),
            Self::Adaptive(percent) => format!("{percent} %, adaptive"),
            Self::OnDevice => "all on the device".into(),
            Self::Predicting(predicting) => predicting.name(),
        }
    }

    /// The mechanism of the machine.
    pub(super) fn mechanism(self) -> &'static str {
        if self == Self::OnDevice { "none" } else { "uvm" }
    }

    /// Its settings.
    pub(super) fn set(self) -> Vec<String> {
        let share = |percent: u32| format!("uvm.oversubscription={}", f64::from(percent) / 100.0);
        match self {
            Self::Baseline | Self::OnDevice => Vec::new(),
            Self::Charged => vec!["uvm.fault_charge=flat".into()],
            Self::DriversRule => vec!["uvm.prefetcher=driver".into()],
            Self::Driver => vec!["uvm.model=driver".into()],
            Self::Oversubscribed(percent, policy) => vec![share(percent), format!("uvm.eviction={policy}")],
            Self::Adaptive(percent) => vec![share(percent), "uvm.adaptive=on".into()],
            Self::Predicting(predicting) => predicting.set(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{Paper, PaperNumbers};

    #[test]
    fn every_program_is_built_in_and_in_both_tables() {
        let paper = PaperNumbers::of(Paper::Uvm);
        for program in PROGRAMS {
            let workload = strata_workloads::find(program.name).expect("built in");
            assert!(workload.info().papers.contains(&"uvm"), "{}", program.name);
            assert!(paper.get(&format!("table10.{}.0", program.paper)).is_some(), "{}", program.paper);
            assert!(paper.get(&format!("table11.{}.0.3", program.paper)).is_some(), "{}", program.paper);
        }
    }

    #[test]
    fn every_policy_is_run_at_every_percentage() {
        let predicting = Predicting::of(&PROGRAMS[0], Effort::Full).len();
        let others = 5 + PERCENTS.len() * (EVICTIONS.len() + 1);
        assert_eq!(Scheme::of(&PROGRAMS[0], Effort::Full).len(), others + predicting);
        assert_eq!(Scheme::Oversubscribed(125, "lfu").set(), ["uvm.oversubscription=1.25", "uvm.eviction=lfu"]);
    }
}
