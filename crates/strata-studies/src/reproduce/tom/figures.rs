//! The figures of the paper's first sections, made from what was timed and surveyed: each with the machines that it needs.

use super::ceiling;
use super::suite::{
    BASELINE, CTRL_BMAP, CTRL_ORACLE, CTRL_TMAP, IDEAL, NOCTRL_BMAP, NOCTRL_ORACLE, NOCTRL_TMAP, Scheme,
};
use super::timing::{LEARNING, Part, Point, Timing};
use crate::report::Figure;
use crate::reproduce::Subject;
use crate::reproduce::by_program::{self, ALL, Frame, Mean, by_program};
use strata_tom::analyser::BASELINE_MAPS;

/// The four systems of Figures 8 to 10.
pub(super) const FOUR: [Scheme; 4] = [NOCTRL_BMAP, NOCTRL_TMAP, CTRL_BMAP, CTRL_TMAP];

/// Programs of which the baseline uses more than half of the links: the paper takes no others (section 5.3).
pub(super) const PRESSING: &str = "links above half";

impl Subject for Timing {
    const GROUPS: &'static [&'static str] = &[ALL, PRESSING];

    fn name(&self) -> &'static str {
        self.program.name
    }

    fn is_in(&self, group: &str) -> bool {
        group == ALL || self.presses_on_links()
    }
}

/// A figure that can be made by itself: what it is called, the machines that it needs beside the baseline, and how.
pub(super) struct Made {
    pub(super) id: &'static str,
    pub(super) schemes: Vec<Scheme>,
    pub(super) make: fn(&[Timing]) -> Figure,
}

/// Those that every effort makes.
pub(super) fn all() -> Vec<Made> {
    let made = |id, schemes: &[Scheme], make| Made { id, schemes: schemes.to_vec(), make };
    let speeds = [&FOUR[..], &[CTRL_ORACLE]].concat();
    let ceilings = [&speeds[..], &[IDEAL, NOCTRL_ORACLE]].concat();
    vec![
        made("figure-2", &[IDEAL], figure_2),
        made("figure-3", &[NOCTRL_BMAP, NOCTRL_ORACLE, CTRL_BMAP, CTRL_ORACLE], figure_3),
        made("figure-5", &[], figure_5),
        made("figure-6", &[], figure_6),
        made("figure-8", &speeds, figure_8),
        made("figure-9", &FOUR, figure_9),
        made("figure-10", &FOUR, figure_10),
        made("offloaded", &FOUR, offloaded),
        made("link-use", &[], link_use),
        made("ceiling", &ceilings, ceiling::figure),
        made("baseline-maps", &[], baseline_maps),
        made("registers", &[], registers),
    ]
}

/// A column of a figure.
pub(super) type Column<'a> = by_program::Column<'a, Timing>;

pub(super) fn shares(id: &'static str, title: &'static str, note: &str, axis: &'static str) -> Frame {
    Frame { id, title, note: note.to_owned(), axis, mean: Mean::Arithmetic, baseline: None, timed: true }
}

pub(super) fn ratios(id: &'static str, title: &'static str, note: &str) -> Frame {
    let axis = "relative to the baseline";
    Frame { id, title, note: note.to_owned(), axis, mean: Mean::Arithmetic, baseline: Some(1.0), timed: true }
}

pub(super) fn speeds<'a>(schemes: &[Scheme]) -> Vec<Column<'a>> {
    schemes.iter().map(|&scheme| Column::new(scheme.name, 3, move |t: &Timing| t.speed(scheme))).collect()
}

