//! TOM (Hsieh et al., ISCA 2016): its figures.
//!
//! The programs of its Table 2 on the machines of its Table 1. Speeds are means of ratios, as in the paper.

mod figures;
mod rows;
mod suite;
mod timing;

use super::runs::Runs;
use super::{Effort, Row};
use crate::report::Page;
use rows::rows;
use std::path::Path;
use strata_run::LabError;
use strata_run::Step;
use suite::{PROGRAMS, Program, Scheme};
use timing::Timing;

/// Runs everything and makes the page.
pub(super) fn reproduce(
    effort: Effort,
    directory: &Path,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    study(&PROGRAMS, effort, effort != Effort::Quick, directory, begins)
}

fn study(
    programs: &[Program],
    effort: Effort,
    sweeps: bool,
    directory: &Path,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let timings = timing::study(programs, effort, &Scheme::all(sweeps), &Runs::below(directory)?, begins)?;
    let wrong = failures(&timings);
    if !wrong.is_empty() {
        return Err(LabError::Request(format!("programs failed:\n{}", wrong.join("\n"))));
    }
    let timings = &timings[..];
    let mut all = vec![
        figures::figure_2(timings),
        figures::figure_3(timings),
        figures::figure_5(timings),
        figures::figure_6(timings),
        figures::figure_8(timings),
        figures::figure_9(timings),
        figures::figure_10(timings),
        figures::offloaded(timings),
        figures::link_use(timings),
        figures::registers(timings),
    ];
    if sweeps {
        all.extend(figures::sweeps(timings));
    }
    let sizes: Vec<_> = programs.iter().map(|p| format!("{} {}", p.name, p.size(effort))).collect();
    let introduction = format!(
        "Programs on ndp-maxwell (64 SMs, and one on each of four stacks) beside ndp-maxwell-68, at these sizes: {}. Our \
         programs are our own, written after the originals. Where the paper prints a number it stands beside ours in the \
         list of rows.",
        sizes.join(", ")
    );
    let title = "TOM: Transparent Offloading and Mapping".to_owned();
    Ok((Page { title, introduction, summary: None, figures: all }, rows(timings, sweeps)))
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
    fn every_figure_is_made() {
        let tiny = |name: &str| PROGRAMS.into_iter().find(|p| p.name == name).expect("known").tiny();
        let programs = [tiny("KM"), tiny("RD")];
        let directory = tempfile::tempdir().expect("a folder");
        let (page, rows) = study(&programs, Effort::Quick, true, directory.path(), &mut |_| ()).expect("it runs");
        let ids: Vec<_> = page.figures.iter().map(|figure| &figure.id).collect();
        for number in [2, 3, 5, 6, 8, 9, 10, 11, 12, 13] {
            let id = format!("figure-{number}");
            let figure = page.figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{ids:?}"));
            assert_eq!(figure.rows.len(), programs.len() + 1, "{id}");
        }
        for row in &rows {
            let is_of =
                row.workload == "all" || row.workload == "any" || programs.iter().any(|p| p.name == row.workload);
            assert_eq!(row.ours.value.is_some(), is_of, "{} of {}: {}", row.item, row.workload, row.metric);
            assert!(row.paper_value.is_some(), "{}: {}", row.item, row.metric);
        }
    }
}
