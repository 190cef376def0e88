//! Figure 14 of Buddy Compression: unified memory where memory does not suffice, beside compression that makes it suffice, and both together.
//!
//! The paper measured unified memory on silicon and simulated its own mechanism. Here both are on its machine, with the real driver's rules, and
//! unified memory over compressed pages, which the paper leaves to future work (section III-E).

use super::suite::{Program, Scheme, long, program, short};
use super::timing::{self, Held, Point, Timing, no_failures};
use crate::report::{Cell, Figure};
use crate::reproduce::by_program::{Column, Frame, Mean, by_program};
use crate::reproduce::runs::Runs;
use crate::reproduce::{Effort, Paper, PaperNumbers, Row, Standing, geometric_mean};
use strata_run::{LabError, Step};

/// The paper's programs for high-performance computing, and two of others that are soon run: half of the paper's take minutes on all these machines.
const PROGRAMS: [Program; 12] = [
    short("ep"),
    short("palm"),
    short("lulesh"),
    program("ilbdc"),
    long("seismic"),
    long("cg"),
    long("sp"),
    long("csp"),
    long("bt"),
    long("hpgmg"),
    program("kmeans"),
    program("color"),
];

const fn on(name: &'static str, with: &'static str, set: &'static [&'static str]) -> Scheme {
    Scheme::p100(name, with, set)
}

const PLAIN: Scheme = on("no limit", "none", &[]);
const BUDDY: Scheme = on("buddy", "buddy", &[]);
const ENOUGH: Scheme = on("uvm, enough memory", "uvm", &[]);
const PINNED: Scheme = on("pinned to the host", "uvm", &["uvm.placement=zero-copy"]);
/// Unified memory alone and over Buddy Compression, with so many percent of managed memory over device memory.
const SHORT: [(u32, Scheme, Scheme); 2] = [
    (
        125,
        on("uvm, 125 %", "uvm", &["uvm.oversubscription=1.25"]),
        on("uvm+buddy, 125 %", "uvm+buddy", &["uvm.oversubscription=1.25"]),
    ),
    (
        150,
        on("uvm, 150 %", "uvm", &["uvm.oversubscription=1.5"]),
        on("uvm+buddy, 150 %", "uvm+buddy", &["uvm.oversubscription=1.5"]),
    ),
];

fn schemes() -> Vec<Scheme> {
    let short = SHORT.iter().flat_map(|&(_, alone, both)| [alone, both]);
    [PLAIN, BUDDY, ENOUGH, PINNED].into_iter().chain(short).collect()
}

