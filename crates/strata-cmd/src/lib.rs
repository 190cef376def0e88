//! CMD, a cache-assisted deduplication of GPU memory (Zhao et al.), and the schemes that its paper compares it with.
//!
//! [`dedup::Dedup`] is the memory itself, without time: which block's bytes are where. [`DedupSide`] puts it behind L2, with
//! its metadata caches, hash unit and copies from L2; [`SectorSide`] deduplicates single sectors; [`ReadOnlyFifo`] stands
//! beside an L2 slice; [`BcdSide`] is another way to store lines; [`Guard`] is not in the paper. What each scheme has is in [`settings`].
//!
//! Invariants: data never change, whatever is shared, moved or freed; counts equal the blocks that they count; a hash that is
//! not trusted is compared. The simulation's own key is never trusted.
//!
//! ```
//! use strata_cmd::Fingerprint;
//! use strata_cmd::dedup::{At, Dedup, Outcome, Rules};
//! use strata_sim::cache::SectorMask;
//!
//! let rules = Rules {
//!     intra: true,
//!     fingerprint: Fingerprint::Md5,
//!     verify: false,
//!     entries: 2234,
//!     max_count: 65535,
//!     spill: 1 << 40,
//! };
//! let mut memory = Dedup::new(rules);
//! let line = std::array::from_fn(|k| k as u8);
//! let all = SectorMask::ALL;
//! assert_eq!(memory.write(1, all, &line).outcome, Outcome::Stored(At { place: 1, sectors: all }));
//! assert_eq!(memory.write(2, all, &line).outcome, Outcome::Inter);
//! assert_eq!(memory.write(3, all, &[7; 128]).outcome, Outcome::Intra);
//! // Line 1 changes: its old bytes stay where they are, for line 2.
//! let other = [&line[64..], &line[..64]].concat().try_into().unwrap();
//! memory.write(1, all, &other);
//! assert_eq!(memory.read(2, all).place, Some(1));
//! ```

mod area;
mod bcd;
pub mod block;
pub mod dedup;
mod fifo;
mod fingerprint;
mod guard;
mod hash_store;
#[cfg(test)]
mod machine_tests;
mod mechanism;
mod request_table;
mod requests;
mod rereads;
mod sector_side;
pub mod settings;
mod side;
mod streams;
mod study;

pub use area::Area;
pub use bcd::BcdSide;
pub use fifo::ReadOnlyFifo;
pub use fingerprint::{Fingerprint, repeated_word};
pub use guard::Guard;
pub use mechanism::register;
pub use sector_side::SectorSide;
pub use side::DedupSide;
