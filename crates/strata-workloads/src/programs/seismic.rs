//! Elastic waves from a source in the middle of a block of rock.

mod wave;

use crate::check::{Tolerance, close};
use crate::gpu::{Array, Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::{Arg, HostError};
use wave::{DT_OVER_RHO, FIELDS, LAMBDA_DT, MOTION, MU_DT, PER_METRE, STRAIN, Wave, layers, pushes};

struct Shape {
    cells: [usize; 3],
    /// Steps that the host has computed before: the run continues from its state, as from a checkpoint.
    before: usize,
    steps: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { cells: [32, 24, 24], before: 2, steps: 3 }),
    (Size::Small, Shape { cells: [64, 36, 36], before: 0, steps: 20 }),
    (Size::Medium, MEDIUM),
    // The paper names no size; the original's usual grid takes gigabytes.
    (Size::PaperBuddy, MEDIUM),
];

const MEDIUM: Shape = Shape { cells: [96, 112, 128], before: 48, steps: 2 };

/// Launches of one step.
const LAUNCHES: usize = 8;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "seismic",
        suite: "specaccel",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["355.seismic"],
        description: "elastic waves in three dimensions with absorbing layers",
    },
    module: &[module!("seismic")],
    shapes: &SHAPES,
    run,
};

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|v| *v as f32).collect()
}

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut random = Rng::new(seed, "direction");
    let (x, y) = (f64::from(random.between(-1.0, -0.2)), f64::from(random.between(0.2, 1.0)));
    let length = (x * x + y * y).sqrt();
    let direction = [x / length, y / length];
    let pushes = pushes(shape.before + shape.steps);
    let table: Vec<f64> = pushes.iter().flat_map(|p| direction.map(|d| d * p)).collect();
    let mut wave = Wave::new(shape.cells, direction, pushes);
    (0..shape.before).for_each(|_| wave.advance());

    let rock = Rock::new(gpu, shape, &wave, &table)?;
    gpu.announce(LAUNCHES * shape.steps);
    for step in shape.before..shape.before + shape.steps {
        rock.step(gpu, step, wave.source())?;
    }
    gpu.synchronize();

    (0..shape.steps).for_each(|_| wave.advance());
    let mut check = |what: &str, fields: std::ops::Range<usize>| {
        let expected = wave.fields[fields.clone()].concat();
        let mut got = Vec::with_capacity(expected.len());
        for field in &rock.fields[fields] {
            got.extend(gpu.read(*field)?);
        }
        let largest = expected.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        // Some roundings of each neighbour in each step; far from the source, where the wave is a difference of
        // nearly equal numbers, they are judged by the thousandth part of the strongest motion.
        Ok::<_, HostError>(close(what, &got, &expected, Tolerance { limit: 1e-4, scale: 1e-3 * largest }))
    };
    Ok(check("velocities", 0..3)?.and(&check("stresses", 3..FIELDS.len())?))
}

/// The arrays on the device.
struct Rock {
    cells: [usize; 3],
    fields: Vec<Array<f32>>,
    /// By velocity and axis: memory variables of the derivatives of velocities, then of those that move them.
    memory: Vec<Array<f32>>,
    layers: Vec<Array<f32>>,
    pushes: Array<f32>,
}

impl Rock {
    fn new(gpu: &mut Gpu<'_>, shape: &Shape, wave: &Wave, pushes: &[f64]) -> Result<Self, HostError> {
        let cells = shape.cells;
        // At rest nothing needs to be copied.
        let mut state = |name: &str, values: &[f64]| {
            if shape.before == 0 { gpu.zeros(name, values.len()) } else { gpu.array_of(name, &narrow(values)) }
        };
        let named = FIELDS.iter().zip(&wave.fields);
        let fields = named.map(|((name, _), values)| state(name, values)).collect::<Result<_, _>>()?;
        let named = STRAIN.iter().chain(&MOTION).zip(&wave.memory);
        let memory = named.map(|(d, values)| state(d.memory, values)).collect::<Result<_, _>>()?;
        let axes = ["x", "y", "z"].iter().zip(cells);
        let layer = |(axis, n): (&&str, usize)| gpu.array_of(&format!("layer_{axis}"), &narrow(&layers(n)));
        let layers = axes.map(layer).collect::<Result<_, _>>()?;
        let pushes = gpu.array_of("pushes", &narrow(pushes))?;
        Ok(Self { cells, fields, memory, layers, pushes })
    }

    fn step(&self, gpu: &mut Gpu<'_>, step: usize, source: usize) -> Result<(), HostError> {
        // For each kernel: its fields, its memory variables (those of the derivatives it takes), its axes, its factors.
        let (lambda, mu, motion) = (LAMBDA_DT as f32, MU_DT as f32, DT_OVER_RHO as f32);
        self.launch(gpu, "stress_normal", &[0, 1, 2, 3, 4, 5], &[0, 4, 8], &[0, 1, 2], &[lambda, 2.0 * mu])?;
        self.launch(gpu, "stress_xy", &[0, 1, 6], &[3, 1], &[0, 1], &[mu])?;
        self.launch(gpu, "stress_xz", &[0, 2, 7], &[6, 2], &[0, 2], &[mu])?;
        self.launch(gpu, "stress_yz", &[1, 2, 8], &[7, 5], &[1, 2], &[mu])?;
        self.launch(gpu, "velocity_x", &[0, 3, 6, 7], &[9, 10, 11], &[0, 1, 2], &[motion])?;
        self.launch(gpu, "velocity_y", &[1, 6, 4, 8], &[12, 13, 14], &[0, 1, 2], &[motion])?;
        self.launch(gpu, "velocity_z", &[2, 7, 8, 5], &[15, 16, 17], &[0, 1, 2], &[motion])?;
        let (vx, vy) = (self.fields[0], self.fields[1]);
        let args = [vx.into(), vy.into(), self.pushes.into(), (step as i32).into(), (source as i32).into()];
        gpu.launch("add_source", 1, 32, &args)
    }

    fn launch(
        &self,
        gpu: &mut Gpu<'_>,
        kernel: &str,
        fields: &[usize],
        memory: &[usize],
        axes: &[usize],
        factors: &[f32],
    ) -> Result<(), HostError> {
        const BLOCK: (usize, usize) = (32, 4);
        /// Cells along z that one thread works on.
        const DEPTH: usize = 8;
        let [nx, ny, nz] = self.cells;
        let arrays = fields.iter().map(|f| self.fields[*f]);
        let arrays = arrays.chain(memory.iter().map(|m| self.memory[*m])).chain(axes.iter().map(|a| self.layers[*a]));
        let mut args: Vec<Arg> = arrays.map(Arg::from).collect();
        args.extend(self.cells.map(|n| Arg::from(n as i32)));
        args.push((PER_METRE as f32).into());
        args.extend(factors.iter().map(|f| Arg::from(*f)));
        let grid = (blocks(nx, BLOCK.0), blocks(ny, BLOCK.1), blocks(nz, DEPTH));
        gpu.launch(kernel, grid, (BLOCK.0 as u32, BLOCK.1 as u32), &args)
    }
}
