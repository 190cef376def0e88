//! The Navier-Stokes equations with scalar penta-diagonal systems.

use super::navier_stokes::{C1C5, C2, C3C4, DIFFUSION, DSSP, Gas, Local, Problem, fourth_weights};
use crate::check::{Tolerance, close_doubles};
use crate::gpu::{Array, Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_core::Dim3;
use strata_host::{Arg, HostError};

struct Shape {
    points: usize,
    steps: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { points: 12, steps: 3 }),
    (Size::Small, Shape { points: 36, steps: 5 }),
    (Size::Medium, Shape { points: 80, steps: 1 }),
    (Size::PaperBuddy, Shape { points: 80, steps: 1 }),
];

/// That of the published classes W and A, whose grids have 36 and 64 points.
const DT: f64 = 0.0015;
const LAUNCHES_PER_STEP: usize = 15;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "sp",
        suite: "specaccel",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["356.sp"],
        description: "Navier-Stokes equations by scalar penta-diagonal systems",
    },
    module: &[module!("sp")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let problem = Problem::new(shape.points, seed);
    let (mut field, forcing) = (problem.initial(), problem.forcing());

    let device = Solver::new(gpu, &problem, &field, &forcing)?;
    gpu.announce(LAUNCHES_PER_STEP * shape.steps);
    for _ in 0..shape.steps {
        device.step(gpu)?;
    }
    gpu.synchronize();

    for _ in 0..shape.steps {
        step(&problem, &mut field, &forcing);
    }
    // Values are near 1 to 20; a step is some hundred roundings, and the systems are diagonally dominant.
    let tolerance = Tolerance { limit: 1e-11, scale: 1.0 };
    Ok(close_doubles("values", &gpu.read(device.u)?, &problem.to_device(&field), tolerance))
}

/// What is in device memory.
struct Solver {
    points: usize,
    row: usize,
    u: Array<f64>,
    rhs: Array<f64>,
    forcing: Array<f64>,
    velocity: [Array<f64>; 3],
    qs: Array<f64>,
    rho_i: Array<f64>,
    speed: Array<f64>,
    square: Array<f64>,
    lhs: [Array<f64>; 3],
}

impl Solver {
    fn new(gpu: &mut Gpu<'_>, problem: &Problem, field: &[Gas], forcing: &[Gas]) -> Result<Self, HostError> {
        let size = problem.padded();
        Ok(Self {
            points: problem.points,
            row: problem.row(),
            u: gpu.array_of("u", &problem.to_device(field))?,
            velocity: [gpu.zeros("us", size)?, gpu.zeros("vs", size)?, gpu.zeros("ws", size)?],
            qs: gpu.zeros("qs", size)?,
            rho_i: gpu.zeros("rho_i", size)?,
            speed: gpu.zeros("speed", size)?,
            square: gpu.zeros("square", size)?,
            rhs: gpu.zeros("rhs", 5 * size)?,
            forcing: gpu.array_of("forcing", &problem.to_device(forcing))?,
            lhs: [gpu.zeros("lhs", 5 * size)?, gpu.zeros("lhsp", 5 * size)?, gpu.zeros("lhsm", 5 * size)?],
        })
    }

    fn step(&self, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
        let (block, grid) = point_blocks(self.points);
        let sizes = [Arg::from(self.points as i32), Arg::from(self.row as i32)];
        let of = |arrays: &[Array<f64>]| arrays.iter().map(|a| Arg::from(*a)).collect::<Vec<_>>();
        let [us, vs, ws] = self.velocity;
        let [lhs, lhsp, lhsm] = self.lhs;
        let everywhere = |gpu: &mut Gpu<'_>, kernel: &str, arrays: &[Array<f64>], dt: &[Arg]| {
            gpu.launch(kernel, grid, block, &[&of(arrays)[..], dt, &sizes].concat())
        };
        let dt = [Arg::from(DT)];
        let Self { u, rhs, forcing, qs, rho_i, speed, square, .. } = *self;
        everywhere(gpu, "compute_primitives", &[u, forcing, rhs, us, vs, ws, qs, rho_i, speed, square], &[])?;
        for kernel in ["rhs_x", "rhs_y", "rhs_z"] {
            everywhere(gpu, kernel, &[u, us, vs, ws, qs, rho_i, square, rhs], &[])?;
        }
        everywhere(gpu, "txinvr", &[rhs, us, vs, ws, qs, rho_i, speed], &dt)?;
        let lines = line_blocks(self.points, 3);
        let matrices = [lhs, lhsp, lhsm];
        for (axis, (build, solve)) in
            [("lhs_x", "x_solve"), ("lhs_y", "y_solve"), ("lhs_z", "z_solve")].iter().enumerate()
        {
            everywhere(gpu, build, &[&matrices[..], &[self.velocity[axis], rho_i, speed]].concat(), &dt)?;
            let args = of(&[lhs, lhsp, lhsm, rhs]);
            gpu.launch(solve, lines, LINES_PER_BLOCK as u32, &[&args[..], &sizes].concat())?;
            match axis {
                0 => everywhere(gpu, "ninvr", &[rhs], &[])?,
                1 => everywhere(gpu, "pinvr", &[rhs], &[])?,
                _ => everywhere(gpu, "tzetar", &[rhs, u, us, vs, ws, qs, speed], &[])?,
            }
        }
        everywhere(gpu, "add", &[u, rhs], &[])
    }
}

