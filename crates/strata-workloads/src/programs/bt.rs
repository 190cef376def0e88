//! The Navier-Stokes equations with block tri-diagonal systems.

use super::navier_stokes::{C1C5, C2, C3C4, DIFFUSION, Gas, Local, Problem};
use super::navier_stokes_device::{Fields, Method, Shape, run};
use crate::gpu::Gpu;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::{Info, Size, Workload};
use strata_host::HostError;

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { points: 12, steps: 2, dt: DT }),
    (Size::Small, Shape { points: 24, steps: 6, dt: DT }),
    (Size::Medium, Shape { points: 50, steps: 1, dt: DT }),
    // Class B, 3 of its 200 steps.
    (Size::PaperBuddy, Shape { points: 102, steps: 3, dt: 0.0003 }),
];

/// The time step of the published classes W and A, whose grids have 24 and 64 points.
const DT: f64 = 0.0008;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "bt",
        suite: "specaccel",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["370.bt"],
        description: "Navier-Stokes equations by block tri-diagonal systems",
    },
    module: &[module!("bt")],
    shapes: &SHAPES,
    run: |shape, seed, gpu| run(&METHOD, shape, seed, gpu),
};

const METHOD: Method = Method {
    launches_per_step: 15,
    primitives: &["us", "vs", "ws", "qs", "rho_i", "square"],
    matrices: &[("fjac", 25), ("njac", 25), ("lhs", 75)],
    solve,
    step,
};

fn solve(fields: &Fields, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
    let Fields { u, rhs, matrices, .. } = fields;
    let [fjac, njac, lhs] = [0, 1, 2].map(|k| matrices[k]);
    let dt = [fields.dt.clone()];
    fields.everywhere(gpu, "scale_rhs", &[*rhs], &dt)?;
    let primitives = fields.named(METHOD.primitives);
    for [jacobians, build, solve] in
        [["jacobians_x", "lhs_x", "x_solve"], ["jacobians_y", "lhs_y", "y_solve"], ["jacobians_z", "lhs_z", "z_solve"]]
    {
        fields.everywhere(gpu, jacobians, &[&[*u], &primitives[..], &[fjac, njac]].concat(), &[])?;
        fields.everywhere(gpu, build, &[fjac, njac, lhs], &dt)?;
        fields.along_lines(gpu, solve, &[lhs, *rhs], 1)?;
    }
    Ok(())
}

/// A 5x5 matrix, column by column.
type Block = [Gas; 5];

/// How the flux along an axis, and what viscosity and conduction act on, change when the gas changes by `change`.
fn linearised(gas: &Gas, change: &Gas, axis: usize) -> (Gas, Gas) {
    let here = Local::new(gas);
    let velocity: [f64; 3] = std::array::from_fn(|i| here.inverse * (change[1 + i] - here.velocity[i] * change[0]));
    let kinetic: f64 = (0..3).map(|i| here.velocity[i] * velocity[i]).sum();
    let pressure = C2 * (change[4] - change[0] * here.kinetic - gas[0] * kinetic);
    let (speed, faster) = (here.velocity[axis], velocity[axis]);
    let mut flux: Gas = std::array::from_fn(|m| change[m] * speed + gas[m] * faster);
    flux[1 + axis] += pressure;
    flux[4] += pressure * speed + here.pressure * faster;
    let specific = here.inverse * (change[4] - gas[4] * here.inverse * change[0]);
    let energy = (1.0 - C1C5) * kinetic + speed * faster / 3.0 + C1C5 * specific;
    let viscous: [f64; 3] = std::array::from_fn(|i| if i == axis { 4.0 / 3.0 * velocity[i] } else { velocity[i] });
    (flux, [0.0, viscous[0], viscous[1], viscous[2], energy].map(|v| C3C4 * v))
}

/// The blocks that tie a point to itself and to what is beside it: of flux, and of diffusion with viscosity.
fn blocks_of(gas: &Gas, axis: usize) -> (Block, Block) {
    let mut blocks = ([[0.0; 5]; 5], [[0.0; 5]; 5]);
    for column in 0..5 {
        let mut unit = [0.0; 5];
        unit[column] = 1.0;
        (blocks.0[column], blocks.1[column]) = linearised(gas, &unit, axis);
        blocks.1[column][column] += DIFFUSION[axis];
    }
    blocks
}

fn apply(block: &Block, vector: &Gas) -> Gas {
    std::array::from_fn(|row| (0..5).map(|column| block[column][row] * vector[column]).sum())
}

