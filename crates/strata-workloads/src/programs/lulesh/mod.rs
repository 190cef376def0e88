//! Shock hydrodynamics on a mesh of hexahedra: a blast in a gas.

mod mesh;
mod reference;
mod sedov;

use crate::check::{Tolerance, close_doubles};
use crate::gpu::{Array, Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use mesh::Mesh;
use reference::State;
use sedov::Profile;
use strata_host::{Arg, HostError};

struct Shape {
    /// Elements along an edge of the cube.
    edge: usize,
    steps: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { edge: 10, steps: 3 }),
    (Size::Small, Shape { edge: 30, steps: 8 }),
    (Size::Medium, Shape { edge: 63, steps: 2 }),
    // A usual size of the published program, some of the steps in the middle of its run.
    (Size::PaperBuddy, Shape { edge: 90, steps: 20 }),
];

const BLOCK: usize = 128;
const LAUNCHES_PER_STEP: usize = 11;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "lulesh",
        suite: "fastforward",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["FF_Lulesh"],
        description: "Lagrangian shock hydrodynamics on hexahedra: a blast in a gas",
    },
    module: &[module!("lulesh")],
    shapes: &SHAPES,
    run,
};

/// Three arrays, one for each axis.
type Axes = [Array<f64>; 3];

/// What is in device memory.
struct Domain {
    nodelist: Array<i32>,
    corner_starts: Array<i32>,
    corner_list: Array<i32>,
    /// Low and high neighbours along each axis.
    neighbours: [Array<i32>; 6],
    conditions: Array<i32>,
    planes: [Array<i32>; 3],
    position: Axes,
    velocity: Axes,
    acceleration: Axes,
    force: Axes,
    corner_force: Axes,
    nodal_mass: Array<f64>,
    energy: Array<f64>,
    pressure: Array<f64>,
    viscosity: Array<f64>,
    quadratic: Array<f64>,
    linear: Array<f64>,
    sound: Array<f64>,
    relative: Array<f64>,
    new_relative: Array<f64>,
    change: Array<f64>,
    expansion: Array<f64>,
    first: Array<f64>,
    mass: Array<f64>,
    size: Array<f64>,
    strain: Axes,
    lengths: Axes,
    gradients: Axes,
    min_courant: Array<f64>,
    min_hydro: Array<f64>,
}

impl Domain {
    fn new(gpu: &mut Gpu<'_>, mesh: &Mesh, state: &State) -> Result<Self, HostError> {
        let (elements, nodes) = (mesh.elements(), mesh.nodes());
        let (starts, list) = mesh.corner_lists();
        let groups = elements.div_ceil(BLOCK);
        let mut clear = |names: [&str; 3], len| -> Result<Axes, HostError> {
            Ok([gpu.zeros(names[0], len)?, gpu.zeros(names[1], len)?, gpu.zeros(names[2], len)?])
        };
        let acceleration = clear(["xdd", "ydd", "zdd"], nodes)?;
        let force = clear(["fx", "fy", "fz"], nodes)?;
        let corner_force = clear(["fx_elem", "fy_elem", "fz_elem"], 8 * mesh.stride())?;
        let strain = clear(["dxx", "dyy", "dzz"], elements)?;
        let lengths = clear(["delx_xi", "delx_eta", "delx_zeta"], elements)?;
        let gradients = clear(["delv_xi", "delv_eta", "delv_zeta"], elements)?;
        let mut along = |names: [&str; 3], values: &[[f64; 3]]| -> Result<Axes, HostError> {
            let mut axis = |i: usize| gpu.array_of(names[i], &values.iter().map(|v| v[i]).collect::<Vec<_>>());
            Ok([axis(0)?, axis(1)?, axis(2)?])
        };
        let position = along(["x", "y", "z"], &state.position)?;
        let velocity = along(["xd", "yd", "zd"], &state.velocity)?;
        let mut beside = |name, axis, ahead| gpu.array_of(name, &mesh.neighbours(axis, ahead));
        let neighbours = [
            beside("lxim", 0, false)?,
            beside("lxip", 0, true)?,
            beside("letam", 1, false)?,
            beside("letap", 1, true)?,
            beside("lzetam", 2, false)?,
            beside("lzetap", 2, true)?,
        ];
        let mut plane = |name, axis| gpu.array_of(name, &mesh.plane(axis));
        Ok(Self {
            planes: [plane("symm_x", 0)?, plane("symm_y", 1)?, plane("symm_z", 2)?],
            nodelist: gpu.array_of("nodelist", &mesh.nodelist())?,
            corner_starts: gpu.array_of("node_elem_start", &starts)?,
            corner_list: gpu.array_of("node_elem_corners", &list)?,
            neighbours,
            conditions: gpu.array_of("elem_bc", &mesh.conditions())?,
            position,
            velocity,
            acceleration,
            force,
            corner_force,
            nodal_mass: gpu.array_of("nodal_mass", &state.nodal_mass)?,
            energy: gpu.array_of("e", &state.energy)?,
            pressure: gpu.array_of("p", &state.pressure)?,
            viscosity: gpu.array_of("q", &state.viscosity)?,
            quadratic: gpu.zeros("qq", elements)?,
            linear: gpu.zeros("ql", elements)?,
            sound: gpu.array_of("ss", &state.sound)?,
            relative: gpu.array_of("v", &state.relative)?,
            new_relative: gpu.zeros("vnew", elements)?,
            change: gpu.zeros("delv", elements)?,
            expansion: gpu.zeros("vdov", elements)?,
            first: gpu.array_of("volo", &state.first)?,
            mass: gpu.array_of("elem_mass", &state.first)?,
            size: gpu.zeros("arealg", elements)?,
            strain,
            lengths,
            gradients,
            min_courant: gpu.zeros("min_courant", groups)?,
            min_hydro: gpu.zeros("min_hydro", groups)?,
        })
    }

