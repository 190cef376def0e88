//! Learned prefetching for unified memory (Long et al.): what it reports of its baseline, UVMSmart, and of its predictor in the
//! same machine.
//!
//! The eleven programs of its Tables 10 and 11 at its sizes on its machine, cut where it cut them, with the latency of far
//! faults as it was run (not charged) and charged; then what it does not show, the real driver's rule, memory that does
//! not suffice, other prefetchers in the predictor's place, and programs that it was never trained on.

mod ceiling;
mod figures;
mod in_the_loop;
mod judging;
mod learning;
mod predicting;
mod suite;
mod timing;

use super::runs::Runs;
use super::{Effort, Measured, Paper, PaperNumbers, Row, Standing, geometric_mean, mean};
use crate::report::{Figure, Page};
use crate::reproduce::by_program::ALL;
use predicting::{NEVER_SEEN, PIPELINED, Predicting, REVISED};
use strata_run::LabError;
use strata_run::Step;
use suite::{PERCENTS, PROGRAMS, Program, Scheme};
use timing::{Moment, Timing};

/// Prefetchers in a machine, how well predictors predict, and programs that no predictor has seen.
pub(super) const PARTS: [&str; 3] = [LOOP, LEARNING, JUDGED];
const LOOP: &str = "loop";
const LEARNING: &str = "learning";
pub(super) const JUDGED: &str = "judged";

/// Runs everything, or one part, and makes the page.
pub(super) fn reproduce(
    effort: Effort,
    part: Option<&str>,
    programs: &[String],
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let title = "Prefetching for unified memory, reproduced".into();
    let mut page = Page { title, introduction: INTRODUCTION.into(), summary: None, figures: Vec::new() };
    let mut rows = Vec::new();
    let mut add = |(figures, more)| {
        page.figures.extend::<Vec<Figure>>(figures);
        rows.extend::<Vec<Row>>(more);
    };
    let makes = |name: &str| part.is_none_or(|part| part == name);
    // An hour of runs: a quick study has it if it is asked for.
    if makes(JUDGED) && (part.is_some() || effort != Effort::Quick) {
        let programs = judging::study(effort, programs, judging::SIZES, runs, begins)?;
        add((judging::figures(&programs)?, Vec::new()));
    }
    if makes(LOOP) {
        add(study(&PROGRAMS, "paper-uvm", effort, runs, begins)?);
    }
    if makes(LEARNING) {
        add(learning::study(effort, runs, begins)?);
    }
    Ok((page, rows))
}

const INTRODUCTION: &str = "UVMSmart, the baseline of the paper, and the learned prefetcher in its place, on our machine \
    gtx1080ti, programs at their size paper-uvm. Our programs are our own, written after the originals with their access \
    patterns; their instructions are another compiler's, so runs are cut after the same share of instructions. \
    docs/unified-memory.md says where the model is known to differ, docs/learned-prefetching.md how predictors are trained.";

fn study(
    programs: &[Program],
    size: &str,
    effort: Effort,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Vec<Figure>, Vec<Row>), LabError> {
    let paper = PaperNumbers::of(Paper::Uvm);
    let timings = timing::study(programs, size, |program| Scheme::of(program, effort), runs, begins)?;
    no_failures(&timings)?;
    let mut all = vec![figures::programs(&timings), figures::table_10(&timings, &paper)];
    all.extend(figures::table_11(&timings, &paper));
    all.extend(figures::figure_11(&timings));
    all.extend(in_the_loop::figures(&timings, &paper));
    if effort != Effort::Quick {
        let schemes = |_: &Program| Predicting::of_unseen();
        let unseen = timing::study(&NEVER_SEEN, size, schemes, runs, begins)?;
        no_failures(&unseen)?;
        all.extend(in_the_loop::never_seen(&unseen));
        all.push(ceiling::ceiling(&timings)?);
    }
    all.push(figures::drivers_rule(&timings));
    for percent in PERCENTS {
        if timings.iter().any(|t| t.point(Scheme::Oversubscribed(percent, "lru")).is_some()) {
            all.extend(figures::oversubscription(&timings, percent));
        }
    }
    Ok((all, rows(&timings, &paper)))
}

