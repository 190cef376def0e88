//! An eigenvalue of a sparse matrix by inverse iteration, each step solved by conjugate gradients (the NAS benchmark CG).

use crate::check::{Tolerance, close_doubles};
use crate::gpu::{Array, Gpu, blocks};
use crate::module::module;
use crate::npb::Sequence;
use crate::program::{Program, sizes};
use crate::sparse::Sparse;
use crate::{Info, Outcome, Size, Workload};
use strata_host::{Arg, HostError};

struct Shape {
    rows: usize,
    /// Elements of each random vector that the matrix is made of, without the one on the diagonal.
    nonzeros: usize,
    /// Taken from the diagonal: above the largest eigenvalue, the one that the iteration finds.
    shift: f64,
    /// Steps of inverse iteration.
    steps: usize,
    /// Steps of conjugate gradients in each; the benchmark's classes have 25.
    solver_steps: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    // The matrices of the benchmark's classes S, A and B; the middle two with fewer rows.
    (Size::Tiny, Shape { rows: 1400, nonzeros: 7, shift: 10.0, steps: 2, solver_steps: 4 }),
    (Size::Small, Shape { rows: 10_000, nonzeros: 11, shift: 20.0, steps: 2, solver_steps: 15 }),
    (Size::Medium, Shape { rows: 65_000, nonzeros: 13, shift: 60.0, steps: 2, solver_steps: 3 }),
    // Class B, 5 of its 75 steps: the matrix, which is 98 % of the memory, is the same in all of them.
    (Size::PaperBuddy, Shape { rows: 75_000, nonzeros: 13, shift: 60.0, steps: 5, solver_steps: 25 }),
];

/// Rounding grows by less than the condition of the shifted matrix, below 10, in each of some ten solver steps.
const LIMIT: f64 = 1e-10;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "cg",
        suite: "specaccel",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["354.cg"],
        description: "eigenvalue of a sparse matrix by conjugate gradients",
    },
    module: &[module!("cg")],
    shapes: &SHAPES,
    run,
};

/// The arrays on the device, and the host's part of the work.
struct Solver<'g, 'd> {
    gpu: &'g mut Gpu<'d>,
    rows: usize,
    first: Array<i32>,
    cols: Array<i32>,
    values: Array<f64>,
    x: Array<f64>,
    z: Array<f64>,
    p: Array<f64>,
    q: Array<f64>,
    r: Array<f64>,
    partial: Array<f64>,
}

/// Threads of a block, and blocks of a dot product.
const BLOCK: usize = 256;
const DOT_BLOCKS: usize = 64;
/// Threads that share a row of the product.
const LANES: usize = 8;
/// Launches of one solver step, and of one step of inverse iteration without those.
const SOLVER_LAUNCHES: usize = 5;
const STEP_LAUNCHES: usize = 7;

impl<'g, 'd> Solver<'g, 'd> {
    fn new(gpu: &'g mut Gpu<'d>, matrix: &Sparse, shape: &Shape) -> Result<Self, HostError> {
        let rows = shape.rows;
        // Room for the elements before those in the same place are added up, as the benchmark declares its arrays.
        let room = rows * (shape.nonzeros + 1) * (shape.nonzeros + 1);
        let first = gpu.array_of("rowstr", &matrix.first)?;
        let cols = gpu.zeros("colidx", room)?;
        gpu.write(cols, &matrix.cols)?;
        let values = gpu.zeros("a", room)?;
        gpu.write(values, &matrix.values)?;
        let x = gpu.array_of("x", &vec![1.0; rows])?;
        let z = gpu.zeros("z", rows)?;
        let p = gpu.zeros("p", rows)?;
        let q = gpu.zeros("q", rows)?;
        let r = gpu.zeros("r", rows)?;
        let partial = gpu.zeros("partial", DOT_BLOCKS)?;
        Ok(Self { gpu, rows, first, cols, values, x, z, p, q, r, partial })
    }

    fn launch(&mut self, kernel: &str, args: &[Arg]) -> Result<(), HostError> {
        self.gpu.launch(kernel, blocks(self.rows, BLOCK), BLOCK as u32, args)
    }

    /// `to` becomes the product of the matrix with `of`.
    fn multiply(&mut self, of: Array<f64>, to: Array<f64>) -> Result<(), HostError> {
        let n = self.rows as i32;
        let args = [self.first.into(), self.cols.into(), self.values.into(), of.into(), to.into(), n.into()];
        self.gpu.launch("cg_spmv", blocks(LANES * self.rows, BLOCK), BLOCK as u32, &args)
    }

