//! All results of a sweep in one Parquet file: a row for each point, in the order of the plan.
//!
//! Columns: `point`, what it is of (`key`, `program`, `size`, `seed`, `gpu`, `with`, and a column for each setting that differs between
//! points, sizes in bytes), `passed`, `error`, totals, and a column for each statistic of the run, by its path. The metadata has the
//! unit of each column (`units`), the settings that differ (`axes`) and the plan (`plan`). Nothing in it depends on time, on the
//! machine it was made on, or on how often the sweep was interrupted.

use crate::plan::Worth;
use crate::points::Points;
use crate::record::Record;
use crate::store::Store;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use strata_core::files::AtomicFile;
use strata_parquet::{Kind, ParquetError, TableWriter, Values};
use strata_run::{LabError, VERSION};

/// Rows that are held in memory at once.
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
pub fn collect(points: &Points, store: &Store, plan: &str, target: &Path) -> Result<(), LabError> {
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

fn write<W: Write + Send>(file: W, points: &Points, store: &Store, plan: &str) -> Result<W, ParquetError> {
    let statistics = statistics(points, store);
    let axes: Vec<(&String, Kind)> = points.axes.iter().map(|axis| (axis, kind_of(points, axis))).collect();
    let mut columns: Vec<(String, Kind)> = vec![("point".into(), Kind::Whole), ("key".into(), Kind::Text)];
    columns.extend(TEXTS.map(|(column, _)| (column.to_owned(), Kind::Text)));
    columns.push(("seed".into(), Kind::Whole));
    columns.extend(axes.iter().map(|(axis, kind)| ((*axis).clone(), *kind)));
    columns.extend([("passed".into(), Kind::Truth), ("error".into(), Kind::Text), ("source".into(), Kind::Text)]);
    columns.extend(TOTALS.map(|(name, _)| (name.to_owned(), if name == "ipc" { Kind::Real } else { Kind::Whole })));
    let kind = |statistic: &Statistic| if statistic.whole { Kind::Whole } else { Kind::Real };
    columns.extend(statistics.iter().map(|(path, statistic)| (path.clone(), kind(statistic))));
    let mut units: Map<String, Value> = TOTALS.iter().map(|(name, unit)| ((*name).to_owned(), json!(unit))).collect();
    units.extend(statistics.iter().map(|(path, statistic)| (path.clone(), json!(statistic.unit))));
    let texts = [
        ("strata", json!({ "version": VERSION }).to_string()),
        ("axes", json!(points.axes).to_string()),
        ("units", Value::Object(units).to_string()),
        ("plan", plan.to_owned()),
    ];
    let mut table = TableWriter::new(file, &columns, &texts)?;
    for group in points.list.chunks(ROWS_PER_GROUP) {
        let records: Vec<Option<Record>> = group.iter().map(|point| store.record(&point.key)).collect();
        let of = |read: &dyn Fn(&Record) -> Option<f64>, kind: Kind| {
            let numbers = records.iter().map(|record| record.as_ref().and_then(read));
            match kind {
                Kind::Whole => Values::Whole(numbers.map(|number| number.map(|n| n as i64)).collect()),
                _ => Values::Real(numbers.collect()),
            }
        };
        let text = |read: &dyn Fn(&Record) -> Option<String>| {
            Values::Text(records.iter().map(|record| record.as_ref().and_then(read)).collect())
        };
        let mut values = vec![
            Values::Whole(group.iter().map(|point| Some(point.number as i64)).collect()),
            Values::Text(group.iter().map(|point| Some(point.key.clone())).collect()),
        ];
        values.extend(TEXTS.map(|(_, key)| text(&|record| record.text_of(key).map(str::to_owned))));
        let seeds = records.iter().map(|record| record.as_ref().and_then(Record::seed).map(|seed| seed as i64));
        values.push(Values::Whole(seeds.collect()));
        for (axis, kind) in &axes {
            let given = group.iter().map(|point| point.settings.iter().find(|(key, _)| key == *axis));
            let given: Vec<Option<&str>> = given.map(|found| found.map(|(_, value)| value.as_str())).collect();
            values.push(axis_values(&given, *kind));
        }
        values.push(Values::Truth(records.iter().map(|record| record.as_ref().and_then(Record::passed)).collect()));
        let errors = records.iter().zip(group).map(|(record, point)| match record {
            Some(record) => record.failure(),
            None => Some(store.failure(&point.key).unwrap_or_else(|| "it did not run".to_owned())),
        });
        values.push(Values::Text(errors.collect()));
        values.push(text(&|record| record.text_of("source").map(str::to_owned)));
        for (name, _) in TOTALS {
            values.push(of(&|record| record.total(name), if name == "ipc" { Kind::Real } else { Kind::Whole }));
        }
        for (path, statistic) in &statistics {
            values.push(of(&|record| record.number(path), kind(statistic)));
        }
        table.group(values)?;
    }
    table.finish()
}

/// Every statistic that some point has.
fn statistics(points: &Points, store: &Store) -> BTreeMap<String, Statistic> {
    let mut all: BTreeMap<String, Statistic> = BTreeMap::new();
    for record in points.list.iter().filter_map(|point| store.record(&point.key)) {
        for (path, number, unit) in record.stats() {
            match all.get_mut(path) {
                Some(known) => known.whole &= number.is_u64(),
                None => drop(all.insert(path.to_owned(), Statistic { unit: unit.to_owned(), whole: number.is_u64() })),
            }
        }
    }
    all
}

/// What the values of a setting are: numbers if all are.
fn kind_of(points: &Points, axis: &str) -> Kind {
    let values = points.list.iter().flat_map(|point| &point.settings).filter(|(key, _)| key == axis);
    values.fold(Kind::Whole, |kind, (_, value)| match (kind, Worth::of(value)) {
        (Kind::Whole, Worth::Number(number)) if number == number.trunc() && number.abs() < 9e15 => Kind::Whole,
        (Kind::Whole | Kind::Real, Worth::Number(_)) => Kind::Real,
        _ => Kind::Text,
    })
}

fn axis_values(given: &[Option<&str>], kind: Kind) -> Values {
    let number = |value: Option<&str>| match value.map(Worth::of) {
        Some(Worth::Number(number)) => Some(number),
        _ => None,
    };
    match kind {
        Kind::Whole => Values::Whole(given.iter().map(|value| number(*value).map(|n| n as i64)).collect()),
        Kind::Real => Values::Real(given.iter().copied().map(number).collect()),
        _ => Values::Text(given.iter().map(|value| value.map(str::to_owned)).collect()),
    }
}
