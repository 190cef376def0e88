//! Colouring of a graph, two colours a round.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::graph::generate::{circuit, mesh, priorities};
use crate::graph::{Csr, Graph};
use crate::module::module;
use crate::program::{OnGraphs, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

/// A graph on a grid.
enum Shape {
    Circuit { rows: u32, cols: u32 },
    Mesh { rows: u32, cols: u32 },
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape::Circuit { rows: 20, cols: 30 }),
    (Size::Small, Shape::Circuit { rows: 512, cols: 512 }),
    // As many nodes as `G3_circuit` has, a graph that comes with the program (1 585 478).
    (Size::Medium, Shape::Circuit { rows: 1259, cols: 1259 }),
    // CMD names no graph. `ecology1` also comes with the program, and this is it exactly.
    (Size::PaperCmd, Shape::Mesh { rows: 1000, cols: 1000 }),
];

const UNCOLOURED: i32 = -1;

pub(super) const PROGRAM: &dyn Workload = &OnGraphs {
    program: Program {
        info: Info {
            name: "color",
            suite: "pannotia",
            papers: &["cmd"],
            sizes: &sizes(&SHAPES),
            aliases: &["clr"],
            description: "colouring of a circuit's graph, two colours a round",
        },
        module: &[module!("color")],
        shapes: &SHAPES,
        run,
    },
    run_on: |graph: &Graph, seed, gpu| colour(graph.rows(), seed, gpu),
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let (nodes, links) = match *shape {
        Shape::Circuit { rows, cols } => (rows * cols, circuit(&mut Rng::new(seed, "graph"), rows, cols)),
        Shape::Mesh { rows, cols } => (rows * cols, mesh(rows, cols)),
    };
    colour(&Csr::from_links(nodes, &links), seed, gpu)
}

fn colour(graph: &Csr, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let count = graph.nodes();
    let values = priorities(&mut Rng::new(seed, "values"), count);
    let n = count as i32;
    let grid = blocks(count, BLOCK);

    let first_edge = gpu.array_of("row", &graph.first_edge)?;
    let edges = gpu.array_of("col", &graph.edges)?;
    let value = gpu.array_of("node_value", &values)?;
    let colours = gpu.array_of("color", &vec![UNCOLOURED; count])?;
    let largest = gpu.array::<i32>("max", count)?;
    let smallest = gpu.array::<i32>("min", count)?;
    let again = gpu.array("stop", 1)?;
    let mut first_colour = 0;
    loop {
        gpu.write(again, &[0])?;
        let extremes = [largest.into(), smallest.into()];
        let args = [first_edge.into(), edges.into(), value.into(), colours.into()];
        let args = [&args[..], &extremes, &[again.into(), n.into()]].concat();
        gpu.launch("color_extremes", grid, BLOCK as u32, &args)?;
        let args = [&[value.into()][..], &extremes, &[colours.into(), first_colour.into(), n.into()]].concat();
        gpu.launch("color_assign", grid, BLOCK as u32, &args)?;
        gpu.synchronize();
        if gpu.read(again)? == [0] {
            break;
        }
        first_colour += 2;
    }
    Ok(exact("colours", &gpu.read(colours)?, &by_extremes(graph, &values)))
}

/// The same rounds, over the nodes that have no colour yet.
fn by_extremes(graph: &Csr, values: &[i32]) -> Vec<i32> {
    // Of equal values that of the later node is larger.
    let rank = |node: usize| (values[node], node);
    let mut colours = vec![UNCOLOURED; graph.nodes()];
    let mut open: Vec<usize> = (0..graph.nodes()).collect();
    let mut first_colour = 0;
    while !open.is_empty() {
        let new_colour = |node: usize| {
            let rivals = || graph.neighbours(node).iter().filter(|n| colours[**n as usize] == UNCOLOURED);
            let is_largest = rivals().all(|n| rank(node) > rank(*n as usize));
            let is_smallest = rivals().all(|n| rank(node) < rank(*n as usize));
            match (is_largest, is_smallest) {
                (true, _) => first_colour,
                (false, true) => first_colour + 1,
                (false, false) => UNCOLOURED,
            }
        };
        let new_colours: Vec<i32> = open.iter().map(|node| new_colour(*node)).collect();
        for (node, colour) in open.iter().zip(new_colours) {
            colours[*node] = colour;
        }
        open.retain(|node| colours[*node] == UNCOLOURED);
        first_colour += 2;
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_differ_in_colour() {
        let graph = Csr::from_links(600, &circuit(&mut Rng::new(1, "graph"), 20, 30));
        // Few priorities: neighbours with equal ones are many.
        let values: Vec<i32> = priorities(&mut Rng::new(1, "values"), 600).into_iter().map(|v| v % 8).collect();
        let colours = by_extremes(&graph, &values);
        for node in 0..600 {
            assert!(colours[node] >= 0);
            assert!(graph.neighbours(node).iter().all(|n| colours[*n as usize] != colours[node]), "node {node}");
        }
        assert!(colours.iter().max() < Some(&24), "{:?}", colours.iter().max());
    }

    #[test]
    fn a_path_takes_its_ends_first() {
        let path = Csr::from_links(4, &[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(by_extremes(&path, &[1, 2, 3, 4]), [1, 3, 2, 0]);
        assert_eq!(by_extremes(&path, &[7, 7, 7, 7]), [1, 3, 2, 0], "of equals the later is larger");
    }
}
