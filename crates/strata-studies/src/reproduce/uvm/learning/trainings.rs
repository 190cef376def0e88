//! Traces and trainings in the store: a study that was interrupted goes on where it stopped.

use super::suite::{Extent, Job, LOOKED_INTO, Program, jobs};
use crate::prefetch::{self, Attention, Fitting, Row, Study};
use crate::reproduce::runs::Runs;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use strata_core::files;
use strata_core::fnv::Fnv1a64;
use strata_run::{LabError, RunRequest, Step, What};

/// What was learned of one program.
pub(super) struct Learned {
    pub(super) program: Program,
    /// By the label of the job: rows of baselines and of the model at each precision.
    rows: BTreeMap<String, Vec<Value>>,
    /// What tokens of the unconstrained model pay attention to, if this is the program that was looked into.
    pub(super) attention: Option<Attention>,
}

impl Learned {
    /// A number of a job's row, such as `top1`: of its model at a precision, or of a baseline.
    pub(super) fn get(&self, job: &str, model: Option<&str>, precision: &str, key: &str) -> Option<f64> {
        let is_it = |row: &&Value| match model {
            Some(model) => row["model"] == model,
            None => !row["latency_ns"].is_null() && row["precision"] == precision,
        };
        self.rows.get(job)?.iter().find(is_it)?.pointer(key)?.as_f64()
    }
}

/// Trainings on traces, kept in the store of runs under what they depend on.
pub(super) struct Trainings<'a> {
    pub(super) runs: &'a Runs,
    pub(super) extent: Extent,
}

impl Trainings<'_> {
    /// Everything of these programs.
    pub(super) fn all(
        &self,
        programs: &[Program],
        begins: &mut (dyn FnMut(Step<'_>) + Send),
    ) -> Result<Vec<Learned>, LabError> {
        let wanted: Vec<(Program, Vec<Job>)> = programs.iter().map(|&p| (p, jobs(&p, self.extent))).collect();
        let of = wanted.iter().map(|(_, jobs)| jobs.len()).sum();
        let (mut learned, mut done) = (Vec::new(), 0);
        for (program, jobs) in wanted {
            let trace = self.trace(&program)?;
            let mut rows = BTreeMap::new();
            for job in jobs {
                begins(Step { done, of, left: None, name: &format!("{}, {}", program.name, job.label) });
                rows.insert(job.label.clone(), self.judged(&program, &trace, &job)?);
                done += 1;
            }
            let attention = if program.name == LOOKED_INTO { self.attention(&program, &trace)? } else { None };
            learned.push(Learned { program, rows, attention });
        }
        Ok(learned)
    }

    /// The trace of a program, recorded if it is not there.
    fn trace(&self, program: &Program) -> Result<PathBuf, LabError> {
        let request = RunRequest {
            size: Some(program.size.to_owned()),
            gpu: Some("gtx1080ti".to_owned()),
            ..RunRequest::new(What::Workload(program.name.to_owned()))
        };
        let measured = self.runs.measure(prefetch::recording(request)?)?;
        Ok(measured.directory().join(prefetch::TRACE))
    }

    /// The rows of a job.
    fn judged(&self, program: &Program, trace: &Path, job: &Job) -> Result<Vec<Value>, LabError> {
        let study = Study {
            models: vec![job.fitting.clone()],
            protocols: vec![job.fitting.protocol],
            precisions: job.precisions.to_vec(),
            checkpoint: None,
        };
        let key = format!("{:?} {:?}", same_on_any_host(&job.fitting), job.precisions);
        let models =
            self.saved_rows(program, trace, &key, || prefetch::study(&[trace.to_owned()], &study, &mut |_| ()))?;
        // Tables are judged again at once where a training takes minutes: they are kept apart.
        let key = format!("tables {:?}", same_on_any_host(&job.fitting));
        let tables = self.saved_rows(program, trace, &key, || prefetch::study_tables(trace, &job.fitting))?;
        let is_model = |row: &Value| !row["latency_ns"].is_null();
        Ok(models.into_iter().filter(is_model).chain(tables).collect())
    }

    /// Rows of a study, none of a program that is too short for it.
    fn saved_rows(
        &self,
        program: &Program,
        trace: &Path,
        key: &str,
        make: impl FnOnce() -> Result<Vec<Row>, LabError>,
    ) -> Result<Vec<Value>, LabError> {
        let rows = self.saved(program, trace, key, || match make() {
            Ok(rows) => Ok(prefetch::to_json(&rows)["rows"].take()),
            Err(error) if prefetch::too_little(&error).is_some() => Ok(json!([])),
            Err(error) => Err(error),
        })?;
        Ok(rows.as_array().cloned().unwrap_or_default())
    }

    /// What tokens of the unconstrained model pay attention to.
    fn attention(&self, program: &Program, trace: &Path) -> Result<Option<Attention>, LabError> {
        let jobs = jobs(program, self.extent);
        // The one of less training, if there are two.
        let labelled = |label: &str| jobs.iter().find(|job| job.label == label);
        let Some(Job { fitting, .. }) = labelled("ordered").or_else(|| labelled("transformer")) else {
            return Ok(None);
        };
        let key = format!("attention {:?}", same_on_any_host(fitting));
        let found = self.saved(program, trace, &key, || Ok(json!(prefetch::attention(trace, fitting)?)))?;
        serde_json::from_value(found).map_err(|error| LabError::io("read", trace, error.into()))
    }

    /// What a key stands for, of this trace and these sources: from disk if it is there, else made and saved.
    fn saved(
        &self,
        program: &Program,
        trace: &Path,
        key: &str,
        make: impl FnOnce() -> Result<Value, LabError>,
    ) -> Result<Value, LabError> {
        let trace = Fnv1a64::of_file(trace).map_err(|error| LabError::io("read", trace, error))?;
        let key = Fnv1a64::of(format!("{key} {trace} {}", prefetch::sources()).as_bytes());
        let path = self.runs.folder().join("trainings").join(format!("{}-{key}.json", program.name));
        if let Some(rows) = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()) {
            return Ok(rows);
        }
        let rows = make()?;
        files::write_text(&path, &rows.to_string()).map_err(|error| LabError::io("write", &path, error))?;
        Ok(rows)
    }
}

/// Results do not depend on threads.
fn same_on_any_host(fitting: &Fitting) -> Fitting {
    Fitting { threads: 1, ..fitting.clone() }
}
