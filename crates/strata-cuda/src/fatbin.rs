//! Fat binaries: what `nvcc` puts into a program for the device, PTX and machine code side by side.
//!
//! Layout (found on the binaries of nvcc 11.8, 12.9 and 13.4): a header of 16 bytes, then entries, each with a header of its
//! own of at least 64 bytes. Several such images may follow each other, 8-aligned.
//!
//! Invariant: the reader is pure and trusts no length; `fuzz/fuzz_targets/fatbin.rs` tries to prove that wrong.

use std::io::Read;

/// The first four bytes of an image, and the size of its header.
const MAGIC: u32 = 0xba55_ed50;
const HEADER_BYTES: usize = 16;
/// Kinds of entries, as their headers number them.
const PTX: u16 = 1;
const MACHINE_CODE: u16 = 2;
/// Flags of an entry: how its payload is compressed.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The smallest header of an entry.
const ENTRY_BYTES: usize = 64;
/// The longest PTX that is unpacked; far more than any compiler writes.
const LONGEST_TEXT: usize = 1 << 30;

/// Why an image cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FatbinError {
    /// Not an image, or not a whole one.
    #[error("damaged fat binary: {what} at byte {at}")]
    Damaged {
        /// The field or length that is wrong.
        what: &'static str,
        /// Offset in the image, in bytes.
        at: usize,
    },
    /// The payload of an entry cannot be unpacked.
    #[error("damaged fat binary: the PTX for sm_{sm} cannot be unpacked: {why}")]
    Unpacking {
        /// Architecture of the entry, as the number in `sm_75`.
        sm: u32,
        /// What the decompressor says.
        why: String,
    },
    /// Nothing in it can be executed here.
    #[error(
        "the program carries no PTX, only machine code{}: compile it with PTX in it, for example \
         `nvcc -arch=compute_75` or `-gencode arch=compute_75,code=compute_75`", listed(.0)
    )]
    NoPtx(
        /// The architectures of its machine code.
        Vec<u32>,
    ),
}

fn listed(architectures: &[u32]) -> String {
    let names: Vec<_> = architectures.iter().map(|sm| format!("sm_{sm}")).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// One entry of an image: code for one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    kind: u16,
    /// The architecture it is for, as the number in `sm_75`.
    pub sm: u32,
    flags: u64,
    unpacked_bytes: u64,
    payload: &'a [u8],
}

impl Entry<'_> {
    /// True for PTX, false for machine code.
    pub fn is_ptx(&self) -> bool {
        self.kind == PTX
    }

    /// Its PTX, unpacked.
    pub fn text(&self) -> Result<String, FatbinError> {
        let failed = |why: String| FatbinError::Unpacking { sm: self.sm, why };
        let size = usize::try_from(self.unpacked_bytes).ok().filter(|&size| size <= LONGEST_TEXT);
        let size = size.ok_or_else(|| failed(format!("it claims to have {} bytes", self.unpacked_bytes)))?;
        let mut bytes = match self.flags {
            flags if flags & ZSTD != 0 => {
                let mut bytes = Vec::new();
                let decoder = zstd::Decoder::new(self.payload).map_err(|e| failed(e.to_string()))?.single_frame();
                // Grows with what really comes out.
                decoder.take(LONGEST_TEXT as u64).read_to_end(&mut bytes).map_err(|e| failed(e.to_string()))?;
                bytes
            }
            flags if flags & LZ4 != 0 => {
                // One byte of input never gives more than 255.
                if size / 255 > self.payload.len() {
                    return Err(failed(format!("{} bytes cannot give {size}", self.payload.len())));
                }
                lz4_flex::block::decompress(self.payload, size).map_err(|e| failed(e.to_string()))?
            }
            _ => self.payload.to_vec(),
        };
        // What follows the text is padding.
        bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
        String::from_utf8(bytes).map_err(|_| failed("it is no text".into()))
    }
}

