//! CMD (Zhao et al.): its figures.
//!
//! Thirteen programs on the machine of its Table II, with each of the schemes that it compares. `bpc` has its metadata in
//! DRAM behind a cache here, as this paper describes it. A quick study has parts of that machine, as small as its inputs; a
//! standard one has the whole machine, and shows beside it what parts of it say.

mod beyond;
mod figures;
mod rows;
mod suite;
mod timing;

use super::runs::Runs;
use super::{Effort, Paper, PaperNumbers, Row};
use crate::report::Page;
use rows::rows;
use strata_cmd::Area;
use strata_cmd::settings::{CMD as CMD_SETTINGS, Scheme as Deduplication, Settings};
use strata_core::settings::Settings as Values;
use strata_run::LabError;
use strata_run::Step;
use suite::{CMD, Extent, PROGRAMS, Program, Scheme};
use timing::{Machine, SizeOf, Timing};

/// Runs everything and makes the page.
pub(super) fn reproduce(
    effort: Effort,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let extent = match effort {
        Effort::Quick => Extent::Quick,
        Effort::Standard => Extent::Standard,
        Effort::Full => Extent::Full,
    };
    let sizes = Sizes { own: &|program| extent.size(program), models: &|program| Extent::Quick.size(program) };
    study(&PROGRAMS, extent, sizes, runs, begins)
}

/// Sizes of inputs: of the study itself, and of the parts of the machine that it shows beside it.
#[derive(Clone, Copy)]
struct Sizes<'a> {
    own: SizeOf<'a>,
    models: SizeOf<'a>,
}

fn study(
    programs: &[Program],
    extent: Extent,
    sizes: Sizes<'_>,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let machine = if extent == Extent::Quick { Machine::ScaleModel } else { Machine::Whole };
    let timings = timing::study(programs, sizes.own, machine, &extent.schemes(), runs, begins)?;
    // The same that a quick study would say, from fewer runs.
    let pair = [Scheme::Baseline, CMD];
    let models = match extent {
        Extent::Quick => Vec::new(),
        _ => timing::study(programs, sizes.models, Machine::ScaleModel, &pair, runs, begins)?,
    };
    let wrong = [failures(&timings), failures(&models)].concat();
    if !wrong.is_empty() {
        return Err(LabError::Request(format!("programs failed:\n{}", wrong.join("\n"))));
    }
    let introduction = format!(
        "Thirteen programs of our own, written after the originals, at the size {} on the machine cmd-gddr6, {}. Every \
         mean is over all programs first and says how many it covers; means beside it leave out who is cache-resident on the \
         plain machine. Where the paper prints a number it stands beside ours in the list of rows.",
        extent.sizes(),
        match machine {
            Machine::Whole => "whole as in Table II",
            Machine::ScaleModel => "scaled down with programs that would fit into its caches",
        }
    );
    let title = "CMD, reproduced".into();
    let figures = figures_of(&timings, &models, extent)?;
    Ok((Page { title, introduction, summary: None, figures }, rows(&timings, extent)))
}

fn figures_of(timings: &[Timing], models: &[Timing], extent: Extent) -> Result<Vec<crate::report::Figure>, LabError> {
    let sweeps = extent != Extent::Quick;
    let mut all = vec![
        figures::inputs(timings),
        figures::figure_2(timings),
        figures::figure_3(timings),
        figures::figure_6(timings, sweeps),
        figures::figure_8(timings),
        figures::figure_11(timings),
    ];
    all.extend(figures::figure_13(timings));
    all.extend([figures::figure_14(timings), figures::figure_15(timings)]);
    all.extend(figures::figure_16(timings));
    all.extend(figures::figure_17(timings, sweeps));
    all.extend([figures::figure_18(timings, sweeps), figures::figure_19(timings)]);
    all.push(beyond::hit_rates(timings));
    all.extend(beyond::reuse(timings));
    all.push(beyond::reads(timings));
    if sweeps {
        all.push(beyond::sectors(timings));
        all.extend(beyond::added(timings));
        all.push(beyond::guard(timings));
        all.extend([beyond::limits(timings), beyond::later(timings), beyond::scale_models(models, timings)]);
    }
    if extent == Extent::Full {
        all.push(beyond::hash_intervals(timings));
    }
    all.extend([beyond::area(&area()?, &PaperNumbers::of(Paper::Cmd)), beyond::contradictions()]);
    Ok(all)
}

