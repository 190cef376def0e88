//! Parboil's sgemm and mri-q.

use super::{info, measured};
use crate::check::{Tolerance, close};
use crate::gpu::Gpu;
use crate::math::sin_pi;
use crate::program::Measured;
use crate::rng::Rng;
use crate::{Instance, Outcome};
use strata_host::HostError;

/// Rows of A, columns of B, and what is summed over.
pub(super) struct Product {
    rows: usize,
    columns: usize,
    depth: usize,
}

/// The medium input.
pub(super) const SGEMM: Measured<Product> = measured(
    info("gv100-sgemm", "parboil", "product of a column-major and a row-major matrix"),
    sgemm,
    &[(Instance::silicon("medium"), Product { rows: 1024, columns: 1056, depth: 992 })],
);

/// Results that are compared: every so many of them, by a stride that meets all rows and columns.
const SAMPLED: usize = 509;

fn sgemm(shape: &Product, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let Product { rows, columns, depth } = *shape;
    let mut rng = Rng::new(seed, "matrices");
    let a: Vec<f32> = (0..rows * depth).map(|_| rng.unit()).collect();
    let b: Vec<f32> = (0..columns * depth).map(|_| rng.unit()).collect();
    let a_array = gpu.array_of("A", &a)?;
    let b_array = gpu.array_of("B", &b)?;
    let c_array = gpu.zeros::<f32>("C", rows * columns)?;
    let args = [
        a_array.into(),
        (rows as i32).into(),
        b_array.into(),
        (columns as i32).into(),
        c_array.into(),
        (rows as i32).into(),
        (depth as i32).into(),
        1.0_f32.into(),
        0.0_f32.into(),
    ];
    gpu.launch("sgemm", ((rows / 128) as u32, (columns / 16) as u32), (16, 8), &args)?;
    gpu.synchronize();
    let c = gpu.read(c_array)?;
    let got: Vec<f32> = c.iter().copied().step_by(SAMPLED).collect();
    let entry = |at: usize| {
        let (column, row) = (at / rows, at % rows);
        (0..depth).map(|k| f64::from(a[row + k * rows]) * f64::from(b[column + k * columns])).sum()
    };
    let expected: Vec<f64> = (0..c.len()).step_by(SAMPLED).map(entry).collect();
    Ok(close("products", &got, &expected, Tolerance { limit: 1e-5, scale: 1.0 }))
}

/// Voxels of the large input; 1024 of its 2048 samples are one launch.
pub(super) const MRI_Q: Measured<usize> = measured(
    info("gv100-mri-q", "parboil", "sums over samples in constant memory"),
    mri_q,
    &[(Instance::silicon("large"), 64 * 64 * 64)],
);

fn mri_q(&voxels: &usize, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const SAMPLES: usize = 1024;
    let mut rng = Rng::new(seed, "scan");
    // Coordinates as in the public input: samples within a few units of the centre, voxels within half of one.
    let samples: Vec<f32> =
        (0..4 * SAMPLES).map(|at| if at % 4 == 3 { rng.unit() } else { rng.between(-4.0, 4.0) }).collect();
    let mut place = || (0..voxels).map(|_| rng.between(-0.5, 0.5)).collect::<Vec<f32>>();
    let (x, y, z) = (place(), place(), place());
    gpu.write_symbol("samples", &samples)?;
    let arrays = [gpu.array_of("x", &x)?, gpu.array_of("y", &y)?, gpu.array_of("z", &z)?];
    let real = gpu.zeros::<f32>("Qr", voxels)?;
    let imaginary = gpu.zeros::<f32>("Qi", voxels)?;
    let args = [
        (2 * SAMPLES as i32).into(),
        0_i32.into(),
        arrays[0].into(),
        arrays[1].into(),
        arrays[2].into(),
        real.into(),
        imaginary.into(),
    ];
    gpu.launch("compute_q", (voxels / 256) as u32, 256, &args)?;
    gpu.synchronize();
    let got: Vec<f32> = [gpu.read(real)?, gpu.read(imaginary)?].concat().into_iter().step_by(SAMPLED).collect();
    let sum = |at: usize| {
        let voxel = at % voxels;
        let (x, y, z) = (f64::from(x[voxel]), f64::from(y[voxel]), f64::from(z[voxel]));
        // A cosine is a sine a quarter further on.
        let quarter = if at < voxels { 0.5 } else { 0.0 };
        let part = |s: &[f32]| {
            let turns = f64::from(s[0]) * x + f64::from(s[1]) * y + f64::from(s[2]) * z;
            f64::from(s[3]) * sin_pi(2.0 * turns + quarter)
        };
        samples.chunks_exact(4).map(part).sum()
    };
    let expected: Vec<f64> = (0..2 * voxels).step_by(SAMPLED).map(sum).collect();
    // Fast sines are right to some 1e-6 each; sums are of the order of the root of their terms.
    Ok(close("sums", &got, &expected, Tolerance { limit: 1e-2, scale: 10.0 }))
}
