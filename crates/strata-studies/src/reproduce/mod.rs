//! Papers reproduced: their figures from our programs on our machine, and their printed numbers beside ours. And a study that no paper
//! has: their mechanisms together.

mod buddy;
mod by_program;
mod cmd;
mod composition;
mod headline;
mod measured;
mod paper;
mod redrawn;
mod runs;
mod scale_model;
mod tom;
mod uvm;
mod verdict;

use crate::report::{Figure, Page};
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
}

/// What can be made: a paper's figures, or a study that goes beyond them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Study {
    /// A paper, reproduced.
    Of(Paper),
    /// Mechanisms of all papers in one machine.
    Composition,
}

impl Study {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Of(paper) => paper.name(),
            Self::Composition => "composition",
        }
    }

    /// The parts that it can be made in, one by one; none if it is always made whole.
    pub const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Of(paper) => paper.parts(),
            Self::Composition => &composition::PARTS,
        }
    }

    /// Reads a name, or `all`: the four papers.
    pub fn named(text: &str) -> Result<Vec<Self>, LabError> {
        if text == "all" {
            return Ok(Paper::ALL.map(Self::Of).into());
        }
        let known = || Paper::ALL.map(Self::Of).into_iter().chain([Self::Composition]);
        let names = known().map(Self::name).chain(["all"]);
        let unknown = || LabError::Request(format!("there is no paper or study `{text}`; {}", suggestion(text, names)));
        known().find(|study| study.name() == text).map(|study| vec![study]).ok_or_else(unknown)
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
    /// The paper, or the study.
    pub study: Study,
    /// How much to run.
    pub effort: Effort,
    /// One of its parts; `None` means all.
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
    /// Programs as the paper abbreviates them, or by their names; none means all.
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

    /// An error if a study is made whole.
    fn check(&self, study: Study, part: Option<&str>) -> Result<(), LabError> {
        let takes_figures = study == Study::Of(Paper::Tom);
        let judged = study == Study::Of(Paper::Uvm) && part == Some(uvm::JUDGED);
        let takes_programs = takes_figures || judged || study == Study::Of(Paper::Buddy);
        let (what, those) = if self.figure.is_some() && !takes_figures {
            ("figures", "`tom`")
        } else if !self.programs.is_empty() && !takes_programs {
            ("programs", "`buddy`, `tom` and, with `--part judged`, `uvm`")
        } else {
            return Ok(());
        };
        let name = study.name();
        Err(LabError::Request(format!("{what} of `{name}` are not selected one by one; those of {those} are")))
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
    let mut directory = out.join(format!("reproduce-{}", request.study.name()));
    let part = request.part.as_deref();
    check_part(request.study, part)?;
    request.selection.check(request.study, part)?;
    let runs = Runs::below(&Store::place(request.store.as_deref())?)?;
    let (mut page, rows, told): (Page, Vec<Row>, Vec<String>) = match request.study {
        Study::Of(paper) => {
            let (page, rows) = match paper {
                Paper::Buddy => buddy::reproduce(request.effort, &request.selection, &directory, &runs, begins)?,
                Paper::Cmd => cmd::reproduce(request.effort, &runs, begins)?,
                Paper::Uvm => uvm::reproduce(request.effort, part, &request.selection.programs, &runs, begins)?,
                Paper::Tom => tom::reproduce(request.effort, &request.selection, &runs, begins)?,
            };
            let told = headline(paper, &rows);
            (page, rows, told)
        }
        Study::Composition => composition::study(request.effort, part, &runs, begins)?,
    };
    let first = match request.study {
        Study::Of(paper) => headline::chart(paper, &rows),
        Study::Composition => None,
    };
    page.summary = (!rows.is_empty()).then(|| Figure { chart: first, ..beside(&rows) });
    redrawn::redraw(&mut page, &rows);
    // The page of a part stands beside that of the whole, and uses the same runs.
    directory.extend(part);
    directory.extend(request.selection.folder());
    page.save(&told, &directory)?;
    Ok(Reproduction { page, headline: told, rows, directory })
}

/// An error if the study does not have this part.
fn check_part(study: Study, part: Option<&str>) -> Result<(), LabError> {
    let parts = study.parts();
    match part {
        Some(part) if parts.is_empty() => {
            let name = study.name();
            Err(LabError::Request(format!("`{name}` is reproduced as a whole: it has no part `{part}`")))
        }
        Some(part) if !parts.contains(&part) => {
            let near = suggestion(part, parts.iter().copied());
            Err(LabError::Request(format!("`{}` has no part `{part}`; {near}", study.name())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_paper() {
        let [cmd, uvm] = [Paper::Cmd, Paper::Uvm].map(Study::Of);
        assert!(check_part(uvm, Some("learning")).is_ok() && check_part(cmd, None).is_ok());
        let misspelt = check_part(uvm, Some("lop")).expect_err("unknown").to_string();
        assert!(misspelt.contains("did you mean `loop`?"), "{misspelt}");
        assert!(check_part(cmd, Some("loop")).expect_err("whole").to_string().contains("as a whole"));
    }

    #[test]
    fn programs_are_selected_where_a_study_can_be_made_of_some() {
        let some = Selection { programs: vec!["KM".into()], figure: Some("8".into()) };
        assert_eq!(some.folder().as_deref(), Some("KM-8"));
        let [buddy, cmd, tom, uvm] = [Paper::Buddy, Paper::Cmd, Paper::Tom, Paper::Uvm].map(Study::Of);
        assert!(some.check(tom, None).is_ok() && Selection::default().check(cmd, None).is_ok());
        assert!(some.check(buddy, None).expect_err("no figures").to_string().contains("those of `tom` are"));
        let programs = Selection { figure: None, ..some };
        assert!(programs.check(buddy, None).is_ok());
        assert!(programs.check(uvm, Some("judged")).is_ok() && programs.check(uvm, Some("loop")).is_err());
        assert!(programs.check(cmd, None).expect_err("whole").to_string().contains("those of `buddy`, `tom` and,"));
    }

    #[test]
    fn studies_are_found_by_name_and_all_are_the_papers() {
        assert_eq!(Study::named("all").expect("known"), Paper::ALL.map(Study::Of));
        assert_eq!(Study::named("composition").expect("known"), [Study::Composition]);
        assert!(Study::named("budy").expect_err("unknown").to_string().contains("did you mean `buddy`?"));
    }
}
