//! Matrices and vectors of the linear-algebra programs, and the products they are judged by.

use crate::rng::Rng;

/// A matrix with rows in sequence.
pub(crate) struct Matrix {
    pub(crate) cols: usize,
    pub(crate) values: Vec<f32>,
}

impl Matrix {
    /// The ramp a(i,j) = i*j/cols with which these programs are published, each row and each column scaled by a random
    /// factor within 1 %. All values are positive, so the sums are well conditioned.
    pub(crate) fn ramp(rng: &mut Rng, rows: usize, cols: usize) -> Self {
        let down = ramp(rng, rows);
        let along = ramp(rng, cols);
        let mut values = Vec::with_capacity(rows * cols);
        for d in &down {
            values.extend(along.iter().map(|a| d * rows as f32 * a));
        }
        Self { cols, values }
    }

    /// The product with a vector, in double precision.
    pub(crate) fn times(&self, vector: &[f64]) -> Vec<f64> {
        let row = |r: &[f32]| r.iter().zip(vector).map(|(a, x)| f64::from(*a) * x).sum();
        self.values.chunks_exact(self.cols).map(row).collect()
    }

    /// The product of the transposed matrix with a vector, in double precision.
    pub(crate) fn transposed_times(&self, vector: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.cols];
        for (row, x) in self.values.chunks_exact(self.cols).zip(vector) {
            for (sum, a) in product.iter_mut().zip(row) {
                *sum += f64::from(*a) * x;
            }
        }
        product
    }
}

/// The vector (i+1)/len, each value scaled by a random factor within 1 %.
pub(crate) fn ramp(rng: &mut Rng, len: usize) -> Vec<f32> {
    (1..=len).map(|i| i as f32 / len as f32 * rng.between(0.99, 1.01)).collect()
}

/// The same values in double precision.
pub(crate) fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_a_small_matrix() {
        let matrix = Matrix { cols: 3, values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
        assert_eq!(matrix.times(&[1.0, 0.0, -1.0]), [-2.0, -2.0]);
        assert_eq!(matrix.transposed_times(&[1.0, 10.0]), [41.0, 52.0, 63.0]);
    }

    #[test]
    fn a_ramp_matrix_is_a_ramp() {
        let matrix = Matrix::ramp(&mut Rng::new(1, "a"), 40, 80);
        assert_eq!(matrix.values.len(), 40 * 80);
        for (i, j) in [(0, 0), (39, 79), (20, 3)] {
            let exact = (i + 1) as f32 * (j + 1) as f32 / 80.0;
            assert!((matrix.values[i * 80 + j] / exact - 1.0).abs() < 0.021);
        }
    }
}
