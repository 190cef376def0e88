//! The figures, made from what was observed and timed.

use super::energy::{self, Constants};
use super::memory::Memory;
use super::suite::Suite;
use super::timing::{Scheme, Timing};
use crate::report::{Cell, Chart, Figure, Kind, Series};
use crate::reproduce::by_program::{self, Frame, Mean, by_program};
use crate::reproduce::{self, PaperNumbers, Subject as _};
use strata_buddy::{Design, SHADOW_KIB};
use strata_codec::{Codec, SizeClasses};

/// Everything that was measured of one program.
pub(super) struct Subject<'a> {
    pub(super) memory: &'a Memory,
    pub(super) timing: &'a Timing,
}

impl reproduce::Subject for Subject<'_> {
    const GROUPS: &'static [&'static str] = &[Suite::Hpc.name(), Suite::Dl.name()];

    fn name(&self) -> &'static str {
        self.memory.program.name
    }

    fn is_in(&self, group: &str) -> bool {
        self.memory.program.suite.name() == group
    }

    fn is_cache_resident(&self) -> bool {
        self.timing.resident
    }
}

impl Subject<'_> {
    pub(super) fn is_of(&self, suite: Suite) -> bool {
        self.memory.program.suite == suite
    }
}

/// A column of a figure.
type Column<'a, 'b> = by_program::Column<'a, Subject<'b>>;

