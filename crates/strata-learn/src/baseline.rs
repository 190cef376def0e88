//! What any engineer would try first: tables that remember deltas. They learn as they go and are judged on the same samples as
//! models; what a sample's label would tell them they only use for later samples.

use crate::access::{Access, Feature};
use crate::dataset::{Dataset, Split};
use crate::score::{Judge, Score};
use crate::vocabulary::{UNKNOWN, Vocabulary};
use rustc_hash::FxHashMap;

/// A predictor that is a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Baseline {
    /// Always the commonest delta of the training part.
    Majority,
    /// The delta that was last seen over the same distance.
    LastDelta,
    /// The last such delta of the same instruction and cluster.
    Stride,
    /// What followed the last delta most recently.
    Markov1,
    /// What followed the last two.
    Markov2,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Majority, Self::LastDelta, Self::Stride, Self::Markov1, Self::Markov2];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Majority => "majority",
            Self::LastDelta => "last delta",
            Self::Stride => "stride per pc and cluster",
            Self::Markov1 => "markov 1",
            Self::Markov2 => "markov 2",
        }
    }

    /// How well it does on the test part of a division; `labels` are the deltas that count, those that models know.
    pub fn score(self, accesses: &[Access], data: &Dataset, split: &Split, labels: &Vocabulary) -> Score {
        let commonest = Vocabulary::of(split.train.iter().map(|&sample| data.label(sample)), 1).value(1);
        let mut tested = split.test.clone();
        tested.sort_unstable();
        let distance = data.task().distance;
        let (mut judge, mut table) = (Judge::default(), FxHashMap::<[i64; 3], i64>::default());
        // Clusters one after the other, each in the order of time: the table of one is not that of another.
        for (sample, access) in data.walk(accesses) {
            let key = |back: usize| -> Option<[i64; 3]> {
                let cluster = i64::from(data.cluster_of(sample));
                let delta = |more: usize| data.page_delta(accesses, sample, back + more);
                Some(match self {
                    Self::Majority => return None,
                    Self::LastDelta => [cluster, 0, 0],
                    Self::Stride => [cluster, data.pc(accesses, sample, back)?, 1],
                    Self::Markov1 => [cluster, delta(0)?, 2],
                    Self::Markov2 => [cluster, delta(0)?, delta(1)?],
                })
            };
            // The label of the request `distance` ago has just become known.
            if let (Some(old), Some(key)) = (data.page_back(accesses, sample, distance), key(distance)) {
                table.insert(key, Feature::PageDelta.of(access, &old));
            }
            if tested.binary_search(&sample).is_ok() {
                let guess = key(0).and_then(|key| table.get(&key).copied()).or(commonest);
                let guess = guess.map_or(UNKNOWN, |delta| labels.number(delta));
                let label = labels.number(data.label(sample));
                judge.guess(guess, label, guess == label);
            }
        }
        judge.score()
    }
}
