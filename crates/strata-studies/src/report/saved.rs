//! Reports of what was saved: results of runs, comparisons, sweeps, reproductions and validations, alone or together.

use super::document::{Block, Document, Plot, PlotKind, PlotSeries, Section, Table, TableCell};
use super::places::places;
use super::statistics::{cell, configuration, definitions, number, rerun, stalls, statistics, unified_memory};
use crate::compare::beside;
use serde_json::Value;
use std::collections::BTreeSet;
use strata_run::explain::reason_text;

/// A document of saved JSON objects, each with the name it is called by; an error names one that is no result.
pub fn from_saved(results: &[(String, Value)]) -> Result<Document, String> {
    let runs: Vec<&(String, Value)> = results.iter().filter(|(_, value)| is_run(value)).collect();
    let mut parts = Vec::new();
    if let [(_, result)] = runs.as_slice() {
        parts.push(run_document(result));
    } else if !runs.is_empty() {
        parts.push(runs_document(&runs));
    }
    for (name, value) in results.iter().filter(|(_, value)| !is_run(value)) {
        parts.push(other(name, value)?);
    }
    let mut parts = parts.into_iter();
    let Some(mut first) = parts.next() else { return Err("nothing to report".to_owned()) };
    for (k, part) in parts.enumerate() {
        let title = part.title;
        let named = |text: String| if first.title == title { text } else { format!("{title}: {text}") };
        first.lead.extend(part.lead.into_iter().map(&named));
        first.sections.extend(part.sections.into_iter().map(|section| Section {
            id: format!("part-{}-{}", k + 2, section.id),
            title: named(section.title),
            blocks: section.blocks,
        }));
    }
    Ok(first)
}

fn is_run(value: &Value) -> bool {
    value["kernels"].is_array() && value["stats"].is_object()
}

fn other(name: &str, value: &Value) -> Result<Document, String> {
    if let Ok(document) = serde_json::from_value::<Document>(value["document"].clone()) {
        return Ok(document);
    }
    let rows = value["rows"].as_array().filter(|rows| !rows.is_empty());
    let Some(rows) = rows else {
        return Err(format!(
            "`{name}` is no saved result: `result.json` of a run, `compare.json`, `reproduction.json`, a sweep, or what `--json` \
             of those and of `validate` printed"
        ));
    };
    let has = |key: &str| rows[0].get(key).is_some();
    Ok(if has("silicon") {
        validation(value, rows)
    } else {
        let title = if has("scheme") { "Machines side by side" } else { "Points of a sweep" };
        points(title, rows)
    })
}

/// The report of one run.
pub fn run_document(result: &Value) -> Document {
    let name = result["name"].as_str().unwrap_or("a run");
    let title = match (result["size"].as_str(), result["gpu"].as_str()) {
        (Some(size), Some(gpu)) => format!("{name} ({size}) on {gpu}"),
        (None, Some(gpu)) => format!("{name} on {gpu}"),
        (Some(size), None) => format!("{name} ({size})"),
        (None, None) => name.to_owned(),
    };
    let mut lead: Vec<String> = result["answer"].as_str().map(str::to_owned).into_iter().collect();
    let verdict = match (result["error"].as_str(), result["passed"].as_bool()) {
        (Some(error), _) => format!("It was stopped by an error: {error}"),
        (None, Some(true)) => format!("Its results are right: {}.", result["checked"].as_str().unwrap_or("checked")),
        (None, Some(false)) => "Its results are wrong.".to_owned(),
        (None, None) => "There was nothing to check its results against.".to_owned(),
    };
    lead.push(verdict);
    let mut sections = vec![Section { id: "time".into(), title: "Where the time goes".into(), blocks: time(result) }];
    let waits = waits(result);
    if !waits.is_empty() {
        sections.push(Section { id: "waits".into(), title: "What memory requests waited for".into(), blocks: waits });
    }
    if let Some(pages) = beside(result, "uvm.json") {
        let blocks = unified_memory(&pages);
        sections.push(Section { id: "pages".into(), title: "Pages".into(), blocks });
    }
    let blocks = places(result);
    if !blocks.is_empty() {
        sections.push(Section { id: "places".into(), title: "Lines and pages".into(), blocks });
    }
    let one = [(name.to_owned(), result)];
    sections.push(Section {
        id: "statistics".into(),
        title: "Statistics".into(),
        blocks: vec![described(result), Block::text(format!("The machine: {}.", configuration(result)))],
    });
    let launches = launches(result);
    sections.push(Section { id: "launches".into(), title: "Launches".into(), blocks: vec![Block::Table(launches)] });
    let code = one.iter().map(|(_, result)| rerun(result)).collect();
    sections.push(Section {
        id: "rerun".into(),
        title: "How to run it again".into(),
        blocks: vec![Block::Code { text: code }],
    });
    Document { title, lead, sections }
}

