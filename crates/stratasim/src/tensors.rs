//! Arrays of the interpreter through the codecs, where they lie.

use crate::{StrataError, background};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::ptr::NonNull;
use strata_lab::StopSign;
use strata_lab::compress::{Codec, Rule, compress_tensors};
use strata_lab::tensors::TensorFile;

/// What errors and results call memory.
const MEMORY: &str = "memory";

/// How compressible arrays are, as the JSON object of `strata compress`; `arrays` are names and contiguous buffers of bytes.
#[pyfunction]
pub(crate) fn compress(
    py: Python<'_>,
    arrays: Vec<(String, PyBuffer<u8>)>,
    codecs: Vec<String>,
    threshold: f64,
    tell: Bound<'_, PyAny>,
) -> PyResult<String> {
    let named = |name: &String| {
        Codec::ALL.into_iter().find(|codec| codec.name() == name).ok_or_else(|| {
            let all: Vec<_> = Codec::ALL.iter().map(|codec| codec.name()).collect();
            StrataError::new_err(format!("there is no codec `{name}`; there are {}", all.join(", ")))
        })
    };
    let asked = codecs.iter().map(named).collect::<PyResult<Vec<_>>>()?;
    let codecs: Vec<_> = Codec::ALL.into_iter().filter(|codec| asked.is_empty() || asked.contains(codec)).collect();
    let mut slices = Vec::new();
    for (name, buffer) in &arrays {
        let slice = buffer.as_slice_ptr();
        slices.push(slice.ok_or_else(|| StrataError::new_err(format!("`{name}` is not contiguous")))?);
    }
    let tensors = arrays.iter().map(|(name, buffer)| (name.clone(), buffer.len_bytes() as u64)).collect();
    let stop = StopSign::default();
    let (obeyed, share) = (stop.clone(), std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0)));
    let shared = std::sync::Arc::clone(&share);
    let tick = |_: Python<'_>| {
        let share = f64::from_bits(share.load(std::sync::atomic::Ordering::Relaxed));
        tell.call1((format!("{:.0} % of memory", share * 100.0), share)).map(drop)
    };
    let memory = Memory { slices, at: 0 };
    let measured = background::work(py, &stop, tick, move || {
        let file = TensorFile::of(MEMORY, tensors, memory).map_err(strata_lab::LabError::from)?;
        compress_tensors(file, Path::new(MEMORY), &codecs, Rule { threshold, ..Rule::default() }, &mut |progress| {
            obeyed.obey();
            let done = progress.done as f64 / progress.of.max(1) as f64;
            shared.store(done.to_bits(), std::sync::atomic::Ordering::Relaxed);
        })
    })?;
    // Until here the buffers are held: the worker has ended.
    drop(arrays);
    measured.map(|measured| measured.to_json().to_string()).map_err(|error| StrataError::new_err(error.to_string()))
}

/// Buffers one behind the other, as a file.
struct Memory {
    slices: Vec<NonNull<[u8]>>,
    at: u64,
}

// SAFETY: whoever made it holds the buffers until the thread that reads them has ended. Somebody who changes an array meanwhile gets
// the ratios of some mixture of old and new bytes: bytes are only copied from here, never referred to.
unsafe impl Send for Memory {}

impl Memory {
    fn length(&self) -> u64 {
        self.slices.iter().map(|slice| slice.len() as u64).sum()
    }
}

impl Read for Memory {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut begin = 0;
        for slice in &self.slices {
            let end = begin + slice.len() as u64;
            if self.at < end {
                let inside = (self.at - begin) as usize;
                let count = out.len().min(slice.len() - inside);
                // SAFETY: `inside + count` is at most the length of the slice, which is held (see `Send`); `out` is elsewhere, since
                // it is ours alone.
                unsafe {
                    let from = slice.cast::<u8>().as_ptr().add(inside);
                    std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), count);
                }
                self.at += count as u64;
                return Ok(count);
            }
            begin = end;
        }
        Ok(0)
    }
}

impl Seek for Memory {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
