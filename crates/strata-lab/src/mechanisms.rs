//! The mechanisms by name: which there are, which go together, and how they get into a machine.

use crate::error::LabError;
use crate::gpus;
use crate::table::{Align, columns, wrapped};
use serde_json::{Value, json};
use std::fmt::{self, Write};
use strata_buddy::settings as buddy_settings;
use strata_cmd::settings::{self as cmd_settings, Scheme};
use strata_core::config::format_size;
use strata_core::nearest::suggestion;
use strata_core::settings::{Setting, Settings};
use strata_core::{Bytes, LINE_BYTES};
use strata_sim::config::Gpu;

/// A mechanism.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mechanism {
    /// An L2 of 5 MB: what the area of CMD would buy.
    LargeL2,
    /// CMD: deduplication, cache-assisted reads and the read-only FIFO.
    Cmd,
    /// The same without the FIFO.
    DedupCar,
    /// Write deduplication alone.
    Dedup,
    /// ESD: deduplication by error-correcting codes.
    Esd,
    /// BCD: lines as differences from base lines.
    Bcd,
    /// Bit-plane compression between L2 and DRAM, for bandwidth alone.
    Bpc,
    /// Buddy Compression.
    Buddy,
    /// Unified memory.
    Uvm,
    /// TOM: near-data processing.
    Tom,
}

