//! CMD, a cache-assisted deduplication of GPU memory (Zhao et al.), and the schemes that its paper compares it with.

mod area;
mod bcd;
pub mod block;
pub mod dedup;
mod fifo;
mod fingerprint;
mod hash_store;
mod paged;
mod requests;
pub mod settings;
mod side;
mod study;

pub use area::Area;
pub use bcd::BcdSide;
pub use fifo::ReadOnlyFifo;
pub use fingerprint::{Fingerprint, repeated_word};
pub use requests::WrittenSectors;
pub use side::DedupSide;
