//! How the air begins: constants, the time scheme, profiles, buildings, and a precursor run that is laid out side by side.

use super::air::{Air, CELL, VARIABLES, square};
use crate::rng::Rng;

pub(super) const GRAVITY: f64 = 9.81;
/// Edge of a cell in metres.
pub(super) const SPACING: f64 = 20.0;
/// A step in seconds: wind crosses a quarter of a cell.
const TIME_STEP: f64 = 1.0;
/// At 45 degrees of latitude.
pub(super) const CORIOLIS: f64 = 1.0e-4;
/// The geostrophic wind in metres per second.
pub(super) const WIND: [f64; 2] = [5.0, 0.0];
/// What the sunlit ground gives off: K m/s (120 W/m²) and kg/kg m/s.
pub(super) const HEAT_FLUX: f64 = 0.1;
pub(super) const MOISTURE_FLUX: f64 = 5e-5;
/// Sweeps towards the pressure in each substep: even, as they go from one array to another and back.
pub(super) const SWEEPS: usize = 4;

/// The coefficients of a substep: what tendencies add, what is remembered of them, and the time that passes.
pub(super) struct Substep {
    pub(super) now: f64,
    pub(super) before: f64,
    pub(super) keep_now: f64,
    pub(super) keep_before: f64,
    pub(super) seconds: f64,
}

/// Williamson's third-order Runge-Kutta scheme with one array of memory, in the form in which the original has it.
pub(super) const SUBSTEPS: [Substep; 3] = [
    substep(1.0 / 3.0, 0.0, [1.0, 0.0], 1.0 / 3.0),
    substep(15.0 / 16.0, -25.0 / 48.0, [-9.5625, 5.3125], 5.0 / 12.0),
    substep(8.0 / 15.0, 1.0 / 15.0, [0.0, 1.0], 1.0 / 4.0),
];

const fn substep(now: f64, before: f64, keep: [f64; 2], share: f64) -> Substep {
    Substep {
        now: now * TIME_STEP,
        before: before * TIME_STEP,
        keep_now: keep[0],
        keep_before: keep[1],
        seconds: share * TIME_STEP,
    }
}

impl Air {
    /// Air over a few buildings, mixed to half the height and stable above, with small disturbances of the wind.
    pub(super) fn rest(seed: u64, size: [usize; 3]) -> Self {
        let [nx, ny, nz] = size;
        let flags = flags(size, &buildings(&mut Rng::new(seed, "buildings"), nx, ny));
        let height = nz as f64 * SPACING;
        let temperature = |z: f64| 300.0 + 0.008 * (z - 0.5 * height).max(0.0);
        let profile = |variable: usize, k: usize| {
            let z = (k as f64 - 0.5) * SPACING;
            match VARIABLES[variable] {
                "u" if k > 0 => WIND[0] * z / (z + 30.0),
                "pt" => temperature(z),
                "q" => 0.010 - 0.006 * z / height,
                "e" => 0.2 * square(1.0 - z / height) + 1e-3,
                _ => 0.0,
            }
        };
        let cells = nx * ny * nz;
        let now = std::array::from_fn(|variable| (0..cells).map(|at| profile(variable, at % nz)).collect());
        let reference = (0..nz).map(|k| temperature(k as f64 * SPACING)).collect();
        let zeros = vec![0.0; cells];
        let memory = std::array::from_fn(|_| zeros.clone());
        let mut air =
            Self { size, flags, reference, now, memory, km: zeros.clone(), kh: zeros.clone(), pressure: zeros };
        air.disturb(&mut Rng::new(seed, "disturbance"), 0.25);
        air
    }

    /// The state that a run starts from: a smaller domain simulated for a while and laid out side by side, then disturbed
    /// anew, so that its copies part.
    pub(super) fn filled(seed: u64, size: [usize; 3], tile: [usize; 2], steps: usize) -> Self {
        let nz = size[2];
        let mut small = Self::rest(seed, [tile[0], tile[1], nz]);
        (0..steps).flat_map(|_| &SUBSTEPS).for_each(|step| small.advance(step));
        let source = |at: usize| {
            let (k, j, i) = (at % nz, at / nz % size[1], at / nz / size[1]);
            (i % tile[0] * tile[1] + j % tile[1]) * nz + k
        };
        let cells = size.iter().product();
        let lay = |values: &[f64]| -> Vec<f64> { (0..cells).map(|at| values[source(at)]).collect() };
        let zeros = vec![0.0; cells];
        let mut air = Self {
            size,
            flags: (0..cells).map(|at| small.flags[source(at)]).collect(),
            reference: small.reference.clone(),
            now: std::array::from_fn(|variable| lay(&small.now[variable])),
            memory: std::array::from_fn(|_| zeros.clone()),
            km: lay(&small.km),
            kh: lay(&small.kh),
            pressure: lay(&small.pressure),
        };
        air.disturb(&mut Rng::new(seed, "new disturbance"), 0.05);
        air
    }

