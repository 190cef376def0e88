//! The figures, made from what was timed.

use super::suite::{FIFO_DEPTHS, HASH_STORES_KB, METADATA_EIGHTHS, NAMED, Scheme};
use super::timing::{Class, Point, READ_COUNTS, Timing};
use crate::report::Figure;
use crate::reproduce::Subject;
use crate::reproduce::by_program::{self, Frame, Mean, by_program};

/// Groups of programs, as the paper has them.
pub(super) const ALL: &str = "all";
pub(super) const MEMORY: &str = "memory-intensive";
pub(super) const COMPUTE: &str = "compute-intensive";

impl Subject for Timing {
    const GROUPS: &'static [&'static str] = &[ALL, MEMORY, COMPUTE];

    fn name(&self) -> &'static str {
        self.program.name
    }

    fn is_in(&self, group: &str) -> bool {
        match group {
            MEMORY => self.program.memory_intensive,
            COMPUTE => !self.program.memory_intensive,
            _ => true,
        }
    }

    fn is_cache_resident(&self) -> bool {
        self.is_resident()
    }
}

/// A column of a figure.
pub(super) type Column<'a> = by_program::Column<'a, Timing>;

/// A share of one number in another; nothing of nothing.
pub(super) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The share of a class that was removed.
pub(super) fn removed(class: Class) -> Option<f64> {
    share(class.before - class.after, class.before)
}

pub(super) fn of_cmd<'a>(heading: impl Into<String>, value: impl Fn(&Point) -> Option<f64> + 'a) -> Column<'a> {
    Column::new(heading, 3, move |t: &Timing| value(&t.cmd()?))
}

pub(super) fn speeds<'a>(schemes: impl IntoIterator<Item = (String, Scheme)>) -> Vec<Column<'a>> {
    schemes.into_iter().map(|(name, scheme)| Column::new(name, 3, move |t: &Timing| t.speed(scheme))).collect()
}

