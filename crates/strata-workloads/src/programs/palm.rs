//! A large-eddy simulation of the lower atmosphere over buildings.

mod air;
mod start;

use crate::check::{Tolerance, close_doubles};
use crate::gpu::{Array, Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use air::{Air, E, PT, Q, VARIABLES};
use start::{CORIOLIS, HEAT_FLUX, MOISTURE_FLUX, SPACING, SUBSTEPS, SWEEPS, Substep, WIND};
use strata_host::{Arg, HostError};

struct Shape {
    /// Cells in x, y and z.
    size: [usize; 3],
    /// Cells in x and y of the precursor run, which divide those above, and its steps.
    tile: [usize; 2],
    before: usize,
    /// Substeps, three to a step.
    substeps: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { size: [12, 10, 16], tile: [12, 10], before: 2, substeps: 3 }),
    (Size::Small, Shape { size: [24, 32, 64], tile: [12, 16], before: 30, substeps: 6 }),
    (Size::Medium, MEDIUM),
    // The paper names no size; usual runs take gigabytes.
    (Size::PaperBuddy, MEDIUM),
];

const MEDIUM: Shape = Shape { size: [80, 96, 96], tile: [20, 16], before: 20, substeps: 1 };

/// Launches of one substep besides the sweeps towards the pressure.
const LAUNCHES: usize = 9;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "palm",
        suite: "specaccel",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["351.palm"],
        description: "large-eddy simulation of the lower atmosphere",
    },
    module: &[module!("palm")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut air = Air::filled(seed, shape.size, shape.tile, shape.before);
    let mut model = Model::new(gpu, &air)?;
    gpu.announce(shape.substeps * (LAUNCHES + SWEEPS));
    let steps = || SUBSTEPS.iter().cycle().take(shape.substeps);
    for step in steps() {
        model.advance(gpu, step)?;
    }
    gpu.synchronize();

    steps().for_each(|step| air.advance(step));
    // Some hundred roundings of each value in each substep, of terms as large as these.
    let mut check = |what: &str, got: Array<f64>, expected: &[f64], scale: f64| {
        Ok::<_, HostError>(close_doubles(what, &gpu.read(got)?, expected, Tolerance { limit: 1e-10, scale }))
    };
    let scales = [("u", 1.0), ("v", 1.0), ("w", 1.0), ("pt", 300.0), ("q", 1e-2), ("e", 0.1)];
    let mut outcome = check("pressures", model.p, &air.pressure, 1.0)?;
    for (variable, (name, scale)) in scales.into_iter().enumerate() {
        outcome = outcome.and(&check(name, model.now[variable], &air.now[variable], scale)?);
    }
    Ok(outcome)
}

/// The arrays on the device, named as the original names them.
struct Model {
    size: [usize; 3],
    now: Vec<Array<f64>>,
    next: Vec<Array<f64>>,
    memory: Vec<Array<f64>>,
    km: Array<f64>,
    kh: Array<f64>,
    p: Array<f64>,
    tend: Array<f64>,
    d: Array<f64>,
    pt_reference: Array<f64>,
    flags: Array<i32>,
}

impl Model {
    fn new(gpu: &mut Gpu<'_>, air: &Air) -> Result<Self, HostError> {
        let cells = air.flags.len();
        let named = || VARIABLES.iter().zip(&air.now);
        let now = named().map(|(name, values)| gpu.array_of(name, values)).collect::<Result<_, _>>()?;
        // What no kernel writes, boundaries and solid cells, is the same in both.
        let next =
            named().map(|(name, values)| gpu.array_of(&format!("{name}_p"), values)).collect::<Result<_, _>>()?;
        let memory = VARIABLES.iter().map(|name| gpu.zeros(&format!("t{name}_m"), cells)).collect::<Result<_, _>>()?;
        Ok(Self {
            size: air.size,
            now,
            next,
            memory,
            km: gpu.array_of("km", &air.km)?,
            kh: gpu.array_of("kh", &air.kh)?,
            p: gpu.array_of("p", &air.pressure)?,
            tend: gpu.zeros("tend", cells)?,
            d: gpu.zeros("d", cells)?,
            pt_reference: gpu.array_of("pt_reference", &air.reference)?,
            flags: gpu.array_of("wall_flags_0", &air.flags)?,
        })
    }

