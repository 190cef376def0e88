//! The figures, made from what was timed.

use super::predicting::{PIPELINED, REVISED};
use super::suite::{EVICTIONS, Scheme};
use super::timing::{Moment, Point, Timing};
use crate::report::{Cell, Chart, Figure, Kind, Series};
use crate::reproduce::by_program::{self, Frame, Mean, by_program};
use crate::reproduce::{PaperNumbers, Subject};

impl Subject for Timing {
    fn name(&self) -> &'static str {
        self.program.name
    }
}

pub(super) type Column<'a> = by_program::Column<'a, Timing>;

/// Up to where the paper cut the program.
pub(super) fn at_cut<'a>(heading: impl Into<String>, scheme: Scheme, value: fn(&Moment) -> f64) -> Column<'a> {
    Column::new(heading, 4, move |t: &Timing| t.at_cut(scheme).map(|moment| value(&moment)))
}

/// At the end of the program.
pub(super) fn at_end<'a>(
    heading: impl Into<String>,
    decimals: usize,
    scheme: Scheme,
    value: fn(&Point) -> f64,
) -> Column<'a> {
    Column::new(heading, decimals, move |t: &Timing| t.point(scheme).map(value))
}

/// What the paper prints.
pub(super) fn printed<'a>(heading: &str, paper: &'a PaperNumbers, path: impl Fn(&str) -> String + 'a) -> Column<'a> {
    Column::new(heading, 4, move |t: &Timing| paper.get(&path(t.program.paper)))
}

pub(super) fn frame(id: &'static str, title: &'static str, note: &str, axis: &'static str) -> Frame {
    Frame { id, title, note: note.to_owned(), axis, mean: Mean::Arithmetic, baseline: None, timed: false }
}

/// The same of times over the baseline's.
pub(super) fn ratios(id: &'static str, title: &'static str, note: &str, axis: &'static str) -> Frame {
    Frame { mean: Mean::Geometric, baseline: Some(1.0), ..frame(id, title, note, axis) }
}

/// What the programs are and do.
pub(super) fn programs(timings: &[Timing]) -> Figure {
    let note = "Share of the instructions after which tables stop, as the paper cut its runs: its instructions over \
                those of the published full run (mvt: of bicg's, which executes as many; srad: over our own); of whole runs: millions of machine instructions of threads, far faults, pages that \
                came, core cycles with launches, what the host waited for, IPC, MB over PCI Express, busy share of it.";
    let base = Scheme::Baseline;
    let columns = [
        Column::new("cut at", 4, |t: &Timing| Some(t.cut)),
        at_end("M instructions", 1, base, |p| p.instructions / 1e6),
        at_end("far faults", 0, base, |p| p.whole().faults),
        at_end("pages", 0, base, |p| p.whole().migrated),
        at_end("cycles", 0, base, |p| p.cycles),
        at_end("copy cycles", 0, base, |p| p.copy_cycles),
        at_end("IPC", 2, base, |p| p.instructions / p.cycles),
        at_end("IPC, 45 us charged", 2, Scheme::Charged, |p| p.instructions / p.cycles),
        at_end("MB in", 1, base, |p| p.whole().bytes_in / 1e6),
        at_end("PCIe busy", 3, base, |p| p.in_busy / p.cycles),
    ];
    let mut figure = by_program(timings, frame("programs", "The programs", note, ""), &columns);
    figure.chart = None;
    figure
}

pub(super) fn table_10(timings: &[Timing], paper: &PaperNumbers) -> Figure {
    let note = "Walks that found their page on the device, of all walks, up to the cut: the paper's UVMSmart, ours as the paper \
                ran it (the 45 us of a far fault not charged), ours with them, and ours to the end of the program.";
    let columns = [
        printed("paper", paper, |name| format!("table10.{name}.0")),
        at_cut("ours", Scheme::Baseline, Moment::hit_rate),
        at_cut("ours, 45 us charged", Scheme::Charged, Moment::hit_rate),
        at_end("ours, whole run", 4, Scheme::Baseline, |p| p.whole().hit_rate()),
    ];
    by_program(timings, frame("table-10", "Page hit rate of UVMSmart", note, "page hit rate"), &columns)
}

