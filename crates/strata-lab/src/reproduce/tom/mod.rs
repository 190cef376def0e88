//! TOM (Hsieh et al., ISCA 2016): its figures.
//!
//! The programs of its Table 2 that are built in, on the machines of its Table 1. Speeds are means of ratios, as in the paper.

mod figures;
mod suite;
mod timing;

use super::runs::Runs;
use super::{Effort, Paper, PaperNumbers, Row, mean};
use crate::error::LabError;
use crate::monitor::Step;
use crate::report::Page;
use figures::ALL;
use std::path::Path;
use strata_tom::storage::Storage;
use suite::{
    BASELINE, CROSS, CTRL_BMAP, CTRL_ORACLE, CTRL_TMAP, IDEAL, INTERNAL_1X, NOCTRL_BMAP, NOCTRL_TMAP, PROGRAMS,
    Program, Scheme, WARPS_4X,
};
use timing::{Point, Timing};

/// Runs everything and makes the page.
pub(super) fn reproduce(
    effort: Effort,
    directory: &Path,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let (size, sweeps) = match effort {
        Effort::Quick => ("small", false),
        Effort::Standard => ("small", true),
        Effort::Full => ("medium", true),
    };
    let (there, missing): (Vec<_>, Vec<_>) =
        PROGRAMS.into_iter().partition(|program| strata_workloads::find(program.workload).is_ok());
    study(&there, &missing, size, sweeps, directory, begins)
}

