//! The bytes of one tensor from the bytes of the file: as they are, or inflated; with the checksum of the archive.

use super::{Source, TensorError};
use flate2::{Decompress, FlushDecompress, Status};
use std::fmt;
use std::io::{Read, Seek};

/// Packed bytes that are read at once.
const PACKED_CHUNK: usize = 64 << 10;

const DAMAGED: &str = "the file is damaged; save or copy it again";

/// Where a tensor's bytes are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packing {
    start: u64,
    packed_bytes: u64,
    method: Method,
    /// Bytes before those of the tensor, once unpacked: the header of an array inside an archive.
    pub(super) skip: u64,
    /// CRC-32 of everything unpacked, if the file has one.
    crc: Option<u32>,
}

/// How bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
}

impl Packing {
    /// Bytes as they are, without checksum.
    pub(super) fn stored(start: u64, bytes: u64) -> Self {
        Self { start, packed_bytes: bytes, method: Method::Stored, skip: 0, crc: None }
    }

    /// A member of an archive.
    pub(super) fn member(start: u64, packed_bytes: u64, method: Method, crc: u32) -> Self {
        Self { start, packed_bytes, method, skip: 0, crc: Some(crc) }
    }

    /// The first byte in the file.
    pub(super) fn start(&self) -> u64 {
        self.start
    }
}

/// Unpacks a tensor, in pieces.
pub(super) struct Unpacker {
    /// The next byte to read from the file, and how many are left there.
    at: u64,
    left: u64,
    inflater: Option<Inflater>,
    crc: Option<crc32fast::Hasher>,
}

struct Inflater {
    state: Decompress,
    /// Packed bytes that were read from the file; those up to `used` were inflated.
    packed: Vec<u8>,
    used: usize,
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacker").field("at", &self.at).field("left", &self.left).finish_non_exhaustive()
    }
}

impl Unpacker {
    /// At the first byte that was packed.
    pub(super) fn new(packing: &Packing) -> Self {
        let inflater = Inflater { state: Decompress::new(false), packed: Vec::new(), used: 0 };
        Self {
            at: packing.start,
            left: packing.packed_bytes,
            inflater: (packing.method == Method::Deflated).then_some(inflater),
            crc: packing.crc.map(|_| crc32fast::Hasher::new()),
        }
    }

    /// At the first byte of the tensor.
    pub(super) fn at_data<R: Read + Seek>(source: &mut Source<R>, packing: &Packing) -> Result<Self, TensorError> {
        let mut unpacker = Self::new(packing);
        // A header of an array is short: it was held in memory before.
        let mut skipped = vec![0; packing.skip as usize];
        unpacker.fill(source, &mut skipped)?;
        Ok(unpacker)
    }

    /// The next bytes, exactly as many as fit.
    pub(super) fn fill<R: Read + Seek>(&mut self, source: &mut Source<R>, out: &mut [u8]) -> Result<(), TensorError> {
        if self.inflater.is_some() {
            self.inflate(source, out)?;
        } else {
            if (out.len() as u64) > self.left {
                return Err(source.error(self.at, "the packed data end too early", DAMAGED));
            }
            source.read(self.at, out)?;
            self.at += out.len() as u64;
            self.left -= out.len() as u64;
        }
        if let Some(crc) = &mut self.crc {
            crc.update(out);
        }
        Ok(())
    }

    fn inflate<R: Read + Seek>(&mut self, source: &mut Source<R>, mut out: &mut [u8]) -> Result<(), TensorError> {
        let Some(inflater) = &mut self.inflater else { return Ok(()) };
        while !out.is_empty() {
            if inflater.used == inflater.packed.len() && self.left > 0 {
                let bytes = self.left.min(PACKED_CHUNK as u64);
                inflater.packed.resize(bytes as usize, 0);
                inflater.used = 0;
                source.read(self.at, &mut inflater.packed)?;
                self.at += bytes;
                self.left -= bytes;
            }
            let (taken, given) = (inflater.state.total_in(), inflater.state.total_out());
            let step = inflater.state.decompress(&inflater.packed[inflater.used..], out, FlushDecompress::None);
            let taken = (inflater.state.total_in() - taken) as usize;
            let given = (inflater.state.total_out() - given) as usize;
            inflater.used += taken;
            out = &mut out[given..];
            // Nothing may be left to do before there is room for all that was promised.
            let ended = matches!(step, Ok(Status::StreamEnd)) || (taken == 0 && given == 0 && self.left == 0);
            if step.is_err() || (ended && !out.is_empty()) {
                let cause =
                    if step.is_err() { "the packed data are no deflate code" } else { "the packed data end too early" };
                return Err(source.error(self.at, cause, DAMAGED));
            }
        }
        Ok(())
    }

    /// After the last byte: is the checksum right?
    pub(super) fn finish<R>(&self, source: &Source<R>, packing: &Packing) -> Result<(), TensorError> {
        let found = self.crc.clone().map(crc32fast::Hasher::finalize);
        if found == packing.crc {
            return Ok(());
        }
        Err(source.error(
            packing.start,
            "the data from here on do not have the checksum that the archive says",
            DAMAGED,
        ))
    }
}