/// All programs on all machines.
pub(super) fn study(
    effort: Effort,
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Timing>, LabError> {
    let programs: Vec<Program> = PROGRAMS.into_iter().filter(|program| program.size(effort).is_some()).collect();
    let timings = timing::study(&programs, effort, &schemes(), runs, begins)?;
    no_failures(&timings)?;
    Ok(timings)
}

/// Time over that with unified memory and enough memory.
fn slowdown(t: &Timing, scheme: Scheme) -> Option<f64> {
    t.relative(scheme, ENOUGH, |point| point.cycles)
}

fn frame(id: &'static str, title: &'static str, note: String, axis: &'static str) -> Frame {
    Frame { id, title, note, axis, mean: Mean::Geometric, baseline: Some(1.0), timed: false }
}

/// The figure, and what fits.
pub(super) fn figures(timings: &[Timing]) -> Vec<Figure> {
    let note = "Time of launches over that of the same program with unified memory and enough of it: unified memory with four fifths and two \
                thirds of what is managed, alone and with memory that Buddy Compression makes larger; all data pinned in the host's memory (the \
                paper's dotted lines); and without unified memory, so that nothing migrates, with all data in memory and compressed.";
    let mut shown = Vec::new();
    for (_, alone, both) in SHORT {
        shown.extend([alone, both]);
    }
    shown.extend([PINNED, PLAIN, BUDDY]);
    let columns: Vec<_> = shown.into_iter().map(|s| Column::new(s.name, 3, move |t: &Timing| slowdown(t, s))).collect();
    let title = "Unified memory and Buddy Compression where memory does not suffice";
    vec![by_program(timings, frame("figure-14", title, note.to_owned(), "relative time"), &columns), fits(timings)]
}

/// Pages that fit, as promised or not.
fn fits(timings: &[Timing]) -> Figure {
    let note = "Bytes over the device memory that targets keep for them (promised), and the most pages that were on the device at once over its frames \
                (held), those that were about to leave not counted. The promise is kept if all pages are there that are there with enough memory, or a \
                hundredth less than are promised. Then how many pages left for want of room, alone and together.";
    let row = |t: &Timing| {
        let mut cells = vec![Cell::from(t.program.name)];
        let promised = t.point(BUDDY).and_then(|p| p.promised);
        cells.push(Cell::number(promised, 3));
        for (_, alone, both) in SHORT {
            let held = |scheme| t.point(scheme).and_then(|p| p.held);
            cells.extend([alone, both].map(|scheme| Cell::number(held(scheme).map(Held::ratio), 3)));
            let kept = promised
                .zip(held(both))
                .zip(held(ENOUGH))
                .map(|((promised, both), all)| both.pages >= 0.99 * all.pages.min(promised * both.frames));
            cells.push(Cell::from(kept.map_or("", |kept| if kept { "kept" } else { "not reached" })));
            cells.extend([alone, both].map(|scheme| Cell::number(t.point(scheme).map(|p| p.evicted), 0)));
        }
        cells
    };
    let mut headings = vec!["program".to_owned(), "promised".to_owned()];
    for (percent, ..) in SHORT {
        let of = |text: &str| format!("{percent} %: {text}");
        headings.extend(["held, uvm", "held, uvm+buddy", "promise", "left, uvm", "left, uvm+buddy"].map(of));
    }
    Figure {
        id: "fits".into(),
        title: "Pages that fit".into(),
        note: note.into(),
        headings,
        rows: timings.iter().map(row).collect(),
        chart: None,
        pictures: Vec::new(),
    }
}

/// The most of what programs have.
fn most(timings: &[Timing], value: impl Fn(&Timing) -> Option<f64>) -> Option<f64> {
    timings.iter().filter_map(value).reduce(f64::max)
}

/// Means, in a sentence.
pub(super) fn told(timings: &[Timing]) -> String {
    let shown = |(percent, alone, both): (u32, Scheme, Scheme)| {
        let [alone, both] = [alone, both].map(|scheme| geometric_mean(timings.iter().map(|t| slowdown(t, scheme))));
        let [a, b] = [alone, both].map(|mean| mean.value.unwrap_or(0.0));
        format!(
            "{a:.2} times with unified memory alone and {b:.2} with compressed pages at {percent} % ({})",
            alone.coverage()
        )
    };
    format!(
        "Where memory does not suffice programs take, of their time with enough of it, {}.",
        SHORT.map(shown).join(", ")
    )
}

/// The paper's numbers beside ours.
pub(super) fn rows(timings: &[Timing]) -> Vec<Row> {
    let paper = PaperNumbers::of(Paper::Buddy);
    let time = |point: &Point| point.cycles;
    let unified = most(timings, |t| most_of(SHORT.map(|(_, alone, _)| slowdown(t, alone))));
    let buddy = most(timings, |t| t.relative(BUDDY, PLAIN, time));
    let row = |item, metric: &str, path: &str, ours: Option<f64>, standing| Row {
        paper: Paper::Buddy,
        item,
        workload: "worst of all".to_owned(),
        metric: metric.to_owned(),
        paper_value: paper.get(path),
        ours: ours.into(),
        standing,
    };
    vec![
        row(
            "Figure 14",
            "time of unified memory with too little memory over enough",
            "um_oversubscription_slowdown_range.1",
            unified,
            Standing::Judged,
        ),
        row(
            "Section IV-C",
            "time of Buddy Compression over no limit (ours at 75 GB/s, the paper's at 50)",
            "specaccel_worst_time_ratio_50GBps",
            buddy,
            Standing::Repeats("Section IV-C of the study of that paper"),
        ),
    ]
}

fn most_of(values: [Option<f64>; 2]) -> Option<f64> {
    values.into_iter().flatten().reduce(f64::max)
}
