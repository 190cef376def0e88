//! The atmosphere's equations on the host, in tensor form: the reference, and the precursor run that fills the first state.

use super::start::{CORIOLIS, GRAVITY, HEAT_FLUX, MOISTURE_FLUX, SPACING, SWEEPS, Substep, WIND};

/// What of a cell is open: the cell itself, its lower faces in x and y, its upper face in z.
pub(super) const CELL: i32 = 1;
const FACE_Z: i32 = 8;
/// The flag of the lower face along each axis; that in z belongs to the cell below.
const FACES: [i32; 3] = [2, 4, FACE_Z];

/// The prognostic variables, in the order of [`Air::now`].
pub(super) const VARIABLES: [&str; 6] = ["u", "v", "w", "pt", "q", "e"];
pub(super) const PT: usize = 3;
pub(super) const Q: usize = 4;
pub(super) const E: usize = 5;

/// A step in space, in cells.
type Shift = [i32; 3];

fn plus(a: Shift, b: Shift) -> Shift {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn minus(a: Shift, b: Shift) -> Shift {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Not `powi`, whose rounding may differ between machines.
pub(super) fn square(x: f64) -> f64 {
    x * x
}

const HERE: Shift = [0; 3];
/// One cell along each axis.
const ALONG: [Shift; 3] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];

/// The state of the air, z fastest, periodic in x and y.
#[derive(Clone)]
pub(super) struct Air {
    pub(super) size: [usize; 3],
    pub(super) flags: Vec<i32>,
    /// Temperature at which air at the upper faces of each level neither rises nor falls.
    pub(super) reference: Vec<f64>,
    pub(super) now: [Vec<f64>; 6],
    /// Tendencies that the next substep remembers.
    pub(super) memory: [Vec<f64>; 6],
    pub(super) km: Vec<f64>,
    pub(super) kh: Vec<f64>,
    pub(super) pressure: Vec<f64>,
}

/// A cell and where its neighbours are: parts of an index for a step back, none, and a step on.
struct Near([[usize; 3]; 3]);

impl Near {
    fn new(size: [usize; 3], x: usize, y: usize, z: usize) -> Self {
        let [nx, ny, nz] = size;
        let row = |i: usize| i % nx * ny * nz;
        let column = |j: usize| j % ny * nz;
        Self([
            [row(x + nx - 1), row(x), row(x + 1)],
            [column(y + ny - 1), column(y), column(y + 1)],
            [z.saturating_sub(1), z, z + 1],
        ])
    }

    fn at(&self, shift: Shift) -> usize {
        let part = |axis: usize| self.0[axis][(shift[axis] + 1) as usize];
        part(0) + part(1) + part(2)
    }
}

impl Air {
    /// Calls `f` for every cell between the boundaries, with its index.
    fn for_each(&self, mut f: impl FnMut(usize, &Near, usize)) {
        let [nx, ny, nz] = self.size;
        for x in 0..nx {
            for y in 0..ny {
                for z in 1..nz - 1 {
                    let near = Near::new(self.size, x, y, z);
                    f(near.at(HERE), &near, z);
                }
            }
        }
    }

    /// True if the lower face along an axis is open.
    fn open(&self, axis: usize, near: &Near, shift: Shift) -> bool {
        let owner = if axis == 2 { near.at(shift) - 1 } else { near.at(shift) };
        self.flags[owner] & FACES[axis] != 0
    }

    /// The velocity through the lower face along an axis; that in z is kept with the cell below.
    fn velocity(&self, axis: usize, near: &Near, shift: Shift) -> f64 {
        let owner = if axis == 2 { near.at(shift) - 1 } else { near.at(shift) };
        self.now[axis][owner]
    }

    /// The flux of momentum `a` along `b` at the lower end, along `b`, of the volume around a lower face along `a`.
    fn momentum_flux(&self, a: usize, b: usize, near: &Near, shift: Shift) -> f64 {
        let (back_a, back_b) = (minus(shift, ALONG[a]), minus(shift, ALONG[b]));
        let (upper, lower) = (self.velocity(a, near, shift), self.velocity(a, near, back_b));
        let (across, beside) = (self.velocity(b, near, shift), self.velocity(b, near, back_a));
        let viscosity = if a == b {
            self.km[near.at(back_a)]
        } else {
            let corners = [shift, back_a, back_b, minus(back_a, ALONG[b])];
            corners.iter().map(|c| self.km[near.at(*c)]).sum::<f64>() / 4.0
        };
        (upper + lower) * (across + beside) / 4.0 - viscosity * (upper - lower + across - beside) / SPACING
    }

    fn momentum_tendency(&self, a: usize, near: &Near) -> f64 {
        let out = |b: usize| self.momentum_flux(a, b, near, ALONG[b]) - self.momentum_flux(a, b, near, HERE);
        let flux = (out(0) + out(1) + out(2)) / SPACING;
        // The mean of the other horizontal velocity around the face turns this one.
        let around = |b: usize| {
            let back = minus(HERE, ALONG[a]);
            let places = [HERE, back, ALONG[b], plus(back, ALONG[b])];
            places.iter().map(|s| self.velocity(b, near, *s)).sum::<f64>() / 4.0
        };
        match a {
            0 => CORIOLIS * (around(1) - WIND[1]) - flux,
            1 => -CORIOLIS * (around(0) - WIND[0]) - flux,
            _ => {
                let reference = self.reference[near.0[2][1] - 1];
                let pt = &self.now[PT];
                let warmth = 0.5 * (pt[near.at(HERE)] + pt[near.at([0, 0, -1])]);
                GRAVITY * (warmth - reference) / reference - flux
            }
        }
    }

    /// The flux of a scalar through the lower face along an axis.
    fn scalar_flux(&self, s: usize, k: &[f64], axis: usize, near: &Near, shift: Shift) -> f64 {
        let (here, back) = (near.at(shift), near.at(minus(shift, ALONG[axis])));
        let s = &self.now[s];
        let carried = self.velocity(axis, near, shift) * (s[here] + s[back]) / 2.0;
        let mixed = 0.5 * (k[here] + k[back]) * (s[here] - s[back]) / SPACING;
        if self.open(axis, near, shift) { carried - mixed } else { carried }
    }

    fn scalar_tendency(&self, s: usize, k: &[f64], near: &Near, from_ground: f64) -> f64 {
        let out = |axis: usize| {
            let lower = if axis == 2 && !self.open(2, near, HERE) {
                from_ground
            } else {
                self.scalar_flux(s, k, axis, near, HERE)
            };
            self.scalar_flux(s, k, axis, near, ALONG[axis]) - lower
        };
        -(out(0) + out(1) + out(2)) / SPACING
    }

    fn mixing_length(&self, at: usize, z: usize) -> f64 {
        let pt = &self.now[PT];
        let length = SPACING.min(1.8 * (z as f64 - 0.5) * SPACING);
        let stability = GRAVITY / pt[at] * (pt[at + 1] - pt[at - 1]) / (2.0 * SPACING);
        if stability > 0.0 { length.min(0.76 * (self.now[E][at] / stability).sqrt()) } else { length }
    }

    fn energy_tendency(&self, at: usize, near: &Near, z: usize) -> f64 {
        // The change of velocity `a` along `b` in the middle of the cell.
        let gradient = |a: usize, b: usize| {
            if a == b {
                return self.velocity(a, near, ALONG[a]) - self.velocity(a, near, HERE);
            }
            let pair = |shift: Shift| self.velocity(a, near, shift) + self.velocity(a, near, plus(shift, ALONG[a]));
            (pair(ALONG[b]) - pair(minus(HERE, ALONG[b]))) / 4.0
        };
        let mut shear = 0.0;
        for a in 0..3 {
            shear += 2.0 * square(gradient(a, a));
            shear += (0..a).map(|b| square(gradient(a, b) + gradient(b, a))).sum::<f64>();
        }
        let (e, pt, length) = (self.now[E][at], &self.now[PT], self.mixing_length(at, z));
        let made = self.km[at] * shear / (SPACING * SPACING);
        let lifted = GRAVITY / pt[at] * self.kh[at] * (pt[at + 1] - pt[at - 1]) / (2.0 * SPACING);
        let lost = (0.19 + 0.74 * length / SPACING) * e * e.sqrt() / length;
        self.scalar_tendency(E, &self.km, near, 0.0) + made - lifted - lost
    }

    /// One substep.
    pub(super) fn advance(&mut self, step: &Substep) {
        let (mut km, mut kh) = (self.km.clone(), self.kh.clone());
        self.for_each(|at, _, z| {
            if self.flags[at] & CELL != 0 {
                let length = self.mixing_length(at, z);
                km[at] = 0.1 * length * self.now[E][at].sqrt();
                kh[at] = (1.0 + 2.0 * length / SPACING) * km[at];
            }
        });
        (self.km, self.kh) = (km, kh);

        let (mut next, mut memory) = (self.now.clone(), self.memory.clone());
        let mut set = |variable: usize, at: usize, tendency: f64| {
            let before = memory[variable][at];
            next[variable][at] = self.now[variable][at] + step.now * tendency + step.before * before;
            memory[variable][at] = step.keep_now * tendency + step.keep_before * before;
            next[variable][at]
        };
        let mut exhausted = Vec::new();
        self.for_each(|at, near, z| {
            for axis in 0..3 {
                if self.open(axis, near, HERE) {
                    let owner = if axis == 2 { at - 1 } else { at };
                    set(axis, owner, self.momentum_tendency(axis, near));
                }
            }
            if self.flags[at] & CELL != 0 {
                set(PT, at, self.scalar_tendency(PT, &self.kh, near, HEAT_FLUX));
                set(Q, at, self.scalar_tendency(Q, &self.kh, near, MOISTURE_FLUX));
                if set(E, at, self.energy_tendency(at, near, z)) < 0.0 {
                    exhausted.push(at);
                }
            }
        });
        for at in exhausted {
            next[E][at] = 0.1 * self.now[E][at];
        }
        (self.now, self.memory) = (next, memory);
        self.remove_divergence(step.seconds);
    }

    fn remove_divergence(&mut self, seconds: f64) {
        let mut divergence = vec![0.0; self.flags.len()];
        self.for_each(|at, near, _| {
            let out = |axis: usize| self.velocity(axis, near, ALONG[axis]) - self.velocity(axis, near, HERE);
            divergence[at] = (out(0) + out(1) + out(2)) / SPACING / seconds;
        });
        for _ in 0..SWEEPS {
            let mut next = self.pressure.clone();
            self.for_each(|at, near, _| {
                if self.flags[at] & CELL == 0 {
                    return;
                }
                let mut around = Vec::with_capacity(6);
                for (axis, along) in ALONG.into_iter().enumerate() {
                    if self.open(axis, near, HERE) {
                        around.push(self.pressure[near.at(minus(HERE, along))]);
                    }
                    if self.open(axis, near, along) {
                        around.push(self.pressure[near.at(along)]);
                    }
                }
                let sum: f64 = around.iter().sum();
                let known = sum - SPACING * SPACING * divergence[at];
                next[at] = if around.is_empty() { 0.0 } else { known / around.len() as f64 };
            });
            self.pressure = next;
        }
        let mut velocities = [self.now[0].clone(), self.now[1].clone(), self.now[2].clone()];
        self.for_each(|at, near, _| {
            for (axis, velocity) in velocities.iter_mut().enumerate() {
                if self.open(axis, near, HERE) {
                    let step = self.pressure[at] - self.pressure[near.at(minus(HERE, ALONG[axis]))];
                    velocity[if axis == 2 { at - 1 } else { at }] -= seconds * step / SPACING;
                }
            }
        });
        let [u, v, w] = velocities;
        (self.now[0], self.now[1], self.now[2]) = (u, v, w);
    }

    /// The largest velocity of air that appears or vanishes in a cell.
    #[cfg(test)]
    pub(super) fn largest_divergence(&self) -> f64 {
        let mut largest: f64 = 0.0;
        self.for_each(|at, near, _| {
            let out = |axis: usize| self.velocity(axis, near, ALONG[axis]) - self.velocity(axis, near, HERE);
            if self.flags[at] & CELL != 0 {
                largest = largest.max((out(0) + out(1) + out(2)).abs());
            }
        });
        largest
    }
}
