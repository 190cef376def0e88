//! `--explain`: what requests waited for, about which allocations, and which lines of the source sent them, from the statistics of a
//! run.
//!
//! The machine counts (`explain.*` in the statistics tree); here counts become shares and an order: the most first.

use crate::engine::EXPLAIN;
use crate::table::{Align, columns, grouped};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use strata_core::Stats;

/// Classes of requests, in the order of the table.
const CLASSES: [&str; 3] = ["load", "store", "atomic"];

/// So many allocations and lines are shown in the table; the JSON has all.
const MOST_ALLOCATIONS: usize = 10;
const MOST_LINES: usize = 10;

/// What requests spent their time on.
#[derive(Clone, Debug, PartialEq)]
struct Reason {
    name: String,
    /// Core cycles waited, by class of request: load, store, atomic.
    cycles: [u64; CLASSES.len()],
}

impl Reason {
    fn all(&self) -> u64 {
        self.cycles.iter().sum()
    }
}

/// What was done with the lines of one allocation, or of all with its name.
#[derive(Clone, Debug, Default, PartialEq)]
struct Allocation {
    name: String,
    l2_sectors: u64,
    l2_misses: u64,
    dram_sectors: u64,
}

/// What the memory instructions of one line of the source asked for.
#[derive(Clone, Debug, Default, PartialEq)]
struct Line {
    /// `bfs.cu:31`.
    place: String,
    instructions: u64,
    requests: u64,
    l2_sectors: u64,
    l2_misses: u64,
    cycles: u64,
}

/// What line requests waited for, and which allocations they were about.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Line requests that left their SM, by class.
    requests: [u64; CLASSES.len()],
    /// Reasons to wait, the one with the most cycles first.
    reasons: Vec<Reason>,
    /// Those with the most traffic to DRAM first, then those with the most to L2.
    allocations: Vec<Allocation>,
    /// Those whose requests took longest first.
    lines: Vec<Line>,
    /// How requests found the rows of DRAM: open, closed, another open.
    rows: [u64; 3],
}

impl Explanation {
    /// From the statistics of a run; `None` if nothing was counted for it.
    pub fn of(stats: &Stats) -> Option<Self> {
        let mut requests = [0; CLASSES.len()];
        let mut reasons: BTreeMap<&str, [u64; CLASSES.len()]> = BTreeMap::new();
        let mut allocations: BTreeMap<&str, Allocation> = BTreeMap::new();
        let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
        let mut rows = [0; 3];
        for (path, stat) in stats.under(EXPLAIN) {
            let (value, rest) = (stat.value.as_f64() as u64, &path[EXPLAIN.len() + 1..]);
            if let Some((class, name)) = member(rest, "wait[")
                && let Some(class) = CLASSES.iter().position(|c| *c == class)
            {
                if name == "requests" {
                    requests[class] = value;
                } else {
                    reasons.entry(name).or_default()[class] = value;
                }
            } else if let Some((name, what)) = member(rest, "allocation[") {
                let of =
                    allocations.entry(name).or_insert_with(|| Allocation { name: name.into(), ..Default::default() });
                match what {
                    "l2_sectors" => of.l2_sectors = value,
                    "l2_misses" => of.l2_misses = value,
                    "dram_sectors" => of.dram_sectors = value,
                    _ => {}
                }
            } else if let Some((place, what)) = member(rest, "line[") {
                let of = lines.entry(place).or_insert_with(|| Line { place: place.into(), ..Default::default() });
                match what {
                    "instructions" => of.instructions = value,
                    "requests" => of.requests = value,
                    "l2_sectors" => of.l2_sectors = value,
                    "l2_misses" => of.l2_misses = value,
                    "cycles" => of.cycles = value,
                    _ => {}
                }
            } else if let Some(row) = ROWS.iter().position(|(name, _)| rest.strip_prefix("dram.") == Some(name)) {
                rows[row] = value;
            }
        }
        if reasons.is_empty() {
            return None;
        }
        let mut reasons: Vec<_> =
            reasons.into_iter().map(|(name, cycles)| Reason { name: name.into(), cycles }).collect();
        reasons.sort_by_key(|r| std::cmp::Reverse(r.all()));
        let mut allocations: Vec<_> = allocations.into_values().collect();
        allocations.sort_by_key(|a| std::cmp::Reverse((a.dram_sectors, a.l2_sectors)));
        let mut lines: Vec<_> = lines.into_values().collect();
        lines.sort_by_key(|line| std::cmp::Reverse((line.cycles, line.l2_sectors, line.requests)));
        Some(Self { requests, reasons, allocations, lines, rows })
    }

    fn time(&self) -> u64 {
        self.reasons.iter().map(Reason::all).sum()
    }

    fn class_time(&self, class: usize) -> u64 {
        self.reasons.iter().map(|r| r.cycles[class]).sum()
    }

