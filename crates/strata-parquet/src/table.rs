//! Tables whose columns are known only at run time: written group by group, read as a whole.

use crate::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type, ParquetError, properties, put_optional};
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// True or false.
    Truth,
    /// Whole numbers.
    Whole,
    /// Numbers.
    Real,
    /// Text.
    Text,
}

/// Values of a column, row by row; a row may have none.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// True or false.
    Truth(Vec<Option<bool>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Real(Vec<Option<f64>>),
    /// Text.
    Text(Vec<Option<String>>),
}

/// A table that is being written.
pub struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file of these columns, with texts in its metadata.
    pub fn new(file: W, columns: &[(String, Kind)], texts: &[(&str, String)]) -> Result<Self, ParquetError> {
        let mut fields = Vec::new();
        for (name, kind) in columns {
            let (physical, logical) = match kind {
                Kind::Truth => (Physical::BOOLEAN, None),
                Kind::Whole => (Physical::INT64, None),
                Kind::Real => (Physical::DOUBLE, None),
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical)
                .build()?;
            fields.push(Arc::new(field));
        }
        let schema = Type::group_type_builder("table").with_fields(fields).build()?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties(texts)))?;
        Ok(Self { writer })
    }

    /// Writes a group of rows: each column in the order in which they were given.
    pub fn group(&mut self, columns: Vec<Values>) -> Result<(), ParquetError> {
        let mut rows = self.writer.next_row_group()?;
        for column in columns {
            match column {
                Values::Truth(values) => put_optional::<BoolType, _>(&mut rows, values.into_iter())?,
                Values::Whole(values) => put_optional::<Int64Type, _>(&mut rows, values.into_iter())?,
                Values::Real(values) => put_optional::<DoubleType, _>(&mut rows, values.into_iter())?,
                Values::Text(values) => {
                    let texts = values.into_iter().map(|text| text.map(|text| ByteArray::from(text.as_str())));
                    put_optional::<ByteArrayType, _>(&mut rows, texts)?;
                }
            }
        }
        rows.close()?;
        Ok(())
    }

    /// Ends the file and gives it back.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.writer.into_inner()
    }
}

/// A table that was read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Its columns, by name, in the order of the file.
    pub columns: Vec<(String, Values)>,
    /// How many rows each has.
    pub rows: usize,
    /// Texts of the file's metadata.
    pub texts: Vec<(String, String)>,
}

impl Table {
    /// Reads a whole file of at most so many cells; columns of other types are left out.
    pub fn read(path: &Path, most_cells: u64) -> Result<Self, ParquetError> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let reader = SerializedFileReader::new(file)?;
        for group in reader.metadata().row_groups() {
            group.columns().iter().try_for_each(|column| lies_within(column, bytes))?;
        }
        let metadata = reader.metadata().file_metadata();
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(u64::MAX);
        let fields: Vec<String> =
            metadata.schema_descr().columns().iter().map(|column| column.path().parts().join(".")).collect();
        if rows.saturating_mul(fields.len() as u64) > most_cells {
            return Err(ParquetError::General(format!("it has more than {most_cells} cells")));
        }
        let texts = metadata.key_value_metadata().into_iter().flatten();
        let texts = texts.map(|text| (text.key.clone(), text.value.clone().unwrap_or_default())).collect();
        let mut table = Self { columns: Vec::new(), rows: rows as usize, texts };
        for (place, name) in fields.into_iter().enumerate() {
            let mut column: Option<Values> = None;
            for group in 0..reader.num_row_groups() {
                let group = reader.get_row_group(group)?;
                let Some(more) = values(&*group, place)? else { break };
                match (&mut column, more) {
                    (None, first) => column = Some(first),
                    (Some(Values::Truth(all)), Values::Truth(more)) => all.extend(more),
                    (Some(Values::Whole(all)), Values::Whole(more)) => all.extend(more),
                    (Some(Values::Real(all)), Values::Real(more)) => all.extend(more),
                    (Some(Values::Text(all)), Values::Text(more)) => all.extend(more),
                    _ => return Err(ParquetError::General(format!("column `{name}` changes its type"))),
                }
            }
            if let Some(column) = column.filter(|column| column.len() == table.rows) {
                table.columns.push((name, column));
            }
        }
        Ok(table)
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|(known, _)| known == name).map(|(_, values)| values)
    }

    /// A text of the metadata.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }
}

impl Values {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Truth(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A row as a number, if it is one.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::Whole(values) => values.get(row).copied().flatten().map(|n| n as f64),
            Self::Real(values) => values.get(row).copied().flatten(),
            Self::Truth(_) | Self::Text(_) => None,
        }
    }
}

/// An error if a column does not lie in a file of so many bytes: the library takes that for granted, and panics.
fn lies_within(column: &ColumnChunkMetaData, bytes: u64) -> Result<(), ParquetError> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let ends = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
    match ends.and_then(|(start, length)| start.checked_add(length)) {
        Some(end) if end <= bytes => Ok(()),
        _ => Err(ParquetError::General(format!("column `{}` does not lie in the file", column.column_path()))),
    }
}

