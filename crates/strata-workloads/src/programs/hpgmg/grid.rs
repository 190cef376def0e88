//! The problem and its levels on plain grids of cells, and multigrid on them: the reference.

use crate::math::{exp, sin_pi};
use crate::rng::Rng;

/// The operator is `A` alpha u - `B` div(beta grad u).
const A: f64 = 1.0;
const B: f64 = 1.0;
/// Beta inside and outside the sphere, and how steeply it changes between.
const BETA: (f64, f64) = (1.0, 10.0);
const STEEPNESS: f64 = 10.0;
const SPHERE: f64 = 0.25;

/// One level: `size` cells along each edge of the unit cube.
pub(super) struct Grid {
    pub(super) size: usize,
    /// Coefficients at the low faces of cells across each axis: `size + 1` along every axis.
    pub(super) beta: [Vec<f64>; 3],
    /// The inverse of the operator's diagonal.
    pub(super) inverse: Vec<f64>,
    /// The inverse of the diagonal and half of what is beside it in a row: what damped Jacobi sweeps divide by.
    pub(super) damped: Vec<f64>,
}

/// Where faces are stored: `size + 1` of them along every axis.
fn face(size: usize, at: [usize; 3]) -> usize {
    (at[2] * (size + 1) + at[1]) * (size + 1) + at[0]
}

impl Grid {
    /// The finest level: a sphere of small beta in a body of large beta, as in the published problem. The seed moves
    /// its centre by up to a fiftieth.
    pub(super) fn finest(size: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "sphere");
        let centre: [f64; 3] = std::array::from_fn(|_| 0.5 + f64::from(rng.between(-0.02, 0.02)));
        let h = 1.0 / size as f64;
        let beta = std::array::from_fn(|axis| {
            let mut values = Vec::with_capacity((size + 1).pow(3));
            for at in all(size + 1) {
                let distance = |i: usize| {
                    let middle = if i == axis { 0.0 } else { 0.5 };
                    (at[i] as f64 + middle) * h - centre[i]
                };
                let radius = (0..3).map(|i| distance(i) * distance(i)).sum::<f64>().sqrt();
                values.push(
                    f64::midpoint(BETA.0, BETA.1) + (BETA.1 - BETA.0) / 2.0 * tanh(STEEPNESS * (radius - SPHERE)),
                );
            }
            values
        });
        Self::with(size, beta)
    }

    /// The next level: coefficients are means over the four fine faces that make a coarse one.
    pub(super) fn coarser(&self) -> Self {
        let size = self.size / 2;
        let beta = std::array::from_fn(|axis| {
            let mut values = Vec::with_capacity((size + 1).pow(3));
            for at in all(size + 1) {
                // Faces beyond the last cell have no fine ones beside them; nobody asks for them.
                let fine = |di: usize, dj: usize| {
                    let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
                    let mut place = at.map(|i| 2 * i);
                    place[a] = (place[a] + di).min(self.size);
                    place[b] = (place[b] + dj).min(self.size);
                    self.beta[axis][face(self.size, place)]
                };
                values.push((fine(0, 0) + fine(1, 0) + fine(0, 1) + fine(1, 1)) / 4.0);
            }
            values
        });
        Self::with(size, beta)
    }

    fn with(size: usize, beta: [Vec<f64>; 3]) -> Self {
        let mut grid = Self { size, beta, inverse: Vec::new(), damped: Vec::new() };
        grid.inverse = all(size).map(|at| 1.0 / grid.row(at, |_, here| here)).collect();
        let with_half = |beside: Option<_>, here| if beside.is_some() { here + 0.5 } else { here };
        grid.damped = all(size).map(|at| 1.0 / grid.row(at, with_half)).collect();
        grid
    }

    /// One row of the operator: every face's coefficient with what `flow` makes of the neighbour's offset (none beyond
    /// the domain) and of the share of the cell itself.
    fn row(&self, at: [usize; 3], flow: impl Fn(Option<[usize; 3]>, f64) -> f64) -> f64 {
        let scale = B * (self.size * self.size) as f64;
        let mut sum = flow(None, A);
        for axis in 0..3 {
            let mut next = at;
            next[axis] += 1;
            let low = self.beta[axis][face(self.size, at)];
            let high = self.beta[axis][face(self.size, next)];
            let before = at[axis].checked_sub(1).map(|i| {
                let mut place = at;
                place[axis] = i;
                place
            });
            // A face of the domain holds zero, half a cell away.
            sum += scale * low * flow(before, if before.is_some() { 1.0 } else { 2.0 });
            let inside = next[axis] < self.size;
            sum += scale * high * flow(inside.then_some(next), if inside { 1.0 } else { 2.0 });
        }
        sum
    }

    fn cell(&self, at: [usize; 3]) -> usize {
        (at[2] * self.size + at[1]) * self.size + at[0]
    }

    fn apply(&self, u: &[f64], at: [usize; 3]) -> f64 {
        let here = u[self.cell(at)];
        self.row(at, |beside, own| own * here - beside.map_or(0.0, |place| u[self.cell(place)]))
    }

    /// The operator on a whole field.
    pub(super) fn times(&self, u: &[f64]) -> Vec<f64> {
        all(self.size).map(|at| self.apply(u, at)).collect()
    }

    /// The solution that the right-hand side of the finest level is made from.
    pub(super) fn solution(&self) -> Vec<f64> {
        let h = 1.0 / self.size as f64;
        let wave: Vec<f64> = (0..self.size).map(|i| sin_pi(2.0 * (i as f64 + 0.5) * h)).collect();
        all(self.size).map(|at| wave[at[0]] * wave[at[1]] * wave[at[2]]).collect()
    }

    /// Solves the coarsest level by conjugate gradients, to the last digits.
    pub(super) fn solve(&self, f: &[f64]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let mut u = vec![0.0; f.len()];
        let mut rest = f.to_vec();
        let mut direction = rest.clone();
        let mut square = dot(&rest, &rest);
        let enough = 1e-30 * square;
        for _ in 0..10 * self.size * self.size {
            if square <= enough {
                break;
            }
            let image = self.times(&direction);
            let step = square / dot(&direction, &image);
            u.iter_mut().zip(&direction).for_each(|(u, d)| *u += step * d);
            rest.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
            let next = dot(&rest, &rest);
            direction.iter_mut().zip(&rest).for_each(|(d, r)| *d = r + next / square * *d);
            square = next;
        }
        u
    }
}

