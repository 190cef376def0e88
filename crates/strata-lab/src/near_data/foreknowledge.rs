//! What TOM has to know of a program before it runs: found by executing it once without time, and kept on disk.
//!
//! What was found lies beside the results, in a file that is named after everything it depends on: this executable, with
//! the workloads in it; the program and its input; the stacks; and what the search for candidates assumes.

use super::{assumptions, stacks, survey};
use crate::error::LabError;
use crate::fnv::Fnv1a64;
use crate::monitor::Monitor;
use crate::request::{DEFAULT_OUT, RunRequest};
use crate::run::{self, save_json};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_core::LineAddr;
use strata_core::settings::Settings as Values;
use strata_sim::config::GpuConfig;
use strata_tom::mechanism::Foreknowledge;
use strata_tom::settings::Settings;
use strata_tom::survey::Survey;

/// The folder beside the results in which surveys are kept.
const FOLDER: &str = "surveys";

/// What TOM has to know of a program before it runs.
pub(crate) fn foreknowledge(
    request: &RunRequest,
    values: &Values,
    gpu: &GpuConfig,
    monitor: &Arc<Monitor>,
) -> Result<Foreknowledge, LabError> {
    let settings = Settings::of(values);
    if !settings.needs_survey() {
        return Ok(Foreknowledge::default());
    }
    let (folder, name) = place(request, &settings, gpu)?;
    let kept = std::fs::read(folder.join(&name)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if let Some(known) = kept.as_ref().and_then(read) {
        return Ok(known);
    }
    Ok(known(&surveyed(request, values, gpu, monitor)?))
}

/// Surveys a program and keeps what TOM has to know of it.
pub(crate) fn surveyed(
    request: &RunRequest,
    values: &Values,
    gpu: &GpuConfig,
    monitor: &Arc<Monitor>,
) -> Result<Survey, LabError> {
    let survey = survey(request, values, gpu, monitor)?;
    let (folder, name) = place(request, &Settings::of(values), gpu)?;
    save_json(&folder, &name, &write(&known(&survey)))?;
    Ok(survey)
}

fn known(survey: &Survey) -> Foreknowledge {
    Foreknowledge {
        instances: survey.seen.instances.len() as u64,
        best: survey.seen.best(usize::MAX),
        accessed: survey.accessed(),
    }
}

/// Where what is known of a program is kept.
fn place(request: &RunRequest, settings: &Settings, gpu: &GpuConfig) -> Result<(PathBuf, String), LabError> {
    let executable = std::env::current_exe().map_err(|e| LabError::io("find", Path::new("this executable"), e))?;
    let hash = Fnv1a64::of_file(&executable).map_err(|e| LabError::io("read", &executable, e))?;
    // Only the program and its input: what is surveyed depends on neither the machine nor how it is run.
    let program = RunRequest {
        size: request.size.clone(),
        seed: request.seed,
        input: request.input.clone(),
        ..RunRequest::new(request.what.clone())
    };
    let resolved = run::resolved(&program)?;
    let key = json!({
        "executable": hash.to_string(),
        "program": resolved.to_json(&program),
        "page": settings.page.0,
        "assumptions": format!("{:?}", assumptions(settings)),
        "stacks": format!("{:?}", stacks(settings, gpu)?),
    });
    let hash = Fnv1a64::of(key.to_string().as_bytes()).to_string();
    let out = request.out.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_OUT));
    Ok((out.join(FOLDER), format!("{}-{}.json", resolved.name, &hash[..12])))
}

fn write(known: &Foreknowledge) -> Value {
    let accessed: Vec<u64> = known.accessed.iter().map(|line| line.0).collect();
    json!({ "instances": known.instances, "best": known.best, "accessed": accessed })
}

/// `None` if the file is not one of ours.
fn read(kept: &Value) -> Option<Foreknowledge> {
    let lines = kept["accessed"].as_array()?.iter();
    Some(Foreknowledge {
        instances: kept["instances"].as_u64()?,
        best: kept["best"].as_u64().map(|best| best as usize),
        accessed: lines.map(|line| line.as_u64().map(LineAddr)).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpus;
    use crate::mechanisms::Mechanism;
    use crate::request::What;

    /// The foreknowledge of a tiny program that is surveyed below `out`.
    fn of(out: &Path, size: &str, set: &[&str]) -> Foreknowledge {
        let gpu = gpus::gpu("ndp-maxwell", &[""; 0]).expect("a preset");
        let values = Values::read("tom", Mechanism::Tom.settings(), set).expect("good settings");
        let request = RunRequest {
            size: Some(size.into()),
            out: Some(out.to_owned()),
            ..RunRequest::new(What::Workload("vectoradd".into()))
        };
        foreknowledge(&request, &values, &gpu.config, &Arc::new(Monitor::default())).expect("it runs")
    }

    #[test]
    fn a_program_is_surveyed_once() {
        let out = tempfile::tempdir().expect("a folder");
        let files = || -> Vec<PathBuf> {
            let folder = std::fs::read_dir(out.path().join(FOLDER)).expect("surveys");
            folder.map(|entry| entry.expect("readable").path()).collect()
        };
        let first = of(out.path(), "tiny", &[]);
        assert!(first.instances > 0 && first.best.is_some() && !first.accessed.is_empty());
        let kept = files();
        assert_eq!(kept.len(), 1);

        // What lies there is taken as it is, for any policy.
        let told = Foreknowledge { instances: 12_345, ..first.clone() };
        std::fs::write(&kept[0], write(&told).to_string()).expect("written");
        assert_eq!(of(out.path(), "tiny", &["tom.policy=uncontrolled"]), told);
        assert_eq!(of(out.path(), "tiny", &["tom.mapping=baseline"]), Foreknowledge::default());
        std::fs::write(&kept[0], "{ \"instances\": ").expect("written");
        assert_eq!(of(out.path(), "tiny", &[]), first, "half a file is none");

        of(out.path(), "tiny", &["tom.load_miss_rate=1"]);
        assert_eq!(files().len(), 2, "with other assumptions candidates are others");
    }
}
