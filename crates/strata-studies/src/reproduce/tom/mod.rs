//! TOM (Hsieh et al., ISCA 2016): its figures.
//!
//! The programs of its Table 2 on the machines of its Table 1. Speeds are means of ratios, as in the paper.

mod ceiling;
mod figures;
mod rows;
mod suite;
mod sweeps;
mod timing;

use super::redrawn::id_of;
use super::runs::Runs;
use super::{Effort, Row, Selection};
use crate::report::{Figure, Page};
use figures::Made;
use rows::rows;
use strata_core::nearest::suggestion;
use strata_run::LabError;
use strata_run::Step;
use suite::{BASELINE, PROGRAMS, Program, Scheme};
use timing::Timing;

/// Runs what was selected and makes the page. Sensitivities are left out of a quick look, unless one is asked for.
pub(super) fn reproduce(
    effort: Effort,
    selection: &Selection,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let programs = selected_programs(&selection.programs)?;
    let mut plan = Plan { figures: figures::all(), sweeps: sweeps::all() };
    match &selection.figure {
        Some(name) => plan.keep(name)?,
        None if effort == Effort::Quick => plan.sweeps.clear(),
        None => {}
    }
    let (page, mut rows) = study(&programs, effort, &plan, runs, begins)?;
    if selection.figure.is_some() {
        let ids: Vec<_> = plan.figures.iter().chain(&plan.sweeps).map(|made| made.id).collect();
        rows.retain(|row| ids.contains(&id_of(row.item).as_str()));
    }
    Ok((page, rows))
}

/// The programs of these names, in the paper's order; all if none are named.
fn selected_programs(names: &[String]) -> Result<Vec<Program>, LabError> {
    let is = |program: &Program, name: &str| program.name.eq_ignore_ascii_case(name) || program.workload == name;
    if let Some(unknown) = names.iter().find(|name| !PROGRAMS.iter().any(|program| is(program, name))) {
        let near = suggestion(unknown, PROGRAMS.map(|program| program.name));
        return Err(LabError::Request(format!("`tom` has no program `{unknown}`; {near}")));
    }
    let chosen = |program: &Program| names.is_empty() || names.iter().any(|name| is(program, name));
    Ok(PROGRAMS.into_iter().filter(chosen).collect())
}

/// What is to be made.
struct Plan {
    figures: Vec<Made>,
    sweeps: Vec<Made>,
}

impl Plan {
    /// Keeps one figure: `8`, `figure-8` or `learning`.
    fn keep(&mut self, name: &str) -> Result<(), LabError> {
        let id =
            if name.starts_with(|c: char| c.is_ascii_digit()) { format!("figure-{name}") } else { name.to_owned() };
        let ids: Vec<_> = self.figures.iter().chain(&self.sweeps).map(|made| made.id).collect();
        if !ids.contains(&id.as_str()) {
            let near = suggestion(&id, ids);
            return Err(LabError::Request(format!("`tom` has no figure `{name}`; {near}")));
        }
        self.figures.retain(|made| made.id == id);
        self.sweeps.retain(|made| made.id == id);
        Ok(())
    }
}

/// The machines that some figures need.
fn schemes(figures: &[Made]) -> Vec<Scheme> {
    let mut all = vec![BASELINE];
    for &scheme in figures.iter().flat_map(|made| &made.schemes) {
        if !all.contains(&scheme) {
            all.push(scheme);
        }
    }
    all
}

/// What sensitivities are studied with: many machines, so inputs of the effort below.
const fn below(effort: Effort) -> Effort {
    match effort {
        Effort::Quick | Effort::Standard => Effort::Quick,
        Effort::Full => Effort::Standard,
    }
}

fn study(
    programs: &[Program],
    effort: Effort,
    plan: &Plan,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let mut timed = |effort: Effort, figures: &[Made]| -> Result<Vec<Timing>, LabError> {
        if figures.is_empty() {
            return Ok(Vec::new());
        }
        let timings = timing::study(programs, effort, &schemes(figures), runs, begins)?;
        let wrong = failures(&timings);
        if wrong.is_empty() {
            Ok(timings)
        } else {
            Err(LabError::Request(format!("programs failed:\n{}", wrong.join("\n"))))
        }
    };
    let timings = timed(effort, &plan.figures)?;
    let varied = timed(below(effort), &plan.sweeps)?;
    let make =
        |made: &[Made], timings: &[Timing]| made.iter().map(|made| (made.make)(timings)).collect::<Vec<Figure>>();
    let figures = [make(&plan.figures, &timings), make(&plan.sweeps, &varied)].concat();
    let sizes = |effort: Effort| {
        programs.iter().map(|p| format!("{} {}", p.name, p.size(effort))).collect::<Vec<_>>().join(", ")
    };
    let introduction = format!(
        "Programs on ndp-maxwell (64 SMs, and one on each of four stacks) beside ndp-maxwell-68, at these sizes: {}; \
         sensitivities at these: {}. Our programs are our own, written after the originals. Where the paper prints a number it \
         stands beside ours in the list of rows. The paper takes programs that use more than half of the memory's bandwidth: means \
         of those that do so here stand beside the means of all.",
        sizes(effort),
        sizes(below(effort))
    );
    let title = "TOM: Transparent Offloading and Mapping".to_owned();
    Ok((Page { title, introduction, summary: None, figures }, rows(&timings, &varied)))
}

