//! Results as text for people.

use crate::launch_file::Finding;
use crate::result::RunResult;
use crate::side_table;
use std::fmt::Write;
pub use strata_core::text::{Align, columns, grouped, short, wrapped};
use strata_core::{Bytes, Counts, Dim3, OpClass, SECTOR_BYTES, Stats};

/// The launches of one kernel together.
struct KernelGroup<'a> {
    name: &'a str,
    launches: u64,
    grids: (Dim3, Dim3),
    blocks: (Dim3, Dim3),
    counts: Counts,
    without_launch: Option<u64>,
    stats: Stats,
}

fn kernel_groups(result: &RunResult) -> Vec<KernelGroup<'_>> {
    let mut groups: Vec<KernelGroup<'_>> = Vec::new();
    for kernel in &result.kernels {
        let index = groups.iter().position(|g| g.name == kernel.name).unwrap_or_else(|| {
            groups.push(KernelGroup {
                name: &kernel.name,
                launches: 0,
                grids: (kernel.grid, kernel.grid),
                blocks: (kernel.block, kernel.block),
                counts: Counts::default(),
                without_launch: None,
                stats: Stats::default(),
            });
            groups.len() - 1
        });
        let group = &mut groups[index];
        group.launches += 1;
        widen(&mut group.grids, kernel.grid);
        widen(&mut group.blocks, kernel.block);
        group.counts.add(&kernel.counts);
        group.without_launch = match (group.without_launch, kernel.cycles_without_launch()) {
            (Some(before), Some(more)) => Some(before + more),
            (known, more) => known.or(more),
        };
        group.stats.add(&kernel.stats());
    }
    groups
}

/// Keeps the smallest and the largest shape, by number of positions.
fn widen(range: &mut (Dim3, Dim3), shape: Dim3) {
    if shape.count() < range.0.count() {
        range.0 = shape;
    }
    if shape.count() > range.1.count() {
        range.1 = shape;
    }
}

fn shapes((smallest, largest): (Dim3, Dim3)) -> String {
    if smallest == largest { smallest.to_string() } else { format!("{smallest} to {largest}") }
}

/// Kernels that are shown unless everything is.
const FEW_KERNELS: usize = 12;

/// The result, as `strata run` prints it: the answer first; `verbose` adds what was executed, by class.
pub fn run_result(result: &RunResult, verbose: bool) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_run_result(result, verbose, &mut out);
    out
}

fn write_run_result(result: &RunResult, verbose: bool, out: &mut String) -> std::fmt::Result {
    let verdict = match (result.passed, &result.error) {
        (_, Some(_)) => "stopped by an error",
        (Some(true), None) => "passed",
        (Some(false), None) => "FAILED",
        (None, None) => "ran (nothing to check against)",
    };
    let size = result.about.size.map(|s| format!("{s}, ")).unwrap_or_default();
    writeln!(out, "{} ({size}seed {}): {verdict}", result.about.name, result.about.seed)?;
    if let Some(checked) = &result.checked {
        write!(out, "{}", wrapped(checked, 100, 2))?;
    }
    for finding in &result.findings {
        writeln!(out, "  {}", finding_line(finding))?;
    }
    if result.kernels.is_empty() {
        return Ok(());
    }
    if let Some(answer) = crate::answer(result) {
        write!(out, "\n{}", wrapped(&answer, 100, 0))?;
    }
    let headings = [
        ("kernel", Align::Left),
        ("launches", Align::Right),
        ("grid", Align::Left),
        ("block", Align::Left),
        ("thread instructions", Align::Right),
        ("warp instructions", Align::Right),
    ];
    let groups = kernel_groups(result);
    let shown = if verbose { groups.len() } else { FEW_KERNELS };
    let rows: Vec<_> = groups
        .iter()
        .take(shown)
        .map(|g| {
            vec![
                short_name(g.name, verbose),
                grouped(g.launches),
                shapes(g.grids),
                shapes(g.blocks),
                grouped(g.counts.thread_instructions()),
                grouped(g.counts.warp_instructions()),
            ]
        })
        .collect();
    write!(out, "\n{}", columns(&headings, &rows))?;
    if groups.len() > shown {
        writeln!(out, "and {} kernels more (`--verbose` shows all)", groups.len() - shown)?;
    }
    let counts = result.counts();
    if verbose || result.cycles().is_none() {
        write!(out, "\n{}", classes(&counts))?;
    }
    writeln!(out, "\nbytes touched: {} read, {} written", Bytes(counts.bytes_read), Bytes(counts.bytes_written))?;
    if counts.divisions_by_zero > 0 {
        writeln!(out, "integer divisions by zero: {}", grouped(counts.divisions_by_zero))?;
    }
    if result.cycles().is_some() {
        writeln!(out, "\n{}", timing(&groups[..groups.len().min(shown)], &result.stats(), groups.len() > 1, verbose))?;
        if result.about.options.contains_key("like_ncu") {
            writeln!(out, "{}", without_launch(&groups))?;
        }
    }
    if let Some(sides) = side_table::table(&result.about.with, &result.stats(), verbose) {
        writeln!(out, "{sides}")?;
    }
    if let Some(explanation) = result.explanation() {
        writeln!(out, "{}", explanation.table())?;
    }
    if let Some(checked) = checked_data(&result.stats()) {
        writeln!(out, "{checked}")?;
    }
    writeln!(
        out,
        "{} thread instructions in {:.2} s: {} per second",
        short(counts.thread_instructions() as f64),
        result.host.seconds,
        short(result.thread_instructions_per_second()),
    )
}

