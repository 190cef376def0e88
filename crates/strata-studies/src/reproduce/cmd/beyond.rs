//! What the paper does not show: what it tried and gives no number of, where reuse begins, what scale models are worth, what
//! could be added to CMD, and what it says twice.

use super::figures::{Column, of_cmd, ratios, share, shares, speeds};
use super::suite::{Beyond, CMD, HASH_INTERVALS, Limit, Scheme};
use super::timing::{Point, REREAD_DEPTHS, Timing};
use crate::report::{Cell, Chart, Figure, Kind, Series};
use crate::reproduce::PaperNumbers;
use crate::reproduce::by_program::by_program;
use strata_cmd::Area;

/// Blocks or sectors: what the paper tried and gives no number of.
pub(super) fn sectors(timings: &[Timing]) -> Figure {
    let note = format!(
        "Write deduplication of blocks of 128 B, and of sectors of 32 B each by itself: IPC and sectors that DRAM moved, over \
         the baseline's. Metadata take {:.2} % of DRAM for blocks and {:.2} % for sectors.",
        100.0 * strata_cmd::block::capacity_overhead(),
        100.0 * strata_cmd::block::capacity_overhead_of_sectors(),
    );
    let schemes = [("blocks", Scheme::Named("dedup")), ("sectors", Scheme::Sectors)];
    let mut columns = speeds(schemes.map(|(name, scheme)| (format!("IPC, {name}"), scheme)));
    columns.extend(schemes.map(|(name, scheme)| {
        Column::new(format!("traffic, {name}"), 3, move |t: &Timing| {
            share(t.point(scheme)?.dram_sectors, t.point(Scheme::Baseline)?.dram_sectors)
        })
    }));
    by_program(timings, ratios("sectors", "Blocks or sectors", &note, "relative"), &columns)
}

/// What cache-assisted reads find.
pub(super) fn reads(timings: &[Timing]) -> Figure {
    let note = "Sectors of duplicates that reads want, over all Data-Reads; those that L2 has of the reference, over them; lines \
                that the spill area grew to.";
    let columns = [
        of_cmd("duplicates read", |p| share(p.probed, p.data_read.before)),
        of_cmd("copied from L2", |p| share(p.copied, p.probed)),
        of_cmd("spill lines", |p| Some(p.spilled)),
    ];
    let mut reads = by_program(timings, shares("reads", "What cache-assisted reads find", note, "share"), &columns);
    reads.chart = None;
    reads
}

/// What a hash unit costs that is not pipelined.
pub(super) fn hash_intervals(timings: &[Timing]) -> Figure {
    let note = "IPC over the baseline's, if a controller's hash unit takes a block every so many core cycles; the paper \
                charges latency alone, an unpipelined unit takes one every 228.";
    let columns = speeds(HASH_INTERVALS.map(|cycles| (format!("{cycles} cycles"), Scheme::HashInterval(cycles))));
    let frame = ratios("hash-interval", "Speed by the hash unit's interval", note, "relative IPC");
    by_program(timings, frame, &columns)
}

/// The three ways to count a hit, and what metadata cost.
pub(super) fn hit_rates(timings: &[Timing]) -> Figure {
    let note = "Of the address map and the sector masks: look-ups that find their entry; with those that wait for a fetch under way, which \
                ask DRAM for nothing; and as if every sector of a request looked its entry up, as requests of 32 bytes do. What it \
                comes to is the last column, the share of metadata in all off-chip requests: how look-ups are counted does not \
                change that one.";
    let mut columns = Vec::new();
    for (table, name) in [(0, "map"), (2, "mask")] {
        columns.push(of_cmd(format!("{name}, strict"), move |p| p.hit_rates[table]));
        columns.push(of_cmd(format!("{name}, merged"), move |p| Some(p.hit_rates[table]? + p.merge_rates[table]?)));
        columns.push(of_cmd(format!("{name}, per sector"), move |p| p.sector_rates[table]));
    }
    columns.push(of_cmd("metadata of requests", |p| share(p.metadata, p.requests().after)));
    let mut figure =
        by_program(timings, shares("hit-rates", "Metadata caches, counted in three ways", note, "rate"), &columns);
    figure.chart = None;
    figure
}

/// Sectors that a FIFO of a depth would have answered, over all sectors that L2 misses.
fn saved_at(k: usize) -> impl Fn(&Point) -> Option<f64> {
    move |p| share(p.rereads[k], p.data_read.before + p.read_only.before)
}

