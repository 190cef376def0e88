//! What the programs' memory holds: snapshots on a small input to choose targets, on a larger one to judge them.

use super::suite::{Inputs, Program};
use super::timing;
use crate::observe::observe;
use crate::profile::crossings;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_buddy::SNAPSHOTS;
use strata_buddy::observation::{Observation, Wanted};
use strata_buddy::{Choice, Design, Histogram, Outcome, Rule, Target, Targets};
use strata_codec::Codec;
use strata_core::Bytes;
use strata_core::files::{self, AtomicFile};
use strata_run::LabError;
use strata_run::RunRequest;
use strata_run::parallel;
use strata_run::{Monitor, Step};
use strata_tensors::compress::TensorCounts;

/// The codecs of Figure 5a, and C-Pack.
const CODECS: &[Codec] = &Codec::ALL;

/// One program's memory.
pub(super) struct Memory {
    pub(super) program: Program,
    /// Bytes allocated by the input that is judged.
    pub(super) bytes: Bytes,
    /// The same of the input that is timed.
    pub(super) timed_bytes: Bytes,
    /// All snapshots, entry by entry.
    pub(super) total: TensorCounts,
    /// Entropy of a byte, and the share of zero bytes.
    pub(super) entropy: f64,
    pub(super) zero_share: f64,
    /// Ideal ratio of each snapshot; none if all is zero.
    pub(super) ratios: Vec<Option<f64>>,
    /// Static buddy accesses of each snapshot with the final targets.
    pub(super) accesses: Vec<f64>,
    /// What the designs of Figure 7 come to.
    pub(super) designs: [(Design, Outcome); 3],
    /// The final design under the thresholds of Figure 10, then without any.
    pub(super) thresholds: Vec<(f64, Outcome)>,
    pub(super) best: Outcome,
    /// The final design with other definitions of "mostly zero".
    pub(super) mostly_zero: Vec<(f64, Outcome)>,
    /// Entries by state with their target, all snapshots: what energy is counted from.
    pub(super) entries: Vec<(Target, Histogram)>,
    /// The annotation file of the final design.
    pub(super) annotations: PathBuf,
    /// The final design with the threshold on accesses.
    pub(super) by_accesses: ByAccesses,
    /// The heat map's file, beside the page.
    pub(super) map: String,
}

impl Memory {
    /// True if the final design compresses some allocation.
    pub(super) fn is_compressed(&self) -> bool {
        self.entries.iter().any(|(target, _)| *target != Target::X1)
    }
}

/// Targets whose threshold limits the share of accesses over the link.
pub(super) struct ByAccesses {
    pub(super) annotations: PathBuf,
    /// What they come to on the input that is judged.
    pub(super) outcome: Outcome,
    pub(super) is_compressed: bool,
}

/// Observes all programs.
pub(super) fn study(
    inputs: Inputs<'_>,
    directory: &Path,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Memory>, LabError> {
    let name = |program: &Program| format!("memory of {}", program.name);
    let work = |program: &Program| remember(*program, inputs, directory);
    parallel::map(inputs.programs, parallel::threads(), name, begins, work).into_iter().collect()
}

fn remember(program: Program, inputs: Inputs<'_>, directory: &Path) -> Result<Memory, LabError> {
    let look = |size: &str, wanted: Wanted| {
        let request = RunRequest {
            size: Some(size.to_owned()),
            seed: Some(inputs.seed),
            out: Some(directory.join("runs")),
            ..RunRequest::new(program.what())
        };
        observe(&request, SNAPSHOTS, wanted, None, &Arc::new(Monitor::default()))
    };
    let profiled = look(inputs.profiled, Wanted::default())?;
    let small = profiled.profile();
    let judged = look(inputs.judged, Wanted { codecs: CODECS, map: true, places: false })?;
    let profile = judged.profile();
    let rule = Rule::default();
    let judge = |choice: Choice| profile.evaluate(&choice.targets);
    let targets = small.choose(Design::ZeroPage, &rule).targets;
    let annotations = directory.join(format!("targets-{}.toml", program.name));
    let origin = format!("{} at size {}, Buddy Threshold {}", program.name, inputs.profiled, rule.threshold);
    let save = |path: &Path, targets: &Targets, origin: &str| {
        files::write_text(path, &targets.to_toml(origin)).map_err(|e| LabError::io("write", path, e))
    };
    save(&annotations, &targets, &origin)?;
    let request = RunRequest {
        size: Some(inputs.profiled.to_owned()),
        seed: Some(inputs.seed),
        gpu: Some(timing::GPU.to_owned()),
        set: timing::machine(inputs.scale(profiled.bytes()), timing::PLAIN_LINK),
        out: Some(directory.join("runs")),
        ..RunRequest::new(program.what())
    };
    let counted = crossings(&request, &Arc::new(Monitor::default()))?;
    let weighed = small.clone().with_crossings(&counted).choose(Design::ZeroPage, &rule.by_accesses()).targets;
    let by_accesses = ByAccesses {
        annotations: directory.join(format!("targets-by-accesses-{}.toml", program.name)),
        outcome: profile.evaluate(&weighed),
        is_compressed: judged.allocations.iter().any(|a| weighed.get(&a.name) != Target::X1),
    };
    save(&by_accesses.annotations, &weighed, &format!("{origin} on accesses"))?;
    let map = format!("figure-8-{}.png", program.name);
    if let Some(picture) = &judged.map {
        let path = directory.join(&map);
        let write = || {
            let mut file = AtomicFile::create(&path)?;
            picture.write_png(&mut file)?;
            file.commit()
        };
        write().map_err(|e| LabError::io("write", &path, e))?;
    }
    Ok(Memory {
        program,
        bytes: judged.bytes(),
        timed_bytes: if inputs.timed(program) == inputs.profiled { profiled.bytes() } else { judged.bytes() },
        total: judged.total(),
        entropy: judged.values.entropy(),
        zero_share: judged.values.zero_share(),
        ratios: (0..judged.snapshots).map(|k| judged.snapshot(k).ratio(Codec::Bpc)).collect(),
        accesses: (0..judged.snapshots).map(|k| accesses(&judged, &targets, k)).collect(),
        designs: Design::ALL.map(|design| (design, judge(small.choose(design, &rule)))),
        thresholds: Rule::SWEEP
            .iter()
            .map(|&t| (t, judge(small.choose(Design::ZeroPage, &Rule::with_threshold(t)))))
            .collect(),
        best: judge(small.best()),
        mostly_zero: [0.9, 0.95, 0.99]
            .map(|mostly_zero| (mostly_zero, judge(small.choose(Design::ZeroPage, &Rule { mostly_zero, ..rule }))))
            .into(),
        entries: judged.allocations.iter().map(|a| (targets.get(&a.name), a.total().states)).collect(),
        annotations,
        by_accesses,
        map,
    })
}

/// The share of a snapshot's entries that are over their target.
fn accesses(judged: &Observation, targets: &Targets, snapshot: usize) -> f64 {
    let (mut over, mut entries) = (0, 0);
    for allocation in &judged.allocations {
        if let Some(counts) = allocation.snapshots.get(snapshot) {
            over += counts.states.over(targets.get(&allocation.name));
            entries += counts.entries;
        }
    }
    over as f64 / entries.max(1) as f64
}
