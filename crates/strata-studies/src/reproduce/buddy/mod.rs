//! Buddy Compression (Choukse et al., ISCA 2020): its figures.
//!
//! Targets are chosen on each program's small input and judged on a larger one, as the paper does; programs run on the
//! machine of its Table I. Figure 15d (training accuracy) is not here.

mod energy;
mod figures;
mod memory;
mod suite;
mod timing;
mod training;
mod unified;

use super::runs::Runs;
use super::{Effort, Measured, Paper, PaperNumbers, Row, Selection, Standing, geometric_mean, mean};
use crate::bench;
use crate::report::{Cell, Figure, Page};
use crate::validate::{ValidateRequest, validate};
use figures::Subject;
use memory::Memory;
use std::path::Path;
use strata_codec::Codec;
use strata_run::LabError;
use strata_run::Step;
use suite::{Inputs, PROGRAMS, Suite};
use timing::{Scheme, Timing};

/// Seeds of a full reproduction; the others use the first.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Runs everything and makes the page; of some programs, what is theirs.
pub(super) fn reproduce(
    effort: Effort,
    selection: &Selection,
    directory: &Path,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let (judged, timed): (_, _) = match effort {
        Effort::Quick => ("small", "tiny"),
        Effort::Standard => ("medium", "small"),
        Effort::Full => ("medium", "medium"),
    };
    let links: &[u32] = if effort == Effort::Quick { &[50, 150] } else { &[50, 100, 150, 200] };
    let whole = effort != Effort::Quick;
    let programs = suite::selected(&selection.programs)?;
    let inputs = Inputs { programs: &programs, profiled: "small", judged, timed, whole, links, seed: SEEDS[0] };
    let (mut page, mut rows) = study(inputs, effort == Effort::Full, directory, runs, begins)?;
    if !selection.programs.is_empty() {
        return Ok((page, rows));
    }
    let (figure, correlation) = figure_11(begins)?;
    page.figures.push(figure);
    let printed = PaperNumbers::of(Paper::Buddy).get("simulator_correlation.theirs");
    rows.push(row("Figure 11", "silicon kernels", "correlation of cycles", printed, correlation));
    Ok((page, rows))
}

/// Everything that our programs say.
fn study(
    inputs: Inputs<'_>,
    seeds: bool,
    directory: &Path,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let paper = PaperNumbers::of(Paper::Buddy);
    let memories = memory::study(inputs, directory, begins)?;
    let timings = timing::study(&memories, inputs, runs, begins)?;
    let subjects: Vec<_> = memories.iter().zip(&timings).map(|(memory, timing)| Subject { memory, timing }).collect();

    let mut figures = vec![
        figures::inputs(&subjects),
        figures::figure_3(&subjects),
        figures::figure_5a(&subjects),
        figures::figure_5b(&subjects),
        figures::figure_6b(&subjects),
    ];
    figures.extend(figures::figure_7(&subjects));
    figures.extend([figures::figure_8(&subjects), figures::figure_9(&subjects)]);
    figures.extend(figures::figure_10(&subjects));
    figures.extend(figures::figure_12(&subjects, inputs.links));
    figures.push(figures::profilers(&subjects));
    figures.extend(figures::scale_models(&subjects));
    figures.push(figures::figure_13(&subjects, &paper));
    let unified = unified::study(inputs, runs, begins)?;
    figures.push(unified::figure(&unified, &subjects, &inputs));

    let (training, projected) = training::figures(&subjects, &paper)?;
    figures.extend(training);

    let mut rows = means(&subjects, &paper);
    rows.extend(projected);
    let printed = paper.get("um_oversubscription_slowdown_range.1");
    rows.push(row("Figure 14", "worst", "time over unified memory that fits", printed, unified::worst(&unified)));
    if seeds {
        figures.push(other_seeds(&memories, inputs, directory, begins)?);
    }
    let introduction = format!(
        "{} of {} programs. Snapshots at size {}, targets from size {}; timed at size {} (networks at {2}) on {}. Our programs are our own, written after the \
         originals' mathematics at a smaller scale, so ratios follow our data; where the paper prints a number it stands \
         beside ours in the list of rows.",
        inputs.programs.len(),
        PROGRAMS.len(),
        inputs.judged,
        inputs.profiled,
        inputs.timed,
        if inputs.whole {
            "the machine p100-buddy"
        } else {
            "models of the machine p100-buddy, as many times smaller as the program would have to be larger"
        }
    );
    let wrong = failures(&subjects);
    if !wrong.is_empty() {
        return Err(LabError::Request(format!("programs failed:\n{}", wrong.join("\n"))));
    }
    // Those that show programs which were not selected.
    figures.retain(|figure| !figure.rows.is_empty());
    Ok((Page { title: "Buddy Compression, reproduced".into(), introduction, summary: None, figures }, rows))
}

