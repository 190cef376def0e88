//! Timing of CTA barriers: the warps that the source releases together resume when the last of them has arrived.

use super::{Machine, NONE};

/// Warps that a CTA barrier releases together.
pub(super) struct BarrierGroup {
    members: Vec<u32>,
    /// Members that have issued their barrier, when the first did and when the last.
    issued: u32,
    first: u64,
    last: u64,
}

impl Machine {
    /// The source releases these warps together: they resume when the last of them has issued its barrier.
    pub(super) fn form_barrier_group(&mut self) {
        let mut opened = std::mem::take(&mut self.opened);
        let members = opened.iter().map(|w| w.0).collect();
        let group = self.groups.add(BarrierGroup { members, issued: 0, first: u64::MAX, last: 0 });
        for w in &opened {
            self.warps[w.0 as usize].group = group;
        }
        // The last to join sets all of them free: those that wait must be known before.
        opened.retain(|w| self.warps[w.0 as usize].at_barrier);
        for w in opened.drain(..) {
            let time = self.warps[w.0 as usize].time;
            self.join_barrier(group, time);
        }
        self.opened = opened;
    }

    /// A member of a group has issued its barrier at core cycle `time`.
    pub(super) fn join_barrier(&mut self, group: u32, time: u64) {
        let g = &mut self.groups[group];
        g.issued += 1;
        g.first = g.first.min(time);
        g.last = g.last.max(time);
        if g.issued as usize == g.members.len() {
            let members = std::mem::take(&mut g.members);
            // The barrier counts its warps one after another.
            let counted = g.first + (members.len() as u64 - 1) * u64::from(self.config.sm.barrier_cycles);
            let time = g.last.max(counted);
            self.groups.remove(group);
            for m in members {
                let w = &mut self.warps[m as usize];
                w.group = NONE;
                w.at_barrier = false;
                self.stats.stall_barrier += time - w.time;
                w.time = time;
                self.wake(m, time);
            }
        }
    }
}
