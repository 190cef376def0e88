//! The sparse matrix of the NAS benchmark CG: symmetric, with a random pattern and a known range of eigenvalues.

use crate::math::exp;
use crate::npb::Sequence;

/// The smallest eigenvalue that the weights aim at, the benchmark's `RCOND`.
const SMALLEST: f64 = 0.1;

/// A matrix in compressed rows; columns of a row ascend.
pub(crate) struct Sparse {
    pub(crate) first: Vec<i32>,
    pub(crate) cols: Vec<i32>,
    pub(crate) values: Vec<f64>,
}

impl Sparse {
    /// The benchmark's matrix: the weighted sum of the outer products of `rows` random sparse vectors of `nonzeros` + 1
    /// elements, weights falling evenly in ratio from 1 to [`SMALLEST`], plus that times the identity, less `shift`.
    pub(crate) fn outer_products(sequence: &mut Sequence, rows: usize, nonzeros: usize, shift: f64) -> Self {
        let vectors: Vec<_> = (0..rows).map(|row| random_vector(sequence, rows, nonzeros, row)).collect();
        let mut lengths = vec![0; rows];
        for vector in &vectors {
            for (row, _) in vector {
                lengths[*row] += vector.len();
            }
        }
        let mut sums: Vec<Vec<(i32, f64)>> = lengths.into_iter().map(Vec::with_capacity).collect();
        let ratio = exp(-std::f64::consts::LN_10 / rows as f64);
        let mut weight = 1.0;
        for (number, vector) in vectors.iter().enumerate() {
            for (row, left) in vector {
                for (col, right) in vector {
                    let diagonal = row == col && *row == number;
                    let extra = if diagonal { SMALLEST - shift } else { 0.0 };
                    sums[*row].push((*col as i32, right * (weight * left) + extra));
                }
            }
            weight *= ratio;
        }
        let mut matrix = Self { first: vec![0], cols: Vec::new(), values: Vec::new() };
        for mut row in sums {
            row.sort_by_key(|(col, _)| *col);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                matrix.cols.push(same[0].0);
                matrix.values.push(same.iter().map(|(_, value)| value).sum());
            }
            matrix.first.push(matrix.cols.len() as i32);
        }
        matrix
    }

    /// The product with a vector.
    pub(crate) fn times(&self, vector: &[f64]) -> Vec<f64> {
        let element = |(col, value): (&i32, &f64)| value * vector[*col as usize];
        let row = |ends: &[i32]| {
            let range = ends[0] as usize..ends[1] as usize;
            self.cols[range.clone()].iter().zip(&self.values[range]).map(element).sum()
        };
        self.first.windows(2).map(row).collect()
    }
}

/// `nonzeros` different places with values in (0, 1), and 0.5 in `place`.
fn random_vector(sequence: &mut Sequence, len: usize, nonzeros: usize, place: usize) -> Vec<(usize, f64)> {
    let places = len.next_power_of_two() as f64;
    let mut vector: Vec<(usize, f64)> = Vec::with_capacity(nonzeros + 1);
    while vector.len() < nonzeros {
        let value = sequence.unit();
        let at = (sequence.unit() * places) as usize;
        if at < len && vector.iter().all(|(other, _)| *other != at) {
            vector.push((at, value));
        }
    }
    match vector.iter_mut().find(|(at, _)| *at == place) {
        Some((_, value)) => *value = 0.5,
        None => vector.push((place, 0.5)),
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_symmetric_and_its_rows_ascend() {
        let rows = 200;
        let matrix = Sparse::outer_products(&mut Sequence::new(1, "matrix"), rows, 5, 10.0);
        let row = |r: usize| matrix.first[r] as usize..matrix.first[r + 1] as usize;
        let element = |r: usize, c: usize| {
            let found = matrix.cols[row(r)].binary_search(&(c as i32));
            found.map_or(0.0, |k| matrix.values[row(r).start + k])
        };
        for r in 0..rows {
            assert!(matrix.cols[row(r)].is_sorted_by(|a, b| a < b));
            for c in 0..rows {
                assert!((element(r, c) - element(c, r)).abs() < 1e-12);
            }
            assert!(element(r, r) < 0.0);
        }
    }

    #[test]
    fn a_product_takes_each_row() {
        let matrix = Sparse { first: vec![0, 2, 2, 3], cols: vec![0, 2, 1], values: vec![2.0, 3.0, 5.0] };
        assert_eq!(matrix.times(&[1.0, 10.0, 100.0]), [302.0, 0.0, 50.0]);
    }
}
