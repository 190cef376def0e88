//! Models, baselines, protocols and precisions side by side on traces: the tables of the prefetching paper.

use super::fit::{Fitting, requests, workload};
use super::of_trace;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use strata_learn::LearnError;
use strata_learn::access::Access;
use strata_learn::baseline::Baseline;
use strata_learn::checkpoint::Trained;
use strata_learn::dataset::{Dataset, HISTORY, Protocol, Split, Vocabularies, evenly_spaced};
use strata_learn::inference::{Latency, Predictor};
use strata_learn::memory::{activations_bytes, parameters_bytes};
use strata_learn::quantise::Precision;
use strata_learn::score::Score;
use strata_learn::spec::Kind;
use strata_learn::train::evaluate;
use strata_run::LabError;
use strata_run::Step;
use strata_run::table::{Align, columns};

/// One model or baseline, judged on one trace.
pub struct Row {
    /// The program.
    pub workload: String,
    /// The model or baseline.
    pub model: String,
    /// How samples were divided; none were for a checkpoint that is judged as it is.
    pub protocol: Option<Protocol>,
    /// What weights are held to.
    pub precision: Precision,
    /// Requests ahead.
    pub distance: usize,
    /// What makes a sequence.
    pub cluster: &'static str,
    /// How good it is.
    pub score: Score,
    /// Classes, the unknown included.
    pub classes: usize,
    /// Bytes as Tables 6 and 7 count them.
    pub parameters_bytes: u64,
    /// See above.
    pub activations_bytes: u64,
    /// Multiplications of a prediction.
    pub multiplications: u64,
    /// Measured on this machine; of models only.
    pub latency: Option<Latency>,
}

/// Histories that are timed for each row, and how often each.
const fn timed(kind: Kind) -> (usize, usize) {
    match kind {
        Kind::Distilled => (100, 100),
        Kind::Transformer => (10, 1),
        _ => (100, 5),
    }
}

impl Row {
    /// A trained model on the test part.
    pub(super) fn judged(
        program: &str,
        fitting: &Fitting,
        trained: Trained,
        (data, split, words): (&Dataset, &Split, &Vocabularies),
    ) -> Self {
        let precision = trained.precision;
        let model = &trained.model;
        let (_, score) = evaluate(model, precision, (data, words), &split.test, fitting.threads);
        let mut row = Self {
            workload: program.to_owned(),
            model: model.spec().kind.name().to_owned() + if model.spec().bypass { " (bypass)" } else { "" },
            protocol: (!split.train.is_empty()).then_some(fitting.protocol),
            precision,
            distance: data.task().distance,
            cluster: data.task().cluster.name(),
            score,
            classes: model.spec().classes,
            parameters_bytes: parameters_bytes(model, precision),
            activations_bytes: activations_bytes(model, precision),
            multiplications: model.multiplications(),
            latency: None,
        };
        let (mut ids, mut labels) = (Vec::new(), Vec::new());
        let (histories, rounds) = timed(model.spec().kind);
        data.batch(&evenly_spaced(&split.test, histories), words, &mut ids, &mut labels);
        let history = HISTORY * data.task().features.len();
        row.latency = Some(Predictor::new(trained).latency(&ids, history, rounds));
        row
    }

    fn table(program: &str, protocol: Option<Protocol>, table: Baseline, data: &Dataset, score: Score) -> Self {
        Self {
            workload: program.to_owned(),
            model: table.name().to_owned(),
            protocol,
            precision: Precision::Float,
            distance: data.task().distance,
            cluster: data.task().cluster.name(),
            score,
            classes: 0,
            parameters_bytes: 0,
            activations_bytes: 0,
            multiplications: 0,
            latency: None,
        }
    }