/// Charts of the launches: cycles by kernel, why warps waited.
fn time(result: &Value) -> Vec<Block> {
    let mut kernels: Vec<(&str, f64)> = Vec::new();
    for kernel in result["kernels"].as_array().into_iter().flatten() {
        let (name, cycles) = (kernel["name"].as_str().unwrap_or("?"), kernel["cycles"].as_f64().unwrap_or(0.0));
        match kernels.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += cycles,
            None => kernels.push((name, cycles)),
        }
    }
    kernels.retain(|(_, cycles)| *cycles > 0.0);
    let mut blocks = Vec::new();
    if kernels.len() > 1 {
        kernels.sort_by(|a, b| b.1.total_cmp(&a.1));
        kernels.truncate(30);
        blocks.push(bars(
            "Cycles by kernel",
            "kernel",
            "core cycles, launch latency included",
            kernels.iter().map(|(name, _)| (*name).to_owned()).collect(),
            vec![PlotSeries::new("core cycles", kernels.iter().map(|(_, cycles)| Some(*cycles)).collect())],
        ));
    }
    let name = result["name"].as_str().unwrap_or("run").to_owned();
    blocks.extend(stalls("Why warps wait", "program", &[(name, result)]));
    let traffic = [
        ("read from DRAM", 32.0 * number(result, "gpu.dram.asked_reads").unwrap_or(0.0)),
        ("written to DRAM", 32.0 * number(result, "gpu.dram.asked_writes").unwrap_or(0.0)),
        ("links, in", number(result, "gpu.link.in").unwrap_or(0.0)),
        ("links, out", number(result, "gpu.link.out").unwrap_or(0.0)),
        ("pages, in", number(result, "gpu.uvm.pcie.in_bytes").unwrap_or(0.0)),
        ("pages, out", number(result, "gpu.uvm.pcie.out_bytes").unwrap_or(0.0)),
    ];
    let shown: Vec<_> = traffic.into_iter().filter(|(_, bytes)| *bytes > 0.0).collect();
    if !shown.is_empty() {
        let most = shown.iter().fold(0.0f64, |most, (_, bytes)| most.max(*bytes));
        let (unit, scale) = if most < 1e6 { ("kB", 1e3) } else { ("MB", 1e6) };
        blocks.push(bars(
            "Bytes off chip",
            "way",
            &format!("bytes that went that way, {unit}"),
            shown.iter().map(|(way, _)| (*way).to_owned()).collect(),
            vec![PlotSeries::new(unit, shown.iter().map(|(_, bytes)| Some(bytes / scale)).collect())],
        ));
    }
    if blocks.is_empty() {
        blocks.push(Block::text("Nothing was timed: with `--gpu` a run says where its time goes."));
    }
    blocks
}

fn bars(title: &str, x: &str, y: &str, categories: Vec<String>, series: Vec<PlotSeries>) -> Block {
    let (title, x, y) = (title.to_owned(), x.to_owned(), y.to_owned());
    Block::Chart(Plot { kind: PlotKind::Bars, title, x, y, categories, series, baseline: None, log: false })
}

