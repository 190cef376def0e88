//! The compressible Navier-Stokes equations on a cube, as the NAS benchmarks pose them: a polynomial that shall be the steady
//! solution, the forcing that makes it one, and a start between the values of the boundary.
//!
//! On the host a field is one vector of five per point; on the device it is one component after another, padded.

use crate::rng::Rng;

/// Density, three momenta, energy.
pub(super) type Gas = [f64; 5];

pub(super) const C1: f64 = 1.4;
pub(super) const C2: f64 = 0.4;
pub(super) const C1C5: f64 = 1.96;
pub(super) const C3C4: f64 = 0.1;
/// Strength of the fourth differences.
pub(super) const DSSP: f64 = 0.25;
/// Coefficients of the second differences along each axis.
pub(super) const DIFFUSION: [f64; 3] = [0.75, 0.75, 1.0];

/// The published polynomial of each quantity: a constant, then powers one to four of x, y and z in turn.
const POLYNOMIALS: [[f64; 13]; 5] = [
    [2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3],
    [1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5],
    [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4],
    [2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3],
    [5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2],
];

/// A grid of `points` along each edge.
pub(super) struct Problem {
    pub(super) points: usize,
    polynomials: [[f64; 13]; 5],
}

impl Problem {
    /// The published problem; the seed changes the constants of the polynomials by up to a hundredth.
    pub(super) fn new(points: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "polynomials");
        let polynomials = POLYNOMIALS.map(|mut terms| {
            terms[0] *= f64::from(rng.between(0.99, 1.01));
            terms
        });
        Self { points, polynomials }
    }

    /// The steady solution at a point of the unit cube.
    pub(super) fn exact(&self, at: [f64; 3]) -> Gas {
        self.polynomials.map(|terms| {
            let power = |axis: usize, x: f64| {
                x * (terms[1 + axis] + x * (terms[4 + axis] + x * (terms[7 + axis] + x * terms[10 + axis])))
            };
            terms[0] + power(0, at[0]) + power(1, at[1]) + power(2, at[2])
        })
    }

    fn place(&self, at: [usize; 3]) -> [f64; 3] {
        at.map(|i| i as f64 / (self.points - 1) as f64)
    }

    fn on_boundary(&self, at: [usize; 3]) -> bool {
        at.iter().any(|i| *i == 0 || *i == self.points - 1)
    }

    /// The exact solution on the boundary; inside, the published blend of the values on the six faces.
    pub(super) fn initial(&self) -> Vec<Gas> {
        let blend = |at: [usize; 3]| {
            let x = self.place(at);
            if self.on_boundary(at) {
                return self.exact(x);
            }
            let between: [Gas; 3] = std::array::from_fn(|axis| {
                let face = |end: f64| {
                    let mut place = x;
                    place[axis] = end;
                    self.exact(place)
                };
                let (low, high) = (face(0.0), face(1.0));
                std::array::from_fn(|m| x[axis] * high[m] + (1.0 - x[axis]) * low[m])
            });
            let [a, b, c] = between;
            std::array::from_fn(|m| a[m] + b[m] + c[m] - a[m] * b[m] - a[m] * c[m] - b[m] * c[m] + a[m] * b[m] * c[m])
        };
        self.all().map(blend).collect()
    }

    /// What must be added for the exact solution to stay: minus its derivatives. Zero on the boundary.
    pub(super) fn forcing(&self) -> Vec<Gas> {
        let exact: Vec<Gas> = self.all().map(|at| self.exact(self.place(at))).collect();
        self.derivatives(&exact).iter().map(|rates| rates.map(|rate| 0.0 - rate)).collect()
    }

    /// All points, x fastest.
    pub(super) fn all(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let n = self.points;
        (0..n).flat_map(move |k| (0..n).flat_map(move |j| (0..n).map(move |i| [i, j, k])))
    }

    /// The rates of change of a field by all but the forcing; zero on the boundary.
    pub(super) fn derivatives(&self, field: &[Gas]) -> Vec<Gas> {
        let inverse = (self.points - 1) as f64;
        let mut rates = vec![[0.0; 5]; field.len()];
        for (cell, at) in self.all().enumerate().filter(|(_, at)| !self.on_boundary(*at)) {
            for axis in 0..3 {
                let step = self.points.pow(axis as u32);
                let [before, here, after] = [cell - step, cell, cell + step].map(|c| Local::new(&field[c]));
                let (out, into) = (after.flux(axis), before.flux(axis));
                let [b, h, a] = [before, here, after].map(|local| local.viscous(axis));
                for m in 0..5 {
                    let [ub, uh, ua] = [cell - step, cell, cell + step].map(|c| field[c][m]);
                    let second = DIFFUSION[axis] * (ub - 2.0 * uh + ua) + C3C4 * (b[m] - 2.0 * h[m] + a[m]);
                    let fourth = fourth_difference(at[axis], self.points, |by| {
                        field[(cell as isize + by * step as isize) as usize][m]
                    });
                    rates[cell][m] += inverse * inverse * second - 0.5 * inverse * (out[m] - into[m]) - DSSP * fourth;
                }
            }
        }
        rates
    }

    /// Points of a row on the device, where planes and rows are padded.
    pub(super) fn row(&self) -> usize {
        self.points / 2 * 2 + 1
    }

    /// Points of one component on the device.
    pub(super) fn padded(&self) -> usize {
        self.points * self.row() * self.row()
    }

    /// Where a point is in a component on the device.
    pub(super) fn on_device(&self, at: [usize; 3]) -> usize {
        (at[2] * self.row() + at[1]) * self.row() + at[0]
    }

    /// A field as the device has it; what is padding is zero.
    pub(super) fn to_device(&self, field: &[Gas]) -> Vec<f64> {
        let mut values = vec![0.0; 5 * self.padded()];
        for (gas, at) in field.iter().zip(self.all()) {
            for (m, value) in gas.iter().enumerate() {
                values[m * self.padded() + self.on_device(at)] = *value;
            }
        }
        values
    }
}

