//! Inputs with the structure of measured data: smooth fields, signals, images.

use crate::rng::Rng;

/// A smooth field of `rows` x `cols` values in `[0, 1]`: random values on a lattice `spacing` cells apart, interpolated.
pub(crate) fn smooth(rng: &mut Rng, rows: usize, cols: usize, spacing: usize) -> Vec<f32> {
    let lattice_cols = cols / spacing + 2;
    let lattice: Vec<f32> = (0..(rows / spacing + 2) * lattice_cols).map(|_| rng.unit()).collect();
    // The cubic that has no slope at the lattice points, so that cells join without a crease.
    let place = |i: usize| {
        let t = (i % spacing) as f32 / spacing as f32;
        (i / spacing, t * t * (3.0 - 2.0 * t))
    };
    let mut field = Vec::with_capacity(rows * cols);
    for row in 0..rows {
        let (lattice_row, down) = place(row);
        for col in 0..cols {
            let (lattice_col, right) = place(col);
            let corner = lattice_row * lattice_cols + lattice_col;
            let top = lattice[corner] + (lattice[corner + 1] - lattice[corner]) * right;
            let below = corner + lattice_cols;
            let bottom = lattice[below] + (lattice[below + 1] - lattice[below]) * right;
            field.push(top + (bottom - top) * down);
        }
    }
    field
}

/// A scene in grey levels from 0 to 255: a smooth background and some sharp-edged rectangles and discs.
pub(crate) fn scene(rng: &mut Rng, rows: usize, cols: usize) -> Vec<f32> {
    let coarse = smooth(rng, rows, cols, 128);
    let fine = smooth(rng, rows, cols, 16);
    let mut image: Vec<f32> = coarse.iter().zip(&fine).map(|(c, f)| 40.0 + 120.0 * c + 30.0 * f).collect();
    for object in 0..24 {
        let height = 1 + rng.below((rows / 6 + 1) as u32) as usize;
        let width = 1 + rng.below((cols / 6 + 1) as u32) as usize;
        let top = rng.below(rows as u32) as usize;
        let left = rng.below(cols as u32) as usize;
        let shade = rng.between(-60.0, 60.0);
        let round = object % 2 == 0;
        for row in top..(top + height).min(rows) {
            for col in left..(left + width).min(cols) {
                let (y, x) = ((row - top) as f32 / height as f32 - 0.5, (col - left) as f32 / width as f32 - 0.5);
                if !round || x * x + y * y < 0.25 {
                    image[row * cols + col] += shade;
                }
            }
        }
    }
    image.iter_mut().for_each(|v| *v = v.clamp(0.0, 255.0));
    image
}

/// A sampled signal of `len` values that wanders about `mean`: each value is 0.99 of the one before plus noise, so
/// neighbours are alike and the whole is not. Its standard deviation is about `spread`.
pub(crate) fn signal(rng: &mut Rng, len: usize, mean: f32, spread: f32) -> Vec<f32> {
    const MEMORY: f32 = 0.99;
    let noise = spread * (1.0 - MEMORY * MEMORY).sqrt();
    let mut deviation = spread * rng.bell();
    (0..len)
        .map(|_| {
            deviation = MEMORY * deviation + noise * rng.bell();
            mean + deviation
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smooth_field_stays_in_bounds_and_has_no_jumps() {
        let (rows, cols) = (70, 90);
        let field = smooth(&mut Rng::new(1, "field"), rows, cols, 16);
        assert_eq!(field.len(), rows * cols);
        assert!(field.iter().all(|v| (0.0..=1.0).contains(v)));
        // The slope of the interpolant is at most 1.5 per lattice spacing.
        let jump = |a: usize, b: usize| (field[a] - field[b]).abs();
        for row in 1..rows {
            for col in 1..cols {
                let here = row * cols + col;
                assert!(jump(here, here - 1) < 0.1 && jump(here, here - cols) < 0.1);
            }
        }
    }

    #[test]
    fn a_scene_has_grey_levels_and_edges() {
        let scene = scene(&mut Rng::new(2, "scene"), 64, 64);
        assert!(scene.iter().all(|v| (0.0..=255.0).contains(v)));
        let steepest = scene.windows(2).map(|w| (w[0] - w[1]).abs()).fold(0.0, f32::max);
        assert!(steepest > 10.0, "steepest step {steepest}");
    }

    #[test]
    fn neighbours_in_a_signal_are_alike() {
        let signal = signal(&mut Rng::new(3, "signal"), 50_000, 5.0, 1.0);
        let mean = signal.iter().sum::<f32>() / signal.len() as f32;
        let variance = signal.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / signal.len() as f32;
        let steps = signal.windows(2).map(|w| (w[0] - w[1]).powi(2)).sum::<f32>() / signal.len() as f32;
        assert!((mean - 5.0).abs() < 0.3 && (0.6..1.5).contains(&variance), "mean {mean}, variance {variance}");
        assert!(steps < variance / 20.0);
    }
}
