//! The report of a comparison: what it comes to, a chart; then family by family and program by program.

use super::document::{Block, Document, Plot, PlotKind, PlotSeries, Section, Table, TableCell};
use super::places::places;
use super::statistics::{configuration, definitions, rerun, stalls, statistics, unified_memory};
use crate::compare::{CompareRow, Compared, Comparison, Family, beside, sentences};
use serde_json::Value;

/// A comparison as a report; `command` is what makes it again.
pub fn comparison(comparison: &Comparison, command: &str) -> Document {
    let programs = comparison.rows().filter(|row| row.is_baseline).count();
    let runs = comparison.rows().count();
    let mut lead = vec![format!(
        "{programs} programs on {} machines, {runs} runs. Ratios are to the machine named in each heading; 1 is the same.",
        comparison.groups.iter().map(|g| g.group.schemes.len() + 1).sum::<usize>()
    )];
    lead.extend(extremes(comparison));
    let mut sections = vec![summary(comparison)];
    sections.extend(comparison.groups.iter().enumerate().map(|(k, group)| family(k, group)));
    let results: Vec<&Value> =
        comparison.rows().filter_map(|row| row.run.as_ref().ok()).map(|run| &run.result).collect();
    sections.push(Section {
        id: "definitions".into(),
        title: "What the statistics mean".into(),
        blocks: vec![Block::Details {
            title: "Every statistic with its unit".into(),
            blocks: vec![definitions(results.into_iter())],
        }],
    });
    sections.push(Section {
        id: "rerun".into(),
        title: "How to run it again".into(),
        blocks: vec![
            Block::Code { text: command.to_owned() },
            Block::text(
                "The same command gives the same numbers on every machine. Single runs are listed with each program.",
            ),
        ],
    });
    Document { title: "Mechanisms of GPU memory side by side".into(), lead, sections }
}

/// Geometric means of everything.
fn summary(comparison: &Comparison) -> Section {
    let mut categories = Vec::new();
    let mut values: [Vec<Option<f64>>; 3] = Default::default();
    let mut rows = Vec::new();
    for group in &comparison.groups {
        for machine in &group.group.schemes {
            let label = &machine.label;
            let (speed, n, of) = group.mean(label, |row| row.speedup);
            let traffic = group.mean(label, |row| row.traffic).0;
            let energy = group.mean(label, |row| row.energy).0;
            let capacity = group.mean(label, |row| row.run.as_ref().ok().map(|run| run.capacity)).0;
            categories.push(label.clone());
            for (list, value) in values.iter_mut().zip([speed, traffic, energy]) {
                list.push(value);
            }
            rows.push(vec![
                TableCell::from(group.group.family.name()),
                TableCell::from(label.as_str()),
                coloured(speed),
                TableCell::number(traffic, 3),
                TableCell::number(capacity, 3),
                TableCell::number(energy, 3),
                TableCell::from(format!("{n} of {of}")),
            ]);
        }
    }
    let [speed, traffic, energy] = values;
    let chart = Plot {
        kind: PlotKind::Bars,
        title: "Geometric means".into(),
        x: "machine".into(),
        y: "ratio to the machine compared with".into(),
        categories,
        series: vec![
            PlotSeries::new("speed-up (more is better)", speed),
            PlotSeries::new("off-chip traffic (less is better)", traffic),
            PlotSeries::new("energy (less is better)", energy),
        ],
        baseline: Some(1.0),
        log: false,
    };
    let headings = ["family", "machine", "speed-up", "off-chip traffic", "capacity", "energy", "programs"];
    let table = Table { name: "means".into(), headings: headings.map(str::to_owned).to_vec(), rows };
    let mut blocks = vec![Block::Chart(chart), Block::Table(table)];
    blocks.extend(sentences(comparison).into_iter().map(Block::text));
    Section { id: "summary".into(), title: "Summary".into(), blocks }
}

/// Which machines gain most and which lose, in a sentence each.
fn extremes(comparison: &Comparison) -> Vec<String> {
    let machines = comparison.groups.iter().flat_map(|group| {
        group.group.schemes.iter().filter_map(move |machine| {
            let (mean, n, of) = group.mean(&machine.label, |row| row.speedup);
            Some((mean?, format!("{} ({n} of {of} programs)", machine.label)))
        })
    });
    let mut all: Vec<(f64, String)> = machines.collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shown = |(mean, name): &(f64, String)| format!("{mean:.2} with {name}");
    let gains: Vec<String> = all.iter().filter(|(mean, _)| *mean >= 1.01).take(4).map(shown).collect();
    let losses: Vec<String> = all.iter().rev().filter(|(mean, _)| *mean <= 0.99).take(3).map(shown).collect();
    let told = |what: &str, list: Vec<String>| (!list.is_empty()).then(|| format!("{what}: {}.", list.join(", ")));
    let gains = told("Greatest speed-ups over what each is compared with", gains);
    gains.into_iter().chain(told("Slower", losses)).collect()
}

