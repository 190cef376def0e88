//! The CUDA runtime that device code calls: kernels that launch kernels (dynamic parallelism), and conditions of graphs.
//!
//! What a kernel submits happens once the kernel has ended, in the order in which it was submitted: since CUDA 12 a kernel
//! cannot wait for what it launches, so that is an order that programs allow. Streams of the device are not told apart, except
//! the one whose work comes after everything else.

use crate::decode::frame::param_offsets;
use crate::exec::{Exec, Flow, Slot};
use crate::fault::Cause;
use crate::inst::{Inst, OpFn};
use crate::lanes::{read_lanes, write_lanes};
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::ops::built_in::{argument64, bad_pointer, byte_at, forget_ranges, give64};
use crate::ops::local::local_address;
use crate::ops::memory::window;
use crate::program::FUNCTION_WINDOW;
use strata_core::{Addr, Bytes, Dim3, LANES, LaneMask, Space};

/// Something that a kernel submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// What.
    pub work: Work,
    /// It happens when everything else that the kernel submitted has.
    pub at_the_end: bool,
}

/// What a kernel can submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A launch of a kernel of the same module.
    Launch {
        /// The kernel.
        kernel: String,
        /// CTAs.
        grid: Dim3,
        /// Threads per CTA.
        block: Dim3,
        /// Dynamic shared memory in bytes.
        shared: u32,
        /// The parameter block.
        params: Vec<u8>,
    },
    /// A copy in device memory.
    Copy {
        /// Where to.
        to: Addr,
        /// Where from.
        from: Addr,
        /// How much.
        size: Bytes,
    },
    /// A byte, many times.
    Set {
        /// Where to.
        to: Addr,
        /// The byte.
        byte: u8,
        /// How often.
        size: Bytes,
    },
}

/// The function of that name, if there is one. CUDA 12 and 13 have a prefix before the names of CUDA 11.
pub(crate) fn function(name: &str) -> Option<OpFn> {
    let name = name.strip_suffix("_ptsz").unwrap_or(name);
    let run: OpFn = match name.strip_prefix("__cudaCDP2").or_else(|| name.strip_prefix("cuda"))? {
        "GetParameterBufferV2" => parameter_buffer,
        "LaunchDeviceV2" => launch,
        "MemcpyAsync" => copy,
        "MemsetAsync" => set,
        "Malloc" => allocate,
        "Free" => release,
        "StreamCreateWithFlags" | "EventCreateWithFlags" => create,
        "StreamDestroy" | "StreamWaitEvent" | "EventRecord" | "EventDestroy" | "GetLastError" | "PeekAtLastError" => {
            succeed
        }
        "GraphSetConditional" => set_condition,
        "GetErrorString" | "GetErrorName" => error_text,
        _ => return None,
    };
    Some(run)
}

/// Why a function that is declared and not defined cannot be called.
pub(crate) fn missing(name: &str) -> String {
    let hint = if name.contains("DeviceSynchronize") {
        "; a kernel cannot wait for kernels that it launched (as since CUDA 12)"
    } else if name.starts_with("__cudaCDP2") || name.starts_with("cuda") {
        "; of the runtime on the device, launches, copies, streams and memory are supported"
    } else {
        ""
    };
    format!("`{name}` is declared but not defined in this module{hint}")
}

/// `cudaErrorInvalidValue`, `cudaErrorMemoryAllocation`.
const INVALID_VALUE: u32 = 1;
const MEMORY_ALLOCATION: u32 = 2;

/// What stands before a parameter block: the kernel's address, grid, block, dynamic shared memory; in all a multiple of what
/// any parameter is aligned to.
const HEADER: u64 = 64;

/// `cudaStreamTailLaunch`.
const TAIL: u64 = 3;

fn active(m: LaneMask) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |l| m >> l & 1 != 0)
}

/// A 32-bit argument of each lane, or the word number `word` of one that is a structure.
fn word(x: &Exec<'_>, at: Slot, word: u32) -> [u32; LANES] {
    // SAFETY: variables of the frame have one unit for each four bytes.
    unsafe { read_lanes::<u32>(x, Slot(at.0 + word)) }
}

