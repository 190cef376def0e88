//! Finite differences in the time domain, in two dimensions.

use crate::check::{Tolerance, close};
use crate::field::smooth;
use crate::gpu::{Gpu, blocks};
use crate::linear::widen;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    rows: usize,
    cols: usize,
    steps: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { rows: 50, cols: 77, steps: 3 }),
    (Size::Small, Shape { rows: 1500, cols: 1500, steps: 4 }),
    (Size::Medium, Shape { rows: 3600, cols: 3600, steps: 4 }),
    // The runs of the unified-memory baseline: 15 launches.
    (Size::Paper, Shape { rows: 1200, cols: 1200, steps: 5 }),
];

/// Some roundings per step, of values that stay near 1.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "fdtd2d",
        suite: "polybench",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &["fdtd-2d"],
        description: "electromagnetic wave on a staggered grid",
    },
    module: &[module!("fdtd2d")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: (usize, usize) = (32, 8);
    let Shape { rows, cols, steps } = *shape;
    let antenna: Vec<f32> = (0..steps).map(|step| step as f32 / steps as f32).collect();
    let [ex, ey, hz] = ["ex", "ey", "hz"].map(|name| smooth(&mut Rng::new(seed, name), rows, cols, 32));

    let antenna_array = gpu.array_of("antenna", &antenna)?;
    let ex_array = gpu.array_of("ex", &ex)?;
    let ey_array = gpu.array_of("ey", &ey)?;
    let hz_array = gpu.array_of("hz", &hz)?;
    let grid = (blocks(cols, BLOCK.0), blocks(rows, BLOCK.1));
    let block = (BLOCK.0 as u32, BLOCK.1 as u32);
    let (m, n) = (rows as i32, cols as i32);
    gpu.announce(3 * steps);
    for step in 0..steps {
        let now = (step as i32).into();
        let args = [m.into(), n.into(), antenna_array.into(), ey_array.into(), hz_array.into(), now];
        gpu.launch("fdtd_step1", grid, block, &args)?;
        gpu.launch("fdtd_step2", grid, block, &[m.into(), n.into(), ex_array.into(), hz_array.into()])?;
        let args = [m.into(), n.into(), ex_array.into(), ey_array.into(), hz_array.into()];
        gpu.launch("fdtd_step3", grid, block, &args)?;
    }
    gpu.synchronize();

    let mut wave = Wave { cols, ex: widen(&ex), ey: widen(&ey), hz: widen(&hz) };
    for &source in &antenna {
        wave.step(f64::from(source));
    }
    let outcome = close("values of hz", &gpu.read(hz_array)?, &wave.hz, TOLERANCE);
    let outcome = outcome.and(&close("of ex", &gpu.read(ex_array)?, &wave.ex, TOLERANCE));
    Ok(outcome.and(&close("of ey", &gpu.read(ey_array)?, &wave.ey, TOLERANCE)))
}

/// The fields in double precision.
struct Wave {
    cols: usize,
    ex: Vec<f64>,
    ey: Vec<f64>,
    hz: Vec<f64>,
}

impl Wave {
    fn step(&mut self, source: f64) {
        let cols = self.cols;
        self.ey[..cols].fill(source);
        for cell in cols..self.ey.len() {
            self.ey[cell] -= 0.5 * (self.hz[cell] - self.hz[cell - cols]);
        }
        for cell in (0..self.ex.len()).filter(|cell| cell % cols > 0) {
            self.ex[cell] -= 0.5 * (self.hz[cell] - self.hz[cell - 1]);
        }
        // The kernel's factor is a single-precision number.
        let factor = f64::from(0.7f32);
        for cell in (0..self.hz.len() - cols).filter(|cell| cell % cols < cols - 1) {
            let rotation = self.ex[cell + 1] - self.ex[cell] + self.ey[cell + cols] - self.ey[cell];
            self.hz[cell] -= factor * rotation;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_antenna_reaches_the_magnetic_field_of_its_row_first() {
        let still = vec![0.0; 12];
        let mut wave = Wave { cols: 4, ex: still.clone(), ey: still.clone(), hz: still };
        wave.step(1.0);
        assert_eq!(wave.ey[..4], [1.0; 4]);
        let factor = f64::from(0.7f32);
        assert_eq!(wave.hz[..4], [factor, factor, factor, 0.0], "the last column stays");
        assert_eq!(wave.hz[4..], [0.0; 8]);
        wave.step(0.0);
        assert_eq!(wave.ey[4], factor / 2.0, "then the row behind it");
    }
}
