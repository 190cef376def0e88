//! While data are in the memory of the host so that a mechanism learns where they should live, and when they move.
//!
//! What misses in L2 meanwhile takes the latency of the way to the host. When the mechanism has seen enough, warps stop; when nothing is
//! under way any more, lines get their new homes, and warps go on where they were.

use super::Stage;
use crate::cache::SectorMask;
use crate::coalesce::CoalescedAccess;
use crate::machine::channel_port::DramTag;
use crate::machine::{Event, Machine, NONE};
use crate::seam::Dir;
use crate::time::{Cycles, Picos};
use strata_core::{Space, WarpId};

impl Machine {
    /// The lines of an access to memory, for a mechanism that learns from them.
    pub(in crate::machine) fn observe_accesses(&mut self, warp: u32, space: Space, lines: &[CoalescedAccess]) {
        let Some(offload) = &mut self.offload else { return };
        let in_candidate = offload.visits[warp as usize].stage != Stage::Outside;
        if in_candidate && matches!(space, Space::Global | Space::Local) && offload.mechanism.wants_accesses() {
            for request in lines {
                offload.is_stopped |= offload.mechanism.accessed_line(WarpId(warp), request.line);
            }
        }
    }

    /// True while what misses in L2 is in the memory of the host. Where pages come and go, data are where their pages are.
    pub(in crate::machine) fn is_data_at_host(&self) -> bool {
        self.pager.is_none() && self.offload.as_ref().is_some_and(|o| o.mechanism.is_at_host())
    }

    /// L2 accesses the memory of the host; the request leaves at L2 cycle `ready`. That costs the latency of the way, whatever
    /// else is on it.
    pub(in crate::machine) fn access_host_memory(&mut self, sectors: SectorMask, dir: Dir, tag: DramTag, ready: u64) {
        let count = u64::from(sectors.count());
        if dir == Dir::Write {
            self.stack_stats.host_writes += count;
        } else {
            self.stack_stats.host_reads += count;
        }
        if tag != NONE {
            let of_link = || Picos((self.config.host_link.latency_ns * 1e3).round() as u64);
            let latency = self.offload.as_ref().and_then(|o| o.terms.host_latency).unwrap_or_else(of_link);
            self.queue.push(self.config.clock.l2.edge(Cycles(ready)) + latency, Event(tag));
        }
    }

    /// True if warps wait because data are moved: this one has had its turn at core cycle `cycle`.
    pub(in crate::machine) fn park_for_remap(&mut self, index: u32, cycle: u64) -> bool {
        match &mut self.offload {
            Some(offload) if offload.is_stopped => {
                offload.stopped.push((index, cycle));
                true
            }
            _ => false,
        }
    }

    /// Nothing is under way any more. If that is because data are to be moved, they are, and warps go on; else false.
    pub(in crate::machine) fn resume_after_remap(&mut self) -> bool {
        let Some(offload) = &mut self.offload else { return false };
        if !std::mem::take(&mut offload.is_stopped) || offload.stopped.is_empty() {
            return false;
        }
        let stopped = std::mem::take(&mut offload.stopped);
        let pause = self.rehome_lines(|machine| machine.offload.as_mut().map_or(0, |o| o.mechanism.remapped()));
        // Lines have other homes now, and nothing is dirty in a cache that writes through.
        for slice in &mut self.slices {
            slice.clear();
        }
        let last = self.queue.now();
        let cycle = stopped.iter().map(|s| s.1).max().unwrap_or(0).max(self.core_cycle(last)) + pause;
        for (index, _) in stopped {
            self.wake(index, cycle);
        }
        true
    }
}
