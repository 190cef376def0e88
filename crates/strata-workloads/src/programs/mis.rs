//! A maximal independent set, by Luby's rounds with values that stay.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::graph::generate::{mesh, priorities};
use crate::graph::{Csr, Graph};
use crate::module::module;
use crate::program::{OnGraphs, Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

/// A mesh of the five-point stencil.
struct Shape {
    rows: u32,
    cols: u32,
}

/// That of `ecology1`, a graph that comes with the program.
const MEDIUM: Shape = Shape { rows: 1000, cols: 1000 };

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { rows: 20, cols: 30 }),
    (Size::Small, Shape { rows: 512, cols: 512 }),
    (Size::Medium, MEDIUM),
    // CMD names no graph.
    (Size::PaperCmd, MEDIUM),
];

/// The kernels' `IN_SET`; others have 0.
const IN_SET: i32 = 2;

pub(super) const PROGRAM: &dyn Workload = &OnGraphs {
    program: Program {
        info: Info {
            name: "mis",
            suite: "pannotia",
            papers: &["cmd"],
            sizes: &sizes(&SHAPES),
            aliases: &[],
            description: "maximal independent set of a mesh",
        },
        module: &[module!("mis")],
        shapes: &SHAPES,
        run,
    },
    run_on: |graph: &Graph, seed, gpu| choose(graph.rows(), seed, gpu),
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let Shape { rows, cols } = *shape;
    choose(&Csr::from_links(rows * cols, &mesh(rows, cols)), seed, gpu)
}

fn choose(graph: &Csr, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let count = graph.nodes();
    let values = priorities(&mut Rng::new(seed, "values"), count);
    let n = count as i32;
    let grid = blocks(count, BLOCK);

    let first_edge = gpu.array_of("row", &graph.first_edge)?;
    let edges = gpu.array_of("col", &graph.edges)?;
    let value = gpu.array_of("node_value", &values)?;
    let set = gpu.array("s_array", count)?;
    let state = gpu.array::<i32>("c_array", count)?;
    let next_state = gpu.array::<i32>("c_array_u", count)?;
    let smallest = gpu.array::<i32>("min_array", count)?;
    let again = gpu.array("stop", 1)?;
    gpu.launch("mis_init", grid, BLOCK as u32, &[set.into(), state.into(), next_state.into(), n.into()])?;
    loop {
        gpu.write(again, &[0])?;
        let links = [first_edge.into(), edges.into(), value.into()];
        let args = [&links[..], &[state.into(), smallest.into(), again.into(), n.into()]].concat();
        gpu.launch("mis_smallest", grid, BLOCK as u32, &args)?;
        let args = [&links[..], &[smallest.into(), state.into(), set.into(), next_state.into(), n.into()]].concat();
        gpu.launch("mis_join", grid, BLOCK as u32, &args)?;
        gpu.launch("mis_close", grid, BLOCK as u32, &[state.into(), next_state.into(), n.into()])?;
        gpu.synchronize();
        if gpu.read(again)? == [0] {
            break;
        }
    }
    Ok(exact("nodes", &gpu.read(set)?, &greedy(graph, &values)))
}

/// The set that is found by asking every node in the order of the values: values that stay make the rounds find the same.
fn greedy(graph: &Csr, values: &[i32]) -> Vec<i32> {
    let mut order: Vec<usize> = (0..graph.nodes()).collect();
    order.sort_unstable_by_key(|node| (values[*node], *node));
    let mut set = vec![0; graph.nodes()];
    for node in order {
        if graph.neighbours(node).iter().all(|neighbour| set[*neighbour as usize] != IN_SET) {
            set[node] = IN_SET;
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_no_neighbours_and_no_room() {
        let graph = Csr::from_links(600, &mesh(20, 30));
        let values: Vec<i32> = priorities(&mut Rng::new(2, "values"), 600).into_iter().map(|v| v % 8).collect();
        let set = greedy(&graph, &values);
        for node in 0..600 {
            let near = graph.neighbours(node).iter().filter(|n| set[**n as usize] == IN_SET).count();
            assert_eq!(set[node] == IN_SET, near == 0, "node {node}");
        }
    }

    #[test]
    fn the_smallest_values_of_a_path_come_first() {
        let path = Csr::from_links(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(greedy(&path, &[5, 1, 2, 3, 4]), [0, IN_SET, 0, IN_SET, 0]);
        assert_eq!(greedy(&path, &[7; 5]), [IN_SET, 0, IN_SET, 0, IN_SET], "of equals the earlier is smaller");
    }
}
