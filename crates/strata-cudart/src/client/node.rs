//! Nodes of graphs that are built one by one. A node can only depend on nodes that are there already, so the order in which nodes
//! are added is an order in which they can be done.

use super::boundary::{self, HostFunction, In, Out};
use super::copy::{self, Copy3D};
use super::error::{Code, Outcome};
use super::graph::{self, Kind, Work};
use super::launch::{self, Dim3};
use super::{conditional, cuda, device, graph_memory, memory, unsupported};
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

/// Memory of a graph's (`cudaMemAllocNodeParams`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AllocNode {
    /// Of which pool, for which devices.
    pool: [u64; 11],
    access: u64,
    devices: usize,
    size: usize,
    start: u64,
}

/// Handles of nodes: the graph's handle, and the place in it.
const NODE_SHIFT: u32 = 32;

fn add(node: Out<u64>, graph: u64, work: Work) -> Outcome {
    let place = graph::get(graph)?.add(work) as u64;
    node.set(place << NODE_SHIFT | graph)
}

/// Gives a node other parameters, in the graph it was added to or in an executable made of that.
fn replace(graph: u64, node: u64, work: Work) -> Outcome {
    graph::get(graph)?.replace((node >> NODE_SHIFT) as usize, work)
}

/// The graph that a node was added to.
fn graph_of(node: u64) -> u64 {
    node & ((1 << NODE_SHIFT) - 1)
}

fn kernel(params: In<KernelNode>) -> Outcome<Work> {
    let params = params.get()?;
    let how = launch::Configuration::new(params.grid, params.block, params.shared as usize, 0);
    let request = launch::prepare(params.function, how, params.arguments, false)?;
    Ok(Work::new(Kind::Kernel, move || device::run(&request)))
}

fn block_copy(params: In<Copy3D>) -> Outcome<Work> {
    let params = params.get()?;
    let (to, from) = copy::copy_3d(&params)?;
    Ok(Work::new(Kind::Copy, move || copy::copy(to, from, params.kind())))
}

fn line_copy(to: u64, from: u64, size: usize, kind: u32) -> Work {
    let size = size as u64;
    Work::new(Kind::Copy, move || copy::copy(Region::line(to, size), Region::line(from, size), kind))
}

fn set(params: In<MemsetNode>) -> Outcome<Work> {
    let params = params.get()?;
    Ok(Work::new(Kind::Set, move || memset(&params)))
}

fn host(params: In<HostNode>) -> Outcome<Work> {
    let HostNode { function, data } = params.get()?;
    Ok(Work::new(Kind::Host, move || {
        boundary::call(function, data);
        Ok(())
    }))
}