/// The values of a column in a group; `None` for a type that tables do not have.
fn values(group: &dyn RowGroupReader, place: usize) -> Result<Option<Values>, ParquetError> {
    let rows = group.metadata().num_rows() as usize;
    let optional = group.metadata().column(place).column_descr().max_def_level() > 0;
    macro_rules! read {
        ($reader:ident, $of:expr, $variant:ident) => {{
            let (mut held, mut levels) = (Vec::new(), Vec::new());
            $reader.read_records(rows, Some(&mut levels), None, &mut held)?;
            let mut held = held.into_iter().map($of);
            let found = |there: bool, held: &mut dyn Iterator<Item = _>| if there { held.next() } else { None };
            let list = if optional {
                levels.iter().map(|level| found(*level > 0, &mut held)).collect()
            } else {
                held.map(Some).collect()
            };
            Values::$variant(list)
        }};
    }
    let column = group.metadata().column(place).column_descr_ptr();
    if column.max_def_level() > 1 || column.max_rep_level() > 0 {
        // Columns in columns.
        return Ok(None);
    }
    let is_of_texts = column.physical_type() == Physical::BYTE_ARRAY;
    let pages = Sound { pages: group.get_column_page_reader(place)?, has_dictionary: false, is_of_texts, optional };
    Ok(match get_column_reader(column, Box::new(pages)) {
        ColumnReader::BoolColumnReader(mut reader) => Some(read!(reader, |value: bool| value, Truth)),
        ColumnReader::Int64ColumnReader(mut reader) => Some(read!(reader, |value: i64| value, Whole)),
        ColumnReader::DoubleColumnReader(mut reader) => Some(read!(reader, |value: f64| value, Real)),
        ColumnReader::ByteArrayColumnReader(mut reader) => {
            Some(read!(reader, |value: ByteArray| String::from_utf8_lossy(value.data()).into_owned(), Text))
        }
        _ => None,
    })
}

/// The pages of a column that a reader can bear: the library takes it for granted that indices follow their dictionary, and that there
/// are as many texts as a page says; it panics where a damaged file has them otherwise.
struct Sound {
    pages: Box<dyn PageReader>,
    has_dictionary: bool,
    is_of_texts: bool,
    /// Rows may have no value.
    optional: bool,
}

impl Sound {
    /// True if the texts of a page are there.
    fn has_texts(&self, page: &Page) -> Option<bool> {
        Some(match page {
            Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, .. } if self.optional => {
                let (length, rest) = buf.split_first_chunk()?;
                let (levels, values) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                are_texts(values, ones(levels, *num_values as usize)?)
            }
            Page::DictionaryPage { buf, num_values, .. }
            | Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, .. } => are_texts(buf, *num_values as usize),
            Page::DataPageV2 { buf, num_values, encoding: Encoding::PLAIN, def_levels_byte_len, .. } => {
                let (levels, values) = buf.split_at_checked(*def_levels_byte_len as usize)?;
                let count = *num_values as usize;
                are_texts(values, if self.optional { ones(levels, count)? } else { count })
            }
            _ => true,
        })
    }
}

/// True if so many texts lie one after another: the length of each in four bytes, and its own.
fn are_texts(mut data: &[u8], count: usize) -> bool {
    for _ in 0..count {
        let Some((length, rest)) = data.split_first_chunk() else { return false };
        let Some(rest) = rest.get(u32::from_le_bytes(*length) as usize..) else { return false };
        data = rest;
    }
    true
}

/// How many of so many rows have a value: levels are a bit each, in runs of one value or in packs of eight.
fn ones(mut levels: &[u8], rows: usize) -> Option<usize> {
    let (mut left, mut found) = (rows, 0);
    while left > 0 {
        let (mut head, mut shift) = (0usize, 0);
        loop {
            let (byte, rest) = levels.split_first()?;
            levels = rest;
            head |= usize::from(byte & 127).checked_shl(shift)?;
            shift += 7;
            if *byte < 128 {
                break;
            }
        }
        let is_packed = head & 1 == 1;
        let (bytes, length) = if is_packed { (head >> 1, (head >> 1).saturating_mul(8)) } else { (1, head >> 1) };
        let (bits, rest) = levels.split_at_checked(bytes)?;
        levels = rest;
        let length = length.min(left);
        found += match bits.first()? {
            _ if is_packed => (0..length).filter(|row| bits[row / 8] >> (row % 8) & 1 == 1).count(),
            value => usize::from(value & 1) * length,
        };
        // A run of nothing would go on for ever.
        left -= Some(length).filter(|length| *length > 0)?;
    }
    Some(found)
}

