//! The profiling pass of Buddy Compression: a program's snapshots to the targets of its allocations.

use crate::observe::observe;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strata_buddy::counts::TensorCounts;
use strata_buddy::observation::{Observation, Observed, Wanted};
use strata_buddy::{Choice, Crossings, Outcome, Profile, SNAPSHOTS, Target, Watch};
use strata_codec::SizeClasses;
use strata_core::Bytes;
use strata_core::files;
use strata_mechanism::Registry;
use strata_run::LabError;
use strata_run::Monitor;
use strata_run::RunRequest;
use strata_run::table::{Align, columns, grouped, wrapped};
use strata_tensors::compress::Codec;

pub use strata_buddy::{Design, Rule};

/// Characters in a line.
const WIDTH: usize = 100;

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
    /// The machine on which the program is timed, too, to count what crosses L2's edge: the threshold is on accesses then.
    pub gpu: Option<String>,
    /// Changes to that machine, `key=value`.
    pub set: Vec<String>,
    /// Say, too, what comes of it if the allocations are tensors in the memory of a framework.
    pub cached: bool,
}

/// A profiling pass and what came of it.
pub struct Profiled {
    /// What memory held.
    pub observation: Observation,
    /// The targets, and what they come to.
    pub choice: Choice,
    /// What the threshold on entries would have chosen, if it was on accesses.
    by_entries: Option<Choice>,
    profile: Profile,
    /// What comes of targets for the segments of a framework's caching allocator, by entries.
    cached: Option<Choice>,
    /// How it was made, in a line: for the head of the annotation file.
    origin: String,
}

/// Profiles a program: executes it, takes snapshots, chooses targets.
pub fn profile(request: &ProfileRequest, monitor: &Arc<Monitor>) -> Result<Profiled, LabError> {
    let ProfileRequest { run, design, rule, snapshots, gpu, set, cached } = request;
    let observation = observe(run, SNAPSHOTS, Wanted::default(), snapshots.clone(), monitor)?;
    let mut profile = observation.profile();
    let size = run.size.as_deref().unwrap_or("small");
    let mut origin = format!("{} at size {size}, Buddy Threshold {}", run.what.name(), rule.threshold);
    let by_entries = profile.choose(*design, rule);
    let cached = cached.then(|| observation.cached().choose(*design, rule));
    let Some(gpu) = gpu else {
        return Ok(Profiled { observation, choice: by_entries, by_entries: None, profile, cached, origin });
    };
    let timed = RunRequest { gpu: Some(gpu.clone()), set: set.clone(), ..run.clone() };
    profile = profile.with_crossings(&crossings(&timed, monitor)?);
    let choice = profile.choose(*design, &rule.by_accesses());
    origin.push_str(" on accesses, ");
    origin.push_str(gpu);
    let by_entries = Some(profile.choose(*design, rule));
    Ok(Profiled { observation, choice, by_entries, profile, cached, origin })
}

/// Runs a program on its machine, and counts what crosses L2's edge: fills and write-backs, by the name of the allocation.
pub fn crossings(timed: &RunRequest, monitor: &Arc<Monitor>) -> Result<BTreeMap<String, Crossings>, LabError> {
    let watch = Watch::default();
    let mut registry = Registry::default();
    registry.register(watch.clone()).map_err(|e| LabError::Request(e.to_string()))?;
    let request = RunRequest { with: registry.combination(Watch::NAME)?, ..timed.clone() };
    let result = strata_run::run(&request, monitor)?;
    match result.error {
        Some(error) => Err(LabError::Request(format!("the program failed while it was profiled: {error}"))),
        None => Ok(watch.counted()),
    }
}

impl Profiled {
    /// Writes the annotation file.
    pub fn save(&self, path: &Path) -> Result<(), LabError> {
        files::write_text(path, &self.choice.targets.to_toml(&self.origin)).map_err(|e| LabError::io("write", path, e))
    }