    /// A sum over two vectors.
    fn sum(&mut self, kernel: &str, a: Array<f64>, b: Array<f64>) -> Result<f64, HostError> {
        let args = [a.into(), b.into(), self.partial.into(), (self.rows as i32).into()];
        self.gpu.launch(kernel, DOT_BLOCKS as u32, BLOCK as u32, &args)?;
        self.gpu.synchronize();
        Ok(self.gpu.read(self.partial)?.iter().sum())
    }

    /// Solves A z = x; returns the norm of what is left of x.
    fn solve(&mut self, steps: usize) -> Result<f64, HostError> {
        let n = self.rows as i32;
        let Self { x, z, p, q, r, .. } = *self;
        self.launch("cg_start", &[x.into(), q.into(), z.into(), r.into(), p.into(), n.into()])?;
        let mut rho = self.sum("cg_dot", r, r)?;
        for _ in 0..steps {
            self.multiply(p, q)?;
            let alpha = rho / self.sum("cg_dot", p, q)?;
            self.launch("cg_advance", &[z.into(), r.into(), p.into(), q.into(), alpha.into(), n.into()])?;
            let before = rho;
            rho = self.sum("cg_dot", r, r)?;
            self.launch("cg_direction", &[p.into(), r.into(), (rho / before).into(), n.into()])?;
        }
        self.multiply(z, r)?;
        Ok(self.sum("cg_distance", x, r)?.sqrt())
    }
}

/// What an iteration arrives at.
struct Found {
    eigenvalue: f64,
    residual: f64,
    vector: Vec<f64>,
}

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let matrix = Sparse::outer_products(&mut Sequence::new(seed, "matrix"), shape.rows, shape.nonzeros, shape.shift);
    let expected = reference(&matrix, shape);

    gpu.announce(shape.steps * (STEP_LAUNCHES + SOLVER_LAUNCHES * shape.solver_steps));
    let mut solver = Solver::new(gpu, &matrix, shape)?;
    let (x, z) = (solver.x, solver.z);
    let (mut eigenvalue, mut residual) = (0.0, 0.0);
    for _ in 0..shape.steps {
        residual = solver.solve(shape.solver_steps)?;
        eigenvalue = shape.shift + 1.0 / solver.sum("cg_dot", x, z)?;
        let factor = 1.0 / solver.sum("cg_dot", z, z)?.sqrt();
        let n = (shape.rows as i32).into();
        solver.launch("cg_scale", &[x.into(), z.into(), factor.into(), n])?;
    }
    gpu.synchronize();

    let got = Found { eigenvalue, residual, vector: gpu.read(x)? };
    // A residual is a difference of numbers as large as the vector's norm, which is 1 but for the first step's.
    let scalars = Tolerance { limit: LIMIT, scale: 1.0 };
    let elements = Tolerance { limit: LIMIT, scale: 1.0 / (shape.rows as f64).sqrt() };
    let numbers = [got.eigenvalue, got.residual];
    Ok(close_doubles("eigenvalues and residuals", &numbers, &[expected.eigenvalue, expected.residual], scalars)
        .and(&close_doubles("elements of the vector", &got.vector, &expected.vector, elements)))
}

/// The same iteration, one thing after another.
fn reference(matrix: &Sparse, shape: &Shape) -> Found {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut x = vec![1.0; shape.rows];
    let (mut eigenvalue, mut residual) = (0.0, 0.0);
    for _ in 0..shape.steps {
        let (mut z, mut r, mut p) = (vec![0.0; shape.rows], x.clone(), x.clone());
        let mut rho = dot(&r, &r);
        for _ in 0..shape.solver_steps {
            let q = matrix.times(&p);
            let alpha = rho / dot(&p, &q);
            z.iter_mut().zip(&p).for_each(|(z, p)| *z += alpha * p);
            r.iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * q);
            let before = rho;
            rho = dot(&r, &r);
            p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + rho / before * *p);
        }
        let left: Vec<f64> = x.iter().zip(matrix.times(&z)).map(|(x, az)| x - az).collect();
        residual = dot(&left, &left).sqrt();
        eigenvalue = shape.shift + 1.0 / dot(&x, &z);
        let norm = dot(&z, &z).sqrt();
        x = z.iter().map(|z| z / norm).collect();
    }
    Found { eigenvalue, residual, vector: x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_s_has_the_eigenvalue_that_the_benchmark_publishes() {
        let shape = Shape { rows: 1400, nonzeros: 7, shift: 10.0, steps: 15, solver_steps: 25 };
        // The benchmark draws one number before it makes the matrix.
        let mut sequence = Sequence(314_159_265);
        sequence.unit();
        let matrix = Sparse::outer_products(&mut sequence, shape.rows, shape.nonzeros, shape.shift);
        let found = reference(&matrix, &shape);
        assert!((found.eigenvalue - 8.597_177_507_864_8).abs() < 1e-10, "{}", found.eigenvalue);
        assert!(found.residual < 1e-12);
    }
}
