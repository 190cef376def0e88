//! A stride prefetcher at L1, at L2 or at both, on the seam of cache prefetchers.
//!
//! The classic reference prediction table: an entry per load instruction remembers the line of its last access and the distance
//! to it, and once the distance has been the same again, the lines that follow are proposed (Chen and Baer, "Effective
//! Hardware-Based Data Prefetching for High-Performance Processors", IEEE Transactions on Computers 44(5), 1995). A GPU runs an
//! instruction in many warps at once, whose accesses are interleaved, so an entry is of one instruction in one warp unless it
//! is set otherwise (Lee et al., "Many-Thread Aware Prefetching Mechanisms for GPGPU Applications", MICRO 2010).
//!
//! ```
//! use strata_core::{LineAddr, WarpId};
//! use strata_prefetch::{Settings, Stride};
//! use strata_sim::cache::SectorMask;
//! use strata_sim::seam::{CacheAccess, CachePrefetcher, Outcome};
//! use strata_sim::time::Picos;
//!
//! let mut stride = Stride::new(&Settings::default());
//! let mut proposed = Vec::new();
//! for line in [10, 14, 18] {
//!     let access = CacheAccess {
//!         line: LineAddr(line),
//!         sectors: SectorMask::ALL,
//!         pc: 7,
//!         warp: WarpId(0),
//!         sm: 0,
//!         write: false,
//!         outcome: Outcome::Miss,
//!         prefetched: false,
//!         now: Picos(0),
//!     };
//!     stride.accessed(&access, &mut proposed);
//! }
//! assert_eq!(proposed.iter().map(|p| p.line.0).collect::<Vec<_>>(), [22, 26]);
//! ```
//!
//! Invariants: a proposal costs nothing but the look at one entry; the table has a fixed size; nothing depends on chance.

mod mechanism;
mod settings;
mod stride;

pub use mechanism::register;
pub use settings::{SETTINGS, Settings};
pub use stride::Stride;
