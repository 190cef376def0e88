//! One model for one task: data divided, trained, held to a precision, judged.

use super::judged::may_train_on;
use super::study::Row;
use super::{Output, may_write};
use std::path::{Path, PathBuf};
use strata_learn::LearnError;
use strata_learn::access::{Access, Cluster, Feature, Unit};
use strata_learn::checkpoint::Trained;
use strata_learn::dataset::{Dataset, HISTORY, MOST_VALUES, Protocol, Split, Vocabularies};
use strata_learn::model::Model;
use strata_learn::quantise::Precision;
use strata_learn::spec::{Hlsh, Kind, Spec};
use strata_learn::trace_file;
use strata_learn::train::{self, Plan, State};
use strata_run::LabError;
use strata_run::Step;

/// Deltas have converged, so that attention is left out, from this share of the commonest on (choice: the paper has 0.9926 for
/// ATAX as an example and no bound).
const CONVERGED: f64 = 0.9;

/// What to train, and how much.
#[derive(Clone, Debug)]
pub struct Fitting {
    /// The model.
    pub kind: Kind,
    /// What its weights are held to.
    pub precision: Precision,
    /// How samples are divided.
    pub protocol: Protocol,
    /// How many requests ahead it predicts.
    pub distance: usize,
    /// What it predicts.
    pub unit: Unit,
    /// Another clustering than the kind's own.
    pub cluster: Option<Cluster>,
    /// Other features than the kind's own.
    pub features: Option<Vec<Feature>>,
    /// Requests that a history has at least.
    pub least: usize,
    /// Sequences to train on, at most, evenly spaced.
    pub sequences: usize,
    /// Passes over them.
    pub epochs: usize,
    /// Step length at the beginning.
    pub rate: f32,
    /// Seed of parameters, order and division.
    pub seed: u64,
    /// The share of each trace that is used, from its beginning.
    pub share: f64,
    /// Room for so many values and classes, for what is learned later.
    pub room: Option<usize>,
    /// Stop when the validation part is predicted this well.
    pub enough: Option<f64>,
    /// Leave attention out: none decides by convergence.
    pub bypass: Option<bool>,
    /// Attention is thinned by hashing: none leaves that to the kind.
    pub hashed: Option<bool>,
    /// Thresholds and form of hashing.
    pub hlsh: Hlsh,
    /// The requests of a history are in random order.
    pub shuffled: bool,
    /// Threads; results do not depend on them.
    pub threads: usize,
}

impl Fitting {
    /// The paper's: a model of a kind, at a distance of 1.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            precision: Precision::Float,
            protocol: Protocol::Paper,
            distance: 1,
            unit: Unit::Page,
            cluster: None,
            features: None,
            least: HISTORY,
            sequences: 20_000,
            epochs: if kind == Kind::Transformer { 12 } else { 60 },
            rate: if kind == Kind::Transformer { 5e-4 } else { 2e-3 },
            seed: 1,
            share: 1.0,
            room: None,
            enough: None,
            bypass: None,
            hashed: None,
            hlsh: Hlsh::default(),
            shuffled: false,
            threads: strata_run::parallel::threads(),
        }
    }

    /// The same for blocks or roots, whose first requests tell more of an array than of a warp. Program counters are of one program
    /// alone: a predictor that knows them does worse on others (leaving each of five out, 0.24 right of first touches; without, 0.36).
    #[must_use]
    pub fn of_unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        let delta = match unit {
            Unit::Page => return self,
            Unit::Block => Feature::BlockDelta,
            Unit::Root => Feature::RootDelta,
        };
        (self.cluster, self.features, self.least) = (Some(Cluster::Array), Some(vec![delta, Feature::Hit]), 1);
        self
    }

    /// Sequences of a trace, and how they are divided.
    pub(super) fn data(&self, accesses: &[Access]) -> Result<(Dataset, Split, Vocabularies), LabError> {
        let mut task = self.kind.task(self.distance);
        task.unit = self.unit;
        task.cluster = self.cluster.unwrap_or(task.cluster);
        task.least = self.least;
        task.shuffled = self.shuffled;
        task.features = self.features.clone().unwrap_or(task.features);
        let data = Dataset::new(accesses, task).map_err(LabError::other)?;
        let split = data.split(self.protocol, self.seed, self.sequences);
        if split.train.is_empty() || split.test.is_empty() {
            let (protocol, count) = (self.protocol.name(), split.train.len() + split.test.len());
            let what =
                format!("{count} sequences are too few to be divided by protocol `{protocol}`: take or record more");
            return Err(LabError::other(LearnError::Empty(what)));
        }
        // The paper numbers every delta of a trace; who is tested on what it has not seen knows only what it has.
        let seen = if self.protocol == Protocol::Paper { data.samples() } else { &split.train };
        let words = data.vocabularies(seen, self.room.map_or(MOST_VALUES, |room| room - 1));
        Ok((data, split, words))
    }

    fn spec(&self, data: &Dataset, split: &Split, words: &Vocabularies) -> Spec {
        let mut spec = Spec::new(self.kind, data.task(), words);
        spec.seed = self.seed;
        if self.hashed.unwrap_or(spec.hlsh.is_some()) {
            spec.hlsh = Some(self.hlsh);
            // Queries and keys are shared, which is written for one head.
            spec.heads = 1;
        } else {
            spec.hlsh = None;
        }
        let converged = || data.convergence(&split.train) >= CONVERGED;
        spec.bypass = self.kind == Kind::Revised && self.bypass.unwrap_or_else(converged);
        if let Some(room) = self.room {
            spec.classes = room;
            for (_, size, _) in &mut spec.features {
                *size = (*size).max(room);
            }
        }
        spec
    }

    fn plan(&self) -> Plan {
        Plan {
            epochs: self.epochs,
            rate: self.rate,
            seed: self.seed,
            enough: self.enough,
            // The paper's protocol tests on what it trained on: there is nothing that stopping early would protect.
            patience: Plan::default().patience.filter(|_| self.protocol != Protocol::Paper),
            threads: self.threads,
            ..Plan::default()
        }
    }

    /// Trains a model of real numbers.
    pub(super) fn fit(
        &self,
        (data, split, words): (&Dataset, &Split, &Vocabularies),
        resumed: Option<(Model, State)>,
        heard: &mut dyn FnMut(train::Progress),
        saved: &mut dyn FnMut(&Model, &State),
    ) -> Model {
        let (mut model, mut state) = resumed.unwrap_or_else(|| {
            let model = Model::new(self.spec(data, split, words));
            let state = State::new(&model);
            (model, state)
        });
        train::train(&mut model, (data, split, words), &self.plan(), &mut state, heard, saved);
        model
    }

    /// The model held to a precision: trained further under it, for a quarter of the epochs and at half of the step length, since
    /// logits that had grown large must find room between the bounds.
    pub(super) fn held_to(
        &self,
        precision: Precision,
        model: &Model,
        data: (&Dataset, &Split, &Vocabularies),
    ) -> Model {
        let mut spec = model.spec().clone();
        spec.clamps = precision == Precision::Clamped && spec.kind != Kind::Distilled;
        let mut held = Model::new(spec);
        held.parameters_mut().copy_from_slice(model.parameters());
        if precision != Precision::Float {
            let epochs = self.epochs.div_ceil(4);
            let plan = Plan { epochs, rate: self.rate / 2.0, enough: None, precision, ..self.plan() };
            let mut state = State::new(&held);
            train::train(&mut held, data, &plan, &mut state, &mut |_| (), &mut |_, _| ());
        }
        held
    }
}

