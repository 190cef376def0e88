//! Turns: reads are served, then writes, in batches, because the data bus takes time to turn round.

use super::{Channel, READ, WRITE};
use crate::dram::log::CommandLog;
use crate::dram::policy::SchedulingPolicy;

impl<L: CommandLog, P: SchedulingPolicy> Channel<L, P> {
    /// Decides which kind is served from now on.
    #[inline]
    pub(super) fn switch_direction(&mut self) {
        let (reads, writes) = (self.pending.count(READ), self.pending.count(WRITE));
        if self.kind == READ {
            let pressing = writes >= self.write_high && self.turn_left == 0;
            if writes > 0 && (reads == 0 || pressing) {
                self.begin_writes(pressing);
            }
        } else {
            if !self.draining && writes >= self.write_high {
                self.draining = true;
                self.turn_left = self.turn();
            }
            if reads > 0 && (!self.draining || writes <= self.write_low || self.turn_left == 0) {
                // A drain that was cut short begins anew after as many reads.
                self.turn_left = if self.draining && writes > self.write_low { self.turn() } else { 0 };
                self.draining = false;
                self.serve_direction(READ);
            }
        }
    }

    /// Requests of a turn when both kinds press.
    fn turn(&self) -> u32 {
        self.write_high - self.write_low
    }

    #[cold]
    fn begin_writes(&mut self, pressing: bool) {
        self.draining = pressing;
        self.turn_left = self.turn();
        self.stats.write_turns += 1;
        self.serve_direction(WRITE);
    }

    #[cold]
    fn serve_direction(&mut self, kind: usize) {
        self.kind = kind;
        self.classify_all();
    }
}
