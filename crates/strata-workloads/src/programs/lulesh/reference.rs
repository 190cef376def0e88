//! The same hydrodynamics on the CPU, element by element in plain form.

use super::mesh::Mesh;
use super::sedov::Profile;

type Vector = [f64; 3];

/// Side of the cube in the published problem.
const SIDE: f64 = 1.125;
const CUT: f64 = 1e-7;
const GAMMA_MINUS_ONE: f64 = 2.0 / 3.0;
/// Faces with their corners in the order that makes the normal point outwards.
const FACES: [[usize; 4]; 6] = [[0, 1, 2, 3], [0, 4, 5, 1], [1, 5, 6, 2], [2, 6, 7, 3], [3, 7, 4, 0], [4, 7, 6, 5]];
/// For each corner its neighbours along edges, right-handed, and the far corners of the faces these span in pairs.
const AROUND: [([usize; 3], [usize; 3]); 8] = [
    ([1, 3, 4], [2, 7, 5]),
    ([2, 0, 5], [3, 4, 6]),
    ([3, 1, 6], [0, 5, 7]),
    ([0, 2, 7], [1, 6, 4]),
    ([7, 5, 0], [6, 1, 3]),
    ([4, 6, 1], [7, 2, 0]),
    ([5, 7, 2], [4, 3, 1]),
    ([6, 4, 3], [5, 0, 2]),
];
/// On which side of the element's centre each corner lies, along its three axes.
const SIDES: [Vector; 8] = [
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

fn combine(a: Vector, s: f64, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] + s * b[i])
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// How an element's volume changes with the position of a corner.
fn volume_gradient(at: &[Vector; 8], corner: usize) -> Vector {
    let (edges, diagonals) = AROUND[corner];
    let mut sum = [0.0; 3];
    for i in 0..3 {
        let (next, last) = (edges[(i + 1) % 3], edges[(i + 2) % 3]);
        let along = combine(at[edges[i]], -1.0, at[next]);
        sum = combine(sum, 1.0 / 12.0, cross(at[diagonals[i]], along));
        sum = combine(sum, 1.0 / 12.0, cross(at[edges[i]], at[last]));
    }
    sum
}

/// The volume is linear in the x of all corners together, so it is the sum of each times its derivative.
fn volume(at: &[Vector; 8]) -> f64 {
    (0..8).map(|corner| at[corner][0] * volume_gradient(at, corner)[0]).sum()
}

/// Derivatives of a field of the corners along the axes of the element, times eight.
fn along_axes(field: &[Vector; 8]) -> [Vector; 3] {
    std::array::from_fn(|axis| (0..8).fold([0.0; 3], |sum, corner| combine(sum, SIDES[corner][axis], field[corner])))
}

/// The areas that two axes span, for each third one.
fn areas(axes: &[Vector; 3]) -> [Vector; 3] {
    std::array::from_fn(|i| cross(axes[(i + 1) % 3], axes[(i + 2) % 3]))
}

/// Volume over the root of the largest face.
fn length(at: &[Vector; 8], volume: f64) -> f64 {
    let size = |f: &[usize; 4]| {
        let area = cross(combine(at[f[2]], -1.0, at[f[0]]), combine(at[f[3]], -1.0, at[f[1]]));
        0.5 * dot(area, area).sqrt()
    };
    volume / FACES.iter().map(size).fold(0.0, f64::max)
}

/// What the gas is and does.
pub(super) struct State {
    pub(super) position: Vec<Vector>,
    pub(super) velocity: Vec<Vector>,
    pub(super) energy: Vec<f64>,
    pub(super) pressure: Vec<f64>,
    pub(super) viscosity: Vec<f64>,
    pub(super) sound: Vec<f64>,
    /// Volumes of the elements in units of those at first, and these.
    pub(super) relative: Vec<f64>,
    pub(super) first: Vec<f64>,
    pub(super) nodal_mass: Vec<f64>,
}

