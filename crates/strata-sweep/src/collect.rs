//! All results of a sweep in one Parquet file: a row for each point, in the order of the plan.
//!
//! Columns: `point`, what it is of (`key`, `program`, `size`, `seed`, `gpu`, `with`, and a column for each setting that differs between
//! points, sizes in bytes), `passed`, `error`, totals, and a column for each statistic of the run, by its path. The metadata has the
//! unit of each column (`units`), the settings that differ (`axes`) and the plan (`plan`). Nothing in it depends on time, on the
//! machine it was made on, or on how often the sweep was interrupted.

use crate::plan::Worth;
use crate::points::{Point, Points};
use crate::record::Record;
use crate::store::Store;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use strata_core::files::AtomicFile;
use strata_parquet::{Kind, ParquetError, TableWriter, Values};
use strata_run::{LabError, VERSION};

/// Rows that are held in memory at once, as numbers: a record is dropped when its row was taken from it.
const ROWS_PER_GROUP: usize = 1024;

/// What the point is of, as the record has it, and as the column is called.
const TEXTS: [(&str, &str); 4] = [("program", "name"), ("size", "size"), ("gpu", "gpu"), ("with", "with")];
/// Totals and their units.
const TOTALS: [(&str, &str); 8] = [
    ("cycles", "cycles"),
    ("launch_cycles", "cycles"),
    ("copy_cycles", "cycles"),
    ("launches", "launches"),
    ("thread_instructions", "instructions"),
    ("warp_instructions", "instructions"),
    ("ipc", "ratio"),
    ("allocated_bytes", "bytes"),
];

/// Writes the file, whole or not at all.
pub fn collect(points: &Points<'_>, store: &Store, plan: &str, target: &Path) -> Result<(), LabError> {
    let unwritable = |e| LabError::io("write", target, e);
    let file = AtomicFile::create(target).map_err(unwritable)?;
    let written = write(file, points, store, plan).map_err(|e| unwritable(std::io::Error::other(e)))?;
    written.commit().map_err(unwritable)
}

/// A statistic's column.
struct Statistic {
    unit: String,
    whole: bool,
}

fn write<W: Write + Send>(file: W, points: &Points<'_>, store: &Store, plan: &str) -> Result<W, ParquetError> {
    let statistics = statistics(points, store);
    let axes = axes(points);
    let mut columns: Vec<(String, Kind)> = vec![("point".into(), Kind::Whole), ("key".into(), Kind::Text)];
    columns.extend(TEXTS.map(|(column, _)| (column.to_owned(), Kind::Text)));
    columns.push(("seed".into(), Kind::Whole));
    columns.extend(axes.iter().cloned());
    columns.extend([("passed".into(), Kind::Truth), ("error".into(), Kind::Text), ("source".into(), Kind::Text)]);
    columns.extend(TOTALS.map(|(name, _)| (name.to_owned(), if name == "ipc" { Kind::Real } else { Kind::Whole })));
    let kind = |statistic: &Statistic| if statistic.whole { Kind::Whole } else { Kind::Real };
    columns.extend(statistics.iter().map(|(path, statistic)| (path.clone(), kind(statistic))));
    let mut units: Map<String, Value> = TOTALS.iter().map(|(name, unit)| ((*name).to_owned(), json!(unit))).collect();
    units.extend(statistics.iter().map(|(path, statistic)| (path.clone(), json!(statistic.unit))));
    let texts = [
        ("strata", json!({ "version": VERSION }).to_string()),
        ("axes", json!(points.axes()).to_string()),
        ("units", Value::Object(units).to_string()),
        ("plan", plan.to_owned()),
    ];
    let mut table = TableWriter::new(file, &columns, &texts)?;
    for first in (0..points.len()).step_by(ROWS_PER_GROUP) {
        let last = points.len().min(first + ROWS_PER_GROUP);
        let mut group: Vec<Values> = columns.iter().map(|(_, kind)| empty(*kind, last - first)).collect();
        for number in first..last {
            let point = points.point(number);
            let record = store.record(&point.key);
            let cells = row(&point, record.as_ref(), store, &axes, &statistics);
            for (column, cell) in group.iter_mut().zip(cells) {
                put(column, cell);
            }
        }
        table.group(group)?;
    }
    table.finish()
}

