//! The device as a program sees it: allocations, copies, launches.
//!
//! A [`Device`] is what workloads, launch files and the CUDA runtime drive. Behind it stands an [`Engine`]: functional,
//! timed or recording. The device turns every call into one [`HostEvent`], in program order, and nothing else reaches
//! a mechanism.
//!
//! Invariant: this crate knows neither PTX nor time; a module is text that the engine understands.

mod around;
mod device;
mod engine;
mod script;

pub use around::Around;
pub use device::{Arg, Device};
pub use engine::{
    CopyReport, Engine, HostError, KernelResources, KernelShape, Launch, LaunchReport, ModuleId, ParamShape, Submitted,
    SymbolAddress,
};
pub use script::Script;
pub use strata_core::{AllocFlags, Allocation, AllocationId, HostEvent};
