//! The fingerprint of the model: what every built-in program at size tiny gives on every preset, alone and with each mechanism, and
//! with each pair that goes together: all programs on the machines of the papers, a dozen elsewhere.
//!
//! The rows that this version should give are part of it (`data/fingerprint.tsv`). A commit that changes the machine raises
//! [`strata_sim::MODEL`], writes the file anew, and says which rows moved and why; a run on another computer shows that it
//! gives the same bytes there.

use crate::mechanisms::registry;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use strata_core::files;
use strata_core::fnv::Fnv1a64;
use strata_core::text::grouped;
use strata_mechanism::Combination;
use strata_run::LabError;
use strata_run::RunResult;
use strata_run::{Monitor, Step};
use strata_run::{RunRequest, What};
use strata_run::{gpus, parallel, run};
use strata_sim::config::presets;
use strata_workloads::Size;

/// The rows of this version.
const COMMITTED: &str = include_str!("../data/fingerprint.tsv");

/// The machines of the papers, on which every program has rows with each pair of mechanisms.
const MACHINES_OF_PAPERS: [&str; 4] = ["cmd-gddr6", "gtx1080ti", "ndp-maxwell", "p100-buddy"];

/// The programs that have rows with pairs of mechanisms on other machines, too, unless others are asked for: short ones of every kind
/// (dense, sparse, graphs, sums, scattered and strided).
const WITH_TWO: [&str; 12] = [
    "atax",
    "backprop",
    "bfs",
    "ep",
    "hotspot",
    "kmeans",
    "mis",
    "pathfinder",
    "reduction",
    "scalarprod",
    "srad",
    "transpose",
];

/// How many moved rows are told one by one.
const TOLD: usize = 40;

/// Which rows to make; an empty list means all.
#[derive(Clone, Debug, Default)]
pub struct FingerprintRequest {
    /// Workloads.
    pub programs: Vec<String>,
    /// Presets.
    pub gpus: Vec<String>,
    /// What is in the machine.
    pub schemes: Vec<Combination>,
}

/// What a row is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RowKey {
    /// The preset.
    pub gpu: String,
    /// The mechanisms in it.
    pub scheme: String,
    /// The workload.
    pub program: String,
}

/// One row: cycles, and a digest of all statistics; or that the machine cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowValue {
    /// The program ran.
    Ran {
        /// Core cycles of all launches.
        cycles: u64,
        /// Over the cycles of every launch and every statistic of the run.
        digest: String,
    },
    /// The preset does not take the mechanism, or the mechanism not the program.
    Refused,
}

/// Rows by what they are about.
pub type Rows = BTreeMap<RowKey, RowValue>;

/// A row that is not what it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Which.
    pub key: RowKey,
    /// What this version should give; `None` if it should have no such row.
    pub expected: Option<RowValue>,
    /// What it gave.
    pub found: RowValue,
}

/// A fingerprint beside the one that this version should have.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    /// The rows that were made.
    pub rows: Rows,
    /// Those that moved.
    pub moved: Vec<Moved>,
}

/// The names asked for, or all; one that is not there is refused.
fn chosen(what: &str, asked: &[String], all: Vec<String>) -> Result<Vec<String>, LabError> {
    if let Some(unknown) = asked.iter().find(|name| !all.contains(name)) {
        let near = strata_core::nearest::suggestion(unknown, all.iter().map(String::as_str));
        return Err(LabError::Request(format!("there is no {what} `{unknown}` in the fingerprint; {near}")));
    }
    Ok(if asked.is_empty() { all } else { asked.to_vec() })
}

