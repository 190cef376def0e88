//! Buddy Compression (Choukse et al., ISCA 2020): a GPU memory that holds more than it is large.
//!
//! An allocation gets a [`Target`] ratio, and of each of its 128-byte entries only the first `128 / target` bytes have a
//! place in device memory. An entry that compresses that far is there whole; the other sectors of one that does not are in
//! *buddy memory* behind a link. Nothing ever moves when the compressibility of data changes.

mod allocations;
mod entry;
pub mod settings;
mod side;
mod states;
mod target;

pub use allocations::Allocations;
pub use entry::{EntryState, Split};
pub use side::{CompressedSide, Purpose};
pub use target::{Target, UnknownTarget};
