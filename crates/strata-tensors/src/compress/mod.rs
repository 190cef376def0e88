//! How compressible data are: every codec on every entry of files of tensors, and the targets that Buddy Compression's
//! profiler would give the tensors.
//!
//! A tensor begins at an entry of its own, and its last entry is filled up with zeros. A ratio is that of the entries, as
//! they are, to the sizes of the ideal study (Buddy Compression, section II-C).
//!
//! *Which snapshots?* All files of a request are one program: a tensor's name is an allocation, and a file that has it is
//! a snapshot of it. So checkpoints of a model give targets that hold in the worst of them; the shards of a model, whose
//! names differ, are side by side; and the cap of 4x is on all of it together.
//!
//! Invariants: memory does not grow with the files (only with the number of their tensors, and up to a limit with the
//! heat map); nothing is sampled; the result does not depend on which of the two threads did what.

mod measure;
mod report;

pub use strata_buddy::counts::{ByteCounts, TensorCounts};
pub use strata_buddy::{Choice, Rule, Target};
pub use strata_codec::Codec;
pub use strata_heatmap::HeatMap;

use crate::tensors::TensorFile;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Instant;
use strata_buddy::{Allocation, Design, Histogram, Profile, caching};
use strata_core::Bytes;
use strata_core::files::AtomicFile;
use strata_run::LabError;

/// What to measure.
#[derive(Clone, Debug)]
pub struct CompressRequest {
    /// The files.
    pub files: Vec<PathBuf>,
    /// The codecs whose ratios are wanted, each once.
    pub codecs: Vec<Codec>,
    /// The folder for heat maps, if they are wanted.
    pub heat_maps: Option<PathBuf>,
    /// What targets must satisfy.
    pub rule: Rule,
    /// Say, too, what comes of it if a framework's caching allocator keeps the tensors.
    pub cached: bool,
}

/// How far the measurement is.
pub struct Progress<'a> {
    /// The file that is read.
    pub file: &'a Path,
    /// Bytes of tensors done, of all files.
    pub done: u64,
    /// Bytes of tensors there are.
    pub of: u64,
}

/// Who is told how far the measurement is.
pub type Watcher<'a> = dyn FnMut(Progress<'_>) + Send + 'a;

/// One file.
#[derive(Clone, Debug)]
pub struct FileCompression {
    /// Its path as given.
    pub path: PathBuf,
    /// Its tensors: names, sizes, and what was counted.
    pub tensors: Vec<(String, u64, TensorCounts)>,
    /// How often each value of a byte is in the tensors.
    pub values: ByteCounts,
    /// Where its heat map was written.
    pub heat_map: Option<PathBuf>,
}