/// Parts of a run over a sum of the baseline's, scheme by scheme.
fn parts<'a>(schemes: &[Scheme], parts: &'a [(&'static str, Part)], of: Part) -> Vec<Column<'a>> {
    let column = |scheme: Scheme, name: &str, part: Part| {
        Column::new(format!("{}: {name}", scheme.name), 3, move |t: &Timing| {
            let base = of(&t.point(BASELINE)?);
            (base > 0.0).then(|| Some(part(&t.point(scheme)?) / base))?
        })
    };
    schemes.iter().flat_map(|&scheme| parts.iter().map(move |&(name, part)| column(scheme, name, part))).collect()
}

fn figure_2(timings: &[Timing]) -> Figure {
    let note = "No cost of offloading, all data where the block runs; as many blocks at a stack as its SM has places.";
    by_program(timings, ratios("figure-2", "Ideal near-data processing", note), &speeds(&[IDEAL]))
}

fn figure_3(timings: &[Timing]) -> Figure {
    let note = "Offloading with the best address bits for all instances, over the same with the baseline map: of all blocks, as the \
                paper has it (footnote 9), and controlled.";
    let over = |bmap: Scheme, oracle: Scheme| move |t: &Timing| t.relative(bmap, oracle, |p| p.cycles);
    let columns = [
        Column::new("no-ctrl", 3, over(NOCTRL_BMAP, NOCTRL_ORACLE)),
        Column::new("ctrl", 3, over(CTRL_BMAP, CTRL_ORACLE)),
    ];
    by_program(timings, ratios("figure-3", "Ideal mapping", note), &columns)
}

/// Classes of Figure 5, by the share of accesses with a fixed offset.
const CLASSES: [(&str, f64, f64); 6] = [
    ("all", 1.0, f64::MAX),
    ("75-99 %", 0.75, 1.0),
    ("50-75 %", 0.5, 0.75),
    ("25-50 %", 0.25, 0.5),
    ("1-25 %", f64::MIN_POSITIVE, 0.25),
    ("none", 0.0, f64::MIN_POSITIVE),
];

fn figure_5(timings: &[Timing]) -> Figure {
    let note =
        "Candidates that ran, by how many of their accesses are always as far from another or from their own last.";
    let columns: Vec<_> = CLASSES
        .iter()
        .map(|&(name, low, high)| {
            Column::new(name, 2, move |t: &Timing| {
                let all = &t.surveyed.fixed;
                let those = all.iter().filter(|&&share| share >= low && share < high).count();
                (!all.is_empty()).then(|| those as f64 / all.len() as f64)
            })
        })
        .collect();
    by_program(timings, shares("figure-5", "Fixed offsets", note, "share of candidates"), &columns)
}

fn figure_6(timings: &[Timing]) -> Figure {
    let note = "Instances of candidates that access one stack only: with the baseline map, with the mapping that the first \
                instances suggest, and with the best; beside it the accesses that go to the stack on which their \
                instance runs, which the mapping is chosen by.";
    let some = |t: &Timing, value: f64| (t.surveyed.instances > 0).then_some(value);
    let mut columns = vec![Column::new("baseline map", 3, move |t: &Timing| some(t, t.surveyed.baseline))];
    for (k, part) in LEARNING.iter().enumerate() {
        let name = format!("first {} %", 100.0 * part);
        columns.push(Column::new(name, 3, move |t: &Timing| some(t, t.surveyed.learned[k])));
    }
    columns.push(Column::new("best", 3, move |t: &Timing| some(t, t.surveyed.best)));
    for (k, map) in ["baseline map", "first 0.1 %", "best"].into_iter().enumerate() {
        let name = format!("accesses to its stack, {map}");
        columns.push(Column::new(name, 3, move |t: &Timing| some(t, t.surveyed.accesses[k])));
    }
    columns.push(Column::new("instances", 0, |t: &Timing| Some(t.surveyed.instances as f64)));
    let mut figure =
        by_program(timings, shares("figure-6", "One stack for an instance", note, "probability"), &columns);
    figure.chart = None;
    figure
}

fn figure_8(timings: &[Timing]) -> Figure {
    let note = "Speed over that of the baseline with 68 SMs on the GPU.";
    let mut columns = speeds(&FOUR);
    columns.extend(speeds(&[CTRL_ORACLE]));
    by_program(timings, ratios("figure-8", "Speed-up", note), &columns)
}

fn figure_9(timings: &[Timing]) -> Figure {
    let note = "Bytes on links, over all of the baseline's.";
    let channels: &[(&'static str, Part)] =
        &[("GPU to memory", |p| p.tx), ("memory to GPU", |p| p.rx), ("memory to memory", |p| p.cross)];
    let all = [&[BASELINE][..], &FOUR].concat();
    by_program(timings, ratios("figure-9", "Traffic", note), &parts(&all, channels, Point::traffic))
}

fn figure_10(timings: &[Timing]) -> Figure {
    let note = "Energy by part, over all of the baseline's.";
    let sources: &[(&'static str, Part)] = &[
        ("SMs", |p| p.energy_sm),
        ("links", |p| p.energy_links),
        ("memory and the rest", |p| p.energy - p.energy_sm - p.energy_links),
    ];
    let all = [&[BASELINE][..], &FOUR].concat();
    by_program(timings, ratios("figure-10", "Energy", note), &parts(&all, sources, |p| p.energy))
}

fn offloaded(timings: &[Timing]) -> Figure {
    let note = "Thread instructions that ran on stacks (section 6.1).";
    let columns: Vec<_> = FOUR
        .iter()
        .map(|&scheme| {
            Column::new(scheme.name, 3, move |t: &Timing| {
                let p = t.point(scheme)?;
                Some(p.offloaded / p.instructions)
            })
        })
        .collect();
    by_program(timings, shares("offloaded", "Offloaded instructions", note, "share of instructions"), &columns)
}

/// How much of the links to stacks the baseline uses: the paper takes programs that use more than half.
fn link_use(timings: &[Timing]) -> Figure {
    let note = "The busier direction of the links to stacks, in the baseline (section 5.3: programs above 50 %).";
    let columns = [Column::new("baseline", 3, |t: &Timing| Some(t.point(BASELINE)?.link_use))];
    by_program(timings, shares("link-use", "Use of links", note, "share of their bandwidth"), &columns)
}

/// What the baseline map's own choice does to Figure 6: the paper exclusive-ors a subset of higher bits and does not say which.
fn baseline_maps(timings: &[Timing]) -> Figure {
    let note = "Baseline maps with none, one and two pairs of higher address bits in the stack (the machine's has two): instances that \
                access one stack only, and accesses to the stack on which their instance runs. The paper's baseline map has 38 % of \
                instances on one stack.";
    let columns: Vec<_> = [("one stack", 0), ("accesses to its stack", 1)]
        .into_iter()
        .flat_map(|(what, k)| {
            (0..BASELINE_MAPS).map(move |pairs| {
                Column::new(format!("{what}, {pairs} pairs"), 3, move |t: &Timing| {
                    (t.surveyed.instances > 0).then(|| t.surveyed.by_pairs[pairs][k])
                })
            })
        })
        .collect();
    by_program(timings, shares("baseline-maps", "Baseline maps", note, "share"), &columns)
}

/// The argument for more warps on stacks (section 6.4).
fn registers(timings: &[Timing]) -> Figure {
    let note = "32-bit registers of a thread that are alive at once, as the PTX has them: in candidates those that they name, \
                and anywhere in the kernels that have candidates.";
    let live = |value: fn(&Timing) -> u64| move |t: &Timing| (t.surveyed.live.thread > 0).then(|| value(t) as f64);
    let columns = [
        Column::new("in candidates", 0, live(|t| t.surveyed.live.block)),
        Column::new("in threads", 0, live(|t| t.surveyed.live.thread)),
    ];
    by_program(timings, shares("registers", "Live registers", note, "registers"), &columns)
}
