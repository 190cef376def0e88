//! The profiling pass of Buddy Compression: a program's snapshots to the targets of its allocations.

use crate::observe::observe;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_buddy::observation::{Observation, Wanted};
use strata_buddy::{Choice, SNAPSHOTS};
use strata_codec::SizeClasses;
use strata_core::Bytes;
use strata_core::config::format_size;
use strata_core::files;
use strata_run::LabError;
use strata_run::Monitor;
use strata_run::RunRequest;
use strata_run::table::{Align, columns};
use strata_tensors::compress::Codec;

pub use strata_buddy::{Design, Rule};

/// What to profile, and how to choose.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    /// The program and its input; run without time.
    pub run: RunRequest,
    /// How finely to annotate.
    pub design: Design,
    /// What a target must satisfy.
    pub rule: Rule,
    /// Where to save the snapshots, if anywhere.
    pub snapshots: Option<PathBuf>,
}

/// A profiling pass and what came of it.
pub struct Profiled {
    /// What memory held.
    pub observation: Observation,
    /// The targets, and what they come to.
    pub choice: Choice,
    /// How it was made, in a line: for the head of the annotation file.
    origin: String,
}

/// Profiles a program: executes it, takes snapshots, chooses targets.
pub fn profile(request: &ProfileRequest, monitor: &Arc<Monitor>) -> Result<Profiled, LabError> {
    let ProfileRequest { run, design, rule, snapshots } = request;
    let observation = observe(run, SNAPSHOTS, Wanted::default(), snapshots.clone(), monitor)?;
    let choice = observation.profile().choose(*design, rule);
    let size = run.size.as_deref().unwrap_or("small");
    let origin = format!("{} at size {size}, Buddy Threshold {}", run.what.name(), rule.threshold);
    Ok(Profiled { observation, choice, origin })
}

impl Profiled {
    /// Writes the annotation file.
    pub fn save(&self, path: &Path) -> Result<(), LabError> {
        files::write_text(path, &self.choice.targets.to_toml(&self.origin)).map_err(|e| LabError::io("write", path, e))
    }

    /// Allocations with ratio and target, and the sum.
    pub fn table(&self) -> String {
        let headings = [
            ("allocation", Align::Left),
            ("size", Align::Right),
            ("BPC ratio", Align::Right),
            ("target", Align::Right),
            ("over target", Align::Right),
        ];
        let rows: Vec<_> = self
            .observation
            .allocations
            .iter()
            .map(|a| {
                let target = self.choice.targets.get(&a.name);
                let all = a.total();
                vec![
                    a.name.clone(),
                    format_size(a.bytes),
                    all.ratio(Codec::Bpc).map_or_else(|| "zero".to_owned(), |ratio| format!("{ratio:.2}")),
                    format!("{target}x"),
                    format!("{:.2} %", 100.0 * all.states.overflow(target)),
                ]
            })
            .collect();
        let outcome = &self.choice.outcome;
        let (asked, taken) = outcome.footprint();
        let bytes = |n: u128| format_size(Bytes(n as u64));
        let sizes = self.observation.total().sizes;
        let entries = sizes.iter().sum::<u64>().max(1) as f64;
        let classes = SizeClasses::IDEAL.all().iter().zip(sizes);
        let shares: Vec<_> = classes.map(|(b, n)| format!("{b} B {:.1} %", 100.0 * n as f64 / entries)).collect();
        format!(
            "{} snapshots of {}\n\n{}\ncapacity {:.2}x: {} take {} of the device, in whole pages of 64 KiB where compressed; {:.2} % of entries over their target\n\
             bytes: {:.1} % zero, {:.2} bits of entropy each; entries by size: {}\n",
            self.observation.snapshots,
            self.origin,
            columns(&headings, &rows),
            outcome.ratio(),
            bytes(asked),
            bytes(taken),
            100.0 * outcome.buddy_accesses(),
            100.0 * self.observation.values.zero_share(),
            self.observation.values.entropy(),
            shares.join(", "),
        )
    }

    /// The same as JSON.
    pub fn to_json(&self) -> Value {
        let allocations: Vec<_> = self
            .observation
            .allocations
            .iter()
            .map(|a| {
                let ratios: Vec<_> = a.snapshots.iter().map(|counts| counts.ratio(Codec::Bpc)).collect();
                let target = self.choice.targets.get(&a.name);
                json!({ "name": a.name, "bytes": a.bytes.0, "ratios": ratios, "target": target.ratio() })
            })
            .collect();
        let (asked, taken) = self.choice.outcome.footprint();
        json!({
            "profiled": self.origin,
            "snapshots": self.observation.snapshots,
            "ratio": self.choice.outcome.ratio(),
            "footprint": { "asked": asked as u64, "device": taken as u64 },
            "buddy_accesses": self.choice.outcome.buddy_accesses(),
            "zero_share": self.observation.values.zero_share(),
            "entropy": self.observation.values.entropy(),
            "sizes": self.observation.total().sizes,
            "allocations": allocations,
        })
    }
}
