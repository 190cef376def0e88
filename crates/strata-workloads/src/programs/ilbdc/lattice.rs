//! Flow through a packed channel by the lattice Boltzmann method, on the whole grid and by its definition: the reference, and
//! the states that runs continue from.

use crate::rng::Rng;

pub(super) const DIRECTIONS: usize = 19;

/// Steps to the neighbours: rest, the axes, the diagonals of the planes; odd and next even are opposite.
pub(super) const VELOCITIES: [[i32; 3]; DIRECTIONS] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
];

/// Viscosity in lattice units: water through a bed of beads at a Reynolds number of some tens.
const VISCOSITY: f64 = 0.05;
/// Force per volume along the channel.
pub(super) const FORCE: f64 = 1e-5;
/// Velocity in the middle of the channel at the start.
const START_SPEED: f64 = 0.02;
/// Share of the channel that beads fill.
const PACKING: f64 = 0.35;

/// The rate at which even parts of the distributions relax, which sets the viscosity.
pub(super) const EVEN_RATE: f64 = 1.0 / (3.0 * VISCOSITY + 0.5);
/// The rate of the odd parts: with 3/16 walls stand midway between cells whatever the viscosity is.
pub(super) const ODD_RATE: f64 = 1.0 / (3.0 / 16.0 / (3.0 * VISCOSITY) + 0.5);

/// The opposite direction.
pub(super) const fn opposite(q: usize) -> usize {
    if q == 0 { 0 } else { q - 1 + 2 * (q % 2) }
}

/// The directions that lead forward along each axis.
const AHEAD: [[usize; 5]; 3] = [[1, 7, 9, 11, 13], [3, 7, 10, 15, 17], [5, 11, 14, 15, 18]];

/// The distributions of one cell.
pub(super) type Cell = [f64; DIRECTIONS];

/// How much of a fluid at rest each direction carries.
const WEIGHTS: Cell = {
    let mut weights = [1.0 / 36.0; DIRECTIONS];
    weights[0] = 1.0 / 3.0;
    let mut axis = 1;
    while axis <= 6 {
        weights[axis] = 1.0 / 18.0;
        axis += 1;
    }
    weights
};

/// The distributions of a fluid in equilibrium.
fn equilibria(density: f64, u: [f64; 3]) -> Cell {
    let square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    let mut f = [0.0; DIRECTIONS];
    for (q, f) in f.iter_mut().enumerate() {
        let [x, y, z] = VELOCITIES[q];
        let along = f64::from(x) * u[0] + f64::from(y) * u[1] + f64::from(z) * u[2];
        *f = WEIGHTS[q] * density * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * square);
    }
    f
}

/// A channel along x, open at its ends (what leaves enters again), walled in y and z.
pub(super) struct Channel {
    size: [usize; 3],
    pub(super) fluid: Vec<bool>,
}

impl Channel {
    /// A channel filled with beads of 3 to 6 cells radius, wherever they fall.
    pub(super) fn packed(random: &mut Rng, size: [usize; 3]) -> Self {
        let [nx, ny, nz] = size;
        let wall = |i: usize| {
            let (j, k) = (i / nx % ny, i / nx / ny);
            j == 0 || j == ny - 1 || k == 0 || k == nz - 1
        };
        let mut fluid: Vec<bool> = (0..nx * ny * nz).map(|i| !wall(i)).collect();
        let open = (nx * (ny - 2) * (nz - 2)) as f64;
        let mut filled = 0;
        while (filled as f64) < PACKING * open {
            let centre = size.map(|n| random.unit() * n as f32);
            let radius = random.between(3.0, 6.0);
            let reach = radius.ceil() as i32;
            for dz in -reach..=reach {
                for dy in -reach..=reach {
                    for dx in -reach..=reach {
                        let near: f32 = [dx, dy, dz].iter().map(|d| (*d * *d) as f32).sum();
                        let place =
                            |axis: usize, d: i32| (centre[axis] as i32 + d).rem_euclid(size[axis] as i32) as usize;
                        let cell = (place(2, dz) * ny + place(1, dy)) * nx + place(0, dx);
                        if near <= radius * radius && fluid[cell] {
                            fluid[cell] = false;
                            filled += 1;
                        }
                    }
                }
            }
        }
        Self { size, fluid }
    }

    pub(super) fn cells(&self) -> usize {
        self.fluid.len()
    }

    /// For each direction, the cell from which it comes.
    pub(super) fn upstream(&self, cell: usize) -> [usize; DIRECTIONS] {
        let [nx, ny, nz] = self.size;
        // Where steps of -1, 0 and 1 come from: an end of the channel is next to the other one.
        let around = |place: usize, n: usize| {
            [if place + 1 == n { 0 } else { place + 1 }, place, place.checked_sub(1).unwrap_or(n - 1)]
        };
        let (xs, ys, zs) = (around(cell % nx, nx), around(cell / nx % ny, ny), around(cell / nx / ny, nz));
        let mut upstream = [0; DIRECTIONS];
        for (upstream, [x, y, z]) in upstream.iter_mut().zip(VELOCITIES) {
            *upstream = (zs[(z + 1) as usize] * ny + ys[(y + 1) as usize]) * nx + xs[(x + 1) as usize];
        }
        upstream
    }

