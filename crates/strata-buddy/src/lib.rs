//! Buddy Compression (Choukse et al., ISCA 2020): a GPU memory that holds more than it is large.
//!
//! An allocation gets a [`Target`] ratio, and of each of its 128-byte entries only the first `128 / target` bytes have a
//! place in device memory. An entry that compresses that far is there whole; the other sectors of one that does not are in
//! *buddy memory* behind a link. Nothing ever moves when the compressibility of data changes.
//!
//! The profiler chooses targets from snapshots:
//!
//! ```
//! use strata_buddy::{Allocation, Design, EntryState, Histogram, Profile, Rule, Target};
//! use strata_core::Bytes;
//!
//! // Two snapshots of one allocation of 64 pages: all zero at the start, half of each entry at the end.
//! let snapshots = [EntryState::Zero, EntryState::B64].map(|state| std::iter::repeat_n(state, 1000).collect());
//! let allocation = Allocation { name: "wave".into(), bytes: Bytes(128 << 20), snapshots: snapshots.into() };
//! let choice = Profile::new([allocation]).choose(Design::PerAllocation, &Rule::default());
//! assert_eq!(choice.targets.get("wave"), Target::X2);
//! assert_eq!((choice.outcome.ratio(), choice.outcome.buddy_accesses()), (2.0, 0.0));
//! ```
//!
//! [`BuddyMemory`] is the mechanism without time, as a memory that holds bytes:
//!
//! ```
//! use strata_buddy::memory::MemoryConfig;
//! use strata_buddy::{BuddyMemory, EntryState, Target};
//! use strata_core::Bytes;
//!
//! // 1 MiB of device memory with pages of 64 KiB, and a carve-out of 3 MiB.
//! let mut memory = BuddyMemory::new(MemoryConfig::new(Bytes(1 << 20), Bytes(64 << 10)))?;
//! // Twice as much data as would fit otherwise: of each 128 bytes, 64 have their place in device memory.
//! let start = memory.alloc(Bytes(1 << 20), Target::X2)?;
//! assert_eq!((memory.device_used(), memory.buddy_used()), (Bytes(512 << 10), Bytes(512 << 10)));
//!
//! memory.write(start.offset(1000), b"some text")?;
//! let mut text = [0; 9];
//! memory.read(start.offset(1000), &mut text)?;
//! assert_eq!(&text, b"some text");
//! assert_eq!(memory.state(start)?, EntryState::Zero);
//! // Three sectors: the third of them is in buddy memory.
//! assert_eq!(memory.state(start.offset(1000))?, EntryState::B96);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod allocations;
mod annotations;
mod annotator;
pub mod caching;
pub mod counts;
mod crossings;
mod entry;
mod mechanism;
pub mod memory;
pub mod observation;
pub mod places;
mod profile;
mod profiled;
pub mod settings;
mod shadow;
mod share;
mod side;
mod states;
mod target;

pub use allocations::Allocations;
pub use annotations::Targets;
pub use annotator::{Annotator, Refused};
pub use crossings::{Crossings, Watch};
pub use entry::{EntryState, Split};
pub use mechanism::{read_targets, register};
pub use memory::BuddyMemory;
pub use profile::{Allocation, Choice, Design, Histogram, Measure, Outcome, Profile, Rule};
pub use profiled::SNAPSHOTS;
pub use shadow::SHADOW_KIB;
pub use side::{CompressedSide, Purpose};
pub use target::{Target, UnknownTarget};
