//! Memory: device, managed, pinned; what is known of a pointer.

use super::boundary::Out;
use super::copy::Extent;
use super::error::{Code, Outcome};
use super::graph::Kind;
use super::{boundary, cuda, graph_memory, server, stream};
use crate::protocol::{Reply, Request, kind};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows of pitched memory begin at multiples of this, as on every GPU since Kepler (`texturePitchAlignment` divides it).
const PITCH: usize = 512;

/// Memory of the host: pinned allocations and what the program registered, by first byte.
static HOST: Mutex<BTreeMap<u64, Host>> = Mutex::new(BTreeMap::new());

#[derive(Clone, Copy)]
struct Host {
    size: u64,
    flags: u32,
    registered: bool,
    /// Where the device finds registered memory, once somebody has asked.
    on_device: Option<Shared>,
}

/// Pages of registered memory that are shared memory, too.
#[derive(Clone, Copy)]
struct Shared {
    first_page: u64,
    bytes: u64,
    /// Where the device finds them.
    at: u64,
}

fn host() -> MutexGuard<'static, BTreeMap<u64, Host>> {
    HOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The host memory that holds an address.
fn host_at(address: u64) -> Option<Host> {
    host_with_start(address).map(|(_, found)| found)
}

fn host_with_start(address: u64) -> Option<(u64, Host)> {
    let host = host();
    let (start, found) = host.range(..=address).next_back()?;
    (address - start < found.size).then_some((*start, *found))
}

/// Bytes of a page of the host's.
const PAGE: u64 = 4096;

/// Where the device finds registered memory: its pages become shared ones, with the same bytes in them.
fn share(start: u64, host_memory: Host) -> Outcome<Shared> {
    if let Some(shared) = host_memory.on_device {
        return Ok(shared);
    }
    let first_page = start / PAGE * PAGE;
    let bytes = (start + host_memory.size).next_multiple_of(PAGE) - first_page;
    let shared = server::number(&Request::Alloc { size: bytes, kind: kind::PINNED })?;
    if let Err(code) = server::share_pages(first_page, bytes, shared) {
        super::unsupported::once("cudaHostGetDevicePointer of this registered memory (allocate it with cudaHostAlloc)");
        free(shared)?;
        return Err(code);
    }
    let made = Shared { first_page, bytes, at: shared };
    let mut host = host();
    host.insert(start, Host { on_device: Some(made), ..host_memory });
    host.insert(shared, Host { size: bytes, flags: host_memory.flags, registered: false, on_device: None });
    Ok(made)
}

/// Registered memory becomes ordinary memory of the program again.
fn unshare(pages: Shared) -> Outcome {
    host().remove(&pages.at);
    if !boundary::replace_pages(pages.first_page, pages.bytes, None) {
        return Err(Code::INVALID_VALUE);
    }
    free(pages.at)
}

/// On which side an address lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Host,
    Device,
    Managed,
}

pub(super) fn side(address: u64) -> Outcome<Side> {
    let layout = server::layout()?;
    if layout.is_device(address) {
        return Ok(Side::Device);
    }
    let managed = layout.is_shared(address) && host_at(address).is_none();
    Ok(if managed { Side::Managed } else { Side::Host })
}

pub(super) fn alloc(size: usize, kind: u8) -> Outcome<u64> {
    server::number(&Request::Alloc { size: size as u64, kind })
}

fn alloc_host(pointer: Out<u64>, size: usize, flags: u32) -> Outcome {
    if size == 0 {
        return pointer.set(0);
    }
    let start = alloc(size, kind::PINNED)?;
    host().insert(start, Host { size: size as u64, flags, registered: false, on_device: None });
    pointer.set(start)
}

/// Memory of an array.
pub(super) fn alloc_array(size: u64) -> Outcome<u64> {
    server::number(&Request::Alloc { size, kind: kind::ARRAY })
}

/// `cudaMalloc` of nothing gives a null pointer.
fn alloc_device(pointer: Out<u64>, size: usize) -> Outcome {
    pointer.set(if size == 0 { 0 } else { alloc(size, kind::DEVICE)? })
}

/// Memory in the order of a stream: of the graph, if the stream is captured.
fn alloc_in_order(pointer: Out<u64>, size: usize, stream: u64) -> Outcome {
    match stream::capture_of(stream) {
        None => alloc_device(pointer, size),
        Some(graph) => {
            pointer.set(graph_memory::alloc(size)?)?;
            graph.add(graph_memory::node());
            Ok(())
        }
    }
}

pub(super) fn free(start: u64) -> Outcome {
    if start == 0 || graph_memory::owns(start) { Ok(()) } else { server::demand(&Request::Free { start }) }
}

