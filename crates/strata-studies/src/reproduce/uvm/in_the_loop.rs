//! What the paper reports of its predictor, and what it does not: figures and rows.

use super::figures::{Column, at_cut, at_end, frame, printed, ratios, slowdown};
use super::predicting::{BEYOND, MICROSECOND, PERCENT, PIPELINED, PIPELINED_TABLE, PRINTED, Predicting, REVISED, Rule};
use super::suite::Scheme;
use super::timing::{Moment, Timing};
use crate::report::Figure;
use crate::reproduce::by_program::{ALL, Frame, by_program};
use crate::reproduce::{Measured, Paper, PaperNumbers, Row, Standing, geometric_mean, mean};

/// A machine's value over the tree's, both up to the cut.
fn over_tree(t: &Timing, scheme: Scheme, value: fn(&Moment) -> f64) -> Option<f64> {
    Some(value(&t.at_cut(scheme)?) / value(&t.at_cut(Scheme::Baseline)?))
}

fn relative<'a>(heading: impl Into<String>, scheme: Scheme, value: fn(&Moment) -> f64) -> Column<'a> {
    Column::new(heading, 3, move |t: &Timing| over_tree(t, scheme, value))
}

fn bytes(moment: &Moment) -> f64 {
    moment.bytes_in
}

/// Everything that was run of the predictor; nothing if nothing was.
pub(super) fn figures(timings: &[Timing], paper: &PaperNumbers) -> Vec<Figure> {
    let has = |scheme: Scheme| timings.iter().any(|t| t.point(scheme).is_some());
    if !has(REVISED) {
        return Vec::new();
    }
    let mut all = vec![table_10(timings, paper), table_11(timings, paper)];
    all.push(by_latency(timings, "figure-10", "IPC by the latency of a prediction", Rule::Paper));
    all.push(figure_12(timings));
    all.extend(pipelined(timings, paper));
    if has(Rule::Nothing.scheme()) {
        all.push(by_latency(timings, "pipelined-latency", "The same if every request is predicted", PIPELINED));
        all.extend(opponents(timings));
        all.push(oversubscribed(timings));
    }
    all.push(predictions(timings, "predictions", "What became of predictions", REVISED));
    all.push(predictions(
        timings,
        "predictions-pipelined",
        "The same if every request is predicted",
        PIPELINED.scheme(),
    ));
    all
}

fn table_10(timings: &[Timing], paper: &PaperNumbers) -> Figure {
    let note = "Walks that found their page on the device, of all walks, up to the cut: UVMSmart's tree (U), the revised \
                predictor (R) at a microsecond for a prediction. Ours is the predictor that comes with the project.";
    let columns = [
        printed("U, paper", paper, |name| format!("table10.{name}.0")),
        at_cut("U, ours", Scheme::Baseline, Moment::hit_rate),
        printed("R, paper", paper, |name| format!("table10.{name}.1")),
        at_cut("R, ours", REVISED, Moment::hit_rate),
    ];
    let title = "Page hit rate with the learned prefetcher";
    by_program(timings, frame("table-10-learned", title, note, "page hit rate"), &columns)
}

fn table_11(timings: &[Timing], paper: &PaperNumbers) -> Figure {
    let note = "As Table 11 of UVMSmart, of the revised predictor at a microsecond. Coverage counts a fault's own 64 KB, of \
                which the rule brings all: it can only be 1; strict leaves faulted pages out.";
    let columns = [
        printed("accuracy, paper", paper, |name| format!("table11.{name}.1.0")),
        at_cut("ours", REVISED, Moment::accuracy),
        printed("coverage, paper", paper, |name| format!("table11.{name}.1.1")),
        at_cut("ours", REVISED, Moment::coverage),
        at_cut("strict", REVISED, Moment::coverage_strict),
        printed("hit rate, paper", paper, |name| format!("table11.{name}.1.2")),
        at_cut("ours", REVISED, Moment::hit_rate),
        printed("unity, paper", paper, |name| format!("table11.{name}.1.3")),
        at_cut("ours", REVISED, Moment::unity),
    ];
    let title = "Accuracy, coverage, hit rate and unity with the learned prefetcher";
    by_program(timings, frame("table-11-learned", title, note, "share"), &columns)
}

fn by_latency(timings: &[Timing], id: &'static str, title: &'static str, rule: Rule) -> Figure {
    let note = "Instructions per core cycle over those of UVMSmart, up to the cut, by the time that a prediction takes. The paper has \
                1, 2, 5 and 10 us and prints geometric means of 1.10, 1.06, 1.00 and 0.90; 85 us is what one core of a host \
                takes for the paper's shape (docs/learned-prefetching.md).";
    let printed = PRINTED.into_iter().map(|(us, cycles)| (format!("{us} us"), cycles));
    let beyond = BEYOND.into_iter().map(|(name, cycles)| (name.to_owned(), cycles));
    let columns: Vec<_> =
        printed.chain(beyond).map(|(name, cycles)| relative(name, rule.taking(cycles), Moment::ipc)).collect();
    by_program(timings, ratios(id, title, note, "relative IPC"), &columns)
}