/// Of the design on the machine of Table II.
fn area() -> Result<Area, LabError> {
    let values = Values::read("cmd", CMD_SETTINGS, &[""; 0]).map_err(|e| LabError::Request(e.join("\n")))?;
    let gpu = strata_sim::config::load(timing::GPU, &[""; 0]).map_err(|e| LabError::Request(e.to_string()))?;
    Ok(Area::of(&Settings::of(Deduplication::Cmd, &values), &gpu.config))
}

/// Runs that failed or computed something wrong.
fn failures(timings: &[Timing]) -> Vec<String> {
    let points =
        timings.iter().flat_map(|t| t.points.iter().map(move |(scheme, point)| (t.program.name, scheme, point)));
    let wrong = points.filter_map(|(program, scheme, point)| match point {
        Err(error) => Some(format!("{program} on {}: {error}", scheme.name())),
        Ok(point) if !point.passed => Some(format!("{program} on {}: its result is wrong", scheme.name())),
        Ok(_) => None,
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: Sizes<'_> = Sizes { own: &|_| "tiny", models: &|_| "tiny" };

    /// The longest study of one program: every scheme can be run, and has its place in a figure.
    #[test]
    fn a_full_study_has_figures_for_all_that_it_runs() {
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(directory.path()).expect("a store");
        let (page, rows) = study(&[PROGRAMS[8]], Extent::Full, TINY, &runs, &mut |_| ()).expect("it runs");
        let figure = |id: &str| page.figures.iter().find(|figure| figure.id == id).expect("it is on the page");
        for id in ["limits", "later", "hash-interval", "area"] {
            let first = &figure(id).rows[0];
            assert!(!first.contains(&crate::report::Cell::None), "{}", figure(id).text());
        }
        for id in
            ["beyond", "beyond-traffic", "guard", "hit-rates", "scale-models", "fifo-curve", "rereads", "access-energy"]
        {
            assert!(figure(id).text().contains("backprop"), "{id}");
        }
        assert!(figure("contradictions").text().contains("9.52 %"));
        assert!(rows.iter().any(|row| row.item == "Beyond" && row.ours.value.is_some()));
    }

    /// The whole road, on inputs that say nothing about the paper.
    #[test]
    fn every_figure_is_made() {
        let programs = [PROGRAMS[4], PROGRAMS[6], PROGRAMS[8]];
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(directory.path()).expect("a store");
        let (page, rows) = study(&programs, Extent::Quick, TINY, &runs, &mut |_| ()).expect("it runs");
        let words_alone = ["area", "contradictions"];
        for figure in page.figures.iter().filter(|figure| !words_alone.contains(&figure.id.as_str())) {
            // Every program, and means of all programs and of two groups that say how many they cover.
            let text = figure.text();
            assert!(programs.iter().all(|program| text.contains(program.name)), "{}", figure.id);
            let means: Vec<&str> = text.lines().filter(|line| line.contains("mean of ")).collect();
            assert!(means.len() >= 3, "{}", figure.id);
            // Whoever is left out is left out beside a mean of all.
            let all = means.iter().filter(|line| line.starts_with("all, ") && !line.contains("not cache-resident"));
            assert!(
                all.clone().count() == 1 && all.clone().all(|line| line.contains("of 3 ")),
                "{}: {text}",
                figure.id
            );
        }
        for row in &rows {
            let of = row.ours.programs.map(|(_, of)| of);
            assert!(row.workload != "all" || of.is_none_or(|of| of == programs.len()), "{} {}", row.item, row.metric);
        }
        for id in ["figure-2", "figure-3", "figure-8", "figure-11", "figure-13", "figure-17d", "figure-19"] {
            assert!(page.figures.iter().any(|figure| figure.id == id), "{id}");
        }
        assert!(rows.iter().any(|row| row.item == "Figure 16" && row.metric == "energy saved, cmd+bpc"));
    }
}
