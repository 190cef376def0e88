//! CMD (Zhao et al.): its figures.
//!
//! Thirteen programs on the machine of its Table II, with each of the schemes that it compares. `bpc` has its metadata in
//! DRAM behind a cache here, as this paper describes it.

mod figures;
mod suite;
mod timing;

use super::runs::Runs;
use super::{Effort, Measured, Paper, PaperNumbers, Row, Standing, Subject, geometric_mean, mean};
use crate::report::Page;
use figures::{ALL, COMPUTE, MEMORY, answered_by_fifo, deduplicated, removed, share};
use std::path::Path;
use strata_run::LabError;
use strata_run::Step;
use suite::{FIFO_DEPTHS, NAMED, PROGRAMS, Program, Scheme, Sweeps};
use timing::{Point, Timing};

/// Runs everything and makes the page.
pub(super) fn reproduce(
    effort: Effort,
    directory: &Path,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    match effort {
        Effort::Quick => study(&PROGRAMS, |_| "small", Sweeps::None, directory, begins),
        Effort::Standard => study(&PROGRAMS, |program| program.standard, Sweeps::OfSmall, directory, begins),
        Effort::Full => study(&PROGRAMS, |_| "paper-cmd", Sweeps::OfAll, directory, begins),
    }
}

fn study(
    programs: &[Program],
    size: fn(&Program) -> &'static str,
    sweeps: Sweeps,
    directory: &Path,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<(Page, Vec<Row>), LabError> {
    let timings = timing::study(programs, size, sweeps, &Runs::below(directory)?, begins)?;
    let sweeps = sweeps != Sweeps::None;
    let wrong = failures(&timings);
    if !wrong.is_empty() {
        return Err(LabError::Request(format!("programs failed:\n{}", wrong.join("\n"))));
    }
    let timings = &timings[..];
    let swept: Vec<Timing> = timings.iter().filter(|t| !sweeps || t.is_swept()).cloned().collect();
    let mut all = vec![
        figures::inputs(timings),
        figures::figure_2(timings),
        figures::figure_3(timings),
        figures::figure_6(timings),
        figures::figure_8(timings),
        figures::figure_11(timings),
    ];
    all.extend(figures::figure_13(timings));
    all.extend([figures::figure_14(timings), figures::figure_15(timings), figures::figure_16(timings)]);
    all.extend(figures::figure_17(&swept, sweeps));
    all.extend([figures::figure_18(&swept, sweeps), figures::figure_19(timings)]);
    all.extend(figures::beyond(timings));
    if sweeps {
        all.push(figures::hash_intervals(&swept));
    }
    let introduction = format!(
        "Programs on the machine cmd-gddr6, at the size {}. Our programs are our own, written after the originals at a smaller \
         scale; the machine is scaled down with programs that would fit into its caches, and those that still do are marked \
         and left out of means. Where the paper prints a number it stands beside ours in the list of rows.",
        said_sizes(timings)
    );
    let title = "CMD, reproduced".into();
    Ok((Page { title, introduction, summary: None, figures: all }, rows(timings, sweeps)))
}

/// The sizes of inputs, with the programs that have each.
fn said_sizes(timings: &[Timing]) -> String {
    let mut sizes: Vec<&str> = timings.iter().map(|t| t.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if let [size] = sizes[..] {
        return size.to_owned();
    }
    let at = |size: &&str| timings.iter().filter(|t| t.size == *size).map(|t| t.program.name).collect::<Vec<_>>();
    sizes.iter().map(|size| format!("{size} ({})", at(size).join(", "))).collect::<Vec<_>>().join(" or ")
}

/// Runs that failed or computed something wrong.
fn failures(timings: &[Timing]) -> Vec<String> {
    let points =
        timings.iter().flat_map(|t| t.points.iter().map(move |(scheme, point)| (t.program.name, scheme, point)));
    let wrong = points.filter_map(|(program, scheme, point)| match point {
        Err(error) => Some(format!("{program} on {}: {error}", scheme.name())),
        Ok(point) if !point.passed => Some(format!("{program} on {}: its result is wrong", scheme.name())),
        Ok(_) => None,
    });
    wrong.collect()
}

/// The paper's numbers beside ours.
fn rows(timings: &[Timing], sweeps: bool) -> Vec<Row> {
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
    let loss = dedup.with(gain(ALL, Scheme::NoHashLatency), |dedup, ideal| 1.0 - (1.0 + dedup) / (1.0 + ideal));
    add("Figure 6", ALL, "IPC lost to hash latency".into(), "dedup_hash.loss_to_ideal", loss);
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
        let energy = |t: &&Timing| share(t.point(Scheme::Named(name))?.energy, t.point(Scheme::Baseline)?.energy);
        let ours = geometric_mean(counted(ALL).iter().map(energy)).map(|ratio| 1.0 - ratio);
        add("Figure 16", ALL, format!("energy saved, {name}"), &format!("energy_reduction.{name}"), ours);
    }
    let with =
        |scheme: Scheme, value: fn(&Point) -> Option<f64>| mean(counted(ALL).iter().map(|t| value(&t.point(scheme)?)));
    let partial = with(Scheme::Named("cmd"), deduplicated);
    let exact = with(Scheme::Exact, deduplicated);
    let of_exact = partial.with(exact, |partial, exact| partial / exact);
    add("Section V-D", ALL, "writes removed, over those of exact deduplication".into(), "partial_over_exact", of_exact);
    // Who comes while a sector is fetched waits for it and asks DRAM for nothing: in the paper's simulator that is a hit.
    for (item, table, name, path) in [
        ("Figure 17b", 0, "address maps, 384 KB", "address_cache_hit_rate"),
        ("Figure 17c", 2, "sector masks, 80 KB", "mask_cache_hit_rate"),
    ] {
        let merged = of_cmd(&|p| Some(p.hit_rates[table]? + p.merge_rates[table]?));
        add(item, ALL, format!("hit rate of {name}, merges as hits"), path, merged);
        add(item, ALL, format!("hit rate of {name}, merges as misses"), "", of_cmd(&|p| p.hit_rates[table]));
    }
    let metadata = of_cmd(&|p| share(p.metadata, p.requests().after));
    add("Section IV", ALL, "metadata of all requests".into(), "", metadata);
    if sweeps {
        let with = |scheme: Scheme, value: fn(&Point) -> Option<f64>| {
            mean(counted(ALL).iter().filter(|t| t.is_swept()).map(|t| value(&t.point(scheme)?)))
        };
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
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole road, on inputs that say nothing about the paper.
    #[test]
    fn every_figure_is_made() {
        let programs = [PROGRAMS[4], PROGRAMS[6], PROGRAMS[8]];
        let directory = tempfile::tempdir().expect("a folder");
        let (page, rows) = study(&programs, |_| "tiny", Sweeps::None, directory.path(), &mut |_| ()).expect("it runs");
        for figure in &page.figures {
            // Means of all programs and of two groups; where some fit into caches, means without them, too.
            assert!(figure.rows.len() >= programs.len() + 3, "{}", figure.id);
        }
        for id in ["figure-2", "figure-3", "figure-8", "figure-11", "figure-13", "figure-17d", "figure-19"] {
            assert!(page.figures.iter().any(|figure| figure.id == id), "{id}");
        }
        assert!(rows.iter().any(|row| row.item == "Figure 16" && row.metric == "energy saved, cmd+bpc"));
    }
}
