//! The vocabulary that every room of StrataSim shares, and nothing else.
//!
//! What lives here:
//!
//! * [`addr`]: what an address, a size and a launch shape are ([`Addr`], [`Bytes`], [`Dim3`]);
//! * [`advice`]: what a program says about the use of its memory ([`Advice`]);
//! * [`host_event`]: what the host does ([`HostEvent`]);
//! * [`op`]: what a warp does, as seen from outside the warp ([`OpInfo`], [`WarpOp`], [`OpBatch`], [`WarpSource`]);
//! * [`image`]: what a texture is ([`Image`], [`Texture`]);
//! * [`count`]: how much was executed ([`Counts`]);
//! * [`stats`]: what a run reports, by path, with unit and description ([`Stats`]);
//! * [`random`]: chance that is the same on every machine ([`SplitMix64`](random::SplitMix64));
//! * [`config`]: reading what people write in TOML, all errors at once;
//! * [`settings`]: what can be set of a mechanism;
//! * [`text`], [`files`], [`fnv`]: columns for people, files that are there whole or not at all, checksums;
//! * [`prefetch()`]: a hint to the caches of the host;
//! * [`nearest`]: "did you mean …", for every name that people type.
//!
//! Invariant: this crate depends on no other crate of the workspace, knows neither PTX nor time, and never allocates on
//! a path that runs once per warp instruction.
//!
//! ```
//! use strata_core::{Addr, Dim3};
//!
//! let base = Addr(0x7_0000_0000);
//! assert_eq!(base.offset(4).line(), base.line());
//! assert_eq!(Dim3::from(64).count(), 64);
//! ```

pub mod addr;
pub mod advice;
pub mod config;
pub mod count;
pub mod file_error;
pub mod files;
pub mod fnv;
pub mod host_event;
pub mod image;
pub mod nearest;
pub mod op;
pub mod paged;
pub mod prefetch;
pub mod random;
pub mod settings;
pub mod stats;
pub mod text;

pub use addr::{Addr, Bytes, Dim3, LINE_BYTES, LineAddr, SECTOR_BYTES};
pub use advice::Advice;
pub use count::Counts;
pub use host_event::{AllocFlags, Allocation, AllocationId, HostEvent};
pub use image::{AddressMode, Channel, Format, Image, Texture};
pub use op::{
    Access, AddressSet, GridSource, LANES, LaneMask, Nearness, OpBatch, OpClass, OpInfo, OpKind, Pattern, Space, Stop,
    WarpId, WarpOp, WarpSource, WatchPoint,
};
pub use paged::Paged;
pub use prefetch::prefetch;
pub use stats::Stats;