/// One value of a row.
enum Cell {
    Truth(Option<bool>),
    Number(Option<f64>),
    /// A whole number of any size.
    Whole(Option<i64>),
    Text(Option<String>),
}

/// The row of a point, in the order of the columns.
fn row(
    point: &Point,
    record: Option<&Record>,
    store: &Store,
    axes: &[(String, Kind)],
    statistics: &BTreeMap<String, Statistic>,
) -> Vec<Cell> {
    let text = |key: &str| Cell::Text(record.and_then(|record| record.text_of(key)).map(str::to_owned));
    let mut cells = vec![Cell::Whole(Some(point.number as i64)), Cell::Text(Some(point.key.clone()))];
    cells.extend(TEXTS.map(|(_, key)| text(key)));
    cells.push(Cell::Whole(record.and_then(Record::seed).map(|seed| seed as i64)));
    for (axis, kind) in axes {
        let given = point.settings.iter().find(|(key, _)| key == axis).map(|(_, value)| value);
        cells.push(match (kind, given.map(|value| Worth::of(value))) {
            (Kind::Text, _) => Cell::Text(given.cloned()),
            (_, Some(Worth::Number(number))) => Cell::Number(Some(number)),
            _ => Cell::Number(None),
        });
    }
    cells.push(Cell::Truth(record.and_then(Record::passed)));
    cells.push(Cell::Text(match record {
        Some(record) => record.failure(),
        None => Some(store.failure(&point.key).unwrap_or_else(|| "it did not run".to_owned())),
    }));
    cells.push(text("source"));
    cells.extend(TOTALS.map(|(name, _)| Cell::Number(record.and_then(|record| record.total(name)))));
    cells.extend(statistics.keys().map(|path| Cell::Number(record.and_then(|record| record.number(path)))));
    cells
}

/// A column with room for so many values.
fn empty(kind: Kind, rows: usize) -> Values {
    match kind {
        Kind::Truth => Values::Truth(Vec::with_capacity(rows)),
        Kind::Whole => Values::Whole(Vec::with_capacity(rows)),
        Kind::Real => Values::Real(Vec::with_capacity(rows)),
        Kind::Text => Values::Text(Vec::with_capacity(rows)),
    }
}

/// Adds a value to its column; one of another kind is none.
fn put(column: &mut Values, cell: Cell) {
    match (column, cell) {
        (Values::Truth(values), Cell::Truth(value)) => values.push(value),
        (Values::Whole(values), Cell::Whole(value)) => values.push(value),
        (Values::Whole(values), Cell::Number(value)) => values.push(value.map(|number| number as i64)),
        (Values::Real(values), Cell::Number(value)) => values.push(value),
        (Values::Text(values), Cell::Text(value)) => values.push(value),
        (Values::Truth(values), _) => values.push(None),
        (Values::Whole(values), _) => values.push(None),
        (Values::Real(values), _) => values.push(None),
        (Values::Text(values), _) => values.push(None),
    }
}

/// Every statistic that some point has.
fn statistics(points: &Points<'_>, store: &Store) -> BTreeMap<String, Statistic> {
    let mut all: BTreeMap<String, Statistic> = BTreeMap::new();
    for record in (0..points.len()).filter_map(|number| store.record(&points.key(number))) {
        for (path, number, unit) in record.stats() {
            match all.get_mut(path) {
                Some(known) => known.whole &= number.is_u64(),
                None => drop(all.insert(path.to_owned(), Statistic { unit: unit.to_owned(), whole: number.is_u64() })),
            }
        }
    }
    all
}

/// The settings that differ, and what their values are: numbers if all are.
fn axes(points: &Points<'_>) -> Vec<(String, Kind)> {
    let mut axes: Vec<(String, Kind)> = points.axes().into_iter().map(|axis| (axis, Kind::Whole)).collect();
    for point in points.iter() {
        for (axis, value) in &point.settings {
            let Some((_, kind)) = axes.iter_mut().find(|(known, _)| known == axis) else { continue };
            *kind = match (*kind, Worth::of(value)) {
                (Kind::Whole, Worth::Number(number)) if number == number.trunc() && number.abs() < 9e15 => Kind::Whole,
                (Kind::Whole | Kind::Real, Worth::Number(_)) => Kind::Real,
                _ => Kind::Text,
            };
        }
    }
    axes
}