/// Table 11 without and with the latency of faults.
pub(super) fn table_11(timings: &[Timing], paper: &PaperNumbers) -> Vec<Figure> {
    let note = "Accuracy: prefetched pages that were accessed before they left, of all prefetched or queued to be (at a cut some are on \
                their way). Coverage: accessed pages that \
                a prefetcher brought or had queued, a fault's own 64 KB included, of all accessed (strict: without those that \
                faulted). Unity: the cube root of accuracy, coverage and hit rate. Means are arithmetic here; the rows beside \
                the paper have its own kinds.";
    let one = |id, title, scheme| {
        let columns = [
            printed("accuracy, paper", paper, |name| format!("table11.{name}.0.0")),
            at_cut("ours", scheme, Moment::accuracy),
            printed("coverage, paper", paper, |name| format!("table11.{name}.0.1")),
            at_cut("ours", scheme, Moment::coverage),
            at_cut("strict", scheme, Moment::coverage_strict),
            printed("hit rate, paper", paper, |name| format!("table11.{name}.0.2")),
            at_cut("ours", scheme, Moment::hit_rate),
            printed("unity, paper", paper, |name| format!("table11.{name}.0.3")),
            at_cut("ours", scheme, Moment::unity),
        ];
        by_program(timings, frame(id, title, note, "share"), &columns)
    };
    vec![
        one("table-11", "Accuracy, coverage, hit rate and unity of UVMSmart", Scheme::Baseline),
        one("table-11-charged", "The same with 45 us for each far fault", Scheme::Charged),
    ]
}

/// The program of Figure 11, the instructions of it that the paper shows, and those of its whole run there.
const FIGURE_11: (&str, f64, f64) = ("bicg", 2e6, 167_936_000.0);
/// Points of its curve.
const POINTS: usize = 40;

/// The core cycle at which the paper's part of Figure 11 ends.
pub(super) fn figure_11_ends(timings: &[Timing], scheme: Scheme) -> Option<f64> {
    let (name, shown, whole) = FIGURE_11;
    let point = timings.iter().find(|t| t.program.name == name)?.point(scheme)?;
    // The first moment at which that many have issued.
    let limit = shown / whole * point.instructions;
    point.course.iter().find(|moment| moment.instructions >= limit).map(|moment| moment.cycle)
}

