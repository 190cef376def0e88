//! Parts of a report that are made of saved results: why warps waited, every statistic, what the machine is, how to run it again.

use super::document::{Block, Heat, Plot, PlotKind, PlotSeries, Table, TableCell};
use serde_json::Value;
use std::collections::BTreeMap;

/// Reasons to wait, as statistics and reports have them: what a warp of an SM does with its time.
const STALLS: [(&str, &str); 8] = [
    ("issuing", "issues"),
    ("memory", "waits for memory"),
    ("queue", "waits for the load/store unit"),
    ("register", "waits for arithmetic"),
    ("unit", "waits for an issue slot or unit"),
    ("barrier", "waits at a barrier"),
    ("branch", "waits for a branch"),
    ("offload", "travels to a memory stack"),
];

/// A statistic of a saved result.
pub(super) fn number(result: &Value, path: &str) -> Option<f64> {
    result["stats"].get(path)?["value"].as_f64()
}

/// Why warps waited, in shares of their time: a stack for each result.
pub(super) fn stalls(title: &str, x: &str, results: &[(String, &Value)]) -> Option<Block> {
    let total = |result: &Value| {
        STALLS.iter().filter_map(|(name, _)| number(result, &format!("gpu.sm.stall.{name}"))).sum::<f64>()
    };
    let share = |result: &Value, name: &str| {
        let all = total(result);
        number(result, &format!("gpu.sm.stall.{name}")).filter(|_| all > 0.0).map(|cycles| 100.0 * cycles / all)
    };
    let series: Vec<PlotSeries> = STALLS
        .iter()
        .map(|(name, text)| PlotSeries::new(*text, results.iter().map(|(_, result)| share(result, name)).collect()))
        .filter(|series| series.values.iter().flatten().any(|v| *v > 0.0))
        .collect();
    (!series.is_empty()).then(|| {
        Block::Chart(Plot {
            kind: PlotKind::Stacked,
            title: title.to_owned(),
            x: x.to_owned(),
            y: "share of the time of warps, %".to_owned(),
            categories: results.iter().map(|(name, _)| name.clone()).collect(),
            series,
            baseline: None,
            log: false,
        })
    })
}

/// Every statistic of some results side by side; single slices and channels are left to the files.
pub(super) fn statistics(name: &str, results: &[(String, &Value)]) -> Block {
    let mut paths: BTreeMap<&str, &str> = BTreeMap::new();
    for (_, result) in results {
        for (path, stat) in result["stats"].as_object().into_iter().flatten() {
            let single = path.starts_with("gpu.") && path.contains('[');
            if !single && !path.starts_with("explain.") {
                paths.insert(path, stat["unit"].as_str().unwrap_or_default());
            }
        }
    }
    let row = |(path, unit): (&&str, &&str)| {
        let values = results.iter().map(|(_, result)| cell(number(result, path)));
        [TableCell::from(*path), TableCell::from(*unit)].into_iter().chain(values).collect()
    };
    let headings =
        ["statistic".to_owned(), "unit".to_owned()].into_iter().chain(results.iter().map(|(n, _)| n.clone()));
    Block::Table(Table { name: name.to_owned(), headings: headings.collect(), rows: paths.iter().map(row).collect() })
}

/// A number with digits that say something.
pub(super) fn cell(value: Option<f64>) -> TableCell {
    let decimals = |v: f64| match v.abs() {
        _ if v.fract() == 0.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 0.01 => 4,
        _ => 8,
    };
    value.map_or(TableCell::None, |v| TableCell::number(Some(v), decimals(v)))
}

/// What every statistic means.
pub(super) fn definitions<'r>(results: impl Iterator<Item = &'r Value>) -> Block {
    let mut all: BTreeMap<String, (String, String)> = BTreeMap::new();
    for result in results {
        for (path, stat) in result["stats"].as_object().into_iter().flatten() {
            // `gpu.l2[3].reads` and its neighbours mean the same.
            let path = match (path.find('['), path.rfind(']')) {
                (Some(open), Some(close)) if open < close => format!("{}[…]{}", &path[..open], &path[close + 1..]),
                _ => path.clone(),
            };
            let text = |key: &str| stat[key].as_str().unwrap_or_default().to_owned();
            all.entry(path).or_insert_with(|| (text("unit"), text("description")));
        }
    }
    let row = |(path, (unit, meaning)): (String, (String, String))| [path, unit, meaning].map(TableCell::from).to_vec();
    Block::Table(Table {
        name: "definitions".to_owned(),
        headings: ["statistic", "unit", "meaning"].map(str::to_owned).to_vec(),
        rows: all.into_iter().map(row).collect(),
    })
}

