//! Parts of a report that say where: which lines of the source send requests, which pages they go to, which memory is compressible.

use super::document::{Block, Heat, Plot, PlotKind, PlotSeries, Table, TableCell};
use super::statistics::cell;
use crate::compare::beside;
use serde_json::Value;

/// So many lines are drawn; the table has all.
const MOST_LINES: usize = 12;
/// So many allocations have maps: those that are used most.
const MOST_MAPS: usize = 8;
/// A map of more cells than this is made smaller: a page of a report has dozens.
const MOST_CELLS: usize = 1 << 12;

/// All that is known of where a run's requests come from and go to; nothing of a run that was not asked to explain itself.
pub(super) fn places(result: &Value) -> Vec<Block> {
    let mut blocks = hot_lines(result);
    blocks.extend(beside(result, "pages.json").map(|pages| page_maps(&pages)).unwrap_or_default());
    blocks.extend(beside(result, "buddy.json").map(|buddy| compressible(&buddy)).unwrap_or_default());
    blocks
}

/// The lines of the source whose requests take longest.
fn hot_lines(result: &Value) -> Vec<Block> {
    let lines: Vec<&Value> = result["explain"]["lines"].as_array().into_iter().flatten().collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let name = |line: &Value| line["place"].as_str().unwrap_or("?").to_owned();
    let percent = |line: &Value| line["share"].as_f64().map(|share| 100.0 * share);
    let drawn = || lines.iter().take(MOST_LINES);
    let chart = Plot {
        kind: PlotKind::Bars,
        title: "Hot lines of the source".into(),
        x: "line".into(),
        y: "share of the time of requests, %".into(),
        categories: drawn().map(|line| name(line)).collect(),
        series: vec![PlotSeries::new("from issue to answer", drawn().map(|line| percent(line)).collect())],
        baseline: None,
        log: false,
    };
    let row = |line: &&Value| {
        let count = |key: &str| line[key].as_f64();
        let ratio = |a: &str, b: &str| Some(count(a)? / count(b).filter(|b| *b > 0.0)?);
        let place = name(line);
        vec![
            strata_workloads::source_line(&place).map_or(TableCell::None, TableCell::from),
            place.as_str().into(),
            TableCell::number(percent(line), 1),
            cell(count("instructions")),
            TableCell::number(ratio("requests", "instructions"), 2),
            cell(count("l2_sectors")),
            TableCell::number(ratio("l2_misses", "l2_sectors").map(|share| 100.0 * share), 1),
        ]
    };
    let headings = [
        "source",
        "line",
        "time of requests, %",
        "warp instructions",
        "line requests of each",
        "sectors asked of L2",
        "not in L2, %",
    ];
    let table = Table {
        name: "lines".into(),
        headings: headings.map(str::to_owned).to_vec(),
        rows: lines.iter().map(row).collect(),
    };
    let note = "Time is from issue to answer, summed over the line requests of loads and atomics that left their SM: what waits together \
                counts several times. Hits in L1 are no requests.";
    vec![Block::Chart(chart), Block::Table(table), Block::text(note)]
}

/// How often L2 was asked for each page.
fn page_maps(pages: &Value) -> Vec<Block> {
    let allocations = pages["allocations"].as_array().into_iter().flatten().take(MOST_MAPS);
    let map = |allocation: &Value| {
        let counts = numbers(&allocation["l2_sectors"]);
        let bytes = allocation["cell_bytes"].as_u64().unwrap_or(4096);
        let together = counts.len().div_ceil(MOST_CELLS).max(1).next_power_of_two();
        let counts: Vec<u64> = counts.chunks(together).map(|part| part.iter().sum()).collect();
        // A map of a few pages says nothing.
        (counts.len() >= 8).then(|| {
            let kib = (bytes * together as u64) >> 10;
            let cell =
                if together == 1 && bytes == 4096 { "page of 4 KiB".into() } else { format!("block of {kib} KiB") };
            let width = width_of(counts.len());
            let title = format!("Pages of {}", allocation["name"].as_str().unwrap_or("?"));
            Block::Heat(Heat { title, cell, unit: "sectors asked of L2".into(), width, counts, most: None })
        })
    };
    allocations.filter_map(map).collect()
}