/// A kernel's name in a table of 100 columns: of a long one its beginning, unless everything is shown.
fn short_name(name: &str, verbose: bool) -> String {
    const LONGEST: usize = 28;
    if verbose || name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// What `--check-data` says of a run without errors.
fn checked_data(stats: &Stats) -> Option<String> {
    let count = |name: &str| stats.number(&format!("gpu.check.{name}")).map(|n| grouped(n as u64));
    Some(format!(
        "data: {} sectors given to loads are right; {} stale by a race of the program, {} before a write of another SM",
        count("sectors")?,
        count("races")?,
        count("overtaken")?
    ))
}

/// What the machine says of each kernel, and of all together if there are several.
fn timing(kernels: &[KernelGroup<'_>], all: &Stats, several: bool, verbose: bool) -> String {
    let headings = [
        ("timed", Align::Left),
        ("core cycles", Align::Right),
        ("IPC", Align::Right),
        ("L1 hits", Align::Right),
        ("L2 hits", Align::Right),
        ("from DRAM", Align::Right),
        ("to DRAM", Align::Right),
        ("buses", Align::Right),
    ];
    let row = |name: &str, stats: &Stats| {
        let shown = |path: &str, show: fn(f64) -> String| stats.number(path).map_or_else(|| "-".to_owned(), show);
        let count = |path: &str| shown(path, |value| grouped(value as u64));
        let bytes = |path: &str| shown(path, |sectors| Bytes(sectors as u64 * SECTOR_BYTES).to_string());
        let share = |path: &str| shown(path, |value| format!("{:.1} %", 100.0 * value));
        vec![
            name.to_owned(),
            count("gpu.cycles"),
            shown("gpu.ipc", |value| format!("{value:.2}")),
            share("gpu.l1.read_hit_rate"),
            share("gpu.l2.read_hit_rate"),
            bytes("gpu.dram.reads"),
            bytes("gpu.dram.writes"),
            share("gpu.dram.bus_use"),
        ]
    };
    let mut rows: Vec<_> = kernels.iter().map(|kernel| row(&short_name(kernel.name, verbose), &kernel.stats)).collect();
    if several {
        rows.push(row("all", all));
    }
    columns(&headings, &rows)
}

/// What a profiler shows of each kernel: every launch began with empty caches, and none counts its latency.
fn without_launch(kernels: &[KernelGroup<'_>]) -> String {
    let headings = [("like a profiler", Align::Left), ("core cycles without launch", Align::Right)];
    let cycles = |kernel: &KernelGroup<'_>| kernel.without_launch.map_or_else(|| "-".to_owned(), grouped);
    columns(&headings, &kernels.iter().map(|kernel| vec![kernel.name.to_owned(), cycles(kernel)]).collect::<Vec<_>>())
}

fn classes(counts: &Counts) -> String {
    let total = counts.thread_instructions();
    let mut classes: Vec<_> = OpClass::ALL.into_iter().filter(|&c| counts.warp_by_class[c as usize] > 0).collect();
    classes.sort_by_key(|&c| std::cmp::Reverse(counts.thread_by_class[c as usize]));
    let row = |name: &str, thread: u64, warp: u64| {
        let share = if total == 0 { 0.0 } else { 100.0 * thread as f64 / total as f64 };
        vec![name.to_owned(), grouped(thread), format!("{share:.1} %"), grouped(warp)]
    };
    let mut rows: Vec<_> = classes
        .into_iter()
        .map(|c| row(c.name(), counts.thread_by_class[c as usize], counts.warp_by_class[c as usize]))
        .collect();
    rows.push(row("all", total, counts.warp_instructions()));
    let headings = [
        ("class", Align::Left),
        ("thread instructions", Align::Right),
        ("share", Align::Right),
        ("warp instructions", Align::Right),
    ];
    columns(&headings, &rows)
}

fn finding_line(finding: &Finding) -> String {
    match finding {
        Finding::Write { buffer, file, bytes } => format!("{buffer}: wrote {} to {file}", Bytes(*bytes)),
        Finding::Checksum { buffer, fnv1a64 } => format!("{buffer}: FNV-1a 64 checksum {fnv1a64}"),
        Finding::Compare { buffer, file, comparison, .. } => match &comparison.first {
            None if comparison.largest_difference == 0.0 => {
                format!("{buffer}: {} elements exactly as in {file}", grouped(comparison.elements))
            }
            None => format!(
                "{buffer}: {} elements as in {file}, largest difference {:e}",
                grouped(comparison.elements),
                comparison.largest_difference
            ),
            Some(first) => format!(
                "{buffer}: {} of {} elements differ from {file}; first: element {} is {}, expected {}",
                grouped(comparison.mismatches),
                grouped(comparison.elements),
                first.index,
                first.found,
                first.expected
            ),
        },
    }
}