    fn protocol_name(&self) -> &'static str {
        self.protocol.map_or("all of it", Protocol::name)
    }

    /// For scripts.
    pub fn to_json(&self) -> Value {
        let of_model = |value: Value| if self.latency.is_some() { value } else { Value::Null };
        json!({
            "model": self.model,
            "workload": self.workload,
            "protocol": self.protocol_name(),
            "precision": of_model(json!(self.precision.name())),
            "distance": self.distance,
            "cluster": self.cluster,
            "top1": self.score.top1,
            "top10": of_model(json!(self.score.top10)),
            "f1": self.score.f1,
            "samples": self.score.samples,
            "classes": self.classes,
            "parameters_bytes": self.parameters_bytes,
            "activations_bytes": self.activations_bytes,
            "multiplications": self.multiplications,
            "latency_ns": self.latency.map(|latency| {
                json!({ "p50": latency.p50, "p90": latency.p90, "p99": latency.p99 })
            }),
            "predictions_per_second": self.latency.map(|latency| latency.per_second),
        })
    }
}

/// What is set side by side.
#[derive(Clone)]
pub struct Study {
    /// Models to train; with a checkpoint, the first one's number of sequences is judged and nothing is trained.
    pub models: Vec<Fitting>,
    /// How samples are divided.
    pub protocols: Vec<Protocol>,
    /// What weights are held to.
    pub precisions: Vec<Precision>,
    /// A trained model to be judged as it is.
    pub checkpoint: Option<PathBuf>,
}

