//! Parquet files of plain columns: what data frames read, without Arrow, which would treble the build.
//!
//! ```
//! use strata_parquet::{Int64Type, begin, put};
//!
//! let mut writer = begin(Vec::new(), "message counts { required int64 count; }")?;
//! let mut rows = writer.next_row_group()?;
//! put::<Int64Type, _>(&mut rows, &[1, 2, 3])?;
//! rows.close()?;
//! let file = writer.into_inner()?;
//! assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
//! # Ok::<(), strata_parquet::ParquetError>(())
//! ```

mod table;

use parquet::basic::{Compression, ZstdLevel};
pub use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
pub use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;
pub use table::{Kind, Table, TableWriter, Values};

/// A file of a schema, to be filled with groups of rows.
pub fn begin<W: Write + Send>(file: W, schema: &str) -> Result<SerializedFileWriter<W>, ParquetError> {
    begin_with(file, schema, &[])
}

/// The same with texts that readers find by name in the file's metadata.
pub fn begin_with<W: Write + Send>(
    file: W,
    schema: &str,
    texts: &[(&str, String)],
) -> Result<SerializedFileWriter<W>, ParquetError> {
    SerializedFileWriter::new(file, Arc::new(parse_message_type(schema)?), Arc::new(properties(texts)))
}

fn properties(texts: &[(&str, String)]) -> WriterProperties {
    let texts = texts.iter().map(|(name, text)| KeyValue::new((*name).to_owned(), text.clone())).collect();
    // A group of ours is a page or two: an index of pages would take more room than it saves reading.
    WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(texts))
        .build()
}

/// Writes the next column of a group, in the order of the schema.
pub fn put<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    if let Some(mut column) = rows.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}

/// Writes the next column of a group, which is `optional` in the schema: a value for each row, or none.
pub fn put_optional<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut levels, mut held) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        held.extend(value);
    }
    if let Some(mut column) = rows.next_column()? {
        column.typed::<T>().write_batch(&held, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}
