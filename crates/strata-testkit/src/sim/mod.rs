//! What needs the machine (feature `sim`): chains of memory sides, whole machines, and random operations on either with data
//! checked.
//!
//! * [`Chain`]: memory sides without a machine; asks, and shows the plan ([`brief`], [`dram_moves`]).
//! * [`Rig`]: a machine and the memory of the programs that run on it.
//! * [`Traffic`]: random operations through a chain or a rig, until the first wrong byte.

mod chain;
mod plan;
mod rig;
mod traffic;

pub use chain::{AskedBelow, Chain};
pub use plan::{brief, dram_moves};
pub use rig::{Rig, counted};
pub use traffic::{Fault, Traffic, Wrong};
