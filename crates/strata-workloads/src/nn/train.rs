//! Training a convolutional network: some steps with few images, then one measured step with all that fit.

use super::images::{Album, CLASSES};
use super::network::Network;
use super::plan::{Plan, Solver};
use super::reference;
use super::tensors::{HostArrays, Tensors};
use crate::check::{Tolerance, close, close_doubles};
use crate::gpu::{Array, Gpu};
use crate::linear::widen;
use crate::{Outcome, Size};
use strata_host::HostError;

/// The side of the pictures that the published networks see, in pixels.
pub(crate) const PUBLISHED_SIDE: usize = 224;

/// How long and with how many images a network is trained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Steps before the measured one.
    pub(crate) warm_up: usize,
    /// Images per step, before and when measured.
    pub(crate) warm_up_batch: usize,
    pub(crate) batch: usize,
    /// The side of an image in pixels, and a factor of the network's channels.
    pub(crate) side: usize,
    pub(crate) width: usize,
}

/// The size and schedule that a program's table of shapes holds.
pub(crate) type Shapes<const N: usize> = [(Size, Schedule); N];

/// Scores of the measured step are sums of some thousand products through at most twenty layers of single precision, with
/// errors of about 2^-24 each, relative to values of about 1.
const SCORES: Tolerance = Tolerance { limit: 1e-3, scale: 1.0 };
/// How far a tensor of changes may be from the expected one (Euclidean, relative to its length): besides rounding, a value
/// within rounding of zero may pass ReLU here and not there, and a maximum of near equals may be found elsewhere; each
/// moves one image's share of one pixel.
const CHANGES: Tolerance = Tolerance { limit: 1e-2, scale: 1.0 };
/// What of a weight counts as change in any case: a limit of 1e-2 of it is more than the rounding of the weight (2^-24).
const ROUNDED: f64 = 1e-5;
/// Steps whose mean loss is compared: the first ones and the last ones. Short warm-ups (tiny) are not judged.
const JUDGED_STEPS: usize = 20;
/// To what part the loss must fall.
const FALLEN_TO: f64 = 0.85;