/// The requests of traces, one behind the other, each from its beginning on; those of different traces are in different clusters.
pub(super) fn requests(traces: &[PathBuf], share: f64) -> Result<Vec<Access>, LabError> {
    let mut all = Vec::new();
    for (k, path) in traces.iter().enumerate() {
        let mut accesses = trace_file::read(path).map_err(LabError::other)?;
        accesses.truncate(((accesses.len() as f64 * share) as usize).max(1));
        all.extend(accesses.into_iter().map(|access| Access { run: k as u32, ..access }));
    }
    Ok(all)
}

/// Trains a model on traces and saves it; goes on with what is there if `resume`. The row says how good it is.
pub fn train(
    traces: &[PathBuf],
    fitting: &Fitting,
    output: &Path,
    resume: bool,
    begins: &mut dyn FnMut(Step<'_>),
) -> Result<(Row, Vec<train::Epoch>), LabError> {
    traces.iter().try_for_each(|path| may_train_on(path))?;
    may_write(Output::Checkpoint, output)?;
    let accesses = requests(traces, fitting.share)?;
    let (data, split, words) = fitting.data(&accesses)?;
    let origin = traces.iter().map(|path| workload(path)).collect::<Vec<_>>().join(", ");
    let mut resumed = None;
    let unfinished = output.with_extension("training.safetensors");
    if resume && unfinished.exists() {
        let (trained, state) = Trained::load(&unfinished).map_err(LabError::other)?;
        let spec = fitting.spec(&data, &split, &words);
        if trained.words != words || trained.task != *data.task() || *trained.model.spec() != spec {
            let what =
                "is another model, or was trained on other data or another task: leave `--resume` out to begin anew";
            return Err(LabError::other(LearnError::Mismatch(format!("`{}` {what}", unfinished.display()))));
        }
        resumed = state.map(|state| (trained.model, state));
    }
    let (mut curve, mut failed) = (Vec::new(), None);
    let as_trained = |model: &Model, precision: Precision| {
        let mut copy = Model::new(model.spec().clone());
        copy.parameters_mut().copy_from_slice(model.parameters());
        Trained { task: data.task().clone(), words: words.clone(), model: copy, precision, origin: origin.clone() }
    };
    let mut heard = |p: train::Progress| {
        begins(Step { done: p.step, of: p.steps, left: None, name: &format!("{origin}: loss {:.4}", p.loss) });
    };
    let mut saved = |model: &Model, state: &State| {
        curve.clone_from(&state.curve);
        failed = failed.take().or(as_trained(model, Precision::Float).save(&unfinished, Some(state)).err());
    };
    let all = (&data, &split, &words);
    let model = fitting.fit(all, resumed, &mut heard, &mut saved);
    if let Some(error) = failed {
        return Err(LabError::other(error));
    }
    let model = fitting.held_to(fitting.precision, &model, all);
    let trained = as_trained(&model, fitting.precision);
    trained.save(output, None).map_err(LabError::other)?;
    // What was only kept to go on with is not needed any more.
    let _ = std::fs::remove_file(&unfinished);
    let row = Row::judged(&origin, fitting, trained, all);
    Ok((row, curve))
}

/// What the program of a trace is called: the file without what is behind its first dot.
pub(super) fn workload(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}