/// Where reuse begins: requests saved against the depth of the FIFO, and how far away rereads are.
pub(super) fn reuse(timings: &[Timing]) -> [Figure; 2] {
    let entries: Vec<String> = REREAD_DEPTHS.map(|depth| depth.to_string()).into();
    let note = "Of all sectors that L2 misses, those that had left their slice of L2, clean, no longer ago than so many others: what a \
                FIFO of so many entries could answer. Counted in the run of `cmd`, whose own has 16; a slice of L2 holds 8192 \
                sectors.";
    let columns: Vec<_> = entries.iter().enumerate().map(|(k, n)| of_cmd(n.clone(), saved_at(k))).collect();
    let mut curve = by_program(
        timings,
        shares("fifo-curve", "Requests saved against the depth of the FIFO", note, "share"),
        &columns,
    );
    let line = |t: &Timing, value: &dyn Fn(&Point, usize) -> Option<f64>| Series {
        name: t.program.name.to_owned(),
        values: (0..REREAD_DEPTHS.len()).map(|k| value(&t.cmd()?, k)).collect(),
    };
    let chart = |axis: &str, value: &dyn Fn(&Point, usize) -> Option<f64>| Chart {
        kind: Kind::Lines,
        axis: axis.to_owned(),
        categories: entries.clone(),
        series: timings.iter().map(|t| line(t, value)).collect(),
        baseline: None,
    };
    curve.chart = Some(chart("share of sectors missed", &|p, k| saved_at(k)(p)));
    let between = |p: &Point, k: usize| {
        let nearer = if k == 0 { 0.0 } else { p.rereads[k - 1] };
        share(p.rereads[k] - nearer, p.rereads[REREAD_DEPTHS.len() - 1])
    };
    let note = "Of sectors that L2 evicted clean and that were asked for again, those with so many others, and more than the \
                column before, evicted from their slice in between.";
    let columns: Vec<_> = entries.iter().enumerate().map(|(k, n)| of_cmd(n.clone(), move |p| between(p, k))).collect();
    let mut histogram = by_program(
        timings,
        shares("rereads", "How long ago a sector left that is read again", note, "share"),
        &columns,
    );
    histogram.chart = Some(chart("share of rereads", &between));
    [curve, histogram]
}

/// What parts of the machine say beside the whole one.
pub(super) fn scale_models(models: &[Timing], whole: &[Timing]) -> Figure {
    let note = "CMD in the quick study, on parts of the machine with its inputs, beside the whole machine: IPC over the \
                plain machine's, metadata in all off-chip requests, sectors of duplicates that L2 has, over those that reads \
                want.";
    let of = |t: &Timing| -> [Option<f64>; 3] {
        let p = t.cmd();
        let metadata = p.and_then(|p| share(p.metadata, p.requests().after));
        [t.speed(CMD), metadata, p.and_then(|p| share(p.copied, p.probed))]
    };
    let row = |t: &Timing| {
        let model = models.iter().find(|model| model.program == t.program);
        let pairs = model.map_or([None; 3], of).into_iter().zip(of(t)).flat_map(|(model, whole)| [model, whole]);
        let scale = model.map(|model| f64::from(model.scale));
        [Cell::Text(t.program.name.to_owned()), Cell::number(scale, 0)]
            .into_iter()
            .chain(pairs.map(|value| Cell::number(value, 3)))
            .collect()
    };
    let headings = ["program", "machine 1/", "IPC, part", "whole", "metadata, part", "whole", "copied, part", "whole"];
    Figure {
        id: "scale-models".into(),
        title: "Parts of the machine beside the whole".into(),
        note: note.into(),
        headings: headings.map(str::to_owned).into(),
        rows: whole.iter().map(row).collect(),
        chart: None,
        pictures: Vec::new(),
    }
}

/// What is added to CMD, one thing a column.
pub(super) fn added(timings: &[Timing]) -> [Figure; 2] {
    let schemes = || Beyond::EACH.map(|what| (what.name().to_owned(), Scheme::Beyond(what)));
    let columns = speeds([("cmd".to_owned(), CMD)].into_iter().chain(schemes()));
    let note = "IPC over the baseline's. Old sectors that a write does not cover are taken from L2 where it still holds them clean; \
                metadata are prefetched along streams; and a guard switches deduplication off in regions of memory where it moves \
                more than it saves (`docs/cmd.md`).";
    let speed = by_program(timings, ratios("beyond", "What could be added to CMD", note, "relative IPC"), &columns);
    let over = |scheme: Scheme| {
        move |t: &Timing| share(t.point(scheme)?.dram_sectors, t.point(Scheme::Baseline)?.dram_sectors)
    };
    let all = [("cmd".to_owned(), CMD)].into_iter().chain(schemes());
    let columns: Vec<_> = all.map(|(name, scheme)| Column::new(name, 3, over(scheme))).collect();
    let note = "Sectors that DRAM moved over the baseline's.";
    let traffic = by_program(timings, ratios("beyond-traffic", "Its traffic", note, "relative sectors"), &columns);
    [speed, traffic]
}