/// An error that names the runs that failed or computed something wrong, if there are any.
fn no_failures(timings: &[Timing]) -> Result<(), LabError> {
    let points =
        timings.iter().flat_map(|t| t.points.iter().map(move |(scheme, point)| (t.program.name, scheme, point)));
    let wrong = points.filter_map(|(program, scheme, point)| match point {
        Err(error) => Some(format!("{program}, {}: {error}", scheme.name())),
        Ok(point) if !point.passed => Some(format!("{program}, {}: its result is wrong", scheme.name())),
        Ok(_) => None,
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(LabError::Request(format!("programs failed:\n{}", wrong.join("\n"))))
}

/// A column of Table 11: its name, its place in the paper's row, and ours.
type Metric = (&'static str, usize, fn(&Moment) -> f64);

/// What Table 11 has of each program.
const METRICS: [Metric; 4] = [
    ("accuracy", 0, Moment::accuracy),
    ("coverage", 1, Moment::coverage),
    ("hit_rate", 2, Moment::hit_rate),
    ("unity", 3, Moment::unity),
];

/// The paper's two prefetchers, and what comes nearest to the second's numbers: the machine, what is added to a metric's name, its place in Table 11 and in Table 10, and what
/// the paper's means call it.
const PREFETCHERS: [(Scheme, &str, usize, &str); 4] = [
    (Scheme::Baseline, "", 0, "uvmsmart"),
    (Scheme::Charged, ", 45 us charged", 0, "uvmsmart"),
    (REVISED, ", learned", 1, "revised"),
    (PIPELINED.scheme(), ", pipelined", 1, "revised"),
];

/// The paper's numbers beside ours: of each program that ran, and means of those.
fn rows(timings: &[Timing], paper: &PaperNumbers) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |item, workload: &str, metric: String, paper_value, ours: Measured, standing| {
        let workload = workload.to_owned();
        rows.push(Row { paper: Paper::Uvm, item, workload, metric, paper_value, ours, standing });
    };
    for (scheme, how, prefetcher, known_as) in PREFETCHERS {
        let ran = || timings.iter().filter(|t| t.point(scheme).is_some());
        let of = |value: fn(&Moment) -> f64| -> Vec<Option<f64>> {
            timings.iter().map(|t| t.at_cut(scheme).map(|moment| value(&moment))).collect()
        };
        let standing = |name: &str| if name == "hit_rate" { Standing::Repeats("Table 10") } else { Standing::Judged };
        for t in ran() {
            let printed = paper.get(&format!("table10.{}.{prefetcher}", t.program.paper));
            let ours = t.at_cut(scheme).map(|moment| moment.hit_rate());
            add("Table 10", t.program.name, format!("page hit rate{how}"), printed, ours.into(), Standing::Judged);
        }
        let all = mean(of(Moment::hit_rate));
        let printed = paper.get(&format!("hit_rate.{known_as}"));
        add("Table 10", ALL, format!("page hit rate{how}, mean"), printed, all, Standing::Judged);
        for (name, place, value) in METRICS {
            let shown = name.replace('_', " ");
            for t in ran() {
                let printed = paper.get(&format!("table11.{}.{prefetcher}.{place}", t.program.paper));
                let ours = t.at_cut(scheme).map(|moment| value(&moment));
                add("Table 11", t.program.name, format!("{shown}{how}"), printed, ours.into(), standing(name));
            }
            let geometric = paper.text(&format!("mean_kind.{name}")) == Some("geometric");
            let (kind, ours) =
                if geometric { ("geometric mean", geometric_mean(of(value))) } else { ("mean", mean(of(value))) };
            let printed = paper.get(&format!("{name}.{known_as}"));
            add("Table 11", ALL, format!("{shown}{how}, {kind}"), printed, ours, standing(name));
        }
        let ends = figures::figure_11_ends(timings, scheme);
        let printed = paper.get(&format!("bicg_2M_instructions_cycles.{known_as}"));
        let metric = format!("core cycles of the first two million instructions{how}");
        add("Figure 11", "bicg", metric, printed, ends.into(), Standing::Judged);
    }
    // The published hit rate of 2DCONV equals that of a published run at 125 %.
    if let Some(conv) = timings.iter().find(|t| t.program.name == "2dconv") {
        let ours = conv.point(Scheme::Oversubscribed(125, "lru")).map(|point| point.whole().hit_rate());
        let printed = paper.get("table10.2DCONV.0");
        add("Table 10", "2dconv", "page hit rate at 125 %".into(), printed, ours.into(), Standing::Judged);
    }
    rows.extend(in_the_loop::rows(timings, paper));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole road, on inputs that say nothing about the paper.
    #[test]
    fn every_figure_is_made() {
        let programs = [PROGRAMS[0], PROGRAMS[3], PROGRAMS[8]];
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(directory.path()).expect("a store");
        let (figures, rows) = study(&programs, "tiny", Effort::Standard, &runs, &mut |_| ()).expect("it runs");
        let of_the_baseline =
            ["table-10", "table-11", "table-11-charged", "figure-11", "drivers-rule", "oversubscription-125-time"];
        let of_predictors = [
            "table-10-learned",
            "table-11-learned",
            "figure-10",
            "figure-12",
            "pipelined",
            "opponents-ipc",
            "never-seen",
        ];
        for id in of_the_baseline.into_iter().chain(of_predictors).chain(["ceiling"]) {
            assert!(figures.iter().any(|figure| figure.id == id), "{id}");
        }
        let of = |item: &str| rows.iter().filter(|row| row.item == item).count();
        // Programs and their mean, four times each; Table 10 also has 2DCONV at 125 % if that ran, and a gain.
        assert_eq!((of("Table 10"), of("Table 11"), of("Figure 11")), (18, 64, 4));
        assert_eq!((of("Figure 10"), of("Figure 12"), of("Section 7.4")), (8, 2, 2));
        assert!(rows.iter().all(|row| row.ours.value.is_some() && row.paper_value.is_some()));
    }
}