/// Solves for several right-hand sides by Gaussian elimination with pivoting.
fn divide(mut block: Block, rights: &mut [Gas]) {
    for pivot in 0..5 {
        let size = |row: &usize| block[pivot][*row].abs();
        let best = (pivot..5).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(pivot);
        block.iter_mut().chain(rights.iter_mut()).for_each(|column| column.swap(pivot, best));
        for row in (0..5).filter(|row| *row != pivot) {
            let factor = block[pivot][row] / block[pivot][pivot];
            block.iter_mut().chain(rights.iter_mut()).for_each(|column| column[row] -= factor * column[pivot]);
        }
    }
    for right in rights {
        (0..5).for_each(|row| right[row] /= block[row][row]);
    }
}

/// One step on the CPU.
fn step(problem: &Problem, dt: f64, field: &mut [Gas], forcing: &[Gas]) {
    let points = problem.points;
    let inverse = (points - 1) as f64;
    let (first, second) = (0.5 * dt * inverse, dt * inverse * inverse);
    let mut change = problem.derivatives(field);
    for (rates, force) in change.iter_mut().zip(forcing) {
        *rates = std::array::from_fn(|m| dt * (rates[m] + force[m]));
    }
    for axis in 0..3 {
        let stride = points.pow(axis as u32);
        let middle = |at: &[usize; 3]| (0..3).all(|i| i == axis || (at[i] > 0 && at[i] < points - 1));
        for (start, _) in problem.all().enumerate().filter(|(_, at)| at[axis] == 0 && middle(at)) {
            let line: Vec<(Block, Block)> =
                (0..points).map(|at| blocks_of(&field[start + at * stride], axis)).collect();
            let of = |at: usize, flux: f64, spread: f64| -> Block {
                let (f, d) = &line[at];
                std::array::from_fn(|c| std::array::from_fn(|r| first * flux * f[c][r] + second * spread * d[c][r]))
            };
            // What follows from each point for the next one: its unknowns are `right` minus `upper` times the next's.
            let mut uppers: Vec<Block> = vec![[[0.0; 5]; 5]];
            for at in 1..points - 1 {
                let cell = start + at * stride;
                let lower = of(at - 1, -1.0, -1.0);
                let mut here = of(at, 0.0, 2.0);
                (0..5).for_each(|m| here[m][m] += 1.0);
                let last = &uppers[at - 1];
                for column in 0..5 {
                    let filled = apply(&lower, &last[column]);
                    (0..5).for_each(|row| here[column][row] -= filled[row]);
                }
                let known = apply(&lower, &change[cell - stride]);
                let right: Gas = std::array::from_fn(|m| change[cell][m] - known[m]);
                let upper = of(at + 1, 1.0, -1.0);
                let mut rights = [upper[0], upper[1], upper[2], upper[3], upper[4], right];
                divide(here, &mut rights);
                let [a, b, c, d, e, solved] = rights;
                uppers.push([a, b, c, d, e]);
                change[cell] = solved;
            }
            for at in (1..points - 1).rev() {
                let cell = start + at * stride;
                let known = apply(&uppers[at], &change[cell + stride]);
                (0..5).for_each(|m| change[cell][m] -= known[m]);
            }
        }
    }
    for (gas, by) in field.iter_mut().zip(&change) {
        (0..5).for_each(|m| gas[m] += by[m]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_solves() {
        let block: Block = std::array::from_fn(|c| {
            std::array::from_fn(|r| if r == (c + 1) % 5 { 3.0 } else { 0.3 + (r * c) as f64 / 10.0 })
        });
        let x = [1.0, -2.0, 3.0, 0.5, 4.0];
        let mut rights = [apply(&block, &x)];
        divide(block, &mut rights);
        assert!((0..5).all(|m| (rights[0][m] - x[m]).abs() < 1e-12), "{rights:?}");
    }

    #[test]
    fn linearised_fluxes_are_slopes() {
        // The derivatives of a field that changes at one point only, against those of the field as it was.
        let problem = Problem::new(7, 1);
        let mut field = problem.initial();
        let (cell, by) = (3 * 49 + 3 * 7 + 3, 1e-6);
        let before = problem.derivatives(&field);
        let gas = field[cell];
        field[cell][2] += by;
        let after = problem.derivatives(&field);
        let (flux, spread) = blocks_of(&gas, 0);
        for m in 0..5 {
            let slope = (after[cell + 1][m] - before[cell + 1][m]) / by;
            // Six intervals: half of them times the flux from below, their square times diffusion, fourth differences.
            let fourth = if m == 2 { -4.0 * -0.25 } else { 0.0 };
            let expected = 3.0 * flux[2][m] + 36.0 * spread[2][m] + fourth;
            assert!((slope - expected).abs() < 1e-4, "{m}: {slope} {expected}");
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
            step(&problem, DT, &mut field, &forcing);
        }
        assert!(distance(&field) < 0.9 * start, "{start} to {}", distance(&field));
    }
}
