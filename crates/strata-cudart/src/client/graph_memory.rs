//! Memory that graphs allocate. A graph has the same addresses each time it is launched, so its memory stays as long as the program runs:
//! freeing it, by a node or by a call, only ends its use.

use super::boundary::Out;
use super::cuda;
use super::error::Outcome;
use super::graph::{Kind, Work};
use super::memory;
use crate::protocol::kind;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sizes by first byte.
static MEMORY: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

fn lock() -> MutexGuard<'static, BTreeMap<u64, u64>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn alloc(size: usize) -> Outcome<u64> {
    let start = memory::alloc(size, kind::DEVICE)?;
    lock().insert(start, size as u64);
    Ok(start)
}

/// True if the memory that begins there is a graph's.
pub(super) fn owns(start: u64) -> bool {
    lock().contains_key(&start)
}

/// The node of an allocation, which was made when the node was.
pub(super) fn node() -> Work {
    Work::new(Kind::Alloc, || Ok(()))
}

cuda! {
    /// All four attributes (used and reserved, now and at most) are what graphs have allocated.
    fn cudaDeviceGetGraphMemAttribute(_device: c_int, _attribute: u32, bytes: Out<u64>) {
        bytes.set(lock().values().sum())
    }
    /// High-water marks are not reset.
    fn cudaDeviceSetGraphMemAttribute(_device: c_int, _attribute: u32, _bytes: u64) { Ok(()) }
    /// Memory of graphs stays.
    fn cudaDeviceGraphMemTrim(_device: c_int) { Ok(()) }
}