/// Makes the rows asked for and compares them with those that this version should give.
pub fn fingerprint(
    request: &FingerprintRequest,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Fingerprint, LabError> {
    let tiny = |info: &&strata_workloads::Info| info.sizes.contains(&Size::Tiny);
    let programs = strata_run::workloads().filter(tiny).map(|info| info.name.to_owned()).collect();
    let programs = chosen("workload", &request.programs, programs)?;
    let gpus = chosen("GPU", &request.gpus, presets().iter().map(|preset| preset.name.to_owned()).collect())?;
    let schemes = if request.schemes.is_empty() { registry().singles_and_pairs() } else { request.schemes.clone() };
    let folder = tempfile::tempdir().map_err(|e| LabError::io("write", &std::env::temp_dir(), e))?;
    let mut jobs = Vec::new();
    for gpu in &gpus {
        for scheme in schemes.iter().filter(|scheme| is_machine(scheme, gpu)) {
            let is_made = |program: &&String| match scheme.list().len() {
                _ if !request.programs.is_empty() => true,
                0 | 1 => true,
                _ if MACHINES_OF_PAPERS.contains(&gpu.as_str()) => true,
                _ => WITH_TWO.contains(&program.as_str()),
            };
            jobs.extend(programs.iter().filter(is_made).map(|program| (gpu, scheme, program)));
        }
    }
    let name = |(gpu, scheme, program): &(&String, &Combination, &String)| format!("{program} on {gpu} with {scheme}");
    let values = parallel::map(&jobs, parallel::threads(), name, begins, |(gpu, scheme, program)| {
        row(gpu, scheme, program, folder.path())
    });
    let mut rows = Rows::new();
    for ((gpu, scheme, program), value) in jobs.into_iter().zip(values) {
        rows.insert(RowKey { gpu: gpu.clone(), scheme: scheme.to_string(), program: program.clone() }, value?);
    }
    let moved = moved(&rows, &read(COMMITTED));
    Ok(Fingerprint { rows, moved })
}

/// True if a preset takes a combination by its configuration alone; otherwise it has no rows.
fn is_machine(scheme: &Combination, gpu: &str) -> bool {
    gpus::gpu_with(gpu, &[], scheme).is_ok()
}

fn row(gpu: &str, scheme: &Combination, program: &str, out: &Path) -> Result<RowValue, LabError> {
    let request = RunRequest {
        size: Some(Size::Tiny.name().to_owned()),
        gpu: Some(gpu.to_owned()),
        with: scheme.clone(),
        out: Some(out.to_owned()),
        ..RunRequest::new(What::Workload(program.to_owned()))
    };
    match run::run(&request, &Arc::new(Monitor::default())) {
        Ok(result) => {
            // Nothing of it is needed any more, and there are thousands.
            let _ = std::fs::remove_dir_all(&result.host.directory);
            Ok(RowValue::Ran { cycles: result.cycles().unwrap_or(0), digest: digest(&result) })
        }
        Err(LabError::Request(_)) => Ok(RowValue::Refused),
        Err(error) => Err(error),
    }
}

/// The first eight digits of a hash over what the run computed: whether it passed, cycles, all statistics, launch by launch
/// and in sum. Not over words: a better description of a statistic moves nothing.
fn digest(result: &RunResult) -> String {
    let mut hash = Fnv1a64::default();
    let mut feed = |name: &str, value: &Value| hash.feed(format!("{name}={value}\n").as_bytes());
    let saved = result.to_json();
    for key in ["passed", "error", "cycles", "copy_cycles", "thread_instructions", "warp_instructions"] {
        feed(key, &saved[key]);
    }
    let kernels = saved["kernels"].as_array().into_iter().flatten();
    for part in kernels.chain([&saved]) {
        feed("cycles", &part["cycles"]);
        for (path, stat) in part["stats"].as_object().into_iter().flatten() {
            feed(path, &stat["value"]);
        }
    }
    hash.to_string()[..8].to_owned()
}

/// Rows that differ from those expected.
fn moved(rows: &Rows, expected: &Rows) -> Vec<Moved> {
    let differs = |(key, found): (&RowKey, &RowValue)| {
        let expected = expected.get(key);
        (expected != Some(found)).then(|| Moved { key: key.clone(), expected: expected.cloned(), found: found.clone() })
    };
    rows.iter().filter_map(differs).collect()
}

/// Reads rows as [`Fingerprint::text`] writes them; lines that are none are passed over.
fn read(text: &str) -> Rows {
    let line = |line: &str| {
        let [gpu, scheme, program, value @ ..] = &line.split('\t').collect::<Vec<_>>()[..] else { return None };
        let value = match value {
            ["refused"] => RowValue::Refused,
            [cycles, digest] => RowValue::Ran { cycles: cycles.parse().ok()?, digest: (*digest).to_owned() },
            _ => return None,
        };
        let [gpu, scheme, program] = [gpu, scheme, program].map(|&name| name.to_owned());
        Some((RowKey { gpu, scheme, program }, value))
    };
    text.lines().filter_map(line).collect()
}

impl RowValue {
    fn text(&self) -> String {
        match self {
            Self::Ran { cycles, digest } => format!("{cycles}\t{digest}"),
            Self::Refused => "refused".to_owned(),
        }
    }

    /// For people.
    fn told(&self) -> String {
        match self {
            Self::Ran { cycles, digest } => format!("{} cycles, {digest}", grouped(*cycles)),
            Self::Refused => "refused".to_owned(),
        }
    }
}

impl Fingerprint {
    /// All rows, to be committed.
    pub fn text(&self) -> String {
        let mut out = format!(
            "# Model {}. Made by `strata fingerprint --write FILE`: GPU, mechanisms, workload at tiny, core cycles, digest of all \
             statistics.\n",
            strata_sim::MODEL
        );
        for (RowKey { gpu, scheme, program }, value) in &self.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{gpu}\t{scheme}\t{program}\t{}", value.text());
        }
        out
    }

    /// Writes all rows to a file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), LabError> {
        files::write_text(path, &self.text()).map_err(|e| LabError::io("write", path, e))
    }

    /// What moved, for people.
    pub fn table(&self) -> String {
        let (made, moved) = (self.rows.len(), self.moved.len());
        let mut out = format!("model {}: {made} rows made, {moved} moved\n", strata_sim::MODEL);
        for Moved { key: RowKey { gpu, scheme, program }, expected, found } in self.moved.iter().take(TOLD) {
            let expected = expected.as_ref().map_or_else(|| "no row".to_owned(), RowValue::told);
            let _ = writeln!(out, "  {program} on {gpu} with {scheme}: {expected} -> {}", found.told());
        }
        if moved > TOLD {
            let _ = writeln!(out, "  and {} more", moved - TOLD);
        }
        out
    }

    /// The same for scripts.
    pub fn to_json(&self) -> Value {
        let value = |value: &RowValue| match value {
            RowValue::Ran { cycles, digest } => json!({ "cycles": cycles, "digest": digest }),
            RowValue::Refused => json!("refused"),
        };
        let moved: Vec<_> = self
            .moved
            .iter()
            .map(|Moved { key: RowKey { gpu, scheme, program }, expected, found }| {
                json!({
                    "gpu": gpu, "scheme": scheme, "workload": program,
                    "expected": expected.as_ref().map(value), "found": value(found),
                })
            })
            .collect();
        json!({ "model": strata_sim::MODEL, "rows": self.rows.len(), "moved": moved })
    }
}

