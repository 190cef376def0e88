//! Launches: the configuration that `<<<…>>>` leaves behind, the arguments, the kernel.

use super::boundary::{self, HostFunction, In, Out};
use super::error::{Code, Outcome};
use super::graph::Kind;
use super::{cuda, device, registry, stream};
use crate::protocol::{Kernel, Request};
use std::cell::RefCell;

/// Extents of a grid or block.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

impl Dim3 {
    const fn array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// What stands between `<<<` and `>>>`.
#[derive(Clone, Copy)]
pub(super) struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: u64,
}

impl Configuration {
    pub(super) fn new(grid: Dim3, block: Dim3, shared: usize, stream: u64) -> Self {
        Self { grid, block, shared, stream }
    }
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a configuration for the launch that follows.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: u64) -> u32 {
    CONFIGURATIONS.with_borrow_mut(|kept| kept.push(Configuration { grid, block, shared, stream }));
    0
}

/// A launch with attributes (`cudaLaunchConfig_t`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: u64,
    attributes: In<Attribute>,
    count: u32,
}

/// One attribute of a launch (`cudaLaunchAttribute`): its number, and a value of 64 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// `cudaLaunchAttributeCooperative`, `cudaLaunchAttributeClusterDimension`.
const COOPERATIVE: u32 = 2;
const CLUSTER: u32 = 4;

/// Lays the arguments out as the kernel declares them; `arguments[i]` points at the i-th.
fn pack(kernel: &Kernel, arguments: In<u64>) -> Outcome<Vec<u8>> {
    let mut block = vec![0; kernel.params.last().map_or(0, |last| (last.offset + last.size) as usize)];
    for (index, param) in kernel.params.iter().enumerate() {
        let value = boundary::bytes(arguments.at(index)?, u64::from(param.size));
        block[param.offset as usize..][..value.len()].copy_from_slice(value);
    }
    Ok(block)
}

/// A launch as the simulator is asked for it, with the values that the arguments have now.
pub(super) fn prepare(function: u64, how: Configuration, arguments: In<u64>, cooperative: bool) -> Outcome<Request> {
    let found = registry::kernel(function)?;
    let params = pack(&found.kernel, arguments)?;
    Ok(Request::Launch {
        module: found.module,
        name: found.name,
        grid: how.grid.array(),
        block: how.block.array(),
        shared: u32::try_from(how.shared).map_err(|_| Code::INVALID_VALUE)?,
        params,
        cooperative,
    })
}

fn launch(function: u64, how: Configuration, arguments: In<u64>, cooperative: bool) -> Outcome {
    let request = prepare(function, how, arguments, cooperative)?;
    stream::submit(how.stream, Kind::Kernel, move || {
        device::show_printed()?;
        device::run(&request)
    })
}

cuda! {
    /// Gives a configuration back.
    fn __cudaPopCallConfiguration(grid: Out<Dim3>, block: Out<Dim3>, shared: Out<usize>, stream: Out<u64>) {
        let kept = CONFIGURATIONS.with_borrow_mut(Vec::pop).ok_or(Code::MISSING_CONFIGURATION)?;
        grid.set(kept.grid)?;
        block.set(kept.block)?;
        shared.set(kept.shared)?;
        stream.set(kept.stream)
    }

    /// Launches a kernel by its host function.
    fn cudaLaunchKernel(function: u64, grid: Dim3, block: Dim3, arguments: In<u64>, shared: usize, stream: u64) {
        launch(function, Configuration { grid, block, shared, stream }, arguments, false)
    }

    /// Launches a kernel by its handle, which is its host function here.
    fn __cudaLaunchKernel(kernel: u64, grid: Dim3, block: Dim3, arguments: In<u64>, shared: usize, stream: u64) {
        launch(kernel, Configuration { grid, block, shared, stream }, arguments, false)
    }

    /// Launches a kernel whose blocks wait for each other.
    fn cudaLaunchCooperativeKernel(function: u64, grid: Dim3, block: Dim3, arguments: In<u64>, shared: usize, stream: u64) {
        launch(function, Configuration { grid, block, shared, stream }, arguments, true)
    }

    /// Launches a kernel with attributes.
    fn cudaLaunchKernelExC(config: In<LaunchConfig>, function: u64, arguments: In<u64>) {
        let LaunchConfig { grid, block, shared, stream, attributes, count } = config.get()?;
        let mut cooperative = false;
        for index in 0..count as usize {
            let attribute = attributes.at(index)?;
            match attribute.id {
                COOPERATIVE => cooperative = attribute.value[0] != 0,
                CLUSTER if attribute.value[..3] != [1, 1, 1] => {
                    super::unsupported::once("launches with thread block clusters");
                    return Err(Code::NOT_SUPPORTED);
                }
                // The others are about priorities and caches.
                _ => {}
            }
        }
        launch(function, Configuration { grid, block, shared, stream }, arguments, cooperative)
    }

    /// Runs a function of the program in the order of a stream.
    fn cudaLaunchHostFunc(stream: u64, function: HostFunction, data: u64) {
        stream::submit(stream, Kind::Host, move || {
            boundary::call(function, data);
            Ok(())
        })
    }
}