/// Lines that the threads of a block solve.
pub(super) const LINES_PER_BLOCK: usize = 64;

/// Block and grid of kernels with one thread per point.
pub(super) fn point_blocks(points: usize) -> (Dim3, Dim3) {
    ((32, 4).into(), (blocks(points, 32), blocks(points, 4), points as u32).into())
}

/// Grid of kernels with one thread per line that does not lie on the boundary, for each of `matrices`.
pub(super) fn line_blocks(points: usize, matrices: usize) -> Dim3 {
    (blocks(points - 2, LINES_PER_BLOCK), points as u32 - 2, matrices as u32).into()
}

/// One step on the CPU: the change by the time step, factor after factor in the axes' characteristic variables.
fn step(problem: &Problem, field: &mut [Gas], forcing: &[Gas]) {
    let inverse = (problem.points - 1) as f64;
    let local: Vec<Local> = field.iter().map(Local::new).collect();
    let mut change = problem.derivatives(field);
    for (rates, force) in change.iter_mut().zip(forcing) {
        *rates = std::array::from_fn(|m| DT * (rates[m] + force[m]));
    }
    for axis in 0..3 {
        for (waves, here) in change.iter_mut().zip(&local) {
            *waves = to_waves(*waves, here, axis);
        }
        let stride = problem.points.pow(axis as u32);
        for start in problem.all().enumerate().filter(|(_, at)| at[axis] == 0).map(|(cell, _)| cell) {
            for m in 0..5 {
                let sound = [0.0, 0.0, 0.0, 1.0, -1.0][m];
                let (mut rows, mut right) = (Vec::new(), Vec::new());
                for at in 0..problem.points {
                    let cell = start + at * stride;
                    right.push(change[cell][m]);
                    rows.push(row(problem.points, at, |by| {
                        let there = &local[(cell as isize + by * stride as isize) as usize];
                        let advection = there.velocity[axis] + sound * there.sound();
                        let diffusion = DIFFUSION[axis] + C1C5 * C3C4 * there.inverse;
                        [0.5 * inverse * DT * advection, inverse * inverse * DT * diffusion]
                    }));
                }
                for (at, value) in solve(rows, right).into_iter().enumerate() {
                    change[start + at * stride][m] = value;
                }
            }
        }
        for (waves, here) in change.iter_mut().zip(&local) {
            *waves = from_waves(*waves, here, axis);
        }
    }
    // The boundary and lines that lie in it keep their values.
    for ((gas, by), at) in field.iter_mut().zip(&change).zip(problem.all()) {
        if at.iter().all(|i| *i > 0 && *i < problem.points - 1) {
            (0..5).for_each(|m| gas[m] += by[m]);
        }
    }
}

/// One row of the implicit operator; `terms` gives advection and diffusion of a neighbour.
fn row(points: usize, at: usize, terms: impl Fn(isize) -> [f64; 2]) -> [f64; 5] {
    if at == 0 || at == points - 1 {
        return [0.0, 0.0, 1.0, 0.0, 0.0];
    }
    let mut row = fourth_weights(at, points).map(|weight| DT * DSSP * weight);
    let [low, here, high] = [-1, 0, 1].map(terms);
    row[1] -= low[0] + low[1];
    row[2] += 1.0 + 2.0 * here[1];
    row[3] += high[0] - high[1];
    row
}

