//! Training the recurrent network: some steps with few texts, then one measured step with many.

use super::language::{Language, Texts};
use super::recurrent::{HostArrays, Sizes, Tensors, plan};
use super::recurrent_reference::{step, update};
use super::train::{distances, fallen, mean, read_all};
use crate::Outcome;
use crate::check::{Tolerance, close};
use crate::gpu::{Array, Gpu};
use strata_host::HostError;

/// How long and with how many texts a network is trained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) sizes: Sizes,
    /// Steps before the measured one.
    pub(crate) warm_up: usize,
    /// Texts side by side, before and when measured.
    pub(crate) warm_up_texts: usize,
    pub(crate) texts: usize,
}

/// Scores pass through two layers and some twenty steps of functions that never stretch; errors are those of sums of some
/// hundred products and of the device's exponential (2 units in the last place).
const SCORES: Tolerance = Tolerance { limit: 1e-4, scale: 1.0 };
/// What the loss must fall to: from the logarithm of the vocabulary towards the entropy of word frequencies.
const FALLEN_TO: f64 = 0.9;

/// Trains, measures a step, and compares it with the reference.
pub(crate) fn read_text(reading: &Reading, rate: f32, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let Reading { sizes, warm_up, warm_up_texts, texts } = *reading;
    let nowhere = Tensors::nowhere();
    let partials = [warm_up_texts, texts].map(|texts| plan(&sizes, &nowhere, texts, rate).partials_len());
    let (tensors, arrays) = Tensors::allocate(&sizes, texts, partials[0].max(partials[1]), seed, gpu)?;
    let warm_up_step = plan(&sizes, &tensors, warm_up_texts, rate);
    let measured_step = plan(&sizes, &tensors, texts, rate);
    gpu.announce(warm_up * warm_up_step.len() + 2 * measured_step.len());

    gpu.begin_preparation();
    let language = Language::new(sizes.vocabulary, seed);
    let mut reader = Texts::new(&language, warm_up_texts, seed);
    let mut losses = Vec::with_capacity(warm_up);
    for _ in 0..warm_up {
        let (words, labels) = reader.read(sizes.steps);
        feed(&arrays, &sizes, &words, &labels, gpu)?;
        warm_up_step.run(gpu)?;
        losses.push(mean(&gpu.read_first(arrays.losses, words.len())?));
    }
    // A step finds in memory what the one before it left there: as many texts, not a few and zeros.
    let (words, labels) = Texts::new(&language, texts, seed.wrapping_add(2)).read(sizes.steps);
    forget(&arrays, &sizes, texts, gpu)?;
    feed(&arrays, &sizes, &words, &labels, gpu)?;
    measured_step.run(gpu)?;
    let weights = read_all(&arrays.weights, gpu)?;
    let squares = read_all(&arrays.squares, gpu)?;

    let (words, labels) = Texts::new(&language, texts, seed.wrapping_add(1)).read(sizes.steps);
    forget(&arrays, &sizes, texts, gpu)?;
    gpu.begin_measurement();
    feed(&arrays, &sizes, &words, &labels, gpu)?;
    measured_step.run(gpu)?;
    gpu.synchronize();

    let expected = step(&sizes, &weights, &words, &labels);
    let (mut expected_weights, mut expected_squares) = (weights.clone(), squares);
    update(rate, &mut expected_weights, &mut expected_squares, &expected.gradients);
    let scores = close("scores", &gpu.read_first(arrays.scores, expected.scores.len())?, &expected.scores, SCORES);
    let loss = close("losses", &gpu.read_first(arrays.losses, labels.len())?, &expected.losses, SCORES);
    let got = read_all(&arrays.weights, gpu)?;
    let changes = distances("tensors of changed weights", &got, &expected_weights, Some(&weights));
    let got = read_all(&arrays.squares, gpu)?;
    let sums = distances("tensors of squares", &got, &expected_squares, None);
    Ok(scores.and(&loss).and(&changes).and(&sums).and(&fallen(&losses, sizes.vocabulary, FALLEN_TO)))
}

/// Texts begin: nothing was read of them before.
fn forget(arrays: &HostArrays, sizes: &Sizes, texts: usize, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
    for (index, state) in arrays.states.iter().enumerate() {
        let values = texts * if index % 2 == 0 { sizes.units } else { sizes.width };
        gpu.write(*state, &vec![0.0; values])?;
    }
    Ok(())
}

/// Gives the device the next words, and for each word of the vocabulary the rows where it stands.
fn feed(arrays: &HostArrays, sizes: &Sizes, words: &[i32], labels: &[i32], gpu: &mut Gpu<'_>) -> Result<(), HostError> {
    let mut rows: Vec<i32> = (0..words.len() as i32).collect();
    rows.sort_by_key(|row| words[*row as usize]);
    let starts: Vec<i32> = (0..=sizes.vocabulary as i32)
        .map(|word| rows.partition_point(|row| words[*row as usize] < word) as i32)
        .collect();
    let copies: [(Array<i32>, &[i32]); 4] =
        [(arrays.words, words), (arrays.labels, labels), (arrays.word_starts, &starts), (arrays.word_rows, &rows)];
    copies.into_iter().try_for_each(|(array, values)| gpu.write(array, values))
}
