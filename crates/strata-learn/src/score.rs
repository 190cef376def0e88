//! How good predictions are: top-1, top-10 and the F1 score weighted by how common classes are, as the paper's tables.

use crate::vocabulary::UNKNOWN;
use serde::Serialize;

/// The quality of a series of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize)]
pub struct Score {
    /// The share whose first guess is right.
    pub top1: f64,
    /// The share that is among the first ten guesses.
    pub top10: f64,
    /// F1 of every class, weighted by its share.
    pub f1: f64,
    /// Predictions judged.
    pub samples: usize,
}

/// Counts as predictions come.
#[derive(Default)]
pub(crate) struct Judge {
    /// By class: how often it was right, guessed, true.
    classes: Vec<[u64; 3]>,
    right: u64,
    among_ten: u64,
    all: u64,
}

impl Judge {
    /// Of a row of logits: the guess, the label, and whether that is among the ten best. The unknown is never guessed.
    pub(crate) fn rank(row: &[f32], label: u32) -> [u32; 3] {
        let mut best = (UNKNOWN, f32::NEG_INFINITY);
        for (class, &value) in row.iter().enumerate().skip(1) {
            if value > best.1 {
                best = (class as u32, value);
            }
        }
        let of_label = row.get(label as usize).copied();
        // Equally good guesses stand in the order of their classes.
        let before = of_label.map(|own| {
            let better = |(class, value): (usize, &f32)| *value > own || *value == own && class < label as usize;
            row.iter().enumerate().skip(1).filter(|(class, value)| better((*class, value))).count()
        });
        [best.0, label, u32::from(before.is_some_and(|before| before < 10))]
    }

    /// One guess, and whether the truth is among ten.
    pub(crate) fn guess(&mut self, guess: u32, label: u32, among_ten: bool) {
        let known = label != UNKNOWN;
        let most = guess.max(label) as usize;
        if self.classes.len() <= most {
            self.classes.resize(most + 1, [0; 3]);
        }
        self.all += 1;
        self.right += u64::from(known && guess == label);
        self.among_ten += u64::from(known && among_ten);
        self.classes[guess as usize][1] += 1;
        self.classes[label as usize][2] += 1;
        self.classes[label as usize][0] += u64::from(known && guess == label);
    }

    pub(crate) fn score(&self) -> Score {
        let all = self.all.max(1) as f64;
        let f1 = |&[right, guessed, there]: &[u64; 3]| {
            let of = guessed + there;
            if of == 0 { 0.0 } else { there as f64 / all * 2.0 * right as f64 / of as f64 }
        };
        Score {
            top1: self.right as f64 / all,
            top10: self.among_ten as f64 / all,
            f1: self.classes.iter().map(f1).sum(),
            samples: self.all as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_hand() {
        let mut judge = Judge::default();
        for (row, label) in
            [([9.0, 1.0, 0.0], 1), ([9.0, 0.0, 1.0], 1), ([9.0, 0.0, 1.0], 2), ([9.0, 0.0, 1.0], UNKNOWN)]
        {
            let [guess, label, ten] = Judge::rank(&row, label);
            judge.guess(guess, label, ten != 0);
        }
        let score = judge.score();
        assert_eq!((score.top1, score.top10, score.samples), (0.5, 0.75, 4));
        // Class 1: precision 1, recall 1/2; class 2: precision 1/3, recall 1; the unknown is never right.
        assert!((score.f1 - (0.5 * 2.0 / 3.0 + 0.25 * 0.5)).abs() < 1e-12);
    }
}