impl State {
    /// The blast of a profile, laid on the mesh; the gas had density 1.
    pub(super) fn new(mesh: &Mesh, profile: &Profile) -> Self {
        let side = mesh.edge + 1;
        let grid: Vec<Vector> = (0..mesh.nodes())
            .map(|n| [n % side, n / side % side, n / side / side].map(|i| SIDE * i as f64 / mesh.edge as f64))
            .collect();
        let motion: Vec<(f64, f64)> = grid.iter().map(|from| profile.motion(dot(*from, *from).sqrt())).collect();
        let position: Vec<Vector> = grid.iter().zip(&motion).map(|(g, m)| g.map(|x| x * m.0)).collect();
        let velocity = grid.iter().zip(&motion).map(|(g, m)| g.map(|x| x * m.1)).collect();
        let mut state = Self {
            position,
            velocity,
            energy: Vec::new(),
            pressure: Vec::new(),
            viscosity: Vec::new(),
            sound: Vec::new(),
            relative: Vec::new(),
            first: Vec::new(),
            nodal_mass: vec![0.0; mesh.nodes()],
        };
        for corners in &mesh.corners {
            let start = corners.map(|n| grid[n]);
            let first = volume(&start);
            let relative = volume(&corners.map(|n| state.position[n])) / first;
            let centre = start.iter().fold([0.0; 3], |sum, at| combine(sum, 0.125, *at));
            let (energy, viscosity) = profile.material(dot(centre, centre).sqrt());
            // What is not disturbed is so exactly, as in a run from the beginning.
            let (energy, viscosity) = if energy < CUT { (0.0, 0.0) } else { (energy, viscosity) };
            let pressure = pressure(energy, relative);
            for node in corners {
                state.nodal_mass[*node] += first / 8.0;
            }
            state.energy.push(energy);
            state.pressure.push(pressure);
            state.viscosity.push(viscosity);
            state.sound.push(sound_speed(energy, relative, pressure));
            state.relative.push(if (relative - 1.0).abs() < 1e-10 { 1.0 } else { relative });
            state.first.push(first);
        }
        state
    }

    /// A time step to start with: a third of what sound needs to cross an element.
    pub(super) fn first_step(&self, mesh: &Mesh) -> f64 {
        let crossing = |(corners, sound): (&[usize; 8], &f64)| {
            let at = corners.map(|n| self.position[n]);
            length(&at, volume(&at)) / sound.max(1e-3)
        };
        mesh.corners.iter().zip(&self.sound).map(crossing).fold(f64::INFINITY, f64::min) / 3.0
    }

    /// One step; returns how long the next may be by the speed of sound and by the change of volumes.
    pub(super) fn step(&mut self, mesh: &Mesh, dt: f64) -> (f64, f64) {
        self.push(mesh, dt);
        let count = mesh.elements();
        // For each element: rate of expansion, size, and along each axis the velocity's gradient and the length.
        let mut flow = Vec::with_capacity(count);
        for (element, corners) in mesh.corners.iter().enumerate() {
            let at = corners.map(|n| self.position[n]);
            let speed = corners.map(|n| self.velocity[n]);
            let volume = volume(&at);
            let (axes, rates) = (along_axes(&at), along_axes(&speed));
            let halfway: [Vector; 3] = std::array::from_fn(|i| combine(axes[i], -0.5 * dt, rates[i]));
            let faces = areas(&halfway);
            let expansion = (0..3).map(|i| dot(faces[i], rates[i])).sum::<f64>() / dot(halfway[0], faces[0]);
            // Derivatives times eight, so areas are 16 times those between the middles of opposite faces.
            let faces = areas(&axes);
            let gradient = std::array::from_fn(|i| dot(faces[i], rates[i]) / 64.0 / volume);
            let lengths = std::array::from_fn(|i| volume / (dot(faces[i], faces[i]).sqrt() / 16.0));
            let relative = volume / self.first[element];
            flow.push(Flow { expansion, size: length(&at, volume), relative, gradient, lengths });
        }
        let (mut courant, mut hydro) = (f64::INFINITY, f64::INFINITY);
        for (element, own) in flow.iter().enumerate() {
            let (linear, quadratic) = viscosity_terms(mesh, &flow, element);
            self.work(element, own.relative, linear, quadratic);
            if own.expansion != 0.0 {
                let closing = 2.0 * own.size * own.expansion.min(0.0);
                courant = courant.min(own.size / (self.sound[element].powi(2) + closing * closing).sqrt());
                hydro = hydro.min(0.1 / own.expansion.abs());
            }
        }
        (courant, hydro)
    }

