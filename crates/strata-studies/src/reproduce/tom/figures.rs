//! The figures, made from what was timed and surveyed.

use super::suite::{
    ALU_AWARE, ALU_AWARE_4X, BASELINE, BUSY, CROSS, CTRL_BMAP, CTRL_ORACLE, CTRL_TMAP, HOST, IDEAL, INCOHERENT,
    INTERNAL_1X, LEARNED, NOCTRL_BMAP, NOCTRL_ORACLE, NOCTRL_TMAP, STACKS, Scheme, WARPS_2X, WARPS_4X,
};
use super::timing::{LEARNING, Part, Point, Timing};
use crate::report::Figure;
use crate::reproduce::Subject;
use crate::reproduce::by_program::{self, Frame, Mean, by_program};

/// The four systems of Figures 8 to 10.
pub(super) const FOUR: [Scheme; 4] = [NOCTRL_BMAP, NOCTRL_TMAP, CTRL_BMAP, CTRL_TMAP];

impl Subject for Timing {
    fn name(&self) -> &'static str {
        self.program.name
    }
}

/// A column of a figure.
type Column<'a> = by_program::Column<'a, Timing>;

fn shares(id: &'static str, title: &'static str, note: &str, axis: &'static str) -> Frame {
    Frame { id, title, note: note.to_owned(), axis, mean: Mean::Arithmetic, baseline: None, timed: true }
}

fn ratios(id: &'static str, title: &'static str, note: &str) -> Frame {
    let axis = "relative to the baseline";
    Frame { id, title, note: note.to_owned(), axis, mean: Mean::Arithmetic, baseline: Some(1.0), timed: true }
}

