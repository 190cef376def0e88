//! What a sweep says: its results as a table, the points that nothing beats (Pareto), and how much each setting matters.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use strata_core::nearest::suggestion;
use strata_core::text::{Align, columns, grouped};
use strata_parquet::{Table, Values};
use strata_run::LabError;

/// More cells than this are not read.
const MOST_CELLS: u64 = 200_000_000;
/// What a point is of, besides settings.
const OF_A_POINT: [&str; 5] = ["program", "size", "seed", "gpu", "with"];
/// What a table shows unless somebody asks for other columns.
const SHOWN: [&str; 4] = ["cycles", "ipc", "gpu.dram.bandwidth", "gpu.energy.total"];

/// The results of a sweep.
pub struct Results {
    table: Table,
    axes: Vec<String>,
}

/// A quantity that is to be small or large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Its column.
    pub metric: String,
    /// Larger is better.
    pub max: bool,
}

impl Goal {
    /// Reads `cycles`, `ipc:max`.
    pub fn parse(text: &str) -> Self {
        match text.rsplit_once(':') {
            Some((metric, "max")) => Self { metric: metric.to_owned(), max: true },
            Some((metric, "min")) => Self { metric: metric.to_owned(), max: false },
            _ => Self { metric: text.to_owned(), max: false },
        }
    }
}

/// How a metric changes with one setting while all others stay.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The setting.
    pub axis: String,
    /// Its value.
    pub value: String,
    /// The value that it is compared with: the first.
    pub base: String,
    /// The metric over that at the base, geometric mean.
    pub ratio: f64,
    /// How many pairs of points that differ in nothing else.
    pub pairs: usize,
}

/// The Parquet file that a path stands for: the file itself, the folder of a sweep, or a store with one sweep.
pub fn find(path: &Path) -> Result<PathBuf, LabError> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let own = path.join("results.parquet");
    if own.is_file() {
        return Ok(own);
    }
    let sweeps = std::fs::read_dir(path.join("sweeps")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        sweeps.map(|entry| entry.path().join("results.parquet")).filter(|path| path.is_file()).collect();
    found.sort();
    let shown = path.display();
    match found.as_slice() {
        [] => Err(LabError::Request(format!(
            "`{shown}` holds no results of a sweep: name a Parquet file, the folder of a sweep or a store"
        ))),
        [one] => Ok(one.clone()),
        several => {
            let names: Vec<_> = several.iter().map(|path| format!("  strata show {}", path.display())).collect();
            Err(LabError::Request(format!("`{shown}` holds several sweeps; name one:\n{}", names.join("\n"))))
        }
    }
}