/// What the entries of each allocation take when they are compressed.
fn compressible(buddy: &Value) -> Vec<Block> {
    let mut profiled: Vec<(&str, u64, Vec<u64>)> = Vec::new();
    for allocation in buddy["profiled"].as_array().into_iter().flatten() {
        let entries = allocation["entries_per_cell"].as_u64().unwrap_or(1);
        profiled.push((allocation["name"].as_str().unwrap_or("?"), entries, numbers(&allocation["entry_bytes"])));
    }
    profiled.retain(|(_, _, bytes)| bytes.len() >= 8);
    profiled.sort_by_key(|(_, entries, bytes)| std::cmp::Reverse(entries * bytes.len() as u64));
    let map = |(name, entries, counts): (&str, u64, Vec<u64>)| {
        let of =
            if entries == 1 { "entry of 128 B".to_owned() } else { format!("block of {entries} entries of 128 B") };
        let (title, width) = (format!("Compressibility of {name}"), width_of(counts.len()));
        Block::Heat(Heat { title, cell: of, unit: "bytes for each entry".into(), width, counts, most: Some(128) })
    };
    let blocks: Vec<Block> = profiled.into_iter().take(MOST_MAPS).map(map).collect();
    if blocks.is_empty() {
        return blocks;
    }
    let note = "Bit-plane compression of what memory held in the middle of the profiling pass, which runs the program once, without time, \
                on its small input: targets are chosen of it.";
    blocks.into_iter().chain([Block::text(note)]).collect()
}

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// Cells in a row: about as wide as four times its height.
fn width_of(cells: usize) -> usize {
    if cells < 512 { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hot_lines_have_their_text_and_their_share() {
        let line = json!({ "place": "saxpy.cu:1", "instructions": 2, "requests": 8, "l2_sectors": 10, "l2_misses": 5, "share": 0.25 });
        let blocks = places(&json!({ "explain": { "lines": [line] } }));
        let Some(Block::Table(table)) = blocks.get(1) else { panic!("{blocks:?}") };
        let text = strata_workloads::source_line("saxpy.cu:1").expect("a line");
        assert_eq!(table.rows[0][..3], [text.into(), "saxpy.cu:1".into(), TableCell::number(Some(25.0), 1)]);
        assert_eq!(
            table.rows[0][4..],
            [TableCell::number(Some(4.0), 2), TableCell::number(Some(10.0), 0), TableCell::number(Some(50.0), 1)]
        );
        assert_eq!(places(&json!({ "explain": null })), []);
    }

    #[test]
    fn maps_of_many_pages_are_made_smaller_and_keep_their_sum() {
        let counts: Vec<u64> = (0..10_000).collect();
        let pages = json!({ "allocations": [
            { "name": "a", "cell_bytes": 4096, "l2_sectors": counts }, { "name": "b", "cell_bytes": 4096, "l2_sectors": [1, 2] } ] });
        let blocks = page_maps(&pages);
        let [Block::Heat(heat)] = blocks.as_slice() else { panic!("one map: {blocks:?}") };
        assert_eq!((heat.counts.len(), heat.cell.as_str()), (2500, "block of 16 KiB"));
        assert_eq!(heat.counts.iter().sum::<u64>(), counts.iter().sum::<u64>());
    }

    #[test]
    fn compressibility_is_drawn_from_nothing_to_all_of_an_entry() {
        let buddy = json!({ "profiled": [{ "name": "a", "entries_per_cell": 2, "entry_bytes": [0, 8, 16, 32, 64, 80, 96, 128] }] });
        let blocks = compressible(&buddy);
        let Some(Block::Heat(heat)) = blocks.first() else { panic!("{blocks:?}") };
        assert_eq!((heat.most, heat.cell.as_str()), (Some(128), "block of 2 entries of 128 B"));
        assert_eq!(compressible(&json!({ "capacity": 1.5 })), []);
    }
}
