//! `PageRank` by power iteration.

use crate::check::{Tolerance, close};
use crate::gpu::{Gpu, blocks};
use crate::graph::generate::{coauthors, rmat};
use crate::graph::{Csr, Graph};
use crate::module::module;
use crate::program::{OnGraphs, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    links: Links,
    iterations: usize,
}

enum Links {
    /// Between pages: hubs with thousands of links. The nodes are a power of two.
    Web { nodes: u32, per_node: u32 },
    /// Between authors who wrote together.
    CoAuthors { nodes: u32 },
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { links: Links::Web { nodes: 512, per_node: 4 }, iterations: 5 }),
    (Size::Small, Shape { links: Links::Web { nodes: 1 << 16, per_node: 8 }, iterations: 10 }),
    (Size::Medium, Shape { links: Links::Web { nodes: 1 << 18, per_node: 8 }, iterations: 20 }),
    // CMD names no graph. Pannotia's is coAuthorsDBLP, and it does 20 iterations.
    (Size::PaperCmd, Shape { links: Links::CoAuthors { nodes: 299_067 }, iterations: 20 }),
];

const DAMPING: f32 = 0.85;
/// Sums of positive shares, up to tens of thousands of them at a hub, in the order of the machine.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-4, scale: 0.0 };

/// Iterations on a graph of the user's.
const ITERATIONS: usize = 20;

pub(super) const PROGRAM: &dyn Workload = &OnGraphs {
    program: Program {
        info: Info {
            name: "pagerank",
            suite: "pannotia",
            papers: &["cmd"],
            sizes: &sizes(&SHAPES),
            aliases: &["prk"],
            description: "rank of the nodes of a power-law graph",
        },
        module: &[module!("pagerank")],
        shapes: &SHAPES,
        run,
    },
    run_on: |graph: &Graph, _, gpu| iterate(graph.rows(), ITERATIONS, gpu),
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut rng = Rng::new(seed, "graph");
    let (nodes, links) = match shape.links {
        Links::Web { nodes, per_node } => (nodes, rmat(&mut rng, nodes, per_node)),
        Links::CoAuthors { nodes } => (nodes, coauthors(&mut rng, nodes)),
    };
    iterate(&Csr::from_links(nodes, &links), shape.iterations, gpu)
}

fn iterate(graph: &Csr, iterations: usize, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let count = graph.nodes();

    let first_edge = gpu.array_of("first_edge", &graph.first_edge)?;
    let edges = gpu.array_of("edges", &graph.edges)?;
    let rank = gpu.array_of("rank", &vec![1.0 / count as f32; count])?;
    let received = gpu.zeros::<f32>("received", count)?;
    let grid = blocks(count, BLOCK);
    let n = count as i32;
    gpu.announce(2 * iterations);
    for _ in 0..iterations {
        let args = [first_edge.into(), edges.into(), rank.into(), received.into(), n.into()];
        gpu.launch("pagerank_scatter", grid, BLOCK as u32, &args)?;
        let args = [rank.into(), received.into(), n.into(), DAMPING.into()];
        gpu.launch("pagerank_update", grid, BLOCK as u32, &args)?;
    }
    gpu.synchronize();
    Ok(close("ranks", &gpu.read(rank)?, &ranks(graph, iterations), TOLERANCE))
}

/// The ranks, each gathered from its neighbours (links go both ways).
fn ranks(graph: &Csr, iterations: usize) -> Vec<f64> {
    let count = graph.nodes();
    let damping = f64::from(DAMPING);
    let mut ranks = vec![1.0 / count as f64; count];
    for _ in 0..iterations {
        let share = |node: &i32| ranks[*node as usize] / graph.neighbours(*node as usize).len() as f64;
        let gathered = |node: usize| graph.neighbours(node).iter().map(share).sum::<f64>();
        ranks = (0..count).map(|node| (1.0 - damping) / count as f64 + damping * gathered(node)).collect();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_star_solve_its_equations() {
        // A hub with four leaves: h = 0.03 + 0.85 * 4 l and l = 0.03 + 0.85 * h / 4 give h = 0.132 / 0.2775.
        let graph = Csr::from_links(5, &[(0, 1), (0, 2), (0, 3), (0, 4)]);
        let ranks = ranks(&graph, 200);
        assert!((ranks[0] - 0.132 / 0.2775).abs() < 1e-6, "{ranks:?}");
        assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        assert_eq!(ranks[1], ranks[4]);
    }
}
