//! Requests to the GMMU as a Parquet file, one row each: the thirteen features of the prefetching paper (Figure 3), the launch,
//! the cycle and the instructions until then. What predictors are trained on.

use crate::GmmuRequest;
use std::io::{self, Write};
use std::path::Path;
use strata_core::files::AtomicFile;
use strata_parquet::{BoolType, Int64Type, ParquetError, begin, put};

const SCHEMA: &str = "message gmmu {
    required int64 cycle;
    required int64 instructions;
    required int64 kernel;
    required int64 pc;
    required boolean hit;
    required int64 warp;
    required int64 sm;
    required int64 tpc;
    required int64 cta;
    required int64 page;
    required int64 block;
    required int64 root;
    required int64 array;
    required int64 page_delta;
    required int64 block_delta;
    required int64 root_delta;
}";

/// Rows of a group.
const ROWS: usize = 1 << 18;

/// A column of numbers.
type Column = fn(&GmmuRequest) -> i64;

const BEFORE_HIT: [Column; 4] =
    [|r| r.access.cycle as i64, |r| r.access.instructions as i64, |r| r.access.kernel.into(), |r| r.access.pc.into()];
const AFTER_HIT: [Column; 11] = [
    |r| r.access.warp.into(),
    |r| r.access.sm.into(),
    |r| r.access.tpc.into(),
    |r| r.access.cta as i64,
    |r| r.access.page as i64,
    |r| r.block as i64,
    |r| r.root as i64,
    |r| r.access.array as i64,
    |r| r.page_delta,
    |r| r.block_delta,
    |r| r.root_delta,
];

/// Writes the file, whole or not at all.
pub(crate) fn write(target: &Path, requests: &[GmmuRequest]) -> io::Result<()> {
    let file = AtomicFile::create(target)?;
    write_to(file, requests).map_err(io::Error::other)?.commit()
}

fn write_to<W: Write + Send>(file: W, requests: &[GmmuRequest]) -> Result<W, ParquetError> {
    let mut writer = begin(file, SCHEMA)?;
    for requests in requests.chunks(ROWS) {
        let mut rows = writer.next_row_group()?;
        for column in BEFORE_HIT {
            put::<Int64Type, _>(&mut rows, &requests.iter().map(column).collect::<Vec<_>>())?;
        }
        put::<BoolType, _>(&mut rows, &requests.iter().map(|r| r.access.hit).collect::<Vec<_>>())?;
        for column in AFTER_HIT {
            put::<Int64Type, _>(&mut rows, &requests.iter().map(column).collect::<Vec<_>>())?;
        }
        rows.close()?;
    }
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use strata_learn::access::Access;

    #[test]
    fn every_feature_is_read_back() {
        let request = GmmuRequest {
            access: Access {
                run: 0,
                cycle: 1,
                instructions: 16,
                kernel: 2,
                pc: 3,
                hit: true,
                warp: 5,
                sm: 6,
                tpc: 7,
                cta: 8,
                page: 9,
                array: 12,
            },
            block: 10,
            root: 11,
            page_delta: -13,
            block_delta: -14,
            root_delta: -15,
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gmmu.parquet");
        write(&path, &[request; 3]).expect("written");
        let reader = SerializedFileReader::try_from(path.as_path()).expect("a Parquet file");
        let rows: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
        assert_eq!(rows.len(), 3);
        let expected = [1, 16, 2, 3, 0, 5, 6, 7, 8, 9, 10, 11, 12, -13, -14, -15];
        for (column, &value) in expected.iter().enumerate() {
            if column == 4 {
                assert!(rows[1].get_bool(4).expect("a truth"));
            } else {
                assert_eq!(rows[1].get_long(column).expect("a number"), value, "column {column}");
            }
        }
    }
}
