//! A launch that tells the monitor how far it is while a machine pulls it.
//!
//! Done is what its warps have done: the share of those that have exited. A grid that fits onto the machine as a whole shows little of that
//! before its end, so the instructions executed so far are told, too.

use crate::monitor::Monitor;
use strata_core::{
    GridSource, LANES, LINE_BYTES, LineAddr, Nearness, OpBatch, OpInfo, Stop, WarpId, WarpSource, WatchPoint,
};

/// How many segments are run between two messages: a fraction of a millisecond of work.
const SEGMENTS: u32 = 1 << 12;

/// A source, and who is told of it.
pub(crate) struct ToldSource<'a, S, F> {
    inside: &'a mut S,
    monitor: &'a Monitor,
    /// Thread instructions executed so far, if this share of the launch is done.
    executed: F,
    warps: f64,
    exited: u64,
    segments: u32,
}

impl<'a, S: GridSource, F: Fn(&S, f64) -> u64> ToldSource<'a, S, F> {
    pub(crate) fn new(inside: &'a mut S, monitor: &'a Monitor, executed: F) -> Self {
        let warps = inside.ctas() as f64 * f64::from(inside.warps_per_cta());
        Self { inside, monitor, executed, warps, exited: 0, segments: 0 }
    }

    #[cold]
    fn tell(&mut self) {
        self.segments = 0;
        let share = self.exited as f64 / self.warps.max(1.0);
        self.monitor.set_running((self.executed)(self.inside, share), share);
    }
}

impl<S: GridSource, F: Fn(&S, f64) -> u64> WarpSource for ToldSource<'_, S, F> {
    #[inline]
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let stop = self.inside.advance(w, out);
        self.exited += u64::from(stop == Stop::Exited);
        self.segments += 1;
        if self.segments == SEGMENTS {
            self.tell();
        }
        stop
    }
}

impl<S: GridSource, F: Fn(&S, f64) -> u64> GridSource for ToldSource<'_, S, F> {
    fn instructions(&self) -> &[OpInfo] {
        self.inside.instructions()
    }

    fn place(&self, pc: u32) -> Option<String> {
        self.inside.place(pc)
    }

    fn ctas(&self) -> u64 {
        self.inside.ctas()
    }

    fn warps_per_cta(&self) -> u32 {
        self.inside.warps_per_cta()
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        self.inside.start_cta(slot, number);
    }

    fn take_opened(&mut self, out: &mut Vec<WarpId>) {
        self.inside.take_opened(out);
    }

    #[inline]
    fn prefetch(&self, w: WarpId, how_near: Nearness) {
        self.inside.prefetch(w, how_near);
    }

    fn read_line(&self, line: LineAddr, out: &mut [u8; LINE_BYTES as usize]) {
        self.inside.read_line(line, out);
    }

    fn watch(&mut self, points: &[WatchPoint]) {
        self.inside.watch(points);
    }

    fn watched(&self) -> &[[i64; LANES]] {
        self.inside.watched()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Two CTAs of 4,096 warps that run two segments each.
    #[derive(Default)]
    struct Grid {
        run: Vec<u32>,
        asked_for: Cell<Option<(WarpId, Nearness)>>,
    }

    impl WarpSource for Grid {
        fn advance(&mut self, w: WarpId, _: &mut OpBatch) -> Stop {
            let run = &mut self.run[w.0 as usize];
            *run += 1;
            if *run == 2 { Stop::Exited } else { Stop::Ready }
        }
    }

    impl GridSource for Grid {
        fn instructions(&self) -> &[OpInfo] {
            &[]
        }
        fn ctas(&self) -> u64 {
            2
        }
        fn warps_per_cta(&self) -> u32 {
            SEGMENTS
        }
        fn start_cta(&mut self, slot: u32, _: u64) {
            self.run.resize((slot as usize + 1) * SEGMENTS as usize, 0);
        }
        fn take_opened(&mut self, _: &mut Vec<WarpId>) {}
        fn prefetch(&self, w: WarpId, how_near: Nearness) {
            self.asked_for.set(Some((w, how_near)));
        }
    }

    #[test]
    fn what_is_asked_for_ahead_reaches_the_source() {
        let (monitor, mut grid) = (Monitor::default(), Grid::default());
        ToldSource::new(&mut grid, &monitor, |_, _| 0).prefetch(WarpId(3), Nearness::Near);
        assert_eq!(grid.asked_for.get(), Some((WarpId(3), Nearness::Near)));
    }

    #[test]
    fn the_monitor_sees_instructions_at_once_and_shares_when_warps_exit() {
        let (monitor, mut grid, mut batch) = (Monitor::default(), Grid::default(), OpBatch::default());
        let executed = |grid: &Grid, _: f64| grid.run.iter().map(|run| u64::from(*run) * 32).sum();
        let mut told = ToldSource::new(&mut grid, &monitor, executed);
        told.start_cta(0, 0);
        for (share, instructions) in [(0.0, 4096 * 32), (0.5, 2 * 4096 * 32)] {
            for warp in 0..SEGMENTS {
                told.advance(WarpId(warp), &mut batch);
            }
            assert_eq!((monitor.running_share(), monitor.thread_instructions()), (share, instructions));
        }
    }
}
