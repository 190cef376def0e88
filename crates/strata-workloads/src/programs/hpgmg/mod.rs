//! Geometric multigrid on boxes with ghost zones, the coarsest level on the host.

mod grid;

use crate::check::{Tolerance, close_doubles};
use crate::gpu::{Array, Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use grid::{Grid, all, v_cycle};
use strata_core::{Addr, Dim3};
use strata_host::{Arg, HostError};

struct Shape {
    /// Boxes along each edge of the domain.
    boxes: usize,
    /// Cells along each edge of a box of the finest level: even on every level of the device.
    dim: usize,
    /// Levels on the device; one more, the coarsest, is on the host.
    levels: usize,
    cycles: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { boxes: 2, dim: 8, levels: 2, cycles: 2 }),
    (Size::Small, Shape { boxes: 2, dim: 24, levels: 3, cycles: 4 }),
    (Size::Medium, Shape { boxes: 4, dim: 24, levels: 3, cycles: 1 }),
    // Eight boxes of 64³ cells: the published program's arguments `6 8`.
    (Size::PaperBuddy, Shape { boxes: 2, dim: 64, levels: 3, cycles: 8 }),
];

/// The vectors of a box, in the order of the kernels.
const VECTORS: usize = 12;
const TEMP: usize = 0;
const UTRUE: usize = 1;
const F_MINUS_AV: usize = 2;
const F: usize = 3;
const U: usize = 4;
const ALPHA: usize = 5;
/// Three of them, one for each axis.
const BETA: usize = 6;
const DINV: usize = 9;
const L1INV: usize = 10;
const VALID: usize = 11;
const LEVEL_NAMES: [&str; 3] = ["level0_vectors", "level1_vectors", "level2_vectors"];
const NEIGHBOUR_NAMES: [&str; 3] = ["level0_neighbours", "level1_neighbours", "level2_neighbours"];
/// Rows of a block, in the kernels that have one thread per cell of a box's plane.
const ROWS: usize = 8;
/// Half sweeps before and after the coarse correction.
const HALF_SWEEPS: usize = 4;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "hpgmg",
        suite: "fastforward",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["FF_HPGMG"],
        description: "geometric multigrid on boxes, several vectors in one allocation",
    },
    module: &[module!("hpgmg")],
    shapes: &SHAPES,
    run,
};

/// How the vectors of one level lie in memory.
#[derive(Clone, Copy)]
struct Layout {
    /// Boxes along each edge of the domain, and cells along each edge of a box.
    boxes: usize,
    dim: usize,
}

impl Layout {
    /// Doubles of a row, padded to a sector of memory; the published program pads for vector instructions.
    fn row(self) -> usize {
        (self.dim + 2).next_multiple_of(4)
    }

    fn plane(self) -> usize {
        self.row() * (self.dim + 2)
    }

    /// Doubles of one vector of one box.
    fn volume(self) -> usize {
        (self.plane() * (self.dim + 2)).next_multiple_of(8)
    }

    fn count(self) -> usize {
        self.boxes.pow(3)
    }

    /// Where the first cell that is no ghost is, in a vector.
    fn first(self) -> usize {
        self.plane() + self.row() + 1
    }

    /// Calls `put` with box, place in a vector and place in the domain of each cell of each box; the places in the domain
    /// of ghost cells may lie one beyond it, so one is added to all.
    fn cells(self, mut put: impl FnMut(usize, usize, [usize; 3])) {
        for corner in all(self.boxes) {
            let number = (corner[2] * self.boxes + corner[1]) * self.boxes + corner[0];
            for at in all(self.dim + 2) {
                let place = (at[2] * (self.dim + 2) + at[1]) * self.row() + at[0];
                put(number, place, std::array::from_fn(|axis| corner[axis] * self.dim + at[axis]));
            }
        }
    }

