//! The mechanisms by name: which there are, which go together, and how they get into a machine.

use crate::error::LabError;
use crate::table::{Align, columns};
use crate::unified::Unified;
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::path::Path;
use strata_buddy::settings as buddy_settings;
use strata_buddy::{Annotator, CompressedSide, Purpose, Targets};
use strata_core::nearest::suggestion;
use strata_core::settings::{Setting, Settings};
use strata_core::{Addr, Bytes, Stats};
use strata_emu::Capacity;
use strata_host::{AllocFlags, Allocation};
use strata_sim::Machine;
use strata_sim::config::GpuConfig;
use strata_sim::seam::MemorySide;

/// A mechanism.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mechanism {
    /// Bit-plane compression between L2 and DRAM, for bandwidth alone.
    Bpc,
    /// Buddy Compression.
    Buddy,
    /// Unified memory.
    Uvm,
}

impl Mechanism {
    /// All of them, in the order in which L2 meets them.
    pub const ALL: [Self; 3] = [Self::Bpc, Self::Buddy, Self::Uvm];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpc => "bpc",
            Self::Buddy => "buddy",
            Self::Uvm => "uvm",
        }
    }

    /// What it is, in a line.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Bpc => "bit-plane compression between L2 and DRAM: fewer sectors move, capacity stays",
            Self::Buddy => "Buddy Compression: allocations take less device memory, what does not fit is behind a link",
            Self::Uvm => "unified memory: pages migrate between host and device when they are touched",
        }
    }

    /// Its settings, `NAME.key`.
    pub const fn settings(self) -> &'static [Setting] {
        match self {
            Self::Bpc => buddy_settings::BPC,
            Self::Buddy => buddy_settings::BUDDY,
            Self::Uvm => strata_uvm::SETTINGS,
        }
    }

    /// The mechanism that a setting `name.key=value` is of.
    fn of_key(key: &str) -> Option<Self> {
        Self::named(key.split_once('.').map_or(key, |(first, _)| first))
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// Pairs that do not go together, and why.
const REFUSED: [(Mechanism, Mechanism, &str); 2] = [
    (Mechanism::Bpc, Mechanism::Buddy, "both compress what L2 sends to DRAM; `buddy` saves bandwidth, too"),
    (Mechanism::Buddy, Mechanism::Uvm, "`buddy` gives allocations a place for good, and managed pages come and go"),
];

/// Mechanisms with their settings.
pub(crate) type Chosen = Vec<(Mechanism, Settings)>;

/// Mechanisms in one machine, each once, in the order in which L2 meets them; none is the plain machine.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Combination(Vec<Mechanism>);

impl Combination {
    /// The plain machine.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Reads `none`, `buddy`, `cmd+bpc`.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        let mut list = Vec::new();
        if text == "none" {
            return Ok(Self(list));
        }
        for name in text.split('+') {
            let names = || Mechanism::ALL.map(Mechanism::name).into_iter().chain(["none"]);
            let found = Mechanism::named(name).ok_or_else(|| {
                LabError::Request(format!("there is no mechanism `{name}`; {}", suggestion(name, names())))
            })?;
            if list.contains(&found) {
                return Err(LabError::Request(format!("`{name}` is named twice in `{text}`")));
            }
            list.push(found);
        }
        list.sort();
        for (a, b, why) in REFUSED {
            if list.contains(&a) && list.contains(&b) {
                let (a, b) = (a.name(), b.name());
                return Err(LabError::Request(format!("`{a}` and `{b}` do not go together: {why}")));
            }
        }
        Ok(Self(list))
    }

    /// The mechanisms.
    pub fn list(&self) -> &[Mechanism] {
        &self.0
    }

    /// True if it has this mechanism.
    pub fn has(&self, mechanism: Mechanism) -> bool {
        self.0.contains(&mechanism)
    }

    /// Of `key=value`, those that a machine with this combination has: not the settings of other mechanisms.
    pub(crate) fn relevant(&self, set: &[String]) -> Vec<String> {
        let foreign = |one: &&String| Mechanism::of_key(one).is_some_and(|mechanism| !self.has(mechanism));
        set.iter().filter(|one| !foreign(one)).cloned().collect()
    }

    /// Reads the settings of its mechanisms out of `set` (`key=value`), and gives what is left for the machine.
    pub(crate) fn settings(&self, set: &[String]) -> Result<(Chosen, Vec<String>), LabError> {
        let of = |one: &str| Mechanism::of_key(one);
        let (own, machine): (Vec<&String>, Vec<&String>) = set.iter().partition(|one| of(one).is_some());
        let mut errors = Vec::new();
        for one in &own {
            if let Some(mechanism) = of(one).filter(|m| !self.has(*m)) {
                let name = mechanism.name();
                errors.push(format!(
                    "`{one}` is a setting of `{name}`, which is not in this machine: add `--with {name}`"
                ));
            }
        }
        let mut all = Vec::new();
        for &mechanism in &self.0 {
            let mine: Vec<_> = own.iter().filter(|one| of(one) == Some(mechanism)).collect();
            match Settings::read(mechanism.name(), mechanism.settings(), &mine) {
                Ok(settings) => all.push((mechanism, settings)),
                Err(list) => errors.extend(list),
            }
        }
        if !errors.is_empty() {
            return Err(LabError::Request(errors.join("\n")));
        }
        Ok((all, machine.into_iter().cloned().collect()))
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.pad("none");
        }
        f.pad(&self.0.iter().map(|m| m.name()).collect::<Vec<_>>().join("+"))
    }
}

