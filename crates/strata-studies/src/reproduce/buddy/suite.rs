//! The programs of the paper.

use strata_core::nearest::suggestion;
use strata_run::{LabError, What};

/// Which of the two suites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Suite {
    /// High-performance computing.
    Hpc,
    /// Deep-learning training.
    Dl,
}

impl Suite {
    pub(super) const ALL: [Self; 2] = [Self::Hpc, Self::Dl];

    /// In the names of the paper's numbers.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Hpc => "hpc",
            Self::Dl => "dl",
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hpc => "HPC",
            Self::Dl => "DL training",
        }
    }
}

/// One program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Program {
    /// Ours.
    pub(super) name: &'static str,
    pub(super) suite: Suite,
}

impl Program {
    pub(super) fn what(self) -> What {
        What::Workload(self.name.to_owned())
    }
}

const fn hpc(name: &'static str) -> Program {
    Program { name, suite: Suite::Hpc }
}

const fn dl(name: &'static str) -> Program {
    Program { name, suite: Suite::Dl }
}

/// All of them, in the order of the paper's figures.
pub(super) const PROGRAMS: [Program; 16] = [
    hpc("palm"),
    hpc("ep"),
    hpc("cg"),
    hpc("seismic"),
    hpc("sp"),
    hpc("csp"),
    hpc("ilbdc"),
    hpc("bt"),
    hpc("hpgmg"),
    hpc("lulesh"),
    dl("alexnet"),
    dl("inception"),
    dl("squeezenet"),
    dl("vgg"),
    dl("resnet"),
    dl("lstm"),
];

/// Those with these names, in the order of the paper's figures; all of them if there are none.
pub(super) fn selected(names: &[String]) -> Result<Vec<Program>, LabError> {
    let known = || PROGRAMS.iter().map(|program| program.name);
    if let Some(name) = names.iter().find(|name| known().all(|program| program != **name)) {
        return Err(LabError::Request(format!("`buddy` has no program `{name}`; {}", suggestion(name, known()))));
    }
    let wanted = |program: &Program| names.is_empty() || names.iter().any(|name| name == program.name);
    Ok(PROGRAMS.into_iter().filter(wanted).collect())
}

/// Which programs run, and on which inputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs<'a> {
    pub(super) programs: &'a [Program],
    /// The size that targets are chosen on.
    pub(super) profiled: &'static str,
    /// The size that they are judged on.
    pub(super) judged: &'static str,
    /// The size that is timed; networks, which are small, are timed at the size that is judged.
    pub(super) timed: &'static str,
    /// Timed on the whole machine, with scale models beside it; else on scale models alone.
    pub(super) whole: bool,
    /// Speeds of the link, GB/s.
    pub(super) links: &'static [u32],
    pub(super) seed: u64,
}

impl Inputs<'_> {
    /// The size that a program is timed at.
    pub(super) fn timed(&self, program: Program) -> &'static str {
        if program.suite == Suite::Dl { self.judged } else { self.timed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_built_in_and_belongs_to_the_paper() {
        for program in PROGRAMS {
            let workload = strata_workloads::find(program.name).expect("built in");
            assert!(workload.info().papers.contains(&"buddy"), "{}", program.name);
        }
    }

    #[test]
    fn programs_are_selected_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(selected(&[]).expect("all").len(), PROGRAMS.len());
        assert_eq!(selected(&names(&["cg", "ep"])).expect("known"), [PROGRAMS[1], PROGRAMS[2]]);
        let unknown = selected(&names(&["ep", "alexnett"])).expect_err("misspelt").to_string();
        assert!(unknown.contains("did you mean `alexnet`?"), "{unknown}");
    }
}