/// Trains the network, measures a step, and compares it with the reference.
pub(crate) fn train(
    network: fn(&Schedule) -> Network,
    schedule: &Schedule,
    solver: Solver,
    seed: u64,
    gpu: &mut Gpu<'_>,
) -> Result<Outcome, HostError> {
    let network = &network(schedule);
    let nowhere = Tensors::nowhere(network);
    let plans = [schedule.warm_up_batch, schedule.batch].map(|batch| Plan::new(network, &nowhere, batch, solver));
    let most = |f: &dyn Fn(&Plan<'_>) -> usize| plans.iter().map(f).max().unwrap_or(0);
    let scratch = (most(&|plan| plan.columns_len), most(&|plan| plan.launches.partials_len()));
    let images = schedule.batch.max(schedule.warm_up_batch);
    let (tensors, arrays) = Tensors::allocate(network, images, scratch, seed, gpu)?;
    let warm_up = Plan::new(network, &tensors, schedule.warm_up_batch, solver);
    let measured = Plan::new(network, &tensors, schedule.batch, solver);
    gpu.announce(schedule.warm_up * warm_up.launches.len() + 2 * measured.launches.len());

    gpu.begin_preparation();
    let mut album = Album::new(seed, schedule.side);
    let mut losses = Vec::with_capacity(schedule.warm_up);
    for step in 0..schedule.warm_up {
        let (images, labels) = album.batch(schedule.warm_up_batch);
        feed(&arrays, step as u32, &images, &labels, gpu)?;
        warm_up.launches.run(gpu)?;
        losses.push(mean(&gpu.read_first(arrays.losses, schedule.warm_up_batch)?));
    }
    // A step finds in memory what the one before it left there: as many images, not a few and zeros.
    let (images, labels) = album.batch(schedule.batch);
    feed(&arrays, schedule.warm_up as u32, &images, &labels, gpu)?;
    measured.launches.run(gpu)?;
    let weights = read_all(&arrays.weights, gpu)?;
    let histories = read_all(&arrays.histories, gpu)?;

    let (images, labels) = album.batch(schedule.batch);
    let step = schedule.warm_up as u32 + 1;
    gpu.begin_measurement();
    feed(&arrays, step, &images, &labels, gpu)?;
    measured.launches.run(gpu)?;
    gpu.synchronize();

    let (mut expected_weights, mut expected_histories) = (weights.clone(), histories);
    let images: Vec<f64> = widen(&images);
    let expected = reference::step(network, &weights, &images, &labels, step);
    reference::update(network, solver, &mut expected_weights, &mut expected_histories, &expected.gradients);
    let scores = close("scores", &gpu.read_first(arrays.scores, expected.scores.len())?, &expected.scores, SCORES);
    let loss = close("losses", &gpu.read_first(arrays.losses, labels.len())?, &expected.losses, SCORES);
    let got = read_all(&arrays.weights, gpu)?;
    let changes = distances("tensors of changed weights", &got, &expected_weights, Some(&weights));
    let got = read_all(&arrays.histories, gpu)?;
    let momentum = distances("tensors of histories", &got, &expected_histories, None);
    Ok(scores.and(&loss).and(&changes).and(&momentum).and(&fallen(&losses, CLASSES, FALLEN_TO)))
}

/// Gives the device the next images.
fn feed(arrays: &HostArrays, step: u32, images: &[f32], labels: &[i32], gpu: &mut Gpu<'_>) -> Result<(), HostError> {
    gpu.write(arrays.step, &[step])?;
    gpu.write(arrays.images, images)?;
    gpu.write(arrays.labels, labels)
}

pub(crate) fn read_all(arrays: &[Array<f32>], gpu: &mut Gpu<'_>) -> Result<Vec<Vec<f64>>, HostError> {
    arrays.iter().map(|array| Ok(widen(&gpu.read(*array)?))).collect()
}

pub(crate) fn mean(values: &[f32]) -> f64 {
    values.iter().map(|v| f64::from(*v)).sum::<f64>() / values.len() as f64
}

/// How far each tensor is from the expected one, relative to the length of that; where it stood `before` is given, how far
/// its change since is, because a step is much smaller than a weight.
pub(crate) fn distances(what: &str, got: &[Vec<f64>], expected: &[Vec<f64>], before: Option<&[Vec<f64>]>) -> Outcome {
    let distance = |(index, (got, expected)): (usize, (&Vec<f64>, &Vec<f64>))| {
        let origin = |place: usize| before.map_or(0.0, |before| before[index][place]);
        let apart: f64 = got.iter().zip(expected).map(|(g, e)| (g - e).powi(2)).sum();
        let change: f64 = expected.iter().enumerate().map(|(place, e)| (e - origin(place)).powi(2)).sum();
        let origin: f64 = (0..expected.len()).map(|place| origin(place).powi(2)).sum();
        apart.sqrt() / (change.sqrt() + ROUNDED * origin.sqrt()).max(f64::MIN_POSITIVE)
    };
    let distances: Vec<f64> = got.iter().zip(expected).enumerate().map(distance).collect();
    close_doubles(what, &distances, &vec![0.0; distances.len()], CHANGES)
}

/// The loss must have fallen to `limit` of what it was, and of what guessing among `classes` classes loses: a bad start is
/// no excuse.
pub(crate) fn fallen(losses: &[f64], classes: usize, limit: f64) -> Outcome {
    if losses.len() < 2 * JUDGED_STEPS {
        return Outcome { passed: true, checked: format!("{} steps of warm-up", losses.len()) };
    }
    let average = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let (first, last) = (average(&losses[..JUDGED_STEPS]), average(&losses[losses.len() - JUDGED_STEPS..]));
    let most = limit * first.min((classes as f64).ln());
    let checked = format!("loss {first:.3} to {last:.3} in {} steps (limit {most:.3})", losses.len());
    Outcome { passed: last <= most, checked }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_guesses_has_not_learnt() {
        let check = |first: f64, last: f64| fallen(&[[first; 20], [last; 20]].concat(), 4, 0.85).passed;
        assert!(check(1.4, 1.1));
        assert!(!check(1.4, 1.3));
        assert!(!check(9.0, 1.386), "guessing among four");
        assert!(!check(1.4, f64::NAN));
    }

    #[test]
    fn changes_are_judged_by_their_own_size() {
        let before = [vec![100.0, 100.0]];
        let check = |got: f64| distances("tensors", &[vec![got, 100.0]], &[vec![101.0, 100.0]], Some(&before)).passed;
        assert!(check(101.005));
        assert!(!check(101.05));
    }
}