/// One V-cycle on the finest of `grids`: two red-black Gauss-Seidel sweeps on the way down and two on the way up.
pub(super) fn v_cycle(grids: &[Grid], u: &mut [f64], f: &[f64]) {
    let [fine, coarser @ ..] = grids else { return };
    let Some(coarse) = coarser.first() else {
        u.copy_from_slice(&fine.solve(f));
        return;
    };
    let smooth = |u: &mut [f64]| {
        for color in [0, 1, 0, 1] {
            for at in all(fine.size).filter(|at| (at[0] + at[1] + at[2]) % 2 == color) {
                let cell = fine.cell(at);
                u[cell] += fine.inverse[cell] * (f[cell] - fine.apply(u, at));
            }
        }
    };
    smooth(u);
    let rest: Vec<f64> = fine.times(u).iter().zip(f).map(|(au, f)| f - au).collect();
    let mut right = vec![0.0; coarse.size.pow(3)];
    for at in all(fine.size) {
        right[coarse.cell(at.map(|i| i / 2))] += rest[fine.cell(at)] / 8.0;
    }
    let mut correction = vec![0.0; right.len()];
    v_cycle(coarser, &mut correction, &right);
    for at in all(fine.size) {
        u[fine.cell(at)] += correction[coarse.cell(at.map(|i| i / 2))];
    }
    smooth(u);
}

/// All places of a cube, x fastest.
pub(super) fn all(size: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..size).flat_map(move |k| (0..size).flat_map(move |j| (0..size).map(move |i| [i, j, k])))
}

fn tanh(x: f64) -> f64 {
    1.0 - 2.0 / (1.0 + exp(2.0 * x.clamp(-300.0, 300.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_converge_to_the_solution() {
        let mut grids = vec![Grid::finest(16, 1)];
        for level in 0..2 {
            grids.push(grids[level].coarser());
        }
        let exact = grids[0].solution();
        let f = grids[0].times(&exact);
        let mut u = vec![0.0; exact.len()];
        let error = |u: &[f64]| u.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let mut last = error(&u);
        for _ in 0..6 {
            v_cycle(&grids, &mut u, &f);
            assert!(error(&u) < 0.6 * last, "{last} to {}", error(&u));
            last = error(&u);
        }
        let direct = grids[0].solve(&f);
        assert!(error(&direct) < 1e-10, "{}", error(&direct));
    }

    #[test]
    fn the_operator_is_that_of_waves_where_beta_is_constant() {
        let size = 32;
        let beta = std::array::from_fn(|_| vec![1.0; (size + 1) * (size + 1) * (size + 1)]);
        let grid = Grid::with(size, beta);
        let u = grid.solution();
        // Each of three second differences of sin(2 pi x) is the sine times this.
        let eigenvalue = 2.0 * (size * size) as f64 * (1.0 - (2.0 * std::f64::consts::PI / size as f64).cos());
        for (image, value) in grid.times(&u).iter().zip(&u) {
            assert!((image - (1.0 + 3.0 * eigenvalue) * value).abs() < 1e-9);
        }
    }
}