/// Runs that failed or computed something wrong.
fn failures(subjects: &[Subject<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for subject in subjects {
        let models = subject.timing.model.iter().flat_map(|(_, points)| points);
        for (scheme, point) in subject.timing.points.iter().chain(models) {
            let name = subject.memory.program.name;
            match point {
                Err(error) => found.push(format!("{name} on {scheme:?}: {error}")),
                Ok(point) if !point.passed => found.push(format!("{name} on {scheme:?}: its result is wrong")),
                Ok(_) => {}
            }
        }
    }
    found
}

fn row(
    item: &'static str,
    workload: impl Into<String>,
    metric: &str,
    paper_value: Option<f64>,
    ours: impl Into<Measured>,
) -> Row {
    let (workload, metric, ours) = (workload.into(), metric.to_owned(), ours.into());
    Row { paper: Paper::Buddy, item, workload, metric, paper_value, ours, standing: Standing::Judged }
}

/// The paper's numbers beside ours.
fn means(subjects: &[Subject<'_>], paper: &PaperNumbers) -> Vec<Row> {
    let mut rows = Vec::new();
    for suite in Suite::ALL {
        rows.extend(of_suite(subjects, suite, paper));
    }
    let all = |value: &dyn Fn(&Timing) -> Option<f64>| -> Vec<Option<f64>> {
        subjects.iter().map(|s| value(s.timing)).collect()
    };
    let slower = |link| geometric_mean(all(&|t| t.time_ratio(Scheme::Buddy(link)))).map(|ratio| ratio - 1.0);
    let faster = geometric_mean(all(&|t| t.time_ratio(Scheme::Bandwidth))).map(|ratio| 1.0 / ratio - 1.0);
    let per_instruction =
        |scheme| move |t: &Timing| t.point(scheme).map(|p| p.overflows / p.warp_instructions.max(1.0));
    let worst =
        subjects.iter().filter(|s| s.is_of(Suite::Hpc) && !["hpgmg", "lulesh"].contains(&s.memory.program.name));
    let worst = worst.filter_map(|s| s.timing.time_ratio(Scheme::Buddy(50))).reduce(f64::max);
    let alexnet = subjects.iter().find(|s| s.memory.program.name == "alexnet");
    let alexnet_slower = |link| alexnet.and_then(|s| s.timing.time_ratio(Scheme::Buddy(link))).map(|ratio| ratio - 1.0);
    let get = |path: &str| paper.get(path);
    rows.extend([
        row("Figure 12", "all", "speed-up, bandwidth only", get("bandwidth_only_speedup"), faster),
        row("Figure 12", "all", "slowdown at 200 GB/s", get("slowdown_vs_unlimited.all_200GBps"), slower(200)),
        row(
            "Figure 12",
            "all",
            "slowdown at 50 GB/s (paper: more than)",
            get("slowdown_vs_unlimited.all_50GBps_more_than"),
            slower(50),
        ),
        row(
            "Section IV-C",
            "SpecACCEL, worst",
            "time at 50 GB/s over unlimited",
            get("specaccel_worst_time_ratio_50GBps"),
            worst,
        ),
        row(
            "Figure 12",
            "alexnet",
            "entries over their target",
            get("alexnet.buddy_accesses"),
            alexnet.map(|s| s.memory.designs[2].1.buddy_accesses()),
        ),
        row("Figure 12", "alexnet", "slowdown at 150 GB/s", get("alexnet.slowdown_150GBps"), alexnet_slower(150)),
        row("Figure 12", "alexnet", "slowdown at 50 GB/s", get("alexnet.slowdown_50GBps"), alexnet_slower(50)),
        row(
            "Section IV-B",
            "all",
            "use of the link at 150 GB/s",
            get("link_utilisation_150GBps.all"),
            mean(all(&|t| t.point(Scheme::Buddy(150)).map(|p| p.link_use))),
        ),
        row(
            "Section II-C",
            "all",
            "growing entries per warp instruction, all compressed",
            get("overflow_rate_per_warp_instruction.gpu"),
            mean(all(&per_instruction(Scheme::Bandwidth))),
        ),
    ]);
    rows
}

fn of_suite(subjects: &[Subject<'_>], suite: Suite, paper: &PaperNumbers) -> Vec<Row> {
    let own = || subjects.iter().filter(|s| s.is_of(suite));
    let of = |value: &dyn Fn(&Memory) -> Option<f64>| -> Vec<Option<f64>> { own().map(|s| value(s.memory)).collect() };
    let timed =
        |value: &dyn Fn(&Timing) -> Option<f64>| -> Vec<Option<f64>> { own().map(|s| value(s.timing)).collect() };
    let key = suite.key();
    let get = |path: &str| paper.get(&format!("{path}.{key}"));
    let mut rows = Vec::new();
    let mut add =
        |item, metric: &str, paper_value, ours: Measured| rows.push(row(item, suite.name(), metric, paper_value, ours));
    let ideal = geometric_mean(of(&|m| m.total.ratio(Codec::Bpc)));
    add("Figure 3", "ideal compression ratio", get("ideal_ratio_bpc"), ideal);
    let designs = [
        ("naive", "naive_ratio", Some("naive_buddy_accesses")),
        ("per allocation", "per_allocation_ratio", None),
        ("final", "final_ratio", Some("final_buddy_accesses")),
    ];
    for (k, (design, ratio, accesses)) in designs.into_iter().enumerate() {
        let ours = geometric_mean(of(&|m| Some(m.designs[k].1.ratio())));
        add("Figure 7", &format!("capacity ratio, {design}"), get(ratio), ours);
        let ours = mean(of(&|m| Some(m.designs[k].1.buddy_accesses())));
        add("Figure 7", &format!("entries over their target, {design}"), accesses.and_then(get), ours);
    }
    let dynamic = mean(timed(&|t| t.over_link(Scheme::Buddy(150))));
    add("Figure 12", "accesses over the link at 150 GB/s, of all", get("final_buddy_accesses"), dynamic);
    let weighed = geometric_mean(of(&|m| Some(m.by_accesses.outcome.ratio())));
    add("Figure 7", "capacity ratio, final, targets by accesses", get("final_ratio"), weighed);
    let weighed = mean(timed(&|t| t.over_link(Scheme::ByAccesses)));
    add(
        "Figure 12",
        "accesses over the link at 150 GB/s, of all, targets by accesses",
        get("final_buddy_accesses"),
        weighed,
    );
    let slower = geometric_mean(timed(&|t| t.time_ratio(Scheme::ByAccesses))).map(|ratio| ratio - 1.0);
    let printed = paper.get(&format!("slowdown_vs_unlimited.{key}_150GBps"));
    add("Figure 12", "slowdown at 150 GB/s, targets by accesses", printed, slower);
    let slower = geometric_mean(timed(&|t| t.time_ratio(Scheme::Buddy(150)))).map(|ratio| ratio - 1.0);
    add("Figure 12", "slowdown at 150 GB/s", paper.get(&format!("slowdown_vs_unlimited.{key}_150GBps")), slower);
    let link_use = mean(timed(&|t| t.point(Scheme::Buddy(150)).map(|p| p.link_use)));
    add("Section IV-B", "use of the link at 150 GB/s", get("link_utilisation_150GBps"), link_use);
    rows
}

/// Figure 11: how our simulator agrees with silicon, and how fast it is.
fn figure_11(begins: &mut (dyn FnMut(Step<'_>) + Send)) -> Result<(Figure, Option<f64>), LabError> {
    let validation = validate(
        &ValidateRequest { gpu: Some("titan-x-pascal".to_owned()), ..ValidateRequest::default() },
        &mut |step| {
            begins(step);
        },
    )?;
    let (ours, accel_sim) = (validation.score(), validation.accel_sim_score());
    let correlation = ours.and_then(|score| score.correlation);
    let gpus = bench::DEFAULT_GPUS.map(str::to_owned);
    let plan = bench::Plan { programs: &[], gpus: &gpus[..1], set: &[], peer: bench::Peer::default() };
    let speeds = bench::measure(plan, None, &mut |step| begins(step))?;
    let mut rows = vec![
        vec![Cell::from("correlation of cycles with silicon, ours"), Cell::number(correlation, 3)],
        vec![
            Cell::from("correlation of cycles with silicon, Accel-Sim"),
            Cell::number(accel_sim.and_then(|score| score.correlation), 3),
        ],
    ];
    for speed in speeds.rows.iter().filter(|speed| speed.timed.is_some()) {
        let what = format!("million thread instructions per second of CPU time, {}", speed.name);
        rows.push(vec![Cell::Text(what), Cell::Number(speed.per_second(speed.thread_instructions) / 1e6, 0)]);
    }
    let figure = Figure {
        id: "figure-11".into(),
        title: "The simulator against silicon, and its speed".into(),
        note: "The paper correlates with a V100 over programs it does not list; ours are the kernels of the TITAN X in `strata validate`. Speeds are inside launches on v100, and depend on this machine and its load."
            .into(),
        headings: vec!["what".into(), "value".into()],
        rows,
        chart: None,
        pictures: Vec::new(),
    };
    Ok((figure, correlation))
}

/// The final design from three seeds.
fn other_seeds(
    first: &[Memory],
    inputs: Inputs<'_>,
    directory: &Path,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Figure, LabError> {
    let mut ratios: Vec<Vec<f64>> = first.iter().map(|m| vec![m.designs[2].1.ratio()]).collect();
    for seed in &SEEDS[1..] {
        let folder = directory.join(format!("seed-{seed}"));
        for (all, memory) in ratios.iter_mut().zip(memory::study(Inputs { seed: *seed, ..inputs }, &folder, begins)?) {
            all.push(memory.designs[2].1.ratio());
        }
    }
    Ok(Figure {
        id: "seeds".into(),
        title: "Capacity ratio of the final design from three seeds".into(),
        note: "Inputs made from other seeds.".into(),
        headings: ["program", "seed 1", "seed 2", "seed 3"].map(str::to_owned).into(),
        rows: first
            .iter()
            .zip(ratios)
            .map(|(memory, ratios)| {
                let values = ratios.into_iter().map(|ratio| Cell::Number(ratio, 3));
                [Cell::from(memory.program.name)].into_iter().chain(values).collect()
            })
            .collect(),
        chart: None,
        pictures: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use suite::Program;

    /// The whole road, on inputs that say nothing about the paper.
    #[test]
    fn every_figure_is_made_and_saved() {
        const SOME: [Program; 3] = [PROGRAMS[1], PROGRAMS[9], PROGRAMS[15]];
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(&directory.path().join("store")).expect("a store");
        let (profiled, judged, timed) = ("tiny", "tiny", "tiny");
        let inputs = Inputs { programs: &SOME, profiled, judged, timed, whole: true, links: &[50, 150], seed: 1 };
        let (page, rows) = study(inputs, false, directory.path(), &runs, &mut |_| ()).expect("it runs");
        page.save(&[], directory.path()).expect("saved");
        for figure in &page.figures {
            assert!(!figure.rows.is_empty(), "{}", figure.id);
            assert!(directory.path().join(format!("{}.csv", figure.id)).is_file(), "{}", figure.id);
        }
        for name in ["ep", "lulesh", "lstm"] {
            assert!(directory.path().join(format!("figure-8-{name}.png")).is_file(), "{name}");
            assert!(directory.path().join(format!("targets-{name}.toml")).is_file(), "{name}");
        }
        let ratio = rows.iter().find(|r| r.item == "Figure 3" && r.workload == "HPC").and_then(|r| r.ours.value);
        assert!(ratio.is_some_and(|ratio| ratio > 1.0), "{ratio:?}");
    }
}
