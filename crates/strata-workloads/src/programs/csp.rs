//! Waves of one frequency on a flow: penta-diagonal systems with complex coefficients.

use super::navier_stokes::{C1C5, C3C4, DIFFUSION, DSSP, Local, Problem, fourth_weights};
use super::navier_stokes_device::{LINES_PER_BLOCK, line_blocks, point_blocks};
use crate::check::{Tolerance, close_doubles};
use crate::gpu::{Array, Gpu};
use crate::math::sin_pi;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use std::ops::{Add, Div, Mul, Sub};
use strata_host::{Arg, HostError};

struct Shape {
    points: usize,
    iterations: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { points: 12, iterations: 3 }),
    (Size::Small, Shape { points: 32, iterations: 7 }),
    (Size::Medium, Shape { points: 66, iterations: 1 }),
    (Size::PaperBuddy, Shape { points: 66, iterations: 1 }),
];

/// Step of the pseudo time in which amplitudes become steady.
const DT: f64 = 0.0015;
/// Radians per unit of time: about three wavelengths of sound fit in the cube.
const FREQUENCY: f64 = 20.0;
/// Absorption at the boundary, in units of the frequency.
const ABSORPTION: f64 = 2.0;
/// With how much of the speed of sound each amplitude travels besides that of the gas.
const WITH_SOUND: [f64; 5] = [0.0, 0.0, 0.0, 1.0, -1.0];
const LAUNCHES_PER_ITERATION: usize = 10;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "csp",
        suite: "specaccel",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["357.csp"],
        description: "waves on a flow by complex penta-diagonal systems",
    },
    module: &[module!("csp")],
    shapes: &SHAPES,
    run,
};