    /// Forces of all elements on their corners, and the motion they cause.
    fn push(&mut self, mesh: &Mesh, dt: f64) {
        let mut force = vec![[0.0; 3]; mesh.nodes()];
        for (element, corners) in mesh.corners.iter().enumerate() {
            let at = corners.map(|n| self.position[n]);
            let push = self.pressure[element] + self.viscosity[element];
            for face in FACES {
                let [a, b, c, d] = face.map(|corner| at[corner]);
                // Twice the area of the face, inwards.
                let area = cross(combine(c, -1.0, a), combine(d, -1.0, b));
                for node in face.map(|corner| corners[corner]) {
                    force[node] = combine(force[node], -push / 8.0, area);
                }
            }
            let volume = self.first[element] * self.relative[element];
            let resistance = 0.03 * self.sound[element] * self.first[element] / volume.cbrt();
            let gradients: [Vector; 8] = std::array::from_fn(|c| volume_gradient(&at, c));
            // Products of two or three sides: the motions that no uniform strain contains.
            for mode in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1]] {
                let sign = |c: usize| (0..3).map(|i| if mode[i] == 1 { SIDES[c][i] } else { 1.0 }).product::<f64>();
                let place = (0..8).fold([0.0; 3], |sum, c| combine(sum, sign(c) / volume, at[c]));
                let shape: [f64; 8] = std::array::from_fn(|c| sign(c) - dot(gradients[c], place));
                let speed = (0..8).fold([0.0; 3], |sum, c| combine(sum, shape[c], self.velocity[corners[c]]));
                for (c, node) in corners.iter().enumerate() {
                    force[*node] = combine(force[*node], -resistance * shape[c], speed);
                }
            }
        }
        let side = mesh.edge + 1;
        for (node, f) in force.iter().enumerate() {
            let place = [node % side, node / side % side, node / side / side];
            for axis in 0..3 {
                let acceleration = if place[axis] == 0 { 0.0 } else { f[axis] / self.nodal_mass[node] };
                let speed = self.velocity[node][axis] + dt * acceleration;
                self.velocity[node][axis] = if speed.abs() < CUT { 0.0 } else { speed };
                self.position[node][axis] += dt * self.velocity[node][axis];
            }
        }
    }

    /// Work on the gas of an element: predictor and two correctors of the energy.
    fn work(&mut self, element: usize, relative: f64, linear: f64, quadratic: f64) {
        let cut = |value: f64| if value.abs() < CUT { 0.0 } else { value };
        let change = relative - self.relative[element];
        let viscosity = |energy, volume, pressure| {
            if change > 0.0 { 0.0 } else { linear * sound_speed(energy, volume, pressure) + quadratic }
        };
        let old = self.pressure[element] + self.viscosity[element];
        let halfway = relative - change / 2.0;
        let start = self.energy[element];
        let guess = start - change / 2.0 * old;
        let p = pressure(guess, halfway);
        let middle = p + viscosity(guess, halfway, p);
        let better = cut(guess + change / 2.0 * (3.0 * old - 4.0 * middle));
        let p = pressure(better, relative);
        let end = p + viscosity(better, relative, p);
        let energy = cut(better - change / 6.0 * (7.0 * old - 8.0 * middle + end));
        let p = pressure(energy, relative);
        self.energy[element] = energy;
        self.pressure[element] = p;
        self.viscosity[element] = cut(viscosity(energy, relative, p));
        self.sound[element] = sound_speed(energy, relative, p);
        self.relative[element] = if (relative - 1.0).abs() < 1e-10 { 1.0 } else { relative };
    }
}