/// All mechanisms and their settings, as text.
pub fn table() -> String {
    let mut out = String::new();
    for mechanism in Mechanism::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}: {}\n", mechanism.name(), mechanism.description());
        let headings =
            [("setting", Align::Left), ("default", Align::Left), ("allowed", Align::Left), ("meaning", Align::Left)];
        let row = |s: &Setting| {
            let default = if s.default.is_empty() { "none" } else { s.default };
            vec![
                format!("{}.{}", mechanism.name(), s.key),
                default.to_owned(),
                s.allowed.describe(),
                s.meaning.to_owned(),
            ]
        };
        out += &columns(&headings, &mechanism.settings().iter().map(row).collect::<Vec<_>>());
        out.push('\n');
    }
    out
}

/// All mechanisms and their settings with the sources of their defaults, as Markdown: `docs/mechanisms.md`.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    for mechanism in Mechanism::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n## `{}`\n\n{}.\n", mechanism.name(), mechanism.description());
        let _ = writeln!(
            out,
            "| setting | default | allowed | meaning | source of the default |\n| --- | --- | --- | --- | --- |"
        );
        for s in mechanism.settings() {
            let default = if s.default.is_empty() { "none" } else { s.default };
            let (name, allowed) = (mechanism.name(), s.allowed.describe());
            let _ = writeln!(out, "| `{name}.{}` | {default} | {allowed} | {} | {} |", s.key, s.meaning, s.source);
        }
    }
    out
}

const INTRODUCTION: &str = "\
# Mechanisms

What can be put into a machine with `--with`, alone or joined by `+`, and the settings of each, for `--set`. This page is made
from the code by a test; `UPDATE_DOCS=1 cargo test -p strata-lab` writes it anew.

    strata run ep --gpu p100-buddy --with buddy --set buddy.metadata_cache=32KB
    strata compare ep cg --with bpc,buddy

A mechanism looks at the data of a program, so a recorded trace, which has none, is refused. `strata mechanisms` prints the
same settings.
";

/// The same as JSON.
pub fn to_json() -> Value {
    let setting = |s: &Setting| {
        json!({
            "key": s.key, "default": s.default, "allowed": s.allowed.describe(), "meaning": s.meaning, "source": s.source,
        })
    };
    let all = Mechanism::ALL.map(|m| {
        let settings: Vec<_> = m.settings().iter().map(setting).collect();
        json!({ "name": m.name(), "description": m.description(), "settings": settings })
    });
    json!({ "mechanisms": all })
}

/// Mechanisms with their settings, ready for a machine.
pub(crate) struct Setup {
    settings: Chosen,
    annotator: Option<Annotator>,
    unified: Option<Unified>,
    /// Bytes of device memory that are taken; who annotates allocations keeps books of its own.
    used: u64,
    device: u64,
}

impl Setup {
    /// No mechanism at all.
    pub(crate) fn plain(gpu: &GpuConfig) -> Self {
        Self { settings: Vec::new(), annotator: None, unified: None, used: 0, device: gpu.dram.size.0 }
    }

    /// For a GPU. `targets` are those of Buddy Compression, if it is there.
    pub(crate) fn new(settings: Chosen, targets: Option<Targets>, gpu: &GpuConfig) -> Result<Self, LabError> {
        let annotator = targets.map(|targets| Annotator::new(targets, gpu.dram.size));
        let own = settings.iter().find(|(mechanism, _)| *mechanism == Mechanism::Uvm);
        let unified = own.map(|(_, settings)| Unified::new(settings, gpu)).transpose()?;
        Ok(Self { settings, annotator, unified, ..Self::plain(gpu) })
    }

    /// Changes what a mechanism needs otherwise in the machine.
    pub(crate) fn adapt(&self, gpu: &mut GpuConfig) {
        if let Some(unified) = &self.unified {
            unified.adapt(gpu);
        }
    }

    /// True if an allocation is managed memory: all are with unified memory, unless the program says otherwise.
    pub(crate) fn manages(&self, flags: AllocFlags) -> bool {
        flags.managed || self.unified.is_some() && !flags.on_device
    }