impl Mechanism {
    /// All of them, in the order in which L2 meets them: who moves lines before who changes their size. Unified memory stands
    /// before L2.
    pub const ALL: [Self; 10] = [
        Self::LargeL2,
        Self::Cmd,
        Self::DedupCar,
        Self::Dedup,
        Self::Esd,
        Self::Bcd,
        Self::Bpc,
        Self::Buddy,
        Self::Uvm,
        Self::Tom,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LargeL2 => "l2-5mb",
            Self::Cmd => "cmd",
            Self::DedupCar => "dedup-car",
            Self::Dedup => "dedup",
            Self::Esd => "esd",
            Self::Bcd => "bcd",
            Self::Bpc => "bpc",
            Self::Buddy => "buddy",
            Self::Uvm => "uvm",
            Self::Tom => "tom",
        }
    }

    /// What it is, in a line.
    pub const fn description(self) -> &'static str {
        match self {
            Self::LargeL2 => "an L2 of 5 MB by more ways: what the area of CMD would buy",
            Self::Cmd => {
                "CMD: duplicate lines are not written, read from L2 or metadata, and clean victims of L2 stay a while"
            }
            Self::DedupCar => "CMD without its FIFO: write deduplication and cache-assisted reads",
            Self::Dedup => "CMD's write deduplication alone",
            Self::Esd => "ESD: write deduplication by error-correcting codes, each match read and compared",
            Self::Bcd => "BCD: lines stored as differences from base lines with the same upper halves of words",
            Self::Bpc => "bit-plane compression between L2 and DRAM: fewer sectors move, capacity stays",
            Self::Buddy => "Buddy Compression: allocations take less device memory, what does not fit is behind a link",
            Self::Uvm => "unified memory: pages migrate between host and device when they are touched",
            Self::Tom => "TOM: blocks of code run on SMs in the memory stacks that hold their data",
        }
    }

    /// Its settings, `NAME.key`.
    pub const fn settings(self) -> &'static [Setting] {
        match self {
            Self::LargeL2 => &[],
            Self::Cmd => cmd_settings::CMD,
            Self::DedupCar => cmd_settings::DEDUP_CAR,
            Self::Dedup => cmd_settings::DEDUP,
            Self::Esd => cmd_settings::ESD,
            Self::Bcd => cmd_settings::BCD,
            Self::Bpc => buddy_settings::BPC,
            Self::Buddy => buddy_settings::BUDDY,
            Self::Uvm => strata_uvm::SETTINGS,
            Self::Tom => strata_tom::settings::SETTINGS,
        }
    }

    /// The scheme of deduplication that it is.
    pub(crate) const fn scheme(self) -> Option<Scheme> {
        match self {
            Self::Cmd => Some(Scheme::Cmd),
            Self::DedupCar => Some(Scheme::DedupCar),
            Self::Dedup => Some(Scheme::Dedup),
            Self::Esd => Some(Scheme::Esd),
            Self::LargeL2 | Self::Bcd | Self::Bpc | Self::Buddy | Self::Uvm | Self::Tom => None,
        }
    }

    /// True if it must see the data of a program.
    pub const fn looks_at_data(self) -> bool {
        !matches!(self, Self::LargeL2)
    }

    /// Why it does not go together with another, if it does not.
    fn refuses(self, other: Self) -> Option<&'static str> {
        let both = |test: fn(Self) -> bool| test(self) && test(other);
        let either = |test: fn(Self) -> bool| test(self) || test(other);
        let is = |mechanism| self == mechanism || other == mechanism;
        let dedups = |m: Self| m.scheme().is_some();
        let compresses = |m| matches!(m, Self::Bcd | Self::Bpc | Self::Buddy);
        if both(|m| m.scheme().is_some() || m == Self::Bcd) {
            Some("each is a deduplicated memory of its own")
        } else if is(Self::Buddy) && is(Self::Bpc) {
            Some("both compress what L2 sends to DRAM; `buddy` saves bandwidth, too")
        } else if compresses(self) && compresses(other) {
            Some("both compress what L2 sends to DRAM")
        } else if is(Self::Buddy) && either(dedups) {
            Some("`buddy` fixes the place of every line by its allocation, and deduplication moves lines")
        } else if is(Self::LargeL2) && either(|m| m.scheme().is_some() || m == Self::Bcd) {
            Some("`l2-5mb` stands for the area of the other; `--set l2.ways=N` makes L2 larger for any mechanism")
        } else if is(Self::Uvm) && is(Self::Buddy) {
            Some("`buddy` gives allocations a place for good, and managed pages come and go")
        } else if is(Self::Uvm) && either(|m| m.scheme().is_some() || m == Self::Bcd) {
            Some("a deduplicated memory would have to follow every page that comes and goes, and does not yet")
        } else if is(Self::Uvm) && is(Self::Tom) {
            Some("each decides which memory a page is in")
        } else if is(Self::Tom) && !is(Self::LargeL2) {
            Some("SMs on memory stacks go past L2, so they would not find what the other has changed behind it")
        } else {
            None
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
            if name == "none" {
                return Err(LabError::Request(format!("`none` stands alone: leave it out of `{text}`")));
            }
            let names = || Mechanism::ALL.map(Mechanism::name).into_iter().chain(["none"]);
            let found = Mechanism::named(name).ok_or_else(|| {
                let cure = match name.split([',', ' ']).map(Mechanism::named).collect::<Option<Vec<_>>>() {
                    Some(_) => format!("several are joined with `+`: `{}`", name.replace([',', ' '], "+")),
                    None => suggestion(name, names()),
                };
                LabError::Request(format!("there is no mechanism `{name}`; {cure}"))
            })?;
            if list.contains(&found) {
                return Err(LabError::Request(format!("`{name}` is named twice in `{text}`")));
            }
            list.push(found);
        }
        list.sort();
        let pairs = list.iter().enumerate().flat_map(|(k, &a)| list[k + 1..].iter().map(move |&b| (a, b)));
        for (a, b) in pairs {
            if let Some(why) = a.refuses(b) {
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

/// Bytes of the larger L2 (CMD, section V: a 5 MB L2 stands for CMD's area).
const LARGE_L2: u64 = 5 << 20;

impl Combination {
    /// The GPU `name` with overrides `key=value`, as this combination has it.
    pub(crate) fn gpu(&self, name: &str, set: &[String]) -> Result<Gpu, LabError> {
        let gpu = gpus::gpu(name, set)?;
        if !self.has(Mechanism::LargeL2) {
            return Ok(gpu);
        }
        let l2 = &gpu.config.l2;
        let (way, held) = (u64::from(l2.slices) * u64::from(l2.sets) * LINE_BYTES, gpu.config.l2_size().0);
        let refused = if set.iter().any(|one| one.trim_start().starts_with("l2.ways")) {
            Some("`l2.ways` is what it changes: leave one of the two out".to_owned())
        } else if held >= LARGE_L2 {
            Some(format!("`{name}` has an L2 of {} already", format_size(Bytes(held))))
        } else if !LARGE_L2.is_multiple_of(way) {
            Some(format!("{} slices of {} sets make no L2 of 5 MB: set others", l2.slices, l2.sets))
        } else {
            None
        };
        if let Some(reason) = refused {
            return Err(LabError::Request(format!("`l2-5mb`: {reason}")));
        }
        gpus::gpu(name, &[set, &[format!("l2.ways={}", LARGE_L2 / way)]].concat())
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

/// The mechanism of a name, or all.
pub fn named_or_all(name: Option<&str>) -> Result<Vec<Mechanism>, LabError> {
    let Some(name) = name else { return Ok(Mechanism::ALL.into()) };
    let unknown = || {
        let near = suggestion(name, Mechanism::ALL.map(Mechanism::name));
        LabError::Request(format!("there is no mechanism `{name}`; {near}"))
    };
    Mechanism::named(name).map(|found| vec![found]).ok_or_else(unknown)
}

/// Mechanisms and how many settings each has, as text.
pub fn list_table(mechanisms: &[Mechanism]) -> String {
    let headings = [("mechanism", Align::Left), ("settings", Align::Right), ("what it does", Align::Left)];
    let row = |m: &Mechanism| vec![m.name().to_owned(), m.settings().len().to_string(), m.description().to_owned()];
    columns(&headings, &mechanisms.iter().map(row).collect::<Vec<_>>())
}

/// Columns of a terminal that text is broken for.
const WIDTH: usize = 100;

/// A mechanism with its settings, as text.
pub fn table(mechanism: Mechanism) -> String {
    let mut out = wrapped(&format!("{}: {}", mechanism.name(), mechanism.description()), WIDTH, 0);
    for s in mechanism.settings() {
        let default = if s.default.is_empty() { "none" } else { s.default };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{}.{} = {default}", mechanism.name(), s.key);
        out += &wrapped(s.meaning, WIDTH, 4);
        out += &wrapped(&format!("allowed: {}", s.allowed.describe()), WIDTH, 4);
        out += &wrapped(&format!("default from: {}", s.source), WIDTH, 4);
    }
    out
}

/// All mechanisms and their settings with the sources of their defaults, as Markdown: `docs/mechanisms.md`.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    for mechanism in Mechanism::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n## `{}`\n\n{}.\n", mechanism.name(), mechanism.description());
        if mechanism.settings().is_empty() {
            continue;
        }
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

A mechanism (but `l2-5mb`) looks at the data of a program, so a recorded trace, which has none, is refused. `strata mechanisms NAME` prints the
same settings.
";

/// The same of some as JSON.
pub fn to_json(mechanisms: &[Mechanism]) -> Value {
    let setting = |s: &Setting| {
        json!({
            "key": s.key, "default": s.default, "allowed": s.allowed.describe(), "meaning": s.meaning, "source": s.source,
        })
    };
    let one = |m: &Mechanism| {
        let settings: Vec<_> = m.settings().iter().map(setting).collect();
        json!({ "name": m.name(), "description": m.description(), "settings": settings })
    };
    json!({ "mechanisms": mechanisms.iter().map(one).collect::<Vec<_>>() })
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
        for text in ["none", "buddy", "bpc", "cmd+bpc", "esd", "l2-5mb", "dedup-car"] {
            assert_eq!(Combination::parse(text).expect("known").to_string(), text);
        }
        assert!(refused("budy").contains("did you mean `buddy`?"));
        assert!(refused("bpc+bpc").contains("twice"));
        assert!(refused("buddy+bpc").contains("do not go together: both compress"));
        assert_eq!(Combination::parse("bpc+cmd").expect("known").to_string(), "cmd+bpc", "L2 meets `cmd` first");
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        assert!(refused("cmd+esd").contains("each is a deduplicated memory"));
        assert!(refused("bcd+dedup").contains("each is a deduplicated memory"));
        assert!(refused("bcd+bpc").contains("both compress"));
        assert!(refused("cmd+buddy").contains("moves lines"));
        assert!(refused("cmd+l2-5mb").contains("area of the other"));
        assert!(Combination::parse("l2-5mb+bpc").is_ok());
        assert!(refused("uvm+tom").contains("which memory a page is in"));
        assert!(refused("cmd+tom").contains("go past L2"));
    }

    #[track_caller]
    fn check_large_l2(gpu: &str, set: &[&str], expected: Result<u32, &str>) {
        let set: Vec<String> = set.iter().map(|one| (*one).to_owned()).collect();
        let found = Combination::parse("l2-5mb").expect("known").gpu(gpu, &set);
        match (found, expected) {
            (Ok(gpu), Ok(ways)) => assert_eq!(gpu.config.l2.ways, ways),
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
            (found, _) => panic!("{gpu} {set:?}: {:?}", found.map(|gpu| gpu.config.l2.ways)),
        }
    }

    #[test]
    fn a_larger_l2_has_more_ways() {
        check_large_l2("cmd-gddr6", &[], Ok(gpus::gpu("cmd-gddr6-l2-5mb", &[""; 0]).expect("a preset").config.l2.ways));
        check_large_l2("cmd-gddr6", &["l2.ways=8"], Err("leave one of the two out"));
        check_large_l2("cmd-gddr6", &["l2.sets=4096"], Err("already"));
        check_large_l2("cmd-gddr6", &["l2.slices=24", "l2.sets=64"], Err("make no L2 of 5 MB"));
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