/// How an element moves.
struct Flow {
    expansion: f64,
    size: f64,
    relative: f64,
    gradient: Vector,
    lengths: Vector,
}

/// The linear and the quadratic part of an element's viscosity: none where it expands or the flow is smooth.
fn viscosity_terms(mesh: &Mesh, flow: &[Flow], element: usize) -> (f64, f64) {
    let own = &flow[element];
    let density = 1.0 / own.relative;
    let (mut linear, mut quadratic) = (0.0, 0.0);
    for axis in 0..3 {
        let gradient = own.gradient[axis];
        if own.expansion > 0.0 || gradient >= 0.0 {
            continue;
        }
        let step = mesh.edge.pow(axis as u32);
        let place = element / step % mesh.edge;
        let low = if place == 0 { gradient } else { flow[element - step].gradient[axis] } / gradient;
        let high = if place + 1 == mesh.edge { 0.0 } else { flow[element + step].gradient[axis] / gradient };
        let smooth = f64::midpoint(low, high).min(2.0 * low).min(2.0 * high).clamp(0.0, 1.0);
        let closing = -gradient * own.lengths[axis];
        linear += 0.5 * density * closing * (1.0 - smooth);
        quadratic += 2.0 / 3.0 * density * closing * closing * (1.0 - smooth * smooth);
    }
    (linear, quadratic)
}

fn pressure(energy: f64, volume: f64) -> f64 {
    let pressure = GAMMA_MINUS_ONE * energy / volume;
    if pressure < CUT { 0.0 } else { pressure }
}

fn sound_speed(energy: f64, volume: f64, pressure: f64) -> f64 {
    let square = GAMMA_MINUS_ONE * (energy + volume * pressure);
    // The published program's floor.
    if square <= 1.111111e-37 { 0.333333e-18 } else { square.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_volume_and_its_gradient_of_a_skewed_element() {
        let at = SIDES.map(|s| [1.0 + s[0] + 0.3 * s[1], 0.5 * s[1] - 0.1 * s[2] * s[0], s[2] + 0.2 * s[0]]);
        let gradient = volume_gradient(&at, 6);
        for axis in 0..3 {
            let nudged = |by: f64| {
                let mut moved = at;
                moved[6][axis] += by;
                volume(&moved)
            };
            let slope = (nudged(1e-4) - nudged(-1e-4)) / 2e-4;
            assert!((gradient[axis] - slope).abs() < 1e-9, "{} {slope}", gradient[axis]);
        }
        assert!((volume(&SIDES) - 8.0).abs() < 1e-14);
        assert!((length(&SIDES, 8.0) - 2.0).abs() < 1e-14);
    }

    #[test]
    fn steps_keep_the_energy_of_the_blast() {
        let mesh = Mesh::new(12);
        let mut state = State::new(&mesh, &Profile::new(1.0));
        let energy = |s: &State| {
            let heat: f64 = s.energy.iter().zip(&s.first).map(|(e, v)| e * v).sum();
            let motion: f64 = s.velocity.iter().zip(&s.nodal_mass).map(|(v, m)| m * dot(*v, *v) / 2.0).sum();
            heat + motion
        };
        let before = energy(&state);
        let dt = state.first_step(&mesh);
        for _ in 0..5 {
            state.step(&mesh, dt);
        }
        assert!((energy(&state) / before - 1.0).abs() < 0.02, "{before} to {}", energy(&state));
    }
}