impl Results {
    /// Reads the file of a sweep.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let table = Table::read(path, MOST_CELLS).map_err(|e| LabError::io("read", path, std::io::Error::other(e)))?;
        let axes = table.text("axes").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        Ok(Self { table, axes })
    }

    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.table.columns.iter().map(|(name, _)| name.as_str())
    }

    fn column(&self, name: &str) -> Result<&Values, LabError> {
        self.table.column(name).ok_or_else(|| {
            let near = suggestion(name, self.names().collect::<Vec<_>>());
            LabError::Request(format!("the results have no column `{name}`; {near}"))
        })
    }

    /// What tells points apart: what they are of and their settings, those that differ.
    fn identity(&self) -> Vec<&str> {
        let all = OF_A_POINT.iter().copied().chain(self.axes.iter().map(String::as_str));
        let known = all.filter_map(|name| Some((name, self.table.column(name)?)));
        let differs = |values: &Values| (1..self.table.rows).any(|row| cell(values, row) != cell(values, 0));
        known.filter(|(name, values)| *name == "program" || differs(values)).map(|(name, _)| name).collect()
    }

    /// Columns to show: those asked for, or the usual ones that are there.
    fn shown(&self, asked: &[String]) -> Result<Vec<String>, LabError> {
        if asked.is_empty() {
            let mut usual: Vec<String> = SHOWN.iter().map(|&name| name.to_owned()).collect();
            usual.retain(|name| {
                self.table
                    .column(name)
                    .is_some_and(|values| (0..self.table.rows).any(|row| values.number(row).is_some()))
            });
            return Ok(usual);
        }
        asked.iter().map(|name| self.column(name).map(|_| name.clone())).collect()
    }

    /// Rows of points that nothing beats: no other point of the same program, size and seed is at least as good in every goal and
    /// better in one.
    pub fn pareto(&self, goals: &[Goal]) -> Result<Vec<usize>, LabError> {
        let mut metrics = Vec::new();
        for goal in goals {
            metrics.push((self.column(&goal.metric)?, if goal.max { -1.0 } else { 1.0 }));
        }
        let worth = |row: usize| {
            metrics.iter().map(|(values, sign)| Some(values.number(row)? * sign)).collect::<Option<Vec<f64>>>()
        };
        let mut programs: BTreeMap<Vec<String>, Vec<(usize, Vec<f64>)>> = BTreeMap::new();
        for row in (0..self.table.rows).filter(|row| self.failure(*row).is_none()) {
            let of = ["program", "size", "seed"].iter().filter_map(|name| self.table.column(name));
            if let Some(worth) = worth(row) {
                programs.entry(of.map(|values| cell(values, row)).collect()).or_default().push((row, worth));
            }
        }
        let mut all: Vec<usize> = programs.into_values().flat_map(front).collect();
        all.sort_unstable();
        Ok(all)
    }

    fn failure(&self, row: usize) -> Option<&str> {
        match self.table.column("error") {
            Some(Values::Text(errors)) => errors.get(row)?.as_deref(),
            _ => None,
        }
    }

    /// One setting at a time: points that differ in nothing else, set against those with its first value.
    pub fn sensitivity(&self, metric: &str) -> Result<Vec<Sensitivity>, LabError> {
        let metric = self.column(metric)?;
        let identity = self.identity();
        let good: Vec<usize> = (0..self.table.rows)
            .filter(|row| self.failure(*row).is_none() && metric.number(*row).is_some_and(|number| number > 0.0))
            .collect();
        let mut all = Vec::new();
        for axis in identity.iter().filter(|name| **name != "seed") {
            let values = self.column(axis)?;
            let rest: Vec<&Values> =
                identity.iter().filter(|name| *name != axis).filter_map(|name| self.table.column(name)).collect();
            let mut order: Vec<String> = Vec::new();
            let mut groups: BTreeMap<Vec<String>, BTreeMap<String, f64>> = BTreeMap::new();
            for &row in &good {
                let value = cell(values, row);
                if !order.contains(&value) {
                    order.push(value.clone());
                }
                let others = rest.iter().map(|values| cell(values, row)).collect();
                groups.entry(others).or_default().extend(metric.number(row).map(|number| (value, number)));
            }
            let Some(base) = order.first().cloned() else { continue };
            for value in &order[1..] {
                let pairs = groups.values().filter_map(|group| Some(group.get(value)? / group.get(&base)?));
                let logs: Vec<f64> = pairs.map(f64::ln).collect();
                if !logs.is_empty() {
                    let ratio = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
                    let (axis, value, base) = ((*axis).to_owned(), value.clone(), base.clone());
                    all.push(Sensitivity { axis, value, base, ratio, pairs: logs.len() });
                }
            }
        }
        Ok(all)
    }

    /// All rows.
    pub fn all(&self) -> Vec<usize> {
        (0..self.table.rows).collect()
    }

    /// Some rows as text.
    pub fn table(&self, rows: &[usize], asked: &[String]) -> Result<String, LabError> {
        let identity = self.identity();
        let shown = self.shown(asked)?;
        let more = shown.iter().map(String::as_str).filter(|name| !identity.contains(name));
        let names: Vec<&str> = identity.iter().copied().chain(more).collect();
        let mut headings = vec![("point", Align::Right)];
        let is_text = |name: &str| matches!(self.table.column(name), Some(Values::Text(_)));
        headings.extend(names.iter().map(|name| (*name, if is_text(name) { Align::Left } else { Align::Right })));
        let has_failures = rows.iter().any(|row| self.failure(*row).is_some());
        if has_failures {
            headings.push(("failed", Align::Left));
        }
        let line = |row: &usize| {
            let mut cells = vec![row.to_string()];
            cells.extend(
                names
                    .iter()
                    .map(|name| self.table.column(name).map_or_else(String::new, |values| pretty(values, *row))),
            );
            if has_failures {
                let first = self.failure(*row).and_then(|text| text.lines().next()).unwrap_or_default();
                cells.push(first.to_owned());
            }
            cells
        };
        Ok(columns(&headings, &rows.iter().map(line).collect::<Vec<_>>()))
    }

    /// Some rows as JSON: every column that the row has a value in.
    pub fn to_json(&self, rows: &[usize], asked: &[String]) -> Result<Value, LabError> {
        self.shown(asked)?;
        let of_a_point = |name: &str| {
            let more = ["point", "key", "passed", "error"];
            self.identity().contains(&name) || OF_A_POINT.contains(&name) || more.contains(&name)
        };
        let wanted: Vec<&(String, Values)> = self
            .table
            .columns
            .iter()
            .filter(|(name, _)| asked.is_empty() || asked.contains(name) || of_a_point(name))
            .collect();
        let object = |row: &usize| {
            let fields = wanted.iter().map(|(name, values)| (name.clone(), json_cell(values, *row)));
            Value::Object(fields.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
        };
        Ok(json!({ "rows": rows.iter().map(object).collect::<Vec<_>>() }))
    }
}

