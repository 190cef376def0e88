//! The header of a `.safetensors` file: eight bytes of length, then one JSON object that names the tensors.
//!
//! The rules are those of the format's own description: the tensors lie side by side in the rest of the file, without
//! overlap, gap or remainder.

use super::unpack::Packing;
use super::{MOST_HEADER_BYTES, MOST_TENSORS, Source, Tensor, TensorError};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::{Read, Seek};

const LENGTH_BYTES: u64 = 8;
const SAVE_AGAIN: &str = "save it again with the safetensors library; a copy may have been cut off";

/// Bits of an element of each type. The list grows with the format; of a type that is not here the size is not checked.
const DTYPES: [(&str, u64); 20] = [
    ("BOOL", 8),
    ("F4", 4),
    ("F6_E2M3", 6),
    ("F6_E3M2", 6),
    ("U8", 8),
    ("I8", 8),
    ("F8_E5M2", 8),
    ("F8_E4M3", 8),
    ("F8_E8M0", 8),
    ("I16", 16),
    ("U16", 16),
    ("F16", 16),
    ("BF16", 16),
    ("I32", 32),
    ("U32", 32),
    ("F32", 32),
    ("C64", 64),
    ("F64", 64),
    ("I64", 64),
    ("U64", 64),
];

/// The tensors of a file, in the order of their bytes.
pub(super) fn tensors<R: Read + Seek>(source: &mut Source<R>) -> Result<Vec<Tensor>, TensorError> {
    let Some(after_length) = source.length.checked_sub(LENGTH_BYTES) else {
        return Err(source.error(0, "it is too short for a `.safetensors` file", SAVE_AGAIN));
    };
    let mut length = [0; LENGTH_BYTES as usize];
    source.read(0, &mut length)?;
    let length = u64::from_le_bytes(length);
    if length > after_length {
        let cause = format!("the header claims {length} bytes, {after_length} follow");
        return Err(source.error(0, cause, SAVE_AGAIN));
    }
    if length > MOST_HEADER_BYTES {
        let cause = format!("the header claims {length} bytes, more than the {MOST_HEADER_BYTES} of the format");
        return Err(source.error(0, cause, SAVE_AGAIN));
    }
    let header = source.read_header(LENGTH_BYTES, length)?;
    let described = serde_json::from_slice::<Described>(&header);
    let Described(mut tensors) = described
        .map_err(|error| source.error(LENGTH_BYTES, format!("the header cannot be read: {error}"), SAVE_AGAIN))?;
    tensors.sort_by_key(|(_, tensor)| tensor.data_offsets);
    let start = LENGTH_BYTES + length;
    side_by_side(source, &tensors, start)?;
    let tensor = |(name, described): (String, DescribedTensor)| {
        let (from, to) = described.data_offsets;
        Tensor { name, bytes: to - from, packing: Packing::stored(start + from, to - from) }
    };
    Ok(tensors.into_iter().map(tensor).collect())
}

/// Checks that the tensors, in the order of their offsets, fill what follows `start`.
fn side_by_side<R>(source: &Source<R>, tensors: &[(String, DescribedTensor)], start: u64) -> Result<(), TensorError> {
    let held = source.length - start;
    let mut end = 0;
    for (name, DescribedTensor { dtype, shape, data_offsets: (from, to) }) in tensors {
        let error = |at: u64, cause: String| Err(source.error(start.saturating_add(at), cause, SAVE_AGAIN));
        if to < from {
            return error(*from, format!("`{name}` ends at {to}, before it begins"));
        }
        if *to > held {
            return error(*from, format!("`{name}` ends at byte {to} of the data, which are {held}"));
        }
        if *from < end {
            return error(*from, format!("`{name}` overlaps the tensor before it, which ends at {end}"));
        }
        if *from > end {
            return error(end, format!("nothing is said of the bytes before `{name}`, from {end} to {from}"));
        }
        let bits = DTYPES.iter().find(|(known, _)| known == dtype).map(|&(_, bits)| bits);
        if let Some(bits) = bits
            && shape.0.map(|elements| u128::from(elements) * u128::from(bits)) != Some(u128::from(to - from) * 8)
        {
            return error(*from, format!("`{name}` has {} bytes, which its shape of {dtype} does not fill", to - from));
        }
        end = *to;
    }
    if end < held {
        let cause = format!("nothing is said of the last {} bytes", held - end);
        return Err(source.error(start + end, cause, SAVE_AGAIN));
    }
    Ok(())
}

/// What the header says of one tensor.
#[derive(Deserialize)]
struct DescribedTensor {
    dtype: String,
    shape: Elements,
    data_offsets: (u64, u64),
}

/// The product of a shape; `None` if it is too large. The extents themselves are not kept: a header may list millions.
struct Elements(Option<u64>);

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Product;
        impl<'de> Visitor<'de> for Product {
            type Value = Elements;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of extents")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut extents: A) -> Result<Elements, A::Error> {
                let mut product = Some(1u64);
                while let Some(extent) = extents.next_element::<u64>()? {
                    product = product.and_then(|product| product.checked_mul(extent));
                }
                Ok(Elements(product))
            }
        }
        deserializer.deserialize_seq(Product)
    }
}

/// All tensors of a header, in its order; the same name may come twice.
struct Described(Vec<(String, DescribedTensor)>);

impl<'de> Deserialize<'de> for Described {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Header;
        impl<'de> Visitor<'de> for Header {
            type Value = Described;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object that names tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Described, A::Error> {
                let mut tensors = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "__metadata__" {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    if tensors.len() == MOST_TENSORS {
                        return Err(A::Error::custom(format!("more than {MOST_TENSORS} tensors")));
                    }
                    tensors.push((name, map.next_value()?));
                }
                Ok(Described(tensors))
            }
        }
        deserializer.deserialize_map(Header)
    }
}
