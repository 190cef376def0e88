//! The Navier-Stokes equations with scalar penta-diagonal systems.

use super::navier_stokes::{C1C5, C2, C3C4, DIFFUSION, DSSP, Gas, Local, Problem, fourth_weights};
use super::navier_stokes_device::{Fields, Method, Shape, run};
use crate::gpu::Gpu;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::{Info, Size, Workload};
use strata_host::HostError;

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { points: 12, steps: 3, dt: DT }),
    (Size::Small, Shape { points: 36, steps: 5, dt: DT }),
    (Size::Medium, Shape { points: 80, steps: 1, dt: DT }),
    // Class B, 20 of its 400 steps.
    (Size::PaperBuddy, Shape { points: 102, steps: 20, dt: 0.001 }),
];

/// The time step of the published classes W and A, whose grids have 36 and 64 points.
const DT: f64 = 0.0015;

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
    run: |shape, seed, gpu| run(&METHOD, shape, seed, gpu),
};

const METHOD: Method = Method {
    launches_per_step: 15,
    primitives: &["us", "vs", "ws", "qs", "rho_i", "speed", "square"],
    matrices: &[("lhs", 5), ("lhsp", 5), ("lhsm", 5)],
    solve: solve_on_device,
    step,
};

fn solve_on_device(fields: &Fields, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
    let Fields { u, rhs, matrices, .. } = fields;
    let dt = [fields.dt.clone()];
    let turned = fields.named(&["us", "vs", "ws", "qs", "rho_i", "speed"]);
    fields.everywhere(gpu, "txinvr", &[&[*rhs], &turned[..]].concat(), &dt)?;
    for [velocity, build, solve, back] in
        [["us", "lhs_x", "x_solve", "ninvr"], ["vs", "lhs_y", "y_solve", "pinvr"], ["ws", "lhs_z", "z_solve", "tzetar"]]
    {
        let coefficients = fields.named(&[velocity, "rho_i", "speed"]);
        fields.everywhere(gpu, build, &[&matrices[..], &coefficients].concat(), &dt)?;
        fields.along_lines(gpu, solve, &[&matrices[..], &[*rhs]].concat(), 3)?;
        // Back from the last axis's waves to the gas itself, which needs the gas.
        let gas = if back == "tzetar" {
            [&[*u], &fields.named(&["us", "vs", "ws", "qs", "speed"])[..]].concat()
        } else {
            Vec::new()
        };
        fields.everywhere(gpu, back, &[&[*rhs], &gas[..]].concat(), &[])?;
    }
    Ok(())
}

/// One step on the CPU: the change by the time step, factor after factor in the axes' characteristic variables.
fn step(problem: &Problem, dt: f64, field: &mut [Gas], forcing: &[Gas]) {
    let inverse = (problem.points - 1) as f64;
    let local: Vec<Local> = field.iter().map(Local::new).collect();
    let mut change = problem.derivatives(field);
    for (rates, force) in change.iter_mut().zip(forcing) {
        *rates = std::array::from_fn(|m| dt * (rates[m] + force[m]));
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
                    rows.push(row(problem.points, dt, at, |by| {
                        let there = &local[(cell as isize + by * stride as isize) as usize];
                        let advection = there.velocity[axis] + sound * there.sound();
                        let diffusion = DIFFUSION[axis] + C1C5 * C3C4 * there.inverse;
                        [0.5 * inverse * dt * advection, inverse * inverse * dt * diffusion]
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
fn row(points: usize, dt: f64, at: usize, terms: impl Fn(isize) -> [f64; 2]) -> [f64; 5] {
    if at == 0 || at == points - 1 {
        return [0.0, 0.0, 1.0, 0.0, 0.0];
    }
    let mut row = fourth_weights(at, points).map(|weight| dt * DSSP * weight);
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
            step(&problem, DT, &mut field, &forcing);
        }
        assert!(distance(&field) < 0.9 * start, "{start} to {}", distance(&field));
    }
}