    fn dram_sectors(&self) -> u64 {
        self.allocations.iter().map(|a| a.dram_sectors).sum()
    }

    fn l2_sectors(&self) -> u64 {
        self.allocations.iter().map(|a| a.l2_sectors).sum()
    }

    /// For scripts; shares are fractions, `null` of nothing.
    pub fn to_json(&self) -> Value {
        let by_class = |f: &dyn Fn(usize) -> Value| -> Value {
            CLASSES.iter().enumerate().map(|(k, class)| ((*class).to_owned(), f(k))).collect()
        };
        let reasons: Vec<_> = self
            .reasons
            .iter()
            .map(|r| {
                let cycles = by_class(&|k| json!(r.cycles[k]));
                let shares = by_class(&|k| json!(share(r.cycles[k], self.class_time(k))));
                json!({ "reason": r.name, "share": share(r.all(), self.time()), "cycles": cycles, "shares": shares })
            })
            .collect();
        let allocations: Vec<_> = self
            .allocations
            .iter()
            .map(|a| {
                json!({
                    "name": a.name,
                    "l2_sectors": a.l2_sectors,
                    "l2_share": share(a.l2_sectors, self.l2_sectors()),
                    "l2_misses": a.l2_misses,
                    "dram_sectors": a.dram_sectors,
                    "dram_share": share(a.dram_sectors, self.dram_sectors()),
                })
            })
            .collect();
        let cycles: u64 = self.lines.iter().map(|line| line.cycles).sum();
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|line| {
                json!({
                    "place": line.place,
                    "instructions": line.instructions,
                    "requests": line.requests,
                    "l2_sectors": line.l2_sectors,
                    "l2_misses": line.l2_misses,
                    "cycles": line.cycles,
                    "share": share(line.cycles, cycles),
                })
            })
            .collect();
        let rows: Value =
            ROWS.iter().zip(self.rows).map(|((name, _), count)| ((*name).to_owned(), json!(count))).collect();
        json!({ "requests": by_class(&|k| json!(self.requests[k])), "waits": reasons, "dram": rows, "allocations": allocations, "lines": lines })
    }

    /// As a table for the terminal.
    pub fn table(&self) -> String {
        let time = self.time();
        let cell = |part, whole| share(part, whole).map_or_else(|| "-".to_owned(), |s| format!("{:.1} %", 100.0 * s));
        let headings = [
            ("time of requests", Align::Left),
            ("all", Align::Right),
            ("loads", Align::Right),
            ("stores", Align::Right),
            ("atomics", Align::Right),
        ];
        let mut rows: Vec<_> = self
            .reasons
            .iter()
            .map(|r| {
                let classes = (0..CLASSES.len()).map(|k| cell(r.cycles[k], self.class_time(k)));
                [reason_text(&r.name).to_owned(), cell(r.all(), time)].into_iter().chain(classes).collect()
            })
            .collect();
        let cycles =
            |part: u64, of: u64| if of == 0 { "-".to_owned() } else { format!("{:.0}", part as f64 / of as f64) };
        let per_request = (0..CLASSES.len()).map(|k| cycles(self.class_time(k), self.requests[k]));
        let all = cycles(time, self.requests.iter().sum());
        rows.push(["core cycles per request".to_owned(), all].into_iter().chain(per_request).collect());
        let mut out = columns(&headings, &rows);
        let found: u64 = self.rows.iter().sum();
        if found > 0 {
            let parts: Vec<_> =
                ROWS.iter().zip(self.rows).map(|((_, text), n)| format!("{} {text}", cell(n, found))).collect();
            out.extend(["requests to DRAM: ", &parts.join(", "), "\n"]);
        }
        let headings = [
            ("allocation", Align::Left),
            ("sectors asked of L2", Align::Right),
            ("share", Align::Right),
            ("misses", Align::Right),
            ("sectors of DRAM", Align::Right),
            ("share", Align::Right),
        ];
        let shown = self.allocations.iter().take(MOST_ALLOCATIONS);
        let rows: Vec<_> = shown
            .map(|a| {
                vec![
                    a.name.clone(),
                    grouped(a.l2_sectors),
                    cell(a.l2_sectors, self.l2_sectors()),
                    grouped(a.l2_misses),
                    grouped(a.dram_sectors),
                    cell(a.dram_sectors, self.dram_sectors()),
                ]
            })
            .collect();
        out.push('\n');
        out.push_str(&columns(&headings, &rows));
        let more = self.allocations.len().saturating_sub(MOST_ALLOCATIONS);
        if more > 0 {
            out.extend(["and ", &grouped(more as u64), " more\n"]);
        }
        if !self.lines.is_empty() {
            out.push('\n');
            out.push_str(&self.table_of_lines());
        }
        out
    }

    /// The lines of the source whose requests take longest.
    fn table_of_lines(&self) -> String {
        let headings = [
            ("line of the source", Align::Left),
            ("time of its loads", Align::Right),
            ("lines a warp asks for", Align::Right),
            ("sectors asked of L2", Align::Right),
            ("misses", Align::Right),
        ];
        let time: u64 = self.lines.iter().map(|line| line.cycles).sum();
        let rows: Vec<_> = self
            .lines
            .iter()
            .take(MOST_LINES)
            .map(|line| {
                let per_warp = line.requests as f64 / line.instructions.max(1) as f64;
                vec![
                    line.place.clone(),
                    share(line.cycles, time).map_or_else(|| "-".to_owned(), |s| format!("{:.1} %", 100.0 * s)),
                    format!("{per_warp:.1}"),
                    grouped(line.l2_sectors),
                    grouped(line.l2_misses),
                ]
            })
            .collect();
        let more = self.lines.len().saturating_sub(MOST_LINES);
        let more = if more > 0 { format!("and {} more\n", grouped(more as u64)) } else { String::new() };
        columns(&headings, &rows) + &more
    }
}