fn figure_12(timings: &[Timing]) -> Figure {
    let note =
        "Bytes that came over PCI Express up to the cut, over those of UVMSmart. The paper's geometric mean is 0.8895.";
    let columns = [relative("learned", REVISED, bytes)];
    by_program(timings, ratios("figure-12", "PCI Express use", note, "relative bytes"), &columns)
}

/// A machine's value over the tree's, both at the end of the program.
fn in_the_end<'a>(heading: impl Into<String>, scheme: Scheme, value: fn(&Moment) -> f64) -> Column<'a> {
    Column::new(heading, 3, move |t: &Timing| {
        Some(value(&t.point(scheme)?.whole()) / value(&t.point(Scheme::Baseline)?.whole()))
    })
}

/// Every request predicted, beside the paper's rule and the paper's numbers.
fn pipelined(timings: &[Timing], paper: &PaperNumbers) -> [Figure; 2] {
    let rule = "Every request to the GMMU is predicted, a microsecond each and as many at once as there are; the 64 KB blocks of the \
                eight likeliest pages come, together in transfers of up to 1 MB.";
    let scheme = PIPELINED.scheme();
    let speed = [
        relative("IPC", scheme, Moment::ipc),
        in_the_end("IPC, whole run", scheme, Moment::ipc),
        in_the_end("paper's rule, whole run", REVISED, Moment::ipc),
        relative("bytes", scheme, bytes),
        in_the_end("bytes, whole run", scheme, bytes),
    ];
    let note = format!("{rule} Over the tree, up to the cut and to the end.");
    let speed =
        by_program(timings, ratios("pipelined", "Every request predicted: speed", &note, "over the tree"), &speed);
    let whole = |heading: &str, scheme| at_end(heading, 4, scheme, |p| p.whole().hit_rate());
    let hits = [
        at_cut("hit rate: tree", Scheme::Baseline, Moment::hit_rate),
        printed("R, paper", paper, |name| format!("table10.{name}.1")),
        at_cut("ours", scheme, Moment::hit_rate),
        whole("whole run: tree", Scheme::Baseline),
        whole("ours", scheme),
        at_cut("accuracy", scheme, Moment::accuracy),
        at_cut("unity: tree", Scheme::Baseline, Moment::unity),
        printed("R, paper", paper, |name| format!("table11.{name}.1.3")),
        at_cut("ours", scheme, Moment::unity),
    ];
    let note = format!(
        "{rule} Up to the cut, hit rates also to the end: of the tree, as the paper prints them of its predictor, and ours."
    );
    [speed, by_program(timings, frame("pipelined-hits", "Every request predicted: hits", &note, "share"), &hits)]
}

/// What else could be in the predictor's place, and other rules around it, all at a microsecond.
fn opponents(timings: &[Timing]) -> Vec<Figure> {
    let mut machines = vec![("driver's rule".to_owned(), Scheme::DriversRule)];
    let rules = [Rule::Paper, PIPELINED].into_iter().chain(Predicting::opponents());
    machines.extend(rules.map(|rule| (rule.scheme().name(), rule.scheme())));
    let note = "The real driver's bitmap; the paper's rule; every request predicted and blocks together (pipelined). No prediction at all (the \
                rest of the faulted 64 KB); the paper's rule with tables in the predictor's place (the last stride of instruction \
                and warp; what followed the last delta); with whole blocks, one, or several above a probability; asked by every \
                request that finds it idle, and by all requests at once; pipelined with fewer and more blocks for a request, and with a \
                table. Up to the cut.";
    let figure = |frame: Frame, column: &dyn Fn(&(String, Scheme)) -> Column<'static>| {
        by_program(timings, frame, &machines.iter().map(column).collect::<Vec<_>>())
    };
    vec![
        figure(ratios("opponents-ipc", "IPC of other prefetchers", note, "relative IPC"), &|(name, scheme)| {
            relative(name.clone(), *scheme, Moment::ipc)
        }),
        figure(frame("opponents-hits", "Page hit rate of other prefetchers", note, "page hit rate"), &|(
            name,
            scheme,
        )| {
            at_cut(name.clone(), *scheme, Moment::hit_rate)
        }),
        figure(ratios("opponents-bytes", "PCI Express use of other prefetchers", note, "relative bytes"), &|(
            name,
            scheme,
        )| {
            relative(name.clone(), *scheme, bytes)
        }),
    ]
}

/// Memory that does not suffice.
fn oversubscribed(timings: &[Timing]) -> Figure {
    let note = format!(
        "Managed memory is {PERCENT} % of device memory, eviction of the least recent 2 MB, whole runs: time over the tree's with \
         enough memory, far faults, pages that came again."
    );
    let tree = Scheme::Oversubscribed(PERCENT, "lru");
    let short = |rule: Rule| rule.oversubscribed(PERCENT);
    let mut columns = Vec::new();
    for (name, scheme) in [("tree", tree), ("learned", short(Rule::Paper)), ("pipelined", short(PIPELINED))] {
        columns.push(Column::new(format!("{name}: time"), 3, move |t: &Timing| slowdown(t, scheme)));
        columns.push(at_end("far faults", 0, scheme, |p| p.whole().faults));
        columns.push(at_end("came again", 0, scheme, |p| p.thrashed));
    }
    let frame = frame("oversubscription-learned", "The learned prefetcher when memory does not suffice", &note, "");
    let mut figure = by_program(timings, frame, &columns);
    figure.chart = None;
    figure
}