    /// Adds random numbers, each the mean of two neighbours', to the horizontal wind in the lower third, and stops the
    /// wind at walls.
    fn disturb(&mut self, random: &mut Rng, amplitude: f32) {
        let nz = self.size[2];
        for (variable, face) in [(0, 2), (1, 4)] {
            let mut last = 0.0;
            for (at, value) in self.now[variable].iter_mut().enumerate() {
                if (1..nz / 3).contains(&(at % nz)) {
                    let fresh = random.between(-amplitude, amplitude);
                    *value += f64::from(0.5 * (last + fresh));
                    last = fresh;
                }
                if self.flags[at] & face == 0 {
                    *value = 0.0;
                }
            }
        }
    }
}

/// The height in cells of what stands on each column: the ground, which is level 0, and two buildings.
fn buildings(random: &mut Rng, nx: usize, ny: usize) -> Vec<usize> {
    let mut heights = vec![0; nx * ny];
    for height in [3, 5] {
        let (left, front) = (random.below(nx as u32) as usize, random.below(ny as u32) as usize);
        for i in 0..nx.div_ceil(5) {
            for j in 0..ny.div_ceil(4) {
                heights[(left + i) % nx * ny + (front + j) % ny] = height;
            }
        }
    }
    heights
}

/// What of every cell is open.
fn flags(size: [usize; 3], heights: &[usize]) -> Vec<i32> {
    let [nx, ny, nz] = size;
    let air = |i: usize, j: usize, k: usize| k > heights[i % nx * ny + j % ny];
    let mut flags = vec![0; nx * ny * nz];
    for i in 0..nx {
        for j in 0..ny {
            for k in (0..nz).filter(|k| air(i, j, *k)) {
                let faces = [air(i + nx - 1, j, k), air(i, j + ny - 1, k), k + 2 < nz];
                let open = faces.iter().zip([2, 4, 8]).map(|(open, flag)| if *open { flag } else { 0 });
                flags[(i * ny + j) * nz + k] = CELL | open.sum::<i32>();
            }
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::palm::air::{E, PT};

    #[test]
    fn substeps_make_a_step() {
        // Constant tendencies: the memory of the second substep is 5.3125 - 9.5625 of one.
        let shares = [1.0 / 3.0, 15.0 / 16.0 - 25.0 / 48.0, 8.0 / 15.0 + (5.3125 - 9.5625) / 15.0];
        for (step, share) in SUBSTEPS.iter().zip(shares) {
            assert!((step.seconds - share * TIME_STEP).abs() < 1e-12);
        }
    }

    #[test]
    fn warm_ground_warms_the_air_and_pressure_stops_divergence() {
        let size = [12, 10, 16];
        let mut air = Air::rest(1, size);
        let heat = |air: &Air| -> f64 {
            air.now[PT]
                .iter()
                .zip(&air.flags)
                .enumerate()
                .filter(|(at, (_, flags))| **flags & CELL != 0 && at % size[2] < size[2] - 1)
                .map(|(_, (pt, _))| pt)
                .sum()
        };
        // Without wind across the upper boundary, heat comes from the ground and through the top by mixing alone.
        let (before, started) = (heat(&air), air.largest_divergence());
        (0..10).flat_map(|_| &SUBSTEPS).for_each(|step| air.advance(step));
        let gained = (heat(&air) - before) * SPACING / (10.0 * TIME_STEP) / (12.0 * 10.0);
        assert!((gained / HEAT_FLUX - 1.0).abs() < 0.1, "{gained} of {HEAT_FLUX}");
        assert!(air.largest_divergence() < 0.5 * started, "{} of {started}", air.largest_divergence());
        assert!(air.now[E].iter().all(|e| *e > 0.0));
        assert!(air.now[2].iter().any(|w| w.abs() > 1e-3));
    }
}
