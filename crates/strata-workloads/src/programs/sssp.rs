//! Shortest paths from one node, by rounds over all links.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::graph::generate::{road, uniform};
use crate::graph::{Graph, Weighted};
use crate::module::module;
use crate::program::{OnGraphs, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use strata_host::HostError;

struct Shape {
    map: Map,
    window: Option<Window>,
}

enum Map {
    /// A grid of crossings.
    Road { rows: u32, cols: u32 },
    /// Nodes that draw their neighbours anywhere.
    Uniform { nodes: u32, links_per_node: u32 },
}

/// A part of the rounds. All of them would be thousands on a large map, each over all links.
struct Window {
    /// Rounds that are over when the device begins.
    before: usize,
    /// Rounds that the device does.
    rounds: usize,
}

const MEDIUM: Shape =
    Shape { map: Map::Road { rows: 1024, cols: 1024 }, window: Some(Window { before: 1000, rounds: 12 }) };

const SHAPES: [(Size, Shape); 5] = [
    (Size::Tiny, Shape { map: Map::Road { rows: 20, cols: 30 }, window: None }),
    (Size::Small, Shape { map: Map::Road { rows: 128, cols: 128 }, window: None }),
    (Size::Medium, MEDIUM),
    // The paper names no graph.
    (Size::PaperCmd, MEDIUM),
    (Size::PaperUvm, Shape { map: Map::Uniform { nodes: 1 << 18, links_per_node: 3 }, window: None }),
];

const SOURCE: usize = 0;
/// The kernels' `UNREACHED`.
const UNREACHED: i32 = i32::MAX / 2;

pub(super) const PROGRAM: &dyn Workload = &OnGraphs {
    program: Program {
        info: Info {
            name: "sssp",
            suite: "pannotia",
            papers: &["cmd", "uvm"],
            sizes: &sizes(&SHAPES),
            aliases: &[],
            description: "shortest paths from one node of a road map, by rounds over all links",
        },
        module: &[module!("sssp")],
        shapes: &SHAPES,
        run,
    },
    run_on: |graph: &Graph, _, gpu| {
        let lengths = graph.lengths();
        let map = lengths.map_err(|e| HostError::Call { call: "run", reason: format!("the graph's {e}") })?;
        solve(map, None, gpu)
    },
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut rng = Rng::new(seed, "graph");
    let map = match shape.map {
        Map::Road { rows, cols } => Weighted::from_links(rows * cols, &road(&mut rng, rows, cols)),
        Map::Uniform { nodes, links_per_node } => {
            let links = uniform(&mut rng, nodes, links_per_node);
            // Lengths from 1 to 10, as in the random graphs that come with Rodinia.
            let mut lengths = Rng::new(seed, "lengths");
            let links: Vec<_> = links.into_iter().map(|(a, b)| (a, b, 1 + lengths.below(10) as i32)).collect();
            Weighted::from_links(nodes, &links)
        }
    };
    solve(&map, shape.window.as_ref(), gpu)
}

fn solve(map: &Weighted, window: Option<&Window>, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let count = map.graph.nodes();
    let n = count as i32;
    let grid = blocks(count, BLOCK);

    let first_edge = gpu.array_of("row", &map.graph.first_edge)?;
    let edges = gpu.array_of("col", &map.graph.edges)?;
    let lengths = gpu.array_of("data", &map.weights)?;
    let distance = gpu.array("vector1", count)?;
    let next = gpu.array::<i32>("vector2", count)?;
    let again = gpu.array("stop", 1)?;
    let args = [distance.into(), next.into(), (SOURCE as i32).into(), n.into()];
    gpu.launch("sssp_init", grid, BLOCK as u32, &args)?;
    if let Some(window) = window {
        gpu.write(distance, &after_rounds(map, window.before))?;
    }
    let mut rounds = 0;
    while window.is_none_or(|window| rounds < window.rounds) {
        gpu.write(again, &[0])?;
        let args = [first_edge.into(), edges.into(), lengths.into(), distance.into(), next.into(), n.into()];
        gpu.launch("sssp_relax", grid, BLOCK as u32, &args)?;
        gpu.launch("sssp_compare", grid, BLOCK as u32, &[distance.into(), next.into(), again.into(), n.into()])?;
        gpu.launch("sssp_assign", grid, BLOCK as u32, &[distance.into(), next.into(), n.into()])?;
        gpu.synchronize();
        if gpu.read(again)? == [0] {
            break;
        }
        rounds += 1;
    }
    let expected = window.map_or_else(|| shortest(map), |window| after_rounds(map, window.before + window.rounds));
    Ok(exact("distances", &gpu.read(distance)?, &expected))
}

/// The distances over at most `rounds` links, from those that changed last alone.
fn after_rounds(map: &Weighted, rounds: usize) -> Vec<i32> {
    let mut distances = vec![UNREACHED; map.graph.nodes()];
    distances[SOURCE] = 0;
    let mut changed = vec![SOURCE];
    for _ in 0..rounds {
        let over = |&node: &usize| {
            let start = distances[node];
            map.neighbours(node).map(move |(neighbour, length)| (neighbour, start + length))
        };
        let mut offers: Vec<(usize, i32)> = changed.iter().flat_map(over).collect();
        offers.sort_unstable();
        offers.dedup_by_key(|(node, _)| *node);
        changed.clear();
        for (node, offer) in offers {
            if offer < distances[node] {
                distances[node] = offer;
                changed.push(node);
            }
        }
    }
    distances
}

/// The distances by Dijkstra's algorithm.
fn shortest(map: &Weighted) -> Vec<i32> {
    let mut distances = vec![UNREACHED; map.graph.nodes()];
    distances[SOURCE] = 0;
    let mut queue = BinaryHeap::from([Reverse((0, SOURCE))]);
    while let Some(Reverse((distance, node))) = queue.pop() {
        if distance > distances[node] {
            continue;
        }
        for (neighbour, length) in map.neighbours(node) {
            let offer = distance + length;
            if offer < distances[neighbour] {
                distances[neighbour] = offer;
                queue.push(Reverse((offer, neighbour)));
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detour_may_be_shorter_but_takes_more_rounds() {
        let map = Weighted::from_links(5, &[(0, 1, 10), (0, 2, 1), (2, 3, 1), (3, 1, 1)]);
        assert_eq!(after_rounds(&map, 1), [0, 10, 1, UNREACHED, UNREACHED]);
        assert_eq!(after_rounds(&map, 3), [0, 3, 1, 2, UNREACHED]);
        assert_eq!(shortest(&map), [0, 3, 1, 2, UNREACHED]);
    }

    #[test]
    fn enough_rounds_find_the_shortest_paths() {
        let map = Weighted::from_links(600, &road(&mut Rng::new(3, "graph"), 20, 30));
        assert_eq!(after_rounds(&map, 600), shortest(&map));
        assert_ne!(after_rounds(&map, 20), shortest(&map));
    }
}
