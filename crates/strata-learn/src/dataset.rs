//! Sequences to learn from: requests in clusters, their features as numbers, and what comes `distance` requests later.
//!
//! A sample is the request at its end: the history is that request and the 29 before it in its cluster, the label is the page
//! `distance` requests later less its own page.

use crate::access::{Access, Cluster, Feature, FirstTouches, Unit};
use crate::error::LearnError;
use crate::random::Random;
use crate::vocabulary::{UNKNOWN, Vocabulary};
use serde::{Deserialize, Serialize};

/// Requests of a history (prefetching paper, section 4).
pub const HISTORY: usize = 30;

/// Values of a feature, or classes, that get a number of their own; the paper's largest vocabulary has about 4,100.
pub const MOST_VALUES: usize = 8191;

/// What is to be predicted from what.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Which requests make a sequence.
    pub cluster: Cluster,
    /// What is known of each.
    pub features: Vec<Feature>,
    /// How many requests later: 1 to 30.
    pub distance: usize,
    /// What is predicted, and which requests count.
    #[serde(default)]
    pub unit: Unit,
    /// Requests that a history has at least, 1 to 30; before the first there are unknown ones. The paper's sequences are whole;
    /// in a machine, warps must be foreseen that have just begun.
    pub least: usize,
    /// The requests of a history are in random order: what order is worth (section 5.4).
    #[serde(default)]
    pub shuffled: bool,
}

/// How samples are divided (the first is the paper's).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// Trained on 80 % at random, validated on the rest, tested on everything.
    Paper,
    /// Trained on the first 80 % of time, tested on the last 20 %.
    HeldOutInTime,
    /// Trained on 80 % at random, tested on the other 20 %.
    HeldOutAtRandom,
    /// Trained on the first 50 million thread instructions, tested on the next 50 million (section 7.2); of a program whose
    /// first half of requests comes sooner, on its halves.
    NextWindow,
}

/// Thread instructions of a window (prefetching paper, section 7.2).
const WINDOW: u64 = 50_000_000;

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Paper, Self::HeldOutInTime, Self::HeldOutAtRandom, Self::NextWindow];

    /// Its name in tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::HeldOutInTime => "time",
            Self::HeldOutAtRandom => "random",
            Self::NextWindow => "window",
        }
    }
}

/// Which samples are for what.
#[derive(Clone, PartialEq, Debug)]
pub struct Split {
    /// To learn from.
    pub train: Vec<u32>,
    /// To know when to stop.
    pub validate: Vec<u32>,
    /// To be judged by.
    pub test: Vec<u32>,
}

/// The vocabularies of a task.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Vocabularies {
    /// One for each feature of the task.
    pub features: Vec<Vocabulary>,
    /// The deltas that can be predicted.
    pub labels: Vocabulary,
}

/// Requests grouped by cluster, with features and labels as values.
pub struct Dataset {
    task: Task,
    /// By position in the grouped order: the place in time, the first position of the cluster.
    time: Vec<u32>,
    begins: Vec<u32>,
    features: Vec<i64>,
    labels: Vec<i64>,
    /// By place in time: thread instructions issued before it.
    instructions: Vec<u64>,
    /// Positions with a whole history and a label, in the order of time.
    samples: Vec<u32>,
}

