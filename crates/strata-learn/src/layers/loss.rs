//! Softmax and the cross-entropy of its result.

use crate::math::{exp, ln};

/// Turns logits into probabilities, in place.
#[inline(always)]
pub(crate) fn softmax(x: &mut [f32]) {
    let most = x.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
    for x in x.iter_mut() {
        *x = exp(*x - most);
    }
    let sum: f32 = x.iter().sum();
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