/// Judges everything on every trace.
pub fn study(traces: &[PathBuf], study: &Study, begins: &mut dyn FnMut(Step<'_>)) -> Result<Vec<Row>, LabError> {
    let mut rows = Vec::new();
    let jobs = traces.len() * study.protocols.len() * study.models.len().max(1);
    let mut job = 0;
    for path in traces {
        let program = workload(path);
        let accesses = requests(std::slice::from_ref(path), 1.0)?;
        if let Some(checkpoint) = &study.checkpoint {
            begins(Step { done: job, of: jobs, left: None, name: &program });
            let (trained, _) = Trained::load(checkpoint).map_err(LabError::other)?;
            let most = study.models.first().map_or(usize::MAX, |fitting| fitting.sequences);
            rows.extend(checkpoint_rows(&program, trained, &accesses, most)?);
            job += 1;
            continue;
        }
        for &protocol in &study.protocols {
            let mut judged_clusters = Vec::new();
            for fitting in &study.models {
                let fitting = Fitting { protocol, ..fitting.clone() };
                let name = format!("{program}, {}, {}", fitting.kind.name(), protocol.name());
                begins(Step { done: job, of: jobs, left: None, name: &name });
                job += 1;
                let (data, split, words) = fitting.data(&accesses).map_err(|error| of_trace(path, error))?;
                let all = (&data, &split, &words);
                if !judged_clusters.contains(&data.task().cluster) {
                    judged_clusters.push(data.task().cluster);
                    rows.extend(tables(&program, &fitting, &accesses, all));
                }
                let model = fitting.fit(all, None, &mut |_| (), &mut |_, _| ());
                for &precision in &study.precisions {
                    let held = fitting.held_to(precision, &model, all);
                    let (task, words) = (data.task().clone(), words.clone());
                    let trained = Trained { task, words, model: held, precision, origin: program.clone() };
                    rows.push(Row::judged(&program, &fitting, trained, all));
                }
            }
        }
    }
    Ok(rows)
}

/// What tables make of the sequences of a fitting.
fn tables(
    program: &str,
    fitting: &Fitting,
    accesses: &[Access],
    (data, split, words): (&Dataset, &Split, &Vocabularies),
) -> Vec<Row> {
    let is_trained = !split.train.is_empty();
    let judged = |table: Baseline| {
        let score = table.score(accesses, data, split, &words.labels);
        Row::table(program, is_trained.then_some(fitting.protocol), table, data, score)
    };
    // Without a training part no delta is its commonest.
    Baseline::ALL.into_iter().filter(|table| is_trained || *table != Baseline::Majority).map(judged).collect()
}

/// The tables alone, on a trace.
pub fn study_tables(trace: &Path, fitting: &Fitting) -> Result<Vec<Row>, LabError> {
    let accesses = requests(std::slice::from_ref(&trace.to_owned()), 1.0)?;
    let (data, split, words) = fitting.data(&accesses)?;
    Ok(tables(&workload(trace), fitting, &accesses, (&data, &split, &words)))
}

/// A checkpoint on at most `most` sequences of a trace that it may never have seen, and tables beside it.
fn checkpoint_rows(program: &str, trained: Trained, accesses: &[Access], most: usize) -> Result<Vec<Row>, LabError> {
    let fitting = Fitting::new(trained.model.spec().kind);
    let data = Dataset::new(accesses, trained.task.clone()).map_err(LabError::other)?;
    let words = trained.words.clone();
    let known = data.samples().iter().any(|&sample| words.labels.number(data.label(sample)) != 0);
    if !known {
        return Err(LabError::other(LearnError::Mismatch(format!(
            "vocabulary mismatch: the checkpoint (of {}) knows none of the deltas of `{program}`; train one on it",
            trained.origin
        ))));
    }
    let test = evenly_spaced(data.samples(), most);
    let split = Split { train: Vec::new(), validate: Vec::new(), test };
    let mut rows = tables(program, &fitting, accesses, (&data, &split, &words));
    rows.push(Row::judged(program, &fitting, trained, (&data, &split, &words)));
    Ok(rows)
}

/// For scripts: all rows; of one row, its keys beside them.
pub fn to_json(rows: &[Row]) -> Value {
    let mut all = json!({ "rows": rows.iter().map(Row::to_json).collect::<Vec<_>>() });
    if let ([row], Value::Object(all)) = (rows, &mut all)
        && let Value::Object(own) = row.to_json()
    {
        all.extend(own);
    }
    all
}

/// For people: the rows, and the mean of every model over programs.
pub fn table(rows: &[Row]) -> String {
    const HEADINGS: [(&str, Align); 11] = [
        ("program", Align::Left),
        ("protocol", Align::Left),
        ("model", Align::Left),
        ("precision", Align::Left),
        ("cluster", Align::Left),
        ("top-1", Align::Right),
        ("top-10", Align::Right),
        ("F1", Align::Right),
        ("classes", Align::Right),
        ("KB", Align::Right),
        ("median ns", Align::Right),
    ];
    let share = |x: f64| format!("{x:.4}");
    let line = |row: &Row| {
        let model = row.latency.is_some();
        let only = |text: String| if model { text } else { String::new() };
        vec![
            row.workload.clone(),
            row.protocol_name().to_owned(),
            row.model.clone(),
            only(row.precision.name().to_owned()),
            row.cluster.to_owned(),
            share(row.score.top1),
            only(share(row.score.top10)),
            share(row.score.f1),
            only(row.classes.to_string()),
            only(format!("{:.1}", row.parameters_bytes as f64 / 1e3)),
            row.latency.map_or_else(String::new, |latency| latency.p50.to_string()),
        ]
    };
    let mut lines: Vec<_> = rows.iter().map(line).collect();
    let mut programs: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    programs.dedup();
    if programs.len() > 1 {
        let key =
            |row: &Row| (row.protocol_name(), row.model.replace(" (bypass)", ""), row.precision.name(), row.cluster);
        let mut keys: Vec<_> = Vec::new();
        for row in rows {
            if !keys.contains(&key(row)) {
                keys.push(key(row));
            }
        }
        for own in keys {
            let of: Vec<&Row> = rows.iter().filter(|row| key(row) == own).collect();
            let mean = |value: &dyn Fn(&Row) -> f64| of.iter().map(|row| value(row)).sum::<f64>() / of.len() as f64;
            lines.push(vec![
                format!("mean of {}", of.len()),
                own.0.to_owned(),
                own.1.clone(),
                if of[0].latency.is_some() { own.2.to_owned() } else { String::new() },
                own.3.to_owned(),
                share(mean(&|row| row.score.top1)),
                if of[0].latency.is_some() { share(mean(&|row| row.score.top10)) } else { String::new() },
                share(mean(&|row| row.score.f1)),
            ]);
        }
    }
    columns(&HEADINGS, &lines)
}
