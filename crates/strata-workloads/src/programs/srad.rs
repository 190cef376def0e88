//! Speckle-reducing anisotropic diffusion of an ultrasound image (Yu and Acton, 2002).

use crate::check::{Tolerance, close};
use crate::field::scene;
use crate::gpu::{Gpu, blocks};
use crate::linear::widen;
use crate::math::exp;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// Both extents are multiples of 16.
    rows: usize,
    cols: usize,
    iterations: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { rows: 48, cols: 80, iterations: 2 }),
    (Size::Small, Shape { rows: 512, cols: 512, iterations: 10 }),
    (Size::Medium, Shape { rows: 2048, cols: 2048, iterations: 6 }),
    // 64x64 blocks, eight launches.
    (Size::Paper, Shape { rows: 1024, cols: 1024, iterations: 4 }),
];

/// Rows and columns of the upper left corner in which speckle is measured.
const REGION: usize = 128;
const LAMBDA: f32 = 0.5;
/// Pixels lie between 1 and e; coefficients lose digits to the division by the speckle scale.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "srad",
        suite: "rodinia",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &["srad-v2", "srad_v2"],
        description: "speckle-reducing anisotropic diffusion of an image",
    },
    module: &[module!("srad")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const TILE: usize = 16;
    let Shape { rows, cols, iterations } = *shape;
    let image = speckled(&mut Rng::new(seed, "image"), rows, cols);

    let image_array = gpu.array_of("image", &image)?;
    // Only the image is managed memory, as in the unified-memory version of the program.
    let coefficient = gpu.array_on_device::<f32>("coefficient", rows * cols)?;
    let east = gpu.array_on_device::<f32>("to_east", rows * cols)?;
    let west = gpu.array_on_device::<f32>("to_west", rows * cols)?;
    let north = gpu.array_on_device::<f32>("to_north", rows * cols)?;
    let south = gpu.array_on_device::<f32>("to_south", rows * cols)?;
    let (m, n) = (rows as i32, cols as i32);
    let grid = (blocks(cols, TILE), blocks(rows, TILE));
    let block = (TILE as u32, TILE as u32);
    gpu.announce(2 * iterations);
    for _ in 0..iterations {
        // The host measures speckle on the image as it is now.
        let corner = gpu.read_first(image_array, REGION.min(rows) * cols)?;
        let speckle = speckle_scale(&widen(&corner), cols) as f32;
        let directions = [east.into(), west.into(), north.into(), south.into()];
        let with = |rest: [strata_host::Arg; 5]| directions.iter().cloned().chain(rest).collect::<Vec<_>>();
        let args = with([image_array.into(), coefficient.into(), m.into(), n.into(), speckle.into()]);
        gpu.launch("srad_cuda_1", grid, block, &args)?;
        let args = with([image_array.into(), coefficient.into(), m.into(), n.into(), LAMBDA.into()]);
        gpu.launch("srad_cuda_2", grid, block, &args)?;
        gpu.synchronize();
    }
    let expected = reference(&widen(&image), cols, iterations);
    Ok(close("pixels", &gpu.read(image_array)?, &expected, TOLERANCE))
}

/// An ultrasound image, exp(I/255) of 8-bit pixels: a scene whose brightness is multiplied by speckle.
fn speckled(rng: &mut Rng, rows: usize, cols: usize) -> Vec<f32> {
    let mut image = scene(rng, rows, cols);
    for pixel in &mut image {
        // The envelope of an echo is the length of a random vector: Rayleigh statistics, here with mean near 1.
        let (x, y) = (rng.bell(), rng.bell());
        let speckle = 0.7 + 0.24 * (x * x + y * y).sqrt();
        let level = (*pixel * speckle).clamp(0.0, 255.0).round();
        *pixel = exp(f64::from(level) / 255.0) as f32;
    }
    image
}

/// The squared coefficient of variation in the corner of the image (some first rows of `cols` pixels).
fn speckle_scale(rows: &[f64], cols: usize) -> f64 {
    let corner = || rows.chunks_exact(cols).take(REGION).flat_map(|row| &row[..REGION.min(cols)]);
    let count = corner().count() as f64;
    let mean = corner().sum::<f64>() / count;
    let variance = corner().map(|v| v * v).sum::<f64>() / count - mean * mean;
    variance / (mean * mean)
}

fn reference(image: &[f64], cols: usize, iterations: usize) -> Vec<f64> {
    let rows = image.len() / cols;
    let mut image = image.to_vec();
    for _ in 0..iterations {
        let speckle = speckle_scale(&image, cols);
        // Differences to the neighbour `down` rows and `right` columns away; beyond the rim the image goes on unchanged.
        let toward = |values: &[f64], row: usize, col: usize, down: isize, right: isize| {
            let r = row.saturating_add_signed(down).min(rows - 1);
            let c = col.saturating_add_signed(right).min(cols - 1);
            values[r * cols + c]
        };
        let differences: Vec<[f64; 4]> = (0..rows * cols)
            .map(|at| {
                let (row, col) = (at / cols, at % cols);
                [(-1, 0), (1, 0), (0, -1), (0, 1)].map(|(d, r)| toward(&image, row, col, d, r) - image[at])
            })
            .collect();
        let diffusion: Vec<f64> = differences
            .iter()
            .zip(&image)
            .map(|(d, here)| {
                let gradient = d.iter().map(|d| d * d).sum::<f64>() / (here * here);
                let laplacian = d.iter().sum::<f64>() / here;
                let variation = (gradient / 2.0 - laplacian * laplacian / 16.0) / (1.0 + laplacian / 4.0).powi(2);
                (1.0 / (1.0 + (variation - speckle) / (speckle * (1.0 + speckle)))).clamp(0.0, 1.0)
            })
            .collect();
        for (at, [north, south, west, east]) in differences.into_iter().enumerate() {
            let (row, col) = (at / cols, at % cols);
            let below = toward(&diffusion, row, col, 1, 0);
            let beside = toward(&diffusion, row, col, 0, 1);
            let divergence = diffusion[at] * (north + west) + below * south + beside * east;
            image[at] += f64::from(LAMBDA) / 4.0 * divergence;
        }
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffusion_smooths_speckle_and_keeps_the_brightness() {
        let (rows, cols) = (64, 64);
        let image = widen(&speckled(&mut Rng::new(1, "image"), rows, cols));
        assert!(image.iter().all(|v| (1.0..=std::f64::consts::E).contains(v)));
        let smooth = reference(&image, cols, 20);
        let roughness = |v: &[f64]| v.windows(2).map(|w| (w[0] - w[1]).powi(2)).sum::<f64>();
        assert!(roughness(&smooth) < 0.5 * roughness(&image));
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        assert!((mean(&smooth) / mean(&image) - 1.0).abs() < 0.01);
    }

    #[test]
    fn an_even_image_with_one_bright_pixel_by_hand() {
        // Everywhere but near the pixel nothing changes; far from it the coefficient is 1.
        let mut image = vec![1.0; 25];
        image[12] = 2.0;
        let after = reference(&image, 5, 1);
        assert_eq!(after[0], 1.0);
        assert!(after[12] < 2.0 && after[12] > 1.0);
        // What the pixel gives to the north it gives with the northern neighbour's own coefficient of its south: its own.
        assert!(after[7] >= 1.0 && after[17] >= 1.0);
    }

    #[test]
    fn speckle_of_a_known_corner() {
        // Mean 2, variance 1.
        assert_eq!(speckle_scale(&[1.0, 3.0, 3.0, 1.0], 2), 0.25);
    }
}
