//! Tables and charts of mechanisms together, made from what was timed.

use super::interplay::{INDEPENDENT, Verdict, departure, longest, product, ratio};
use super::suite::{CACHE_PAIRS, FOUR, PAIRS, PLAIN, Pair, ROOMY, SINGLES, Scheme, TRAVEL};
use super::timing::{Point, Timing};
use crate::report::{Cell, Figure};
use crate::reproduce::by_program::{Column, Frame, Mean, by_program};
use crate::reproduce::{Measured, geometric_mean};

/// Candidates and what the plain machine says of them: those that press, and those that do not.
pub(super) fn candidates(all: &[Timing], rule: &str, presses: impl Fn(&Timing) -> bool) -> Figure {
    let row = |t: &Timing| {
        let plain = t.point(PLAIN).unwrap_or_default();
        let number = |value: f64, decimals| Cell::number(Some(value), decimals);
        vec![
            Cell::from(t.program.name),
            number(t.bytes / f64::from(1 << 20), 1),
            number(t.link_use().unwrap_or(0.0), 3),
            number(t.off_chip().unwrap_or(0.0), 3),
            number(plain.vault_use, 3),
            Cell::from(longest(&plain).0),
            Cell::from(if presses(t) { "yes" } else { "no" }),
        ]
    };
    let headings =
        ["program", "MiB", "use of links", "off-chip share", "use of vaults", "waits longest for", "presses on memory"];
    Figure {
        id: "candidates".into(),
        title: "Programs by what the plain machine says".into(),
        note: rule.to_owned(),
        headings: headings.map(str::to_owned).into(),
        rows: all.iter().map(row).collect(),
        chart: None,
        pictures: Vec::new(),
    }
}

fn relative(id: &'static str, title: &'static str, note: &str, axis: &'static str) -> Frame {
    Frame { id, title, note: note.to_owned(), axis, mean: Mean::Geometric, baseline: Some(1.0), timed: false }
}

/// Each alone, each pair, and all four papers'.
fn all_machines() -> Vec<Scheme> {
    SINGLES.into_iter().chain(PAIRS.map(|pair| pair.both)).chain([FOUR]).collect()
}

fn columns<'a>(
    schemes: &[Scheme],
    decimals: usize,
    value: impl Fn(&Timing, Scheme) -> Option<f64> + Copy + 'a,
) -> Vec<Column<'a, Timing>> {
    schemes.iter().map(|&scheme| Column::new(scheme.name, decimals, move |t: &Timing| value(t, scheme))).collect()
}

/// How fast, what is moved, and what it costs.
pub(super) fn machines(timings: &[Timing]) -> Vec<Figure> {
    let over = |part: fn(&Point) -> f64| move |t: &Timing, scheme: Scheme| t.relative(scheme, PLAIN, part);
    let speed = "Time of launches on the plain machine, which holds everything, over that with mechanisms; pages come within launches, and \
                 with unified memory four fifths of them fit.";
    let links = "Bytes on the links to stacks, between stacks and to the host, over the plain machine's.";
    let vaults = "Bytes that vaults moved, over the plain machine's.";
    let energy = "Energy over the plain machine's.";
    let all = all_machines();
    vec![
        by_program(timings, relative("speed", "Speed", speed, "relative speed"), &columns(&all, 3, Timing::speed)),
        by_program(
            timings,
            relative("links", "Traffic on links", links, "relative bytes"),
            &columns(&all, 3, over(|p| p.links)),
        ),
        by_program(
            timings,
            relative("vaults", "Traffic of vaults", vaults, "relative bytes"),
            &columns(&all, 3, over(|p| p.vaults)),
        ),
        by_program(
            timings,
            relative("energy", "Energy", energy, "relative energy"),
            &columns(&all, 3, over(|p| p.energy)),
        ),
    ]
}

/// What device memory holds.
pub(super) fn capacity(timings: &[Timing]) -> Figure {
    let note = "Bytes of allocations over the device memory that their targets keep for them (promised), and the most pages that were \
                on the device at once over the frames that it has (held): with memory for four fifths of all pages no more than \
                1.25 can be held. UVMSmart forgets at a synchronisation which pages are there and counts all memory as free, so that programs \
                of many launches hold more than its frames. CMD moves less and holds no more: the place of a block whose write it removes stays the block's.";
    let promised =
        |scheme: Scheme, name: &str| Column::new(name, 3, move |t: &Timing| t.point(scheme).and_then(|p| p.promised));
    let held = |scheme: Scheme| {
        Column::new(format!("held, {}", scheme.name), 3, move |t: &Timing| Some(t.point(scheme)?.held?.ratio()))
    };
    let [_, buddy, _, uvm, _] = SINGLES;
    let mut all = vec![promised(buddy, "promised, buddy"), held(uvm)];
    all.extend(PAIRS.iter().filter(|pair| pair.alone.contains(&uvm)).map(|pair| held(pair.both)));
    all.push(held(FOUR));
    let mut figure = by_program(timings, relative("capacity", "Capacity", note, "ratio"), &all);
    figure.chart = None;
    figure
}