    /// The number of the box beside each of the six faces of each box; -1 at the boundary of the domain.
    fn neighbours(self) -> Vec<i32> {
        let mut list = Vec::with_capacity(6 * self.count());
        for corner in all(self.boxes) {
            for face in 0..6 {
                let (axis, step) = (face / 2, [-1, 1][face % 2]);
                let mut beside = corner.map(|i| i as i32);
                beside[axis] += step;
                let edge = self.boxes as i32;
                let number = (beside[2] * edge + beside[1]) * edge + beside[0];
                list.push(if (0..edge).contains(&beside[axis]) { number } else { -1 });
            }
        }
        list
    }

    /// All vectors of a level before the first cycle. The finest level has a right-hand side and its exact solution.
    fn vectors(self, grid: &Grid, sides: Option<(&[f64], &[f64])>) -> Vec<f64> {
        let mut values = vec![0.0; self.count() * VECTORS * self.volume()];
        let size = grid.size;
        self.cells(|number, place, at| {
            let mut set = |vector: usize, value: f64| {
                values[(number * VECTORS + vector) * self.volume() + place] = value;
            };
            let inside = at.iter().all(|i| (1..=size).contains(i));
            // Faces of cells exist up to the far side of the last cell.
            if at.iter().all(|i| (1..=size + 1).contains(i)) {
                let face = ((at[2] - 1) * (size + 1) + at[1] - 1) * (size + 1) + at[0] - 1;
                for axis in 0..3 {
                    set(BETA + axis, grid.beta[axis][face]);
                }
            }
            if inside {
                let cell = ((at[2] - 1) * size + at[1] - 1) * size + at[0] - 1;
                set(ALPHA, 1.0);
                set(VALID, 1.0);
                set(DINV, grid.inverse[cell]);
                set(L1INV, grid.damped[cell]);
                if let Some((f, solution)) = sides {
                    set(F, f[cell]);
                    set(UTRUE, solution[cell]);
                }
            }
        });
        values
    }
}

/// One level on the device.
struct Level {
    layout: Layout,
    vectors: Array<f64>,
    neighbours: Array<i32>,
}

/// A vector of a coarser level as transfers between levels see it: its first cell, its strides.
struct Coarse {
    first: Addr,
    row: usize,
    plane: usize,
    each_box: usize,
}

impl Level {
    /// A launch with one thread per cell of boxes of `dim` cells; `args` stand between the level and its layout.
    fn launch(&self, gpu: &mut Gpu<'_>, kernel: &str, dim: usize, args: &[Arg], more: &[Arg]) -> Result<(), HostError> {
        let block: Dim3 = (dim as u32, ROWS as u32).into();
        let grid: Dim3 = (blocks(dim, ROWS), dim as u32, self.layout.count() as u32).into();
        gpu.launch(kernel, grid, block, &[&[self.vectors.into()], args, &self.layout_args(), more].concat())
    }

    fn layout_args(&self) -> [Arg; 3] {
        [self.layout.dim, self.layout.row(), self.layout.volume()].map(|n| Arg::from(n as i32))
    }

    /// Cells per unit length, squared.
    fn inverse_square(&self) -> f64 {
        let size = (self.layout.boxes * self.layout.dim) as f64;
        size * size
    }

    fn exchange(&self, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
        let dim = self.layout.dim;
        let grid: Dim3 = (blocks(dim, ROWS), 6, self.layout.count() as u32).into();
        let level = [self.vectors.into(), self.neighbours.into(), (U as i32).into()];
        gpu.launch("exchange_boundary", grid, (dim as u32, ROWS as u32), &[&level[..], &self.layout_args()].concat())
    }

    fn smooth(&self, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
        let dim = self.layout.dim;
        let block: Dim3 = (dim as u32 / 2, ROWS as u32, 2).into();
        let grid: Dim3 = (blocks(dim, ROWS), blocks(dim, 2), self.layout.count() as u32).into();
        for half in 0..HALF_SWEEPS {
            self.exchange(gpu)?;
            let level = [self.vectors.into(), (half as i32 % 2).into(), self.inverse_square().into()];
            gpu.launch("smooth", grid, block, &[&level[..], &self.layout_args()].concat())?;
        }
        Ok(())
    }

