//! Compressors of one memory entry: 128 bytes, the line of a GPU's L2 cache, in; fewer bits out.
//!
//! ```
//! use strata_codec::{Codec, ENTRY_BYTES, SizeClasses};
//!
//! // 32 numbers that grow by three: one delta, repeated.
//! let mut entry = [0; ENTRY_BYTES];
//! for (i, word) in entry.chunks_exact_mut(4).enumerate() {
//!     word.copy_from_slice(&(1000 + 3 * i as u32).to_le_bytes());
//! }
//! let size = Codec::Bpc.size(&entry);
//! assert_eq!(size.bits(), 34);
//! assert_eq!(SizeClasses::IDEAL.bytes(size), 8);
//!
//! let stored = Codec::Bpc.encode(&entry);
//! assert_eq!(stored.size(), size);
//! assert_eq!(stored.form().decode(stored.bytes()), Ok(entry));
//! ```
//!
//! What is stored of an entry is its code and, in the memory's metadata, the code's size class and its [`Form`]. The
//! form is there because three things cost nothing in any code and would cost bits in each: that an entry is all zero
//! (0 B), that it is stored as it is (128 B), and, in BDI, that one 8 B value is repeated (8 B). Together with the size
//! classes of Buddy Compression that makes at most twelve states, which fit the 4 bits per entry of the paper.
//!
//! Invariants:
//!
//! * Every codec gives back every entry: `encode`, then `decode`, is the identity.
//! * [`Codec::size`] is the size of what [`Codec::encode`] gives, without making it, and is at most 1024 bits.
//! * Decoding never panics, whatever the bytes; bytes after the end of a code are ignored, so a code may be padded.
//!   Decoding is no integrity check: a damaged code may decode to something else.
//! * The same bits on every machine: code for vector registers is the portable code, compiled once more (see `lanes`).
//!
//! Deliberately absent: memory, metadata, time and the rest of the simulator. This crate knows none of the others.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for the processor that `cpu` chose")]

mod bits;
mod codec;
mod codes;
mod cpu;
mod lanes;
mod size;
mod words;

pub use codec::{Codec, DecodeError, Encoded, Form, Scheme, UnknownCodec};
pub use size::{Size, SizeClasses};

/// Bytes of a memory entry: a line of the L2 cache, the paper's compression granularity (Buddy Compression, section III).
pub const ENTRY_BYTES: usize = 128;

/// One memory entry, uncompressed.
pub type Entry = [u8; ENTRY_BYTES];