/// Of rows with what they are worth, smaller better, those that no other beats.
fn front(mut rows: Vec<(usize, Vec<f64>)>) -> Vec<usize> {
    let order = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne());
    rows.sort_by(|a, b| order(&a.1, &b.1).unwrap_or(a.0.cmp(&b.0)));
    // Only what comes before a point in this order can beat it.
    let mut front: Vec<(usize, Vec<f64>)> = Vec::new();
    for (row, worth) in rows {
        let beats = |other: &[f64]| other.iter().zip(&worth).all(|(a, b)| a <= b) && other != worth.as_slice();
        if !front.iter().any(|(_, other)| beats(other)) {
            front.push((row, worth));
        }
    }
    front.into_iter().map(|(row, _)| row).collect()
}

/// Sensitivities as text.
pub fn sensitivity_table(rows: &[Sensitivity], metric: &str) -> String {
    if rows.is_empty() {
        return "No two points differ in one setting alone: a grid has such points, a sample seldom.\n".to_owned();
    }
    let heading = format!("{metric}, ratio");
    let headings = [
        ("setting", Align::Left),
        ("value", Align::Right),
        ("against", Align::Right),
        (heading.as_str(), Align::Right),
        ("pairs", Align::Right),
    ];
    let line = |one: &Sensitivity| {
        vec![one.axis.clone(), one.value.clone(), one.base.clone(), format!("{:.4}", one.ratio), one.pairs.to_string()]
    };
    columns(&headings, &rows.iter().map(line).collect::<Vec<_>>())
}

/// Sensitivities as JSON.
pub fn sensitivity_json(rows: &[Sensitivity]) -> Value {
    let object = |one: &Sensitivity| json!({ "setting": one.axis, "value": one.value, "against": one.base, "ratio": one.ratio, "pairs": one.pairs });
    json!({ "rows": rows.iter().map(object).collect::<Vec<_>>() })
}

/// A cell as exact text.
fn cell(values: &Values, row: usize) -> String {
    match json_cell(values, row) {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A cell as people read it.
fn pretty(values: &Values, row: usize) -> String {
    match values {
        Values::Whole(list) => match list.get(row).copied().flatten() {
            Some(number) => u64::try_from(number).map_or_else(|_| number.to_string(), grouped),
            None => String::new(),
        },
        Values::Real(list) => {
            list.get(row).copied().flatten().map_or_else(String::new, |number| format!("{number:.4}"))
        }
        Values::Truth(_) | Values::Text(_) => cell(values, row),
    }
}

fn json_cell(values: &Values, row: usize) -> Value {
    match values {
        Values::Truth(list) => json!(list.get(row).copied().flatten()),
        Values::Whole(list) => json!(list.get(row).copied().flatten()),
        Values::Real(list) => json!(list.get(row).copied().flatten()),
        Values::Text(list) => json!(list.get(row).cloned().flatten()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let whole = |list: &[i64]| Values::Whole(list.iter().copied().map(Some).collect());
        let columns = [
            ("program", Values::Text(vec![Some("p".into()); 5])),
            ("seed", whole(&[1, 1, 1, 1, 1])),
            ("a", whole(&[1, 1, 2, 2, 3])),
            ("b", whole(&[10, 20, 10, 20, 10])),
            ("error", Values::Text(vec![None, None, None, None, Some("broken".into())])),
            ("cycles", whole(&[100, 80, 200, 160, 1])),
            ("energy", whole(&[5, 9, 5, 9, 1])),
        ];
        let columns = columns.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
        Results { table: Table { columns, rows: 5, texts: Vec::new() }, axes: vec!["a".into(), "b".into()] }
    }

    #[test]
    fn a_front_is_what_nothing_beats_and_failed_points_are_none_of_it() {
        let goals = ["cycles", "energy:min"].map(Goal::parse);
        assert_eq!(results().pareto(&goals).expect("columns"), [0, 1]);
        let goals = ["cycles:max", "energy:max"].map(Goal::parse);
        assert_eq!(results().pareto(&goals).expect("columns"), [2, 3]);
        let error = results().pareto(&[Goal::parse("cicles")]).expect_err("no such column").to_string();
        assert!(error.contains("did you mean `cycles`?"), "{error}");
    }

    #[test]
    fn one_setting_at_a_time() {
        let found = results().sensitivity("cycles").expect("columns");
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.axis.as_str(), one.value.as_str(), (one.ratio * 1e6).round() / 1e6, one.pairs))
            .collect();
        assert_eq!(told, [("a", "2", 2.0, 2), ("b", "20", 0.8, 2)]);
    }

    #[test]
    fn a_table_shows_what_differs() {
        let results = results();
        let text = results.table(&results.all(), &[]).expect("columns");
        let heading: Vec<_> = text.lines().next().expect("a heading").split_whitespace().collect();
        assert_eq!(heading, ["point", "program", "a", "b", "cycles", "failed"]);
        assert!(text.contains("broken"), "{text}");
        let json = results.to_json(&[0], &["energy".into()]).expect("columns");
        assert_eq!(json["rows"][0]["energy"], 5);
        assert!(json["rows"][0].get("cycles").is_none());
    }
}
