//! The reference prediction table.

use crate::settings::Settings;
use strata_core::LineAddr;
use strata_core::stats::Unit;
use strata_sim::cache::SectorMask;
use strata_sim::seam::{CacheAccess, CachePrefetcher, Proposal, SideCount};

/// How far an entry is trusted (Chen and Baer 1995, Figure 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Initial,
    Transient,
    Steady,
    NoPrediction,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Instruction and warp; none is 0, since a key is never 0.
    key: u64,
    line: u64,
    stride: i64,
    state: State,
}

impl Entry {
    /// Another line is accessed: the state after that.
    fn follow(&mut self, line: u64) {
        let stride = line.wrapping_sub(self.line) as i64;
        let correct = stride == self.stride;
        (self.state, self.stride) = match (self.state, correct) {
            (State::Initial | State::Transient | State::Steady, true) => (State::Steady, stride),
            (State::Initial, false) | (State::NoPrediction, true) => (State::Transient, stride),
            // A stride that was steady may only have missed a beat.
            (State::Steady, false) => (State::Initial, self.stride),
            (State::Transient | State::NoPrediction, false) => (State::NoPrediction, stride),
        };
        self.line = line;
    }
}

/// The prefetcher of one cache.
pub struct Stride {
    settings: Settings,
    table: Vec<Entry>,
    replaced: u64,
}

impl Stride {
    /// With an empty table.
    pub fn new(settings: &Settings) -> Self {
        Self { settings: *settings, table: vec![Entry::default(); settings.entries.max(1)], replaced: 0 }
    }

    /// What an entry is of.
    fn key(&self, access: &CacheAccess) -> u64 {
        let warp = if self.settings.per_warp { u64::from(access.sm) << 32 | u64::from(access.warp.0) } else { 0 };
        // Odd multiples spread neighbours over the table, and the lowest bit tells a key from none.
        (u64::from(access.pc).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ warp.wrapping_mul(0xc2b2_ae3d_27d4_eb4f)) | 1
    }
}

impl CachePrefetcher for Stride {
    fn accessed(&mut self, access: &CacheAccess, out: &mut Vec<Proposal>) {
        if access.write {
            return;
        }
        let (key, line) = (self.key(access), access.line.0);
        let at = ((key >> 32) % self.table.len() as u64) as usize;
        let entry = &mut self.table[at];
        if entry.key != key {
            self.replaced += u64::from(entry.key != 0);
            *entry = Entry { key, line, ..Entry::default() };
            return;
        }
        if entry.line == line {
            // Other sectors of the same line, or the same again: no step.
            return;
        }
        entry.follow(line);
        if entry.state != State::Steady {
            return;
        }
        let first = self.settings.distance;
        for ahead in first..first + self.settings.degree {
            if let Some(line) = line.checked_add_signed(entry.stride.saturating_mul(ahead as i64)) {
                out.push(Proposal { line: LineAddr(line), sectors: SectorMask::ALL });
            }
        }
    }

    fn counts(&self) -> Vec<SideCount> {
        let what = "entries that another instruction or warp pushed out of the table";
        vec![SideCount { name: "stride.replaced", unit: Unit::Events, what, value: self.replaced }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::WarpId;
    use strata_sim::seam::Outcome;
    use strata_sim::time::Picos;

    fn access(pc: u32, warp: u32, line: u64) -> CacheAccess {
        CacheAccess {
            line: LineAddr(line),
            sectors: SectorMask(1),
            pc,
            warp: WarpId(warp),
            sm: 0,
            write: false,
            outcome: Outcome::Miss,
            prefetched: false,
            now: Picos(0),
        }
    }

    /// Shows accesses of one instruction in one warp: what the last of them leads to.
    #[track_caller]
    fn check(settings: &Settings, lines: &[u64], expected: &[u64]) {
        let mut stride = Stride::new(settings);
        let mut proposed = Vec::new();
        for &line in lines {
            proposed.clear();
            stride.accessed(&access(3, 0, line), &mut proposed);
        }
        assert_eq!(proposed.iter().map(|p| p.line.0).collect::<Vec<_>>(), expected, "{lines:?}");
    }

    #[test]
    fn a_stride_is_trusted_when_it_comes_again() {
        let settings = Settings::default();
        check(&settings, &[100], &[]);
        check(&settings, &[100, 103], &[]);
        check(&settings, &[100, 103, 106], &[109, 112]);
        check(&settings, &[106, 103, 100], &[97, 94]);
        check(&settings, &[100, 103, 103, 106], &[109, 112]);
        check(&settings, &[2, 1, 0], &[]);
        check(&Settings { degree: 1, distance: 4, ..settings }, &[100, 103, 106], &[118]);
    }

    #[test]
    fn a_steady_stride_survives_one_surprise() {
        let settings = Settings { degree: 1, ..Settings::default() };
        check(&settings, &[0, 2, 4, 100], &[]);
        check(&settings, &[0, 2, 4, 100, 102], &[104]);
        // What never repeats is never proposed.
        check(&settings, &[0, 1, 3, 6, 10, 15], &[]);
        check(&settings, &[0, 1, 3, 6, 9], &[]);
        check(&settings, &[0, 1, 3, 6, 9, 12], &[15]);
    }

    #[test]
    fn warps_have_strides_of_their_own_unless_told_otherwise() {
        let interleaved = [(0, 100), (1, 500), (0, 101), (1, 510), (0, 102), (1, 520)];
        let proposed = |settings: &Settings| {
            let (mut stride, mut out) = (Stride::new(settings), Vec::new());
            for (warp, line) in interleaved {
                stride.accessed(&access(3, warp, line), &mut out);
            }
            out.iter().map(|p| p.line.0).collect::<Vec<_>>()
        };
        let settings = Settings { degree: 1, ..Settings::default() };
        assert_eq!(proposed(&settings), [103, 530]);
        assert_eq!(proposed(&Settings { per_warp: false, ..settings }), [0; 0]);
    }

    #[test]
    fn stores_teach_nothing_and_entries_are_pushed_out() {
        let settings = Settings { entries: 1, ..Settings::default() };
        let (mut stride, mut out) = (Stride::new(&settings), Vec::new());
        for line in [10, 11, 12, 13] {
            stride.accessed(&CacheAccess { write: true, ..access(3, 0, line) }, &mut out);
        }
        for line in [10, 11, 12, 13] {
            stride.accessed(&access(3, 0, line), &mut Vec::new());
            stride.accessed(&access(4, 0, line), &mut out);
        }
        assert_eq!((out.len(), stride.counts()[0].value), (0, 7));
    }
}