    fn residual(&self, gpu: &mut Gpu<'_>, into: usize) -> Result<(), HostError> {
        self.exchange(gpu)?;
        self.launch(gpu, "residual", self.layout.dim, &[(into as i32).into(), self.inverse_square().into()], &[])
    }

    /// Moves a vector between this level and a coarser one, with `kernel`.
    fn transfer(&self, gpu: &mut Gpu<'_>, kernel: &str, dim: usize, coarse: &Coarse) -> Result<(), HostError> {
        let strides = [coarse.row, coarse.plane, coarse.each_box].map(|n| Arg::from(n as i32));
        self.launch(gpu, kernel, dim, &[], &[&[coarse.first.into()], &strides[..]].concat())
    }

    fn vector(&self, vector: usize) -> Coarse {
        let offset = vector * self.layout.volume() + self.layout.first();
        Coarse {
            first: Addr(self.vectors.address().0 + 8 * offset as u64),
            row: self.layout.row(),
            plane: self.layout.plane(),
            each_box: VECTORS * self.layout.volume(),
        }
    }
}

/// The coarsest level: dense boxes without ghost cells on the device, solved on the host.
struct Bottom {
    layout: Layout,
    grid: Grid,
    f: Array<f64>,
    u: Array<f64>,
}

impl Bottom {
    fn dense(&self, array: Array<f64>) -> Coarse {
        let dim = self.layout.dim;
        Coarse { first: array.address(), row: dim, plane: dim * dim, each_box: dim.pow(3) }
    }

    /// Copies the right-hand side out, solves, copies the solution in.
    fn solve(&self, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
        gpu.synchronize();
        let in_boxes = gpu.read(self.f)?;
        let size = self.grid.size;
        let (dim, boxes) = (self.layout.dim, self.layout.boxes);
        let place = |at: [usize; 3]| {
            let [a, b, c] = at.map(|i| i / dim);
            let [i, j, k] = at.map(|i| i % dim);
            ((c * boxes + b) * boxes + a) * dim.pow(3) + (k * dim + j) * dim + i
        };
        let f: Vec<f64> = all(size).map(|at| in_boxes[place(at)]).collect();
        let mut solution = vec![0.0; f.len()];
        for (at, u) in all(size).zip(self.grid.solve(&f)) {
            solution[place(at)] = u;
        }
        gpu.write(self.u, &solution)
    }
}