fn free_host(start: u64) -> Outcome {
    if start == 0 {
        return Ok(());
    }
    match host().remove(&start) {
        Some(found) if !found.registered => free(start),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// What is known of a pointer (`cudaPointerAttributes`).
#[repr(C)]
pub(crate) struct PointerAttributes {
    kind: c_int,
    device: c_int,
    on_device: u64,
    on_host: u64,
    reserved: [u64; 8],
}

/// The same before CUDA 13.
#[repr(C)]
struct PointerBasics {
    kind: c_int,
    device: c_int,
    on_device: u64,
    on_host: u64,
}

/// Memory with padded rows (`cudaPitchedPtr`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Pitched {
    pub(super) start: u64,
    pub(super) pitch: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// CUDA 12.2 and later: a place for memory (`cudaMemLocation`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Location {
    kind: u32,
    id: c_int,
}

/// `cudaMemLocationTypeDevice`, `cudaCpuDeviceId`.
const LOCATION_DEVICE: u32 = 1;
const CPU: c_int = -1;

fn prefetch(start: u64, size: usize, to_device: bool, stream: u64) -> Outcome {
    if side(start)? != Side::Managed {
        return Err(Code::INVALID_VALUE);
    }
    let request = Request::Prefetch { start, size: size as u64, to_device };
    stream::submit(stream, Kind::Empty, move || server::demand(&request))
}

fn advise(start: u64, size: usize, advice: u32, to_device: bool) -> Outcome {
    if side(start)? != Side::Managed {
        return Err(Code::INVALID_VALUE);
    }
    server::demand(&Request::Advise { start, size: size as u64, advice, to_device })
}

/// Bytes of a padded row; `None` if there is no such number.
fn padded(width: usize) -> Outcome<usize> {
    width.checked_next_multiple_of(PITCH).ok_or(Code::MEMORY_ALLOCATION)
}

cuda! {
    /// Device memory.
    fn cudaMalloc(pointer: Out<u64>, size: usize) { alloc_device(pointer, size) }

    /// Gives device or managed memory back.
    fn cudaFree(start: u64) {
        if host().contains_key(&start) { Err(Code::INVALID_VALUE) } else { free(start) }
    }

    /// Device memory with padded rows.
    fn cudaMallocPitch(pointer: Out<u64>, pitch: Out<usize>, width: usize, height: usize) {
        let row = padded(width)?;
        pitch.set(row)?;
        alloc_device(pointer, row.checked_mul(height).ok_or(Code::MEMORY_ALLOCATION)?)
    }

    /// Device memory with padded rows, in slices.
    fn cudaMalloc3D(pitched: Out<Pitched>, extent: Extent) {
        let pitch = padded(extent.width)?;
        let rows = extent.height.checked_mul(extent.depth).and_then(|rows| rows.checked_mul(pitch));
        let start = alloc(rows.ok_or(Code::MEMORY_ALLOCATION)?, kind::DEVICE)?;
        pitched.set(Pitched { start, pitch, width: extent.width, height: extent.height })
    }

    /// Managed memory.
    fn cudaMallocManaged(pointer: Out<u64>, size: usize, flags: u32) {
        // cudaMemAttachGlobal, cudaMemAttachHost
        if size == 0 || !matches!(flags, 1 | 2) {
            return Err(Code::INVALID_VALUE);
        }
        pointer.set(alloc(size, kind::MANAGED)?)
    }

    /// Pinned memory.
    fn cudaMallocHost(pointer: Out<u64>, size: usize) { alloc_host(pointer, size, 0) }
    /// Pinned memory.
    fn cudaHostAlloc(pointer: Out<u64>, size: usize, flags: u32) { alloc_host(pointer, size, flags) }
    /// Gives pinned memory back.
    fn cudaFreeHost(start: u64) { free_host(start) }

    /// The device knows pinned memory by the same address.
    fn cudaHostGetDevicePointer(pointer: Out<u64>, start: u64, _flags: u32) {
        match host_with_start(start) {
            Some((_, found)) if !found.registered => pointer.set(start),
            Some((first, found)) => {
                let pages = share(first, found)?;
                pointer.set(pages.at + (start - pages.first_page))
            }
            None => Err(Code::INVALID_VALUE),
        }
    }

    /// How pinned memory was allocated.
    fn cudaHostGetFlags(flags: Out<u32>, start: u64) {
        flags.set(host_at(start).ok_or(Code::INVALID_VALUE)?.flags)
    }

    /// Makes copies faster on a real machine, and changes nothing here.
    fn cudaHostRegister(start: u64, size: usize, flags: u32) {
        if start == 0 || size == 0 {
            return Err(Code::INVALID_VALUE);
        }
        if host_at(start).is_some() {
            return Err(Code(712));
        }
        host().insert(start, Host { size: size as u64, flags, registered: true, on_device: None });
        Ok(())
    }

    /// Host memory that the program pinned is pinned no more.
    fn cudaHostUnregister(start: u64) {
        let found = host().get(&start).copied().filter(|found| found.registered).ok_or(Code::NOT_REGISTERED)?;
        host().remove(&start);
        found.on_device.map_or(Ok(()), unshare)
    }

    /// Memory in the order of a stream.
    fn cudaMallocAsync(pointer: Out<u64>, size: usize, stream: u64) { alloc_in_order(pointer, size, stream) }
    /// Memory in the order of a stream.
    fn cudaMallocFromPoolAsync(pointer: Out<u64>, size: usize, _pool: u64, stream: u64) {
        alloc_in_order(pointer, size, stream)
    }
    /// Memory in the order of a stream.
    fn cudaFreeAsync(start: u64, stream: u64) { stream::submit(stream, Kind::Free, move || free(start)) }

    /// There is one pool, and it is all memory.
    fn cudaDeviceGetDefaultMemPool(pool: Out<u64>, _device: c_int) { pool.set(POOL) }
    /// There is one pool, and it is all memory.
    fn cudaDeviceGetMemPool(pool: Out<u64>, _device: c_int) { pool.set(POOL) }
    /// There is one pool, and it is all memory.
    fn cudaDeviceSetMemPool(_device: c_int, _pool: u64) { Ok(()) }
    /// When memory goes back to the system does not matter.
    fn cudaMemPoolSetAttribute(_pool: u64, _attribute: u32, _value: u64) { Ok(()) }
    /// There is one pool, and it is all memory.
    fn cudaMemPoolCreate(pool: Out<u64>, _properties: u64) { pool.set(POOL) }
    /// There is one pool, and it is all memory.
    fn cudaMemPoolDestroy(_pool: u64) { Ok(()) }
    /// There is one device, and it can access the pool.
    fn cudaMemPoolSetAccess(_pool: u64, _list: u64, _count: usize) { Ok(()) }
    /// No limits, nothing kept back.
    fn cudaMemPoolGetAttribute(_pool: u64, _attribute: u32, value: Out<u64>) { value.set(0) }
    /// When memory goes back to the system does not matter.
    fn cudaMemPoolTrimTo(_pool: u64, _size: usize) { Ok(()) }

    /// What is free, and what there is.
    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) {
        let Reply::Memory { free: left, total: all } = server::ask(&Request::MemInfo)? else { return Err(Code::UNKNOWN) };
        free.set(left as usize)?;
        total.set(all as usize)
    }

    /// What is known of a pointer.
    fn cudaPointerGetAttributes(attributes: Out<PointerAttributes>, address: u64) {
        // cudaMemoryTypeUnregistered, Host, Device, Managed
        let (kind, on_device, on_host) = match side(address)? {
            Side::Device => (2, address, 0),
            Side::Managed => (3, address, address),
            Side::Host => match host_at(address) {
                Some(Host { registered: false, .. }) => (1, address, address),
                Some(found) => (1, found.on_device.map_or(0, |p| p.at + (address - p.first_page)), address),
                None => (0, 0, address),
            },
        };
        let device = if kind == 0 { -2 } else { 0 };
        // The reserved words came with CUDA 13.
        if boundary::cuda_major() >= 13 {
            attributes.set(PointerAttributes { kind, device, on_device, on_host, reserved: [0; 8] })
        } else {
            attributes.first(PointerBasics { kind, device, on_device, on_host })
        }
    }

    /// Managed memory shall move.
    fn cudaMemPrefetchAsync_v2(start: u64, size: usize, place: Location, _flags: u32, stream: u64) {
        prefetch(start, size, place.kind == LOCATION_DEVICE, stream)
    }

    /// How managed memory will be used.
    fn cudaMemAdvise_v2(start: u64, size: usize, advice: u32, place: Location) {
        advise(start, size, advice, place.kind == LOCATION_DEVICE)
    }

    /// Managed memory shall move. Before CUDA 13 the place is a device number, and two arguments are fewer; both forms pass
    /// the place in the same register, a device as a number of 32 bits, a location as kind and number.
    fn cudaMemPrefetchAsync(start: u64, size: usize, place: u64, flags_or_stream: u64, stream: u64) {
        if boundary::cuda_major() >= 13 {
            prefetch(start, size, place as u32 == LOCATION_DEVICE, stream)
        } else {
            prefetch(start, size, place as c_int != CPU, flags_or_stream)
        }
    }

    /// How managed memory will be used; the place as in [`cudaMemPrefetchAsync`].
    fn cudaMemAdvise(start: u64, size: usize, advice: u32, place: u64) {
        let to_device = match boundary::cuda_major() {
            13.. => place as u32 == LOCATION_DEVICE,
            _ => place as c_int != CPU,
        };
        advise(start, size, advice, to_device)
    }
}

/// The handle of the one pool.
const POOL: u64 = 0x4000;
