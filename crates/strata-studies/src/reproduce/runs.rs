//! The timed runs of a study.
//!
//! Each result lies on disk below a folder that is named after the executable which made it. So a study that was
//! interrupted goes on where it stopped, and one of another build, whose machine may be another, begins anew.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_core::fnv::Fnv1a64;
use strata_run::LabError;
use strata_run::Monitor;
use strata_run::RunRequest;
use strata_run::run;

/// Where the runs of a study lie.
pub(super) struct Runs {
    folder: PathBuf,
}

impl Runs {
    /// Those of this executable, below the study's directory.
    pub(super) fn below(directory: &Path) -> Result<Self, LabError> {
        let executable = std::env::current_exe().map_err(|e| LabError::io("find", Path::new("this executable"), e))?;
        let hash = Fnv1a64::of_file(&executable).map_err(|e| LabError::io("read", &executable, e))?.to_string();
        Ok(Self { folder: directory.join(format!("runs-{}", &hash[..12])) })
    }

    /// The folder they lie in.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The result of a request: from disk if it is there, else by running it. `request.out` is ours to choose.
    pub(super) fn measure(&self, request: RunRequest) -> Result<Measured, LabError> {
        let request = RunRequest { out: Some(self.folder.clone()), ..request };
        let result = match run::saved(&request)? {
            Some(result) => result,
            None => run::run(&request, &Arc::new(Monitor::default()))?.to_json(),
        };
        Ok(Measured(result))
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
    fn a_result_on_disk_is_taken_as_it_is() {
        let directory = tempfile::tempdir().expect("a folder");
        let runs = Runs::below(directory.path()).expect("an executable");
        let request = RunRequest {
            size: Some("tiny".into()),
            gpu: Some("titan-v".into()),
            ..RunRequest::new(What::Workload("saxpy".into()))
        };
        let first = runs.measure(request.clone()).expect("it runs");
        assert!(first.passed() && first.error().is_none() && first.total("cycles") > 0.0);
        let again = runs.measure(request.clone()).expect("it is there");
        assert_eq!(first.0, again.0, "wall-clock times, too: it did not run twice");

        let saved = std::fs::read_dir(&runs.folder).expect("there").next().expect("one").expect("readable").path();
        std::fs::write(saved.join("result.json"), "{ \"cycles\": ").expect("written");
        let anew = runs.measure(request).expect("it runs");
        assert_eq!(anew.total("cycles"), first.total("cycles"), "half a result is none");
    }
}