fn damaged(what: &'static str, at: usize) -> FatbinError {
    FatbinError::Damaged { what, at }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FatbinError> {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first_chunk().copied().ok_or(damaged("the end", bytes.len()))
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, FatbinError> {
    field(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, FatbinError> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, FatbinError> {
    field(bytes, at).map(u64::from_le_bytes)
}

/// The entries of all images in `bytes`, in order.
pub fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, FatbinError> {
    let mut list = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if u32_at(bytes, at)? != MAGIC {
            return Err(damaged("no image begins", at));
        }
        let header = usize::from(u16_at(bytes, at + 6)?).max(HEADER_BYTES);
        let size = usize::try_from(u64_at(bytes, at + 8)?).unwrap_or(usize::MAX);
        let begin = at + header;
        let end = begin.checked_add(size).filter(|&end| end <= bytes.len()).ok_or(damaged("an image too long", at))?;
        image(bytes, begin, end, &mut list)?;
        at = end.next_multiple_of(8);
    }
    Ok(list)
}

fn image<'a>(bytes: &'a [u8], begin: usize, end: usize, list: &mut Vec<Entry<'a>>) -> Result<(), FatbinError> {
    let bytes = &bytes[..end];
    let mut at = begin;
    while end - at >= ENTRY_BYTES {
        let kind = u16_at(bytes, at)?;
        let (header, padded, compressed) = (u32_at(bytes, at + 4)?, u32_at(bytes, at + 8)?, u32_at(bytes, at + 16)?);
        let (header, padded, compressed) = (header as usize, padded as usize, compressed as usize);
        if header < ENTRY_BYTES {
            return Err(damaged("an entry without a header", at));
        }
        let (from, stored) = (at + header, padded.max(compressed));
        let next = from.checked_add(stored).filter(|&next| next <= end).ok_or(damaged("an entry too long", at))?;
        let flags = u64_at(bytes, at + 40)?;
        let packed = flags & (LZ4 | ZSTD) != 0;
        let size = if packed && compressed > 0 { compressed } else { padded };
        list.push(Entry {
            kind,
            sm: u32_at(bytes, at + 28)?,
            flags,
            unpacked_bytes: if packed { u64_at(bytes, at + 56)? } else { size as u64 },
            payload: &bytes[from..from + size],
        });
        at = next;
    }
    Ok(())
}

/// The PTX for the newest architecture, with that architecture.
pub fn best_ptx(bytes: &[u8]) -> Result<(u32, String), FatbinError> {
    let entries = entries(bytes)?;
    // Of entries for the same architecture the first.
    let best = entries.iter().filter(|entry| entry.is_ptx()).rev().max_by_key(|entry| entry.sm);
    if let Some(entry) = best {
        return Ok((entry.sm, entry.text()?));
    }
    let code = entries.iter().filter(|entry| entry.kind == MACHINE_CODE);
    Err(FatbinError::NoPtx(code.map(|entry| entry.sm).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(kind: u16, sm: u32, flags: u64, payload: &[u8], unpacked: usize) -> Vec<u8> {
        let padded = payload.len().next_multiple_of(8);
        let compressed = if flags == 0 { 0 } else { payload.len() as u32 };
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(0x101u16.to_le_bytes());
        for word in [64, padded as u32, 0, compressed, 0, 0x90004, sm, 0, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(flags.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend((unpacked as u64).to_le_bytes());
        bytes.extend(payload);
        bytes.resize(64 + padded, 0);
        bytes
    }

    fn image_of(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    const TEXT: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

    fn zstd_of(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 3).expect("compressed")
    }

    #[test]
    fn ptx_is_found_plain_and_compressed() {
        let lz4 = lz4_flex::block::compress(TEXT.as_bytes());
        for (flags, payload) in [(0, TEXT.as_bytes().to_vec()), (LZ4, lz4), (ZSTD, zstd_of(TEXT))] {
            let bytes = image_of(&[entry(PTX, 75, flags, &payload, TEXT.len())]);
            assert_eq!(best_ptx(&bytes), Ok((75, TEXT.to_owned())), "flags {flags:#x}");
        }
    }

    #[test]
    fn the_newest_ptx_of_all_images_is_taken() {
        let one = image_of(&[entry(MACHINE_CODE, 90, 0, b"ELF", 0), entry(PTX, 75, 0, b"old", 0)]);
        let two = image_of(&[entry(PTX, 80, 0, b"new", 0), entry(PTX, 80, 0, b"other", 0)]);
        assert_eq!(best_ptx(&[one, two].concat()), Ok((80, "new".to_owned())));
    }

    #[test]
    fn machine_code_alone_names_the_flag_to_add() {
        let bytes = image_of(&[entry(MACHINE_CODE, 75, 0, b"ELF", 0), entry(MACHINE_CODE, 86, 0, b"ELF", 0)]);
        let error = best_ptx(&bytes).expect_err("no PTX").to_string();
        assert!(error.contains("(sm_75, sm_86)") && error.contains("-arch=compute_75"), "{error}");
    }

    #[test]
    fn damage_is_told() {
        let whole = image_of(&[entry(PTX, 75, LZ4, b"\xff\xff\xff", 1 << 20)]);
        assert!(matches!(best_ptx(&whole), Err(FatbinError::Unpacking { sm: 75, .. })));
        for end in 1..whole.len() {
            assert!(best_ptx(&whole[..end]).is_err(), "cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), patch: bool) {
            if patch && bytes.len() > 16 {
                bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
                let rest = (bytes.len() - 16) as u64;
                bytes[6..16].copy_from_slice(&[&[16, 0][..], &rest.to_le_bytes()].concat());
            }
            let _ = best_ptx(&bytes);
        }
    }
}
