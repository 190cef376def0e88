//! Candidates as a table for people and as JSON for scripts.

use super::{Assumptions, FileCandidates, Refused, Row};
use serde_json::{Value, json};
use std::fmt::Write;
use strata_run::ptx_check::{diagnostics_json, plural};
use strata_run::table::{Align, columns, grouped};
use strata_tom::candidate::{Kind, Trips};

/// A number of words with at most two decimals.
pub(super) fn number(words: f64) -> String {
    let text = format!("{words:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A change of traffic, with its sign.
fn change(words: f64) -> String {
    if words > 0.0 { format!("+{}", number(words)) } else { number(words) }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Loop => "loop",
        Kind::Region => "region",
        Kind::Piece => "block",
    }
}

impl FileCandidates {
    /// The file's part of what `strata offload` prints.
    pub fn table(&self) -> String {
        let mut out = format!(
            "{}: {} in {}, {} examined\n",
            self.path,
            plural(self.rows.len(), "candidate"),
            plural(self.kernels, "kernel"),
            plural(self.examined, "block"),
        );
        if !self.rows.is_empty() {
            let mut headings = vec![("kernel", Align::Left), ("what", Align::Left), ("pc", Align::Right)];
            headings.extend([("lines", Align::Right), ("source", Align::Left), ("in", Align::Right)]);
            headings.extend([("out", Align::Right), ("loads", Align::Right), ("stores", Align::Right)]);
            headings.extend([("iterations", Align::Right), ("TX", Align::Right), ("RX", Align::Right)]);
            headings.extend([("saves", Align::Left), ("offload if", Align::Left)]);
            let rows: Vec<_> = self.rows.iter().map(Row::cells).collect();
            out.push_str(&columns(&headings, &rows));
        }
        for (kernel, lost) in &self.dropped {
            let lost = plural(*lost, "candidate");
            let _ = writeln!(out, "`{kernel}`: {lost} found no room in the table (`--table-entries`)");
        }
        if !self.refused.is_empty() {
            out.push_str("loops that are not offloaded:\n");
        }
        for Refused { kernel, line, reason } in &self.refused {
            let _ = writeln!(out, "  {}:{line}: in `{kernel}`: {reason}", self.path);
        }
        out
    }

    /// The file's entry in the JSON that scripts read.
    pub fn to_json(&self) -> Value {
        let refused: Vec<_> =
            self.refused.iter().map(|r| json!({ "kernel": r.kernel, "line": r.line, "reason": r.reason })).collect();
        let dropped: Vec<_> = self.dropped.iter().map(|(k, n)| json!({ "kernel": k, "candidates": n })).collect();
        json!({
            "path": self.path,
            "errors": self.errors(),
            "diagnostics": diagnostics_json(&self.text, &self.diagnostics),
            "examined": self.examined,
            "candidates": self.rows.iter().map(Row::to_json).collect::<Vec<_>>(),
            "refused_loops": refused,
            "dropped": dropped,
        })
    }
}

/// The assumptions of a search, for the same JSON.
pub fn assumptions_json(assumptions: &Assumptions) -> Value {
    json!({
        "warp_size": assumptions.warp_size,
        "load_coalescing": assumptions.load_coalescing,
        "store_coalescing": assumptions.store_coalescing,
        "load_miss_rate": assumptions.load_miss_rate,
        "address_bytes": assumptions.address_bytes,
        "table_entries": assumptions.table_entries,
    })
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let c = &self.candidate;
        let saves = match (c.change.saves_tx(), c.change.saves_rx()) {
            (true, true) => "TX+RX",
            (true, false) => "TX",
            (false, true) => "RX",
            (false, false) => "-",
        };
        let source =
            self.source.as_ref().map_or_else(|| "-".to_owned(), |(file, a, b)| format!("{file}:{}", range(*a, *b)));
        vec![
            self.kernel.clone(),
            kind(c.kind).to_owned(),
            range(c.begin, c.end),
            range(self.lines.0, self.lines.1),
            source,
            grouped(c.traffic.registers_in),
            grouped(c.traffic.registers_out),
            grouped(c.traffic.loads),
            grouped(c.traffic.stores),
            grouped(c.iterations),
            change(c.change.tx),
            change(c.change.rx),
            saves.to_owned(),
            self.condition.clone().unwrap_or_else(|| "always".to_owned()),
        ]
    }

    fn to_json(&self) -> Value {
        let c = &self.candidate;
        let condition = c.condition.zip(self.condition.as_ref()).map(|(condition, text)| {
            json!({
                "text": text,
                "register": self.name_in(condition.register),
                "minus": condition.minus.and_then(|r| self.name_in(r)),
                "comparison": if condition.at_most { "<=" } else { ">=" },
                "threshold": condition.threshold,
                "stride": condition.stride.and_then(|(r, _)| self.name_in(r)),
                "multiple": condition.stride.map(|(_, multiple)| multiple),
                "iterations": condition.iterations,
            })
        });
        let trips = c.trips.map(|trips| match trips {
            Trips::Static(_) => "static",
            Trips::Known(_) => "known_before_entry",
            Trips::Unknown => "unknown",
        });
        let source = self.source.as_ref().map(|(file, a, b)| json!({ "file": file, "lines": [a, b] }));
        json!({
            "kernel": self.kernel,
            "kind": kind(c.kind),
            "begin": c.begin,
            "end": c.end,
            "entry": c.entry,
            "resume": c.resume,
            "lines": [self.lines.0, self.lines.1],
            "source": source,
            "live_in": c.traffic.registers_in,
            "live_out": c.traffic.registers_out,
            "live_in_registers": self.live_in,
            "live_out_registers": self.live_out,
            "loads": c.traffic.loads,
            "stores": c.traffic.stores,
            "trip_count": trips,
            "iterations": c.iterations,
            "tx": c.change.tx,
            "rx": c.change.rx,
            "saves_tx": c.change.saves_tx(),
            "saves_rx": c.change.saves_rx(),
            "condition": condition,
        })
    }

    /// The name of a register of the condition: the loop reads it, so it is among those that it needs.
    fn name_in(&self, register: strata_ptx::ast::RegId) -> Option<&String> {
        let at = self.candidate.live_in.iter().position(|&r| r == register)?;
        self.live_in.get(at)
    }
}

fn range(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}