fn give(x: &mut Exec<'_>, i: &Inst, m: LaneMask, values: &[u32; LANES]) -> Flow {
    // SAFETY: the result is a 32-bit variable of the frame.
    unsafe { write_lanes::<u32>(x, i.d, m, |l| values[l]) };
    Flow::Next
}

/// Writes bytes behind a generic address.
fn put(x: &mut Exec<'_>, lane: usize, address: u64, bytes: &[u8]) -> Option<()> {
    for (k, byte) in bytes.iter().enumerate() {
        let at = address + k as u64;
        byte_at(x, lane, at)?;
        match window(at) {
            // SAFETY: it was read just now.
            Space::Shared => unsafe { x.shared.add((at - SHARED_WINDOW) as usize).write(*byte) },
            space => {
                let device = if space == Space::Local { local_address(x, lane, at - LOCAL_WINDOW) } else { at };
                // SAFETY: it was read just now.
                unsafe { x.origin.wrapping_add(device as usize).write(*byte) };
            }
        }
    }
    Some(())
}

fn get<const N: usize>(x: &Exec<'_>, lane: usize, address: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (k, byte) in bytes.iter_mut().enumerate() {
        *byte = byte_at(x, lane, address + k as u64)?;
    }
    Some(bytes)
}

/// The kernel at an address, and the bytes of its parameters.
fn kernel_at<'k>(x: &Exec<'k>, address: u64) -> Option<(&'k str, u64)> {
    let functions = &x.launch.kernel.origin.module.functions;
    let index = usize::try_from(address.checked_sub(FUNCTION_WINDOW)?).ok()?;
    let function = functions.get(index).filter(|f| f.is_entry && !f.is_declaration)?;
    Some((&function.name, u64::from(param_offsets(function).1)))
}

/// `cudaGetParameterBufferV2(kernel, grid, block, shared)`: memory for the parameters; null if there is none.
unsafe fn parameter_buffer(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let (kernels, shared) = (argument64(x, i.a), word(x, i.e, 0));
    let grid: [_; 3] = std::array::from_fn(|k| word(x, i.b, k as u32));
    let block: [_; 3] = std::array::from_fn(|k| word(x, i.c, k as u32));
    let mut buffers = [0; LANES];
    for lane in active(m) {
        let Some((_, bytes)) = kernel_at(x, kernels[lane]) else {
            let message = format!("a launch of {:#x}, which is no kernel of this module", kernels[lane]);
            return x.fail(Cause::Trap { lane: lane as u32, message });
        };
        let Ok(record) = x.launch.memory.alloc(Bytes(HEADER + bytes), false, "parameters of a launch") else {
            continue;
        };
        let mut header = kernels[lane].to_le_bytes().to_vec();
        for value in grid.iter().chain(&block).map(|dim| dim[lane]).chain([shared[lane]]) {
            header.extend(value.to_le_bytes());
        }
        if put(x, lane, record.start.0, &header).is_none() {
            return bad_pointer(x, lane, record.start.0);
        }
        buffers[lane] = record.start.0 + HEADER;
    }
    give64(x, i.d, m, &buffers)
}

/// `cudaLaunchDeviceV2(buffer, stream)`.
unsafe fn launch(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let (buffers, streams) = (argument64(x, i.a), argument64(x, i.b));
    let mut codes = [0; LANES];
    for lane in active(m) {
        if buffers[lane] == 0 {
            codes[lane] = INVALID_VALUE;
            continue;
        }
        let start = buffers[lane].wrapping_sub(HEADER);
        let Some(header) = get::<{ HEADER as usize }>(x, lane, start) else {
            return bad_pointer(x, lane, buffers[lane]);
        };
        let field = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| header[at + k]));
        let address = u64::from(field(0)) | u64::from(field(4)) << 32;
        let (Some((kernel, bytes)), Ok(_)) = (kernel_at(x, address), x.launch.memory.free(Addr(start))) else {
            return bad_pointer(x, lane, buffers[lane]);
        };
        // What was freed just now is still what it was.
        let params = (0..bytes).map(|k| {
            // SAFETY: the block is in a range that was an allocation until just now.
            unsafe { x.origin.wrapping_add((buffers[lane] + k) as usize).read() }
        });
        let work = Work::Launch {
            kernel: kernel.to_owned(),
            grid: Dim3 { x: field(8), y: field(12), z: field(16) },
            block: Dim3 { x: field(20), y: field(24), z: field(28) },
            shared: field(32),
            params: params.collect(),
        };
        x.launch.output.submit(Submitted { work, at_the_end: streams[lane] == TAIL });
    }
    forget_ranges(x);
    give(x, i, m, &codes)
}