/// What the guard is held to: nobody below 0.97, nine tenths of the gain kept.
pub(super) fn guard(timings: &[Timing]) -> Figure {
    let guarded = |t: &Timing| t.speed(Scheme::Beyond(Beyond::Guard));
    let note = "IPC over the baseline's without and with the guard, and the share of the gain that it keeps, of programs that gain more \
                than 1 %. It is meant to leave nobody below 0.97 and to keep nine tenths of the gain.";
    let columns = [
        Column::new("cmd", 3, |t: &Timing| t.speed(CMD)),
        Column::new("guarded", 3, guarded),
        Column::new("gain kept", 3, move |t: &Timing| {
            let gain = t.speed(CMD)? - 1.0;
            share(guarded(t)? - 1.0, gain).filter(|_| gain > 0.01)
        }),
    ];
    let mut figure = by_program(timings, shares("guard", "What the guard keeps", note, "ratio"), &columns);
    figure.chart = None;
    figure
}

/// What each limit costs: experiments in place of opinions on the gap to the paper.
pub(super) fn limits(timings: &[Timing]) -> Figure {
    let note = "IPC over the baseline's, with one limit of CMD lifted at a time, as no hardware could: a hash store as large as it need \
                be, fingerprints in no time, metadata caches that hold everything, a FIFO of as many sectors as its L2 slice has, \
                and all of these; then with 32 % of all blocks taken as duplicates whatever their bytes, so that writes have the \
                paper's share of duplicates (Figure 3), alone and with all limits lifted. What is left to the paper's gain is how much \
                of its time a program waits for memory (bus use above).";
    let lifted = Limit::EACH.map(|limit| (limit.name().to_owned(), Scheme::Without(limit)));
    let first = [("cmd".to_owned(), CMD), ("exact".to_owned(), Scheme::Exact)];
    let columns = speeds(first.into_iter().chain(lifted));
    by_program(timings, ratios("limits", "What limits CMD", note, "relative IPC"), &columns)
}

/// CMD on the machine with values of later simulators.
pub(super) fn later(timings: &[Timing]) -> Figure {
    let note = "IPC of CMD over the plain machine's, with the values of GPGPU-Sim 4.0.1, which the authors used, and with those that \
                later files of Accel-Sim have for the same card: 16 CTAs, loose round-robin, latencies of 32, 30, 194 and 96 cycles \
                of L1, shared memory, L2 and controllers, and an L1 that allocates for writes.";
    let columns = [
        Column::new("4.0.1", 3, |t: &Timing| t.speed(CMD)),
        Column::new("later", 3, |t: &Timing| {
            Some(t.point(Scheme::Later("none"))?.cycles / t.point(Scheme::Later("cmd"))?.cycles)
        }),
    ];
    by_program(timings, ratios("later", "Another version of the simulator", note, "relative IPC"), &columns)
}

/// Square millimetres of the design.
pub(super) fn area(area: &Area, paper: &PaperNumbers) -> Figure {
    let note = "At 16 nm, from the paper's constants (section IV-E) and our settings. An MB of cache takes 0.41 there.";
    let parts = [
        ("hash units", area.hash, "md5"),
        ("hash stores and metadata caches", area.caches, "metadata_cache"),
        ("read-only FIFOs", area.fifo, "fifo"),
        ("all", area.total(), "total"),
    ];
    let row = |(name, ours, path): (&str, f64, &str)| {
        let paper = paper.get(&format!("area_mm2.{path}"));
        vec![Cell::Text(name.into()), Cell::number(Some(ours), 4), Cell::number(paper, 4)]
    };
    table("area", "On-chip area of CMD", note, ["part", "mm²", "paper"], parts.map(row).into())
}

/// What the paper says twice, and not alike: no number of ours can meet both.
pub(super) fn contradictions() -> Figure {
    let note =
        "The paper's own numbers. Where a row of ours has a paper's number beside it, that of its own figure is meant.";
    let said = [
        ("IPC gain of Dedup", "6.8 % (section IV-A, Figure 6)", "9.52 % (section V-B, Figure 15)"),
        (
            "Read-Only requests removed by a FIFO of 16",
            "21.65 % (section V-A, Figure 13)",
            "17.00 % (section V-D, Figure 18)",
        ),
        (
            "writes removed",
            "35.86 % (section V-A, Figure 13)",
            "46.17 % with a fifth of the hash store (section V-D, Figure 17a)",
        ),
        (
            "inter-duplicates",
            "51.58 % of blocks (Figure 3), nearly 90 % of them removed (section IV-B)",
            "35.86 % of writes removed, intra-duplicates among them (Figure 13)",
        ),
        ("energy of ESD", "8.80 % less (section V-C)", "3.98 % slower (section V-B), and energy is power times time"),
    ];
    let row = |(what, here, there): (&str, &str, &str)| [what, here, there].map(|text| Cell::Text(text.into())).into();
    table("contradictions", "What the paper says twice", note, ["what", "here", "there"], said.map(row).into())
}

fn table(id: &str, title: &str, note: &str, headings: [&str; 3], rows: Vec<Vec<Cell>>) -> Figure {
    Figure {
        id: id.into(),
        title: title.into(),
        note: note.into(),
        headings: headings.map(str::to_owned).into(),
        rows,
        chart: None,
        pictures: Vec::new(),
    }
}
