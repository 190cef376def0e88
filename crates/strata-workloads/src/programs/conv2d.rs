//! 3x3 convolution of an image.

use crate::check::{Tolerance, close};
use crate::field::scene;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    rows: usize,
    cols: usize,
    /// How often the image is convolved.
    passes: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { rows: 60, cols: 100, passes: 1 }),
    (Size::Small, Shape { rows: 4096, cols: 4096, passes: 1 }),
    (Size::Medium, Shape { rows: 4096, cols: 8192, passes: 3 }),
    // The paper's 50 212 980 instructions are 1022^2 * 48 + 4092 * 19: a 1024x1024 image without its rim.
    (Size::Paper, Shape { rows: 1024, cols: 1024, passes: 1 }),
];

/// The weights of `2dconv.cu`, row by row.
const WEIGHTS: [[f32; 3]; 3] = [[-0.7, -0.35, 0.1], [-0.4, 0.9, 0.45], [0.05, 0.3, 0.65]];

/// Nine roundings; terms of both signs, each below 1, may cancel.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "2dconv",
        suite: "polybench",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &["2dconvolution"],
        description: "3x3 convolution of an image",
    },
    module: &[module!("2dconv")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let Shape { rows, cols, passes } = *shape;
    // Grey levels of a camera, scaled to 0..1 as image pipelines do.
    let mut image = scene(&mut Rng::new(seed, "image"), rows, cols);
    for level in &mut image {
        *level = level.round() / 255.0;
    }

    let image_array = gpu.array_of("image", &image)?;
    let result_array = gpu.zeros("result", rows * cols)?;
    let args = [image_array.into(), result_array.into(), (rows as i32).into(), (cols as i32).into()];
    gpu.announce(passes);
    for _ in 0..passes {
        gpu.launch("Convolution2D_kernel", (blocks(cols, 32), blocks(rows, 8)), (32, 8), &args)?;
    }
    gpu.synchronize();
    Ok(close("pixels", &gpu.read(result_array)?, &reference(&image, rows, cols), TOLERANCE))
}

fn reference(image: &[f32], rows: usize, cols: usize) -> Vec<f64> {
    let mut result = vec![0.0; rows * cols];
    for row in 1..rows - 1 {
        for col in 1..cols - 1 {
            let mut sum = 0.0;
            for (i, weights) in WEIGHTS.iter().enumerate() {
                for (j, weight) in weights.iter().enumerate() {
                    sum += f64::from(*weight) * f64::from(image[(row + i - 1) * cols + col + j - 1]);
                }
            }
            result[row * cols + col] = sum;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_bright_pixel_shows_the_weights_turned_by_half() {
        let mut image = vec![0.0; 25];
        image[12] = 1.0;
        let result = reference(&image, 5, 5);
        for i in 0..3 {
            for j in 0..3 {
                assert_eq!(result[(3 - i) * 5 + 3 - j], f64::from(WEIGHTS[i][j]));
            }
        }
    }
}