    /// One time step; returns how long the next may be by the speed of sound and by the change of volumes.
    fn step(&self, gpu: &mut Gpu<'_>, mesh: &Mesh, dt: f64) -> Result<(f64, f64), HostError> {
        let elements = [Arg::from(mesh.elements() as i32)];
        let nodes = [Arg::from(mesh.nodes() as i32)];
        let stride = [Arg::from(mesh.stride() as i32)];
        let time = [Arg::from(dt)];
        let mut launch = |kernel: &str, threads: usize, parts: &[&[Arg]]| {
            gpu.launch(kernel, blocks(threads, BLOCK), BLOCK as u32, &parts.concat())
        };
        let [position, velocity, acceleration, force, corner_force, strain, lengths, gradients] = [
            self.position,
            self.velocity,
            self.acceleration,
            self.force,
            self.corner_force,
            self.strain,
            self.lengths,
            self.gradients,
        ]
        .map(|axes| axes.map(Arg::from));
        let of = |arrays: &[Array<f64>]| arrays.iter().map(|a| Arg::from(*a)).collect::<Vec<_>>();

        let gas = of(&[self.pressure, self.viscosity, self.relative, self.first, self.sound, self.mass]);
        let nodelist = [self.nodelist.into()];
        let parts: [&[Arg]; 7] = [&nodelist, &position, &velocity, &gas, &corner_force, &elements, &stride];
        launch("calc_volume_force", mesh.elements(), &parts)?;

        let lists = [self.corner_starts.into(), self.corner_list.into()];
        launch("add_node_forces", mesh.nodes(), &[&lists, &corner_force, &force, &nodes])?;
        let mass = [self.nodal_mass.into()];
        launch("calc_acceleration", mesh.nodes(), &[&force, &mass, &acceleration, &nodes])?;
        let in_plane = (mesh.edge + 1).pow(2);
        for (plane, axis) in self.planes.iter().zip(self.acceleration) {
            launch("apply_symmetry", in_plane, &[&[(*plane).into(), axis.into(), (in_plane as i32).into()]])?;
        }
        let parts: [&[Arg]; 5] = [&position, &velocity, &acceleration, &time, &nodes];
        launch("calc_position_and_velocity", mesh.nodes(), &parts)?;

        let volumes = of(&[self.first, self.relative, self.new_relative, self.change, self.size]);
        let expansion = [self.expansion.into()];
        let mesh_now: [&[Arg]; 4] = [&nodelist, &position, &velocity, &volumes];
        let flow: [&[Arg]; 7] = [&strain, &expansion, &lengths, &gradients, &time, &elements, &stride];
        let parts: Vec<&[Arg]> = mesh_now.into_iter().chain(flow).collect();
        launch("calc_kinematics_and_gradient", mesh.elements(), &parts)?;

        let neighbours = self.neighbours.map(Arg::from);
        let conditions = [self.conditions.into()];
        let gas = of(&[self.expansion, self.mass, self.first, self.new_relative, self.quadratic, self.linear]);
        let parts: [&[Arg]; 6] = [&neighbours, &conditions, &lengths, &gradients, &gas, &elements];
        launch("calc_monotonic_q", mesh.elements(), &parts)?;

        let gas = of(&[self.energy, self.pressure, self.viscosity, self.sound, self.relative]);
        let work = of(&[self.new_relative, self.change, self.quadratic, self.linear]);
        launch("apply_material_properties", mesh.elements(), &[&gas, &work, &elements])?;

        let limits = of(&[self.sound, self.expansion, self.size, self.min_courant, self.min_hydro]);
        launch("calc_time_constraints", mesh.elements(), &[&limits, &elements])?;
        gpu.synchronize();
        let least = |values: Vec<f64>| values.into_iter().fold(f64::INFINITY, f64::min);
        Ok((least(gpu.read(self.min_courant)?), least(gpu.read(self.min_hydro)?)))
    }
}