/// What `--explain` found out.
fn waits(result: &Value) -> Vec<Block> {
    let reasons = result["explain"]["waits"].as_array().cloned().unwrap_or_default();
    if reasons.is_empty() {
        return Vec::new();
    }
    let classes = ["load", "store", "atomic"];
    let share = |reason: &Value, class: &str| reason["shares"][class].as_f64().map(|v| 100.0 * v);
    let used: Vec<&str> =
        classes.into_iter().filter(|class| reasons.iter().any(|r| share(r, class).is_some())).collect();
    let series = reasons.iter().map(|reason| {
        let name = reason_text(reason["reason"].as_str().unwrap_or("?"));
        PlotSeries::new(name, used.iter().map(|class| share(reason, class)).collect())
    });
    let mut blocks = vec![Block::Chart(Plot {
        kind: PlotKind::Stacked,
        title: "Time of memory requests".into(),
        x: "class of requests".into(),
        y: "share of their time, %".into(),
        categories: used.iter().map(|class| format!("{class}s")).collect(),
        series: series.collect(),
        baseline: None,
        log: false,
    })];
    let allocations = result["explain"]["allocations"].as_array().cloned().unwrap_or_default();
    let row = |a: &Value| {
        let count = |key: &str| TableCell::number(a[key].as_f64(), 0);
        vec![a["name"].as_str().unwrap_or("?").into(), count("l2_sectors"), count("l2_misses"), count("dram_sectors")]
    };
    blocks.push(Block::Table(Table {
        name: "allocations".into(),
        headings: ["allocation", "sectors asked of L2", "misses", "sectors of DRAM"].map(str::to_owned).to_vec(),
        rows: allocations.iter().map(row).collect(),
    }));
    blocks
}

/// The statistics of one run with what they mean.
fn described(result: &Value) -> Block {
    let row = |(path, stat): (&String, &Value)| {
        let text = |key: &str| TableCell::from(stat[key].as_str().unwrap_or_default());
        vec![path.as_str().into(), cell(stat["value"].as_f64()), text("unit"), text("description")]
    };
    Block::Table(Table {
        name: "statistics".into(),
        headings: ["statistic", "value", "unit", "meaning"].map(str::to_owned).to_vec(),
        rows: result["stats"].as_object().into_iter().flatten().map(row).collect(),
    })
}

/// So many launches are listed; the file has all.
const MOST_LAUNCHES: usize = 2000;

fn launches(result: &Value) -> Table {
    let shape = |value: &Value| {
        let all: Vec<String> = value.as_array().into_iter().flatten().map(Value::to_string).collect();
        all.join("×")
    };
    let row = |(k, kernel): (usize, &Value)| {
        let count = |key: &str| TableCell::number(kernel[key].as_f64(), 0);
        vec![
            TableCell::number(Some(k as f64 + 1.0), 0),
            kernel["name"].as_str().unwrap_or("?").into(),
            shape(&kernel["grid"]).into(),
            shape(&kernel["block"]).into(),
            count("cycles"),
            TableCell::number(kernel["ipc"].as_f64(), 2),
            count("thread_instructions"),
        ]
    };
    let headings = ["launch", "kernel", "grid", "block", "core cycles", "IPC", "thread instructions"];
    Table {
        name: "launches".into(),
        headings: headings.map(str::to_owned).to_vec(),
        rows: result["kernels"].as_array().into_iter().flatten().take(MOST_LAUNCHES).enumerate().map(row).collect(),
    }
}

/// Several runs side by side.
fn runs_document(runs: &[&(String, Value)]) -> Document {
    let label = |result: &Value| {
        let parts = ["size", "gpu"].map(|key| result[key].as_str().map(str::to_owned));
        let with = result["with"].as_str().filter(|with| *with != "none").map(|with| format!("+{with}"));
        let more: Vec<String> = parts.into_iter().flatten().collect();
        format!("{} {}{}", result["name"].as_str().unwrap_or("?"), more.join(" "), with.unwrap_or_default())
    };
    let results: Vec<(String, &Value)> = runs.iter().map(|(_, result)| (label(result), result)).collect();
    let cycles = results.iter().map(|(_, result)| result["cycles"].as_f64()).collect();
    let mut blocks = vec![bars(
        "Core cycles",
        "run",
        "core cycles of launches",
        results.iter().map(|(name, _)| name.clone()).collect(),
        vec![PlotSeries::new("core cycles", cycles)],
    )];
    blocks.extend(stalls("Why warps wait", "run", &results));
    blocks.push(statistics("statistics", &results));
    let commands: Vec<String> = results.iter().map(|(_, result)| rerun(result)).collect();
    let answers = results.iter().filter_map(|(name, result)| Some(format!("{name}: {}", result["answer"].as_str()?)));
    Document {
        title: format!("{} runs side by side", results.len()),
        lead: answers.take(8).collect(),
        sections: vec![
            Section { id: "runs".into(), title: "Runs".into(), blocks },
            Section {
                id: "definitions".into(),
                title: "What the statistics mean".into(),
                blocks: vec![Block::Details {
                    title: "Every statistic with its unit".into(),
                    blocks: vec![definitions(results.iter().map(|(_, result)| *result))],
                }],
            },
            Section {
                id: "rerun".into(),
                title: "How to run them again".into(),
                blocks: vec![Block::Code { text: commands.join("\n") }],
            },
        ],
    }
}

