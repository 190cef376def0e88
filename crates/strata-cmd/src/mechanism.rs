//! CMD and the schemes that its paper compares it with, as mechanisms: `cmd`, `dedup-car`, `dedup`, `esd`, `bcd`, and `l2-5mb`,
//! the larger cache that the same area would buy.

use crate::request_table;
use crate::settings::{self, Scheme};
use crate::{BcdSide, DedupSide, ReadOnlyFifo, SectorSide};
use strata_core::config::format_size;
use strata_core::settings::{Setting, Settings as Values};
use strata_core::{Bytes, LINE_BYTES, Stats};
use strata_mechanism::{Conflict, Mechanism, MechanismError, NameTaken, Preparation, Prepared, Registry, Role, With};
use strata_sim::config::GpuConfig;
use strata_sim::seam::MemorySide;
use strata_sim::{Layer, MachineBuilder};

/// Registers what this crate has.
pub fn register(registry: &mut Registry) -> Result<(), NameTaken> {
    registry.register(LargeL2)?;
    for scheme in [Scheme::Cmd, Scheme::DedupCar, Scheme::Dedup, Scheme::Esd] {
        registry.register(Deduplication(scheme))?;
    }
    registry.register(Bcd)
}

/// What a memory that moves lines does not go together with.
const CONFLICTS: &[Conflict] =
    &[Conflict { with: With::Role(Role::Deduplicates), why: "each is a deduplicated memory of its own" }];

/// ESD moves sectors, of which no entry is left to compress for capacity.
const ESD_CONFLICTS: &[Conflict] = &[
    CONFLICTS[0],
    Conflict {
        with: With::Name("buddy"),
        why: "`esd` moves single sectors, and an entry that `buddy` compresses is a line; use `cmd`, `dedup-car` or `dedup` with it",
    },
];

/// A scheme that deduplicates blocks.
struct Deduplication(Scheme);

impl Mechanism for Deduplication {
    fn name(&self) -> &'static str {
        match self.0 {
            Scheme::Cmd => "cmd",
            Scheme::DedupCar => "dedup-car",
            Scheme::Dedup => "dedup",
            Scheme::Esd => "esd",
        }
    }

    fn description(&self) -> &'static str {
        match self.0 {
            Scheme::Cmd => {
                "CMD: duplicate lines are not written, read from L2 or metadata, and clean victims of L2 stay a while"
            }
            Scheme::DedupCar => "CMD without its FIFO: write deduplication and cache-assisted reads",
            Scheme::Dedup => "CMD's write deduplication alone",
            Scheme::Esd => "ESD: write deduplication by error-correcting codes, each match read and compared",
        }
    }

    fn settings(&self) -> &'static [Setting] {
        match self.0 {
            Scheme::Cmd => settings::CMD,
            Scheme::DedupCar => settings::DEDUP_CAR,
            Scheme::Dedup => settings::DEDUP,
            Scheme::Esd => settings::ESD,
        }
    }

    fn roles(&self) -> &'static [Role] {
        &[Role::Deduplicates]
    }

    fn conflicts(&self) -> &'static [Conflict] {
        if self.0 == Scheme::Esd { ESD_CONFLICTS } else { CONFLICTS }
    }

    fn prepare(&self, values: &Values, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        Ok(Box::new(PreparedScheme { name: self.name(), settings: settings::Settings::of(self.0, values) }))
    }

    /// All schemes count under one name, since they are compared count by count; requests by class have a table of their own.
    fn shows(&self, path: &str, value: f64) -> bool {
        value != 0.0 && path.starts_with("cmd.") && !path.contains(".requests.")
    }

    fn table(&self, prefix: &str, stats: &Stats) -> Option<String> {
        request_table::table(prefix, stats)
    }
}

struct PreparedScheme {
    name: &'static str,
    settings: settings::Settings,
}

impl Prepared for PreparedScheme {
    fn install(&mut self, machine: &mut MachineBuilder) {
        let (settings, gpu) = (self.settings, machine.config().clone());
        machine.memory_side(self.name, Layer::Relocates, move |_| -> Box<dyn MemorySide> {
            if settings.sectors {
                Box::new(SectorSide::new(&settings, &gpu))
            } else {
                Box::new(DedupSide::new(&settings, &gpu))
            }
        });
        if let Some(fifo) = self.settings.fifo {
            machine.victim(self.name, move |_| Box::new(ReadOnlyFifo::new(fifo)));
        }
    }
}

/// BCD: base-delta coding across lines.
struct Bcd;

impl Mechanism for Bcd {
    fn name(&self) -> &'static str {
        "bcd"
    }

    fn description(&self) -> &'static str {
        "BCD: lines stored as differences from base lines with the same upper halves of words"
    }

    fn settings(&self) -> &'static [Setting] {
        settings::BCD
    }

    fn roles(&self) -> &'static [Role] {
        &[Role::Deduplicates, Role::Compresses]
    }

    fn conflicts(&self) -> &'static [Conflict] {
        CONFLICTS
    }

    fn prepare(&self, values: &Values, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        Ok(Box::new(PreparedBcd(values.clone())))
    }
}