    /// An error if data cannot be checked because a mechanism models something that could not be.
    pub(crate) fn refuse_unchecked(&self) -> Result<(), LabError> {
        self.unified.as_ref().map_or(Ok(()), Unified::refuse_unchecked)
    }

    /// Adds the rates of mechanisms to the tree of a launch.
    pub(crate) fn add_rates(&self, prefix: &str, stats: &mut Stats) {
        if self.unified.is_some() {
            strata_uvm::stats::add_rates(prefix, stats);
        }
    }

    /// To be called with the result's folder once the program has ended: saves what mechanisms saw, and tells what looks
    /// like a mistake.
    pub(crate) fn afterthoughts(&self) -> impl Fn(&Path) -> Result<Vec<String>, LabError> + use<> {
        let allocations = self.annotator.as_ref().map(Annotator::allocations);
        let unified = self.unified.clone();
        move |folder| {
            if let Some(unified) = &unified {
                unified.save(folder)?;
            }
            let unmet = allocations.iter().flat_map(strata_buddy::Allocations::unmet);
            Ok(unmet
                .map(|name| format!("the annotation file has a target for `{name}`, which the program never allocated"))
                .collect())
        }
    }

    /// Puts the mechanisms into a machine.
    pub(crate) fn install(&self, machine: &mut Machine) {
        if let Some(unified) = &self.unified {
            unified.install(machine);
        }
        if self.settings.iter().all(|(mechanism, _)| *mechanism == Mechanism::Uvm) {
            return;
        }
        let gpu = machine.config().clone();
        machine.set_memory_side(|_| self.settings.iter().filter_map(|(m, s)| self.side(*m, s, &gpu)).collect());
    }

    fn side(&self, mechanism: Mechanism, settings: &Settings, gpu: &GpuConfig) -> Option<Box<dyn MemorySide>> {
        let side = match mechanism {
            Mechanism::Uvm => return None,
            Mechanism::Bpc => CompressedSide::new(Purpose::Bandwidth, &buddy_settings::Settings::of_bpc(settings), gpu),
            Mechanism::Buddy => {
                let allocations = self.annotator.as_ref().map(Annotator::allocations).unwrap_or_default();
                CompressedSide::new(Purpose::Capacity(allocations), &buddy_settings::Settings::of_buddy(settings), gpu)
            }
        };
        Some(Box::new(side))
    }

    /// The program makes an allocation; the text says why it cannot.
    pub(crate) fn allocated(&mut self, allocation: &Allocation) -> Result<(), String> {
        let Allocation { name, start, size, flags, .. } = allocation;
        if let Some(annotator) = &mut self.annotator {
            return annotator.allocated(name, *start, *size, flags.managed).map_err(|refused| refused.to_string());
        }
        if self.unified.is_some() && flags.managed {
            return Ok(());
        }
        if self.used + size.0 > self.device {
            let of = strata_core::config::format_size(Bytes(self.device));
            return Err(format!(
                "out of device memory: `{name}` takes {}, and {} of {of} are in use; `--set dram.size=SIZE` makes a larger one",
                strata_core::config::format_size(*size),
                strata_core::config::format_size(Bytes(self.used)),
            ));
        }
        self.used += size.0;
        Ok(())
    }

    /// The program frees memory.
    pub(crate) fn freed(&mut self, start: Addr, size: Bytes) {
        let managed = Capacity::default().managed_range().contains(&start);
        match &mut self.annotator {
            Some(annotator) => annotator.freed(start),
            None if self.unified.is_some() && managed => {}
            None => self.used -= size.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str) -> String {
        Combination::parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn combinations_are_read_back() {
        for text in ["none", "buddy", "bpc"] {
            assert_eq!(Combination::parse(text).expect("known").to_string(), text);
        }
        assert!(refused("budy").contains("did you mean `buddy`?"));
        assert!(refused("bpc+bpc").contains("twice"));
        assert!(refused("buddy+bpc").contains("do not go together: both compress"));
    }

    #[test]
    fn settings_belong_to_mechanisms_and_the_rest_to_the_machine() {
        let set = ["l2.ways=8", "buddy.metadata_ways=8"].map(str::to_owned);
        let buddy = Combination::parse("buddy").expect("known");
        let (settings, machine) = buddy.settings(&set).expect("good");
        assert_eq!((settings[0].1.whole("metadata_ways"), machine), (8, vec!["l2.ways=8".to_owned()]));
        let error = Combination::none().settings(&set).expect_err("no buddy there").to_string();
        assert_eq!(
            error,
            "`buddy.metadata_ways=8` is a setting of `buddy`, which is not in this machine: add `--with buddy`"
        );
    }
}
