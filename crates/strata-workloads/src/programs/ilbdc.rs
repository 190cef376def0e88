//! Flow through a packed channel: the lattice Boltzmann method on a list of fluid cells.

mod lattice;

use crate::check::{Tolerance, close_doubles};
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use lattice::{Cell, Channel, DIRECTIONS, EVEN_RATE, FORCE, ODD_RATE, opposite};
use strata_host::HostError;

struct Shape {
    /// Cells of the channel; some three fifths are fluid.
    size: [usize; 3],
    /// Steps that the host has computed before: the run continues from its state, as from a checkpoint.
    before: usize,
    steps: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { size: [20, 16, 14], before: 2, steps: 5 }),
    (Size::Small, Shape { size: [48, 34, 34], before: 0, steps: 40 }),
    (Size::Medium, MEDIUM),
    // The paper names no size; a usual bed of beads takes gigabytes.
    (Size::PaperBuddy, MEDIUM),
];

const MEDIUM: Shape = Shape { size: [96, 82, 82], before: 20, steps: 10 };

/// Sums of 19 terms in another order, in each step, of values around a thirtieth.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-12, scale: 1.0 / 36.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "ilbdc",
        suite: "specaccel",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["360.ilbdc"],
        description: "flow through a packed channel by the lattice Boltzmann method",
    },
    module: &[module!("ilbdc")],
    shapes: &SHAPES,
    run,
};

/// The fluid cells of a channel one after another, and how their distributions find each other.
struct List {
    /// Cells of the channel.
    cells: Vec<usize>,
    /// From one direction to the next: the number of cells, filled up to whole memory lines.
    stride: usize,
    /// For each direction but rest and each cell: where the distribution that arrives there stands.
    adjacency: Vec<i32>,
}

impl List {
    fn new(channel: &Channel) -> Self {
        let cells: Vec<usize> = (0..channel.cells()).filter(|cell| channel.fluid[*cell]).collect();
        let stride = cells.len().next_multiple_of(32);
        let mut numbers = vec![0; channel.cells()];
        cells.iter().enumerate().for_each(|(number, cell)| numbers[*cell] = number);
        let mut adjacency = vec![0; (DIRECTIONS - 1) * stride];
        for (number, cell) in cells.iter().enumerate() {
            for (q, upstream) in channel.upstream(*cell).into_iter().enumerate().skip(1) {
                let place = if channel.fluid[upstream] {
                    q * stride + numbers[upstream]
                } else {
                    opposite(q) * stride + number
                };
                adjacency[(q - 1) * stride + number] = place as i32;
            }
        }
        Self { cells, stride, adjacency }
    }

    /// The distributions of the listed cells, direction by direction; what fills up the lines is zero.
    fn gather(&self, state: &[Cell]) -> Vec<f64> {
        let mut values = vec![0.0; DIRECTIONS * self.stride];
        for q in 0..DIRECTIONS {
            for (number, cell) in self.cells.iter().enumerate() {
                values[q * self.stride + number] = state[*cell][q];
            }
        }
        values
    }
}

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 128;
    let channel = Channel::packed(&mut Rng::new(seed, "beads"), shape.size);
    let list = List::new(&channel);
    let state = channel.advance(channel.start(), shape.before);

    let mut from = gpu.array_of("pdf_even", &list.gather(&state))?;
    let mut to = gpu.zeros("pdf_odd", DIRECTIONS * list.stride)?;
    let adjacency = gpu.array_of("adjacency", &list.adjacency)?;
    let (cells, stride) = (list.cells.len(), list.stride as i32);
    gpu.announce(shape.steps);
    for _ in 0..shape.steps {
        let arrays = [from.into(), to.into(), adjacency.into(), (cells as i32).into(), stride.into()];
        let rates = [EVEN_RATE.into(), ODD_RATE.into(), FORCE.into()];
        gpu.launch("lbm_step", blocks(cells, BLOCK), BLOCK as u32, &[&arrays[..], &rates].concat())?;
        std::mem::swap(&mut from, &mut to);
    }
    gpu.synchronize();

    let expected = list.gather(&channel.advance(state, shape.steps));
    Ok(close_doubles("distributions", &gpu.read(from)?, &expected, TOLERANCE))
}
