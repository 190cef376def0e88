//! The frame that every part of a file stands in: kind, lengths, checksum, compressed contents.
//!
//! ```text
//! frame := kind (1 byte), length of the contents (4), length as stored (4), CRC-32 of these and of the stored bytes
//!          (4), stored bytes: one zstd frame; all integers little-endian
//! ```

use crate::cta::MAX_CTA_BYTES;
use crate::error::TraceError;
use std::io::{self, Read, Seek, SeekFrom, Write};
use zstd::bulk::{Compressor, Decompressor};

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Origin = b'O',
    Table = b'T',
    Ctas = b'C',
    Launch = b'L',
    Index = b'I',
}

/// Bytes before the stored ones.
pub(crate) const FRAME_BYTES: u64 = 13;
/// The most a frame can hold: one CTA at its largest, and what stands before it in its block.
const MAX_CONTENTS: u32 = MAX_CTA_BYTES as u32 * 2;
/// zstd stores a run of 128 KiB in 4 bytes: no honest frame grows by more than this.
const MAX_GROWTH: u64 = 1 << 15;
/// Level 9 gained nothing on delta-coded records when the libraries were compared.
const LEVEL: i32 = 1;

fn checksum(kind: u8, lengths: [u32; 2], stored: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    for length in lengths {
        hasher.update(&length.to_le_bytes());
    }
    hasher.update(stored);
    hasher.finalize()
}

/// Compresses and writes frames.
pub(crate) struct FrameWriter<W> {
    pub(crate) out: W,
    compressor: Compressor<'static>,
    /// Bytes written so far.
    pub(crate) offset: u64,
}

impl<W: Write> FrameWriter<W> {
    pub(crate) fn new(out: W) -> Result<Self, TraceError> {
        let compressor = Compressor::new(LEVEL).map_err(TraceError::Write)?;
        Ok(Self { out, compressor, offset: 0 })
    }

    /// Writes bytes as they are.
    pub(crate) fn plain(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.out.write_all(bytes).map_err(TraceError::Write)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes a frame; returns where it begins.
    pub(crate) fn frame(&mut self, kind: Kind, contents: &[u8]) -> Result<u64, TraceError> {
        let begin = self.offset;
        let too_large = || TraceError::Stream(format!("a part of {} bytes is too large for a trace", contents.len()));
        let length = u32::try_from(contents.len()).ok().filter(|&n| n <= MAX_CONTENTS).ok_or_else(too_large)?;
        let stored = self.compressor.compress(contents).map_err(TraceError::Write)?;
        let lengths = [length, stored.len() as u32];
        let sum = checksum(kind as u8, lengths, &stored);
        self.plain(&[kind as u8])?;
        for number in [lengths[0], lengths[1], sum] {
            self.plain(&number.to_le_bytes())?;
        }
        self.plain(&stored)?;
        Ok(begin)
    }
}

/// Reads frames at any place.
pub(crate) struct FrameReader<R> {
    input: R,
    decompressor: Decompressor<'static>,
    /// Bytes of the file.
    pub(crate) length: u64,
}

impl<R: Read + Seek> FrameReader<R> {
    pub(crate) fn new(mut input: R) -> Result<Self, TraceError> {
        let length = input.seek(SeekFrom::End(0)).map_err(TraceError::Read)?;
        let decompressor = Decompressor::new().map_err(TraceError::Read)?;
        Ok(Self { input, decompressor, length })
    }

    /// Reads `N` bytes at `offset`.
    pub(crate) fn plain<const N: usize>(&mut self, offset: u64) -> Result<[u8; N], TraceError> {
        let mut bytes = [0; N];
        self.input.seek(SeekFrom::Start(offset)).map_err(TraceError::Read)?;
        self.read(offset, &mut bytes)?;
        Ok(bytes)
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), TraceError> {
        self.input.read_exact(bytes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => damaged(offset, "the file ends here".into()),
            _ => TraceError::Read(e),
        })
    }

    /// The contents of the frame at `offset`, which must be of `kind`.
    pub(crate) fn frame(&mut self, kind: Kind, offset: u64) -> Result<Vec<u8>, TraceError> {
        if offset.checked_add(FRAME_BYTES).is_none_or(|end| end > self.length) {
            return Err(damaged(offset, format!("the file has {} bytes", self.length)));
        }
        let head: [u8; FRAME_BYTES as usize] = self.plain(offset)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, stored_length, sum) = (word(1), word(5), word(9));
        if head[0] != kind as u8 {
            let (wanted, found) = (char::from(kind as u8), head[0].escape_ascii());
            return Err(damaged(offset, format!("a block `{wanted}` must stand here, not `{found}`")));
        }
        let left = self.length - offset - FRAME_BYTES;
        if u64::from(stored_length) > left {
            return Err(damaged(offset, format!("a block of {stored_length} bytes, {left} are left in the file")));
        }
        if length > MAX_CONTENTS || u64::from(length) > u64::from(stored_length) * MAX_GROWTH {
            return Err(damaged(offset, format!("{stored_length} bytes that claim to hold {length}")));
        }
        let mut stored = vec![0; stored_length as usize];
        self.read(offset, &mut stored)?;
        if checksum(head[0], [length, stored_length], &stored) != sum {
            return Err(damaged(offset, "the checksum is wrong".into()));
        }
        let contents = self.decompressor.decompress(&stored, length as usize);
        let contents = contents.map_err(|e| damaged(offset, format!("it does not decompress: {e}")))?;
        if contents.len() != length as usize {
            return Err(damaged(offset, format!("it holds {} bytes, not {length}", contents.len())));
        }
        Ok(contents)
    }
}

pub(crate) fn damaged(offset: u64, cause: String) -> TraceError {
    TraceError::Damaged { offset, cause }
}
