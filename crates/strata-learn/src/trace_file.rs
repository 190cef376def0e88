//! Reads `gmmu.parquet`, one row per request to the GMMU, as unified memory writes it with `uvm.trace=on`.

use crate::access::Access;
use crate::error::LearnError;
use parquet::column::reader::ColumnReader;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// What is read of a row.
const COLUMNS: [&str; 11] =
    ["cycle", "instructions", "kernel", "pc", "hit", "warp", "sm", "tpc", "cta", "page", "array"];

/// More requests than this are not held in memory.
const MOST: i64 = 1 << 27;

/// The requests of a trace, in the order in which they came.
pub fn read(path: &Path) -> Result<Vec<Access>, LearnError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => LearnError::NoTrace(path.to_owned()),
        _ => LearnError::io("read", path, error),
    })?;
    let reader = SerializedFileReader::new(file).map_err(|error| LearnError::trace(path, error.to_string()))?;
    let metadata = reader.metadata().file_metadata();
    if !(0..=MOST).contains(&metadata.num_rows()) {
        return Err(LearnError::trace(path, format!("it has {} requests, more than {MOST}", metadata.num_rows())));
    }
    let schema = metadata.schema_descr();
    let mut places = Vec::new();
    for name in COLUMNS {
        let place = schema.columns().iter().position(|column| column.name() == name);
        places.push(place.ok_or_else(|| LearnError::trace(path, format!("it has no column `{name}`")))?);
    }
    let mut accesses = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(|error| LearnError::trace(path, error.to_string()))?;
        let rows = group.metadata().num_rows() as usize;
        let mut columns = Vec::new();
        for (&place, name) in places.iter().zip(COLUMNS) {
            let numbers = column(&*group, place, rows).map_err(|reason| LearnError::trace(path, reason))?;
            if numbers.len() != rows {
                return Err(LearnError::trace(path, format!("column `{name}` has {} of {rows} values", numbers.len())));
            }
            columns.push(numbers);
        }
        accesses.extend((0..rows).map(|row| access(&columns, row)));
    }
    if accesses.is_empty() {
        let reason = "the program accessed no managed memory; record one that does";
        return Err(LearnError::Empty(format!("`{}` is an empty trace: {reason}", path.display())));
    }
    Ok(accesses)
}

fn access(columns: &[Vec<i64>], row: usize) -> Access {
    let value = |column: usize| columns[column][row];
    Access {
        run: 0,
        cycle: value(0) as u64,
        instructions: value(1) as u64,
        kernel: value(2) as u32,
        pc: value(3) as u32,
        hit: value(4) != 0,
        warp: value(5) as u32,
        sm: value(6) as u32,
        tpc: value(7) as u32,
        cta: value(8) as u64,
        page: value(9) as u64,
        array: value(10) as u64,
    }
}

/// The values of a column of a group.
fn column(group: &dyn RowGroupReader, place: usize, rows: usize) -> Result<Vec<i64>, String> {
    let text = |error: parquet::errors::ParquetError| error.to_string();
    match group.get_column_reader(place).map_err(text)? {
        ColumnReader::Int64ColumnReader(mut reader) => {
            let mut values = Vec::new();
            reader.read_records(rows, None, None, &mut values).map_err(text)?;
            Ok(values)
        }
        ColumnReader::BoolColumnReader(mut reader) => {
            let mut values = Vec::new();
            reader.read_records(rows, None, None, &mut values).map_err(text)?;
            Ok(values.into_iter().map(i64::from).collect())
        }
        _ => Err(format!("column {place} has another type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    #[test]
    fn a_trace_without_requests_or_columns_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gmmu.parquet");
        let message = |columns: &[&str]| {
            let columns: Vec<String> = columns.iter().map(|name| format!("required int64 {name};")).collect();
            let columns = columns.concat();
            let schema = parse_message_type(&format!("message gmmu {{ {columns} }}")).expect("a schema");
            let file = File::create(&path).expect("a file");
            let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).expect("a writer");
            writer.close().expect("written");
            read(&path).expect_err("it is of no use").to_string()
        };
        let said = message(&COLUMNS);
        assert!(said.contains("is an empty trace: the program accessed no managed memory"), "{said}");
        let said = message(&COLUMNS[..10]);
        assert!(said.contains("it has no column `array`; record it again"), "{said}");
    }
}
