//! What tokens pay attention to: how sparse the weights of a trained Transformer are.

use super::fit::{Fitting, requests};
use serde::{Deserialize, Serialize};
use std::path::Path;
use strata_learn::dataset::{HISTORY, evenly_spaced};
use strata_learn::model::Workspace;
use strata_run::LabError;

/// Sequences that are looked at.
const SEQUENCES: usize = 200;
/// Consecutive tokens whose weights are kept, the last of a sequence.
const TOKENS: usize = 5;
/// A weight below this changes nothing that matters.
const NEGLIGIBLE: f32 = 0.01;

/// The weights of the first layer of attention.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Attention {
    /// Of one sequence and its first head: the weights that each of the last tokens gives to all.
    pub vectors: Vec<Vec<f32>>,
    /// The greatest weight that a token gives, on average.
    pub greatest: f64,
    /// How many weights make up nine tenths of what a token gives, on average.
    pub to_ninety: f64,
    /// The share of weights below 0.01.
    pub negligible: f64,
}

/// Trains a model on a trace and looks at its attention; none if it has no attention.
pub fn attention(trace: &Path, fitting: &Fitting) -> Result<Option<Attention>, LabError> {
    let accesses = requests(&[trace.to_owned()], 1.0)?;
    let (data, split, words) = fitting.data(&accesses)?;
    let model = fitting.fit((&data, &split, &words), None, &mut |_| (), &mut |_, _| ());
    let (mut ids, mut labels, mut work) = (Vec::new(), Vec::new(), Workspace::default());
    data.batch(&evenly_spaced(&split.test, SEQUENCES), &words, &mut ids, &mut labels);
    model.forward(model.parameters(), &ids, &mut work);
    Ok(model.attention(&work).map(summary))
}

fn summary(weights: &[f32]) -> Attention {
    let rows = weights.len() / HISTORY;
    let (mut greatest, mut to_ninety, mut negligible) = (0.0, 0, 0);
    for row in weights.chunks_exact(HISTORY) {
        let mut sorted = row.to_vec();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        greatest += f64::from(sorted[0]);
        let mut sum = 0.0;
        to_ninety += 1 + sorted
            .iter()
            .take_while(|&&weight| {
                sum += weight;
                sum < 0.9
            })
            .count();
        negligible += row.iter().filter(|&&weight| weight < NEGLIGIBLE).count();
    }
    let first = weights.get(..HISTORY * HISTORY).unwrap_or_default();
    let last = first.chunks_exact(HISTORY).skip(HISTORY - TOKENS);
    let of_rows = rows.max(1) as f64;
    Attention {
        vectors: last.map(<[f32]>::to_vec).collect(),
        greatest: greatest / of_rows,
        to_ninety: to_ninety as f64 / of_rows,
        negligible: negligible as f64 / weights.len().max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_summed_up() {
        // Every token gives all to the first, but the last, which gives a half each to the first two.
        let mut weights = vec![0.0; HISTORY * HISTORY];
        for row in weights.chunks_exact_mut(HISTORY) {
            row[0] = 1.0;
        }
        let last = weights.len() - HISTORY;
        weights[last] = 0.5;
        weights[last + 1] = 0.5;
        let of = summary(&weights);
        assert_eq!((of.vectors.len(), of.vectors[4][1]), (TOKENS, 0.5));
        assert!((of.greatest - 29.5 / 30.0).abs() < 1e-9 && (of.to_ninety - 31.0 / 30.0).abs() < 1e-9);
        assert!((of.negligible - (900.0 - 31.0) / 900.0).abs() < 1e-9);
    }
}