fn column<'a, 'b>(
    heading: impl Into<String>,
    decimals: usize,
    value: impl Fn(&Subject<'b>) -> Option<f64> + 'a,
) -> Column<'a, 'b> {
    Column::new(heading, decimals, value)
}

/// What the inputs are: shown first, because values decide everything else.
pub(super) fn inputs(subjects: &[Subject<'_>]) -> Figure {
    let frame = Frame {
        id: "inputs",
        title: "The programs and their data",
        note: "Bytes allocated, values of bytes over all snapshots, use of the plain machine's memory. The machine is \
               scaled down with programs that would fit into its caches: SMs, L2, channels and link alike."
            .into(),
        axis: "share of zero bytes",
        mean: Mean::Arithmetic,
        baseline: None,
        timed: false,
    };
    let columns = [
        column("MiB", 1, |s| Some(s.memory.bytes.0 as f64 / f64::from(1 << 20))),
        column("MiB, timed", 1, |s| Some(s.memory.timed_bytes.0 as f64 / f64::from(1 << 20))),
        column("zero bytes", 3, |s| Some(s.memory.zero_share)),
        column("entropy, bits", 2, |s| Some(s.memory.entropy)),
        column("machine 1/", 0, |s| Some(s.timing.scale.into())),
        column("memory bus use", 3, |s| Some(s.timing.point(Scheme::Plain)?.bus_use)),
    ];
    let mut figure = by_program(subjects, frame, &columns);
    figure.chart = None;
    figure
}

pub(super) fn figure_3(subjects: &[Subject<'_>]) -> Figure {
    let frame = Frame {
        id: "figure-3",
        title: "Ideal compression ratio over the run",
        note: "BPC with the sizes 0, 8, 16, 32, 64, 80, 96 and 128 B; ten snapshots, the first and the last shown."
            .into(),
        axis: "compression ratio",
        mean: Mean::Geometric,
        baseline: Some(1.0),
        timed: false,
    };
    let columns = [
        column("all snapshots", 2, |s| s.memory.total.ratio(Codec::Bpc)),
        column("first", 2, |s| *s.memory.ratios.first()?),
        column("last", 2, |s| *s.memory.ratios.last()?),
    ];
    by_program(subjects, frame, &columns)
}

pub(super) fn figure_5a(subjects: &[Subject<'_>]) -> Figure {
    let frame = Frame {
        id: "figure-5a",
        title: "Compression ratio by algorithm",
        note: "All with the eight sizes of the ideal study; entries of zeros take nothing with any of them.".into(),
        axis: "compression ratio",
        mean: Mean::Geometric,
        baseline: Some(1.0),
        timed: false,
    };
    let columns: Vec<_> = Codec::ALL.map(|codec| column(codec.name(), 2, move |s| s.memory.total.ratio(codec))).into();
    by_program(subjects, frame, &columns)
}

pub(super) fn figure_5b(subjects: &[Subject<'_>]) -> Figure {
    let frame = Frame {
        id: "figure-5b",
        title: "Sizes of compressed entries",
        note: "Share of entries of each size, BPC at 128 B.".into(),
        axis: "share of entries",
        mean: Mean::Arithmetic,
        baseline: None,
        timed: false,
    };
    let share = |index: usize| {
        move |s: &Subject<'_>| Some(s.memory.total.sizes[index] as f64 / s.memory.total.entries.max(1) as f64)
    };
    let sizes = SizeClasses::IDEAL.all().iter().enumerate();
    let columns: Vec<_> = sizes.map(|(index, bytes)| column(format!("{bytes} B"), 3, share(index))).collect();
    by_program(subjects, frame, &columns)
}

pub(super) fn figure_6b(subjects: &[Subject<'_>]) -> Figure {
    let frame = Frame {
        id: "figure-6b",
        title: "Hit rate of metadata caches by their total size",
        note:
            "Caches that watch the run with 64 KiB at 150 GB/s without taking part, and the one that takes part; on a \
               smaller machine, sizes are those of the whole one."
                .into(),
        axis: "hit rate",
        mean: Mean::Arithmetic,
        baseline: None,
        timed: true,
    };
    let mut columns: Vec<_> = SHADOW_KIB
        .into_iter()
        .enumerate()
        .map(|(k, kib)| column(format!("{kib} KiB"), 3, move |s| s.timing.point(Scheme::Buddy(150))?.shadows[k]))
        .collect();
    columns.push(column("64 KiB, taking part", 3, |s| s.timing.point(Scheme::Buddy(150))?.metadata_hit_rate));
    columns.push(column("32 KiB, taking part", 3, |s| s.timing.point(Scheme::HalfMetadata)?.metadata_hit_rate));
    by_program(subjects, frame, &columns)
}

fn design_name(design: Design) -> &'static str {
    match design {
        Design::Naive => "naive",
        Design::PerAllocation => "per allocation",
        Design::ZeroPage => "zero pages",
    }
}

pub(super) fn figure_7(subjects: &[Subject<'_>]) -> Vec<Figure> {
    let note = "Targets chosen on the small input with a Buddy Threshold of 30 %, judged on this one.";
    let frame =
        |id, title, axis, mean, baseline| Frame { id, title, note: note.into(), axis, mean, baseline, timed: false };
    let ratio = (0..3).map(|k| {
        let name = design_name(Design::ALL[k]);
        column(name, 2, move |s: &Subject<'_>| Some(s.memory.designs[k].1.ratio()))
    });
    let accesses = (0..3).map(|k| {
        let name = design_name(Design::ALL[k]);
        column(name, 4, move |s: &Subject<'_>| Some(s.memory.designs[k].1.buddy_accesses()))
    });
    let first = frame("figure-7-ratio", "Capacity ratio by design", "capacity ratio", Mean::Geometric, Some(1.0));
    let title = "Entries over their target, by design (static buddy accesses)";
    let second = frame("figure-7-accesses", title, "share of entries", Mean::Arithmetic, None);
    vec![
        by_program(subjects, first, &ratio.collect::<Vec<_>>()),
        by_program(subjects, second, &accesses.collect::<Vec<_>>()),
        mostly_zero(subjects),
    ]
}

fn mostly_zero(subjects: &[Subject<'_>]) -> Figure {
    let frame = Frame {
        id: "mostly-zero",
        title: "What counts as mostly zero",
        note:
            "The final design if 90, 95 or 99 % of an allocation's entries must be within 8 B in every snapshot for a \
               target of 16x; the paper does not say, 95 % is our choice."
                .into(),
        axis: "capacity ratio",
        mean: Mean::Geometric,
        baseline: Some(1.0),
        timed: false,
    };
    let columns = [0, 1, 2].map(|k| {
        let percent = [90, 95, 99][k];
        column(format!("{percent} %"), 2, move |s: &Subject<'_>| Some(s.memory.mostly_zero.get(k)?.1.ratio()))
    });
    by_program(subjects, frame, &columns)
}

pub(super) fn figure_8(subjects: &[Subject<'_>]) -> Figure {
    let pictures = subjects.iter().map(|s| (s.memory.map.clone(), s.name().to_owned())).collect();
    Figure {
        id: "figure-8".into(),
        title: "Where in memory compressible data are".into(),
        note: "A pixel is an entry of the middle snapshot, a row is 64 of them; blue is compressible, red is not."
            .into(),
        headings: vec!["program".into(), "picture".into()],
        rows: subjects.iter().map(|s| vec![s.name().into(), s.memory.map.as_str().into()]).collect(),
        chart: None,
        pictures,
    }
}

pub(super) fn figure_9(subjects: &[Subject<'_>]) -> Figure {
    let shown: Vec<_> = subjects.iter().filter(|s| s.is_of(Suite::Dl)).collect();
    let moments = shown.iter().map(|s| s.memory.accesses.len()).max().unwrap_or(0);
    let value = |s: &Subject<'_>, k: usize| s.memory.accesses.get(k).copied();
    Figure {
        id: "figure-9".into(),
        title: "Entries over their target during a training step".into(),
        note: "The paper shows ResNet50 and SqueezeNet; all six are here. One step after training, ten moments.".into(),
        headings: ["moment".to_owned()].into_iter().chain(shown.iter().map(|s| s.name().to_owned())).collect(),
        rows: (0..moments)
            .map(|k| {
                let values = shown.iter().map(|s| Cell::number(value(s, k), 4));
                [Cell::Number((k + 1) as f64, 0)].into_iter().chain(values).collect()
            })
            .collect(),
        chart: Some(Chart {
            kind: Kind::Lines,
            axis: "share of entries".into(),
            categories: (1..=moments).map(|k| k.to_string()).collect(),
            series: shown
                .iter()
                .map(|s| Series { name: s.name().into(), values: (0..moments).map(|k| value(s, k)).collect() })
                .collect(),
            baseline: None,
        }),
        pictures: Vec::new(),
    }
}

pub(super) fn figure_10(subjects: &[Subject<'_>]) -> Vec<Figure> {
    let note = "The final design under several Buddy Thresholds. `best` has none: each allocation gets the target nearest to \
                the size its entries compress to (our reading; the paper does not define it).";
    let frame =
        |id, title, axis, mean, baseline| Frame { id, title, note: note.into(), axis, mean, baseline, timed: false };
    let thresholds: Vec<f64> =
        subjects.first().map_or(Vec::new(), |s| s.memory.thresholds.iter().map(|t| t.0).collect());
    let name = |t: f64| format!("{:.0} %", t * 100.0);
    let mut ratio: Vec<Column<'_, '_>> = Vec::new();
    let mut accesses: Vec<Column<'_, '_>> = Vec::new();
    for (k, &threshold) in thresholds.iter().enumerate() {
        ratio.push(column(name(threshold), 2, move |s| Some(s.memory.thresholds.get(k)?.1.ratio())));
        accesses.push(column(name(threshold), 4, move |s| Some(s.memory.thresholds.get(k)?.1.buddy_accesses())));
    }
    ratio.push(column("best", 2, |s| Some(s.memory.best.ratio())));
    accesses.push(column("best", 4, |s| Some(s.memory.best.buddy_accesses())));
    let title = "Capacity ratio by Buddy Threshold";
    let first = frame("figure-10-ratio", title, "capacity ratio", Mean::Geometric, Some(1.0));
    let title = "Entries over their target by Buddy Threshold";
    let second = frame("figure-10-accesses", title, "share of entries", Mean::Arithmetic, None);
    vec![by_program(subjects, first, &ratio), by_program(subjects, second, &accesses)]
}

pub(super) fn figure_12(subjects: &[Subject<'_>], links: &[u32]) -> Vec<Figure> {
    let frame = Frame {
        id: "figure-12",
        title: "Speed against a GPU without memory limit",
        note:
            "Cycles of launches on the plain machine with 150 GB/s over those with compression: more than 1 is faster. \
               Copies between host and device are in the next table."
                .into(),
        axis: "relative speed",
        mean: Mean::Geometric,
        baseline: Some(1.0),
        timed: true,
    };
    let speed = |scheme: Scheme| move |s: &Subject<'_>| s.timing.time_ratio(scheme).map(f64::recip);
    let mut columns = vec![column("bandwidth only", 3, speed(Scheme::Bandwidth))];
    columns.extend(links.iter().map(|&link| column(format!("buddy, {link} GB/s"), 3, speed(Scheme::Buddy(link)))));
    columns.push(column("150 GB/s, 32 KiB metadata", 3, speed(Scheme::HalfMetadata)));
    let figure = by_program(subjects, frame, &columns);

    let frame = Frame {
        id: "figure-12-accesses",
        title: "What Buddy Compression's accesses do at 150 GB/s",
        note: "Fills and write-backs over the link (dynamic buddy accesses), of those of all memory, as the paper counts them, and \
               of those of compressed memory alone; write-backs that read first, of the latter; write-backs whose entry grows, \
               per warp instruction, with targets and with every entry compressed; the busier direction of the link; and \
               relative speed if copies count, too."
            .into(),
        axis: "share",
        mean: Mean::Arithmetic,
        baseline: None,
        timed: true,
    };
    let at_150 = |s: &Subject<'_>| s.timing.point(Scheme::Buddy(150));
    let columns = [
        column("over the link, of all", 4, |s| s.timing.over_link(Scheme::Buddy(150))),
        column("of compressed", 4, move |s| at_150(s).map(|p| p.over_link / p.accesses.max(1.0))),
        column("merges", 4, move |s| at_150(s).map(|p| p.merges / p.accesses.max(1.0))),
        column("overflows", 5, move |s| at_150(s).map(|p| p.overflows / p.warp_instructions.max(1.0))),
        column("overflows, all compressed", 5, |s| {
            s.timing.point(Scheme::Bandwidth).map(|p| p.overflows / p.warp_instructions.max(1.0))
        }),
        column("link use", 4, move |s| at_150(s).map(|p| p.link_use)),
        column("speed with copies, 50 GB/s", 3, |s| {
            let (plain, slow) = (s.timing.point(Scheme::Plain)?, s.timing.point(Scheme::Buddy(50))?);
            Some((plain.cycles + plain.copy_cycles) / (slow.cycles + slow.copy_cycles))
        }),
        column("machine energy", 3, move |s| Some(at_150(s)?.energy / s.timing.point(Scheme::Plain)?.energy)),
    ];
    let mut accesses = by_program(subjects, frame, &columns);
    accesses.chart = None;
    vec![figure, accesses]
}

/// What the threshold is on: entries of snapshots, as the paper's profiler has them, or accesses, as its words have it.
pub(super) fn profilers(subjects: &[Subject<'_>]) -> Figure {
    let frame = Frame {
        id: "profilers",
        title: "Targets by entries and by accesses",
        note: "The Buddy Threshold limits \"the expected fraction of buddy-memory accesses\" (section III-B); the paper's profiler \
               has snapshots, and counts entries. By accesses, a timed run of the small input on the plain machine counts what \
               crosses L2's edge, entry by entry. Capacity; fills and write-backs over the link, of those of all memory; speed \
               over the plain machine, all at 150 GB/s."
            .into(),
        axis: "capacity ratio, relative speed",
        mean: Mean::Geometric,
        baseline: Some(1.0),
        timed: true,
    };
    let (entries, accesses) = (Scheme::Buddy(150), Scheme::ByAccesses);
    let speed = |scheme: Scheme| move |s: &Subject<'_>| s.timing.time_ratio(scheme).map(f64::recip);
    let columns = [
        column("capacity, by entries", 2, |s| Some(s.memory.designs[2].1.ratio())),
        column("capacity, by accesses", 2, |s| Some(s.memory.by_accesses.outcome.ratio())),
        column("speed, by entries", 3, speed(entries)),
        column("speed, by accesses", 3, speed(accesses)),
    ];
    let mut figure = by_program(subjects, frame, &columns);
    // Shares have no geometric mean where some are zero.
    let shares =
        [entries, accesses].map(|scheme| subjects.iter().map(|s| s.timing.over_link(scheme)).collect::<Vec<_>>());
    for (heading, values) in ["over the link, by entries", "over the link, by accesses"].into_iter().zip(shares) {
        figure.headings.push(heading.into());
        for (k, row) in figure.rows.iter_mut().enumerate() {
            row.push(Cell::number(values.get(k).copied().flatten(), 4));
        }
    }
    figure
}

/// The whole machine beside the models that quick looks are made on; none where there are no models.
pub(super) fn scale_models(subjects: &[Subject<'_>]) -> Option<Figure> {
    if subjects.iter().all(|s| s.timing.model.is_none()) {
        return None;
    }
    let frame = Frame {
        id: "scale-models",
        title: "Scale models against the whole machine",
        note: "The same programs, inputs and targets at 150 GB/s, over the plain machine of the same scale. `--quick` has models \
               alone."
            .into(),
        axis: "relative speed",
        mean: Mean::Geometric,
        baseline: Some(1.0),
        timed: true,
    };
    let whole = |scheme: Scheme| move |s: &Subject<'_>| s.timing.time_ratio(scheme).map(f64::recip);
    let model = |scheme: Scheme| move |s: &Subject<'_>| s.timing.model_time_ratio(scheme).map(f64::recip);
    let columns = [
        column("model 1/", 0, |s| s.timing.model.as_ref().map(|(scale, _)| f64::from(*scale))),
        column("bandwidth only, whole", 3, whole(Scheme::Bandwidth)),
        column("model", 3, model(Scheme::Bandwidth)),
        column("buddy, whole", 3, whole(Scheme::Buddy(150))),
        column("model", 3, model(Scheme::Buddy(150))),
    ];
    Some(by_program(subjects, frame, &columns))
}

pub(super) fn figure_13(subjects: &[Subject<'_>], paper: &PaperNumbers) -> Figure {
    let constants = Constants::new(paper);
    let frame = Frame {
        id: "figure-13",
        title: "Energy of memory accesses",
        note: "Every snapshot read once, over the plain memory. Rows are opened per byte as often as on the plain machine; \
               metadata hit rates of 64 KiB; compressed data toggle always, plain data half of the time; the link costs 22 \
               pJ/bit with a header of 32 B for each packet; buddy memory and metadata cost as HBM2."
            .into(),
        axis: "relative energy",
        mean: Mean::Geometric,
        baseline: Some(1.0),
        timed: true,
    };
    let relative = |s: &Subject<'_>| {
        let (plain, buddy) = (s.timing.point(Scheme::Plain)?, s.timing.point(Scheme::Buddy(150))?);
        Some(energy::relative(s.memory, &plain, &buddy, constants.as_ref()?))
    };
    let columns = [
        column("bandwidth only", 3, move |s| relative(s).map(|e| e.0)),
        column("buddy", 3, move |s| relative(s).map(|e| e.1)),
    ];
    by_program(subjects, frame, &columns)
}
