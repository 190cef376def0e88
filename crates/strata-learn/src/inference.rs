//! One prediction at a time, as in a machine: weights packed once, memory kept, nothing allocated from the second prediction on.
//!
//! The layers are those of training; so are the bits, since an element of a product is the same sum in the same order however it
//! is computed.

use crate::checkpoint::Trained;
use crate::distilled::Distilled;
use crate::layers::loss::softmax;
use crate::model::Workspace;
use std::time::Instant;

/// A model ready to predict.
pub struct Predictor {
    trained: Trained,
    parameters: Vec<f32>,
    work: Workspace,
    /// The road of the distilled kind.
    distilled: Option<Distilled>,
}

/// Nanoseconds of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Half of them take at most this.
    pub p50: u64,
    /// Ninety of a hundred.
    pub p90: u64,
    /// Ninety-nine of a hundred.
    pub p99: u64,
    /// Predictions in a second, one after the other.
    pub per_second: u64,
}

impl Predictor {
    /// Packs the weights, at the model's precision.
    pub fn new(trained: Trained) -> Self {
        let mut predictor = Self { trained, parameters: Vec::new(), work: Workspace::default(), distilled: None };
        predictor.pack();
        predictor
    }

    fn pack(&mut self) {
        self.trained.precision.apply(self.trained.model.parameters(), &mut self.parameters);
        self.distilled = Distilled::new(&self.trained.model, &self.parameters);
        if self.distilled.is_none() {
            self.trained.model.prepare(&self.parameters, &mut self.work);
        }
    }

    /// What predicts.
    pub fn trained(&self) -> &Trained {
        &self.trained
    }

    /// Changes it; then its weights are packed anew.
    pub fn change(&mut self, change: impl FnOnce(&mut Trained)) {
        change(&mut self.trained);
        self.work = Workspace::default();
        self.pack();
    }

    /// The logits of one history, given as numbers.
    pub fn logits(&mut self, ids: &[u32]) -> &mut [f32] {
        match &mut self.distilled {
            Some(distilled) => distilled.logits(ids),
            None => self.trained.model.forward(&self.parameters, ids, &mut self.work),
        }
    }

    /// The likeliest class; never the unknown.
    pub fn best(&mut self, ids: &[u32]) -> u32 {
        let logits = self.logits(ids);
        greatest(logits.get(1..).unwrap_or_default()).map_or(0, |at| at as u32 + 1)
    }

    /// The `most` likeliest classes whose probability is at least `least`, the best first.
    pub fn likeliest(&mut self, ids: &[u32], most: usize, least: f32, out: &mut Vec<u32>) {
        out.clear();
        if most == 1 && least <= 0.0 {
            out.push(self.best(ids));
            return;
        }
        let row = self.logits(ids);
        softmax(row);
        for _ in 0..most {
            let mut best = (0, 0.0);
            for (class, &value) in row.iter().enumerate().skip(1) {
                if value > best.1 {
                    best = (class, value);
                }
            }
            if best.0 == 0 || best.1 < least {
                break;
            }
            row[best.0] = 0.0;
            out.push(best.0 as u32);
        }
    }

    /// Measures predictions of these histories, one behind the other, each `rounds` times. What reading the clock takes is not
    /// in it.
    pub fn latency(&mut self, ids: &[u32], history: usize, rounds: usize) -> Latency {
        let clock = at_share(&sorted((0..1000).map(|_| timed(|| ())).collect()), 0.5);
        let mut times = Vec::new();
        for round in 0..=rounds {
            for ids in ids.chunks_exact(history) {
                let time = timed(|| self.best(ids)).saturating_sub(clock);
                // The first round warms caches up.
                if round > 0 {
                    times.push(time);
                }
            }
        }
        let times = sorted(times);
        let sum: u64 = times.iter().sum();
        let per_second = (times.len() as u128 * 1_000_000_000 / u128::from(sum.max(1))) as u64;
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| at_share(&times, share));
        Latency { p50, p90, p99, per_second }
    }
}

/// Nanoseconds that something takes, with those of reading the clock.
fn timed<T>(something: impl FnOnce() -> T) -> u64 {
    let begin = Instant::now();
    std::hint::black_box(something());
    begin.elapsed().as_nanos() as u64
}

fn sorted(mut times: Vec<u64>) -> Vec<u64> {
    times.sort_unstable();
    times
}

/// The time that this share of all does not exceed.
fn at_share(sorted: &[u64], share: f64) -> u64 {
    sorted.get((sorted.len() as f64 * share) as usize).copied().unwrap_or(0)
}

/// Where the greatest of some numbers is, the first if there are several.
fn greatest(values: &[f32]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what it was compiled for.
        return unsafe { greatest_avx2(values) };
    }
    greatest_plain(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn greatest_avx2(values: &[f32]) -> Option<usize> {
    greatest_plain(values)
}

/// The greatest value first, then where it is.
#[inline(always)]
fn greatest_plain(values: &[f32]) -> Option<usize> {
    // As many as fill some wide registers.
    const BLOCK: usize = 32;
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    let mut lanes = [f32::NEG_INFINITY; BLOCK];
    for block in blocks {
        for (most, value) in lanes.iter_mut().zip(block) {
            // Not `f32::max`, which must look for numbers that are none.
            *most = if *value > *most { *value } else { *most };
        }
    }
    let most = lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a });
    let mut first = 0;
    for block in blocks {
        // All are compared at once, without a branch for each.
        if block.iter().map(|value| u32::from(*value == most)).sum::<u32>() > 0 {
            break;
        }
        first += BLOCK;
    }
    values[first..].iter().position(|value| *value == most).map(|at| first + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_greatest_is_the_first_of_them() {
        let mut random = Random::new(4);
        for length in [0, 1, 7, 64, 65, 200, 1001] {
            let values: Vec<f32> = (0..length).map(|_| random.below(50) as f32).collect();
            let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let expected = values.iter().position(|value| *value == most);
            assert_eq!((greatest(&values), greatest_plain(&values)), (expected, expected), "{length}");
        }
    }
}
