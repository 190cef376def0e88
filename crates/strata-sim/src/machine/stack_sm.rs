//! SMs on memory stacks: their path to memory.
//!
//! Such an SM has the L1, the constant cache and the TLB of any other, with walks of its own, but no L2: what misses goes to a vault of its own
//! stack at once, and to one of another stack over the link between the two. Stores go through. The SMs of stacks stand behind
//! those of the GPU in the machine's list, in the order of the stacks.

use super::channel_port::{DramAccess, NO_SLICE};
use super::home::Home;
use super::sm_memory::RequestKind;
use super::{Event, Machine, NONE};
use crate::seam::{Dir, LineKind, LineRequest, StackId};
use crate::time::{Cycles, Picos};
use strata_core::LineAddr;

impl Machine {
    /// The number of the SM of a stack.
    pub(super) fn stack_sm(&self, stack: StackId) -> u32 {
        self.config.sm.count + stack.0
    }

    /// True for an SM that sits on a stack.
    #[inline]
    pub(super) fn is_stack_sm(&self, sm: u32) -> bool {
        sm >= self.config.sm.count
    }

    pub(super) fn stack_of_sm(&self, sm: u32) -> StackId {
        StackId(sm - self.config.sm.count)
    }

    /// The stack that a line lives on.
    pub(super) fn stack_of_line(&self, line: LineAddr) -> Option<StackId> {
        let stacks = self.stacks.as_ref()?;
        Some(stacks.stack_of(self.interleave.home(line).partition))
    }

    /// Issues a request of a stack's SM, ready at core cycle `ready`, to the vault of its line. A store is done when it is
    /// there.
    pub(super) fn issue_to_vault(&mut self, request: u32, ready: u64) {
        let r = self.requests[request];
        let own = self.stack_of_sm(r.sm);
        let clock = &self.config.clock;
        let leaves = self.core_time(ready + u64::from(self.config.stacks.near_cycles));
        let controller = clock.l2.span(Cycles(u64::from(self.config.dram.controller_cycles)));
        let dir = if r.kind == RequestKind::Write { Dir::Write } else { Dir::Read };
        let is_ideal = self.offload_is_ideal();
        let Some(stacks) = &mut self.stacks else { return };
        let stack = stacks.stack_of(r.home.partition);
        let (arrival, partition) = if stack == own {
            (leaves, r.home.partition)
        } else if is_ideal {
            // As if the line lived here, in the same vault of this stack.
            let vaults = (self.channels.len() / stacks.links.len()) as u16;
            (leaves, own.0 as u16 * vaults + r.home.partition % vaults)
        } else {
            (stacks.send_to_peer(own, stack, r.sectors, dir, leaves), r.home.partition)
        };
        if self.sides.is_some() {
            return self.issue_through_sides(request, dir, arrival);
        }
        let sectors = u64::from(r.sectors.count());
        let time = arrival + controller;
        let access = |tag| DramAccess { slice: NO_SLICE, partition, ..r.home.access(r.sectors, dir, tag) };
        if dir == Dir::Write {
            self.stack_stats.near_writes += sectors;
            self.probe_stack_write(request);
            self.enqueue_at_channel(access(NONE), time);
            self.end_near_store(request, arrival);
        } else {
            self.stack_stats.near_reads += sectors;
            self.probe_stack_read(request);
            self.enqueue_at_channel(access(Event::new(Event::VAULT_READ, request).0), time);
        }
    }

    /// The same where memory sides stand before the vaults: the SM meets the side of the line's partition, whose tables L2's
    /// requests use, too, so that neither finds old metadata.
    fn issue_through_sides(&mut self, request: u32, dir: Dir, arrival: Picos) {
        let r = self.requests[request];
        let home = Home { slice: NO_SLICE, ..r.home };
        let ready = self.config.clock.l2.next(arrival).0;
        let sectors = u64::from(r.sectors.count());
        if let Some(sides) = &mut self.sides {
            sides.near_arrival = arrival;
        }
        let asks = |kind| LineRequest::of_l2(home.local, r.line, r.sectors, r.full, kind);
        if dir == Dir::Write {
            self.stack_stats.near_writes += sectors;
            self.probe_stack_write(request);
            if let Some(sides) = &mut self.sides {
                sides.written_near.insert(r.line);
            }
            self.submit_to_sides::<false, true>(&home, &asks(LineKind::WriteBack), NONE, ready);
            self.end_near_store(request, arrival);
        } else {
            self.stack_stats.near_reads += sectors;
            self.probe_stack_read(request);
            self.submit_to_sides::<true, true>(&home, &asks(LineKind::Fill), request, ready);
        }
    }

    /// A store of a stack's SM is in memory at `arrival`.
    fn end_near_store(&mut self, request: u32, arrival: Picos) {
        let line = self.requests[request].line;
        self.stats.stores += 1;
        self.stores_out -= 1;
        self.last_store = self.last_store.max(arrival);
        self.last_stack_store = arrival;
        self.requests.remove(request);
        self.page_released(line);
    }

    /// A vault has read what a stack's SM asked for: sends the reply.
    pub(super) fn reply_from_vault(&mut self, request: u32, t: Picos) {
        let r = self.requests[request];
        let own = self.stack_of_sm(r.sm);
        let is_ideal = self.offload_is_ideal();
        let Some(stacks) = &mut self.stacks else { return };
        let stack = stacks.stack_of(r.home.partition);
        let arrival = if stack == own || is_ideal { t } else { stacks.reply_to_peer(stack, own, r.sectors, t) };
        let near = self.config.clock.core.span(Cycles(u64::from(self.config.stacks.near_cycles)));
        self.queue.push(arrival + near, Event::new(Event::REPLY, request));
    }

    /// Invalidates all lines of an SM's L1.
    pub(super) fn invalidate_l1(&mut self, sm: u32) {
        self.sms[sm as usize].memory.l1.invalidate_range(&(0..u64::MAX));
    }
}