impl PageReader for Sound {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.pages.get_next_page()?;
        #[allow(deprecated, reason = "files of others may have it")]
        let is_of_indices =
            |page: &Page| matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        match &page {
            Some(Page::DictionaryPage { .. }) => self.has_dictionary = true,
            Some(page) if is_of_indices(page) && !self.has_dictionary => {
                return Err(ParquetError::General("a page of indices has no dictionary".to_owned()));
            }
            _ => {}
        }
        if self.is_of_texts && page.as_ref().is_some_and(|page| self.has_texts(page) != Some(true)) {
            return Err(ParquetError::General("a page holds fewer texts than it says".to_owned()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for Sound {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing.
    #[test]
    fn indices_without_a_dictionary_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("damaged.parquet");
        std::fs::write(&path, include_bytes!("../tests/indices-without-dictionary.parquet")).expect("written");
        let error = Table::read(&path, 1 << 20).expect_err("damaged");
        assert!(error.to_string().contains("has no dictionary"), "{error}");
    }

    /// The library panics at columns before the beginning of the file: found by fuzzing.
    #[test]
    fn a_file_with_a_wrong_byte_is_read_or_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("table.parquet");
        let columns = [("a".to_owned(), Kind::Whole), ("b".to_owned(), Kind::Text)];
        let mut writer = TableWriter::new(File::create(&path).expect("made"), &columns, &[]).expect("begun");
        let texts = vec![Some("x".to_owned()), Some("x".to_owned()), None];
        writer.group(vec![Values::Whole(vec![Some(1), None, Some(3)]), Values::Text(texts)]).expect("written");
        writer.finish().expect("ended");
        let whole = std::fs::read(&path).expect("there");
        let (mut readable, mut outside) = (0, 0);
        for place in 0..whole.len() {
            for flipped in [1, 128, 255] {
                let mut damaged = whole.clone();
                damaged[place] ^= flipped;
                std::fs::write(&path, &damaged).expect("written");
                match Table::read(&path, 1 << 20) {
                    Ok(_) => readable += 1,
                    Err(error) => outside += usize::from(error.to_string().contains("does not lie in the file")),
                }
            }
        }
        assert!(readable > 0 && outside > 0, "{readable} and {outside} of {} bytes", whole.len());
    }

    #[test]
    fn texts_that_no_dictionary_holds_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("texts.parquet");
        let texts = |row: usize| (!row.is_multiple_of(3)).then(|| format!("{row:-^1000}"));
        let texts = Values::Text((0..4000).map(texts).collect());
        let columns = [("a".to_owned(), Kind::Text)];
        let mut writer = TableWriter::new(File::create(&path).expect("made"), &columns, &[]).expect("begun");
        writer.group(vec![texts.clone()]).expect("written");
        writer.finish().expect("ended");
        assert_eq!(Table::read(&path, 4000).expect("read").column("a"), Some(&texts));
    }

    #[test]
    fn levels_are_counted_in_runs_and_packs() {
        // Ten of one, five of nothing, and a pack of eight bits of which four rows are left.
        let levels = [20, 1, 10, 0, 3, 0b1010_0101];
        assert_eq!(ones(&levels, 19), Some(12));
        assert_eq!(ones(&levels, 24), None, "there are 23 at most");
        assert_eq!(ones(&[0, 1], 1), None, "a run of nothing");
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let columns = [("a.b", Kind::Whole), ("c[d] e", Kind::Real), ("f", Kind::Text), ("g", Kind::Truth)];
        let columns = columns.map(|(name, kind)| (name.to_owned(), kind));
        let groups = [
            vec![
                Values::Whole(vec![Some(1), None]),
                Values::Real(vec![None, Some(0.5)]),
                Values::Text(vec![Some("x".into()), None]),
                Values::Truth(vec![Some(true), None]),
            ],
            vec![
                Values::Whole(vec![Some(3)]),
                Values::Real(vec![Some(1.5)]),
                Values::Text(vec![Some("ü".into())]),
                Values::Truth(vec![Some(false)]),
            ],
        ];
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("table.parquet");
        let file = File::create(&path).expect("made");
        let mut writer = TableWriter::new(file, &columns, &[("note", "hello".into())]).expect("begun");
        for group in groups {
            writer.group(group).expect("written");
        }
        writer.finish().expect("ended");
        let table = Table::read(&path, 100).expect("read");
        assert_eq!((table.rows, table.text("note")), (3, Some("hello")));
        assert_eq!(table.column("a.b"), Some(&Values::Whole(vec![Some(1), None, Some(3)])));
        assert_eq!(table.column("c[d] e"), Some(&Values::Real(vec![None, Some(0.5), Some(1.5)])));
        assert_eq!(table.column("f"), Some(&Values::Text(vec![Some("x".into()), None, Some("ü".into())])));
        assert_eq!(table.column("g"), Some(&Values::Truth(vec![Some(true), None, Some(false)])));
        assert!(Table::read(&path, 11).is_err(), "more cells than that");
    }
}
