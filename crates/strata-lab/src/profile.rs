//! The profiling pass of Buddy Compression: a program's snapshots to the targets of its allocations.

use crate::diagnostics::Diagnostics;
use crate::error::LabError;
use crate::mechanisms::Mechanism;
use crate::monitor::Monitor;
use crate::observe::{Observation, Wanted, observe};
use crate::request::{RunRequest, What};
use crate::snapshot::SNAPSHOTS;
use std::path::Path;
use std::sync::Arc;
use strata_buddy::{Choice, Design, Rule, Targets};
use strata_core::settings::Settings;

/// A profiling pass and what came of it.
pub struct Profiled {
    /// What memory held.
    pub observation: Observation,
    /// The targets, and what they come to.
    pub choice: Choice,
    /// How it was made, in a line: for the head of the annotation file.
    pub origin: String,
}

/// Profiles a program: executes it without time, takes snapshots, chooses targets.
pub fn profile(
    request: &RunRequest,
    design: Design,
    rule: &Rule,
    monitor: &Arc<Monitor>,
) -> Result<Profiled, LabError> {
    let observation = observe(request, SNAPSHOTS, Wanted { codecs: &[], map: false }, monitor)?;
    let choice = observation.profile().choose(design, rule);
    let size = request.size.as_deref().map(|size| format!(" --size {size}")).unwrap_or_default();
    let what = match &request.what {
        What::Workload(name) => name.clone(),
        What::LaunchFile(path) | What::Trace(path) => path.display().to_string(),
    };
    let origin = format!("strata profile {what}{size} --threshold {}", rule.threshold);
    Ok(Profiled { observation, choice, origin })
}

/// Reads an annotation file.
pub fn read_targets(path: &Path) -> Result<Targets, LabError> {
    let text = std::fs::read_to_string(path).map_err(|e| LabError::io("read", path, e))?;
    Targets::from_toml(&text)
        .map_err(|list| LabError::Gpu(vec![Diagnostics::new(path.display().to_string(), text.clone(), list)]))
}

/// The targets that a run's Buddy Compression needs, if it has any: those of its annotation file or, without one, of a
/// profiling pass on the program's small input (on the same one if that is not larger, or is all there is).
pub(crate) fn targets(
    request: &RunRequest,
    settings: &[(Mechanism, Settings)],
    monitor: &Arc<Monitor>,
) -> Result<Option<Targets>, LabError> {
    let Some((_, settings)) = settings.iter().find(|(m, _)| *m == Mechanism::Buddy) else { return Ok(None) };
    let file = settings.text("targets");
    if !file.is_empty() {
        return read_targets(Path::new(file)).map(Some);
    }
    let mut smaller =
        RunRequest { seed: request.seed, out: request.out.clone(), ..RunRequest::new(request.what.clone()) };
    smaller.size = match &request.what {
        What::Workload(_) if request.size.as_deref() == Some("tiny") => request.size.clone(),
        What::Workload(_) => Some("small".to_owned()),
        _ => None,
    };
    let rule = Rule::with_threshold(settings.real("threshold"));
    profile(&smaller, Design::ZeroPage, &rule, monitor).map(|profiled| Some(profiled.choice.targets))
}
