//! Parquet files of ours as columns that NumPy takes as they are.

use crate::StrataError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::PathBuf;
use strata_parquet::{Table, Values};

/// More cells than this are not read.
const MOST_CELLS: u64 = 200_000_000;

/// A column: its name, the type of its numbers for NumPy (none for text), and its bytes or its texts.
type Column<'py> = (String, Option<&'static str>, Bound<'py, PyAny>);

/// Reads a file: its columns, and the texts of its metadata. Whole numbers of which some are missing are real ones, with NaN; truth
/// values of which some are missing are texts of Python: True, False, None.
#[pyfunction]
pub(crate) fn read_table(py: Python<'_>, path: PathBuf) -> PyResult<(Vec<Column<'_>>, Bound<'_, PyDict>)> {
    let shown = path.display().to_string();
    let table = py.detach(|| Table::read(&path, MOST_CELLS));
    let table = table.map_err(|error| StrataError::new_err(format!("cannot read `{shown}`: {error}")))?;
    let texts = PyDict::new(py);
    for (name, text) in &table.texts {
        texts.set_item(name, text)?;
    }
    let columns = table.columns.into_iter().map(|(name, values)| column(py, name, &values));
    Ok((columns.collect::<PyResult<_>>()?, texts))
}

fn column<'py>(py: Python<'py>, name: String, values: &Values) -> PyResult<Column<'py>> {
    let numbers = |kind, numbers: Vec<[u8; 8]>| {
        let bytes = PyBytes::new_with(py, numbers.len() * 8, |out| {
            out.copy_from_slice(numbers.as_flattened());
            Ok(())
        })?;
        Ok((name.clone(), Some(kind), bytes.into_any()))
    };
    match values {
        Values::Whole(list) if list.iter().all(Option::is_some) => {
            numbers("<i8", list.iter().flatten().map(|number| number.to_le_bytes()).collect())
        }
        Values::Whole(list) => {
            let real = list.iter().map(|number| number.map_or(f64::NAN, |number| number as f64));
            numbers("<f8", real.map(f64::to_le_bytes).collect())
        }
        Values::Real(list) => {
            numbers("<f8", list.iter().map(|number| number.unwrap_or(f64::NAN).to_le_bytes()).collect())
        }
        Values::Truth(list) if list.iter().all(Option::is_some) => {
            let bytes: Vec<u8> = list.iter().map(|truth| u8::from(*truth == Some(true))).collect();
            Ok((name, Some("?"), PyBytes::new(py, &bytes).into_any()))
        }
        Values::Truth(list) => Ok((name, None, PyList::new(py, list)?.into_any())),
        Values::Text(list) => Ok((name, None, PyList::new(py, list)?.into_any())),
    }
}