/// `cudaMemcpyAsync(to, from, size, kind, stream)`.
unsafe fn copy(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let (to, from, sizes) = (argument64(x, i.a), argument64(x, i.b), argument64(x, i.c));
    for lane in active(m) {
        let work = Work::Copy { to: Addr(to[lane]), from: Addr(from[lane]), size: Bytes(sizes[lane]) };
        x.launch.output.submit(Submitted { work, at_the_end: false });
    }
    give(x, i, m, &[0; LANES])
}

/// `cudaMemsetAsync(to, byte, size, stream)`.
unsafe fn set(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let (to, bytes, sizes) = (argument64(x, i.a), word(x, i.b, 0), argument64(x, i.c));
    for lane in active(m) {
        let work = Work::Set { to: Addr(to[lane]), byte: bytes[lane] as u8, size: Bytes(sizes[lane]) };
        x.launch.output.submit(Submitted { work, at_the_end: false });
    }
    give(x, i, m, &[0; LANES])
}

/// `cudaMalloc(pointer, size)`.
unsafe fn allocate(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let (at, sizes) = (argument64(x, i.a), argument64(x, i.b));
    let mut codes = [0; LANES];
    for lane in active(m) {
        let Ok(record) = x.launch.memory.alloc(Bytes(sizes[lane]), false, "device malloc") else {
            codes[lane] = MEMORY_ALLOCATION;
            continue;
        };
        if put(x, lane, at[lane], &record.start.0.to_le_bytes()).is_none() {
            return bad_pointer(x, lane, at[lane]);
        }
    }
    give(x, i, m, &codes)
}

/// `cudaFree(pointer)`; null is allowed.
unsafe fn release(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let pointers = argument64(x, i.a);
    let mut codes = [0; LANES];
    for lane in active(m).filter(|&lane| pointers[lane] != 0) {
        if x.launch.memory.free(Addr(pointers[lane])).is_err() {
            codes[lane] = INVALID_VALUE;
        }
    }
    forget_ranges(x);
    give(x, i, m, &codes)
}

/// `cudaStreamCreateWithFlags(stream, flags)` and the same of events: a handle that is none of CUDA's own.
unsafe fn create(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    const HANDLE: u64 = 0x100;
    let at = argument64(x, i.a);
    for lane in active(m) {
        if put(x, lane, at[lane], &HANDLE.to_le_bytes()).is_none() {
            return bad_pointer(x, lane, at[lane]);
        }
    }
    give(x, i, m, &[0; LANES])
}

/// Functions that have nothing to do.
unsafe fn succeed(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    give(x, i, m, &[0; LANES])
}

/// `cudaGraphSetConditional(handle, value)`: the handle is the address of the condition.
unsafe fn set_condition(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let (handles, values) = (argument64(x, i.a), word(x, i.b, 0));
    for lane in active(m) {
        if put(x, lane, handles[lane], &values[lane].to_le_bytes()).is_none() {
            return bad_pointer(x, lane, handles[lane]);
        }
    }
    Flow::Next
}

/// `cudaGetErrorString(error)`: the number, as a text.
unsafe fn error_text(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let codes = word(x, i.a, 0);
    let mut texts = [0; LANES];
    for lane in active(m) {
        let text = format!("CUDA error {}\0", codes[lane]);
        let Ok(record) = x.launch.memory.alloc(Bytes(text.len() as u64), false, "text of an error") else { continue };
        if put(x, lane, record.start.0, text.as_bytes()).is_none() {
            return bad_pointer(x, lane, record.start.0);
        }
        texts[lane] = record.start.0;
    }
    give64(x, i.d, m, &texts)
}