fn cycle(gpu: &mut Gpu<'_>, levels: &[Level], bottom: &Bottom) -> Result<(), HostError> {
    let [level, coarser @ ..] = levels else { return bottom.solve(gpu) };
    let dim = level.layout.dim;
    level.smooth(gpu)?;
    level.residual(gpu, TEMP)?;
    let (right, correction) = match coarser.first() {
        Some(coarse) => (coarse.vector(F), coarse.vector(U)),
        None => (bottom.dense(bottom.f), bottom.dense(bottom.u)),
    };
    level.transfer(gpu, "restriction", dim / 2, &right)?;
    if let Some(coarse) = coarser.first() {
        coarse.launch(gpu, "zero_vector", coarse.layout.dim, &[(U as i32).into()], &[])?;
    }
    cycle(gpu, coarser, bottom)?;
    level.transfer(gpu, "interpolation", dim, &correction)?;
    level.smooth(gpu)
}

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut grids = vec![Grid::finest(shape.boxes * shape.dim, seed)];
    for level in 0..shape.levels {
        grids.push(grids[level].coarser());
    }
    let solution = grids[0].solution();
    let f = grids[0].times(&solution);

    let mut expected = vec![0.0; f.len()];
    for _ in 0..shape.cycles {
        v_cycle(&grids, &mut expected, &f);
    }

    let mut levels = Vec::with_capacity(shape.levels);
    let layouts = (0..=shape.levels).map(|level| Layout { boxes: shape.boxes, dim: shape.dim >> level });
    for ((number, layout), grid) in layouts.clone().enumerate().zip(&grids).take(shape.levels) {
        let sides = (number == 0).then_some((&f[..], &solution[..]));
        let vectors = gpu.array_of(LEVEL_NAMES[number], &layout.vectors(grid, sides))?;
        let neighbours = gpu.array_of(NEIGHBOUR_NAMES[number], &layout.neighbours())?;
        levels.push(Level { layout, vectors, neighbours });
    }
    let coarsest = Layout { boxes: shape.boxes, dim: shape.dim >> shape.levels };
    let cells = coarsest.count() * coarsest.dim.pow(3);
    let grid = grids.swap_remove(shape.levels);
    let (right, correction) = (gpu.array("coarse_f", cells)?, gpu.zeros("coarse_u", cells)?);
    let bottom = Bottom { layout: coarsest, grid, f: right, u: correction };
    let norms = gpu.zeros::<f64>("norms", coarsest.count())?;

    // On each level two times four pairs of exchange and half sweep, a residual with its exchange, two transfers; one
    // vector cleared on all but the finest; at the end a residual with its exchange, and its norm.
    gpu.announce(shape.cycles * (shape.levels * (4 * HALF_SWEEPS + 4) + shape.levels - 1 + 3));
    let finest = &levels[0];
    for _ in 0..shape.cycles {
        cycle(gpu, &levels, &bottom)?;
        finest.residual(gpu, F_MINUS_AV)?;
        let vector = [finest.vectors.into(), (F_MINUS_AV as i32).into()];
        let args = [&vector[..], &finest.layout_args(), &[norms.into()]].concat();
        gpu.launch("max_norm", finest.layout.count() as u32, 128, &args)?;
        gpu.synchronize();
        // The published program prints the largest after every cycle.
        gpu.read(norms)?;
    }
    let vectors = gpu.read(finest.vectors)?;
    let mut got = vec![0.0; expected.len()];
    let (layout, size) = (finest.layout, shape.boxes * shape.dim);
    layout.cells(|number, place, at| {
        let in_box = at.iter().all(|i| (1..=size).contains(i));
        let own = [0, 1, 2].map(|axis| (at[axis].wrapping_sub(1)) / layout.dim);
        if in_box && (own[2] * layout.boxes + own[1]) * layout.boxes + own[0] == number {
            let cell = ((at[2] - 1) * size + at[1] - 1) * size + at[0] - 1;
            got[cell] = vectors[(number * VECTORS + U) * layout.volume() + place];
        }
    });
    // Cycles damp rounding errors as they damp all others; the coarse solution is exact to 1e-12.
    Ok(close_doubles("cells", &got, &expected, Tolerance { limit: 1e-10, scale: 1.0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_have_neighbours_and_padding() {
        let layout = Layout { boxes: 2, dim: 24 };
        assert_eq!((layout.row(), layout.plane(), layout.volume()), (28, 728, 18928));
        assert_eq!(layout.neighbours()[..12], [-1, 1, -1, 2, -1, 4, 0, -1, -1, 3, -1, 5]);
    }

    #[test]
    fn ghost_cells_beyond_the_domain_are_not_valid() {
        let layout = Layout { boxes: 2, dim: 4 };
        let values = layout.vectors(&Grid::finest(8, 1), None);
        let valid = &values[VALID * layout.volume()..][..layout.volume()];
        // The first box touches the domain's boundary on three sides only.
        assert_eq!((valid[layout.first()], valid[layout.first() - 1], valid[layout.first() + 4]), (1.0, 0.0, 1.0));
        assert_eq!(valid.iter().sum::<f64>(), 125.0);
    }
}
