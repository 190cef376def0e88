//! Writes `.safetensors` files: bytes by name.

use serde_json::{Map, json};
use std::io::{Result, Write};
use std::path::Path;
use strata_core::Bytes;
use strata_core::files::AtomicFile;

/// The header of a file of such tensors, all of them bytes. A name that comes again gets a number.
fn header(tensors: &[(String, Bytes)]) -> Vec<u8> {
    let mut described = Map::new();
    let mut at = 0;
    for (name, Bytes(size)) in tensors {
        let mut unique = name.clone();
        let mut number = 2;
        while described.contains_key(&unique) {
            unique = format!("{name} {number}");
            number += 1;
        }
        described.insert(unique, json!({ "dtype": "U8", "shape": [size], "data_offsets": [at, at + size] }));
        at += size;
    }
    let mut text = serde_json::Value::Object(described).to_string().into_bytes();
    // The data begin at a multiple of eight, as the format wants.
    text.resize(text.len().next_multiple_of(8), b' ');
    text
}

/// Writes tensors of these names and sizes, whole or not at all; `content` writes the bytes of each, in their order.
pub fn write_safetensors(
    path: &Path,
    tensors: &[(String, Bytes)],
    mut content: impl FnMut(usize, &mut dyn Write) -> Result<()>,
) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    let header = header(tensors);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(&header)?;
    for index in 0..tensors.len() {
        content(index, &mut file)?;
    }
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensors::TensorFile;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.safetensors");
        let tensors = [("x \"y\"", 3), ("x", 0), ("x", 5)].map(|(name, size)| (name.to_owned(), Bytes(size)));
        let bytes: [&[u8]; 3] = [b"abc", b"", b"12345"];
        write_safetensors(&path, &tensors, |index, out| out.write_all(bytes[index])).expect("written");
        let file = TensorFile::open(&path).expect("read");
        let mut read: Vec<_> = file.tensors().iter().map(|t| (t.name.as_str(), t.bytes)).collect();
        read.sort_unstable();
        assert_eq!(read, [("x", 0), ("x \"y\"", 3), ("x 2", 5)]);
    }
}