fn study(
    programs: &[Program],
    missing: &[Program],
    size: &'static str,
    sweeps: bool,
    directory: &Path,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let timings = timing::study(programs, size, &Scheme::all(sweeps), &Runs::below(directory)?, begins)?;
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
    ];
    if sweeps {
        all.extend(figures::sweeps(timings));
    }
    let names: Vec<_> = missing.iter().map(|program| program.name).collect();
    let without = if names.is_empty() { String::new() } else { format!(" Not built in yet: {}.", names.join(", ")) };
    let introduction = format!(
        "Programs at size {size} on ndp-maxwell (64 SMs, and one on each of four stacks) beside ndp-maxwell-68. Our programs \
         are our own, written after the originals at a smaller scale.{without} Where the paper prints a number it stands \
         beside ours in the list of rows."
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

/// The paper's numbers beside ours.
fn rows(timings: &[Timing], sweeps: bool) -> Vec<Row> {
    let paper = PaperNumbers::of(Paper::Tom);
    let mut rows = Vec::new();
    let mut add = |item, workload: &str, metric: &str, path: &str, ours: Option<f64>| {
        let (workload, metric, paper_value) = (workload.to_owned(), metric.to_owned(), paper.get(path));
        rows.push(Row { paper: Paper::Tom, item, workload, metric, paper_value, ours });
    };
    let all = |value: &dyn Fn(&Timing) -> Option<f64>| mean(timings.iter().filter_map(value));
    let gain = |scheme: Scheme| all(&|t| Some(t.speed(scheme)? - 1.0));
    let most = |value: &dyn Fn(&Timing) -> Option<f64>| timings.iter().filter_map(value).reduce(f64::max);
    let saved = |scheme: Scheme, part: fn(&Point) -> f64| all(&|t| Some(1.0 - t.relative(scheme, BASELINE, part)?));
    let traffic = |scheme| saved(scheme, Point::traffic);

    add("Figure 2", ALL, "ideal speed-up", "speedup.ideal", gain(IDEAL));
    let oracle = all(&|t| Some(t.relative(CTRL_BMAP, CTRL_ORACLE, |p| p.cycles)? - 1.0));
    add("Figure 3", ALL, "gain of the ideal mapping", "ideal_mapping_gain", oracle);
    let fixed: Vec<f64> = timings.iter().flat_map(|t| t.surveyed.fixed.iter().copied()).collect();
    let some = mean(fixed.iter().map(|&share| f64::from(share > 0.0)));
    add("Figure 5", ALL, "candidates with fixed offsets", "fixed_offset_candidates", some);
    let surveyed = |value: fn(&Timing) -> f64| all(&|t| (t.surveyed.instances > 0).then(|| value(t)));
    let one = "an instance accesses one stack";
    for (name, path, ours) in [
        ("baseline map", "baseline", surveyed(|t| t.surveyed.baseline)),
        ("best bits", "best_bits", surveyed(|t| t.surveyed.best)),
        ("learned from 0.1 %", "learned_0_1_percent", surveyed(|t| t.surveyed.learned[0])),
    ] {
        add("Figure 6", ALL, &format!("{one}: {name}"), &format!("one_stack_probability.{path}"), ours);
    }
    for (scheme, path) in [(NOCTRL_BMAP, "noctrl_bmap"), (NOCTRL_TMAP, "noctrl_tmap"), (CTRL_TMAP, "ctrl_tmap")] {
        add("Figure 8", ALL, &format!("speed-up, {}", scheme.name), &format!("speedup.{path}"), gain(scheme));
    }
    add(
        "Figure 8",
        ALL,
        "largest speed-up, ctrl, tmap",
        "speedup.ctrl_tmap_max",
        most(&|t| Some(t.speed(CTRL_TMAP)? - 1.0)),
    );
    for (name, path, scheme) in [
        ("KM", "km.bmap", CTRL_BMAP),
        ("KM", "km.tmap", CTRL_TMAP),
        ("RD", "rd.bmap", CTRL_BMAP),
        ("RD", "rd.tmap", CTRL_TMAP),
        ("BFS", "bfs.bmap", CTRL_BMAP),
        ("BFS", "bfs.tmap", CTRL_TMAP),
        ("BFS", "bfs.oracle_mapping", CTRL_ORACLE),
        ("LIB", "lib.ctrl", CTRL_TMAP),
        ("LIB", "lib.noctrl", NOCTRL_TMAP),
    ] {
        let ours = timings.iter().find(|t| t.program.name == name).and_then(|t| t.speed(scheme)).map(|s| s - 1.0);
        add("Figure 8", name, &format!("speed-up, {}", scheme.name), path, ours);
    }
    for (scheme, path) in [(NOCTRL_TMAP, "noctrl_tmap"), (CTRL_TMAP, "ctrl_tmap")] {
        let metric = format!("traffic saved, {}", scheme.name);
        add("Figure 9", ALL, &metric, &format!("traffic_reduction.{path}"), traffic(scheme));
    }
    for (scheme, path) in [(NOCTRL_BMAP, "bmap"), (NOCTRL_TMAP, "tmap")] {
        let ours = all(&|t| Some(t.point(scheme)?.cross / t.point(BASELINE)?.traffic()));
        let metric = format!("memory-to-memory traffic, {}", scheme.name);
        add("Figure 9", ALL, &metric, &format!("memory_to_memory_traffic.{path}"), ours);
    }
    for (scheme, path) in [(NOCTRL_BMAP, "noctrl_bmap"), (CTRL_TMAP, "ctrl_tmap")] {
        let metric = format!("energy saved, {}", scheme.name);
        add("Figure 10", ALL, &metric, &format!("energy_reduction.{path}"), saved(scheme, |p| p.energy));
    }
    for (scheme, path) in [(NOCTRL_TMAP, "noctrl"), (CTRL_TMAP, "ctrl")] {
        let ours = all(&|t| t.point(scheme).map(|p| p.offloaded / p.instructions));
        let metric = format!("offloaded instructions, {}", scheme.name);
        add("Section 6.1", ALL, &metric, &format!("offloaded_instructions.{path}"), ours);
    }
    let storage = Storage::of(4, 48, 100, 40);
    for (path, metric, bits) in [
        ("analyzer_per_sm", "bits of the memory map analyser of an SM", storage.analyser_per_sm),
        ("allocation_table", "bits of the memory allocation table", storage.allocation_table),
        ("metadata_table_per_sm", "bits of the offloading metadata table of an SM", storage.metadata_table_per_sm),
    ] {
        add("Section 6.6", "any", metric, &format!("storage_bits.{path}"), Some(bits as f64));
    }
    if sweeps {
        add("Figure 11", ALL, "speed-up, 4x warps", "speedup_4x_warps", gain(WARPS_4X));
        add("Figure 12", ALL, "traffic saved, 4x warps", "traffic_reduction.ctrl_4x_warps", traffic(WARPS_4X));
        add("Figure 13", ALL, "speed-up, 1x internal", "speedup_1x_internal_bandwidth", gain(INTERNAL_1X));
        for (path, scheme) in CROSS {
            let metric = format!("speed-up, {}", scheme.name);
            add("Section 6.5", ALL, &metric, &format!("cross_stack_speedup.{path}"), gain(scheme));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole road, on inputs that say nothing about the paper.
    #[test]
    fn every_figure_is_made() {
        let programs = [PROGRAMS[0], PROGRAMS[9]];
        let directory = tempfile::tempdir().expect("a folder");
        let (page, rows) =
            study(&programs, &[PROGRAMS[5]], "tiny", false, directory.path(), &mut |_| ()).expect("it runs");
        assert!(page.introduction.contains("Not built in yet: LIB."));
        for id in ["figure-2", "figure-3", "figure-5", "figure-6", "figure-8", "figure-9", "figure-10", "offloaded"] {
            let figure = page.figures.iter().find(|figure| figure.id == id).expect(id);
            assert_eq!(figure.rows.len(), programs.len() + 1, "{id}");
        }
        assert!(rows.iter().any(|row| row.workload == "RD" && row.ours.is_some() && row.paper_value == Some(0.76)));
    }
}
