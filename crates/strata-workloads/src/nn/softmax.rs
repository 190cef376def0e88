//! Softmax and cross entropy on the CPU, in double precision.

/// Each row's loss and the gradient of the scores.
pub(crate) struct Loss {
    pub(crate) losses: Vec<f64>,
    pub(crate) diff: Vec<f64>,
}

/// The loss of each row of `classes` scores against its label; the gradient is that of `weight` times the sum.
pub(crate) fn softmax_loss(scores: &[f64], labels: &[i32], classes: usize, weight: f64) -> Loss {
    let mut result = Loss { losses: Vec::with_capacity(labels.len()), diff: Vec::with_capacity(scores.len()) };
    for (row, label) in scores.chunks_exact(classes).zip(labels) {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|score| (score - largest).exp()).sum();
        result.losses.push(sum.ln() - (row[*label as usize] - largest));
        let target = |class: usize| f64::from(class == *label as usize);
        let diffs = row.iter().enumerate();
        result.diff.extend(diffs.map(|(class, score)| ((score - largest).exp() / sum - target(class)) * weight));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_lose_the_logarithm_of_their_number() {
        let Loss { losses, diff } = softmax_loss(&[3.0; 4], &[2], 4, 2.0);
        assert!((losses[0] - 4.0_f64.ln()).abs() < 1e-15);
        assert_eq!(diff, [0.5, 0.5, -1.5, 0.5]);
    }
}