/// The next time step, by the published program's rule: half of what sound needs, two thirds of what volumes do; it
/// grows by a fifth at most, and stays as it is rather than grow by less than a tenth.
fn next_step(last: f64, (courant, hydro): (f64, f64)) -> f64 {
    let allowed = (courant / 2.0).min(hydro * 2.0 / 3.0);
    if allowed >= last && allowed < 1.1 * last { last } else { allowed.min(1.2 * last) }
}

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mesh = Mesh::new(shape.edge);
    let strength = f64::from(Rng::new(seed, "blast").between(0.95, 1.05));
    let mut state = State::new(&mesh, &Profile::new(strength));
    let first = state.first_step(&mesh);

    let domain = Domain::new(gpu, &mesh, &state)?;
    gpu.announce(LAUNCHES_PER_STEP * shape.steps);
    let mut dt = first;
    for _ in 0..shape.steps {
        dt = next_step(dt, domain.step(gpu, &mesh, dt)?);
    }

    let mut dt = first;
    for _ in 0..shape.steps {
        dt = next_step(dt, state.step(&mesh, dt));
    }
    // Some hundred roundings a step, of terms that cancel to a thousandth where the blast is strong.
    let judge = |what: &str, got: &[f64], expected: &[f64], scale: f64| {
        close_doubles(what, got, expected, Tolerance { limit: 1e-10, scale })
    };
    let mut all = |axes: Axes| -> Result<Vec<f64>, HostError> {
        Ok([gpu.read(axes[0])?, gpu.read(axes[1])?, gpu.read(axes[2])?].concat())
    };
    let by_axis = |field: &[[f64; 3]]| (0..3).flat_map(|axis| field.iter().map(move |v| v[axis])).collect::<Vec<_>>();
    let places = judge("coordinates", &all(domain.position)?, &by_axis(&state.position), 1.0);
    let speeds = judge("velocities", &all(domain.velocity)?, &by_axis(&state.velocity), 100.0);
    let energies = judge("energies", &gpu.read(domain.energy)?, &state.energy, 1e3);
    let viscosities = judge("viscosities", &gpu.read(domain.viscosity)?, &state.viscosity, 1e3);
    let volumes = judge("volumes", &gpu.read(domain.relative)?, &state.relative, 1.0);
    Ok(places.and(&speeds).and(&energies).and(&viscosities).and(&volumes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_steps_grow_slowly_and_shrink_at_once() {
        assert_eq!(next_step(1.0, (2.1, 9.0)), 1.0);
        assert_eq!(next_step(1.0, (9.0, 9.0)), 1.2);
        assert_eq!(next_step(1.0, (2.3, 9.0)), 1.15);
        assert_eq!(next_step(1.0, (9.0, 0.75)), 0.5);
    }
}
