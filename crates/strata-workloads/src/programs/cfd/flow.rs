//! The Euler equations on a mesh, in double precision: what the device's result is compared with.

use super::mesh::{Cell, FAR_FIELD, WALL};

/// Density, momentum (three) and energy, each per volume.
pub(super) const VARIABLES: usize = 5;
/// Stages of a step in time.
pub(super) const STAGES: usize = 3;

/// Ratio of specific heats of air.
const GAMMA: f64 = 1.4;
const COURANT: f64 = 0.5;
const SMOOTHING: f64 = 0.2;

pub(super) type State = [f64; VARIABLES];

/// The undisturbed gas of the published program: density 1.4 and pressure 1, so that sound has speed 1, at Mach 1.2 along
/// the first axis.
pub(super) fn free_stream() -> State {
    const MACH: f64 = 1.2;
    const PRESSURE: f64 = 1.0;
    [GAMMA, GAMMA * MACH, 0.0, 0.0, PRESSURE / (GAMMA - 1.0) + 0.5 * GAMMA * MACH * MACH]
}

fn velocity(state: &State) -> [f64; 3] {
    std::array::from_fn(|k| state[1 + k] / state[0])
}

fn pressure(state: &State) -> f64 {
    let square: f64 = velocity(state).iter().map(|v| v * v).sum();
    (GAMMA - 1.0) * (state[4] - 0.5 * state[0] * square)
}

/// The speed of the fastest wave.
fn wave(state: &State) -> f64 {
    velocity(state).iter().map(|v| v * v).sum::<f64>().sqrt() + (GAMMA * pressure(state) / state[0]).sqrt()
}

/// What flows through a face with this normal.
fn flow(state: &State, normal: [f64; 3]) -> State {
    let through: f64 = velocity(state).iter().zip(normal).map(|(v, n)| v * n).sum();
    let pressure = pressure(state);
    std::array::from_fn(|variable| match variable {
        0 => through * state[0],
        4 => through * (state[4] + pressure),
        _ => through * state[variable] + pressure * normal[variable - 1],
    })
}

/// What flows into a cell.
fn flux(mesh: &[Cell], states: &[State], cell: usize) -> State {
    let own = &states[cell];
    let mut sum = [0.0; VARIABLES];
    let mut add = |what: State, share: f64| sum.iter_mut().zip(what).for_each(|(sum, flow)| *sum += share * flow);
    for (neighbour, normal) in mesh[cell].neighbours.iter().zip(mesh[cell].normals) {
        let normal = normal.map(f64::from);
        match *neighbour {
            WALL => {
                let push = pressure(own);
                add([0.0, push * normal[0], push * normal[1], push * normal[2], 0.0], 1.0);
            }
            FAR_FIELD => {
                add(flow(own, normal), 0.5);
                add(flow(&free_stream(), normal), 0.5);
            }
            neighbour => {
                let other = &states[neighbour as usize];
                add(flow(own, normal), 0.5);
                add(flow(other, normal), 0.5);
                let area = normal.iter().map(|n| n * n).sum::<f64>().sqrt();
                let viscosity = area * SMOOTHING * 0.5 * (wave(own) + wave(other));
                add(std::array::from_fn(|v| other[v] - own[v]), viscosity);
            }
        }
    }
    sum
}

/// One step in time.
pub(super) fn step(mesh: &[Cell], states: &mut Vec<State>) {
    let old = states.clone();
    let factors: Vec<f64> =
        mesh.iter().zip(&old).map(|(cell, state)| COURANT / (f64::from(cell.area) * wave(state))).collect();
    for stage in 0..STAGES {
        let next = |cell: usize| -> State {
            let flux = flux(mesh, states, cell);
            let step = factors[cell] / (STAGES - stage) as f64;
            std::array::from_fn(|v| old[cell][v] + step * flux[v])
        };
        *states = (0..mesh.len()).map(next).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh::{Cubes, mesh};
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn nothing_happens_without_a_wing_and_a_shock_forms_before_one() {
        let mut rng = Rng::new(1, "mesh");
        // Two cubes along the flow leave no room for the wing.
        for (cubes, disturbed) in [(Cubes([2, 5, 4]), false), (Cubes([12, 6, 6]), true)] {
            let cells = mesh(&mut rng, cubes);
            let mut states = vec![free_stream(); cells.len()];
            (0..5).for_each(|_| step(&cells, &mut states));
            let densest = states.iter().map(|state| state[0]).fold(0.0, f64::max);
            assert_eq!(densest > 1.5, disturbed, "{densest}");
            assert!(states.iter().all(|state| state[0] > 0.3 && pressure(state) > 0.1));
        }
    }
}
