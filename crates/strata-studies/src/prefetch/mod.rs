//! Learned prefetching: traces of the GMMU, predictors trained on them, and how good they are.
//!
//! What a predictor is and how it learns is `strata-learn`; here it meets programs, files and machines. `learned` puts one into a
//! machine, `study` trains and judges many.

mod attention;
mod beside;
mod fit;
mod judged;
mod study;
mod trace;

pub use attention::{Attention, attention};
pub use beside::{beside_simple_prefetchers, is_learned};
pub use fit::{Fitting, train};
pub use judged::judged;
pub use strata_learn::access::{Cluster, Feature, Unit};
pub use strata_learn::dataset::Protocol;
pub use strata_learn::quantise::Precision;
pub use strata_learn::spec::Kind;
pub use study::{Row, Study, study, study_tables, table, to_json};
pub(crate) use trace::{TRACE, recording};
pub use trace::{Traced, record};

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use strata_core::fnv::Fnv1a64;
use strata_core::nearest::suggestion;
use strata_learn::LearnError;
use strata_run::LabError;

/// The sources of this module.
const HERE: [&str; 7] = [
    include_str!("attention.rs"),
    include_str!("beside.rs"),
    include_str!("fit.rs"),
    include_str!("judged.rs"),
    include_str!("mod.rs"),
    include_str!("study.rs"),
    include_str!("trace.rs"),
];

/// A hash of the sources that a trained predictor and what is said of it depend on: of this module, and of what learns.
pub(crate) fn sources() -> String {
    let learning = strata_source::hash_of(&["strata-learn"]).unwrap_or_default();
    format!("{learning:016x}{}", Fnv1a64::of(HERE.concat().as_bytes()))
}

/// What there is too little of, if that is the error.
pub(crate) fn too_little(error: &LabError) -> Option<&str> {
    let LabError::Other(error) = error else { return None };
    match error.downcast_ref() {
        Some(LearnError::Empty(what)) => Some(what),
        _ => None,
    }
}

/// Names the trace that there is too little in.
fn of_trace(path: &Path, error: LabError) -> LabError {
    match too_little(&error) {
        Some(what) => LabError::other(LearnError::Empty(format!("`{}`: {what}", path.display()))),
        None => error,
    }
}

/// What a command writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Trace,
    Checkpoint,
}

/// Refuses, before any work is done, what would end a file of another kind, or could not be written.
fn may_write(output: Output, path: &Path) -> Result<(), LabError> {
    if path.is_dir() {
        let reason =
            format!("`{}` is a folder: `-o` names a file, such as `{}`", path.display(), path.join("nw").display());
        return Err(LabError::Request(reason));
    }
    let mut magic = [0; 4];
    let exists = File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    let is_trace = &magic == b"PAR1";
    if exists && is_trace != (output == Output::Trace) {
        let (is, wanted) = if is_trace { ("a trace", "checkpoint") } else { ("no trace", "trace") };
        let reason = format!("`{}` is there and is {is}: give the {wanted} another name, or remove it", path.display());
        return Err(LabError::Request(reason));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(|error| LabError::io("write", parent, error))?;
    probe(parent).map_err(|error| LabError::io("write", path, error))
}

/// A file can be made in a folder; it is removed again.
fn probe(folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!(".strata-{}", std::process::id()));
    File::create(&file)?;
    std::fs::remove_file(&file)
}

/// One of several by its name; the error tells the nearest.
pub fn named<T: Copy>(what: &str, text: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Result<T, LabError> {
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| {
        let hint = suggestion(text, all.iter().map(|one| name(*one)));
        LabError::Request(format!("there is no {what} `{text}`; {hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_of_this_module_is_in_the_hash() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/prefetch");
        let mut texts: Vec<String> = std::fs::read_dir(folder)
            .expect("sources")
            .map(|entry| std::fs::read_to_string(entry.expect("a file").path()).expect("text"))
            .collect();
        let mut known = HERE.map(str::to_owned).to_vec();
        texts.sort();
        known.sort();
        assert!(texts == known, "a file is missing in `HERE`");
    }

    #[test]
    fn nothing_of_another_kind_is_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("trace"), "PAR1...").expect("written");
        std::fs::write(at("checkpoint"), [7; 9]).expect("written");
        let refused = |output, name: &str| may_write(output, &at(name)).expect_err("refused").to_string();
        assert!(refused(Output::Checkpoint, "trace").contains("is a trace"));
        assert!(refused(Output::Trace, "checkpoint").contains("is no trace"));
        assert!(refused(Output::Trace, "").contains("is a folder"));
        assert!(refused(Output::Trace, "trace/below").contains("cannot write"));
        for (output, name) in [(Output::Trace, "trace"), (Output::Checkpoint, "checkpoint"), (Output::Trace, "new/one")]
        {
            may_write(output, &at(name)).expect("it may");
        }
        assert_eq!(std::fs::read_dir(at("new")).expect("made").count(), 0, "nothing is left behind");
    }
}