/// Rows whose error is no larger are green.
const NEAR: f64 = 0.1;

/// Ours beside silicon.
fn validation(value: &Value, rows: &[Value]) -> Document {
    let mut tables: Vec<&str> = Vec::new();
    for row in rows {
        let table = row["table"].as_str().unwrap_or("");
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    let series = tables.iter().map(|table| {
        let own = rows.iter().filter(|row| row["table"].as_str() == Some(table));
        let both: Vec<(f64, f64, String)> = own
            .filter_map(|row| {
                let name = format!("{} {}", row["name"].as_str()?, row["quantity"].as_str().unwrap_or_default());
                Some((row["silicon"].as_f64()?, row["ours"].as_f64()?, name))
            })
            .collect();
        PlotSeries {
            at: both.iter().map(|(silicon, _, _)| *silicon).collect(),
            names: both.iter().map(|(_, _, name)| name.clone()).collect(),
            ..PlotSeries::new(*table, both.iter().map(|(_, ours, _)| Some(*ours)).collect())
        }
    });
    let chart = Plot {
        kind: PlotKind::Scatter,
        title: "Ours beside silicon: on the line they are the same".into(),
        x: "measured on a card, in the unit of the row".into(),
        y: "ours, in the same unit".into(),
        categories: Vec::new(),
        series: series.collect(),
        baseline: None,
        log: true,
    };
    let row = |row: &Value| {
        let text = |key: &str| TableCell::from(row[key].as_str().unwrap_or_default());
        let error = row["error"].as_f64();
        let colour = match error.map(f64::abs) {
            Some(e) if e <= NEAR => "good",
            Some(e) if e > 0.25 => "bad",
            Some(_) => "higher",
            None => "",
        };
        let shown = error
            .map_or(TableCell::None, |e| TableCell::Verdict { t: format!("{:+.1} %", 100.0 * e), c: colour.into() });
        vec![
            text("table"),
            text("name"),
            text("quantity"),
            text("unit"),
            cell(row["silicon"].as_f64()),
            cell(row["ours"].as_f64()),
            shown,
            cell(row["accel_sim"].as_f64()),
        ]
    };
    let headings = ["table", "name", "quantity", "unit", "silicon", "ours", "error", "Accel-Sim"];
    let table = Table {
        name: "validation".into(),
        headings: headings.map(str::to_owned).to_vec(),
        rows: rows.iter().map(row).collect(),
    };
    let percent = value["mape"]
        .as_f64()
        .map(|mape| format!("Mean absolute error of kernels: {mape:.1} %, {} rows in all.", rows.len()));
    let errors: Vec<f64> = rows.iter().filter_map(|row| row["error"].as_f64()).collect();
    let near = errors.iter().filter(|error| error.abs() <= NEAR).count();
    let share = format!("{near} of {} rows are within {:.0} % of the card.", errors.len(), 100.0 * NEAR);
    let correlation = value["correlation"].as_f64().map(|r| format!("Correlation with silicon: {r:.4}."));
    Document {
        title: "The machines beside real GPUs".into(),
        lead: percent.into_iter().chain(correlation).chain([share]).collect(),
        sections: vec![Section {
            id: "rows".into(),
            title: "Every row".into(),
            blocks: vec![Block::Chart(chart), Block::Table(table)],
        }],
    }
}

/// Any table of points: columns as they are, a chart of those that hold numbers and differ.
fn points(title: &str, rows: &[Value]) -> Document {
    let mut columns: Vec<&String> = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows {
        columns.extend(
            row.as_object().into_iter().flat_map(serde_json::Map::keys).filter(|key| seen.insert(key.as_str())),
        );
    }
    let is_number = |key: &str| {
        rows.iter().any(|row| row[key].is_number()) && rows.iter().all(|row| row[key].is_number() || row[key].is_null())
    };
    let made = |row: &Value| {
        let shown = |key: &&String| match &row[key.as_str()] {
            Value::Null => TableCell::None,
            Value::String(text) => text.as_str().into(),
            Value::Number(n) => cell(n.as_f64()),
            more => more.to_string().into(),
        };
        columns.iter().map(shown).collect()
    };
    let table = Table {
        name: "points".into(),
        headings: columns.iter().map(|c| (*c).clone()).collect(),
        rows: rows.iter().map(made).collect(),
    };
    let name = |row: &Value| {
        let words = columns.iter().filter_map(|key| row[key.as_str()].as_str()).filter(|text| text.len() < 24);
        words.take(3).collect::<Vec<_>>().join(" ")
    };
    let preferred = ["cycles", "speedup", "ipc", "gpu.energy.total"];
    let charts = preferred.into_iter().filter(|key| is_number(key)).map(|key| {
        let values = rows.iter().take(200).map(|row| row[key].as_f64()).collect();
        bars(key, "point", key, rows.iter().take(200).map(name).collect(), vec![PlotSeries::new(key, values)])
    });
    let mut blocks: Vec<Block> = charts.take(2).collect();
    blocks.push(Block::Table(table));
    Document {
        title: title.to_owned(),
        lead: vec![format!("{} rows.", rows.len())],
        sections: vec![Section { id: "points".into(), title: title.to_owned(), blocks }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_of_saved_result_is_a_report() {
        let run = json!({ "name": "bfs", "gpu": "v100", "size": "tiny", "passed": true, "checked": "levels", "answer": "It waits.",
            "kernels": [{ "name": "k", "cycles": 5, "grid": [1, 1, 1], "block": [32, 1, 1] }],
            "stats": { "gpu.sm.stall.memory": { "value": 3, "unit": "cycles", "description": "waits" } }, "settings": { "l2.ways": "8" } });
        let document = from_saved(&[("a".into(), run.clone())]).expect("a run");
        assert_eq!(document.title, "bfs (tiny) on v100");
        assert_eq!(document.lead[0], "It waits.");
        assert!(document.html().contains("strata run bfs --size tiny --gpu v100 --set l2.ways=8"));
        let two = from_saved(&[("a".into(), run.clone()), ("b".into(), run.clone())]).expect("two runs");
        assert_eq!(two.title, "2 runs side by side");

        let validate = json!({ "rows": [{ "table": "t", "name": "n", "quantity": "q", "silicon": 2.0, "ours": 1.0, "error": -0.5 }], "mape": 50.0 });
        let lead = from_saved(&[("v".into(), validate)]).expect("validation").lead;
        assert!(lead[0].contains("50.0 %"), "{lead:?}");
        assert_eq!(lead[1], "0 of 1 rows are within 10 % of the card.");
        let sweep = json!({ "rows": [{ "program": "bfs", "cycles": 10 }] });
        let both = from_saved(&[("a".into(), run), ("s".into(), sweep)]).expect("both");
        assert!(both.sections.iter().any(|section| section.id.starts_with("part-2")), "parts are told apart");
        assert!(from_saved(&[("x".into(), json!({}))]).expect_err("nothing").contains("is no saved result"));
    }

    #[test]
    fn a_document_that_was_saved_comes_back_as_it_was() {
        let document = Document { title: "T".into(), lead: vec!["L".into()], sections: Vec::new() };
        let saved = json!({ "document": serde_json::to_value(&document).expect("JSON") });
        assert_eq!(from_saved(&[("d".into(), saved)]), Ok(document));
    }
}