/// The machines, up to where each has done the paper's instructions.
pub(super) fn figure_11(timings: &[Timing]) -> Option<Figure> {
    let bicg = timings.iter().find(|t| t.program.name == FIGURE_11.0)?;
    let curve =
        |(name, scheme): (&'static str, Scheme)| Some((name, bicg.point(scheme)?, figure_11_ends(timings, scheme)?));
    let curves: Vec<_> = [("UVMSmart", Scheme::Baseline), ("learned", REVISED), ("pipelined", PIPELINED.scheme())]
        .into_iter()
        .filter_map(curve)
        .collect();
    let last = curves.iter().map(|(_, _, ends)| *ends).fold(0.0, f64::max);
    let step = last / POINTS as f64;
    let series: Vec<Series> = curves
        .iter()
        .map(|(name, point, ends)| {
            let at = |k: usize| (k as f64 * step < *ends).then(|| point.speed(k as f64 * step, (k + 1) as f64 * step));
            Series { name: (*name).into(), values: (0..POINTS).map(at).collect() }
        })
        .collect();
    let categories: Vec<String> = (0..POINTS).map(|k| format!("{:.0}", k as f64 * step)).collect();
    let row = |(k, cycle): (usize, &String)| {
        let values = series.iter().map(|series| Cell::number(series.values[k], 2));
        [Cell::Text(cycle.clone())].into_iter().chain(values).collect()
    };
    Some(Figure {
        id: "figure-11".into(),
        title: "PCI Express in the first instructions of BICG".into(),
        note: "GB/s to the device over time, from the launch to where the paper's two million instructions end: the same share \
               of our run. The tree's transfers grow as it fills, the learned prefetcher's have 64 KB at most, the \
               pipelined one's a megabyte."
            .into(),
        headings: ["core cycle".to_owned()].into_iter().chain(series.iter().map(|s| s.name.clone())).collect(),
        rows: categories.iter().enumerate().map(row).collect(),
        chart: Some(Chart { kind: Kind::Lines, axis: "GB/s to the device".into(), categories, series, baseline: None }),
        pictures: Vec::new(),
    })
}

/// Time of a machine over the baseline's, the host's waiting included.
pub(super) fn slowdown(t: &Timing, scheme: Scheme) -> Option<f64> {
    let time = |p: &Point| p.cycles + p.copy_cycles;
    Some(time(t.point(scheme)?) / time(t.point(Scheme::Baseline)?))
}

/// The driver's rule against the tree: what the paper does not show.
pub(super) fn drivers_rule(timings: &[Timing]) -> Figure {
    let note = "The tree of UVMSmart (strictly more than half, cascading, aligned to the allocation), the real driver's bitmap in \
                its place (51 %, no cascade, aligned to 2 MB), and, where it ran, the whole driver: fault batches, replay, \
                measured fault times, its eviction. Whole runs; time over the tree's.";
    let machines = [("tree", Scheme::Baseline), ("rule", Scheme::DriversRule), ("driver", Scheme::Driver)];
    let mut columns = Vec::new();
    for (name, scheme) in machines {
        columns.push(at_end(format!("{name}: hit rate"), 4, scheme, |p| p.whole().hit_rate()));
        columns.push(at_end("faults", 0, scheme, |p| p.whole().faults));
        columns.push(at_end("pages", 0, scheme, |p| p.whole().migrated));
        columns.push(at_end("accuracy", 3, scheme, |p| p.whole().accuracy()));
        columns.push(Column::new("time", 3, move |t: &Timing| slowdown(t, scheme)));
    }
    let mut figure = by_program(timings, frame("drivers-rule", "The driver's rule and the tree", note, ""), &columns);
    figure.chart = None;
    figure
}

/// Every eviction policy at one percentage: time, far faults and pages that came again.
pub(super) fn oversubscription(timings: &[Timing], percent: u32) -> Vec<Figure> {
    let policies = || {
        let named = EVICTIONS.into_iter().map(move |policy| (policy, Scheme::Oversubscribed(percent, policy)));
        named.chain([("adaptive", Scheme::Adaptive(percent))])
    };
    let note = format!(
        "Managed memory is {percent} % of device memory. Tree prefetcher, faults not charged; `adaptive` is UVMSmart's engine. \
         Over the run with enough memory, what the host waits for included."
    );
    let times: Vec<_> =
        policies().map(|(name, scheme)| Column::new(name, 3, move |t: &Timing| slowdown(t, scheme))).collect();
    let faults: Vec<_> = policies().map(|(name, scheme)| at_end(name, 0, scheme, |p| p.whole().faults)).collect();
    let again: Vec<_> = policies().map(|(name, scheme)| at_end(name, 0, scheme, |p| p.thrashed)).collect();
    let named = |kind: &str, frame: Frame, columns: &[Column<'_>]| {
        let mut figure = by_program(timings, frame, columns);
        figure.id = format!("oversubscription-{percent}-{kind}");
        figure.title = format!("{}, {percent} %", figure.title);
        figure
    };
    vec![
        named("time", ratios("", "Time by eviction policy", &note, "relative time"), &times),
        named("faults", frame("", "Far faults by eviction policy", &note, "far faults"), &faults),
        named("thrash", frame("", "Pages that came again", &note, "pages"), &again),
    ]
}
