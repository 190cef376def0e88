//! Results as text for people: aligned columns, digits in groups.

use crate::launch_file::Finding;
use crate::result::RunResult;
use crate::side_table;
use std::fmt::Write;
use strata_core::{Bytes, Counts, Dim3, OpClass, Stats};

/// A number with its digits in groups of three: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with three significant digits and a decimal prefix: `1.45 G`.
pub fn short(number: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    for (scale, prefix) in PREFIXES {
        if number >= scale {
            let value = number / scale;
            let digits = if value >= 100.0 {
                0
            } else if value >= 10.0 {
                1
            } else {
                2
            };
            return format!("{value:.digits$}{prefix}");
        }
    }
    format!("{number:.0}")
}

/// Which side a column's cells lean to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows under headings, as lines of text without trailing blanks.
pub fn columns(headings: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |c: usize| {
        let cells = rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count());
        cells.chain([headings[c].0.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..headings.len()).map(width).collect();
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for ((cell, &width), (_, align)) in cells.zip(&widths).zip(headings) {
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            match align {
                Align::Left => text.extend([cell, &blanks, "  "]),
                Align::Right => text.extend([blanks.as_str(), cell, "  "]),
            }
        }
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(&mut headings.iter().map(|(name, _)| *name));
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    out
}

/// Text in lines of at most `width` characters, each behind `indent` blanks; a word that is longer has a line of its own.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let blanks = " ".repeat(indent);
    let (mut out, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let more = word.chars().count();
        if length > 0 && length + 1 + more <= width {
            out.push(' ');
            length += 1;
        } else {
            if length > 0 {
                out.push('\n');
            }
            out += &blanks;
            length = indent;
        }
        out += word;
        length += more;
    }
    out.push('\n');
    out
}

/// The launches of one kernel together.
struct KernelGroup<'a> {
    name: &'a str,
    launches: u64,
    grids: (Dim3, Dim3),
    blocks: (Dim3, Dim3),
    counts: Counts,
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
                stats: Stats::default(),
            });
            groups.len() - 1
        });
        let group = &mut groups[index];
        group.launches += 1;
        widen(&mut group.grids, kernel.grid);
        widen(&mut group.blocks, kernel.block);
        group.counts.add(&kernel.counts);
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

/// The whole result, as `strata run` prints it.
pub fn run_result(result: &RunResult) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_run_result(result, &mut out);
    out
}

fn write_run_result(result: &RunResult, out: &mut String) -> std::fmt::Result {
    let verdict = match (result.passed, &result.error) {
        (_, Some(_)) => "stopped by an error",
        (Some(true), None) => "passed",
        (Some(false), None) => "FAILED",
        (None, None) => "ran (nothing to check against)",
    };
    let size = result.size.map(|s| format!("{s}, ")).unwrap_or_default();
    writeln!(out, "{} ({size}seed {}): {verdict}", result.name, result.seed)?;
    if let Some(checked) = &result.checked {
        writeln!(out, "  {checked}")?;
    }
    for finding in &result.findings {
        writeln!(out, "  {}", finding_line(finding))?;
    }
    if result.kernels.is_empty() {
        return Ok(());
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
    let rows: Vec<_> = groups
        .iter()
        .map(|g| {
            vec![
                g.name.to_owned(),
                grouped(g.launches),
                shapes(g.grids),
                shapes(g.blocks),
                grouped(g.counts.thread_instructions()),
                grouped(g.counts.warp_instructions()),
            ]
        })
        .collect();
    writeln!(out, "\n{}", columns(&headings, &rows))?;
    let counts = result.counts();
    out.push_str(&classes(&counts));
    writeln!(out, "\nbytes touched: {} read, {} written", Bytes(counts.bytes_read), Bytes(counts.bytes_written))?;
    if counts.divisions_by_zero > 0 {
        writeln!(out, "integer divisions by zero: {}", grouped(counts.divisions_by_zero))?;
    }
    if result.cycles().is_some() {
        writeln!(out, "\n{}", timing(&groups, &result.stats()))?;
    }
    if let Some(sides) = side_table::table(&result.stats()) {
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
fn timing(kernels: &[KernelGroup<'_>], all: &Stats) -> String {
    let headings = [
        ("timed", Align::Left),
        ("core cycles", Align::Right),
        ("IPC", Align::Right),
        ("L1 hits", Align::Right),
        ("L2 hits", Align::Right),
        ("sectors from DRAM", Align::Right),
        ("to DRAM", Align::Right),
    ];
    let row = |name: &str, stats: &Stats| {
        let shown = |path: &str, show: fn(f64) -> String| stats.number(path).map_or_else(|| "-".to_owned(), show);
        let count = |path: &str| shown(path, |value| grouped(value as u64));
        let share = |path: &str| shown(path, |value| format!("{:.1} %", 100.0 * value));
        vec![
            name.to_owned(),
            count("gpu.cycles"),
            shown("gpu.ipc", |value| format!("{value:.2}")),
            share("gpu.l1.read_hit_rate"),
            share("gpu.l2.read_hit_rate"),
            count("gpu.dram.reads"),
            count("gpu.dram.writes"),
        ]
    };
    let mut rows: Vec<_> = kernels.iter().map(|kernel| row(kernel.name, &kernel.stats)).collect();
    if kernels.len() > 1 {
        rows.push(row("all", all));
    }
    columns(&headings, &rows)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123_456), "123,456");
        assert_eq!(short(1.449e9), "1.45 G");
        assert_eq!(short(12_345.0), "12.3 k");
        assert_eq!(short(7.0), "7");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("what comes with a page", 12, 2), "  what comes\n  with a\n  page\n");
        assert_eq!(wrapped("unbreakable word", 4, 0), "unbreakable\nword\n");
        assert_eq!(wrapped("", 10, 4), "\n");
    }

    #[test]
    fn columns_line_up_without_trailing_blanks() {
        let rows = vec![vec!["a".to_owned(), "100".to_owned()], vec!["long".to_owned(), "1".to_owned()]];
        let text = columns(&[("name", Align::Left), ("n", Align::Right)], &rows);
        assert_eq!(text, "name    n\na     100\nlong    1\n");
    }
}
