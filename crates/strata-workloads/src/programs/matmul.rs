//! What the two matrix products share: inputs and reference.

use crate::check::Tolerance;
use crate::rng::Rng;

/// A thousand roundings or so of sums whose terms, of both signs, add up to about 1.
pub(super) const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

/// Activations of a network's layer: about half are zero, the others positive.
pub(super) fn activations(seed: u64, count: usize) -> Vec<f32> {
    let mut rng = Rng::new(seed, "A");
    (0..count).map(|_| rng.bell().max(0.0)).collect()
}

/// Weights of a layer with `inputs` inputs: their spread keeps the sums near 1.
pub(super) fn weights(seed: u64, inputs: usize, count: usize) -> Vec<f32> {
    let mut rng = Rng::new(seed, "B");
    let spread = 1.0 / (inputs as f32).sqrt();
    (0..count).map(|_| spread * rng.bell()).collect()
}

/// The product of `a` (rows of `n`) and `b` (rows of `p`), in double precision.
pub(super) fn product(a: &[f32], b: &[f32], n: usize, p: usize) -> Vec<f64> {
    let mut c = Vec::with_capacity(a.len() / n * p);
    for row in a.chunks_exact(n) {
        let mut sums = vec![0.0; p];
        for (x, b_row) in row.iter().zip(b.chunks_exact(p)) {
            sums.iter_mut().zip(b_row).for_each(|(sum, y)| *sum += f64::from(*x) * f64::from(*y));
        }
        c.extend(sums);
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_of_rectangles() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.0, 0.0, 0.0, 1.0, 2.0, 2.0];
        assert_eq!(product(&a, &b, 3, 2), [7.0, 8.0, 16.0, 17.0]);
    }
}