/// The GPUs that rows are committed for; for tests that look at the file as such.
pub fn committed() -> Rows {
    read(COMMITTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_back_and_compared() {
        let key = |program: &str| RowKey { gpu: "g".into(), scheme: "a+b".into(), program: program.into() };
        let ran = |cycles| RowValue::Ran { cycles, digest: "0123abcd".into() };
        let rows = Rows::from([(key("p"), ran(12)), (key("q"), RowValue::Refused)]);
        let fingerprint = Fingerprint { rows: rows.clone(), moved: Vec::new() };
        assert_eq!(read(&fingerprint.text()), rows);
        assert_eq!(moved(&rows, &rows), []);
        let other = Rows::from([(key("p"), ran(13))]);
        assert_eq!(
            moved(&other, &rows),
            [Moved { key: key("p"), expected: Some(ran(12)), found: ran(13) }],
            "a row that was not made did not move"
        );
        assert_eq!(moved(&rows, &other)[1].expected, None);
    }

    #[test]
    fn every_preset_has_its_rows() {
        let committed = committed();
        for gpu in gpus::all_gpus().expect("presets load") {
            let name = &gpu.config.name;
            assert!(
                committed.keys().any(|key| key.gpu == *name),
                "no rows of {name}: `strata fingerprint --write FILE`"
            );
        }
        assert!(COMMITTED.starts_with(&format!("# Model {}.", strata_sim::MODEL)), "rows of another model");
    }
}