/// The speed of pairs over the product of the speeds of their parts.
pub(super) fn interplay(timings: &[Timing], id: &'static str, title: &'static str, pairs: &'static [Pair]) -> Figure {
    let note = format!(
        "Speed of both together over the product of the speeds of each alone, all over the same plain machine. Above {:.2}: synergy, \
         below {:.2}: interference, between: independence.",
        1.0 + INDEPENDENT,
        1.0 - INDEPENDENT
    );
    let all: Vec<_> =
        pairs.iter().map(|&pair| Column::new(pair.both.name, 3, move |t: &Timing| ratio(t, pair))).collect();
    by_program(timings, relative(id, title, &note, "relative speed"), &all)
}

/// Programs of a verdict.
pub(super) fn of_verdict(timings: &[Timing], pair: Pair, verdict: Verdict) -> usize {
    timings.iter().filter_map(|t| ratio(t, pair)).filter(|&ratio| Verdict::of(ratio) == verdict).count()
}

/// A row for each pair: gains, and in how many programs they help or hinder each other.
pub(super) fn pairs(timings: &[Timing]) -> Figure {
    let row = |pair: &Pair| {
        let of = |value: &dyn Fn(&Timing) -> Option<f64>| geometric_mean(timings.iter().map(value));
        let [a, b] = pair.alone.map(|scheme| of(&|t| t.speed(scheme)));
        let both = of(&|t| t.speed(pair.both));
        let means: [Measured; 5] = [a, b, of(&|t| product(t, *pair)), both, of(&|t| ratio(t, *pair))];
        let mut cells = vec![Cell::from(pair.both.name)];
        cells.extend(means.map(|mean| Cell::number(mean.value, 3)));
        cells.extend(Verdict::ALL.map(|v| Cell::number(Some(of_verdict(timings, *pair, v) as f64), 0)));
        cells.push(Cell::Text(both.coverage()));
        cells
    };
    let headings = [
        "pair",
        "first alone",
        "second alone",
        "product",
        "together",
        "over the product",
        "synergy",
        "independence",
        "interference",
        "of",
    ];
    Figure {
        id: "pairs".into(),
        title: "What pairs come to".into(),
        note: "Geometric means over programs of speeds over the plain machine's, in the order of the pair's name, and numbers of programs \
               in which both help each other, do not mind, or hinder each other."
            .into(),
        headings: headings.map(str::to_owned).into(),
        rows: PAIRS.iter().map(row).collect(),
        chart: None,
        pictures: Vec::new(),
    }
}

/// Why: what requests wait for on all four machines of a pair.
pub(super) fn reasons(timings: &[Timing]) -> Figure {
    let longest = |t: &Timing, scheme: Scheme| {
        let shown = |point: Point| {
            let (what, share) = longest(&point);
            format!("{what} {:.0} %", 100.0 * share)
        };
        Cell::Text(t.point(scheme).map_or_else(String::new, shown))
    };
    let row = |t: &Timing, pair: &Pair| {
        let ratio = ratio(t, *pair);
        let departs = departure(t, *pair)
            .map_or_else(String::new, |(what, cycles)| format!("{what} {cycles:+.0} cycles a request"));
        vec![
            Cell::from(t.program.name),
            Cell::from(pair.both.name),
            Cell::number(ratio, 3),
            Cell::from(ratio.map_or("", |ratio| Verdict::of(ratio).name())),
            longest(t, PLAIN),
            longest(t, pair.alone[0]),
            longest(t, pair.alone[1]),
            longest(t, pair.both),
            Cell::Text(departs),
        ]
    };
    let headings = [
        "program",
        "pair",
        "over the product",
        "verdict",
        "plain",
        "first alone",
        "second alone",
        "together",
        "what departs",
    ];
    Figure {
        id: "why".into(),
        title: "What requests wait for".into(),
        note: "What line requests of the GPU's SMs wait for longest on each of four machines, latencies aside, with its share of all their \
               time (`--explain`); and what departs farthest, in the direction of the verdict, from the sum of what both change alone. A \
               page that is awaited counts with the load/store unit; blocks that run on stacks ask from there and are not in these sums."
            .into(),
        headings: headings.map(str::to_owned).into(),
        rows: PAIRS.iter().flat_map(|pair| timings.iter().map(move |t| row(t, pair))).collect(),
        chart: None,
        pictures: Vec::new(),
    }
}

/// Pages that travel compressed, and learned prefetching of them.
pub(super) fn travel(timings: &[Timing]) -> [Figure; 2] {
    let note = "Time of launches with unified memory alone, its tree prefetcher and enough memory, over that with Buddy Compression below it: \
                pages cross the link as they are, or as memory stores them, and the tree prefetches, or a predictor \
                (`docs/learned-prefetching.md`), whose predictions take their time.";
    let speed = columns(&TRAVEL, 3, |t, scheme| t.relative(ROOMY, scheme, |p| p.cycles));
    let links = columns(&TRAVEL, 3, |t, scheme| t.relative(scheme, ROOMY, |p| p.links));
    [
        by_program(
            timings,
            relative("travel", "Learned prefetching of compressed pages", note, "relative speed"),
            &speed,
        ),
        by_program(
            timings,
            relative(
                "travel-links",
                "The same: traffic on links",
                "Bytes on all links over those with unified memory alone.",
                "relative bytes",
            ),
            &links,
        ),
    ]
}

/// Caches that prefetch or replace otherwise, with each mechanism: programs of which the plain machine finds a tenth on the GPU.
pub(super) fn caches(timings: &[Timing]) -> Figure {
    let title = "A cache prefetcher and a replacement policy with each, where caches find a tenth or more";
    interplay(timings, "caches", title, &CACHE_PAIRS)
}
