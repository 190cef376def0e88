//! A predictor in a machine: it hears requests, keeps a history per cluster, predicts as of the last one, and is trained on what
//! it has heard every so many instructions.
//!
//! Training costs no simulated time, as in the prefetching paper (section 7.3).

use crate::access::{Access, FirstTouches, Unit};
use crate::dataset::{Dataset, HISTORY, Split, Vocabularies, evenly_spaced};
use crate::inference::Predictor;
use crate::train::{Plan, State, train};
use crate::vocabulary::UNKNOWN;
use rustc_hash::FxHashMap;

/// How it predicts and learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Pages of a prediction, at most.
    pub top: usize,
    /// Their least probability.
    pub confidence: f32,
    /// Thread instructions between trainings.
    pub fine_tune: Option<u64>,
}

/// Sequences of one training, and passes over them: so that a run does not take much longer for it.
const SEQUENCES: usize = 4096;
const EPOCHS: usize = 4;
/// The step length of fine-tuning: that of training (choice).
const RATE: f32 = 2e-3;
/// Requests that are remembered for the next training, at most: beyond them, those that came first.
const REMEMBERED: usize = 1 << 22;

/// The last requests of a cluster.
struct History {
    ids: Vec<u32>,
    last: Access,
}

/// The predictor.
pub struct Online {
    predictor: Predictor,
    rules: Rules,
    touches: FirstTouches,
    histories: FxHashMap<u64, History>,
    /// The cluster of the last request.
    current: Option<u64>,
    heard: Vec<Access>,
    next_training: u64,
    trainings: u64,
    classes: Vec<u32>,
}

impl Online {
    /// Nothing heard yet.
    pub fn new(predictor: Predictor, rules: Rules) -> Self {
        let next_training = rules.fine_tune.unwrap_or(u64::MAX);
        Self {
            predictor,
            rules,
            touches: FirstTouches::default(),
            histories: FxHashMap::default(),
            current: None,
            heard: Vec::new(),
            next_training,
            trainings: 0,
            classes: Vec::new(),
        }
    }

    /// Trainings so far.
    pub fn trainings(&self) -> u64 {
        self.trainings
    }

    /// What it foresees.
    pub fn unit(&self) -> Unit {
        self.predictor.trained().task.unit
    }

    /// A request, after so many thread instructions; false if it does not count for the unit.
    pub fn observe(&mut self, access: &Access) -> bool {
        if let Some(every) = self.rules.fine_tune {
            if access.instructions >= self.next_training {
                self.fine_tune();
                self.next_training = access.instructions - access.instructions % every + every;
            }
            if self.heard.len() < REMEMBERED {
                self.heard.push(*access);
            }
        }
        self.current = None;
        let trained = self.predictor.trained();
        if !self.touches.counts(trained.task.unit, access) {
            return false;
        }
        let key = trained.task.cluster.key(access);
        let width = trained.task.features.len();
        let history = self.histories.entry(key).or_insert_with(|| {
            // Before the first request there are unknown ones.
            History { ids: vec![UNKNOWN; HISTORY * width], last: *access }
        });
        history.ids.copy_within(width.., 0);
        let words = trained.task.features.iter().zip(&trained.words.features);
        for (id, (feature, words)) in history.ids[(HISTORY - 1) * width..].iter_mut().zip(words) {
            *id = words.number(feature.of(access, &history.last));
        }
        history.last = *access;
        self.current = Some(key);
        true
    }

    /// The pages that will be asked for next in the cluster of the last request, likeliest first.
    pub fn predict(&mut self, pages: &mut Vec<u64>) {
        let Some(history) = self.current.and_then(|key| self.histories.get(&key)) else { return };
        self.predictor.likeliest(&history.ids, self.rules.top, self.rules.confidence, &mut self.classes);
        let trained = self.predictor.trained();
        let deltas = self.classes.iter().filter_map(|&class| trained.words.labels.value(class));
        pages.extend(deltas.filter_map(|delta| trained.task.unit.after(history.last.page, delta)));
    }

    /// Learns from what was heard since the last time.
    fn fine_tune(&mut self) {
        let heard = std::mem::take(&mut self.heard);
        let trained = self.predictor.trained();
        // Too little to learn from is no reason to stop the program.
        let Ok(data) = Dataset::new(&heard, trained.task.clone()) else { return };
        let samples = evenly_spaced(data.samples(), SEQUENCES);
        let (validate, train_on): (Vec<_>, Vec<_>) = samples.iter().enumerate().partition(|(k, _)| k % 10 == 0);
        let values = |part: Vec<(usize, &u32)>| part.into_iter().map(|(_, &sample)| sample).collect::<Vec<u32>>();
        let split = Split { train: values(train_on), validate: values(validate), test: Vec::new() };
        self.trainings += 1;
        let seed = self.trainings;
        self.predictor.change(|trained| {
            let spec = trained.model.spec();
            let rooms: Vec<usize> = spec.features.iter().map(|(_, size, _)| size - 1).collect();
            let classes = spec.classes - 1;
            data.teach(&samples, &mut trained.words, &rooms, classes);
            let plan = Plan { epochs: EPOCHS, rate: RATE, seed, precision: trained.precision, ..Plan::default() };
            let mut state = State::new(&trained.model);
            let words: Vocabularies = trained.words.clone();
            train(&mut trained.model, (&data, &split, &words), &plan, &mut state, &mut |_| (), &mut |_, _| ());
        });
    }
}
