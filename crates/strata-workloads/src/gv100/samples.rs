//! NVIDIA's dct8x8, fastWalshTransform and quasirandomGenerator.

use super::{info, measured};
use crate::check::{Tolerance, close};
use crate::gpu::Gpu;
use crate::math::sin_pi;
use crate::program::Measured;
use crate::rng::Rng;
use crate::{Instance, Outcome};
use strata_host::HostError;

/// Pixels of a side of the sample's picture.
pub(super) const DCT: Measured<usize> = measured(
    info("gv100-dct8x8", "cuda-samples", "cosine transform of blocks of 8x8, by products and fast"),
    dct,
    &[(Instance::silicon("512"), 512)],
);

const SIDE: usize = 8;

/// Entry of the matrix whose products are the transform: cosine `frequency` at `place`.
fn basis(place: usize, frequency: usize) -> f64 {
    let norm = if frequency == 0 { 0.125_f64.sqrt() } else { 0.5 };
    norm * sin_pi((2 * place + 1) as f64 * frequency as f64 / 16.0 + 0.5)
}

/// As many blocks as make the reference quick: every so many of the coefficients.
const SAMPLED: usize = 37;

fn dct(&side: &usize, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut rng = Rng::new(seed, "picture");
    let image: Vec<f32> = (0..side * side).map(|_| rng.below(256) as f32 - 128.0).collect();
    let matrix: Vec<f32> = (0..SIDE * SIDE).map(|at| basis(at / SIDE, at % SIDE) as f32).collect();
    gpu.write_symbol("basis", &matrix)?;
    let image_array = gpu.array_of("Src", &image)?;
    let texture = gpu.texture(image_array, side as u32, side as u32)?;
    let by_products = gpu.array::<f32>("Dst", side * side)?;
    let blocks = (side / SIDE) as u32;
    let args = [by_products.into(), (side as i32).into(), texture.into()];
    gpu.launch("dct_by_products", (blocks, blocks), (SIDE as u32, SIDE as u32), &args)?;
    gpu.synchronize();
    let fast = gpu.array::<f32>("dst", side * side)?;
    let args = [fast.into(), image_array.into(), (side as i32).into()];
    gpu.launch("dct_fast", ((side / 32) as u32, (side / 16) as u32), (SIDE as u32, 4, 2), &args)?;
    gpu.synchronize();

    let coefficient = |at: usize| {
        let (row, col) = (at / side, at % side);
        let (top, left) = (row / SIDE * SIDE, col / SIDE * SIDE);
        let across = |y: usize| -> f64 {
            (0..SIDE).map(|x| f64::from(image[(top + y) * side + left + x]) * basis(x, col % SIDE)).sum()
        };
        (0..SIDE).map(|y| across(y) * basis(y, row % SIDE)).sum()
    };
    let expected: Vec<f64> = (0..side * side).step_by(SAMPLED).map(coefficient).collect();
    let tolerance = Tolerance { limit: 1e-4, scale: 10.0 };
    let mut sampled =
        |array| Ok::<_, HostError>(gpu.read::<f32>(array)?.into_iter().step_by(SAMPLED).collect::<Vec<_>>());
    let products = close("coefficients by products", &sampled(by_products)?, &expected, tolerance);
    Ok(products.and(&close("coefficients of the fast transform", &sampled(fast)?, &expected, tolerance)))
}

/// Numbers that are transformed; the row is the first step of the data.
pub(super) const WALSH: Measured<usize> = measured(
    info("gv100-fastWalshTransform", "cuda-samples", "one step of radix four in global memory"),
    walsh,
    &[(Instance::silicon("8388608"), 1 << 23)],
);

fn walsh(&len: &usize, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let mut rng = Rng::new(seed, "data");
    let data: Vec<f32> = (0..len).map(|_| rng.unit()).collect();
    let array = gpu.array_of("d_Data", &data)?;
    let stride = len / 4;
    let args = [array.into(), array.into(), (stride as i32).into()];
    gpu.launch("walsh_of_four", (stride / 256) as u32, 256, &args)?;
    gpu.synchronize();
    let expected: Vec<f64> = (0..len)
        .map(|at| {
            let (quarter, place) = (at / stride, at % stride);
            let sign = |k: usize| if (k & quarter).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            (0..4).map(|k| sign(k) * f64::from(data[place + k * stride])).sum()
        })
        .collect();
    Ok(close("numbers", &gpu.read(array)?, &expected, Tolerance { limit: 1e-5, scale: 1.0 }))
}

/// Points of the sequence; three dimensions of each.
pub(super) const QUASIRANDOM: Measured<u32> = measured(
    info("gv100-quasirandomGenerator", "cuda-samples", "a quasirandom sequence, and normal quantiles"),
    quasirandom,
    &[(Instance::silicon("1048576"), 1 << 20)],
);

fn quasirandom(&points: &u32, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const DIMENSIONS: u32 = 3;
    const BITS: usize = 31;
    const BLOCKS: u32 = 128;
    let mut rng = Rng::new(seed, "directions");
    let directions: Vec<u32> = (0..DIMENSIONS as usize * BITS).map(|_| (rng.bits() >> 33) as u32).collect();
    gpu.write_symbol("directions", &directions)?;
    let len = DIMENSIONS * points;
    let output = gpu.zeros::<f32>("d_Output", len as usize)?;
    gpu.launch("quasirandom", BLOCKS, (128, DIMENSIONS), &[output.into(), 0_u32.into(), points.into()])?;
    gpu.synchronize();
    let value = |at: u32| {
        let (mine, point) = (&directions[(at / points) as usize * BITS..], at % points);
        let bits = (0..BITS).filter(|bit| point >> bit & 1 == 1).fold(0, |sum, bit| sum ^ mine[bit]);
        f64::from(bits + 1) / f64::from(0x8000_0001_u32)
    };
    let expected: Vec<f64> = (0..len).map(value).collect();
    let sequence = close("points", &gpu.read(output)?, &expected, Tolerance { limit: 1e-6, scale: 1e-3 });

    gpu.launch("inverse_cnd", BLOCKS, 128, &[output.into(), 0_u64.into(), len.into()])?;
    gpu.synchronize();
    let quantiles = gpu.read(output)?;
    // The quantile of a quantile's probability, by the integral's series, is not needed to see a wrong kernel: they rise,
    // are odd about the middle, and their quartiles are known.
    let rises = quantiles.windows(2).all(|pair| pair[0] <= pair[1] + 1e-6);
    let quarter = f64::from(quantiles[len as usize / 4]);
    let right = (quarter + 0.674_49).abs() < 1e-3;
    let checked = format!("{len} quantiles, the first quartile at {quarter:.4}");
    Ok(sequence.and(&Outcome { passed: rises && right, checked }))
}
