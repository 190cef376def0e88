//! NumPy's `.npy` header, read and written: format versions 1.0 to 3.0 as `numpy.lib.format` documents them.
//!
//! [`read_layout`] takes any array of numbers; [`read_header`] only plain little-endian ones in C order, which a device
//! buffer can hold as they are. The reader never trusts a length it was told: a header has at most `MOST_HEADER_BYTES`,
//! and nothing in it nests.

use crate::element::Element;
use std::io::{Error, ErrorKind, Read, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy writes headers of 128 bytes; structured types, refused here, need more.
const MOST_HEADER_BYTES: usize = 64 << 10;

/// An array as its header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// NumPy's name of the element type.
    descr: String,
    item_bytes: u64,
    fortran: bool,
    extents: Vec<u64>,
    /// Number of elements: the product of the extents.
    count: u64,
}

impl Layout {
    /// Bytes of data that follow the header.
    pub fn bytes(&self) -> u64 {
        self.count * self.item_bytes
    }
}

/// What the header of a plain array says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type of the elements, which are stored little-endian.
    pub element: Element,
    /// Number of elements: the product of the extents.
    pub count: u64,
}

const DESCRIPTIONS: [(&str, Element); 11] = [
    ("i1", Element::I8),
    ("u1", Element::U8),
    ("i2", Element::I16),
    ("u2", Element::U16),
    ("i4", Element::I32),
    ("u4", Element::U32),
    ("i8", Element::I64),
    ("u8", Element::U64),
    ("f2", Element::F16),
    ("f4", Element::F32),
    ("f8", Element::F64),
];

fn invalid(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, reason.into())
}

/// Reads the header of a plain array and leaves `reader` at the first byte of data.
pub fn read_header(reader: &mut impl Read) -> Result<Header> {
    plain(&read_layout(reader)?)
}

/// Reads the header of any array and leaves `reader` at the first byte of data.
pub fn read_layout(reader: &mut impl Read) -> Result<Layout> {
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(|_| invalid("the file is too short for a `.npy` file"))?;
    if !start.starts_with(MAGIC) {
        return Err(invalid("the file does not begin like a `.npy` file; raw bytes belong in a `.bin` file"));
    }
    // Version 1.0 has a length of two bytes, those after it of four.
    let mut length = [0; 4];
    let length_bytes = if start[6] == 1 { 2 } else { 4 };
    let cut = |_| invalid("the file ends inside its header");
    reader.read_exact(&mut length[..length_bytes]).map_err(cut)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MOST_HEADER_BYTES {
        return Err(invalid(format!("its header claims {length} bytes, more than any plain array needs")));
    }
    let mut header = vec![0; length];
    reader.read_exact(&mut header).map_err(cut)?;
    let header = String::from_utf8(header).map_err(|_| invalid("its header is not text"))?;
    parse_layout(&header)
}

/// The header is a Python dictionary with three known keys: `{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}`.
fn parse_layout(header: &str) -> Result<Layout> {
    let value_of = |key: &str| {
        let found = header.find(&format!("'{key}'")).map(|at| &header[at + key.len() + 2..]);
        found.and_then(|rest| rest.trim_start().strip_prefix(':')).map(str::trim_start)
    };
    let missing = |key: &str| invalid(format!("its header has no `{key}`"));
    let descr = value_of("descr").ok_or_else(|| missing("descr"))?;
    let descr = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
    let descr = descr.ok_or_else(|| invalid("it holds a structured array; save each field on its own"))?;
    let item_bytes = item_bytes(descr).ok_or_else(|| unsuitable(descr))?;
    let shape = value_of("shape").and_then(|s| s.strip_prefix('(')).and_then(|s| s.split_once(')'));
    let (shape, _) = shape.ok_or_else(|| missing("shape"))?;
    let mut extents = Vec::new();
    for extent in shape.split(',').map(str::trim).filter(|e| !e.is_empty()) {
        extents.push(extent.parse::<u64>().map_err(|_| invalid(format!("its shape has the extent `{extent}`")))?);
    }
    let fortran = value_of("fortran_order").ok_or_else(|| missing("fortran_order"))?.starts_with("True");
    let count = extents.iter().try_fold(1u64, |n, &e| n.checked_mul(e));
    let count = count.filter(|n| n.checked_mul(item_bytes).is_some());
    let count = count.ok_or_else(|| invalid("its shape is absurdly large"))?;
    Ok(Layout { descr: descr.to_owned(), item_bytes, fortran, extents, count })
}

