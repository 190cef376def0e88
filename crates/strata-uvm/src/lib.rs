//! Unified memory: managed pages that migrate between host and device when they are touched.
//!
//! [`Uvm`] sits on the paging seam of `strata-sim` and has two sets of rules: those of UVMSmart, the baseline simulator of the
//! prefetching paper, with its artefacts, and those of NVIDIA's open kernel driver. Both share the pages (`space`), the two
//! directions of PCI Express (`pcie`, `transfer`), the [`prefetch`]ers, the eviction policies (`evict`) and the rules of
//! placement (`place`); they differ in how faults become batches (`faults`, `service`) and in what host accesses do (`host`).
//!
//! Invariants: states are dense arrays, so an access costs no hashing; a direction carries one transfer at a time; pages that
//! requests are under way to never leave; whoever waits for a page goes on when it comes, or walks again.
//!
//! ```
//! use strata_core::{Addr, Allocation, Bytes, HostEvent, settings::Settings};
//! use strata_sim::seam::Paging;
//! use strata_uvm::{Config, Machine, SETTINGS, Uvm};
//!
//! let set = ["uvm.prefetcher=tree", "uvm.device_memory=48MB"];
//! let config = Config::new(&Settings::read("uvm", SETTINGS, &set).expect("good values")).expect("they go together");
//! let machine = Machine { core_khz: 1_481_000, sms_per_tpc: 1, memory: Bytes(11 << 30) };
//! let mut uvm = Uvm::new(config, machine, Addr(0)..Addr(1 << 40), None).expect("no predictor is needed");
//! let call = HostEvent::Alloc(Allocation::on_device(0, "A", Addr(0), Bytes(64 << 20)));
//! uvm.host(&call, strata_sim::time::Picos(0), &mut Vec::new());
//! assert_eq!(uvm.space().allocations()[0].pages, 0..16384);
//! ```

mod evict;
mod faults;
mod gate;
pub mod geometry;
mod gmmu_file;
mod host;
mod learned;
mod list;
mod mechanism;
mod model;
mod page_heat;
pub mod pcie;
mod place;
mod predictions;
pub mod prefetch;
pub mod record;
mod recorded;
pub mod series;
mod server;
mod service;
pub mod settings;
mod space;
pub mod stats;
#[cfg(test)]
mod tests;
mod transfer;
mod uses;

pub use mechanism::register;
pub use model::{Fullest, Handle, Machine, Uvm};
pub use prefetch::Predictor;
pub use record::GmmuRequest;
pub use settings::{Config, Model, SETTINGS};
pub use space::{Allocation, Space};
pub use stats::Counts;
