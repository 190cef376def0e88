//! A guard of what deduplication costs, beyond the paper: it switches deduplication off where that moves more than it saves.
//!
//! Memory is watched in regions of 2 MiB, as large pages are and nearly as allocations are. For each region a controller counts, in
//! sectors that DRAM moves, what deduplication saved (writes that were not made, reads answered by the map or by L2) and what it
//! spent (Dedup-Reads, and metadata fetched and written back). After every 1024 requests to a region the two are compared; if more was
//! spent twice in a row (caches are cold at first), blocks of the region are written as they are from then on, until its memory is
//! freed. Another count tells how many of the
//! region's blocks are not at their homes: with none, a read needs no metadata, and where nothing is deduplicated, a write does not
//! either.
//!
//! As hardware: counters of 10 bits for requests, and of 12 for savings, expenses and blocks, and two bits for the decision, for each
//! region of DRAM ([`Guard::bits`]). They are looked up with the request, and nothing is charged for that.

use crate::block::Kind;
use rustc_hash::FxHashMap;
use strata_core::LINE_BYTES;
use strata_core::stats::Unit;
use strata_sim::config::GpuConfig;
use strata_sim::seam::SideCount;

/// Bytes of a region, over all controllers.
const REGION: u64 = 2 << 20;
/// Requests to a region between two decisions.
const PERIOD: u32 = 1024;
/// Where counters of savings and expenses stop.
const MOST: u32 = (1 << 12) - 1;
/// Bits of all counters of a region.
const BITS: u64 = 10 + 3 * 12 + 2;

/// What a controller knows of a region.
#[derive(Clone, Copy, Default)]
struct Region {
    requests: u32,
    saved: u32,
    spent: u32,
    /// Blocks that are in the map or at the home of another.
    away: u32,
    /// The last comparison said that it does not repay.
    warned: bool,
    off: bool,
}

/// The guard of one controller.
pub struct Guard {
    /// Lines that a region has at this controller.
    lines: u64,
    regions: FxHashMap<u64, Region>,
    switched_off: u64,
    spared: u64,
}

impl Guard {
    /// Of one of a GPU's controllers.
    pub fn new(gpu: &GpuConfig) -> Self {
        let lines = (REGION / LINE_BYTES / u64::from(gpu.dram.channels)).max(1);
        Self { lines, regions: FxHashMap::default(), switched_off: 0, spared: 0 }
    }

    /// Bits of counters at each controller of a GPU.
    pub fn bits(gpu: &GpuConfig) -> u64 {
        gpu.dram.size.0.div_ceil(REGION) * BITS
    }

    fn region(&mut self, line: u64) -> &mut Region {
        self.regions.entry(line / self.lines).or_default()
    }

    fn known(&self, line: u64) -> Region {
        self.regions.get(&(line / self.lines)).copied().unwrap_or_default()
    }

    /// Blocks of the line's region are deduplicated.
    pub(crate) fn deduplicates(&self, line: u64) -> bool {
        !self.known(line).off
    }

    /// Every block of the line's region is at its home.
    pub(crate) fn is_plain(&self, line: u64) -> bool {
        self.known(line).away == 0
    }

    /// A request has been planned; `spared` if it looked no metadata up.
    pub(crate) fn asked(&mut self, line: u64, spared: bool) {
        self.spared += u64::from(spared);
        let region = self.region(line);
        region.requests += 1;
        if region.requests < PERIOD {
            return;
        }
        let loses = region.spent > region.saved;
        let off = loses && region.warned && !region.off;
        region.off |= off;
        region.warned = loses;
        (region.requests, region.saved, region.spent) = (0, 0, 0);
        self.switched_off += u64::from(off);
    }

    /// Sectors that DRAM need not move.
    pub(crate) fn saved(&mut self, line: u64, sectors: u32) {
        let region = self.region(line);
        region.saved = (region.saved + sectors).min(MOST);
    }

    /// Sectors that DRAM moves because of deduplication.
    pub(crate) fn spent(&mut self, line: u64, sectors: u32) {
        let region = self.region(line);
        region.spent = (region.spent + sectors).min(MOST);
    }

    /// A block has become another kind.
    pub(crate) fn changed(&mut self, line: u64, before: Kind, after: Kind) {
        let is_away = |kind| matches!(kind, Kind::Intra | Kind::Inter);
        match (is_away(before), is_away(after)) {
            (false, true) => self.region(line).away += 1,
            (true, false) => self.region(line).away -= 1,
            _ => {}
        }
    }

    /// A block is no longer the program's; the first of a region that is given back ends what was decided of it.
    pub(crate) fn freed(&mut self, line: u64) {
        let region = self.region(line);
        *region = Region { away: region.away, ..Region::default() };
    }

    pub(crate) fn counts(&self) -> [SideCount; 2] {
        let count = |name, unit, what, value| SideCount { name, unit, what, value };
        let off = "times that deduplication was switched off in a region of a controller";
        let spared = "reads and writes that looked no metadata up";
        [
            count("cmd.guard.switched_off", Unit::Events, off, self.switched_off),
            count("cmd.guard.spared", Unit::Requests, spared, self.spared),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_sim::config::load;

    fn guard() -> Guard {
        Guard::new(&load("cmd-gddr6", &[""; 0]).expect("a preset").config)
    }

    /// A period of requests, of which each saves and spends so many sectors.
    fn live(guard: &mut Guard, line: u64, saved: u32, spent: u32) {
        for _ in 0..PERIOD {
            guard.saved(line, saved);
            guard.spent(line, spent);
            guard.asked(line, false);
        }
    }

    #[test]
    fn what_does_not_repay_is_switched_off_in_its_region_until_it_is_freed() {
        let mut guard = guard();
        live(&mut guard, 0, 1, 1);
        // Once is chance.
        for (saved, spent) in [(0, 1), (1, 0), (0, 1)] {
            live(&mut guard, 2048, saved, spent);
        }
        assert!(guard.deduplicates(2048));
        live(&mut guard, 2048, 0, 1);
        assert!(guard.deduplicates(2047) && !guard.deduplicates(2048) && !guard.deduplicates(4095));
        // Nothing is saved any more, and nothing shows that it could be.
        live(&mut guard, 2048, 4, 0);
        assert!(!guard.deduplicates(2048) && guard.switched_off == 1);
        guard.freed(2050);
        assert!(guard.deduplicates(2048));
    }

    #[test]
    fn a_region_is_plain_when_its_last_block_is_home_again() {
        let mut guard = guard();
        guard.changed(5, Kind::ReadOnly, Kind::Intra);
        guard.changed(6, Kind::Own, Kind::Inter);
        guard.changed(5, Kind::Intra, Kind::Inter);
        assert!(!guard.is_plain(7) && guard.is_plain(2048));
        guard.changed(5, Kind::Inter, Kind::Own);
        assert!(!guard.is_plain(7));
        guard.changed(6, Kind::Inter, Kind::ReadOnly);
        assert!(guard.is_plain(7));
    }

    /// As `docs/cmd.md` says.
    #[test]
    fn its_storage_is_less_than_a_sixth_of_the_metadata_caches() {
        let bits = Guard::bits(&load("cmd-gddr6", &[""; 0]).expect("a preset").config);
        assert_eq!((bits, bits / 8), (147_456, 18_432));
        assert!(bits / 8 < 111 * 1024 / 6);
    }
}
