//! Papers reproduced: their figures from our programs on our machine, and their printed numbers beside ours.

mod buddy;
mod by_program;
mod cmd;
mod headline;
mod measured;
mod paper;
mod redrawn;
mod runs;
mod scale_model;
mod tom;
mod uvm;
mod verdict;

use crate::report::Page;
use by_program::Subject;
use headline::headline;
use measured::{geometric_mean, mean};
use paper::PaperNumbers;
use runs::Runs;
use std::path::PathBuf;
use strata_core::nearest::suggestion;
use strata_run::DEFAULT_OUT;
use strata_run::LabError;
use strata_run::Step;
use strata_sweep::Store;
use verdict::beside;

pub use measured::Measured;
pub use verdict::{Row, Standing, Verdict, summary, to_json};

/// A paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paper {
    /// Buddy Compression.
    Buddy,
    /// CMD, cache-assisted deduplication.
    Cmd,
    /// TOM, transparent offloading and mapping.
    Tom,
    /// Learned prefetching for unified memory.
    Uvm,
}

impl Paper {
    /// Those that can be reproduced.
    pub const ALL: [Self; 4] = [Self::Buddy, Self::Cmd, Self::Uvm, Self::Tom];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buddy => "buddy",
            Self::Cmd => "cmd",
            Self::Uvm => "uvm",
            Self::Tom => "tom",
        }
    }

    /// The parts that its study can be made in, one by one; none if it is always made whole.
    pub const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Uvm => &uvm::PARTS,
            Self::Buddy | Self::Cmd | Self::Tom => &[],
        }
    }

    /// Reads a name, or `all`.
    pub fn named(text: &str) -> Result<Vec<Self>, LabError> {
        if text == "all" {
            return Ok(Self::ALL.into());
        }
        let found = Self::ALL.into_iter().find(|paper| paper.name() == text);
        let names = Self::ALL.map(Self::name).into_iter().chain(["all"]);
        let unknown = || LabError::Request(format!("there is no paper `{text}`; {}", suggestion(text, names)));
        found.map(|paper| vec![paper]).ok_or_else(unknown)
    }
}

/// How much to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Small inputs, caches scaled with them, two speeds of the link.
    Quick,
    /// Snapshots of the inputs that the figures are meant for; timed on small ones.
    Standard,
    /// Everything on those inputs, and ratios from three seeds.
    Full,
}

/// What to reproduce.
#[derive(Clone, Debug)]
pub struct ReproduceRequest {
    /// The paper.
    pub paper: Paper,
    /// How much to run.
    pub effort: Effort,
    /// One of the paper's parts; `None` means all.
    pub part: Option<String>,
    /// Which programs and figures, if not all.
    pub selection: Selection,
    /// Where figures go; `None` means `strata-out`.
    pub out: Option<PathBuf>,
    /// The store of runs; `None` means the user's.
    pub store: Option<PathBuf>,
}

/// Some of a paper's programs and figures.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// Programs as the paper abbreviates them; none means all.
    pub programs: Vec<String>,
    /// One figure, such as `8` or `learning`; `None` means all.
    pub figure: Option<String>,
}

impl Selection {
    /// A name for the folder of what was selected; `None` if that is everything.
    fn folder(&self) -> Option<String> {
        let parts: Vec<_> = self.programs.iter().chain(&self.figure).map(String::as_str).collect();
        (!parts.is_empty()).then(|| parts.join("-"))
    }

    /// An error if a paper's study is made whole.
    fn check(&self, paper: Paper) -> Result<(), LabError> {
        if paper == Paper::Tom || *self == Self::default() {
            return Ok(());
        }
        let name = paper.name();
        Err(LabError::Request(format!(
            "programs and figures of `{name}` are not selected one by one; those of `tom` are"
        )))
    }
}

/// What came of it.
pub struct Reproduction {
    /// All figures.
    pub page: Page,
    /// The paper's claim, and what was found.
    pub headline: Vec<String>,
    /// Numbers side by side.
    pub rows: Vec<Row>,
    /// Where the figures were saved.
    pub directory: PathBuf,
}

/// Reproduces a paper; `begins` hears of each program as it is taken up.
pub fn reproduce(
    request: &ReproduceRequest,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Reproduction, LabError> {
    let out = request.out.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_OUT));
    let mut directory = out.join(format!("reproduce-{}", request.paper.name()));
    let part = request.part.as_deref();
    check_part(request.paper, part)?;
    request.selection.check(request.paper)?;
    let runs = Runs::below(&Store::place(request.store.as_deref())?)?;
    let (mut page, rows) = match request.paper {
        Paper::Buddy => buddy::reproduce(request.effort, &directory, &runs, begins)?,
        Paper::Cmd => cmd::reproduce(request.effort, &runs, begins)?,
        Paper::Uvm => uvm::reproduce(request.effort, part, &runs, begins)?,
        Paper::Tom => tom::reproduce(request.effort, &request.selection, &runs, begins)?,
    };
    page.summary = Some(beside(&rows));
    redrawn::redraw(&mut page, &rows);
    // The page of a part stands beside that of the whole, and uses the same runs.
    directory.extend(part);
    directory.extend(request.selection.folder());
    let headline = headline(request.paper, &rows);
    page.save(&headline, &directory)?;
    Ok(Reproduction { page, headline, rows, directory })
}

/// An error if the paper's study does not have this part.
fn check_part(paper: Paper, part: Option<&str>) -> Result<(), LabError> {
    let parts = paper.parts();
    match part {
        Some(part) if parts.is_empty() => {
            let name = paper.name();
            Err(LabError::Request(format!("`{name}` is reproduced as a whole: it has no part `{part}`")))
        }
        Some(part) if !parts.contains(&part) => {
            let near = suggestion(part, parts.iter().copied());
            Err(LabError::Request(format!("`{}` has no part `{part}`; {near}", paper.name())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_paper() {
        assert!(check_part(Paper::Uvm, Some("learning")).is_ok() && check_part(Paper::Cmd, None).is_ok());
        let misspelt = check_part(Paper::Uvm, Some("lop")).expect_err("unknown").to_string();
        assert!(misspelt.contains("did you mean `loop`?"), "{misspelt}");
        assert!(check_part(Paper::Cmd, Some("loop")).expect_err("whole").to_string().contains("as a whole"));
    }

    #[test]
    fn programs_are_selected_where_a_study_can_be_made_of_some() {
        let some = Selection { programs: vec!["KM".into()], figure: Some("8".into()) };
        assert_eq!(some.folder().as_deref(), Some("KM-8"));
        assert!(some.check(Paper::Tom).is_ok() && Selection::default().check(Paper::Cmd).is_ok());
        assert!(some.check(Paper::Cmd).expect_err("whole").to_string().contains("those of `tom` are"));
    }

    #[test]
    fn papers_are_found_by_name() {
        assert_eq!(Paper::named("all").expect("known"), Paper::ALL);
        assert!(Paper::named("budy").expect_err("unknown").to_string().contains("did you mean `buddy`?"));
    }
}
