//! The timed runs of a study: those of every store, by what they depend on. So a study that was interrupted goes on where it stopped,
//! what two studies have in common is run once, and a rebuild of what changes no result discards nothing.

use serde_json::Value;
use std::path::Path;
use strata_run::{LabError, RunRequest, StopSign};
use strata_sweep::{Store, engine};

/// Where the runs of a study lie.
pub(super) struct Runs {
    store: Store,
}

impl Runs {
    /// Those of the store in this folder.
    pub(super) fn below(folder: &Path) -> Result<Self, LabError> {
        Ok(Self { store: Store::open(folder)? })
    }

    /// The folder they lie in, with what was found out beforehand.
    pub(super) fn folder(&self) -> &Path {
        self.store.root()
    }

    /// The result of a request: from the store if it is there, else by running it. `request.out` is ours to choose.
    pub(super) fn measure(&self, request: RunRequest) -> Result<Measured, LabError> {
        engine::result(request, &self.store, &StopSign::default()).map(Measured)
    }
}

/// What a run measured, as its JSON says it.
pub(super) struct Measured(Value);

impl Measured {
    /// Why the program stopped early, if it did.
    pub(super) fn error(&self) -> Option<&str> {
        self.0["error"].as_str()
    }

    /// False if the program's results are wrong.
    pub(super) fn passed(&self) -> bool {
        self.0["passed"].as_bool() != Some(false)
    }

    /// A JSON file that the run saved beside its result.
    pub(super) fn beside(&self, name: &str) -> Result<Value, LabError> {
        let path = self.directory().join(name);
        let text = std::fs::read(&path).map_err(|e| LabError::io("read", &path, e))?;
        serde_json::from_slice(&text).map_err(|e| LabError::io("read", &path, e.into()))
    }

    /// Where the run saved what it has to say.
    pub(super) fn directory(&self) -> &Path {
        Path::new(self.0["host"]["directory"].as_str().unwrap_or_default())
    }

    /// One of the result's own numbers, such as `cycles`.
    pub(super) fn total(&self, key: &str) -> f64 {
        self.0[key].as_f64().unwrap_or(0.0)
    }

    /// A statistic.
    pub(super) fn number(&self, path: &str) -> Option<f64> {
        self.0["stats"].get(path)?["value"].as_f64()
    }

    /// A statistic that is not there if it is zero.
    pub(super) fn count(&self, path: &str) -> f64 {
        self.number(path).unwrap_or(0.0)
    }

    /// Several of these together.
    pub(super) fn sum(&self, paths: &[&str]) -> f64 {
        paths.iter().map(|path| self.count(path)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_run::What;

    #[test]
    fn a_result_in_the_store_is_taken_as_it_is() {
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(directory.path()).expect("a store");
        let request = RunRequest {
            size: Some("tiny".into()),
            gpu: Some("titan-v".into()),
            ..RunRequest::new(What::Workload("saxpy".into()))
        };
        let first = runs.measure(request.clone()).expect("it runs");
        assert!(first.passed() && first.error().is_none() && first.total("cycles") > 0.0);
        let again = runs.measure(request.clone()).expect("it is there");
        assert_eq!(first.0, again.0, "wall-clock times, too: it did not run twice");

        std::fs::write(first.directory().join("result.json"), "{ \"cycles\": ").expect("written");
        let anew = runs.measure(request).expect("it runs");
        assert_eq!(anew.total("cycles"), first.total("cycles"), "half a result is none");
        assert_eq!(anew.directory(), first.directory());
    }
}
