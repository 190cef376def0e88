//! Buddy Compression (Choukse et al., ISCA 2020): a GPU memory that holds more than it is large.
//!
//! An allocation gets a [`Target`] ratio, and of each of its 128-byte entries only the first `128 / target` bytes have a
//! place in device memory. An entry that compresses that far is there whole; the other sectors of one that does not are in
//! *buddy memory* behind a link. Nothing ever moves when the compressibility of data changes.
//!
//! ```
//! use strata_buddy::{Allocation, Design, EntryState, Histogram, Profile, Rule, Target};
//! use strata_core::Bytes;
//!
//! // Two snapshots of one allocation: all zero at the start, half of each entry at the end.
//! let snapshots = [EntryState::Zero, EntryState::B64].map(|state| std::iter::repeat_n(state, 1000).collect());
//! let allocation = Allocation { name: "wave".into(), bytes: Bytes(128_000), snapshots: snapshots.into() };
//! let choice = Profile::new([allocation]).choose(Design::PerAllocation, &Rule::default());
//! assert_eq!(choice.targets.get("wave"), Target::X2);
//! assert_eq!((choice.outcome.ratio(), choice.outcome.buddy_accesses()), (2.0, 0.0));
//! ```

mod allocations;
mod annotations;
mod annotator;
mod entry;
mod profile;
pub mod settings;
mod side;
mod states;
mod target;

pub use allocations::Allocations;
pub use annotations::Targets;
pub use annotator::{Annotator, Refused};
pub use entry::{EntryState, Split};
pub use profile::{Allocation, Choice, Design, Histogram, Outcome, Profile, Rule};
pub use side::{CompressedSide, Purpose};
pub use target::{Target, UnknownTarget};
