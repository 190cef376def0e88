//! The elastic wave equation on staggered grids, in double precision and in its plainest form: a list of derivatives, each
//! with the fields it adds to. Drives the reference, and makes the states that runs are restarted from.

use crate::math::exp;
use std::f64::consts::{LN_10, PI};

/// A homogeneous rock, its grid and its source: the values that the open code `SEISMIC_CPML`, the original, is published
/// with, except for a faster source, so that short runs see it.
const PRESSURE_SPEED: f64 = 3300.0;
const DENSITY: f64 = 2800.0;
const SPACING: f64 = 10.0;
const TIME_STEP: f64 = 1.6e-3;
const SOURCE_STRENGTH: f64 = 1e7;
/// The original's is 7.
const SOURCE_HERTZ: f64 = 15.0;
/// Shear waves are slower than pressure waves by the root of 3: then both of Lamé's parameters are the same.
pub(super) const LAMBDA_DT: f64 = DENSITY * PRESSURE_SPEED * PRESSURE_SPEED / 3.0 * TIME_STEP;
pub(super) const MU_DT: f64 = LAMBDA_DT;
pub(super) const DT_OVER_RHO: f64 = TIME_STEP / DENSITY;
pub(super) const PER_METRE: f64 = 1.0 / SPACING;
/// Cells of an absorbing layer, and the share of a wave that it may reflect (in decades).
const LAYER_CELLS: usize = 10;
const REFLECTION_DECADES: f64 = 3.0;

/// The fields and where they stand in their cell: half a cell on along an axis, or not.
pub(super) const FIELDS: [(&str, [bool; 3]); 9] = [
    ("vx", [false, false, false]),
    ("vy", [true, true, false]),
    ("vz", [true, false, true]),
    ("sigmaxx", [true, false, false]),
    ("sigmayy", [true, false, false]),
    ("sigmazz", [true, false, false]),
    ("sigmaxy", [false, true, false]),
    ("sigmaxz", [false, false, true]),
    ("sigmayz", [true, true, true]),
];

/// A derivative of a field along an axis, which has a memory variable of its own, and what it adds to which fields.
pub(super) struct Derivative {
    pub(super) memory: &'static str,
    field: usize,
    axis: usize,
    adds: &'static [(usize, f64)],
}

const fn derivative(memory: &'static str, field: usize, axis: usize, adds: &'static [(usize, f64)]) -> Derivative {
    Derivative { memory, field, axis, adds }
}

const BOTH_DT: f64 = LAMBDA_DT + 2.0 * MU_DT;

/// How stresses follow from velocities, in the order of velocities and axes.
pub(super) const STRAIN: [Derivative; 9] = [
    derivative("memory_dvx_dx", 0, 0, &[(3, BOTH_DT), (4, LAMBDA_DT), (5, LAMBDA_DT)]),
    derivative("memory_dvx_dy", 0, 1, &[(6, MU_DT)]),
    derivative("memory_dvx_dz", 0, 2, &[(7, MU_DT)]),
    derivative("memory_dvy_dx", 1, 0, &[(6, MU_DT)]),
    derivative("memory_dvy_dy", 1, 1, &[(3, LAMBDA_DT), (4, BOTH_DT), (5, LAMBDA_DT)]),
    derivative("memory_dvy_dz", 1, 2, &[(8, MU_DT)]),
    derivative("memory_dvz_dx", 2, 0, &[(7, MU_DT)]),
    derivative("memory_dvz_dy", 2, 1, &[(8, MU_DT)]),
    derivative("memory_dvz_dz", 2, 2, &[(3, LAMBDA_DT), (4, LAMBDA_DT), (5, BOTH_DT)]),
];

/// How velocities follow from stresses, in the order of velocities and axes.
pub(super) const MOTION: [Derivative; 9] = [
    derivative("memory_dsigmaxx_dx", 3, 0, &[(0, DT_OVER_RHO)]),
    derivative("memory_dsigmaxy_dy", 6, 1, &[(0, DT_OVER_RHO)]),
    derivative("memory_dsigmaxz_dz", 7, 2, &[(0, DT_OVER_RHO)]),
    derivative("memory_dsigmaxy_dx", 6, 0, &[(1, DT_OVER_RHO)]),
    derivative("memory_dsigmayy_dy", 4, 1, &[(1, DT_OVER_RHO)]),
    derivative("memory_dsigmayz_dz", 8, 2, &[(1, DT_OVER_RHO)]),
    derivative("memory_dsigmaxz_dx", 7, 0, &[(2, DT_OVER_RHO)]),
    derivative("memory_dsigmayz_dy", 8, 1, &[(2, DT_OVER_RHO)]),
    derivative("memory_dsigmazz_dz", 5, 2, &[(2, DT_OVER_RHO)]),
];

/// The coefficients of the layers along an axis of `cells`: rows of a and b at whole cells, then half a cell on.
pub(super) fn layers(cells: usize) -> Vec<f64> {
    let thickness = LAYER_CELLS as f64 * SPACING;
    // Damping grows with the square of the depth, the shift of frequency falls with it, as the original has it.
    let strongest = 3.0 * PRESSURE_SPEED * REFLECTION_DECADES * LN_10 / (2.0 * thickness);
    let shift = PI * SOURCE_HERTZ;
    let coefficients = |place: f64| {
        let from_border = place.min((cells - 1) as f64 - place) * SPACING;
        let depth = (thickness - from_border) / thickness;
        if depth <= 0.0 {
            return (0.0, 1.0);
        }
        let damping = strongest * depth * depth;
        let alpha = shift * (1.0 - depth).max(0.0) + 0.1 * shift;
        let b = exp(-(damping + alpha) * TIME_STEP);
        (damping * (b - 1.0) / (damping + alpha), b)
    };
    let row = |half: f64| -> Vec<(f64, f64)> { (0..cells).map(|i| coefficients(i as f64 + half)).collect() };
    let rows = [row(0.0), row(0.5)];
    let (a, b) = (|r: &(f64, f64)| r.0, |r: &(f64, f64)| r.1);
    let split = |row: &Vec<(f64, f64)>| row.iter().map(a).chain(row.iter().map(b)).collect::<Vec<_>>();
    rows.iter().flat_map(split).collect()
}