fn named<'a>(names: &'a [&'static str]) -> impl Iterator<Item = (String, Scheme)> + 'a {
    names.iter().map(|&name| (name.to_owned(), Scheme::Named(name)))
}

/// A figure of shares.
pub(super) fn shares(id: &'static str, title: &'static str, note: &str, axis: &'static str) -> Frame {
    Frame { id, title, note: note.to_owned(), axis, mean: Mean::Arithmetic, baseline: None, timed: true }
}

/// A figure of ratios to the baseline.
pub(super) fn ratios(id: &'static str, title: &'static str, note: &str, axis: &'static str) -> Frame {
    Frame { id, title, note: note.to_owned(), axis, mean: Mean::Geometric, baseline: Some(1.0), timed: true }
}

/// What the inputs are, and how hard they press on memory.
pub(super) fn inputs(timings: &[Timing]) -> Figure {
    let note = "Of the plain machine: bytes allocated, and over its L2; sectors that DRAM moved over those that SMs asked L2 for or \
                sent there; use of the memory bus. A program whose data fit into L2, or which asks DRAM for less than 2 % of its \
                sectors, is called cache-resident: it is in every mean of all, and a mean beside that leaves it out.";
    let columns = [
        Column::new("MiB", 1, |t: &Timing| Some(t.bytes.0 as f64 / f64::from(1 << 20))),
        Column::new("over L2", 1, |t: &Timing| Some(t.over_l2())),
        Column::new("machine 1/", 0, |t: &Timing| Some(t.scale.into())),
        Column::new("off-chip share", 3, Timing::off_chip_share),
        Column::new("memory bus use", 3, |t: &Timing| Some(t.point(Scheme::Baseline)?.bus_use)),
    ];
    let mut figure = by_program(timings, shares("inputs", "The programs", note, "share"), &columns);
    figure.chart = None;
    figure
}

pub(super) fn figure_2(timings: &[Timing]) -> Figure {
    let note = "Off-chip requests of a plain machine (counted with `cmd` in it, see Figure 13) over sectors that SMs ask L2 for \
                or send there. A write-back is one request, a sector read is one.";
    let of = |class: fn(&Point) -> f64| move |p: &Point| share(class(p), p.l2_sectors);
    let columns = [
        of_cmd("all", of(|p| p.requests().before)),
        of_cmd("write", of(|p| p.write.before)),
        of_cmd("data read", of(|p| p.data_read.before)),
        of_cmd("read only", of(|p| p.read_only.before)),
    ];
    by_program(timings, shares("figure-2", "Off-chip requests by class", note, "share of L2 accesses"), &columns)
}

pub(super) fn figure_3(timings: &[Timing]) -> Figure {
    let note = "Of blocks written back: those whose words are all equal, those equal to another block of the same controller at \
                that time, and the latter without the former.";
    let columns = [
        of_cmd("intra", |p| share(p.study[1], p.study[0])),
        of_cmd("inter", |p| share(p.study[2], p.study[0])),
        of_cmd("inter, not intra", |p| share(p.study[2] - p.study[3], p.study[0])),
    ];
    by_program(timings, shares("figure-3", "Duplicates among written blocks", note, "share of writes"), &columns)
}

pub(super) fn figure_6(timings: &[Timing], variants: bool) -> Figure {
    let note = "IPC over the baseline's. CRC and ESD read the reference of every match.";
    let mut schemes = vec![("esd", Scheme::Named("esd")), ("dedup", Scheme::Named("dedup"))];
    if variants {
        schemes.extend([("dedup, CRC", Scheme::Crc), ("dedup, no hash latency", Scheme::NoHashLatency)]);
    }
    let columns = speeds(schemes.into_iter().map(|(name, scheme)| (name.to_owned(), scheme)));
    by_program(timings, ratios("figure-6", "Ways to find duplicates", note, "relative IPC"), &columns)
}

pub(super) fn figure_8(timings: &[Timing]) -> Figure {
    let note =
        "Sectors read for writes that do not cover what the block held, over all off-chip requests and per write-back.";
    let columns = [
        of_cmd("of all requests", |p| share(p.dedup_read, p.requests().after)),
        of_cmd("per write", |p| share(p.dedup_read, p.write.before)),
    ];
    by_program(timings, shares("figure-8", "Dedup-Reads", note, "share"), &columns)
}

pub(super) fn figure_11(timings: &[Timing]) -> Figure {
    let note = "Of blocks that no kernel wrote and that were read from DRAM, those read at least so often (with `cmd`, so after \
                its FIFO).";
    let columns: Vec<_> = READ_COUNTS
        .iter()
        .enumerate()
        .skip(1)
        .map(|(k, n)| of_cmd(format!("{n} times"), move |p| share(p.read_counts[k], p.read_counts[0])))
        .collect();
    by_program(timings, shares("figure-11", "How often read-only blocks are read", note, "share of blocks"), &columns)
}

pub(super) fn figure_13(timings: &[Timing]) -> Vec<Figure> {
    let note = "Requests over all those of the baseline, which are counted in the same run: what is left and what was removed.";
    let of = |part: fn(&Point) -> f64| move |p: &Point| share(part(p), p.requests().before);
    let columns = [
        of_cmd("write, before", of(|p| p.write.before)),
        of_cmd("after", of(|p| p.write.after)),
        of_cmd("data read, before", of(|p| p.data_read.before)),
        of_cmd("after", of(|p| p.data_read.after)),
        of_cmd("read only, before", of(|p| p.read_only.before)),
        of_cmd("after", of(|p| p.read_only.after)),
        of_cmd("metadata", of(|p| p.metadata)),
        of_cmd("dedup read", of(|p| p.dedup_read)),
        of_cmd("all, after", of(|p| p.requests().after)),
    ];
    let breakdown =
        by_program(timings, shares("figure-13", "Requests before and after CMD", note, "share of requests"), &columns);
    let note = "Sectors that DRAM moved over the baseline's, each on its own run.";
    let columns: Vec<_> = NAMED
        .iter()
        .map(|&name| {
            Column::new(name, 3, move |t: &Timing| {
                share(t.point(Scheme::Named(name))?.dram_sectors, t.point(Scheme::Baseline)?.dram_sectors)
            })
        })
        .collect();
    let frame = ratios("off-chip", "Off-chip traffic of all schemes", note, "relative sectors");
    vec![breakdown, by_program(timings, Frame { mean: Mean::Arithmetic, ..frame }, &columns)]
}

pub(super) fn figure_14(timings: &[Timing]) -> Figure {
    let columns = speeds(named(&["l2-5mb", "bpc", "bcd", "esd", "cmd"]));
    by_program(
        timings,
        ratios("figure-14", "Speed of the schemes", "IPC over the baseline's.", "relative IPC"),
        &columns,
    )
}

pub(super) fn figure_15(timings: &[Timing]) -> Figure {
    let columns = speeds(named(&["dedup", "dedup-car", "cmd"]));
    let note = "IPC over the baseline's: writes deduplicated, reads assisted by L2, and with the FIFO.";
    by_program(timings, ratios("figure-15", "Speed, technique by technique", note, "relative IPC"), &columns)
}

/// A figure of what schemes take of something, over the baseline's.
fn of_baseline<'a>(part: fn(&Point) -> f64) -> Vec<Column<'a>> {
    let over = |name| {
        Column::new(name, 3, move |t: &Timing| {
            share(part(&t.point(Scheme::Named(name))?), part(&t.point(Scheme::Baseline)?))
        })
    };
    NAMED.into_iter().map(over).collect()
}

pub(super) fn figure_16(timings: &[Timing]) -> [Figure; 2] {
    let note = "Of L2, what mechanisms have at the memory controllers, and DRAM, over the baseline's: energy of accesses, and 20 W \
                of being switched on for as long as the program runs, as the paper multiplies power by time.";
    let whole = ratios("figure-16", "Energy of L2, controllers and DRAM", note, "relative energy");
    let note = "The same without what being switched on takes.";
    let accesses = ratios("access-energy", "Energy of accesses alone", note, "relative energy");
    [
        by_program(timings, whole, &of_baseline(|p| p.energy)),
        by_program(timings, accesses, &of_baseline(|p| p.access_energy)),
    ]
}

/// The share of writes that is removed.
pub(super) fn deduplicated(p: &Point) -> Option<f64> {
    share(p.intra + p.inter, p.write.before)
}

pub(super) fn figure_17(timings: &[Timing], sweeps: bool) -> Vec<Figure> {
    let note = "Writes removed over all writes; KB of the hash stores of eight controllers.";
    let at = |scheme: Scheme| move |t: &Timing| deduplicated(&t.point(scheme)?);
    let stores = HASH_STORES_KB.iter().filter(|kb| sweeps || **kb == 384);
    let mut columns: Vec<_> = stores.map(|&kb| Column::new(format!("{kb} KB"), 3, at(Scheme::HashStore(kb)))).collect();
    if sweeps {
        columns.push(Column::new("exact", 3, at(Scheme::Exact)));
    }
    let frame = shares("figure-17a", "Deduplicated writes by size of the hash stores", note, "share of writes");
    let mut figures = vec![by_program(timings, frame, &columns)];
    let note = "Over all look-ups, of which a request has one a table; one that waits for a fetch under way is no hit here. The design \
                has 384, 80 and 40 KB in all.";
    let tables = [
        ("figure-17b", "Hit rate of the address map's caches", 384),
        ("figure-17c", "Hit rate of the sector masks' caches", 80),
        ("figure-17d", "Hit rate of the type flags' caches", 40),
    ];
    for ((id, title, kb), table) in tables.into_iter().zip([0, 2, 1]) {
        let sizes = METADATA_EIGHTHS.iter().filter(|eighths| sweeps || **eighths == 8);
        let columns: Vec<_> = sizes
            .map(|&eighths| {
                let value = move |t: &Timing| t.point(Scheme::Metadata(eighths))?.hit_rates[table];
                Column::new(format!("{} KB", kb * eighths / 8), 3, value)
            })
            .collect();
        figures.push(by_program(timings, shares(id, title, note, "hit rate"), &columns));
    }
    figures
}

/// The share of Read-Only requests that the FIFO answers.
pub(super) fn answered_by_fifo(p: &Point) -> Option<f64> {
    share(p.fifo_read_only, p.read_only.before)
}

pub(super) fn figure_18(timings: &[Timing], sweeps: bool) -> Figure {
    let note =
        "Of sectors that no kernel wrote and that L2 misses, those that the FIFO of its slice has; entries of 32 B.";
    let depths = FIFO_DEPTHS.iter().filter(|depth| sweeps || **depth == 16);
    let columns: Vec<_> = depths
        .map(|&depth| {
            Column::new(format!("{depth}"), 3, move |t: &Timing| answered_by_fifo(&t.point(Scheme::Fifo(depth))?))
        })
        .collect();
    by_program(
        timings,
        shares("figure-18", "Read-Only requests that the FIFO removes", note, "share of requests"),
        &columns,
    )
}

pub(super) fn figure_19(timings: &[Timing]) -> Figure {
    let columns = speeds(named(&["bpc", "cmd", "cmd+bpc"]));
    let note = "IPC over the baseline's; BPC compresses what CMD does not remove.";
    by_program(timings, ratios("figure-19", "CMD with compression", note, "relative IPC"), &columns)
}
