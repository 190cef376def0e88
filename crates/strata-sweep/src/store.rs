//! Results by key, on disk.
//!
//! | below the store | what it is |
//! | --- | --- |
//! | `points/ab/<key>/` | a point: `point.json`, and what mechanisms and programs saved; there whole or not at all. Where somebody asked for all of a result, with its launches and slices, `result.json`, too |
//! | `failures/<key>.txt` | why a point has no result; gone once it has one |
//! | `sweeps/<name>-<hash>/` | a sweep: its plan, `results.parquet` |
//! | `times.jsonl` | how long points took, for estimates; nothing depends on it |
//! | `profiles/`, `surveys/` and the like | what mechanisms found out before a run |

use crate::points::{Point, Points};
use crate::record::Record;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use strata_core::files::{self, AtomicFolder};
use strata_core::fnv::Fnv1a64;
use strata_run::{LabError, RunRequest, What};

/// What a point's folder is told by.
const RECORD: &str = "point.json";
/// Everything that a run found out.
const RESULT: &str = "result.json";

/// A store of results.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// How long points will take.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Estimate {
    /// Seconds on one core, of the points that are known.
    pub seconds: f64,
    /// Points like none that ran before.
    pub unknown: usize,
}

impl Store {
    /// Where stores are unless somebody says otherwise: outside every checkout, as the XDG base directory specification has it.
    pub fn default_place() -> Result<PathBuf, LabError> {
        let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
        let place = data.map(|data| data.join("stratasim/store"));
        place.ok_or_else(|| LabError::Request("there is no home directory: name a store with `--store DIR`".into()))
    }

    /// The folder of a store, absolute: the one that was named, or where they are.
    pub fn place(named: Option<&Path>) -> Result<PathBuf, LabError> {
        match named {
            Some(named) => std::path::absolute(named).map_err(|e| LabError::io("find", named, e)),
            None => Self::default_place(),
        }
    }

    /// A store that can be written; it is made if it is not there.
    pub fn open(root: &Path) -> Result<Self, LabError> {
        let probe = root.join(format!(".writable-{}", std::process::id()));
        fs::create_dir_all(root.join("points"))
            .and_then(|()| fs::write(&probe, ""))
            .and_then(|()| fs::remove_file(&probe))
            .map_err(|e| LabError::io("write", root, e))?;
        Ok(Self { root: root.to_owned() })
    }

