//! The memory controller: from L2 to memory sides, stacks and DRAM channels.

use super::channel_port::{DramAccess, DramTag};
use super::home::Home;
use super::{Event, Machine, NONE};
use crate::cache::SectorMask;
use crate::seam::{Dir, LineKind, LineRequest};
use crate::time::{Cycles, Picos};
use strata_core::LineAddr;

impl Machine {
    /// Fetches sectors of a line of which L2 has `resident`; the request leaves L2 at L2 cycle `ready`.
    #[inline]
    pub(super) fn fetch(
        &mut self,
        home: Home,
        line: LineAddr,
        sectors: SectorMask,
        resident: SectorMask,
        miss: u32,
        ready: u64,
    ) {
        self.probe_fetch(miss, line, sectors);
        if self.sides.is_some() {
            let request = LineRequest::of_l2(home.local, line, sectors, resident, LineKind::Fill);
            self.submit_to_sides::<true, false>(&home, &request, miss, ready);
        } else {
            let tag = Event::new(Event::FILL, miss).0;
            self.send_to_dram(home.access(sectors, Dir::Read, tag), ready);
        }
    }

    /// Writes sectors of a line to memory; L2 has, or had until now, the sectors `valid`.
    pub(super) fn send_write_back(
        &mut self,
        home: Home,
        line: LineAddr,
        sectors: SectorMask,
        valid: SectorMask,
        ready: u64,
    ) {
        self.probe_write_back(line, sectors);
        if self.sides.is_some() {
            let request = LineRequest::of_l2(home.local, line, sectors, valid, LineKind::WriteBack);
            self.submit_to_sides::<false, false>(&home, &request, NONE, ready);
        } else {
            let (write, parts) = (home.access(sectors, Dir::Write, NONE), self.written_in_part(sectors, valid));
            if parts.is_empty() {
                self.send_to_dram(write, ready);
            } else {
                self.merge_reads += u64::from(parts.count());
                let tag = Event::new(Event::MERGED, self.merging.add(write)).0;
                self.send_to_dram(home.access(parts, Dir::Read, tag), ready);
            }
        }
    }

    /// The sectors of a write-back that memory must read before it can write them: L2 has only some of their bytes, and a write
    /// cannot be masked.
    #[inline]
    pub(super) fn written_in_part(&self, sectors: SectorMask, valid: SectorMask) -> SectorMask {
        if self.config.dram.masked_writes { SectorMask::NONE } else { sectors.without(valid) }
    }

    /// A write-back has the sectors that it is merged with.
    #[cold]
    pub(super) fn write_merged(&mut self, merging: u32, t: Picos) {
        let write = self.merging[merging];
        self.merging.remove(merging);
        self.send_to_dram(write, self.config.clock.l2.next(t).0);
    }

    /// Sends an access to its channel, on behalf of a slice; it leaves L2 at L2 cycle `ready`.
    pub(super) fn send_to_dram(&mut self, access: DramAccess, ready: u64) {
        if self.offload.is_some() && self.is_data_at_host() {
            self.access_host_memory(access.sectors, access.dir, access.tag, ready);
            return;
        }
        let (time, tag) = self.route_to_channel(&access, ready);
        self.slices[usize::from(access.slice)].queued += 1;
        self.enqueue_at_channel(DramAccess { tag, ..access }, time);
    }

    /// Routes an access of L2 that is ready at L2 cycle `ready` to its channel, through the memory controller and, where memory
    /// is in stacks, over their links: when it arrives, and the tag of its completion then.
    #[inline]
    fn route_to_channel(&mut self, access: &DramAccess, ready: u64) -> (Picos, DramTag) {
        let clock = self.config.clock.l2;
        let controller = Cycles(u64::from(self.config.dram.controller_cycles));
        match &mut self.stacks {
            None => (clock.edge(Cycles(ready + controller.0)), access.tag),
            Some(stacks) => {
                let (arrival, tag) = stacks.send_to_stack(access, clock.edge(Cycles(ready)));
                (arrival + clock.span(controller), tag)
            }
        }
    }

    /// Enqueues an access at its channel, where it arrives at `time`.
    #[inline]
    pub(super) fn enqueue_at_channel(&mut self, access: DramAccess, time: Picos) {
        let sectors = u64::from(access.sectors.count());
        if access.dir == Dir::Write {
            self.stats.dram_writes += sectors;
        } else {
            self.stats.dram_reads += sectors;
        }
        let channel = u32::from(access.partition);
        if let Some(time) = self.channels[channel as usize].enqueue(&access, time) {
            self.queue.push(time, Event::new(Event::CHANNEL, channel));
        }
    }

    /// Advances a channel to `t`: completes requests, and retries slices whose requests it has dequeued.
    pub(super) fn run_channel(&mut self, channel: u32, t: Picos) {
        let Self { channels, turn, slices, queue, .. } = self;
        if !channels[channel as usize].advance(t, turn) {
            return;
        }
        for &slice in &turn.entered {
            slices[usize::from(slice)].queued -= 1;
        }
        for (time, tag) in turn.ended.drain(..) {
            queue.push(time, Event(tag));
        }
        for time in turn.again.into_iter().flatten() {
            queue.push(time, Event::new(Event::CHANNEL, channel));
        }
        turn.entered.dedup();
        for at in 0..self.turn.entered.len() {
            self.retry_slice(self.turn.entered[at], t);
        }
        self.turn.entered.clear();
    }
}