/// What became of predictions at a microsecond.
fn predictions(timings: &[Timing], id: &'static str, title: &'static str, scheme: Scheme) -> Figure {
    let note = "At a microsecond each, whole runs. Shares are of the pages that predictions named: belonging to no \
                allocation, on the device, on their way or named before, asked for while the prediction was made, put into the \
                queue; of these, travelling with the rest of a faulted block, and accessed.";
    let columns = [
        at_end("far faults", 0, scheme, |p| p.whole().faults),
        at_end("predictions", 0, scheme, |p| p.predictions.made),
        at_end("of nothing", 0, scheme, |p| p.predictions.of_nothing),
        at_end("elsewhere", 3, scheme, |p| p.predictions.share(p.predictions.elsewhere)),
        at_end("here", 3, scheme, |p| p.predictions.share(p.predictions.here)),
        at_end("late", 3, scheme, |p| p.predictions.share(p.predictions.late)),
        at_end("queued", 3, scheme, |p| p.predictions.share(p.predictions.queued)),
        at_end("rode", 3, scheme, |p| p.predictions.of_queued(p.predictions.rode)),
        at_end("used", 3, scheme, |p| p.predictions.of_queued(p.predictions.used)),
    ];
    let mut figure = by_program(timings, frame(id, title, note, ""), &columns);
    figure.chart = None;
    figure
}

/// Programs that the predictor was never trained on.
pub(super) fn never_seen(timings: &[Timing]) -> Vec<Figure> {
    let note = "Programs that are neither in the paper nor among the five that the predictor was trained on, whole runs, over the tree.";
    let machines = [
        ("64 KB alone", Rule::Nothing.scheme()),
        ("driver's rule", Scheme::DriversRule),
        ("learned", REVISED),
        ("pipelined", PIPELINED.scheme()),
        ("pipelined stride", PIPELINED_TABLE.scheme()),
    ];
    let mut columns = vec![at_cut("tree: hit rate", Scheme::Baseline, Moment::hit_rate)];
    for (name, scheme) in machines {
        columns.push(relative(format!("{name}: IPC"), scheme, Moment::ipc));
        columns.push(at_cut("hit rate", scheme, Moment::hit_rate));
        columns.push(relative("bytes", scheme, bytes));
    }
    let mut figure = by_program(timings, frame("never-seen", "Programs never trained on", note, ""), &columns);
    figure.chart = None;
    vec![figure, predictions(timings, "never-seen-predictions", "What became of predictions for them", REVISED)]
}

/// The paper's means beside ours, of the programs that ran.
pub(super) fn rows(timings: &[Timing], paper: &PaperNumbers) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |item, metric: String, path: &str, ours: Measured| {
        let (workload, paper_value, standing) = (ALL.to_owned(), paper.get(path), Standing::Judged);
        rows.push(Row { paper: Paper::Uvm, item, workload, metric, paper_value, ours, standing });
    };
    let ratio =
        |scheme: Scheme, value: fn(&Moment) -> f64| geometric_mean(timings.iter().map(|t| over_tree(t, scheme, value)));
    // Both means are of the programs that ran with the predictor.
    let hits = |of: Scheme, scheme: Scheme| {
        let ran = |t: &&Timing| t.point(scheme).is_some();
        mean(timings.iter().map(|t| Some(t).filter(ran)?.at_cut(of).map(|moment| moment.hit_rate())))
    };
    for (rule, how) in [(Rule::Paper, ""), (PIPELINED, ", pipelined")] {
        let scheme = rule.scheme();
        for (us, cycles) in PRINTED {
            let ours = ratio(rule.taking(cycles), Moment::ipc);
            let path = format!("normalised_ipc_by_latency_us.{us}");
            if ours.value.is_some() || cycles == MICROSECOND {
                add("Figure 10", format!("IPC over UVMSmart's at {us} us{how}, geometric mean"), &path, ours);
            }
        }
        let gain = ratio(scheme, Moment::ipc).map(|ratio| ratio - 1.0);
        add("Section 7.4", format!("gain in IPC{how}, geometric mean"), "ipc_gain_geomean", gain);
        let gain = hits(scheme, scheme).with(hits(Scheme::Baseline, scheme), |r, u| r / u - 1.0);
        add("Table 10", format!("gain in page hit rate{how}, of means"), "hit_rate_gain", gain);
        let less = ratio(scheme, bytes).map(|ratio| 1.0 - ratio);
        add("Figure 12", format!("bytes over PCI Express saved{how}, geometric mean"), "pcie_reduction_geomean", less);
    }
    rows
}
