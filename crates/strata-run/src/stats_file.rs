//! The statistics of every launch as a Parquet file, for data frames: one row for each launch and path.
//!
//! Columns: what the run was of (`program`, `size`, `seed`, `gpu`, `with`), so that files of many runs can be put under each other;
//! `kernel` (index of the launch), `kernel_name`; `path`, `index`, `member`, `value`, `unit`, `description`. The number of a slice
//! or a channel is no part of the path but stands in `index`: `gpu.l2[3].read_hits` is `gpu.l2[].read_hits` with 3. A member that
//! has a name, as in `explain.wait[load].cycles`, stands in `member`. A rate stands for its own launch; only counts may be
//! summed over launches. The file's metadata has everything else that the run depends on, as JSON under `strata`.

use crate::result::{KernelRun, RunResult};
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;
use strata_core::files::AtomicFile;
use strata_parquet::{ByteArray, ByteArrayType, DoubleType, Int64Type, ParquetError, begin_with, put, put_optional};

const SCHEMA: &str = "message stats {
    required binary program (STRING);
    optional binary size (STRING);
    required int64 seed (INTEGER(64, false));
    optional binary gpu (STRING);
    required binary with (STRING);
    required int64 kernel;
    required binary kernel_name (STRING);
    required binary path (STRING);
    optional int64 index;
    optional binary member (STRING);
    required double value;
    required binary unit (STRING);
    required binary description (STRING);
}";

/// Launches whose rows are held in memory at once.
const LAUNCHES_PER_GROUP: usize = 1024;

/// Writes the file, whole or not at all.
pub(crate) fn write(target: &Path, result: &RunResult) -> io::Result<()> {
    let file = AtomicFile::create(target)?;
    write_to(file, result).map_err(io::Error::other)?.commit()
}

fn write_to<W: Write + Send>(file: W, result: &RunResult) -> Result<W, ParquetError> {
    let about = &result.about;
    let all = Value::Object(about.to_json()).to_string();
    let mut writer = begin_with(file, SCHEMA, &[("strata", all)])?;
    let (name, with) = (ByteArray::from(about.name.as_str()), ByteArray::from(about.with.to_string().as_str()));
    let (size, gpu) = (about.size.map(ByteArray::from), about.gpu.as_deref().map(ByteArray::from));
    for (group, kernels) in result.kernels.chunks(LAUNCHES_PER_GROUP).enumerate() {
        let columns = Columns::of(kernels, group * LAUNCHES_PER_GROUP);
        let count = columns.kernel.len();
        let mut rows = writer.next_row_group()?;
        // In the order of the schema.
        put::<ByteArrayType, _>(&mut rows, &vec![name.clone(); count])?;
        put_optional::<ByteArrayType, _>(&mut rows, std::iter::repeat_n(size.clone(), count))?;
        put::<Int64Type, _>(&mut rows, &vec![about.seed as i64; count])?;
        put_optional::<ByteArrayType, _>(&mut rows, std::iter::repeat_n(gpu.clone(), count))?;
        put::<ByteArrayType, _>(&mut rows, &vec![with.clone(); count])?;
        put::<Int64Type, _>(&mut rows, &columns.kernel)?;
        put::<ByteArrayType, _>(&mut rows, &columns.kernel_name)?;
        put::<ByteArrayType, _>(&mut rows, &columns.path)?;
        put_optional::<Int64Type, _>(&mut rows, columns.index.into_iter())?;
        put_optional::<ByteArrayType, _>(&mut rows, columns.member.into_iter())?;
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
    index: Vec<Option<i64>>,
    member: Vec<Option<ByteArray>>,
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
                let (path, member) = without_member(path);
                let number = member.and_then(|member| member.parse().ok());
                columns.kernel.push((first + index) as i64);
                columns.kernel_name.push(name.clone());
                columns.path.push(path.as_str().into());
                columns.index.push(number);
                columns.member.push(member.filter(|_| number.is_none()).map(ByteArray::from));
                columns.value.push(stat.value.as_f64());
                columns.unit.push(stat.unit.name().into());
                columns.description.push(stat.description.into());
            }
        }
        columns
    }
}

/// A path without the member in its brackets, and that member. Names of allocations may have brackets of their own.
fn without_member(path: &str) -> (String, Option<&str>) {
    match path.find('[').zip(path.rfind(']')) {
        Some((open, close)) if open < close => {
            (format!("{}[]{}", &path[..open], &path[close + 1..]), Some(&path[open + 1..close]))
        }
        _ => (path.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Row, RowAccessor};
    use strata_core::stats::{MemberCounter, Members, Unit};
    use strata_core::{Counts, Stats};

    const READS: &[MemberCounter] =
        &[MemberCounter { name: "reads", unit: Unit::Sectors, description: "sectors read" }];

    fn kernel(bytes_read: u64) -> KernelRun {
        KernelRun {
            name: "k".into(),
            grid: 1.into(),
            block: 32.into(),
            counts: Counts { bytes_read, ..Counts::default() },
            cycles: None,
            launch_cycles: None,
            machine: Stats::default(),
            members: vec![Members { group: "gpu.l2".into(), counters: READS, counts: vec![0, 5] }],
        }
    }

    fn rows(kernels: Vec<KernelRun>) -> Vec<Row> {
        let result = RunResult { kernels, ..RunResult::sample() };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("stats.parquet");
        write(&path, &result).expect("written");
        let reader = SerializedFileReader::try_from(path.as_path()).expect("a Parquet file");
        let texts = reader.metadata().file_metadata().key_value_metadata().expect("texts");
        let about = texts.iter().find(|text| text.key == "strata").and_then(|text| text.value.clone()).expect("it");
        assert!(about.contains("\"source\":") && about.contains("\"key\":"), "{about}");
        reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
    }

    #[test]
    fn what_is_written_is_read_back() {
        // More launches than a group of rows holds.
        let kernels: Vec<_> = (0..=LAUNCHES_PER_GROUP as u64).map(kernel).collect();
        let count = kernels.len();
        let all = rows(kernels);
        let read: Vec<_> = all.iter().filter(|row| row.get_string(7).expect("a path") == "gpu.bytes_read").collect();
        assert_eq!(read.len(), count);
        for (index, row) in read.iter().enumerate() {
            assert_eq!(row.get_string(0).expect("a program"), "x");
            assert_eq!(row.get_string(1).expect("a size"), "tiny");
            assert_eq!(row.get_string(4).expect("mechanisms"), "none");
            assert_eq!(row.get_long(5).expect("an index"), index as i64);
            assert_eq!(row.get_string(6).expect("a name"), "k");
            assert_eq!(row.get_double(10).expect("a value"), index as f64);
            assert_eq!(row.get_string(11).expect("a unit"), "bytes");
            assert!(row.get_string(12).expect("a description").contains("global"));
        }
    }

    #[test]
    fn members_have_columns_of_their_own() {
        let all = rows(vec![kernel(1)]);
        let with_path = |path: &str| all.iter().find(|row| row.get_string(7).expect("a path") == path).expect("a row");
        let slice = with_path("gpu.l2[].reads");
        assert_eq!((slice.get_long(8).expect("an index"), slice.get_double(10).expect("a value")), (1, 5.0));
        assert!(slice.get_string(9).is_err(), "a number is no name");
        assert_eq!(with_path("kernel[].launches").get_string(9).expect("a name"), "k");
        assert_eq!(without_member("a[b[0]].c"), ("a[].c".to_owned(), Some("b[0]")));
    }
}