/// A speed-up, green or red where it is worth a colour.
fn coloured(speedup: Option<f64>) -> TableCell {
    let Some(value) = speedup else { return TableCell::None };
    let colour = match value {
        v if v >= 1.01 => "good",
        v if v <= 0.99 => "bad",
        _ => "",
    };
    TableCell::Verdict { t: format!("{value:.3}"), c: colour.to_owned() }
}

fn family(number: usize, group: &Compared) -> Section {
    let programs = crate::compare::by_program(group);
    let names: Vec<String> = programs.iter().map(|rows| rows[0].program()).collect();
    let mut blocks = Vec::new();
    let left_out: Vec<String> = programs
        .iter()
        .filter_map(|rows| rows[0].no_pressure.as_ref().map(|why| format!("{}: {why}", rows[0].program())))
        .collect();
    blocks.push(Block::text(format!(
        "Compared with {}: {}.",
        group.group.baseline.label,
        programs
            .iter()
            .flatten()
            .find_map(|row| row.run.as_ref().ok())
            .map_or_else(|| group.group.baseline.gpu.clone(), |run| configuration(&run.result))
    )));
    blocks.extend(mechanisms(group).map(Block::text));
    if !left_out.is_empty() {
        blocks.push(Block::text(format!("Left out of means: {}.", left_out.join("; "))));
    }
    let bars = |title: &str, y: &str, of: &dyn Fn(&CompareRow) -> Option<f64>, baseline: Option<f64>| {
        let series = group.group.schemes.iter().map(|machine| {
            let value =
                |rows: &Vec<&CompareRow>| rows.iter().find(|r| r.machine.label == machine.label).and_then(|r| of(r));
            PlotSeries::new(machine.label.clone(), programs.iter().map(value).collect())
        });
        Block::Chart(Plot {
            kind: PlotKind::Bars,
            title: title.to_owned(),
            x: "program".into(),
            y: y.to_owned(),
            categories: names.clone(),
            series: series.collect(),
            baseline,
            log: false,
        })
    };
    blocks.push(bars("Speed-up", "time of the baseline over this", &|row| row.speedup, Some(1.0)));
    blocks.push(bars("Off-chip traffic", "bytes over those of the baseline", &|row| row.traffic, Some(1.0)));
    match group.group.family {
        Family::Compression => blocks.push(bars(
            "Capacity",
            "bytes of data per byte of device memory",
            &|row| row.run.as_ref().ok().map(|run| run.capacity),
            Some(1.0),
        )),
        Family::Deduplication => blocks.extend(requests(group)),
        Family::UnifiedMemory => {
            blocks.push(bars(
                "Page hit rate",
                "walks that found their page, %",
                &|row| quantity(row, "page_hit_rate").map(|v| 100.0 * v),
                None,
            ));
        }
        Family::NearData => {
            blocks.push(bars(
                "Instructions on the memory stacks",
                "share of instructions, %",
                &|row| quantity(row, "instructions_on_stacks").map(|v| 100.0 * v),
                None,
            ));
        }
        Family::Caches | Family::Other => {
            blocks.push(bars(
                "L2 hits",
                "sectors read that were in L2, %",
                &|row| quantity(row, "l2_hit_rate").map(|v| 100.0 * v),
                None,
            ));
        }
    }
    blocks.push(bars("Energy", "joules over those of the baseline", &|row| row.energy, Some(1.0)));
    let all: Vec<(String, &Value)> = group
        .rows
        .iter()
        .filter_map(|row| Some((format!("{}: {}", row.workload, row.machine.label), &row.run.as_ref().ok()?.result)))
        .collect();
    blocks.extend(stalls("Why warps wait", "program: machine", &all));
    blocks.push(Block::Table(rows(group)));
    blocks.extend(programs.iter().map(|rows| program(rows)));
    let against = format!("{}, against {}", group.group.title, crate::compare::against(group));
    Section { id: format!("family-{number}"), title: capital(&against), blocks }
}