#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    const fn real(re: f64) -> Self {
        Self { re, im: 0.0 }
    }

    /// Of length `size`, after `half_turns`.
    fn polar(size: f64, half_turns: f64) -> Self {
        Self { re: size * sin_pi(half_turns + 0.5), im: size * sin_pi(half_turns) }
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl Div for Complex {
    type Output = Self;
    fn div(self, by: Self) -> Self {
        let square = by.re * by.re + by.im * by.im;
        self * Self { re: by.re / square, im: -by.im / square }
    }
}

/// Five amplitudes.
type Waves = [Complex; 5];

/// The flow, the amplitudes, and what excites them.
struct Field {
    problem: Problem,
    flow: Vec<Local>,
    waves: Vec<Waves>,
    forcing: Vec<Waves>,
    /// What derivatives at each place of a line are multiplied by.
    stretch: Vec<Complex>,
}

impl Field {
    fn new(points: usize, seed: u64) -> Self {
        let problem = Problem::new(points, seed);
        let gas = problem.initial();
        let mut rng = Rng::new(seed, "source");
        let source: [f64; 3] = std::array::from_fn(|_| 0.5 + f64::from(rng.between(-0.1, 0.1)));
        let inside = |at: &[usize; 3]| at.iter().all(|i| *i > 0 && *i < points - 1);
        // A smooth hill that ends at `radius`.
        let hill = |at: [usize; 3], radius: f64| {
            let place = at.map(|i| i as f64 / (points - 1) as f64);
            let square: f64 = (0..3).map(|i| (place[i] - source[i]).powi(2)).sum();
            let rest = 1.0 - square / (radius * radius);
            let height = if rest > 0.0 && inside(&at) { rest * rest * rest } else { 0.0 };
            // Waves along a slanted direction, in half turns.
            (height, 4.0 * place[0] + 2.0 * place[1] + place[2])
        };
        let fill = |radius: f64, strength: f64| -> Vec<Waves> {
            let of = |(at, gas): ([usize; 3], &[f64; 5])| match hill(at, radius) {
                (height, phase) if height > 0.0 => gas.map(|g| Complex::polar(strength * height * g, phase)),
                _ => Waves::default(),
            };
            problem.all().zip(&gas).map(of).collect()
        };
        let (waves, forcing) = (fill(0.6, 0.01), fill(0.15, FREQUENCY));
        let layer = (points / 8) as f64;
        let stretch = (0..points).map(|at| {
            let depth = ((layer - at.min(points - 1 - at) as f64) / layer).max(0.0);
            Complex::real(1.0) / Complex { re: 1.0, im: ABSORPTION * depth * depth }
        });
        let stretch = stretch.collect();
        Self { flow: gas.iter().map(Local::new).collect(), problem, waves, forcing, stretch }
    }

    /// The row of the implicit operator along an axis at one point, for an amplitude that travels with so much sound.
    fn row(&self, cell: usize, at: usize, axis: usize, with_sound: f64) -> Waves {
        let points = self.problem.points;
        if at == 0 || at == points - 1 {
            return [0.0, 0.0, 1.0, 0.0, 0.0].map(Complex::real);
        }
        let inverse = (points - 1) as f64;
        let stride = points.pow(axis as u32);
        let carried = |here: &Local| here.velocity[axis] + with_sound * here.sound();
        let spread = |here: &Local| inverse * inverse * (DIFFUSION[axis] + C1C5 * C3C4 * here.inverse);
        let (low, here, high) = (&self.flow[cell - stride], &self.flow[cell], &self.flow[cell + stride]);
        let mut row = fourth_weights(at, points).map(|weight| Complex::real(DT * DSSP * weight));
        let shrink = |value: f64| Complex::real(DT * value) * self.stretch[at];
        row[1] = row[1] + shrink(-0.5 * inverse * carried(low) - spread(low));
        row[2] = row[2] + shrink(2.0 * spread(here)) + Complex { re: 1.0, im: DT * FREQUENCY / 3.0 };
        row[3] = row[3] + shrink(0.5 * inverse * carried(high) - spread(high));
        row
    }

    /// One iteration on the CPU.
    fn iterate(&mut self) {
        let points = self.problem.points;
        let mut change: Vec<Waves> = self.forcing.iter().map(|force| force.map(|f| Complex::real(DT) * f)).collect();
        let rows = |field: &Self, start: usize, axis: usize, with_sound: f64| -> Vec<Waves> {
            let stride = points.pow(axis as u32);
            (0..points).map(|at| field.row(start + at * stride, at, axis, with_sound)).collect()
        };
        let starts = |axis: usize| {
            let middle = move |at: [usize; 3]| (0..3).all(|i| i == axis || (at[i] > 0 && at[i] < points - 1));
            self.problem.all().enumerate().filter(move |(_, at)| at[axis] == 0 && middle(*at)).map(|(cell, _)| cell)
        };
        for axis in 0..3 {
            let stride = points.pow(axis as u32);
            for start in starts(axis) {
                for (wave, with_sound) in WITH_SOUND.into_iter().enumerate() {
                    let rows = rows(self, start, axis, with_sound);
                    // The operator is the matrix without its unit diagonal.
                    for (at, row) in rows.iter().enumerate().take(points - 1).skip(1) {
                        let cell = start + at * stride;
                        let mut sum = Complex::default() - self.waves[cell][wave];
                        for (diagonal, factor) in row.iter().enumerate() {
                            if *factor != Complex::default() {
                                sum = sum + *factor * self.waves[start + (at + diagonal - 2) * stride][wave];
                            }
                        }
                        change[cell][wave] = change[cell][wave] - sum;
                    }
                }
            }
        }
        for axis in 0..3 {
            let stride = points.pow(axis as u32);
            for start in starts(axis) {
                for (wave, with_sound) in WITH_SOUND.into_iter().enumerate() {
                    let right = (0..points).map(|at| change[start + at * stride][wave]).collect();
                    for (at, value) in solve(rows(self, start, axis, with_sound), right).into_iter().enumerate() {
                        change[start + at * stride][wave] = value;
                    }
                }
            }
        }
        for (waves, by) in self.waves.iter_mut().zip(&change) {
            *waves = std::array::from_fn(|m| waves[m] + by[m]);
        }
    }

    /// Amplitudes as the device has them.
    fn to_device(&self, field: &[Waves]) -> Vec<f64> {
        let size = self.problem.padded();
        let mut values = vec![0.0; 10 * size];
        for (waves, at) in field.iter().zip(self.problem.all()) {
            for (m, value) in waves.iter().enumerate() {
                let place = 2 * (m * size + self.problem.on_device(at));
                values[place] = value.re;
                values[place + 1] = value.im;
            }
        }
        values
    }

    /// A quantity of the flow as the device has it.
    fn flow_to_device(&self, quantity: impl Fn(&Local) -> f64) -> Vec<f64> {
        let mut values = vec![0.0; self.problem.padded()];
        for (local, at) in self.flow.iter().zip(self.problem.all()) {
            values[self.problem.on_device(at)] = quantity(local);
        }
        values
    }
}

/// Solves a penta-diagonal system by elimination in a band.
fn solve(mut rows: Vec<Waves>, mut right: Vec<Complex>) -> Vec<Complex> {
    let n = rows.len();
    for pivot in 0..n {
        for below in pivot + 1..(pivot + 3).min(n) {
            let factor = rows[below][2 + pivot - below] / rows[pivot][2];
            for col in pivot..(pivot + 3).min(n) {
                rows[below][2 + col - below] = rows[below][2 + col - below] - factor * rows[pivot][2 + col - pivot];
            }
            right[below] = right[below] - factor * right[pivot];
        }
    }
    for at in (0..n).rev() {
        for col in at + 1..(at + 3).min(n) {
            right[at] = right[at] - rows[at][2 + col - at] * right[col];
        }
        right[at] = right[at] / rows[at][2];
    }
    right
}

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut field = Field::new(shape.points, seed);
    let size = field.problem.padded();
    let q = gpu.array_of("q", &field.to_device(&field.waves))?;
    let forcing = gpu.array_of("forcing", &field.to_device(&field.forcing))?;
    let rhs = gpu.zeros::<f64>("rhs", 10 * size)?;
    let velocity = [
        gpu.array_of("us", &field.flow_to_device(|local| local.velocity[0]))?,
        gpu.array_of("vs", &field.flow_to_device(|local| local.velocity[1]))?,
        gpu.array_of("ws", &field.flow_to_device(|local| local.velocity[2]))?,
    ];
    let inverse = gpu.array_of("rho_i", &field.flow_to_device(|local| local.inverse))?;
    let speed = gpu.array_of("speed", &field.flow_to_device(Local::sound))?;
    let stretch: Vec<f64> = field.stretch.iter().flat_map(|s| [s.re, s.im]).collect();
    let stretch = gpu.array_of("stretch", &stretch)?;
    let lhs: [Array<f64>; 3] =
        [gpu.zeros("lhs", 10 * size)?, gpu.zeros("lhsp", 10 * size)?, gpu.zeros("lhsm", 10 * size)?];

    let (block, grid) = point_blocks(shape.points);
    let lines = line_blocks(shape.points, lhs.len());
    let sizes = [Arg::from(shape.points as i32), Arg::from(field.problem.row() as i32)];
    let scales = [Arg::from(FREQUENCY), Arg::from(DT)];
    let of = |arrays: &[Array<f64>]| arrays.iter().map(|a| Arg::from(*a)).collect::<Vec<_>>();
    gpu.announce(LAUNCHES_PER_ITERATION * shape.iterations);
    for _ in 0..shape.iterations {
        for (kernel, velocity) in ["rhs_x", "rhs_y", "rhs_z"].iter().zip(velocity) {
            let arrays = of(&[q, forcing, rhs, velocity, inverse, speed, stretch]);
            gpu.launch(kernel, grid, block, &[&arrays[..], &scales, &sizes].concat())?;
        }
        let kernels = [("lhs_x", "x_solve"), ("lhs_y", "y_solve"), ("lhs_z", "z_solve")];
        for ((build, solve), velocity) in kernels.iter().zip(velocity) {
            let flow = [velocity, inverse, speed, stretch];
            gpu.launch(build, grid, block, &[&of(&lhs)[..], &of(&flow), &scales, &sizes].concat())?;
            gpu.launch(solve, lines, LINES_PER_BLOCK as u32, &[&of(&lhs)[..], &of(&[rhs]), &sizes].concat())?;
        }
        gpu.launch("add", grid, block, &[&of(&[q, rhs])[..], &sizes].concat())?;
    }
    gpu.synchronize();

    for _ in 0..shape.iterations {
        field.iterate();
    }
    // Amplitudes are near 0.1; the systems are diagonally dominant.
    let tolerance = Tolerance { limit: 1e-11, scale: 0.1 };
    Ok(close_doubles("amplitudes", &gpu.read(q)?, &field.to_device(&field.waves), tolerance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complex_band_is_solved() {
        let row = |i: usize| [0.5, -1.0, 6.0 + i as f64, 2.0, 0.25].map(|re| Complex { re, im: re * 0.3 - 0.1 });
        let rows: Vec<Waves> = (0..7).map(row).collect();
        let x: Vec<Complex> = (0..7).map(|i| Complex { re: f64::from(i), im: 1.0 - f64::from(i * i) }).collect();
        let product = |i: usize| {
            let terms = (0..5).filter(|d| (2..9).contains(&(i + d)));
            terms.fold(Complex::default(), |sum, d| sum + rows[i][d] * x[i + d - 2])
        };
        let right = (0..7).map(product).collect();
        for (got, expected) in solve(rows.clone(), right).iter().zip(&x) {
            let error = *got - *expected;
            assert!(error.re.abs() + error.im.abs() < 1e-12);
        }
    }

    #[test]
    fn iterations_settle() {
        let mut field = Field::new(12, 1);
        let mut moved = |iterations: usize| {
            (0..iterations - 1).for_each(|_| field.iterate());
            let before = field.waves.clone();
            field.iterate();
            let change = |(a, b): (&Waves, &Waves)| (0..5).map(|m| (a[m] - b[m]).re.abs()).sum::<f64>();
            field.waves.iter().zip(&before).map(change).sum::<f64>()
        };
        let (first, later) = (moved(1), moved(40));
        assert!(later < 0.5 * first, "{first} to {later}");
    }
}