/// Names of the ways to find a row, and their texts.
const ROWS: [(&str, &str); 3] =
    [("row_hits", "found their row open"), ("row_misses", "their bank closed"), ("row_conflicts", "another row open")];

/// Splits `wait[load].mshr` into `load` and `mshr`. The name of an allocation may hold anything, brackets too.
fn member<'a>(path: &'a str, group: &str) -> Option<(&'a str, &'a str)> {
    path.strip_prefix(group)?.rsplit_once("].")
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What a reason to wait is called in tables and charts.
pub fn reason_text(name: &str) -> &str {
    match name {
        "load_store_unit" => "load/store unit of the SM",
        "mshr" => "too many requests of the SM under way",
        "request_port" => "port from the SM",
        "memory_queue" => "room in L2's queue to memory",
        "l2_slice" => "L2 slice busy",
        "memory" => "memory",
        "reply_port" => "ports back to the SM",
        "travel" => "on the way: latencies of the units",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::stats::Unit;

    fn sample() -> Stats {
        let mut stats = Stats::default();
        let mut count = |path: &str, value| stats.count(format!("explain.{path}"), value, Unit::Events, "");
        for (path, value) in [
            ("wait[load].requests", 10),
            ("wait[store].requests", 5),
            ("wait[load].mshr", 300),
            ("wait[load].memory", 600),
            ("wait[load].travel", 0),
            ("wait[store].travel", 100),
            ("allocation[cold].l2_sectors", 90),
            ("allocation[cold].dram_sectors", 1),
            ("allocation[a[1].x].l2_sectors", 10),
            ("allocation[a[1].x].l2_misses", 9),
            ("allocation[a[1].x].dram_sectors", 9),
            ("line[a.cu:7].instructions", 2),
            ("line[a.cu:7].requests", 8),
            ("line[a.cu:7].cycles", 300),
            ("line[a.cu:9].requests", 1),
            ("line[a.cu:9].cycles", 700),
            ("dram.row_hits", 3),
            ("dram.row_conflicts", 1),
        ] {
            count(path, value);
        }
        stats
    }

    #[test]
    fn shares_are_of_all_time_and_of_the_time_of_a_class() {
        let json = Explanation::of(&sample()).expect("counted").to_json();
        let first = &json["waits"][0];
        assert_eq!((&first["reason"], &first["share"]), (&json!("memory"), &json!(0.6)));
        assert_eq!(first["shares"], json!({ "load": 600.0 / 900.0, "store": 0.0, "atomic": null }));
        let hottest = &json["allocations"][0];
        assert_eq!((&hottest["name"], &hottest["dram_share"]), (&json!("a[1].x"), &json!(0.9)));
        assert_eq!(hottest["l2_share"], 0.1);
        let line = &json["lines"][0];
        assert_eq!((&line["place"], &line["share"]), (&json!("a.cu:9"), &json!(0.7)));
        assert_eq!(json["dram"], json!({ "row_hits": 3, "row_misses": 0, "row_conflicts": 1 }));
    }

    #[test]
    fn the_table_begins_with_what_takes_longest() {
        let table = Explanation::of(&sample()).expect("counted").table();
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[1].starts_with("memory ") && lines[1].contains("60.0 %"), "{table}");
        assert!(table.contains("75.0 % found their row open"), "{table}");
        assert!(lines.iter().any(|l| l.starts_with("a.cu:7 ") && l.contains("30.0 %") && l.contains("4.0")), "{table}");
        assert!(lines.iter().any(|l| l.starts_with("core cycles per request") && l.contains("67")), "{table}");
    }

    #[test]
    fn without_counts_there_is_no_explanation() {
        assert_eq!(Explanation::of(&Stats::default()), None);
    }
}
