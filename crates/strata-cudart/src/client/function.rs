//! What a program can ask about its kernels: attributes and occupancy.

use super::boundary::Out;
use super::error::{Code, Outcome};
use super::{cuda, device, registry, server};
use crate::protocol::Request;
use std::ffi::c_int;

/// `cudaFuncAttributes`; CUDA 11 ends before the clusters.
#[repr(C)]
pub(crate) struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    max_threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    max_dynamic_shared: c_int,
    carve_out: c_int,
}

/// The shared memory a kernel may use beside what it declares, without asking for more: 48 KiB in all (CUDA programming guide).
const SHARED_BY_DEFAULT: u64 = 48 << 10;

/// `cudaFuncAttributeMaxDynamicSharedMemorySize`.
const MAX_DYNAMIC_SHARED: u32 = 8;

fn occupancy(blocks: Out<c_int>, function: u64, threads: c_int, shared: usize) -> Outcome {
    let found = registry::kernel(function)?;
    let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Code::INVALID_VALUE)?;
    let request = Request::Occupancy { module: found.module, name: found.name, threads, shared: shared as u64 };
    blocks.set(server::number(&request)? as c_int)
}

cuda! {
    /// What a kernel needs.
    fn cudaFuncGetAttributes(attributes: Out<Attributes>, function: u64) {
        let kernel = registry::kernel(function)?.kernel;
        attributes.set(Attributes {
            shared: kernel.shared as usize,
            constant: 0,
            local: kernel.local as usize,
            max_threads: kernel.max_threads as c_int,
            registers: kernel.registers as c_int,
            ptx_version: kernel.architecture as c_int,
            binary_version: kernel.architecture as c_int,
            cache_mode: 0,
            max_dynamic_shared: SHARED_BY_DEFAULT.saturating_sub(kernel.shared) as c_int,
            carve_out: -1,
        })
    }

    /// More shared memory can always be had; the other attributes are about caches and clusters.
    fn cudaFuncSetAttribute(function: u64, attribute: u32, value: c_int) {
        let kernel = registry::kernel(function)?.kernel;
        let most = device::properties()?.shared_per_block.saturating_sub(kernel.shared);
        if attribute == MAX_DYNAMIC_SHARED && u64::try_from(value).is_ok_and(|value| value > most) {
            return Err(Code::INVALID_VALUE);
        }
        Ok(())
    }

    /// The carve-out of the machine is fixed by its configuration.
    fn cudaFuncSetCacheConfig(_function: u64, _config: u32) { Ok(()) }
    /// Banks have four bytes.
    fn cudaFuncSetSharedMemConfig(_function: u64, _config: u32) { Ok(()) }

    /// How many blocks fit on an SM.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<c_int>, function: u64, threads: c_int, shared: usize) {
        occupancy(blocks, function, threads, shared)
    }
    /// How many blocks fit on an SM.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, function: u64, threads: c_int, shared: usize, _flags: u32
    ) {
        occupancy(blocks, function, threads, shared)
    }

    /// How much shared memory each of so many blocks can have.
    fn cudaOccupancyAvailableDynamicSMemPerBlock(size: Out<usize>, function: u64, blocks: c_int, _threads: c_int) {
        let kernel = registry::kernel(function)?.kernel;
        let properties = device::properties()?;
        let blocks = u64::try_from(blocks).ok().filter(|&n| n > 0).ok_or(Code::INVALID_VALUE)?;
        let each = (properties.shared_per_sm / blocks).min(properties.shared_per_block);
        size.set(each.saturating_sub(kernel.shared) as usize)
    }
}