/// What the mechanisms of a group are, each once.
fn mechanisms(group: &Compared) -> impl Iterator<Item = String> {
    let mut all: Vec<String> = Vec::new();
    for mechanism in group.group.schemes.iter().flat_map(|machine| machine.with.list()) {
        let text = format!("{}: {}.", mechanism.name(), mechanism.description());
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all.into_iter()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn quantity(row: &CompareRow, name: &str) -> Option<f64> {
    row.run.as_ref().ok()?.quantities.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// Requests by class of deduplicated memory, over what there would have been without.
fn requests(group: &Compared) -> Option<Block> {
    const CLASSES: [(&str, &str); 4] = [
        ("writes_after", "writes"),
        ("data_reads_after", "reads of written data"),
        ("read_only_after", "reads of data that no kernel wrote"),
        ("metadata_requests", "metadata and comparisons"),
    ];
    let rows: Vec<&CompareRow> = group.rows.iter().filter(|row| quantity(row, "requests_before").is_some()).collect();
    let share = |row: &CompareRow, name: &str| {
        let before = quantity(row, "requests_before").filter(|before| *before > 0.0)?;
        Some(100.0 * quantity(row, name)? / before)
    };
    let series = CLASSES.map(|(name, text)| PlotSeries::new(text, rows.iter().map(|row| share(row, name)).collect()));
    (!rows.is_empty()).then(|| {
        Block::Chart(Plot {
            kind: PlotKind::Stacked,
            title: "Requests to DRAM by class".into(),
            x: "program: machine".into(),
            y: "% of the requests without deduplication".into(),
            categories: rows.iter().map(|row| format!("{}: {}", row.workload, row.machine.label)).collect(),
            series: series.to_vec(),
            baseline: Some(100.0),
            log: false,
        })
    })
}

fn rows(group: &Compared) -> Table {
    let headings = [
        "program",
        "machine",
        "core cycles",
        "speed-up",
        "off-chip MB",
        "off-chip ratio",
        "capacity",
        "energy, mJ",
        "energy ratio",
        "what it is there for",
        "result",
    ];
    let row = |row: &CompareRow| {
        let run = row.run.as_ref().ok();
        let result = match (&row.run, run.and_then(|r| r.passed)) {
            (Err(error), _) => TableCell::Verdict { t: format!("failed: {error}"), c: "bad".into() },
            (_, Some(false)) => TableCell::Verdict { t: "wrong".into(), c: "bad".into() },
            (_, Some(true)) => TableCell::Verdict { t: "passed".into(), c: "good".into() },
            (_, None) => "not checked".into(),
        };
        vec![
            row.program().into(),
            row.machine.label.as_str().into(),
            TableCell::number(run.map(|r| r.cycles as f64), 0),
            TableCell::number(row.speedup, 3),
            TableCell::number(run.map(|r| r.offchip_bytes as f64 / 1e6), 2),
            TableCell::number(row.traffic, 3),
            TableCell::number(run.map(|r| r.capacity), 3),
            TableCell::number(run.map(|r| r.energy * 1e3), 3),
            TableCell::number(row.energy, 3),
            run.map_or(TableCell::None, |r| r.words.as_str().into()),
            result,
        ]
    };
    Table {
        name: group.group.family.name().to_owned(),
        headings: headings.map(str::to_owned).to_vec(),
        rows: group.rows.iter().map(row).collect(),
    }
}

/// One program: statistics side by side, machines, commands.
fn program(rows: &[&CompareRow]) -> Block {
    let results: Vec<(String, &Value)> =
        rows.iter().filter_map(|row| Some((row.machine.label.clone(), &row.run.as_ref().ok()?.result))).collect();
    let name = rows[0].program();
    let mut blocks = Vec::new();
    let answers = results.iter().filter_map(|(label, result)| Some(format!("{label}: {}", result["answer"].as_str()?)));
    blocks.extend(answers.map(Block::text));
    let machines: Vec<Vec<TableCell>> = results
        .iter()
        .map(|(label, result)| vec![label.as_str().into(), configuration(result).into(), rerun(result).into()])
        .collect();
    blocks.push(Block::Table(Table {
        name: format!("{name} machines"),
        headings: ["machine", "as a difference from its preset", "command"].map(str::to_owned).to_vec(),
        rows: machines,
    }));
    blocks.push(statistics(&format!("{name} statistics"), &results));
    for (label, result) in &results {
        let blocks_of_places = places(result);
        if !blocks_of_places.is_empty() {
            let title = format!("{label}: hot lines of the source, pages, compressibility");
            blocks.push(Block::Details { title, blocks: blocks_of_places });
        }
        let Some(pages) = beside(result, "uvm.json") else { continue };
        blocks.push(Block::Details {
            title: format!("{label}: pages over time and in memory"),
            blocks: unified_memory(&pages),
        });
    }
    Block::Details { title: format!("{name}: all statistics, machines, commands"), blocks }
}
