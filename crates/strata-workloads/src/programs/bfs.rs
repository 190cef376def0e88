//! Breadth-first search, level by level.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::graph::generate::uniform;
use crate::graph::{Csr, Graph};
use crate::module::module;
use crate::program::{Measured, OnGraphs, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Instance, Outcome, Size, Workload};
use std::collections::VecDeque;
use strata_host::HostError;

struct Shape {
    nodes: u32,
    /// Links drawn per node: a node has about twice as many neighbours.
    links_per_node: u32,
}

impl Shape {
    /// The usual graph: a node has about six neighbours.
    const fn of(nodes: u32) -> Self {
        Self { nodes, links_per_node: 3 }
    }
}

const SHAPES: [(Size, Shape); 6] = [
    (Size::Tiny, Shape::of(1000)),
    (Size::Small, Shape::of(1 << 19)),
    (Size::Medium, Shape::of(1 << 22)),
    // As many nodes as Rodinia's `graph1MW_6`; the two papers name no graph.
    (Size::PaperCmd, Shape::of(1_000_000)),
    (Size::PaperTom, Shape::of(1_000_000)),
    (Size::PaperUvm, Shape::of(1 << 18)),
];

const SOURCE: usize = 0;
const UNREACHED: i32 = -1;

/// 131 072 links in the rows, but for the few that were drawn twice.
const INSTANCES: [(Instance, Shape); 1] = [(Instance::bench("16K"), Shape { nodes: 1 << 14, links_per_node: 4 })];

pub(super) const PROGRAM: &dyn Workload = &OnGraphs {
    program: Measured {
        program: Program {
            info: Info {
                name: "bfs",
                suite: "rodinia",
                papers: &["cmd", "tom", "uvm"],
                sizes: &sizes(&SHAPES),
                aliases: &[],
                description: "breadth-first search of a graph, level by level",
            },
            module: &[module!("bfs")],
            shapes: &SHAPES,
            run,
        },
        instances: &INSTANCES,
    },
    run_on: |graph: &Graph, _, gpu| search(graph.rows(), gpu),
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let links = uniform(&mut Rng::new(seed, "graph"), shape.nodes, shape.links_per_node);
    search(&Csr::from_links(shape.nodes, &links), gpu)
}

fn search(graph: &Csr, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 512;
    let count = graph.nodes();
    // One structure per node: first edge, degree.
    let rows: Vec<i32> = graph.first_edge.windows(2).flat_map(|w| [w[0], w[1] - w[0]]).collect();
    let mut start_mask = vec![0u8; count];
    start_mask[SOURCE] = 1;
    let mut start_levels = vec![UNREACHED; count];
    start_levels[SOURCE] = 0;

    let nodes = gpu.array_of("nodes", &rows)?;
    let edges = gpu.array_of("edges", &graph.edges)?;
    let frontier = gpu.array_of("mask", &start_mask)?;
    let joining = gpu.zeros::<u8>("updating_mask", count)?;
    let visited = gpu.array_of("visited", &start_mask)?;
    let levels = gpu.array_of("cost", &start_levels)?;
    let again = gpu.array_on_device("over", 1)?;
    let grid = blocks(count, BLOCK);
    let n = count as i32;
    loop {
        gpu.write(again, &[0])?;
        let args =
            [nodes.into(), edges.into(), frontier.into(), joining.into(), visited.into(), levels.into(), n.into()];
        gpu.launch("bfs_kernel1", grid, BLOCK as u32, &args)?;
        let args = [frontier.into(), joining.into(), visited.into(), again.into(), n.into()];
        gpu.launch("bfs_kernel2", grid, BLOCK as u32, &args)?;
        // Copying the flag waits for the kernels; nothing else is wanted before the last level.
        if gpu.read(again)? == [0] {
            break;
        }
    }
    gpu.synchronize();
    Ok(exact("levels", &gpu.read(levels)?, &distances(graph)))
}

/// Links between the source and each node, by a queue.
fn distances(graph: &Csr) -> Vec<i32> {
    let mut distances = vec![UNREACHED; graph.nodes()];
    distances[SOURCE] = 0;
    let mut queue = VecDeque::from([SOURCE]);
    while let Some(node) = queue.pop_front() {
        for &neighbour in graph.neighbours(node) {
            if distances[neighbour as usize] == UNREACHED {
                distances[neighbour as usize] = distances[node] + 1;
                queue.push_back(neighbour as usize);
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_on_a_ring_with_a_tail_and_an_island() {
        let graph = Csr::from_links(8, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (2, 5), (6, 7)]);
        assert_eq!(distances(&graph), [0, 1, 2, 2, 1, 3, UNREACHED, UNREACHED]);
    }

    #[test]
    fn distances_agree_with_relaxing_every_link_until_nothing_changes() {
        let graph = Csr::from_links(300, &uniform(&mut Rng::new(8, "graph"), 300, 1));
        let far = i32::MAX / 2;
        let mut relaxed = vec![far; graph.nodes()];
        relaxed[SOURCE] = 0;
        for _ in 0..graph.nodes() {
            for node in 0..graph.nodes() {
                for &neighbour in graph.neighbours(node) {
                    relaxed[neighbour as usize] = relaxed[neighbour as usize].min(relaxed[node] + 1);
                }
            }
        }
        relaxed.iter_mut().filter(|d| **d >= far).for_each(|d| *d = UNREACHED);
        assert_eq!(distances(&graph), relaxed);
    }
}