impl Dataset {
    /// Of a trace; an error if no cluster is long enough for a single sequence.
    pub fn new(accesses: &[Access], task: Task) -> Result<Self, LearnError> {
        let mut touches = FirstTouches::default();
        let mut order: Vec<u32> =
            (0..accesses.len() as u32).filter(|&at| touches.counts(task.unit, &accesses[at as usize])).collect();
        let cluster = |at: u32| {
            let access = &accesses[at as usize];
            (access.run, task.cluster.key(access))
        };
        order.sort_by_key(|&at| cluster(at));
        let key = |at: usize| cluster(order[at]);
        let (mut begins, mut features) = (Vec::with_capacity(order.len()), Vec::new());
        for at in 0..order.len() {
            let begin = if at > 0 && key(at) == key(at - 1) { begins[at - 1] } else { at as u32 };
            begins.push(begin);
            let access = &accesses[order[at] as usize];
            let before = if begin as usize == at { access } else { &accesses[order[at - 1] as usize] };
            features.extend(task.features.iter().map(|feature| feature.of(access, before)));
        }
        let (mut labels, mut samples) = (vec![0; order.len()], Vec::new());
        for at in 0..order.len() {
            let later = at + task.distance;
            if begins.get(later) == Some(&begins[at]) {
                let [from, to] = [at, later].map(|at| &accesses[order[at] as usize]);
                labels[at] = task.unit.delta(to, from);
                if at + 1 >= begins[at] as usize + task.least {
                    samples.push(at as u32);
                }
            }
        }
        if samples.is_empty() {
            let Task { cluster, distance, least, .. } = task;
            return Err(LearnError::Empty(format!(
                "none of the clusters by {} has {least} requests and {distance} behind them: record a longer run, or take \
                 `--least-history 1` or another `--cluster`",
                cluster.name()
            )));
        }
        samples.sort_unstable_by_key(|&at| order[at as usize]);
        let instructions = accesses.iter().map(|access| access.instructions).collect();
        Ok(Self { task, time: order, begins, features, labels, instructions, samples })
    }

    /// What is to be predicted from what.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// All samples, in the order of time.
    pub fn samples(&self) -> &[u32] {
        &self.samples
    }

    /// Divides at most `most` samples, evenly spaced in time. They are chosen first: what the paper's protocol tests on is what
    /// it trained and validated on, whatever the number.
    pub fn split(&self, protocol: Protocol, seed: u64, most: usize) -> Split {
        let all = if protocol == Protocol::NextWindow { self.windows() } else { self.samples.clone() };
        let samples = evenly_spaced(&all, most);
        let (mut train, mut other) = (Vec::new(), Vec::new());
        for (&sample, is_trained) in samples.iter().zip(self.trained(protocol, seed, &samples)) {
            if is_trained { train.push(sample) } else { other.push(sample) }
        }
        if protocol == Protocol::Paper {
            return Split { train, validate: other, test: samples };
        }
        // What is tested on is not used to decide when to stop: a tenth of the training part is.
        let validate: Vec<u32> = train.iter().copied().skip(9).step_by(10).collect();
        let mut k = 0;
        train.retain(|_| {
            k += 1;
            k % 10 != 0
        });
        Split { train, validate, test: other }
    }

    /// Whether each of these samples is one to learn from.
    fn trained(&self, protocol: Protocol, seed: u64, samples: &[u32]) -> Vec<bool> {
        if protocol == Protocol::NextWindow {
            let (window, _) = self.window();
            return samples.iter().map(|&sample| self.instructions_at(sample) < window).collect();
        }
        let count = samples.len();
        // Four of five, and one at least is left.
        let trained = (count.div_ceil(5) * 4).min(count.saturating_sub(1));
        let mut kinds: Vec<bool> = (0..count).map(|k| k < trained).collect();
        if protocol != Protocol::HeldOutInTime {
            Random::new(seed ^ 0x0073_706c_6974).shuffle(&mut kinds);
        }
        kinds
    }

    /// Thread instructions of the first window and of both: those of the paper, or of the first half of all requests and of all.
    fn window(&self) -> (u64, u64) {
        let half = self.instructions.get(self.instructions.len() / 2).copied().unwrap_or(0);
        if half > WINDOW { (WINDOW, 2 * WINDOW) } else { (half, u64::MAX) }
    }

    fn instructions_at(&self, sample: u32) -> u64 {
        self.instructions[self.time[sample as usize] as usize]
    }

    /// The samples of the first two windows.
    fn windows(&self) -> Vec<u32> {
        let (_, end) = self.window();
        self.samples.iter().copied().filter(|&sample| self.instructions_at(sample) <= end).collect()
    }

