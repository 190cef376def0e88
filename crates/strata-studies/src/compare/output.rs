//! A comparison as text for people, as JSON and as CSV, and saved.

use super::{CompareRow, Compared, Comparison, all_alike, sentences};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use strata_core::files;
use strata_core::fnv::Fnv1a64;
use strata_core::text::{Align, columns, grouped_decimals, wrapped};
use strata_run::LabError;

/// With so many rows or fewer, every program is shown without being asked for.
const FEW: usize = 24;
/// Characters in a line.
const WIDTH: usize = 100;

/// The comparison for a terminal: means and sentences; program by program where there are few, or if `verbose`.
pub fn table(comparison: &Comparison, verbose: bool) -> String {
    let mut out = means(comparison);
    for sentence in sentences(comparison) {
        // Writing to a string cannot fail.
        let _ = write!(out, "\n{}", wrapped(&sentence, WIDTH, 0).trim_end());
    }
    out.push('\n');
    let notes: Vec<String> = not_pressing(comparison).into_iter().chain(failures(comparison)).collect();
    for note in &notes {
        let _ = write!(out, "\n{}", wrapped(note, WIDTH, 0).trim_end());
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    if verbose || comparison.rows().count() <= FEW {
        for group in &comparison.groups {
            out.push_str(&programs(group));
        }
    }
    out
}

fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |x| grouped_decimals(x, if x < 1000.0 { 3 } else { 0 }))
}

