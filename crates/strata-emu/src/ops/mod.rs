//! What instructions do that is more than one function per lane.

pub(crate) mod atomic;
pub(crate) mod built_in;
pub(crate) mod collective;
pub(crate) mod device_runtime;
pub(crate) mod frame;
pub(crate) mod local;
pub(crate) mod matrix;
pub(crate) mod matrix_memory;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod moves;
mod pattern;
pub(crate) mod special;
pub(crate) mod surface;
pub(crate) mod texture;