/// The fourth difference at place `at` of a line of `points`, one-sided beside the ends; `value` is told how far away.
pub(super) fn fourth_difference(at: usize, points: usize, value: impl Fn(isize) -> f64) -> f64 {
    fourth_weights(at, points).iter().zip(-2..).filter(|(w, _)| **w != 0.0).map(|(w, by)| w * value(by)).sum()
}

/// The weights of the fourth difference, lowest neighbour first.
pub(super) fn fourth_weights(at: usize, points: usize) -> [f64; 5] {
    let middle = if at == 1 || at == points - 2 { 5.0 } else { 6.0 };
    let there = |distance: usize, side: usize, weight: f64| if side > distance { weight } else { 0.0 };
    let behind = points - 1 - at;
    [there(2, at, 1.0), there(1, at, -4.0), middle, there(1, behind, -4.0), there(2, behind, 1.0)]
}

/// What the gas at one point is like.
#[derive(Clone, Copy)]
pub(super) struct Local {
    gas: Gas,
    pub(super) velocity: [f64; 3],
    pub(super) inverse: f64,
    /// Half the square of the velocity.
    pub(super) kinetic: f64,
    pub(super) pressure: f64,
}

impl Local {
    pub(super) fn new(gas: &Gas) -> Self {
        let inverse = 1.0 / gas[0];
        let velocity = [1, 2, 3].map(|m| gas[m] * inverse);
        let kinetic = 0.5 * velocity.iter().map(|v| v * v).sum::<f64>();
        Self { gas: *gas, velocity, inverse, kinetic, pressure: C2 * (gas[4] - gas[0] * kinetic) }
    }

    /// What is carried along an axis.
    fn flux(&self, axis: usize) -> Gas {
        let speed = self.velocity[axis];
        let mut flux = self.gas.map(|quantity| quantity * speed);
        flux[1 + axis] += self.pressure;
        flux[4] += self.pressure * speed;
        flux
    }

    /// What viscosity and heat conduction take second differences of.
    fn viscous(&self, axis: usize) -> Gas {
        let along = self.velocity[axis];
        let [x, y, z] = std::array::from_fn(|i| if i == axis { 4.0 / 3.0 * along } else { self.velocity[i] });
        let energy = (1.0 - C1C5) * self.kinetic + along * along / 6.0 + C1C5 * self.gas[4] * self.inverse;
        [0.0, x, y, z, energy]
    }

    /// The speed of sound.
    pub(super) fn sound(&self) -> f64 {
        (C1 * self.pressure * self.inverse).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_solution_is_steady_and_on_the_boundary() {
        let problem = Problem::new(9, 1);
        let exact: Vec<Gas> = problem.all().map(|at| problem.exact(problem.place(at))).collect();
        let (rates, forcing) = (problem.derivatives(&exact), problem.forcing());
        assert!(rates.iter().zip(&forcing).all(|(r, f)| (0..5).all(|m| r[m] + f[m] == 0.0)));
        assert!(forcing.iter().flatten().any(|f| f.abs() > 0.1));
        let start = problem.initial();
        assert_eq!(start[0], exact[0]);
        assert_ne!(start[400 - 36], exact[400 - 36]);
        assert!(start.iter().all(|gas| gas[0] > 0.0 && Local::new(gas).pressure > 0.0));
    }

    #[test]
    fn fourth_differences_are_one_sided_beside_the_ends() {
        assert_eq!(fourth_weights(1, 9), [0.0, 0.0, 5.0, -4.0, 1.0]);
        assert_eq!(fourth_weights(2, 9), [0.0, -4.0, 6.0, -4.0, 1.0]);
        assert_eq!(fourth_weights(4, 9), [1.0, -4.0, 6.0, -4.0, 1.0]);
        assert_eq!(fourth_weights(7, 9), [1.0, -4.0, 5.0, 0.0, 0.0]);
        assert_eq!(fourth_difference(3, 9, |by| f64::from(by as i32).powi(4)), 24.0);
    }

    #[test]
    fn padding_surrounds_a_field() {
        let problem = Problem::new(4, 1);
        let values = problem.to_device(&vec![[1.0, 2.0, 3.0, 4.0, 5.0]; 64]);
        assert_eq!((problem.row(), values.len()), (5, 500));
        assert_eq!((values[3], values[4], values[103]), (1.0, 0.0, 2.0));
    }
}