/// All files.
#[derive(Clone, Debug)]
pub struct Compression {
    /// The files, as they were given.
    pub files: Vec<FileCompression>,
    /// The codecs that were asked for.
    pub codecs: Vec<Codec>,
    /// What targets had to satisfy.
    pub rule: Rule,
    /// The targets of all tensors by name, and what comes of them.
    pub choice: Choice,
    /// The targets of the segments that a framework's caching allocator keeps the tensors in.
    pub cached: Option<Choice>,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Measures files.
pub fn compress(request: &CompressRequest, watch: &mut Watcher<'_>) -> Result<Compression, LabError> {
    let start = Instant::now();
    check(&request.rule)?;
    let of = all_bytes(&request.files)?;
    if let Some(folder) = &request.heat_maps {
        fs::create_dir_all(folder).map_err(|error| LabError::io("write", folder, error))?;
    }
    let (mut files, mut done, mut names) = (Vec::new(), 0, BTreeSet::new());
    for path in &request.files {
        let mut file = TensorFile::open(path)?;
        let entries = file.tensors().iter().map(|tensor| strata_buddy::counts::entries(tensor.bytes)).sum();
        let map = request.heat_maps.as_ref().map(|folder| (folder, HeatMap::new(entries)));
        let mut watch = |bytes| watch(Progress { file: path, done: done + bytes, of });
        let measured = measure::measure(&mut file, &request.codecs, map.as_ref().map(|(_, map)| map), &mut watch)?;
        let heat_map = map.map(|(folder, map)| save(&map, &folder.join(unused_name(path, &mut names)))).transpose()?;
        done += file.bytes();
        files.push(FileCompression { heat_map, ..FileCompression::of(path, &file, measured) });
    }
    let tensors = allocations(&files);
    let cached =
        request.cached.then(|| Profile::new(caching::segments(&tensors)).choose(Design::ZeroPage, &request.rule));
    Ok(Compression { cached, ..Compression::of(files, &tensors, &request.codecs, request.rule, start) })
}

/// Measures tensors that are open, which results call `path`.
pub fn compress_tensors<R: Read + Seek + Send>(
    mut file: TensorFile<R>,
    path: &Path,
    codecs: &[Codec],
    rule: Rule,
    watch: &mut Watcher<'_>,
) -> Result<Compression, LabError> {
    let start = Instant::now();
    check(&rule)?;
    let of = file.bytes();
    let measured = measure::measure(&mut file, codecs, None, &mut |done| watch(Progress { file: path, done, of }))?;
    let files = vec![FileCompression::of(path, &file, measured)];
    let tensors = allocations(&files);
    Ok(Compression::of(files, &tensors, codecs, rule, start))
}

fn check(rule: &Rule) -> Result<(), LabError> {
    if (0.0..=1.0).contains(&rule.threshold) {
        return Ok(());
    }
    let message = format!("the Buddy Threshold is a share of entries, from 0 to 1, not {}", rule.threshold);
    Err(LabError::Request(message))
}

impl FileCompression {
    fn of<R: Read + Seek>(path: &Path, file: &TensorFile<R>, measured: measure::Measured) -> Self {
        let described = file.tensors().iter().map(|tensor| (tensor.name.clone(), tensor.bytes));
        let tensors = described.zip(measured.tensors).map(|((name, bytes), counts)| (name, bytes, counts)).collect();
        Self { path: path.to_owned(), tensors, values: measured.values, heat_map: None }
    }
}

impl Compression {
    fn of(files: Vec<FileCompression>, tensors: &[Allocation], codecs: &[Codec], rule: Rule, start: Instant) -> Self {
        let choice = Profile::pooled(tensors.iter().cloned()).choose(Design::ZeroPage, &rule);
        Self { files, codecs: codecs.to_vec(), rule, choice, cached: None, seconds: start.elapsed().as_secs_f64() }
    }
}

/// Bytes of all tensors, once it is known that every file describes its own well; else all errors.
fn all_bytes(paths: &[PathBuf]) -> Result<u64, LabError> {
    let (mut sum, mut errors) = (0u64, Vec::new());
    for path in paths {
        // Opened and closed: there may be more files than may be open at a time.
        match TensorFile::open(path) {
            Ok(file) => sum = sum.saturating_add(file.bytes()),
            Err(error) => errors.push(error),
        }
    }
    match errors.len() {
        0 => Ok(sum),
        1 => Err(errors.remove(0)),
        _ => Err(LabError::Several(errors)),
    }
}

/// A name for a file's heat map that no other file's has.
fn unused_name(path: &Path, names: &mut BTreeSet<String>) -> String {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let numbered = (2..).map(|number| format!("{stem}-{number}.png"));
    let unused = std::iter::once(format!("{stem}.png")).chain(numbered).find(|name| !names.contains(name));
    let name = unused.unwrap_or_default();
    names.insert(name.clone());
    name
}

fn save(map: &HeatMap, target: &Path) -> Result<PathBuf, LabError> {
    let mut file = AtomicFile::create(target).map_err(|error| LabError::io("write", target, error))?;
    let written = map.write_png(&mut file).and_then(|()| file.commit());
    written.map_err(|error| LabError::io("write", target, error))?;
    Ok(target.to_owned())
}

/// Every tensor name as an allocation, every file as a snapshot; in the order in which they come.
fn allocations(files: &[FileCompression]) -> Vec<Allocation> {
    let mut all: Vec<Allocation> = Vec::new();
    let mut known = BTreeMap::<&str, usize>::new();
    for (index, file) in files.iter().enumerate() {
        for (name, bytes, counts) in &file.tensors {
            let place = *known.entry(name).or_insert_with(|| {
                all.push(Allocation { name: name.clone(), bytes: Bytes(0), snapshots: Vec::new() });
                all.len() - 1
            });
            let allocation = &mut all[place];
            // A tensor that grows has room for its largest snapshot.
            allocation.bytes = allocation.bytes.max(Bytes(*bytes));
            allocation.snapshots.resize(index, Histogram::default());
            allocation.snapshots.push(counts.states);
        }
    }
    all
}

#[cfg(test)]
mod tests;
