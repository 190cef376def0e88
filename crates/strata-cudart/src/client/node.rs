//! Nodes of graphs that are built one by one. A node can only depend on nodes that are there already, so the order in which nodes
//! are added is an order in which they can be done.

use super::boundary::{self, HostFunction, In, Out};
use super::copy::{self, Copy3D};
use super::error::{Code, Outcome};
use super::graph::{self, Work};
use super::launch::{self, Dim3};
use super::{cuda, device, unsupported};
use crate::protocol::Region;

/// A kernel and its arguments (`cudaKernelNodeParams`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelNode {
    function: u64,
    grid: Dim3,
    block: Dim3,
    shared: u32,
    arguments: In<u64>,
}

/// What a memset writes (`cudaMemsetParams`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct MemsetNode {
    to: u64,
    pitch: usize,
    value: u32,
    element: u32,
    width: usize,
    height: usize,
}

/// A function of the program (`cudaHostNodeParams`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct HostNode {
    function: HostFunction,
    data: u64,
}

/// Handles of nodes: the graph's handle, and the place in it.
const NODE_SHIFT: u32 = 32;

fn add(node: Out<u64>, graph: u64, work: impl Fn() -> Outcome + Send + Sync + 'static) -> Outcome {
    let place = graph::get(graph)?.add(Work::new(work)) as u64;
    node.set(place << NODE_SHIFT | graph)
}

fn memset(to: &MemsetNode) -> Outcome {
    let (bytes, element) = (to.value.to_le_bytes(), to.element as usize);
    if !matches!(element, 1 | 2 | 4) {
        return Err(Code::INVALID_VALUE);
    }
    let width = to.width.checked_mul(element).ok_or(Code::INVALID_VALUE)?;
    let plane = copy::plane(to.to, to.pitch.max(width), width, to.height)?;
    if bytes[..element].iter().all(|&byte| byte == bytes[0]) {
        return copy::set(plane, i32::from(bytes[0]));
    }
    let row: Vec<u8> = bytes[..element].iter().copied().cycle().take(width).collect();
    (0..to.height as u64).try_for_each(|k| {
        let at = plane.start.wrapping_add(k.wrapping_mul(plane.pitch));
        copy::copy(Region::line(at, width as u64), Region::line(row.as_ptr() as u64, width as u64), HOST_TO_DEVICE)
    })
}

/// `cudaMemcpyHostToDevice`.
const HOST_TO_DEVICE: u32 = 1;

cuda! {
    /// A launch.
    fn cudaGraphAddKernelNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: In<KernelNode>) {
        let params = params.get()?;
        let how = launch::Configuration::new(params.grid, params.block, params.shared as usize, 0);
        let request = launch::prepare(params.function, how, params.arguments, false)?;
        add(node, graph, move || device::run(&request))
    }
    /// A copy.
    fn cudaGraphAddMemcpyNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: In<Copy3D>) {
        let params = params.get()?;
        let (to, from) = copy::copy_3d(&params)?;
        add(node, graph, move || copy::copy(to, from, params.kind()))
    }
    /// A copy.
    fn cudaGraphAddMemcpyNode1D(
        node: Out<u64>, graph: u64, _after: u64, _count: usize, to: u64, from: u64, size: usize, kind: u32
    ) {
        let size = size as u64;
        add(node, graph, move || copy::copy(Region::line(to, size), Region::line(from, size), kind))
    }
    /// A memset.
    fn cudaGraphAddMemsetNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: In<MemsetNode>) {
        let params = params.get()?;
        add(node, graph, move || memset(&params))
    }
    /// A function of the program.
    fn cudaGraphAddHostNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: In<HostNode>) {
        let HostNode { function, data } = params.get()?;
        add(node, graph, move || {
            boundary::call(function, data);
            Ok(())
        })
    }
    /// Nothing, for others to wait for.
    fn cudaGraphAddEmptyNode(node: Out<u64>, graph: u64, _after: u64, _count: usize) { add(node, graph, || Ok(())) }
    /// All the work of another graph as it is now.
    fn cudaGraphAddChildGraphNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, child: u64) {
        let work = graph::get(child)?.work();
        add(node, graph, move || work.iter().try_for_each(Work::run))
    }

    /// Some nodes wait for others, which they do already if they were added later.
    fn cudaGraphAddDependencies(_graph: u64, from: In<u64>, to: In<u64>, edges_or_count: usize, count: usize) {
        // CUDA 13 has edges before the number.
        let count = if boundary::cuda_major() >= 13 { count } else { edges_or_count };
        for index in 0..count {
            if from.at(index)? >> NODE_SHIFT >= to.at(index)? >> NODE_SHIFT {
                unsupported::once("cudaGraphAddDependencies on a node that was added later (add nodes in the order of their work)");
                return Err(Code::NOT_SUPPORTED);
            }
        }
        Ok(())
    }
}