fn child(graph: u64) -> Outcome<Work> {
    let work = graph::get(graph)?.work();
    Ok(Work::new(Kind::Graph, move || work.iter().try_for_each(Work::run)))
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

/// Where the parameters of a node stand in a `cudaGraphNodeParams`, and those of a copy in its `cudaMemcpyNodeParams`.
const PARAMS: u64 = 16;
const COPY_PARAMS: u64 = PARAMS + 16;

/// Adds a node whose kind stands in its parameters (`cudaGraphNodeParams`).
fn add_any(node: Out<u64>, graph: u64, params: In<u32>) -> Outcome {
    let at = params.address();
    let work = match params.get()? {
        0 => kernel(In::from_address(at + PARAMS))?,
        1 => block_copy(In::from_address(at + COPY_PARAMS))?,
        2 => set(In::from_address(at + PARAMS))?,
        3 => host(In::from_address(at + PARAMS))?,
        4 => child(In::from_address(at + PARAMS).get()?)?,
        5 => Work::new(Kind::Empty, || Ok(())),
        11 => {
            let start = In::from_address(at + PARAMS).get()?;
            Work::new(Kind::Free, move || memory::free(start))
        }
        13 => conditional::node(at + PARAMS)?,
        _ => {
            return refuse("cudaGraphAddNode of an event, a semaphore or memory (add it with the function of its own)");
        }
    };
    add(node, graph, work)
}

fn refuse(what: &'static str) -> Outcome {
    unsupported::once(what);
    Err(Code::NOT_SUPPORTED)
}

/// `cudaMemcpyHostToDevice`.
const HOST_TO_DEVICE: u32 = 1;

cuda! {
    /// Adds a launch to a graph.
    fn cudaGraphAddKernelNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: In<KernelNode>) {
        add(node, graph, kernel(params)?)
    }
    /// Adds a node of any kind to a graph.
    fn cudaGraphAddNode(
        node: Out<u64>, graph: u64, _after: u64, _edges_or_count: u64, count_or_params: u64, params: In<u32>
    ) {
        // CUDA 13 has edges before the number.
        let params = if boundary::cuda_major() >= 13 { params } else { In::from_address(count_or_params) };
        add_any(node, graph, params)
    }
    /// The same as CUDA 12 calls what CUDA 13 has.
    fn cudaGraphAddNode_v2(node: Out<u64>, graph: u64, _after: u64, _edges: u64, _count: usize, params: In<u32>) {
        add_any(node, graph, params)
    }
    /// Adds a copy of slices of rows to a graph.
    fn cudaGraphAddMemcpyNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: In<Copy3D>) {
        add(node, graph, block_copy(params)?)
    }
    /// Adds a copy of consecutive bytes to a graph.
    fn cudaGraphAddMemcpyNode1D(
        node: Out<u64>, graph: u64, _after: u64, _count: usize, to: u64, from: u64, size: usize, kind: u32
    ) {
        add(node, graph, line_copy(to, from, size, kind))
    }
    /// Adds a memset to a graph.
    fn cudaGraphAddMemsetNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: In<MemsetNode>) {
        add(node, graph, set(params)?)
    }
    /// A function of the program.
    fn cudaGraphAddHostNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: In<HostNode>) {
        add(node, graph, host(params)?)
    }
    /// Nothing, for others to wait for.
    fn cudaGraphAddEmptyNode(node: Out<u64>, graph: u64, _after: u64, _count: usize) {
        add(node, graph, Work::new(Kind::Empty, || Ok(())))
    }
    /// All the work of another graph as it is now.
    fn cudaGraphAddChildGraphNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, child: u64) {
        add(node, graph, self::child(child)?)
    }
    /// Memory of the graph's; its address is known at once.
    fn cudaGraphAddMemAllocNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, params: Out<AllocNode>) {
        params.change(|params| {
            params.start = graph_memory::alloc(params.size)?;
            Ok(())
        })?;
        add(node, graph, graph_memory::node())
    }
    /// Gives memory back.
    fn cudaGraphAddMemFreeNode(node: Out<u64>, graph: u64, _after: u64, _count: usize, start: u64) {
        add(node, graph, Work::new(Kind::Free, move || memory::free(start)))
    }

    /// Other parameters for a node.
    fn cudaGraphKernelNodeSetParams(node: u64, params: In<KernelNode>) {
        replace(graph_of(node), node, kernel(params)?)
    }
    /// Other parameters for a node.
    fn cudaGraphMemcpyNodeSetParams(node: u64, params: In<Copy3D>) {
        replace(graph_of(node), node, block_copy(params)?)
    }
    /// Other parameters for a node.
    fn cudaGraphMemcpyNodeSetParams1D(node: u64, to: u64, from: u64, size: usize, kind: u32) {
        replace(graph_of(node), node, line_copy(to, from, size, kind))
    }
    /// Other parameters for a node.
    fn cudaGraphMemsetNodeSetParams(node: u64, params: In<MemsetNode>) { replace(graph_of(node), node, set(params)?) }
    /// Other parameters for a node.
    fn cudaGraphHostNodeSetParams(node: u64, params: In<HostNode>) { replace(graph_of(node), node, host(params)?) }
    /// Other parameters for a node of an executable graph.
    fn cudaGraphExecKernelNodeSetParams(executable: u64, node: u64, params: In<KernelNode>) {
        replace(executable, node, kernel(params)?)
    }
    /// Other parameters for a node of an executable graph.
    fn cudaGraphExecMemcpyNodeSetParams(executable: u64, node: u64, params: In<Copy3D>) {
        replace(executable, node, block_copy(params)?)
    }
    /// Other parameters for a node of an executable graph.
    fn cudaGraphExecMemcpyNodeSetParams1D(executable: u64, node: u64, to: u64, from: u64, size: usize, kind: u32) {
        replace(executable, node, line_copy(to, from, size, kind))
    }
    /// Other parameters for a node of an executable graph.
    fn cudaGraphExecMemsetNodeSetParams(executable: u64, node: u64, params: In<MemsetNode>) {
        replace(executable, node, set(params)?)
    }
    /// Other parameters for a node of an executable graph.
    fn cudaGraphExecHostNodeSetParams(executable: u64, node: u64, params: In<HostNode>) {
        replace(executable, node, host(params)?)
    }
    /// Other parameters for a node of an executable graph.
    fn cudaGraphExecChildGraphNodeSetParams(executable: u64, node: u64, child: u64) {
        replace(executable, node, self::child(child)?)
    }

    /// The nodes of a graph, or how many there are.
    fn cudaGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        let there = graph::get(graph)?.work().len();
        if nodes.wanted() {
            let mut room = 0;
            count.change(|count| {
                room = *count;
                Ok(())
            })?;
            (0..there.min(room)).try_for_each(|place| nodes.set_at(place, (place as u64) << NODE_SHIFT | graph))?;
        }
        count.set(there)
    }
    /// What a node does.
    fn cudaGraphNodeGetType(node: u64, kind: Out<u32>) {
        let work = graph::get(graph_of(node))?.work();
        kind.set(work.get((node >> NODE_SHIFT) as usize).ok_or(Code::INVALID_VALUE)?.kind() as u32)
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
