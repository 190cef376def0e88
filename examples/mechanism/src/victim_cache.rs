//! A victim cache beside every L2 slice (Jouppi, ISCA 1990): lines that leave L2 stay a while in a small, fully associative cache.

use std::collections::VecDeque;
use strata_core::LineAddr;
use strata_core::settings::{Allowed, Setting, Settings};
use strata_core::stats::Unit;
use strata_lab::{Mechanism, MechanismError, Preparation, Prepared};
use strata_sim::MachineBuilder;
use strata_sim::cache::SectorMask;
use strata_sim::seam::{SideCount, Victim};

/// L2 cycles until a line is back in L2: a look-up and a transfer of 128 B (choice).
const CYCLES: u32 = 4;

/// What the command line knows of it.
pub struct VictimCache;

const SETTINGS: &[Setting] = &[Setting {
    key: "lines",
    default: "16",
    allowed: Allowed::Whole(1, 4096),
    meaning: "lines that the cache of a slice holds",
    source: "choice: more than the 1 to 5 of the paper's first-level caches, for a cache behind all SMs",
}];

impl Mechanism for VictimCache {
    fn name(&self) -> &'static str {
        "victim-cache"
    }
    fn description(&self) -> &'static str {
        "clean lines that leave L2 stay a while in a small cache beside it"
    }
    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }
    fn looks_at_data(&self) -> bool {
        false
    }
    fn prepare(&self, settings: &Settings, _: &mut dyn Preparation) -> Result<Box<dyn Prepared>, MechanismError> {
        Ok(Box::new(Ready { lines: settings.whole("lines") as usize }))
    }
}

/// One run's.
struct Ready {
    lines: usize,
}

impl Prepared for Ready {
    fn install(&mut self, machine: &mut MachineBuilder) {
        let lines = self.lines;
        machine.victim("victim-cache", move |_slice| Box::new(Cache { lines, ..Cache::default() }));
    }
}

/// The cache of one slice.
#[derive(Default)]
struct Cache {
    lines: usize,
    /// Lines with their clean sectors, the oldest first.
    held: VecDeque<(LineAddr, SectorMask)>,
    entered: u64,
    hits: u64,
}

impl Victim for Cache {
    fn evicted(&mut self, line: LineAddr, clean: SectorMask) {
        self.held.retain(|(held, _)| *held != line);
        if clean.is_empty() {
            return;
        }
        if self.held.len() == self.lines {
            self.held.pop_front();
        }
        self.held.push_back((line, clean));
        self.entered += 1;
    }

    fn missed(&mut self, line: LineAddr, sectors: SectorMask) -> (SectorMask, u32) {
        let Some(at) = self.held.iter().position(|(held, _)| *held == line) else { return (SectorMask::NONE, 0) };
        let given = self.held[at].1.and(sectors);
        self.held[at].1 = self.held[at].1.without(given);
        self.hits += u64::from(given.count());
        (given, if given.is_empty() { 0 } else { CYCLES })
    }

    fn written(&mut self, line: LineAddr, sectors: SectorMask) {
        self.held.iter_mut().filter(|(held, _)| *held == line).for_each(|(_, clean)| *clean = clean.without(sectors));
    }

    fn counts(&self) -> Vec<SideCount> {
        let count = |name, unit, what, value| SideCount { name, unit, what, value };
        vec![
            count("victim-cache.entered", Unit::Requests, "lines that left L2 with clean sectors", self.entered),
            count("victim-cache.hits", Unit::Sectors, "sectors that L2 missed and the victim cache had", self.hits),
        ]
    }
}