struct PreparedBcd(Values);

impl Prepared for PreparedBcd {
    fn install(&mut self, machine: &mut MachineBuilder) {
        let (values, gpu) = (self.0.clone(), machine.config().clone());
        machine.memory_side("bcd", Layer::Resizes, move |_| Box::new(BcdSide::new(&values, &gpu)));
    }
}

/// Bytes of the larger L2 (CMD, section V: a 5 MB L2 stands for CMD's area).
const LARGE_L2: u64 = 5 << 20;

/// A larger L2, and nothing else.
struct LargeL2;

impl Mechanism for LargeL2 {
    fn name(&self) -> &'static str {
        "l2-5mb"
    }

    fn description(&self) -> &'static str {
        "an L2 of 5 MB by more ways: what the area of CMD would buy"
    }

    fn conflicts(&self) -> &'static [Conflict] {
        &[Conflict {
            with: With::Role(Role::Deduplicates),
            why: "`l2-5mb` stands for the area of the other; `--set l2.ways=N` makes L2 larger for any mechanism",
        }]
    }

    fn looks_at_data(&self) -> bool {
        false
    }

    fn overrides(&self, gpu: &GpuConfig, set: &[String]) -> Result<Vec<String>, String> {
        let l2 = &gpu.l2;
        let (way, held) = (u64::from(l2.slices) * u64::from(l2.sets) * LINE_BYTES, gpu.l2_size().0);
        // A part of the machine gets its part of the difference.
        if set.iter().any(|one| one.trim_start().starts_with("l2.slices")) {
            return larger_part(l2.ways, set);
        }
        if set.iter().any(|one| one.trim_start().starts_with("l2.ways")) {
            Err("`l2.ways` is what it changes: leave one of the two out".to_owned())
        } else if held >= LARGE_L2 {
            Err(format!("`{}` has an L2 of {} already", gpu.name, format_size(Bytes(held))))
        } else if !LARGE_L2.is_multiple_of(way) {
            Err(format!("{} slices of {} sets make no L2 of 5 MB: set others", l2.slices, l2.sets))
        } else {
            Ok(vec![format!("l2.ways={}", LARGE_L2 / way)])
        }
    }

    fn prepare(&self, _: &Values, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        Ok(Box::new(Self))
    }
}

/// The ways of a machine with fewer slices than its preset: a quarter more, as 5 MB are of 4.
fn larger_part(ways: u32, set: &[String]) -> Result<Vec<String>, String> {
    if set.iter().any(|one| one.trim_start().starts_with("l2.ways")) {
        Err("`l2.ways` is what it changes: leave one of the two out".to_owned())
    } else if !ways.is_multiple_of(4) {
        Err(format!("a quarter more than {ways} ways is no whole number of them: set others"))
    } else {
        Ok(vec![format!("l2.ways={}", ways / 4 * 5)])
    }
}

impl Prepared for LargeL2 {
    fn install(&mut self, _: &mut MachineBuilder) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_sim::config::load;

    fn registry() -> Registry {
        let mut registry = Registry::default();
        register(&mut registry).expect("names differ");
        registry
    }

    #[track_caller]
    fn refused(text: &str) -> String {
        registry().combination(text).expect_err("refused").to_string()
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        assert!(refused("cmd+esd").contains("each is a deduplicated memory"));
        assert!(refused("bcd+dedup").contains("each is a deduplicated memory"));
        assert!(refused("cmd+l2-5mb").contains("area of the other"));
        assert!(refused("bcd+l2-5mb").contains("area of the other"));
    }

    #[track_caller]
    fn check_large_l2(gpu: &str, set: &[&str], expected: Result<u32, &str>) {
        let machine = load(gpu, set).expect("a GPU").config;
        let set: Vec<String> = set.iter().map(|one| (*one).to_owned()).collect();
        match (registry().combination("l2-5mb").expect("known").overrides(&machine, &set), expected) {
            (Ok(more), Ok(ways)) => assert_eq!(more, [format!("l2.ways={ways}")]),
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
            (found, _) => panic!("{gpu} {set:?}: {found:?}"),
        }
    }

    #[test]
    fn a_larger_l2_has_more_ways() {
        let preset = load("cmd-gddr6-l2-5mb", &[""; 0]).expect("a preset");
        check_large_l2("cmd-gddr6", &[], Ok(preset.config.l2.ways));
        check_large_l2("cmd-gddr6", &["l2.ways=8"], Err("leave one of the two out"));
        check_large_l2("cmd-gddr6", &["l2.sets=4096"], Err("already"));
        check_large_l2("titan-x-pascal", &[], Err("make no L2 of 5 MB"));
        // Half a machine has half of both.
        check_large_l2("cmd-gddr6", &["l2.slices=8"], Ok(preset.config.l2.ways));
        check_large_l2("cmd-gddr6", &["l2.slices=8", "l2.ways=10"], Err("leave one of the two out"));
    }
}
