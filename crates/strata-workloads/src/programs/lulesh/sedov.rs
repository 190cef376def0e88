//! A point blast in a uniform gas, computed along one radius: what the mesh of hexahedra starts from.
//!
//! The published program deposits the energy in one element and needs hundreds of steps until the shock has crossed
//! half the mesh. Here a spherical calculation of the same blast is carried to the middle of the published run and laid
//! on the mesh, as hydrodynamics codes link calculations of different dimension.

const ZONES: usize = 400;
/// Beyond the far corner of the mesh, which the shock never reaches.
const RADIUS: f64 = 2.0;
/// Zones that hold the energy at first: a ball about as large as eight of the published program's elements.
const HOT_ZONES: usize = 6;
/// Energy of the whole sphere in the published problem: 3.948746e7 per volume in eight elements of side 0.025.
const ENERGY: f64 = 8.0 * 3.948746e7 * 0.025 * 0.025 * 0.025;
/// Half of the published run's time.
const TIME: f64 = 5e-3;
const GAMMA: f64 = 5.0 / 3.0;
/// Slower gas is at rest, as in the published program: what is ahead of the shock is exactly undisturbed.
const SPEED_CUT: f64 = 1e-7;

/// The gas along a radius, for material that started at multiples of the zone width.
pub(super) struct Profile {
    /// Where the boundaries of zones are now, and how fast they move outwards.
    radius: Vec<f64>,
    speed: Vec<f64>,
    /// Energy and viscosity of the zones, per volume they had at first.
    energy: Vec<f64>,
    viscosity: Vec<f64>,
}

impl Profile {
    /// The blast of `strength` times the published energy.
    pub(super) fn new(strength: f64) -> Self {
        let width = RADIUS / ZONES as f64;
        let cube = |r: f64| r * r * r / 3.0;
        let mut radius: Vec<f64> = (0..=ZONES).map(|j| j as f64 * width).collect();
        let mut speed = vec![0.0_f64; ZONES + 1];
        let mass: Vec<f64> = radius.windows(2).map(|r| cube(r[1]) - cube(r[0])).collect();
        let per_steradian = strength * ENERGY / (4.0 * std::f64::consts::PI);
        let mut energy = vec![0.0; ZONES];
        energy[..HOT_ZONES].fill(per_steradian / cube(radius[HOT_ZONES]));
        let mut volume = vec![1.0; ZONES];
        let mut pressure: Vec<f64> = energy.iter().map(|e| (GAMMA - 1.0) * e).collect();
        let mut viscosity = vec![0.0; ZONES];

        let mut time = 0.0;
        while time < TIME {
            let crossing = |i: usize| {
                let sound = (GAMMA * pressure[i] * volume[i]).sqrt();
                (radius[i + 1] - radius[i]) / (sound + 4.0 * (speed[i + 1] - speed[i]).abs() + 1e-3)
            };
            let dt = (0.3 * (0..ZONES).map(crossing).fold(f64::INFINITY, f64::min)).min(TIME - time).max(1e-9);
            for j in 1..ZONES {
                let push = pressure[j - 1] + viscosity[j - 1] - pressure[j] - viscosity[j];
                speed[j] += dt * radius[j] * radius[j] * push * 2.0 / (mass[j - 1] + mass[j]);
                speed[j] = if speed[j].abs() < SPEED_CUT { 0.0 } else { speed[j] };
            }
            radius.iter_mut().zip(&speed).for_each(|(r, u)| *r += dt * u);
            for i in 0..ZONES {
                let new = (cube(radius[i + 1]) - cube(radius[i])) / mass[i];
                let change = new - volume[i];
                let closing = (speed[i] - speed[i + 1]).max(0.0);
                let sound = (GAMMA * pressure[i] * volume[i]).sqrt();
                viscosity[i] = closing * (1.5 * closing + 0.3 * sound) / new;
                // The work of the mean of old and new pressure, solved for the new energy.
                energy[i] = (energy[i] - change * (0.5 * pressure[i] + viscosity[i]))
                    / (1.0 + 0.5 * (GAMMA - 1.0) * change / new);
                volume[i] = new;
                pressure[i] = (GAMMA - 1.0) * energy[i] / new;
            }
            time += dt;
        }
        Self { radius, speed, energy, viscosity }
    }

    /// Where material that started at `from` is now, as a multiple of `from`, and its speed divided by `from`.
    pub(super) fn motion(&self, from: f64) -> (f64, f64) {
        let place = (from * ZONES as f64 / RADIUS).min(ZONES as f64);
        let speed = interpolate(&self.speed, place);
        // Rounding must not move what is at rest; the centre is one such point.
        if speed == 0.0 { (1.0, 0.0) } else { (interpolate(&self.radius, place) / from, speed / from) }
    }

    /// Energy and viscosity of material that started at `from`.
    pub(super) fn material(&self, from: f64) -> (f64, f64) {
        let place = (from * ZONES as f64 / RADIUS - 0.5).max(0.0);
        (interpolate(&self.energy, place), interpolate(&self.viscosity, place))
    }
}

fn interpolate(values: &[f64], place: f64) -> f64 {
    let left = (place as usize).min(values.len() - 2);
    let share = place - left as f64;
    values[left] + share * (values[left + 1] - values[left])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shock_is_where_similarity_puts_it() {
        let profile = Profile::new(1.0);
        let fastest = (0..=ZONES).max_by(|a, b| profile.speed[*a].total_cmp(&profile.speed[*b])).unwrap_or_default();
        // Sedov: the shock of energy E in density 1 is at 1.152 (E t^2)^(1/5) for gamma 5/3.
        let expected = 1.152 * (ENERGY * TIME * TIME).powf(0.2);
        assert!((profile.radius[fastest] / expected - 1.0).abs() < 0.05, "{} {expected}", profile.radius[fastest]);
        assert_eq!((profile.motion(1.8), profile.material(1.8).0), ((1.0, 0.0), 0.0));
    }

    #[test]
    fn energy_is_kept() {
        let profile = Profile::new(1.0);
        let width = RADIUS / ZONES as f64;
        let mut total = 0.0;
        for i in 0..ZONES {
            let edges = [i as f64 * width, (i + 1) as f64 * width];
            let mass = (edges[1].powi(3) - edges[0].powi(3)) / 3.0;
            total += mass * (profile.energy[i] + (profile.speed[i].powi(2) + profile.speed[i + 1].powi(2)) / 4.0);
        }
        total *= 4.0 * std::f64::consts::PI;
        assert!((total / ENERGY - 1.0).abs() < 0.03, "{total} of {ENERGY}");
    }
}