/// What differs from the preset and from defaults.
pub(super) fn configuration(result: &Value) -> String {
    let (gpu, with) = (result["gpu"].as_str().unwrap_or("no machine"), result["with"].as_str().unwrap_or("none"));
    let settings: Vec<String> = result["settings"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let with = if with == "none" { String::new() } else { format!(" with {with}") };
    if settings.is_empty() {
        format!("{gpu}{with}, as its preset has it")
    } else {
        format!("{gpu}{with}, but {}", settings.join(", "))
    }
}

/// The command that makes a result again.
pub(super) fn rerun(result: &Value) -> String {
    let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let mut words = vec!["strata run".to_owned(), quoted(&text("name"))];
    words.extend(result["size"].as_str().map(|size| format!("--size {size}")));
    words.extend(result["seed"].as_u64().filter(|seed| *seed != 1).map(|seed| format!("--seed {seed}")));
    words.extend(result["gpu"].as_str().map(|gpu| format!("--gpu {gpu}")));
    words.extend(
        result["with"].as_str().filter(|with| !matches!(*with, "" | "none")).map(|with| format!("--with {with}")),
    );
    words.extend(result["settings"].as_object().into_iter().flatten().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("--set {}", quoted(&format!("{key}={value}")))
    }));
    words.join(" ")
}

/// For a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Pages of a run with unified memory over time, and where they are.
pub(super) fn unified_memory(pages: &Value) -> Vec<Block> {
    let list = |value: &Value| -> Vec<f64> {
        value.as_array().map(|all| all.iter().filter_map(Value::as_f64).collect()).unwrap_or_default()
    };
    let course = &pages["course"];
    let at = list(&course["cycle"]);
    let mut blocks = Vec::new();
    let line = |name: &str, key: &str| PlotSeries {
        at: at.clone(),
        ..PlotSeries::new(name, list(&course[key]).into_iter().map(Some).collect())
    };
    if at.len() > 1 {
        blocks.push(Block::Chart(Plot {
            kind: PlotKind::Lines,
            title: "Pages over time".to_owned(),
            x: "core cycle".to_owned(),
            y: "pages so far".to_owned(),
            categories: Vec::new(),
            series: vec![
                line("migrated", "migrated_pages"),
                line("faulted", "far_faults"),
                line("prefetched", "prefetches"),
                line("prefetched and used", "prefetched_used"),
            ],
            baseline: None,
            log: false,
        }));
    }
    let bin = pages["pcie"]["cycles_per_bin"].as_f64().unwrap_or(0.0);
    let bandwidth = list(&pages["pcie"]["gb_per_second_in"]);
    if bin > 0.0 && bandwidth.len() > 1 {
        // A few hundred points are all that a page is wide.
        let every = bandwidth.len().div_ceil(400);
        let means: Vec<Option<f64>> =
            bandwidth.chunks(every).map(|part| Some(part.iter().sum::<f64>() / part.len() as f64)).collect();
        let at = (0..means.len()).map(|k| k as f64 * every as f64 * bin).collect();
        blocks.push(Block::Chart(Plot {
            kind: PlotKind::Lines,
            title: "PCI Express over time".to_owned(),
            x: "core cycle".to_owned(),
            y: "GB/s to the device".to_owned(),
            categories: Vec::new(),
            series: vec![PlotSeries { at, ..PlotSeries::new("to the device", means) }],
            baseline: None,
            log: false,
        }));
    }
    let page = pages["page_bytes"].as_u64().unwrap_or(4096);
    for allocation in pages["allocations"].as_array().into_iter().flatten() {
        let counts: Vec<u64> = list(&allocation["walks"]).into_iter().map(|v| v as u64).collect();
        // Maps of single pages say nothing, and those of millions do not fit.
        if (8..=1 << 18).contains(&counts.len()) && counts.iter().any(|c| *c > 0) {
            let name = allocation["name"].as_str().unwrap_or("?");
            blocks.push(Block::Heat(Heat {
                title: format!("Page walks of {name}"),
                cell: format!("page of {} KiB", page >> 10),
                unit: "walks".to_owned(),
                width: if counts.len() < 512 { 32 } else { 128 },
                counts,
                most: None,
            }));
        }
    }
    blocks
}