    /// The vocabularies of some samples: of their histories' features and of their labels.
    pub fn vocabularies(&self, samples: &[u32], most: usize) -> Vocabularies {
        let width = self.task.features.len();
        let of_feature = |k: usize| {
            let values = samples.iter().map(|&at| self.features[at as usize * width + k]);
            Vocabulary::of(values, most)
        };
        let labels = Vocabulary::of(samples.iter().map(|&at| self.label(at)), most);
        Vocabularies { features: (0..width).map(of_feature).collect(), labels }
    }

    /// Adds to vocabularies what samples have that is not in them, as far as there is room.
    pub fn teach(&self, samples: &[u32], words: &mut Vocabularies, rooms: &[usize], classes: usize) {
        let width = self.task.features.len();
        for (k, (words, &room)) in words.features.iter_mut().zip(rooms).enumerate() {
            words.learn(samples.iter().map(|&at| self.features[at as usize * width + k]), room);
        }
        words.labels.learn(samples.iter().map(|&at| self.label(at)), classes);
    }

    /// The delta that a sample is to predict.
    pub fn label(&self, sample: u32) -> i64 {
        self.labels[sample as usize]
    }

    /// The histories of samples as numbers, token by token, and their labels.
    pub fn batch(&self, samples: &[u32], words: &Vocabularies, ids: &mut Vec<u32>, labels: &mut Vec<u32>) {
        let width = self.task.features.len();
        ids.clear();
        labels.clear();
        let mut order = Vec::with_capacity(HISTORY);
        for &sample in samples {
            let begin = self.begins[sample as usize] as usize;
            let first = (sample as usize + 1).saturating_sub(HISTORY).max(begin);
            let missing = HISTORY - (sample as usize + 1 - first);
            ids.resize(ids.len() + missing * width, UNKNOWN);
            order.clear();
            order.extend(first..=sample as usize);
            if self.task.shuffled {
                Random::new(u64::from(sample)).shuffle(&mut order);
            }
            for &at in &order {
                let token = self.features[at * width..(at + 1) * width].iter();
                ids.extend(token.zip(&words.features).map(|(value, words)| words.number(*value)));
            }
            labels.push(words.labels.number(self.label(sample)));
        }
    }

    /// All requests, cluster by cluster, each in the order of time: position and request.
    pub(crate) fn walk<'a>(&'a self, accesses: &'a [Access]) -> impl Iterator<Item = (u32, &'a Access)> {
        self.time.iter().enumerate().map(|(at, &time)| (at as u32, &accesses[time as usize]))
    }

    /// What tells one cluster from another: where it begins.
    pub(crate) fn cluster_of(&self, position: u32) -> u32 {
        self.begins[position as usize]
    }

    /// The request `back` before a position in its cluster.
    pub(crate) fn page_back(&self, accesses: &[Access], position: u32, back: usize) -> Option<Access> {
        let at = (position as usize).checked_sub(back)?;
        (at >= self.begins[position as usize] as usize).then(|| accesses[self.time[at] as usize])
    }

    /// The delta by which the request `back` before a position was reached.
    pub(crate) fn page_delta(&self, accesses: &[Access], position: u32, back: usize) -> Option<i64> {
        let (to, from) = (self.page_back(accesses, position, back)?, self.page_back(accesses, position, back + 1)?);
        Some(Feature::PageDelta.of(&to, &from))
    }

    /// The program counter of that request.
    pub(crate) fn pc(&self, accesses: &[Access], position: u32, back: usize) -> Option<i64> {
        self.page_back(accesses, position, back).map(|access| access.pc.into())
    }

    /// The share of the commonest label: the paper's convergence of deltas (section 5.4).
    pub fn convergence(&self, samples: &[u32]) -> f64 {
        let commonest = Vocabulary::of(samples.iter().map(|&at| self.label(at)), 1);
        let same = samples.iter().filter(|&&at| commonest.number(self.label(at)) != UNKNOWN).count();
        same as f64 / samples.len().max(1) as f64
    }
}

/// At most `most` of them, evenly spaced.
pub fn evenly_spaced(samples: &[u32], most: usize) -> Vec<u32> {
    if samples.len() <= most {
        return samples.to_vec();
    }
    (0..most).map(|k| samples[(k as u128 * samples.len() as u128 / most as u128) as usize]).collect()
}