fn unsuitable(descr: &str) -> Error {
    invalid(format!("its elements are `{descr}`; convert them with `astype('float32')` or similar"))
}

/// The byte order of a type, if it says one, and the rest of its name.
fn byte_order(descr: &str) -> (&str, &str) {
    descr.split_at(usize::from(descr.starts_with(['<', '>', '|', '='])))
}

/// Bytes of an element, from NumPy's name of its type; `None` for Python objects and what is no type.
fn item_bytes(descr: &str) -> Option<u64> {
    let mut letters = byte_order(descr).1.chars();
    let unit = match letters.next()? {
        'b' | 'i' | 'u' | 'f' | 'c' | 'S' | 'V' | 'm' | 'M' => 1,
        // Text is kept as 32-bit code points.
        'U' => 4,
        _ => return None,
    };
    // The unit of a time stands after its size: `M8[ns]`.
    letters.as_str().split('[').next()?.parse::<u64>().ok()?.checked_mul(unit)
}

/// What a device buffer can hold as it is.
fn plain(layout: &Layout) -> Result<Header> {
    let (order, ty) = byte_order(&layout.descr);
    let element = DESCRIPTIONS.iter().find(|(name, _)| *name == ty).map(|&(_, element)| element);
    let element = element.ok_or_else(|| unsuitable(&layout.descr))?;
    if order == ">" && element.bytes() > 1 {
        return Err(invalid("its numbers are big-endian; convert them with `astype('<f4')` or similar"));
    }
    if layout.fortran && layout.extents.iter().filter(|&&e| e > 1).count() > 1 {
        return Err(invalid("it is in Fortran order; save it with `numpy.ascontiguousarray`"));
    }
    Ok(Header { element, count: layout.count })
}

/// The bytes that come before the data of a one-dimensional array; `None` if NumPy has no such type.
pub fn header_bytes(element: Element, count: u64) -> Option<Vec<u8>> {
    let ty = DESCRIPTIONS.iter().find(|(_, e)| *e == element)?.0;
    let order = if element.bytes() == 1 { '|' } else { '<' };
    let mut text = format!("{{'descr': '{order}{ty}', 'fortran_order': False, 'shape': ({count},), }}");
    // Magic, version and length take 10 bytes; the data begin at a multiple of 64 after a line feed.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.extend(std::iter::repeat_n(' ', length - text.len() - 1));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for (_, element) in DESCRIPTIONS {
            let bytes = header_bytes(element, 1000).expect("a NumPy type");
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(read_header(&mut bytes.as_slice()).expect("sound"), Header { element, count: 1000 });
        }
        assert!(header_bytes(Element::Bf16, 1).is_none());
    }

    fn refused(header: &str, reason: &str) {
        let error = parse_layout(header).and_then(|layout| plain(&layout)).expect_err(header).to_string();
        assert!(error.contains(reason), "{header}: {error}");
    }

    #[test]
    fn what_a_buffer_cannot_hold_is_refused() {
        refused("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", "big-endian");
        refused("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", "Fortran");
        refused("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}", "<c8");
        refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "structured");
        refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "extent `-2`");
        refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "absurdly");
        refused("{'descr': '<f4', 'fortran_order': False}", "no `shape`");
        refused("((((((((", "no `descr`");
    }

    #[test]
    fn any_array_of_numbers_has_a_layout() {
        for (descr, bytes) in [
            (">f4", 4),
            ("|b1", 1),
            ("<c16", 16),
            ("<U3", 12),
            ("<M8[ns]", 8),
            ("|V2", 2),
            ("|O", 0),
            ("<f", 0),
            ("", 0),
        ] {
            let header = format!("{{'descr': '{descr}', 'fortran_order': True, 'shape': (2, 3)}}");
            assert_eq!(parse_layout(&header).ok().map(|layout| layout.bytes()), Some(6 * bytes).filter(|&b| b > 0));
        }
    }

    #[test]
    fn lengths_are_not_trusted() {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend(u32::MAX.to_le_bytes());
        assert!(read_header(&mut bytes.as_slice()).expect_err("huge").to_string().contains("claims"));
        assert!(read_header(&mut b"\x93NUM".as_slice()).is_err());
    }
}