fn speeds<'a>(schemes: &[Scheme]) -> Vec<Column<'a>> {
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

pub(super) fn figure_2(timings: &[Timing]) -> Figure {
    let note = "No cost of offloading, all data where the block runs; as many blocks at a stack as its SM has places.";
    by_program(timings, ratios("figure-2", "Ideal near-data processing", note), &speeds(&[IDEAL]))
}

pub(super) fn figure_3(timings: &[Timing]) -> Figure {
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

pub(super) fn figure_5(timings: &[Timing]) -> Figure {
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

pub(super) fn figure_6(timings: &[Timing]) -> Figure {
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

pub(super) fn figure_8(timings: &[Timing]) -> Figure {
    let note = "Speed over that of the baseline with 68 SMs on the GPU.";
    let mut columns = speeds(&FOUR);
    columns.extend(speeds(&[CTRL_ORACLE]));
    by_program(timings, ratios("figure-8", "Speed-up", note), &columns)
}

pub(super) fn figure_9(timings: &[Timing]) -> Figure {
    let note = "Bytes on links, over all of the baseline's.";
    let channels: &[(&'static str, Part)] =
        &[("GPU to memory", |p| p.tx), ("memory to GPU", |p| p.rx), ("memory to memory", |p| p.cross)];
    let all = [&[BASELINE][..], &FOUR].concat();
    by_program(timings, ratios("figure-9", "Traffic", note), &parts(&all, channels, Point::traffic))
}

pub(super) fn figure_10(timings: &[Timing]) -> Figure {
    let note = "Energy by part, over all of the baseline's.";
    let sources: &[(&'static str, Part)] = &[
        ("SMs", |p| p.energy_sm),
        ("links", |p| p.energy_links),
        ("memory and the rest", |p| p.energy - p.energy_sm - p.energy_links),
    ];
    let all = [&[BASELINE][..], &FOUR].concat();
    by_program(timings, ratios("figure-10", "Energy", note), &parts(&all, sources, |p| p.energy))
}

pub(super) fn offloaded(timings: &[Timing]) -> Figure {
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
pub(super) fn link_use(timings: &[Timing]) -> Figure {
    let note = "The busier direction of the links to stacks, in the baseline (section 5.3: programs above 50 %).";
    let columns = [Column::new("baseline", 3, |t: &Timing| Some(t.point(BASELINE)?.link_use))];
    by_program(timings, shares("link-use", "Use of links", note, "share of their bandwidth"), &columns)
}

/// The argument for more warps on stacks (section 6.4).
pub(super) fn registers(timings: &[Timing]) -> Figure {
    let note = "32-bit registers of a thread that are alive at once, as the PTX has them: in candidates those that they name, \
                and anywhere in the kernels that have candidates.";
    let live = |value: fn(&Timing) -> u64| move |t: &Timing| (t.surveyed.live.thread > 0).then(|| value(t) as f64);
    let columns = [
        Column::new("in candidates", 0, live(|t| t.surveyed.live.block)),
        Column::new("in threads", 0, live(|t| t.surveyed.live.thread)),
    ];
    by_program(timings, shares("registers", "Live registers", note, "registers"), &columns)
}

/// Speeds of a sweep, `ctrl, tmap` among them.
fn sweep(timings: &[Timing], id: &'static str, title: &'static str, note: &str, schemes: &[Scheme]) -> Figure {
    by_program(timings, ratios(id, title, note), &speeds(schemes))
}

/// Sensitivities: Figures 11 to 13, section 6.5, and what was decided where the paper is silent.
pub(super) fn sweeps(timings: &[Timing]) -> Vec<Figure> {
    let warps = [CTRL_TMAP, WARPS_2X, WARPS_4X, ALU_AWARE, ALU_AWARE_4X];
    let traffic: Vec<_> = warps
        .iter()
        .map(|&s| Column::new(s.name, 3, move |t: &Timing| t.relative(s, BASELINE, Point::traffic)))
        .collect();
    let [eighth, quarter, whole] = CROSS.map(|(_, scheme)| scheme);
    let [busy_70, busy_80, busy_100] = BUSY;
    let note = "Places for warps on the SM of a stack; ALU-aware keeps arithmetic from busy SMs, which the paper leaves to \
                others.";
    let mut stacks: Vec<_> = STACKS
        .iter()
        .map(|&(baseline, tom)| Column::new(tom.name, 3, move |t: &Timing| t.relative(baseline, tom, |p| p.cycles)))
        .collect();
    stacks.insert(1, Column::new("4 stacks", 3, |t: &Timing| t.speed(CTRL_TMAP)));
    vec![
        sweep(timings, "figure-11", "Warps on stacks: speed-up", note, &warps),
        by_program(timings, ratios("figure-12", "Warps on stacks: traffic", note), &traffic),
        sweep(
            timings,
            "figure-13",
            "Internal bandwidth",
            "Equal to that of the links, or (ctrl, tmap) twice that.",
            &[INTERNAL_1X, CTRL_TMAP],
        ),
        sweep(
            timings,
            "section-6-5",
            "Links between stacks",
            "Of the bandwidth of those to the GPU; ctrl, tmap has 0.5x.",
            &[eighth, quarter, CTRL_TMAP, whole],
        ),
        sweep(
            timings,
            "learning",
            "What is learned from",
            "Share of instances that run out of the host's memory (ctrl, tmap: 0.1 %), and the latency of the way there \
             (ctrl, tmap: 1 us).",
            &[CTRL_TMAP, LEARNED[0], LEARNED[1], HOST[0], HOST[1]],
        ),
        by_program(
            timings,
            ratios(
                "stacks",
                "Number of stacks",
                "As many SMs, vaults and bytes per second in all, over the baseline cut alike.",
            ),
            &stacks,
        ),
        sweep(
            timings,
            "busy",
            "When a channel is busy",
            "Use of a channel from which on nothing is offloaded that adds to it; ctrl, tmap: 90 %.",
            &[busy_70, busy_80, CTRL_TMAP, busy_100],
        ),
        sweep(
            timings,
            "coherence",
            "The cost of coherence",
            "Stores of an SM not waited for, caches of stacks and GPU not emptied (section 4.4.2).",
            &[INCOHERENT, CTRL_TMAP],
        ),
    ]
}