    /// Allocations with ratio and target, and the sum. Those that stay as they are stand in one row, unless they are all there is.
    pub fn table(&self) -> String {
        let mut headings = vec![
            ("allocation", Align::Left),
            ("size", Align::Right),
            ("BPC ratio", Align::Right),
            ("target", Align::Right),
            ("over target", Align::Right),
        ];
        if self.by_entries.is_some() {
            headings.extend([
                ("accesses", Align::Right),
                ("over link", Align::Right),
                ("target by entries", Align::Right),
            ]);
        }
        let all = &self.observation.allocations;
        let stays = |a: &&Observed| {
            let by_entries = self.by_entries.as_ref().map_or(Target::X1, |choice| choice.targets.get(&a.name));
            self.choice.targets.get(&a.name) == Target::X1 && by_entries == Target::X1
        };
        let folded: Vec<&Observed> = all.iter().filter(stays).collect();
        let folds = folded.len() > 1 && folded.len() < all.len();
        let mut rows: Vec<_> =
            all.iter().filter(|a| !folds || !stays(a)).map(|a| self.row(&a.name, a.bytes, &[a])).collect();
        if folds {
            let bytes = Bytes(folded.iter().map(|a| a.bytes.0).sum());
            rows.push(self.row(&format!("{} others", folded.len()), bytes, &folded));
        }
        let sizes = self.observation.total().sizes;
        let entries = sizes.iter().sum::<u64>().max(1) as f64;
        let classes = SizeClasses::IDEAL.all().iter().zip(sizes);
        let shares: Vec<_> = classes.map(|(b, n)| format!("{b} B {:.1} %", 100.0 * n as f64 / entries)).collect();
        let sums = match &self.by_entries {
            None => vec![sentence(&self.choice.outcome)],
            Some(by_entries) => vec![
                format!("threshold on accesses: {}", sentence(&self.choice.outcome)),
                format!("threshold on entries: {}", sentence(&by_entries.outcome)),
            ],
        };
        let cached = self.cached.as_ref().map(|cached| {
            let (segments, outcome) = (cached.targets.iter().count(), &cached.outcome);
            format!(
                "segments of a caching allocator: {segments}, {}; {:.2}x of what tensors hold",
                sentence(outcome),
                self.over_asked(outcome)
            )
        });
        let bytes = format!(
            "bytes: {:.1} % zero, {:.2} bits of entropy each; entries by size: {}",
            100.0 * self.observation.values.zero_share(),
            self.observation.values.entropy(),
            shares.join(", "),
        );
        let lines: String = sums.iter().chain(&cached).chain([&bytes]).map(|line| wrapped(line, WIDTH, 0)).collect();
        let (number, table) = (grouped(self.observation.snapshots as u64), columns(&headings, &rows));
        format!("{number} snapshots of {}\n\n{table}\n{lines}", self.origin)
    }

    /// Bytes that the program asked for, for each byte of the device that segments take.
    fn over_asked(&self, cached: &Outcome) -> f64 {
        let (_, taken) = cached.footprint();
        self.observation.bytes().0 as f64 / taken.max(1) as f64
    }

    /// A row of the table: allocations that share a target.
    fn row(&self, name: &str, bytes: Bytes, of: &[&Observed]) -> Vec<String> {
        let mut all = TensorCounts::default();
        for observed in of {
            all.merge(&observed.total());
        }
        let target = of.first().map_or(Target::X1, |a| self.choice.targets.get(&a.name));
        let mut row = vec![
            name.to_owned(),
            bytes.to_string(),
            all.ratio(Codec::Bpc).map_or_else(|| "zero".to_owned(), |ratio| format!("{ratio:.2}")),
            format!("{target}x"),
            format!("{:.2} %", 100.0 * all.states.overflow(target)),
        ];
        if let Some(by_entries) = &self.by_entries {
            let mut names: Vec<_> = of.iter().map(|a| &a.name).collect();
            names.dedup();
            let counted = names.iter().map(|name| self.profile.crossings(name, target));
            let (accesses, over) = counted.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            let entries = of.first().map_or(Target::X1, |a| by_entries.targets.get(&a.name));
            let share = 100.0 * over as f64 / accesses.max(1) as f64;
            row.extend([grouped(accesses), format!("{share:.2} %"), format!("{entries}x")]);
        }
        row
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
            "link_accesses": self.choice.outcome.link_accesses(),
            "by_entries": self.by_entries.as_ref().map(|choice| json!({
                "ratio": choice.outcome.ratio(),
                "device": choice.outcome.footprint().1 as u64,
                "link_accesses": choice.outcome.link_accesses(),
            })),
            "cached": self.cached.as_ref().map(|choice| json!({
                "segments": choice.targets.iter().count(),
                "bytes": choice.outcome.footprint().0 as u64,
                "device": choice.outcome.footprint().1 as u64,
                "ratio": choice.outcome.ratio(),
                "over_asked": self.over_asked(&choice.outcome),
                "buddy_accesses": choice.outcome.buddy_accesses(),
            })),
            "zero_share": self.observation.values.zero_share(),
            "entropy": self.observation.values.entropy(),
            "sizes": self.observation.total().sizes,
            "allocations": allocations,
        })
    }
}

/// What targets come to, in words.
fn sentence(outcome: &Outcome) -> String {
    let (asked, taken) = outcome.footprint();
    let bytes = |n: u128| Bytes(n as u64);
    let over = 100.0 * outcome.buddy_accesses();
    let link = outcome
        .link_accesses()
        .map_or_else(String::new, |share| format!(", {:.2} % of fills and write-backs over the link", 100.0 * share));
    format!(
        "capacity {:.2}x: {} take {} of the device, in whole pages of 64 KiB where compressed; {over:.2} % of entries over their target{link}",
        outcome.ratio(),
        bytes(asked),
        bytes(taken),
    )
}
