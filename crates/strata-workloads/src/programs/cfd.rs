//! Flow of a gas about a wing: the Euler equations on an unstructured mesh.

mod flow;
mod mesh;

use crate::check::{Tolerance, close};
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use flow::{STAGES, State, VARIABLES, free_stream, step};
use mesh::{Cubes, FACES, mesh};
use strata_host::HostError;

struct Shape {
    /// Cubes of the mesh; each has six cells.
    cubes: [usize; 3],
    /// Steps that the host has computed before: the run continues from its state, as from a checkpoint.
    before: usize,
    steps: usize,
}

/// 96 960 cells; the published mesh has 97 046.
const PAPER: Shape = Shape { cubes: [26, 25, 25], before: 12, steps: 6 };

const SHAPES: [(Size, Shape); 5] = [
    (Size::Tiny, Shape { cubes: [8, 5, 5], before: 0, steps: 2 }),
    (Size::Small, Shape { cubes: [20, 14, 16], before: 0, steps: 8 }),
    (Size::Medium, Shape { cubes: [44, 30, 34], before: 4, steps: 3 }),
    (Size::PaperCmd, PAPER),
    (Size::PaperTom, PAPER),
];

/// Tens of roundings of values up to 5 in each stage, which do not grow: the scheme damps.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "cfd",
        suite: "rodinia",
        papers: &["cmd", "tom"],
        sizes: &sizes(&SHAPES),
        aliases: &["euler3d"],
        description: "Euler equations on an unstructured mesh",
    },
    module: &[module!("cfd")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    /// That of the published program, which fills the last block with copies of the last cell.
    const BLOCK: usize = 192;
    let cells = mesh(&mut Rng::new(seed, "mesh"), Cubes(shape.cubes));
    let mut states = vec![free_stream(); cells.len()];
    (0..shape.before).for_each(|_| step(&cells, &mut states));

    let grid = blocks(cells.len(), BLOCK);
    let stride = grid as usize * BLOCK;
    let all = || padded(&cells, stride);
    let neighbours: Vec<i32> = (0..FACES).flat_map(|face| all().map(move |cell| cell.neighbours[face])).collect();
    let mut normals = Vec::with_capacity(3 * FACES * stride);
    for axis in 0..3 {
        for face in 0..FACES {
            normals.extend(all().map(|cell| cell.normals[face][axis]));
        }
    }
    let surfaces: Vec<f32> = all().map(|cell| cell.area).collect();

    let areas = gpu.array_of("areas", &surfaces)?;
    let neighbours = gpu.array_of("elements_surrounding_elements", &neighbours)?;
    let normals = gpu.array_of("normals", &normals)?;
    let far = gpu.array_of("ff_variable", &free_stream().map(|v| v as f32))?;
    let variables = gpu.array("variables", VARIABLES * stride)?;
    let old_variables = gpu.array::<f32>("old_variables", VARIABLES * stride)?;
    let fluxes = gpu.array::<f32>("fluxes", VARIABLES * stride)?;
    let step_factors = gpu.array::<f32>("step_factors", stride)?;
    let block = BLOCK as u32;
    let n = stride as i32;
    gpu.announce(1 + shape.steps * (2 + 2 * STAGES));
    gpu.launch("initialize_variables", grid, block, &[variables.into(), far.into(), n.into()])?;
    if shape.before > 0 {
        gpu.write(variables, &laid_out(&states, stride))?;
    }
    for _ in 0..shape.steps {
        gpu.launch("copy_variables", grid, block, &[old_variables.into(), variables.into(), n.into()])?;
        let args = [variables.into(), areas.into(), step_factors.into(), n.into()];
        gpu.launch("compute_step_factor", grid, block, &args)?;
        for stage in 0..STAGES {
            let args = [neighbours.into(), normals.into(), variables.into(), far.into(), fluxes.into(), n.into()];
            gpu.launch("compute_flux", grid, block, &args)?;
            let args = [(stage as i32).into(), old_variables.into(), variables.into()];
            let args = [&args[..], &[step_factors.into(), fluxes.into(), n.into()]].concat();
            gpu.launch("time_step", grid, block, &args)?;
        }
    }
    gpu.synchronize();

    (0..shape.steps).for_each(|_| step(&cells, &mut states));
    let got = gpu.read(variables)?;
    let got: Vec<f32> = got.chunks_exact(stride).flat_map(|variable| &variable[..cells.len()]).copied().collect();
    let expected: Vec<f64> = (0..VARIABLES).flat_map(|v| states.iter().map(move |state| state[v])).collect();
    Ok(close("variables", &got, &expected, TOLERANCE))
}

/// What there is of each cell, and copies of the last one up to `stride`.
fn padded<T>(cells: &[T], stride: usize) -> impl Iterator<Item = &T> {
    cells.iter().chain(cells.last().into_iter().cycle()).take(stride)
}

/// The states as the device keeps them: variable after variable.
fn laid_out(states: &[State], stride: usize) -> Vec<f32> {
    (0..VARIABLES).flat_map(|variable| padded(states, stride).map(move |state| state[variable] as f32)).collect()
}
