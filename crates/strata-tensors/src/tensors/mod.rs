//! Files of data as named tensors, read from front to back in chunks: `.safetensors`, `.npy`, `.npz`, and anything else
//! as one tensor that is named after the file.
//!
//! Invariants:
//!
//! * A file is never held in memory, packed or unpacked, and never mapped into it: somebody else may cut a file while it is
//!   read, which is an error here and would end the program there.
//! * A file is hostile. What a header says is compared with the file before anything is read or allocated by it: tensors
//!   lie inside the file, do not overlap, and are at most [`MOST_TENSORS`]; headers have at most [`MOST_HEADER_BYTES`]. What
//!   is packed unpacks to at most 1032 times its size, each byte of the file once.
//! * An error names the file, the byte, the cause and the cure.
//!
//! ```
//! use std::io::Cursor;
//! use strata_tensors::tensors::{Format, TensorFile};
//!
//! let mut file = TensorFile::new("dump.bin", Format::Raw, Cursor::new(vec![7; 300])).expect("any bytes are a dump");
//! assert_eq!((file.tensors()[0].name.as_str(), file.tensors()[0].bytes), ("dump.bin", 300));
//! let mut buffer = [0; 256];
//! let chunk = file.next_chunk(&mut buffer).expect("it is readable").expect("there is one");
//! assert_eq!((chunk.tensor, chunk.at, chunk.bytes), (0, 0, 256));
//! ```

mod error;
mod npz;
mod safetensors;
#[cfg(test)]
mod tests;
mod unpack;
mod write;

pub use error::TensorError;
pub use write::write_safetensors;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use strata_run::LabError;
use strata_run::launch_file::open_regular;
use strata_run::npy;
use unpack::{Packing, Unpacker};

/// Tensors that a file may have: several times as many as the largest models have in all their files together.
pub const MOST_TENSORS: usize = 1 << 18;

/// Bytes of a header, or of the directory of an archive: the limit of the safetensors library itself.
pub const MOST_HEADER_BYTES: u64 = 100_000_000;

/// How a file is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Hugging Face's format: a header in JSON, then the tensors.
    Safetensors,
    /// One NumPy array.
    Npy,
    /// A ZIP archive of them.
    Npz,
    /// Bytes as they are.
    Raw,
}

impl Format {
    /// The format that a file's name promises.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("safetensors") => Self::Safetensors,
            Some("npy") => Self::Npy,
            Some("npz") => Self::Npz,
            _ => Self::Raw,
        }
    }
}

/// One tensor of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name; in a file no two are the same.
    pub name: String,
    /// Its size, unpacked.
    pub bytes: u64,
    packing: Packing,
}

/// A piece of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its index in [`TensorFile::tensors`].
    pub tensor: usize,
    /// Where in the tensor it begins.
    pub at: u64,
    /// Its size.
    pub bytes: usize,
}

/// A file of tensors, read from front to back.
#[derive(Debug)]
pub struct TensorFile<R> {
    source: Source<R>,
    tensors: Vec<Tensor>,
    /// The tensor that is read, if there is one left.
    current: usize,
    /// How much of it was read; `None` before its first byte.
    unpacker: Option<(Unpacker, u64)>,
}

impl TensorFile<File> {
    /// Opens a file and reads what it says of its tensors.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let file = open_regular(path).map_err(|source| LabError::io("read", path, source))?;
        Ok(Self::new(&path.display().to_string(), Format::of(path), file)?)
    }
}

impl<R: Read + Seek> TensorFile<R> {
    /// The tensors of `reader`, which errors call `path`.
    pub fn new(path: &str, format: Format, mut reader: R) -> Result<Self, TensorError> {
        let length = reader.seek(SeekFrom::End(0));
        let mut source = Source { path: path.to_owned(), reader, length: 0 };
        source.length = length.map_err(|error| source.unreadable(0, &error))?;
        let name = Path::new(path).file_name().map_or_else(|| path.into(), |name| name.to_string_lossy());
        let tensors = match format {
            Format::Safetensors => safetensors::tensors(&mut source)?,
            Format::Npy => vec![single_array(&mut source, &name)?],
            Format::Npz => npz::tensors(&mut source)?,
            Format::Raw => {
                vec![Tensor {
                    name: name.into_owned(),
                    bytes: source.length,
                    packing: Packing::stored(0, source.length),
                }]
            }
        };
        Self::with(source, tensors)
    }

