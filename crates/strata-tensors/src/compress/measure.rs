//! One file through the codecs, on two threads.
//!
//! A file is read from front to back: a thread that has nothing to do takes the next chunk, while the other waits for the
//! file or works. What they count are sums, so it does not matter who counted what.

use super::HeatMap;
use crate::tensors::{Chunk, TensorError, TensorFile};
use std::io::{Read, Seek};
use std::sync::{Mutex, PoisonError};
use strata_buddy::counts::{ByteCounts, TensorCounts, entries};
use strata_codec::{Codec, ENTRY_BYTES};

/// Threads that compress.
const WORKERS: usize = 2;

/// Bytes that a thread takes at a time: whole entries, few enough to stay in its cache from codec to codec.
const CHUNK_BYTES: usize = 256 << 10;

/// What is counted of a file.
#[derive(Default)]
pub(super) struct Measured {
    /// In the order of its tensors.
    pub(super) tensors: Vec<TensorCounts>,
    pub(super) values: ByteCounts,
}

/// The file and how far it is read.
struct Feed<'a, R> {
    file: &'a mut TensorFile<R>,
    watch: &'a mut (dyn FnMut(u64) + Send),
    done: u64,
    /// Nothing more is read after an error.
    failed: bool,
}

impl<R: Read + Seek> Feed<'_, R> {
    fn next(&mut self, buffer: &mut [u8]) -> Result<Option<Chunk>, TensorError> {
        if self.failed {
            return Ok(None);
        }
        let chunk = self.file.next_chunk(buffer);
        self.failed = chunk.is_err();
        if let Ok(Some(chunk)) = &chunk {
            self.done += chunk.bytes as u64;
            (self.watch)(self.done);
        }
        chunk
    }
}

/// Measures all tensors of a file; `watch` is told how many bytes were read.
pub(super) fn measure<R: Read + Seek + Send>(
    file: &mut TensorFile<R>,
    codecs: &[Codec],
    map: Option<&HeatMap>,
    watch: &mut (dyn FnMut(u64) + Send),
) -> Result<Measured, TensorError> {
    // Where each tensor begins, in entries of the file.
    let mut next = 0;
    let mut first_entries = Vec::with_capacity(file.tensors().len());
    for tensor in file.tensors() {
        first_entries.push(next);
        next += entries(tensor.bytes);
    }
    let measured = Measured { tensors: vec![TensorCounts::default(); first_entries.len()], ..Measured::default() };
    let (measured, feed) = (Mutex::new(measured), Mutex::new(Feed { file, watch, done: 0, failed: false }));
    let work = || -> Result<(), TensorError> {
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut values = ByteCounts::default();
        loop {
            let chunk = feed.lock().unwrap_or_else(PoisonError::into_inner).next(&mut buffer)?;
            let Some(chunk) = chunk else { break };
            values.count(&buffer[..chunk.bytes]);
            // Only the last chunk of a tensor is not whole entries.
            let whole = chunk.bytes.next_multiple_of(ENTRY_BYTES);
            buffer[chunk.bytes..whole].fill(0);
            let first = first_entries[chunk.tensor] + chunk.at / ENTRY_BYTES as u64;
            let mut counts = TensorCounts::default();
            counts.count(buffer[..whole].as_chunks().0, codecs, |index, bytes| {
                if let Some(map) = map {
                    map.add(first + index as u64, bytes);
                }
            });
            measured.lock().unwrap_or_else(PoisonError::into_inner).tensors[chunk.tensor].merge(&counts);
        }
        measured.lock().unwrap_or_else(PoisonError::into_inner).values.merge(&values);
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let ended =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect::<Result<(), _>>()
    })?;
    Ok(measured.into_inner().unwrap_or_else(PoisonError::into_inner))
}
