//! Softmax, the cross-entropy of its result, and sums in an order that suits wide registers and is always the same.

use crate::math::{exp, ln};

/// Numbers are summed in four columns, which are then added, and the rest one by one.
#[inline(always)]
fn sum_of(lanes: [f32; 4], rest: impl Iterator<Item = f32>) -> f32 {
    rest.fold((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]), |sum, x| sum + x)
}

/// The sum of numbers.
#[inline(always)]
pub(crate) fn sum(x: &[f32]) -> f32 {
    let (fours, rest) = x.as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for four in fours {
        for (lane, x) in lanes.iter_mut().zip(four) {
            *lane += x;
        }
    }
    sum_of(lanes, rest.iter().copied())
}

/// The sum of products.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    sum_of(columns(a, b), rest_a.iter().zip(rest_b).map(|(a, b)| a * b))
}

/// The four columns of a sum of products.
#[inline(always)]
fn columns(a: &[[f32; 4]], b: &[[f32; 4]]) -> [f32; 4] {
    let mut columns = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for (column, (a, b)) in columns.iter_mut().zip(a.iter().zip(b)) {
            *column += a * b;
        }
    }
    columns
}

/// The sums of products of one row with many: the bits of [`dot`], all columns before any of them are added, so that neither
/// loop gathers single numbers.
#[inline(always)]
pub(crate) fn dots<'a, const WIDTH: usize, const COUNT: usize>(
    one: &[f32; WIDTH],
    many: impl Iterator<Item = &'a [f32; WIDTH]>,
) -> [f32; COUNT] {
    let mut all = [[0.0; 4]; COUNT];
    for (to, row) in all.iter_mut().zip(many) {
        *to = columns(one.as_chunks().0, row.as_chunks().0);
    }
    all.map(|lanes| sum_of(lanes, std::iter::empty()))
}

/// Turns logits into probabilities, in place.
#[inline(always)]
pub(crate) fn softmax(x: &mut [f32]) {
    let most = x.iter().fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a });
    for x in x.iter_mut() {
        *x = exp(*x - most);
    }
    let sum = sum(x);
    for x in x {
        *x /= sum;
    }
}

/// Turns probabilities' gradient into that of the logits before the softmax, in place.
pub(crate) fn softmax_backward(probabilities: &[f32], d: &mut [f32]) {
    let product: f32 = probabilities.iter().zip(&*d).map(|(p, d)| p * d).sum();
    for (p, d) in probabilities.iter().zip(d) {
        *d = p * (*d - product);
    }
}

/// The summed loss of rows of logits; these become its gradients divided by `of`. A label beyond the classes counts nothing.
pub(crate) fn cross_entropy(logits: &mut [f32], labels: &[u32], classes: usize, of: usize) -> f64 {
    let mut loss = 0.0;
    for (row, &label) in logits.chunks_exact_mut(classes).zip(labels) {
        softmax(row);
        let Some(of_label) = row.get(label as usize) else {
            row.fill(0.0);
            continue;
        };
        loss -= ln(f64::from(of_label.max(1e-30)));
        row[label as usize] -= 1.0;
        for d in row {
            *d /= of as f32;
        }
    }
    loss
}