/// A line for each machine: geometric means.
fn means(comparison: &Comparison) -> String {
    let headings = [
        ("machine", Align::Left),
        ("speed-up", Align::Right),
        ("worst", Align::Right),
        ("best", Align::Right),
        ("off-chip", Align::Right),
        ("capacity", Align::Right),
        ("energy", Align::Right),
        ("programs", Align::Right),
    ];
    let mut rows = Vec::new();
    let mut titles = Vec::new();
    let says_something = |compared: &&Compared| {
        compared.group.schemes.iter().any(|machine| compared.mean(&machine.label, |row| row.speedup).0.is_some())
    };
    for compared in comparison.groups.iter().filter(says_something) {
        titles.push((rows.len(), compared));
        for machine in &compared.group.schemes {
            let label = &machine.label;
            let (speed, n, of) = compared.mean(label, |row| row.speedup);
            let speeds = || compared.telling(label).filter_map(|row| row.speedup);
            let capacity = compared.mean(label, |row| row.run.as_ref().ok().map(|run| run.capacity)).0;
            rows.push(vec![
                format!("  {label}"),
                ratio(speed),
                ratio(speeds().reduce(f64::min)),
                ratio(speeds().reduce(f64::max)),
                ratio(compared.mean(label, |row| row.traffic).0),
                ratio(capacity),
                ratio(compared.mean(label, |row| row.energy).0),
                format!("{n} of {of}"),
            ]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let text = columns(&headings, &rows);
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        if let Some((_, compared)) = titles.iter().find(|(at, _)| number == at + 1) {
            let _ = writeln!(out, "{}, against {}", compared.group.title, against(compared));
        }
        let _ = writeln!(out, "{line}");
    }
    out.push_str(
        "Geometric means of ratios; 1 is the same. More speed-up and capacity is better, and less of the others.\n\
         What these are: `strata mechanisms`, `strata gpus`.\n",
    );
    out
}

/// What a group is compared with: `the plain machine`, `ndp-maxwell-68`.
pub(crate) fn against(compared: &Compared) -> String {
    let baseline = &compared.group.baseline;
    let other = compared.group.schemes.iter().all(|machine| machine.gpu != baseline.gpu);
    match baseline.label.as_str() {
        _ if other => baseline.gpu.clone(),
        "plain" => "the plain machine".to_owned(),
        label => label.to_owned(),
    }
}

/// The rows of each program, the baseline first.
pub(crate) fn by_program(compared: &Compared) -> Vec<Vec<&CompareRow>> {
    let mut all: Vec<Vec<&CompareRow>> = Vec::new();
    for row in &compared.rows {
        if row.is_baseline || all.is_empty() {
            all.push(Vec::new());
        }
        if let Some(last) = all.last_mut() {
            last.push(row);
        }
    }
    all
}

/// Programs that say nothing about the machines, and what to try.
fn not_pressing(comparison: &Comparison) -> Vec<String> {
    let all = comparison.rows().filter(|row| row.is_baseline);
    all.filter_map(|row| {
        let why = row.no_pressure.as_ref()?;
        Some(format!("{} on {} is left out, {why}.", row.program(), row.machine.gpu))
    })
    .collect()
}

fn failures(comparison: &Comparison) -> Vec<String> {
    let failed = |row: &CompareRow| match &row.run {
        Err(error) => Some(format!("{} on {} failed: {error}", row.program(), row.machine.label)),
        Ok(run) if run.passed == Some(false) => {
            Some(format!("{} on {} gave wrong results", row.program(), row.machine.label))
        }
        Ok(_) => None,
    };
    comparison.rows().filter_map(failed).collect()
}

/// Program by program, with what each mechanism exists for.
fn programs(compared: &Compared) -> String {
    let headings = [
        ("program", Align::Left),
        ("machine", Align::Left),
        ("speed-up", Align::Right),
        ("off-chip", Align::Right),
        ("capacity", Align::Right),
        ("energy", Align::Right),
    ];
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for program in by_program(compared) {
        if program[0].no_pressure.is_some() && all_alike(&program) {
            continue;
        }
        for (k, row) in program.iter().enumerate() {
            let name = if k == 0 { row.program() } else { String::new() };
            let capacity = row.run.as_ref().ok().map(|run| run.capacity);
            let numbers = [row.speedup, row.traffic, capacity, row.energy].map(ratio);
            rows.push([vec![name, row.machine.label.clone()], numbers.to_vec()].concat());
            words.push(row.run.as_ref().map_or_else(|_| "failed".to_owned(), |run| run.words.clone()));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let text = columns(&headings, &rows);
    let mut out = format!("\n{}\n", compared.group.title);
    let own = ["what it is there for".to_owned()];
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    for (line, words) in text.lines().zip(own.iter().chain(&words)) {
        let blanks = " ".repeat(widest - line.chars().count());
        if widest + 2 + words.chars().count() <= WIDTH {
            let _ = writeln!(out, "{line}{blanks}  {words}");
        } else {
            let _ = writeln!(out, "{line}\n    {words}");
        }
    }
    out
}

/// The comparison as JSON.
pub fn to_json(comparison: &Comparison) -> Value {
    let row = |compared: &Compared, row: &CompareRow| {
        let run = row.run.as_ref().ok();
        json!({
            "workload": row.workload,
            // The plain machine has the name that `--with` gives it, on which scripts rely.
            "scheme": if row.machine.label == "plain" { "none" } else { &row.machine.label },
            "cycles": run.map(|r| r.cycles),
            "speedup": row.speedup,
            "offchip_bytes": run.map(|r| r.offchip_bytes),
            "energy_j": run.map(|r| r.energy),
            "passed": run.and_then(|r| r.passed),
            "error": row.run.as_ref().err(),
            "size": row.size,
            "seed": row.seed,
            "family": compared.group.family.name(),
            "gpu": row.machine.gpu,
            "with": row.machine.with.to_string(),
            "set": row.machine.set,
            "baseline": row.is_baseline,
            "offchip_ratio": row.traffic,
            "energy_ratio": row.energy,
            "capacity": run.map(|r| r.capacity),
            "quantities": run.map(super::Measured::quantities_json),
            "no_pressure": row.no_pressure,
            "key": run.map(|r| r.key.clone()),
        })
    };
    let rows: Vec<Value> =
        comparison.groups.iter().flat_map(|compared| compared.rows.iter().map(move |r| row(compared, r))).collect();
    let mut means = Vec::new();
    for compared in &comparison.groups {
        for machine in &compared.group.schemes {
            let (speedup, n, of) = compared.mean(&machine.label, |row| row.speedup);
            means.push(json!({
                "family": compared.group.family.name(),
                "scheme": machine.label,
                "speedup": speedup,
                "offchip_ratio": compared.mean(&machine.label, |row| row.traffic).0,
                "energy_ratio": compared.mean(&machine.label, |row| row.energy).0,
                "programs": { "measured": n, "of": of },
            }));
        }
    }
    json!({ "rows": rows, "means": means, "sentences": sentences(comparison) })
}

/// The rows as CSV.
pub fn csv(comparison: &Comparison) -> String {
    let quoted = |text: &str| {
        if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
    };
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    let mut out =
        "family,program,size,seed,scheme,gpu,with,cycles,speedup,offchip_bytes,offchip_ratio,capacity,energy_j,\
                   energy_ratio,passed,left_out,detail\n"
            .to_owned();
    for compared in &comparison.groups {
        for row in &compared.rows {
            let run = row.run.as_ref().ok();
            let cells = [
                compared.group.family.name().to_owned(),
                row.workload.clone(),
                row.size.clone().unwrap_or_default(),
                row.seed.map(|seed| seed.to_string()).unwrap_or_default(),
                row.machine.label.clone(),
                row.machine.gpu.clone(),
                row.machine.with.to_string(),
                run.map(|r| r.cycles.to_string()).unwrap_or_default(),
                number(row.speedup),
                run.map(|r| r.offchip_bytes.to_string()).unwrap_or_default(),
                number(row.traffic),
                number(run.map(|r| r.capacity)),
                number(run.map(|r| r.energy)),
                number(row.energy),
                run.and_then(|r| r.passed).map(|p| p.to_string()).unwrap_or_default(),
                row.no_pressure.clone().unwrap_or_default(),
                row.run.as_ref().map_or_else(Clone::clone, |r| r.words.clone()),
            ];
            let _ = writeln!(out, "{}", cells.map(|cell| quoted(&cell)).join(","));
        }
    }
    out
}

/// Saves `compare.json`, `compare.csv` and `report.html` in a folder of their own below `out`, named after the runs; gives the
/// report's path.
pub fn save(comparison: &Comparison, rerun: &str, out: &Path) -> Result<PathBuf, LabError> {
    let keys: Vec<&str> =
        comparison.rows().filter_map(|row| row.run.as_ref().ok()).map(|run| run.key.as_str()).collect();
    let folder = out.join(format!("compare-{}", &Fnv1a64::of(keys.join(" ").as_bytes()).to_string()[..12]));
    std::fs::create_dir_all(&folder).map_err(|e| LabError::io("write", &folder, e))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        files::write_text(&path, text).map_err(|e| LabError::io("write", &path, e)).map(|()| path)
    };
    let document = crate::report::comparison(comparison, rerun);
    let mut saved = to_json(comparison);
    saved["document"] = serde_json::to_value(&document).unwrap_or_default();
    write("compare.json", &format!("{saved}\n"))?;
    write("compare.csv", &csv(comparison))?;
    write("report.html", &document.html())
}

#[cfg(test)]
mod tests {
    use super::super::tests::comparison;
    use super::*;

    #[test]
    fn a_few_programs_are_shown_one_by_one() {
        let text = table(&comparison(&[("a", 1.5), ("b", 1.0)]), false);
        assert!(text.contains("  bpc       1.225  1.000  1.500     0.500     1.000   1.000    2 of 2"), "{text}");
        assert!(text.contains("a        plain       1.000     1.000     1.000   1.000"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }

    #[test]
    fn what_fits_into_caches_is_no_row_of_ones() {
        let mut all = comparison(&[("a", 1.5), ("tiny", 1.0)]);
        for row in all.groups[0].rows.iter_mut().filter(|row| row.workload == "tiny") {
            row.no_pressure = Some("its 1 KiB fit into the L2 of 2 KiB: try `--size medium`".to_owned());
        }
        let text = table(&all, true);
        assert!(text.contains("tiny on g is left out, its 1 KiB fit into the L2 of 2 KiB"), "{text}");
        assert!(text.contains("1 of 2") && !text.contains("\ntiny  "), "{text}");
        assert_eq!(to_json(&all)["rows"].as_array().map(Vec::len), Some(4), "scripts see all");
        assert_eq!(csv(&all).lines().count(), 5);
    }
}