    /// One substep; afterwards `now` holds what it arrived at.
    fn advance(&mut self, gpu: &mut Gpu<'_>, step: &Substep) -> Result<(), HostError> {
        let per_metre = 1.0 / SPACING;
        let (now, next) = (self.now.clone(), self.next.clone());
        let (u, v, w, pt, e) = (now[0], now[1], now[2], now[PT], now[E]);
        let of = |variable: usize| [now[variable], next[variable], self.memory[variable]];
        let time = [step.now, step.before, step.keep_now, step.keep_before];
        self.launch(gpu, "diffusivities", &[e, pt], &[self.km, self.kh], &[SPACING])?;

        let turned = |wind: f64| [&[per_metre, CORIOLIS, wind][..], &time].concat();
        self.launch(gpu, "prognostic_u", &[&of(0)[..], &[v, w, self.km]].concat(), &[], &turned(WIND[1]))?;
        self.launch(gpu, "prognostic_v", &[&of(1)[..], &[u, w, self.km]].concat(), &[], &turned(WIND[0]))?;
        let factors = [&[per_metre][..], &time].concat();
        let around = [u, v, pt, self.pt_reference, self.km];
        self.launch(gpu, "prognostic_w", &[&of(2)[..], &around].concat(), &[], &factors)?;
        for (variable, from_ground) in [(PT, HEAT_FLUX), (Q, MOISTURE_FLUX)] {
            let factors = [&[per_metre, from_ground][..], &time].concat();
            let arrays = [&of(variable)[..], &[u, v, w, self.kh]].concat();
            self.launch(gpu, "prognostic_scalar", &arrays, &[], &factors)?;
        }
        let factors = [&[per_metre, SPACING][..], &time].concat();
        let arrays = [&of(E)[..], &[u, v, w, pt, self.km, self.kh]].concat();
        self.launch(gpu, "prognostic_e", &arrays, &[], &factors)?;

        let moved = [next[0], next[1], next[2]];
        self.launch(gpu, "divergence", &moved, &[self.d], &[per_metre, 1.0 / step.seconds])?;
        let (mut from, mut to) = (self.p, self.tend);
        for _ in 0..SWEEPS {
            self.launch(gpu, "pressure_sweep", &[from, to, self.d], &[], &[SPACING])?;
            std::mem::swap(&mut from, &mut to);
        }
        let arrays = [&moved[..], &[self.p]].concat();
        self.launch(gpu, "correct", &arrays, &[], &[step.seconds * per_metre])?;
        std::mem::swap(&mut self.now, &mut self.next);
        Ok(())
    }

    /// Launches a kernel whose arguments are arrays, the flags, some more arrays, the size of the grid, and factors.
    fn launch(
        &self,
        gpu: &mut Gpu<'_>,
        kernel: &str,
        before: &[Array<f64>],
        after: &[Array<f64>],
        factors: &[f64],
    ) -> Result<(), HostError> {
        const BLOCK: (usize, usize) = (32, 4);
        /// Rows in y that one thread works on.
        const ROWS: usize = 4;
        let mut args: Vec<Arg> = before.iter().map(|array| Arg::from(*array)).collect();
        args.push(self.flags.into());
        args.extend(after.iter().map(|array| Arg::from(*array)));
        args.extend(self.size.map(|n| Arg::from(n as i32)));
        args.extend(factors.iter().map(|factor| Arg::from(*factor)));
        let [nx, ny, nz] = self.size;
        let grid = (blocks(nz, BLOCK.0), blocks(nx, BLOCK.1), blocks(ny, ROWS));
        gpu.launch(kernel, grid, (BLOCK.0 as u32, BLOCK.1 as u32), &args)
    }
}