/// Solves a penta-diagonal system by elimination in a band.
fn solve(mut rows: Vec<[f64; 5]>, mut right: Vec<f64>) -> Vec<f64> {
    let n = rows.len();
    for pivot in 0..n {
        for below in pivot + 1..(pivot + 3).min(n) {
            let factor = rows[below][2 + pivot - below] / rows[pivot][2];
            for col in pivot..(pivot + 3).min(n) {
                let value = rows[pivot][2 + col - pivot];
                rows[below][2 + col - below] -= factor * value;
            }
            right[below] -= factor * right[pivot];
        }
    }
    for at in (0..n).rev() {
        let beyond: f64 = (at + 1..(at + 3).min(n)).map(|col| rows[at][2 + col - at] * right[col]).sum();
        right[at] = (right[at] - beyond) / rows[at][2];
    }
    right
}

/// The axes in the order that makes one of them the first.
fn turned(axis: usize) -> [usize; 3] {
    [axis, (axis + 1) % 3, (axis + 2) % 3]
}

/// A small change of the conserved quantities as amplitudes of waves along an axis: of density and of both tangential
/// velocities, which travel with the gas, and of sound in both directions.
fn to_waves(change: Gas, here: &Local, axis: usize) -> Gas {
    let sound = here.sound();
    let velocity: [f64; 3] = std::array::from_fn(|i| here.inverse * (change[1 + i] - here.velocity[i] * change[0]));
    let work: f64 = (0..3).map(|i| here.velocity[i] * change[1 + i]).sum();
    let pressure = C2 * (here.kinetic * change[0] - work + change[4]);
    let [normal, first, second] = turned(axis).map(|i| velocity[i]);
    let acoustic = pressure * here.inverse / sound;
    [change[0] - pressure / (sound * sound), first, second, acoustic + normal, acoustic - normal]
}

/// The other way round.
fn from_waves(waves: Gas, here: &Local, axis: usize) -> Gas {
    let sound = here.sound();
    let density_of = 1.0 / here.inverse;
    let pressure = 0.5 * density_of * sound * (waves[3] + waves[4]);
    let density = waves[0] + pressure / (sound * sound);
    let mut velocity = [0.0; 3];
    let turned = turned(axis);
    velocity[turned[0]] = 0.5 * (waves[3] - waves[4]);
    velocity[turned[1]] = waves[1];
    velocity[turned[2]] = waves[2];
    let mut change = [density, 0.0, 0.0, 0.0, pressure / C2 + here.kinetic * density];
    for i in 0..3 {
        change[1 + i] = here.velocity[i] * density + density_of * velocity[i];
        change[4] += density_of * here.velocity[i] * velocity[i];
    }
    change
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_and_back() {
        let here = Local::new(&[2.0, 1.0, -0.5, 0.7, 6.0]);
        let change = [0.1, -0.2, 0.3, 0.05, 0.4];
        for axis in 0..3 {
            let back = from_waves(to_waves(change, &here, axis), &here, axis);
            assert!((0..5).all(|m| (back[m] - change[m]).abs() < 1e-14), "{back:?}");
        }
    }

    #[test]
    fn a_band_is_solved() {
        let rows: Vec<[f64; 5]> = (0..7).map(|i| [0.5, -1.0, 6.0 + f64::from(i), 2.0, 0.25]).collect();
        let x: Vec<f64> = (0..7).map(|i| f64::from(i * i) - 3.0).collect();
        let at = |i: i32| if (0..7).contains(&i) { x[i as usize] } else { 0.0 };
        let right = rows.iter().zip(0..).map(|(r, i)| (0..5).map(|d| r[d as usize] * at(i + d - 2)).sum()).collect();
        for (got, expected) in solve(rows, right).iter().zip(&x) {
            assert!((got - expected).abs() < 1e-13);
        }
    }

    #[test]
    fn steps_approach_the_steady_solution() {
        let problem = Problem::new(12, 1);
        let (mut field, forcing) = (problem.initial(), problem.forcing());
        let distance = |field: &[Gas]| {
            let at = |at: [usize; 3]| problem.exact(at.map(|i| i as f64 / 11.0));
            field.iter().zip(problem.all()).map(|(gas, p)| (gas[0] - at(p)[0]).powi(2)).sum::<f64>()
        };
        let start = distance(&field);
        for _ in 0..30 {
            step(&problem, &mut field, &forcing);
        }
        assert!(distance(&field) < 0.9 * start, "{start} to {}", distance(&field));
    }
}