    /// A store that is only looked at.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn point(&self, key: &str) -> PathBuf {
        self.root.join("points").join(&key[..2.min(key.len())]).join(key)
    }

    /// The result of a key, if there is a whole one.
    pub fn record(&self, key: &str) -> Option<Record> {
        Record::parse(&fs::read(self.point(key).join(RECORD)).ok()?, key)
    }

    /// All of the result of a key, if somebody wanted that before; where it lies now is in `host`.
    pub fn result(&self, key: &str) -> Option<Value> {
        let folder = self.point(key);
        // It was there before the record, and a torn one is none.
        self.record(key)?;
        let mut result: Value = serde_json::from_slice(&fs::read(folder.join(RESULT)).ok()?).ok()?;
        (result["key"] == key).then(|| result["host"]["directory"] = json!(folder.display().to_string()))?;
        Some(result)
    }

    /// Begins a point; what is written into the folder appears with the record.
    pub(crate) fn begin(&self, key: &str) -> Result<AtomicFolder, LabError> {
        let place = self.point(key);
        AtomicFolder::create(&place).map_err(|e| LabError::io("write", &place, e))
    }

    /// Puts a point into the store, with all of its result if that is wanted.
    pub(crate) fn commit(
        &self,
        key: &str,
        folder: AtomicFolder,
        record: &Record,
        whole: Option<&Value>,
    ) -> Result<(), LabError> {
        let unwritable = |e| LabError::io("write", &self.point(key), e);
        if let Some(result) = whole {
            fs::write(folder.path().join(RESULT), format!("{result}\n")).map_err(unwritable)?;
        }
        fs::write(folder.path().join(RECORD), record.text()).map_err(unwritable)?;
        folder.commit(RECORD).map_err(unwritable)?;
        let _ = fs::remove_file(self.failed(key));
        Ok(())
    }

    /// Removes what killed processes left of points that others finished.
    pub(crate) fn tidy(&self) {
        for group in fs::read_dir(self.root.join("points")).into_iter().flatten().flatten() {
            for entry in fs::read_dir(group.path()).into_iter().flatten().flatten() {
                let name = entry.file_name();
                // `.<key>.<process>.partial`; beginning a point anew removes those whose process is dead.
                let key = name.to_str().and_then(|name| name.strip_prefix('.')).and_then(|name| name.split('.').next());
                drop(key.map(|key| AtomicFolder::create(&group.path().join(key))));
            }
        }
    }

    fn failed(&self, key: &str) -> PathBuf {
        self.root.join("failures").join(format!("{key}.txt"))
    }

    /// Keeps why a point has no result.
    pub(crate) fn note_failure(&self, key: &str, message: &str) -> Result<(), LabError> {
        let path = self.failed(key);
        files::write_text(&path, message).map_err(|e| LabError::io("write", &path, e))
    }

    /// Why a point has no result, as far as somebody noted it.
    pub fn failure(&self, key: &str) -> Option<String> {
        fs::read_to_string(self.failed(key)).ok()
    }

    /// The folder of a sweep: the same points are the same sweep.
    pub fn sweep(&self, name: &str, points: &Points<'_>) -> PathBuf {
        let mut hash = Fnv1a64::default();
        for number in 0..points.len() {
            hash.feed(points.key(number).as_bytes());
        }
        self.root.join("sweeps").join(format!("{name}-{}", &hash.to_string()[..12]))
    }

    /// Notes how long a point took. One line is one write: writers do not mix.
    pub(crate) fn note_time(&self, request: &RunRequest, seconds: f64) {
        let line = json!({ "point": kind_of(request), "seconds": (seconds * 1e3).round() / 1e3 });
        let file = OpenOptions::new().create(true).append(true).open(self.root.join("times.jsonl"));
        // An estimate that is not there is no reason to stop.
        let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }

    /// How long runs took that went through this store.
    pub fn times(&self) -> Times {
        let times = fs::File::open(self.root.join("times.jsonl")).map(BufReader::new);
        let mut known = Times::default();
        // Line by line: there is one for every point that ever ran.
        for line in times.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
            // A line that was cut off says nothing.
            let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
            let Some((point, seconds)) = line["point"].as_str().zip(line["seconds"].as_f64()) else { continue };
            // On any machine, too: better than nothing.
            for kind in [point, on_any_machine(point)] {
                let (sum, count) = known.0.entry(kind.to_owned()).or_default();
                (*sum, *count) = (*sum + seconds, *count + 1.0);
            }
        }
        known
    }

    /// How long points will take, by those like them that ran before.
    pub fn estimate(&self, points: impl Iterator<Item = Point>) -> Estimate {
        let times = self.times();
        let mut estimate = Estimate::default();
        for point in points {
            match times.seconds(&point.request) {
                Some(seconds) => estimate.seconds += seconds,
                None => estimate.unknown += 1,
            }
        }
        estimate
    }
}

/// Seconds that runs took, by what they have in common: their sum and their number.
#[derive(Default)]
pub struct Times(BTreeMap<String, (f64, f64)>);

impl Times {
    /// What runs like this one took, in the mean: on its machine, or else on any.
    pub fn seconds(&self, request: &RunRequest) -> Option<f64> {
        let kind = kind_of(request);
        let (sum, count) = self.0.get(&kind).or_else(|| self.0.get(on_any_machine(&kind)))?;
        Some(sum / count)
    }
}

/// The program of a kind, without its machine.
fn on_any_machine(kind: &str) -> &str {
    kind.split_once(" on ").map_or(kind, |(program, _)| program)
}

/// What points have in common that take about as long.
fn kind_of(request: &RunRequest) -> String {
    let size = match (&request.what, &request.size) {
        (What::Workload(_), None) => "small",
        (_, size) => size.as_deref().unwrap_or_default(),
    };
    let gpu = request.gpu.as_deref().unwrap_or_default();
    format!("{} {size} on {gpu} with {}", request.what.name(), request.with)
}
