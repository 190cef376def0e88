//! Plans: which programs, machines, mechanisms and settings a sweep goes through. `docs/sweep.md` is the reference.
//!
//! A plan is TOML. [`parse`] reads its text and touches nothing else (this is what is fuzzed); all its errors are reported at
//! once, with their places.

mod axis;
mod constraint;
mod reader;

pub(crate) use axis::{Axis, Spread};
pub(crate) use constraint::{Constraint, Worth};
pub use reader::parse;

use std::ops::Range;
use std::path::{Path, PathBuf};
use strata_run::LabError;
use strata_run::diagnostics::{Diagnostic, Diagnostics};
use strata_run::launch_file::read_text;

/// A plan is text that people write; anything larger is not one.
const FILE_BYTES: u64 = 1 << 20;

/// A word of a plan and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word, without quotes.
    pub text: String,
    /// Its bytes in the plan.
    pub span: Range<usize>,
}

/// How points are drawn from ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Each value by chance.
    Random,
    /// Each axis is cut into as many parts as there are points, and each part is used once.
    LatinHypercube,
}

/// Points drawn from ranges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) method: Method,
    pub(crate) points: usize,
    pub(crate) seed: u64,
    pub(crate) over: Vec<(Word, Spread)>,
}

/// What a sweep goes through: every program with every size, seed, machine, mechanism and setting.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Plan {
    /// What the sweep is called; `None` if the plan does not say.
    pub name: Option<String>,
    pub(crate) programs: Vec<Word>,
    pub(crate) sizes: Vec<Word>,
    pub(crate) seeds: Vec<u64>,
    pub(crate) gpus: Vec<Word>,
    pub(crate) with: Vec<Word>,
    /// The same in every point.
    pub(crate) set: Vec<(Word, String)>,
    /// Every value with every other.
    pub(crate) grid: Vec<Axis>,
    /// Values that go together, one table after another.
    pub(crate) list: Vec<Vec<(Word, String)>>,
    pub(crate) sample: Option<Sample>,
    pub(crate) constraints: Vec<Constraint>,
    /// Points that cannot be are left out, and counted, in place of being errors.
    pub(crate) skip_invalid: bool,
}

/// A plan with its file.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// What it says.
    pub plan: Plan,
    /// The whole text, which is saved beside the results.
    pub text: String,
    path: PathBuf,
}

impl PlanFile {
    /// Reads a plan; all errors at once.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = read_text(path, FILE_BYTES).map_err(|e| LabError::io("read", path, e))?;
        let (plan, errors) = parse(&text);
        let file = Self { plan, text, path: path.to_owned() };
        if errors.is_empty() { Ok(file) } else { Err(file.wrong(errors)) }
    }

    /// Of parts, for tests.
    #[cfg(test)]
    pub(crate) fn of(plan: Plan, text: String, path: &Path) -> Self {
        Self { plan, text, path: path.to_owned() }
    }

    /// What the sweep is called: as the plan says, or like its file.
    pub fn name(&self) -> String {
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.plan.name.clone().unwrap_or_else(stem)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path of the plan's: relative to its folder.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// Errors at places of this plan.
    pub(crate) fn wrong(&self, errors: Vec<Diagnostic>) -> LabError {
        LabError::File(Diagnostics::new(self.path.display().to_string(), self.text.clone(), errors))
    }
}