    /// Tensors that lie one behind the other in `reader`, by name and size; errors call it `path`.
    pub fn of(path: &str, tensors: Vec<(String, u64)>, reader: R) -> Result<Self, TensorError> {
        let length = tensors.iter().map(|(_, bytes)| bytes).sum();
        let mut start = 0;
        let stored = tensors.into_iter().map(|(name, bytes)| {
            let packing = Packing::stored(start, bytes);
            start += bytes;
            Tensor { name, bytes, packing }
        });
        let tensors = stored.collect();
        Self::with(Source { path: path.to_owned(), reader, length }, tensors)
    }

    fn with(source: Source<R>, tensors: Vec<Tensor>) -> Result<Self, TensorError> {
        let mut names = BTreeSet::new();
        if let Some(twice) = tensors.iter().find(|tensor| !names.insert(tensor.name.as_str())) {
            let cause = format!("two tensors are called `{}`", twice.name);
            return Err(source.error(twice.packing.start(), cause, "give each a name of its own"));
        }
        Ok(Self { source, tensors, current: 0, unpacker: None })
    }

    /// Its tensors, in the order in which their bytes come.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Bytes of all tensors.
    pub fn bytes(&self) -> u64 {
        self.tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.bytes))
    }

    /// Reads the next bytes into `buffer`: as many as it holds, which must not be none, or what is left of a tensor; `None`
    /// after the last. A tensor without bytes has no chunks.
    pub fn next_chunk(&mut self, buffer: &mut [u8]) -> Result<Option<Chunk>, TensorError> {
        while let Some(tensor) = self.tensors.get(self.current) {
            let (unpacker, done) = match &mut self.unpacker {
                Some(open) => open,
                none => none.insert((Unpacker::at_data(&mut self.source, &tensor.packing)?, 0)),
            };
            if *done == tensor.bytes {
                unpacker.finish(&self.source, &tensor.packing)?;
                self.unpacker = None;
                self.current += 1;
                continue;
            }
            let bytes = usize::try_from(tensor.bytes - *done).unwrap_or(usize::MAX).min(buffer.len());
            unpacker.fill(&mut self.source, &mut buffer[..bytes])?;
            let chunk = Chunk { tensor: self.current, at: *done, bytes };
            *done += bytes as u64;
            return Ok(Some(chunk));
        }
        Ok(None)
    }
}

fn single_array<R: Read + Seek>(source: &mut Source<R>, name: &str) -> Result<Tensor, TensorError> {
    source.go_to(0)?;
    let layout = npy::read_layout(&mut source.reader);
    let layout = layout.map_err(|error| {
        source.error(0, error.to_string(), "a file whose name does not end in `.npy` is read as raw bytes")
    })?;
    let start = source.reader.stream_position().map_err(|error| source.unreadable(0, &error))?;
    let (promised, held) = (layout.bytes(), source.length.saturating_sub(start));
    source.check_array(start, promised, held)?;
    Ok(Tensor { name: name.to_owned(), bytes: promised, packing: Packing::stored(start, promised) })
}

/// The bytes of a file, and its name for errors.
#[derive(Debug)]
struct Source<R> {
    path: String,
    reader: R,
    length: u64,
}

impl<R> Source<R> {
    fn error(&self, offset: u64, cause: impl Into<String>, cure: &'static str) -> TensorError {
        // Names of tensors are hostile too: they shall not steer a terminal.
        let cause = cause.into().replace(char::is_control, "\u{fffd}");
        TensorError { path: self.path.clone(), offset, cause, cure }
    }

    fn unreadable(&self, offset: u64, error: &std::io::Error) -> TensorError {
        self.error(offset, format!("it cannot be read: {error}"), "see that the file is there whole")
    }

    /// An array is as long as its header says.
    fn check_array(&self, start: u64, promised: u64, held: u64) -> Result<(), TensorError> {
        if promised == held {
            return Ok(());
        }
        let cause = format!("the header promises an array of {promised} bytes, {held} follow");
        Err(self.error(start, cause, "save it again with `numpy.save`; a copy may have been cut off"))
    }
}

impl<R: Read + Seek> Source<R> {
    fn go_to(&mut self, offset: u64) -> Result<(), TensorError> {
        let gone = self.reader.seek(SeekFrom::Start(offset));
        gone.map(|_| ()).map_err(|error| self.unreadable(offset, &error))
    }

    /// Reads exactly the bytes at `offset`.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), TensorError> {
        self.go_to(offset)?;
        self.reader.read_exact(into).map_err(|error| self.unreadable(offset, &error))
    }

    /// Reads bytes at `offset` whose number the file itself gives, and which are known to lie in it.
    fn read_header(&mut self, offset: u64, bytes: u64) -> Result<Vec<u8>, TensorError> {
        debug_assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.length));
        let mut header = vec![0; bytes as usize];
        self.read(offset, &mut header)?;
        Ok(header)
    }
}