/// Runs that failed or computed something wrong.
fn failures(timings: &[Timing]) -> Vec<String> {
    let points = timings.iter().flat_map(|t| t.points.iter().map(move |(s, point)| (t.program.name, s.name, point)));
    let wrong = points.filter_map(|(program, scheme, point)| match point {
        Err(error) => Some(format!("{program} on {scheme}: {error}")),
        Ok(point) if !point.passed => Some(format!("{program} on {scheme}: its result is wrong")),
        Ok(_) => None,
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole road, on inputs that say nothing about the paper.
    #[test]
    fn every_figure_is_made_and_no_policy_is_above_the_ceiling() {
        let tiny = |name: &str| PROGRAMS.into_iter().find(|p| p.name == name).expect("known").tiny();
        let programs = [tiny("KM"), tiny("RD")];
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(directory.path()).expect("a store");
        let plan = Plan { figures: figures::all(), sweeps: sweeps::all() };
        let (page, rows) = study(&programs, Effort::Quick, &plan, &runs, &mut |_| ()).expect("it runs");
        let ids: Vec<_> = page.figures.iter().map(|figure| &figure.id).collect();
        let made = plan.figures.iter().chain(&plan.sweeps).map(|made| made.id);
        assert_eq!(ids, made.collect::<Vec<_>>(), "figures carry the names that they are selected by");
        for figure in &page.figures {
            assert_eq!(figure.rows.len(), programs.len() + 2, "{}", figure.id);
        }
        for row in &rows {
            let is_group = ["all", "any", figures::PRESSING].contains(&row.workload.as_str());
            let is_of = is_group || programs.iter().any(|p| p.name == row.workload);
            let is_measured = row.ours.value.is_some() || row.workload == figures::PRESSING;
            assert_eq!(is_measured, is_of, "{} of {}: {}", row.item, row.workload, row.metric);
            assert!(row.paper_value.is_some(), "{}: {}", row.item, row.metric);
        }

        let timings = timing::study(&programs, Effort::Quick, &schemes(&plan.figures), &runs, &mut |_| ())
            .expect("they are there");
        for t in &timings {
            let ceiling = t.ceiling.expect("the baseline ran");
            for scheme in ceiling::BELOW {
                let speed = t.speed(scheme).expect("it ran");
                assert!(speed <= ceiling, "{} on {}: {speed} above {ceiling}", t.program.name, scheme.name);
            }
        }
    }

    #[test]
    fn a_figure_and_programs_are_selected_by_name() {
        let kept = |name: &str| {
            let mut plan = Plan { figures: figures::all(), sweeps: sweeps::all() };
            plan.keep(name).map(|()| plan.figures.iter().chain(&plan.sweeps).map(|made| made.id).collect::<Vec<_>>())
        };
        assert_eq!(kept("8").expect("known"), ["figure-8"]);
        assert_eq!(kept("figure-13").expect("known"), ["figure-13"]);
        assert_eq!(kept("pages").expect("known"), ["pages"]);
        assert!(kept("lerning").expect_err("unknown").to_string().contains("did you mean `learning`?"));
        let named = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            selected_programs(&names).map(|programs| programs.iter().map(|p| p.name).collect::<Vec<_>>())
        };
        assert_eq!(named(&["rd", "KM"]).expect("known"), ["KM", "RD"]);
        assert_eq!(named(&["kmeans"]).expect("known"), ["KM"]);
        assert_eq!(named(&[]).expect("all").len(), PROGRAMS.len());
        assert!(named(&["KN"]).expect_err("unknown").to_string().contains("KM"));
        assert_eq!((id_of("Figure 8"), id_of("Section 6.5")), ("figure-8".to_owned(), "section-6-5".to_owned()));
    }
}
