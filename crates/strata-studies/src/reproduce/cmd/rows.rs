//! The paper's numbers beside ours.

use super::figures::{ALL, COMPUTE, MEMORY, answered_by_fifo, deduplicated, removed, share};
use super::suite::{Beyond, Extent, FIFO_DEPTHS, NAMED, Scheme};
use super::timing::{Point, Timing};
use crate::reproduce::{Measured, Paper, PaperNumbers, Row, Standing, Subject, geometric_mean, mean};

/// The paper's numbers beside ours: means of all programs, and of the paper's two groups where it has such.
pub(super) fn rows(timings: &[Timing], extent: Extent) -> Vec<Row> {
    let paper = PaperNumbers::of(Paper::Cmd);
    let mut rows = Vec::new();
    let mut add = |item, group: &str, metric: String, path: &str, ours: Measured| {
        let (workload, paper_value, standing) = (group.to_owned(), paper.get(path), Standing::Judged);
        rows.push(Row { paper: Paper::Cmd, item, workload, metric, paper_value, ours, standing });
    };
    let counted = |group: &str| -> Vec<&Timing> { timings.iter().filter(|t| t.is_in(group)).collect() };
    let of_cmd = |value: &dyn Fn(&Point) -> Option<f64>| mean(counted(ALL).iter().map(|t| value(&t.cmd()?)));
    let of_l2 = |part: fn(&Point) -> f64| of_cmd(&|p| share(part(p), p.l2_sectors));

    add(
        "Figure 2",
        ALL,
        "off-chip requests per L2 access".into(),
        "off_chip_share.all",
        of_l2(|p| p.requests().before),
    );
    add("Figure 2", ALL, "writes per L2 access".into(), "off_chip_share.write", of_l2(|p| p.write.before));
    add("Figure 2", ALL, "data reads per L2 access".into(), "off_chip_share.data_read", of_l2(|p| p.data_read.before));
    add("Figure 2", ALL, "read-only per L2 access".into(), "off_chip_share.read_only", of_l2(|p| p.read_only.before));
    for (k, (name, path)) in [("intra", "intra"), ("inter", "inter")].into_iter().enumerate() {
        let ours = of_cmd(&|p| share(p.study[k + 1], p.study[0]));
        add("Figure 3", ALL, format!("{name}-duplicate writes"), &format!("duplicate_blocks.{path}"), ours);
    }
    let gain = |group: &str, scheme| geometric_mean(counted(group).iter().map(|t| t.speed(scheme))).map(|s| s - 1.0);
    let dedup = gain(ALL, Scheme::Named("dedup"));
    add("Figure 6", ALL, "IPC gain, dedup".into(), "dedup_hash.dedup", dedup);
    if extent != Extent::Quick {
        let loss = dedup.with(gain(ALL, Scheme::NoHashLatency), |dedup, ideal| 1.0 - (1.0 + dedup) / (1.0 + ideal));
        add("Figure 6", ALL, "IPC lost to hash latency".into(), "dedup_hash.loss_to_ideal", loss);
    }
    let extra = of_cmd(&|p| share(p.dedup_read, p.requests().after));
    add("Figure 8", ALL, "Dedup-Reads of all requests".into(), "extra_read_ratio", extra);
    // The paper counts what is removed and not what deduplication adds.
    add("Figure 13", ALL, "requests removed, gross".into(), "off_chip_reduction.all", of_cmd(&|p| removed(p.asked())));
    let net = of_cmd(&|p| removed(p.requests()));
    add("Figure 13", ALL, "requests removed, less metadata and Dedup-Reads".into(), "", net);
    add("Figure 13", ALL, "writes removed".into(), "off_chip_reduction.write", of_cmd(&|p| removed(p.write)));
    add(
        "Figure 13",
        ALL,
        "data reads removed".into(),
        "off_chip_reduction.data_read",
        of_cmd(&|p| removed(p.data_read)),
    );
    add(
        "Figure 13",
        ALL,
        "read-only removed".into(),
        "off_chip_reduction.read_only",
        of_cmd(&|p| removed(p.read_only)),
    );
    for name in NAMED {
        let item = match name {
            "dedup" | "dedup-car" => "Figure 15",
            "cmd+bpc" => "Figure 19",
            _ => "Figure 14",
        };
        for (group, table) in [(ALL, "ipc_gain"), (MEMORY, "ipc_gain_memory"), (COMPUTE, "ipc_gain_compute")] {
            add(item, group, format!("IPC gain, {name}"), &format!("{table}.{name}"), gain(group, Scheme::Named(name)));
        }
    }
    let larger = gain(ALL, Scheme::Named("l2-5mb"));
    let over = gain(ALL, Scheme::Named("cmd")).with(larger, |cmd, larger| (1.0 + cmd) / (1.0 + larger) - 1.0);
    add("Section V-B", ALL, "IPC gain of cmd over l2-5mb".into(), "cmd_over_l2_5mb", over);
    for name in NAMED {
        let saved = |part: fn(&Point) -> f64| {
            let over = |t: &&Timing| share(part(&t.point(Scheme::Named(name))?), part(&t.point(Scheme::Baseline)?));
            geometric_mean(counted(ALL).iter().map(over)).map(|ratio| 1.0 - ratio)
        };
        let path = format!("energy_reduction.{name}");
        add("Figure 16", ALL, format!("energy saved, {name}"), &path, saved(|p| p.energy));
        add("Figure 16", ALL, format!("energy of accesses saved, {name}"), "", saved(|p| p.access_energy));
    }
    let with =
        |scheme: Scheme, value: fn(&Point) -> Option<f64>| mean(counted(ALL).iter().map(|t| value(&t.point(scheme)?)));
    // Who comes while a sector is fetched waits for it and asks DRAM for nothing: in the paper's simulator that is a hit.
    for (item, table, name, path) in [
        ("Figure 17b", 0, "address maps, 384 KB", "address_cache_hit_rate"),
        ("Figure 17c", 2, "sector masks, 80 KB", "mask_cache_hit_rate"),
    ] {
        let merged = of_cmd(&|p| Some(p.hit_rates[table]? + p.merge_rates[table]?));
        add(item, ALL, format!("hit rate of {name}, merges as hits"), path, merged);
        add(item, ALL, format!("hit rate of {name}, merges as misses"), "", of_cmd(&|p| p.hit_rates[table]));
        add(item, ALL, format!("hit rate of {name}, per sector"), "", of_cmd(&|p| p.sector_rates[table]));
    }
    let metadata = of_cmd(&|p| share(p.metadata, p.requests().after));
    add("Section IV", ALL, "metadata of all requests".into(), "", metadata);
    if extent == Extent::Quick {
        return rows;
    }
    let partial = with(Scheme::Named("cmd"), deduplicated);
    let exact = with(Scheme::Exact, deduplicated);
    let of_exact = partial.with(exact, |partial, exact| partial / exact);
    add("Section V-D", ALL, "writes removed, over those of exact deduplication".into(), "partial_over_exact", of_exact);
    for kb in [77, 538] {
        let ours = with(Scheme::HashStore(kb), deduplicated);
        let (metric, path) = (format!("writes removed, {kb} KB"), format!("duplicate_writes_removed.{kb}KB"));
        add("Figure 17a", ALL, metric, &path, ours);
    }
    for depth in FIFO_DEPTHS {
        let ours = with(Scheme::Fifo(depth), answered_by_fifo);
        let (metric, path) =
            (format!("read-only removed, FIFO of {depth}"), format!("read_only_reduction_by_fifo.{depth}"));
        add("Figure 18", ALL, metric, &path, ours);
    }
    for what in Beyond::EACH {
        let metric = format!("IPC gain, cmd with {}", what.name());
        add("Beyond", ALL, metric, "", gain(ALL, Scheme::Beyond(what)));
    }
    rows
}