/// What the source adds to the velocity in each step: the derivative of a bell, 1.2 periods after the start.
pub(super) fn pushes(steps: usize) -> Vec<f64> {
    let narrow = PI * SOURCE_HERTZ * PI * SOURCE_HERTZ;
    let push = |step: usize| {
        let t = step as f64 * TIME_STEP - 1.2 / SOURCE_HERTZ;
        -2.0 * narrow * t * exp(-narrow * t * t) * SOURCE_STRENGTH * DT_OVER_RHO
    };
    (0..steps).map(push).collect()
}

/// The state of a wave.
pub(super) struct Wave {
    cells: [usize; 3],
    layers: [Vec<f64>; 3],
    /// In the order of [`FIELDS`].
    pub(super) fields: Vec<Vec<f64>>,
    /// In the order of [`STRAIN`], then of [`MOTION`].
    pub(super) memory: Vec<Vec<f64>>,
    /// The source acts along this direction in the plane of x and y.
    direction: [f64; 2],
    pushes: Vec<f64>,
    /// Steps done; the wave is at most as many cells from its source.
    step: usize,
}

impl Wave {
    /// Rest, with a source that will push `pushes.len()` times.
    pub(super) fn new(cells: [usize; 3], direction: [f64; 2], pushes: Vec<f64>) -> Self {
        let total = cells.iter().product();
        Self {
            cells,
            layers: cells.map(layers),
            fields: vec![vec![0.0; total]; FIELDS.len()],
            memory: vec![vec![0.0; total]; STRAIN.len() + MOTION.len()],
            direction,
            pushes,
            step: 0,
        }
    }

    /// The cell of the source.
    pub(super) fn source(&self) -> usize {
        let [nx, ny, nz] = self.cells;
        (nz / 2 * ny + ny / 2) * nx + nx / 2
    }

    /// One step in time.
    pub(super) fn advance(&mut self) {
        for (number, derivative) in STRAIN.iter().chain(&MOTION).enumerate() {
            self.apply(derivative, number);
        }
        let (at, push) = (self.source(), self.pushes[self.step]);
        self.fields[0][at] += self.direction[0] * push;
        self.fields[1][at] += self.direction[1] * push;
        self.step += 1;
    }

    /// Adds what one derivative contributes, wherever the wave can be; the border of the grid stays at rest.
    fn apply(&mut self, derivative: &Derivative, number: usize) {
        let [nx, ny, _] = self.cells;
        let axis = derivative.axis;
        let stride = [1, nx, nx * ny][axis];
        let half = !FIELDS[derivative.field].1[axis];
        let (upper, lower) = if half { (stride, 0) } else { (0, stride) };
        let n = self.cells[axis];
        let layer = &self.layers[axis][if half { 2 * n } else { 0 }..];
        let field = std::mem::take(&mut self.fields[derivative.field]);
        let memory = &mut self.memory[number];
        let [xs, ys, zs] = self.cells.map(|n| {
            let reach = self.step + 1;
            (n / 2).saturating_sub(reach).max(1)..(n / 2 + reach + 1).min(n - 1)
        });
        for k in zs {
            for j in ys.clone() {
                for i in xs.clone() {
                    let at = (k * ny + j) * nx + i;
                    let place = [i, j, k][axis];
                    let slope = (field[at + upper] - field[at - lower]) * PER_METRE;
                    let remembered = layer[n + place] * memory[at] + layer[place] * slope;
                    memory[at] = remembered;
                    for (to, factor) in derivative.adds {
                        self.fields[*to][at] += factor * (slope + remembered);
                    }
                }
            }
        }
        self.fields[derivative.field] = field;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kinetic energy and that of the stresses, up to constants: what a layer must take away.
    fn energy(wave: &Wave) -> f64 {
        let squares = |f: &Vec<f64>| f.iter().map(|v| v * v).sum::<f64>();
        wave.fields[..3].iter().map(squares).sum::<f64>() * DENSITY
    }

    #[test]
    fn a_wave_travels_at_its_speed_and_leaves() {
        let mut wave = Wave::new([40, 40, 40], [1.0, 0.0], pushes(260));
        let quiet = |wave: &Wave, distance: usize| wave.fields[0][wave.source() + distance].abs();
        let peak = |wave: &Wave| wave.fields[0].iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        // By step 25 the source has begun, and 15 cells away, 28 steps for a pressure wave, next to nothing moves.
        (0..25).for_each(|_| wave.advance());
        assert!(peak(&wave) > 0.0 && quiet(&wave, 15) < 1e-3 * peak(&wave));
        (25..90).for_each(|_| wave.advance());
        let strongest = energy(&wave);
        (90..260).for_each(|_| wave.advance());
        assert!(energy(&wave) < 0.02 * strongest, "{} of {strongest}", energy(&wave));
    }

    #[test]
    fn layers_act_at_the_ends_alone() {
        let rows = layers(40);
        let (a, b) = (&rows[..40], &rows[40..80]);
        assert!(a[0] < 0.0 && a[39] < 0.0 && b[0] < 1.0);
        assert!(a[10..30].iter().all(|a| *a == 0.0) && b[10..30].iter().all(|b| *b == 1.0));
        assert_eq!(a[3], a[36]);
    }
}