    /// The distributions of a flow that does not know of the beads yet: the parabola between walls, at density 1.
    pub(super) fn start(&self) -> Vec<Cell> {
        let [nx, ny, nz] = self.size;
        let bow = |place: usize, n: usize| {
            let t = (place as f64 - 0.5) / (n as f64 - 2.0);
            4.0 * t * (1.0 - t)
        };
        let still = |cell: usize| {
            let speed = START_SPEED * bow(cell / nx % ny, ny) * bow(cell / nx / ny, nz);
            if self.fluid[cell] { equilibria(1.0, [speed, 0.0, 0.0]) } else { [0.0; DIRECTIONS] }
        };
        (0..self.cells()).map(still).collect()
    }

    /// One step: distributions move, those that meet a solid turn round, then each cell relaxes.
    pub(super) fn step(&self, from: &[Cell], to: &mut [Cell]) {
        for (cell, next) in to.iter_mut().enumerate() {
            if !self.fluid[cell] {
                continue;
            }
            let mut arriving = [0.0; DIRECTIONS];
            for (q, upstream) in self.upstream(cell).into_iter().enumerate() {
                arriving[q] = if self.fluid[upstream] { from[upstream][q] } else { from[cell][opposite(q)] };
            }
            *next = relax(&arriving);
        }
    }

    /// The state after some steps.
    pub(super) fn advance(&self, mut state: Vec<Cell>, steps: usize) -> Vec<Cell> {
        let mut next = vec![[0.0; DIRECTIONS]; self.cells()];
        for _ in 0..steps {
            self.step(&state, &mut next);
            std::mem::swap(&mut state, &mut next);
        }
        state
    }
}

/// The collision with two relaxation times, and the force.
fn relax(f: &Cell) -> Cell {
    let density: f64 = f.iter().sum();
    let mut u = [0.0; 3];
    for (u, ahead) in u.iter_mut().zip(&AHEAD) {
        *u = ahead.iter().map(|q| f[*q] - f[opposite(*q)]).sum::<f64>() / density;
    }
    let still = equilibria(density, u);
    let mut after = [0.0; DIRECTIONS];
    for (q, after) in after.iter_mut().enumerate() {
        let (off, other) = (f[q] - still[q], f[opposite(q)] - still[opposite(q)]);
        let (even, odd) = (0.5 * (off + other), 0.5 * (off - other));
        *after = f[q] - EVEN_RATE * even - ODD_RATE * odd + 3.0 * WEIGHTS[q] * f64::from(VELOCITIES[q][0]) * FORCE;
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_directions_cancel_and_upstream_leads_back() {
        let channel = Channel::packed(&mut Rng::new(1, "beads"), [16, 14, 15]);
        for q in 0..DIRECTIONS {
            for axis in 0..3 {
                assert_eq!(VELOCITIES[q][axis], -VELOCITIES[opposite(q)][axis]);
                assert_eq!(VELOCITIES[q][axis] == 1, AHEAD[axis].contains(&q));
            }
            for cell in [0, 17, 16 * 14 * 15 - 1] {
                assert_eq!(channel.upstream(channel.upstream(cell)[q])[opposite(q)], cell);
            }
        }
    }

    #[test]
    fn mass_stays_and_an_empty_channel_flows_as_a_parabola() {
        // Walls in z alone matter: far apart in y, and the profile in the middle is taken.
        let (ny, nz) = (12, 10);
        let size = [1, ny, nz];
        let fluid = (0..ny * nz).map(|i| i / ny > 0 && i / ny < nz - 1).collect();
        let channel = Channel { size, fluid };
        let start = channel.start();
        let mass = |state: &[Cell]| state.iter().flatten().sum::<f64>();
        let before = mass(&start);
        let state = channel.advance(start, 4000);
        assert!((mass(&state) / before - 1.0).abs() < 1e-12);
        // F / (2 viscosity) * z (h - z) between walls half a cell outside; half of the force acts after the collision.
        for k in 1..nz - 1 {
            let f = &state[k * ny + 3];
            let flow: f64 = f.iter().zip(VELOCITIES).map(|(f, c)| f * f64::from(c[0])).sum::<f64>() - FORCE / 2.0;
            let z = k as f64 - 0.5;
            let exact = FORCE / (2.0 * VISCOSITY) * z * ((nz - 2) as f64 - z);
            assert!((flow / exact - 1.0).abs() < 1e-4, "{flow:e} instead of {exact:e}");
        }
    }
}
