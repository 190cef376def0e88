//! The bytes of a memory, of which only those that were written take room on the host.

use std::ops::Range;

/// Bytes that are kept together.
const CHUNK: u64 = 4096;

/// A memory of bytes that begin as zero.
#[derive(Clone, Default)]
pub(super) struct Store {
    chunks: Vec<Option<Box<[u8; CHUNK as usize]>>>,
}

/// What one chunk has of a range of addresses.
struct Piece {
    chunk: usize,
    /// Bytes of the chunk.
    within: Range<usize>,
    /// Bytes of the range.
    of_range: Range<usize>,
}

/// The range of `length` bytes that begins at `at`, chunk by chunk.
fn pieces(at: u64, length: u64) -> impl Iterator<Item = Piece> {
    let end = at + length;
    (at / CHUNK..end.div_ceil(CHUNK)).map(move |chunk| {
        let (from, to) = (at.max(chunk * CHUNK), end.min((chunk + 1) * CHUNK));
        let relative = |base: u64| (from - base) as usize..(to - base) as usize;
        Piece { chunk: chunk as usize, within: relative(chunk * CHUNK), of_range: relative(at) }
    })
}

impl Store {
    /// Copies what begins at `at`.
    pub(super) fn read(&self, at: u64, out: &mut [u8]) {
        for piece in pieces(at, out.len() as u64) {
            let out = &mut out[piece.of_range];
            match self.chunks.get(piece.chunk) {
                Some(Some(bytes)) => out.copy_from_slice(&bytes[piece.within]),
                _ => out.fill(0),
            }
        }
    }

    /// Overwrites what begins at `at`.
    pub(super) fn write(&mut self, at: u64, data: &[u8]) {
        for piece in pieces(at, data.len() as u64) {
            if piece.chunk >= self.chunks.len() {
                self.chunks.resize(piece.chunk + 1, None);
            }
            let bytes = self.chunks[piece.chunk].get_or_insert_with(|| Box::new([0; CHUNK as usize]));
            bytes[piece.within].copy_from_slice(&data[piece.of_range]);
        }
    }

    /// Makes `length` bytes zero again.
    pub(super) fn clear(&mut self, at: u64, length: u64) {
        for piece in pieces(at, length) {
            let Some(chunk) = self.chunks.get_mut(piece.chunk) else { return };
            if piece.within.len() as u64 == CHUNK {
                *chunk = None;
            } else if let Some(bytes) = chunk {
                bytes[piece.within].fill(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_across_chunks_come_back_and_can_be_cleared() {
        let mut store = Store::default();
        let data: Vec<u8> = (0..10_000).map(|i| (i % 251) as u8).collect();
        store.write(3 * CHUNK - 100, &data);
        let mut back = vec![0xff; 10_000];
        store.read(3 * CHUNK - 100, &mut back);
        assert_eq!(back, data);
        store.clear(3 * CHUNK, 2 * CHUNK);
        store.read(3 * CHUNK - 100, &mut back);
        assert_eq!(back[..100], data[..100]);
        assert!(back[100..100 + 2 * CHUNK as usize].iter().all(|&byte| byte == 0));
        assert_eq!(back[100 + 2 * CHUNK as usize..], data[100 + 2 * CHUNK as usize..]);
    }

    #[test]
    fn what_was_never_written_is_zero_and_takes_no_room() {
        let mut store = Store::default();
        store.clear(1 << 40, 1 << 20);
        let mut back = [7; 32];
        store.read(1 << 40, &mut back);
        assert_eq!((back, store.chunks.len()), ([0; 32], 0));
    }
}
