//! A validation as text for people and as JSON for scripts.

use super::{Row, Score, Validation, error, limits, score_of};
use crate::silicon::Kernels;
use serde_json::{Value, json};
use std::fmt::Write;
use strata_run::table::{Align, columns, grouped};

const NOTHING: &str = "-";

/// A number as the tables have it: whole where it is large, one digit where it is not.
fn number(value: Option<f64>) -> String {
    match value {
        None => NOTHING.to_owned(),
        Some(value) if value >= 1e3 || value.fract() == 0.0 => grouped(value.round() as u64),
        Some(value) => format!("{value:.1}"),
    }
}

fn percent(fraction: Option<f64>) -> String {
    fraction.map_or_else(|| NOTHING.to_owned(), |fraction| format!("{:+.1} %", 100.0 * fraction))
}

const fn verdict(passed: Option<bool>) -> &'static str {
    match passed {
        Some(true) => "pass",
        Some(false) => "FAIL",
        None => "",
    }
}

fn micro_table(rows: &[Row]) -> String {
    let headings = [
        ("microbenchmark", Align::Left),
        ("unit", Align::Left),
        ("silicon", Align::Right),
        ("ours", Align::Right),
        ("error", Align::Right),
        ("", Align::Left),
        ("note", Align::Left),
    ];
    let cells = |row: &Row| {
        vec![
            row.name.clone(),
            row.unit.to_owned(),
            number(Some(row.silicon)),
            number(row.ours),
            percent(row.error()),
            verdict(row.passed).to_owned(),
            row.note.clone().unwrap_or_default(),
        ]
    };
    columns(&headings, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// How far a value is off: in percent, or by how much where nothing was measured.
fn distance(row: &Row) -> String {
    match row.ours {
        Some(ours) if row.silicon == 0.0 => format!("+{}", number(Some(ours))),
        _ => percent(row.error()),
    }
}

/// The rows of one table of kernels; a name stands once, before its first quantity.
fn kernel_table(name: &str, rows: &[&Row]) -> String {
    let headings = [
        (name, Align::Left),
        ("quantity", Align::Left),
        ("silicon", Align::Right),
        ("ours", Align::Right),
        ("error", Align::Right),
        ("Accel-Sim", Align::Right),
        ("error", Align::Right),
        ("", Align::Left),
        ("note", Align::Left),
    ];
    let mut before = "";
    let mut cells = Vec::new();
    for row in rows {
        let name = if row.name == before { "" } else { &row.name };
        before = &row.name;
        let accel_sim = row.accel_sim.map(|value| [number(Some(value)), percent(error(Some(value), row.silicon))]);
        let [accel_sim, its_error] = accel_sim.unwrap_or_default();
        cells.push(vec![
            name.to_owned(),
            row.quantity.to_owned(),
            number(Some(row.silicon)),
            number(row.ours),
            distance(row),
            accel_sim,
            its_error,
            verdict(row.passed).to_owned(),
            row.note.clone().unwrap_or_default(),
        ]);
    }
    columns(&headings, &cells)
}

/// The tables of one card.
fn write_tables(out: &mut String, gpu: &str, rows: &[Row], tables: &Kernels) -> std::fmt::Result {
    writeln!(out, "{gpu} beside {}\nsource: {}\n", tables.card, tables.source)?;
    for table in &tables.tables {
        let rows: Vec<_> = rows.iter().filter(|row| row.table == table.name).collect();
        out.push_str(&kernel_table(&table.name, &rows));
        if let Some(note) = &table.note {
            writeln!(out, "({note})")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn score_line(who: &str, score: Option<Score>) -> Vec<String> {
    let mape = score.map_or_else(|| NOTHING.to_owned(), |score| format!("{:.1} %", score.mape));
    let correlation = score.and_then(|score| score.correlation);
    vec![who.to_owned(), mape, correlation.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.3}"))]
}

fn score_json(score: Option<Score>) -> Value {
    json!({ "mape": score.map(|s| s.mape), "correlation": score.and_then(|s| s.correlation) })
}

impl Validation {
    /// Everything, as `strata validate` prints it.
    pub fn table(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_table(&mut out);
        out
    }

    fn write_table(&self, out: &mut String) -> std::fmt::Result {
        if let Some((gpu, rows)) = &self.microbenchmarks {
            let table = &self.silicon.microbenchmarks;
            writeln!(out, "{gpu} beside {}\nsource: {}\n", table.card, table.source)?;
            writeln!(out, "{}", micro_table(rows))?;
        }
        if let Some((gpu, rows)) = &self.kernels {
            let tables = &self.silicon.kernels;
            write_tables(out, gpu, rows, tables)?;
            let headings =
                [("cycles of all kernels", Align::Left), ("mean error", Align::Right), ("correlation", Align::Right)];
            let scores = [
                score_line("ours", self.score()),
                score_line("Accel-Sim", self.accel_sim_score()),
                score_line("required", Some(limits(tables))),
            ];
            writeln!(out, "{}", columns(&headings, &scores))?;
        }
        if let Some((gpu, rows)) = &self.programs {
            let tables = &self.silicon.programs;
            write_tables(out, gpu, rows, tables)?;
            if !self.at_clocks.is_empty() {
                writeln!(out, "{}", self.clock_table(rows))?;
            }
            let headings =
                [("cycles of all programs", Align::Left), ("mean error", Align::Right), ("correlation", Align::Right)];
            let mut scores = vec![score_line("ours", self.programs_score())];
            let at = |(mhz, rows): &(u32, Vec<Row>)| {
                score_line(&format!("at {mhz} MHz"), score_of(rows.iter(), |row| row.ours))
            };
            scores.extend(self.at_clocks.iter().map(at));
            scores.push(score_line("required", Some(limits(tables))));
            writeln!(out, "{}", columns(&headings, &scores))?;
            if let (Some(worst), Some(limit)) = (self.worst_program(), tables.largest_error) {
                let off = percent(worst.error());
                writeln!(out, "furthest off: {} {}, {off} (required: within {limit} %)\n", worst.table, worst.name)?;
            }
        }
        match self.judged() {
            (0, _) => writeln!(out, "no row is judged: this machine stands for none of the cards"),
            (judged, passed) => writeln!(out, "{passed} of {judged} judged rows pass"),
        }
    }

    /// Cycles of the programs' kernels at the core clocks that the card may have had.
    fn clock_table(&self, rows: &[Row]) -> String {
        let named: Vec<_> = self.at_clocks.iter().map(|(mhz, _)| format!("error at {mhz} MHz")).collect();
        let mut headings = vec![("kernel", Align::Left), ("silicon", Align::Right)];
        headings.extend(named.iter().map(|name| (name.as_str(), Align::Right)));
        let of_kernels: Vec<_> = rows.iter().filter(|row| row.is_cycles_of_kernel()).collect();
        let line = |(index, row): (usize, &&Row)| {
            let mut cells = vec![format!("{} {}", row.table, row.name), number(Some(row.silicon))];
            cells.extend(self.at_clocks.iter().map(|(_, at)| percent(at.get(index).and_then(Row::error))));
            cells
        };
        columns(&headings, &of_kernels.iter().enumerate().map(line).collect::<Vec<_>>())
    }

    /// Everything for scripts.
    pub fn to_json(&self) -> Value {
        let rows: Vec<_> = self
            .rows()
            .map(|row| {
                json!({
                    "table": row.table,
                    "name": row.name,
                    "quantity": row.quantity,
                    "unit": row.unit,
                    "silicon": row.silicon,
                    "ours": row.ours,
                    "accel_sim": row.accel_sim,
                    "error": row.error(),
                    "passed": row.passed,
                    "note": row.note,
                })
            })
            .collect();
        let at_clocks: Vec<_> = self
            .at_clocks
            .iter()
            .map(|(mhz, rows)| {
                let errors: Vec<_> = rows
                    .iter()
                    .map(|row| json!({ "table": row.table, "name": row.name, "ours": row.ours, "error": row.error() }))
                    .collect();
                json!({ "core_mhz": mhz, "score": score_json(score_of(rows.iter(), |row| row.ours)), "rows": errors })
            })
            .collect();
        let score = self.score();
        let (judged, passed) = self.judged();
        json!({
            "gpus": {
                "microbenchmarks": self.microbenchmarks.as_ref().map(|(gpu, _)| gpu),
                "kernels": self.kernels.as_ref().map(|(gpu, _)| gpu),
                "programs": self.programs.as_ref().map(|(gpu, _)| gpu),
            },
            "rows": rows,
            "mape": score.map(|score| score.mape),
            "correlation": score.and_then(|score| score.correlation),
            "accel_sim": score_json(self.accel_sim_score()),
            "required": score_json(Some(limits(&self.silicon.kernels))),
            "programs": score_json(self.programs_score()),
            "programs_required": score_json(Some(limits(&self.silicon.programs))),
            "programs_at_clocks": at_clocks,
            "judged": judged,
            "passed": passed,
            "failures": self.failures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_of_the_tables() {
        let shown = [Some(4.12), Some(26.0), Some(445.84), Some(12_500_000.4), None].map(number);
        assert_eq!(shown, ["4.1", "26", "445.8", "12,500,000", "-"]);
        assert_eq!([Some(0.1234), Some(-0.05), None].map(percent), ["+12.3 %", "-5.0 %", "-"]);
    }
}
