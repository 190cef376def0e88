//! The statistics of every launch as a Parquet file, for data frames: one row for each launch and path.
//!
//! Columns: `kernel` (index of the launch), `kernel_name`, `path`, `value`, `unit`, `description`. A rate stands for its own
//! launch; only counts may be summed over launches.

use crate::result::KernelRun;
use std::io::{self, Write};
use std::path::Path;
use strata_core::files::AtomicFile;
use strata_parquet::{ByteArray, ByteArrayType, DoubleType, Int64Type, ParquetError, begin, put};

const SCHEMA: &str = "message stats {
    required int64 kernel;
    required binary kernel_name (STRING);
    required binary path (STRING);
    required double value;
    required binary unit (STRING);
    required binary description (STRING);
}";

/// Launches whose rows are held in memory at once.
const LAUNCHES_PER_GROUP: usize = 1024;

/// Writes the file, whole or not at all.
pub(crate) fn write(target: &Path, kernels: &[KernelRun]) -> io::Result<()> {
    let file = AtomicFile::create(target)?;
    write_to(file, kernels).map_err(io::Error::other)?.commit()
}

fn write_to<W: Write + Send>(file: W, kernels: &[KernelRun]) -> Result<W, ParquetError> {
    let mut writer = begin(file, SCHEMA)?;
    for (group, kernels) in kernels.chunks(LAUNCHES_PER_GROUP).enumerate() {
        let columns = Columns::of(kernels, group * LAUNCHES_PER_GROUP);
        let mut rows = writer.next_row_group()?;
        // In the order of the schema.
        put::<Int64Type, _>(&mut rows, &columns.kernel)?;
        put::<ByteArrayType, _>(&mut rows, &columns.kernel_name)?;
        put::<ByteArrayType, _>(&mut rows, &columns.path)?;
        put::<DoubleType, _>(&mut rows, &columns.value)?;
        put::<ByteArrayType, _>(&mut rows, &columns.unit)?;
        put::<ByteArrayType, _>(&mut rows, &columns.description)?;
        rows.close()?;
    }
    writer.into_inner()
}

#[derive(Default)]
struct Columns {
    kernel: Vec<i64>,
    kernel_name: Vec<ByteArray>,
    path: Vec<ByteArray>,
    value: Vec<f64>,
    unit: Vec<ByteArray>,
    description: Vec<ByteArray>,
}

impl Columns {
    /// The rows of some launches, of which the first has the index `first`.
    fn of(kernels: &[KernelRun], first: usize) -> Self {
        let mut columns = Self::default();
        for (index, kernel) in kernels.iter().enumerate() {
            let name = ByteArray::from(kernel.name.as_str());
            for (path, stat) in kernel.stats().iter() {
                columns.kernel.push((first + index) as i64);
                columns.kernel_name.push(name.clone());
                columns.path.push(path.into());
                columns.value.push(stat.value.as_f64());
                columns.unit.push(stat.unit.name().into());
                columns.description.push(stat.description.into());
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use strata_core::{Counts, Stats};

    #[test]
    fn what_is_written_is_read_back() {
        let kernel = |name: &str, bytes_read| KernelRun {
            name: name.into(),
            grid: 1.into(),
            block: 32.into(),
            counts: Counts { bytes_read, ..Counts::default() },
            cycles: None,
            launch_cycles: None,
            machine: Stats::default(),
            members: Vec::new(),
        };
        // More launches than a group of rows holds.
        let kernels: Vec<_> = (0..=LAUNCHES_PER_GROUP as u64).map(|i| kernel("k", i)).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("stats.parquet");
        write(&path, &kernels).expect("written");
        let reader = SerializedFileReader::try_from(path.as_path()).expect("a Parquet file");
        let rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
        let read: Vec<_> = rows.filter(|row| row.get_string(2).expect("a path") == "gpu.bytes_read").collect();
        assert_eq!(read.len(), kernels.len());
        for (index, row) in read.iter().enumerate() {
            assert_eq!(row.get_long(0).expect("an index"), index as i64);
            assert_eq!(row.get_string(1).expect("a name"), "k");
            assert_eq!(row.get_double(3).expect("a value"), index as f64);
            assert_eq!(row.get_string(4).expect("a unit"), "bytes");
            assert!(row.get_string(5).expect("a description").contains("global"));
        }
    }
}
