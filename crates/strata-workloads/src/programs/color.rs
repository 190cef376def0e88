//! Colouring of a graph, two colours a round.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::graph::generate::{circuit, distinct_values};
use crate::graph::{Csr, Graph};
use crate::module::module;
use crate::program::{OnGraphs, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

/// A circuit on a grid.
struct Shape {
    rows: u32,
    cols: u32,
}

/// As many nodes as `G3_circuit` has, a graph that comes with the program (1 585 478).
const MEDIUM: Shape = Shape { rows: 1259, cols: 1259 };

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { rows: 20, cols: 30 }),
    (Size::Small, Shape { rows: 512, cols: 512 }),
    (Size::Medium, MEDIUM),
    // The paper names no graph.
    (Size::PaperCmd, MEDIUM),
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
    let Shape { rows, cols } = *shape;
    let links = circuit(&mut Rng::new(seed, "graph"), rows, cols);
    colour(&Csr::from_links(rows * cols, &links), seed, gpu)
}

fn colour(graph: &Csr, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let count = graph.nodes();
    let values = distinct_values(&mut Rng::new(seed, "values"), count)?;
    let n = count as i32;
    let grid = blocks(count, BLOCK);

    let first_edge = gpu.array_of("row", &graph.first_edge)?;
    let edges = gpu.array_of("col", &graph.edges)?;
    let value = gpu.array_of("node_value", &values)?;
    let colours = gpu.array_of("color", &vec![UNCOLOURED; count])?;
    let largest = gpu.array::<f32>("max", count)?;
    let smallest = gpu.array::<f32>("min", count)?;
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
fn by_extremes(graph: &Csr, values: &[f32]) -> Vec<i32> {
    let mut colours = vec![UNCOLOURED; graph.nodes()];
    let mut open: Vec<usize> = (0..graph.nodes()).collect();
    let mut first_colour = 0;
    while !open.is_empty() {
        let new_colour = |node: usize| {
            let rivals = || graph.neighbours(node).iter().filter(|n| colours[**n as usize] == UNCOLOURED);
            let beats_all = |wins: fn(&f32, &f32) -> bool| rivals().all(|n| wins(&values[node], &values[*n as usize]));
            match (beats_all(f32::gt), beats_all(f32::lt)) {
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
        let colours = by_extremes(&graph, &distinct_values(&mut Rng::new(1, "values"), 600).expect("few"));
        for node in 0..600 {
            assert!(colours[node] >= 0);
            assert!(graph.neighbours(node).iter().all(|n| colours[*n as usize] != colours[node]), "node {node}");
        }
        assert!(colours.iter().max() < Some(&24), "{:?}", colours.iter().max());
    }

    #[test]
    fn a_path_takes_its_ends_first() {
        let path = Csr::from_links(4, &[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(by_extremes(&path, &[0.1, 0.2, 0.3, 0.4]), [1, 3, 2, 0]);
    }
}
