//! Dispatch of a block: from the first access, which tells where the block's data are, to the warp's first issue on the stack.

use super::{OffloadedBlock, Stage};
use crate::link::Direction;
use crate::machine::check::Mutation;
use crate::machine::warp::{NEVER, Ready};
use crate::machine::{Event, Machine};
use crate::seam::{Follows, StackId, StackUse};
use crate::time::Picos;
use crate::view::{MemoryClass, MicroOp, View};
use strata_core::{Addr, Bytes, LANES, LineAddr, Space};

impl Machine {
    /// A warp is about to issue a memory instruction at core cycle `at`: true if its block is offloaded instead.
    pub(in crate::machine) fn try_offload(&mut self, index: u32, view: &View, at: u64) -> bool {
        let op = &view.ops[self.warps[index as usize].next as usize];
        let is_looking = self.offload.as_ref().is_some_and(|o| o.visits[index as usize].stage == Stage::Undecided);
        if !is_looking || !matches!(op.memory, MemoryClass::Load | MemoryClass::Store | MemoryClass::Generic) {
            return false;
        }
        let batch = &self.warps[index as usize].batch;
        let global = self.accesses(index, op).find(|(_, set)| set.space != Space::Shared);
        let Some(line) = global.and_then(|(_, set)| batch.first_address(set)).map(Addr::line) else { return false };
        let Some(mut first) = self.stack_of_line(line) else { return false };
        if self.is_away(line)
            && let Some(offload) = &mut self.offload
            && !offload.terms.follows_absent_pages
        {
            // Its page has to come first, and comes sooner where the GPU's walks are.
            offload.visits[index as usize].stage = Stage::OnGpu;
            return false;
        }
        if self.offload.as_ref().is_some_and(|o| o.terms.follows == Follows::MostLines) {
            first = self.stack_of_most_lines(index, view).unwrap_or(first);
        }
        self.sample_utilization(at);
        let Some(offload) = &mut self.offload else { return false };
        offload.uses.clear();
        let visit = &mut offload.visits[index as usize];
        let length = offload.lengths[visit.candidate].mean();
        let slots = u64::from(self.config.sm.schedulers) * length;
        let queue = |expected: u64| if slots == 0 { 0.0 } else { expected as f64 / slots as f64 };
        offload.uses.extend(offload.stacks.iter().map(|s| StackUse { queue: queue(s.expected), ..s.state }));
        let known = offload.stacks.len() as u32;
        let Some(stack) = offload.mechanism.decide(visit.candidate, first, &offload.uses).filter(|s| s.0 < known)
        else {
            visit.stage = Stage::OnGpu;
            return false;
        };
        offload.stacks[stack.0 as usize].state.pending += 1;
        offload.stacks[stack.0 as usize].expected += length;
        offload.dispatched += 1;
        let w = &mut self.warps[index as usize];
        visit.stage = Stage::CollectingLiveIns;
        visit.block = OffloadedBlock {
            number: offload.dispatched,
            stack: stack.0,
            sm: w.sm,
            scheduler: w.scheduler,
            since: at,
            issues: view.issues,
            expected: length,
            ..OffloadedBlock::default()
        };
        // It begins the segment anew.
        (w.next, w.slots_taken, w.issued, w.time) = (0, 0, NEVER, at + 1);
        self.stack_stats.offloads += 1;
        true
    }

    /// The stack that holds most of the lines that a warp's segment accesses from its next operation on; of equal ones the
    /// first. A line that all lanes read one word of says nothing: other warps read it, too.
    fn stack_of_most_lines(&self, index: u32, view: &View) -> Option<StackId> {
        let warp = &self.warps[index as usize];
        let is_access =
            |op: &&MicroOp| matches!(op.memory, MemoryClass::Load | MemoryClass::Store | MemoryClass::Generic);
        let mut lines_on = vec![0u32; self.stacks.as_ref()?.links.len()];
        let mut lines: Vec<LineAddr> = Vec::with_capacity(LANES);
        for op in view.ops[warp.next as usize..].iter().filter(is_access) {
            for (_, set) in self.accesses(index, op).filter(|(_, set)| set.space != Space::Shared) {
                let addresses = warp.batch.lanes(set);
                let active = || (0..LANES).filter(|lane| set.mask >> lane & 1 != 0).map(|lane| addresses[lane]);
                let word = active().next();
                if active().all(|address| Some(address) == word) {
                    continue;
                }
                lines.clear();
                lines.extend(active().map(Addr::line));
                lines.sort_unstable();
                lines.dedup();
                for stack in lines.iter().filter_map(|line| self.stack_of_line(*line)) {
                    lines_on[stack.0 as usize] += 1;
                }
            }
        }
        let most = lines_on.iter().enumerate().rev().max_by_key(|(_, count)| **count)?;
        (*most.1 > 0).then_some(StackId(most.0 as u32))
    }

    /// A warp has its turn: true if it is between SMs, so that it cannot issue.
    pub(in crate::machine) fn is_in_transit(&mut self, index: u32, now: u64) -> bool {
        let Some(offload) = &self.offload else { return false };
        match offload.visits[index as usize].stage {
            Stage::CollectingLiveIns => self.collect_live_ins(index, now),
            Stage::Completing => self.complete_block(index, now),
            Stage::Dispatched | Stage::Returning => {}
            Stage::Outside | Stage::Undecided | Stage::OnGpu | Stage::OnStack => return false,
        }
        true
    }

    /// True if a store of a warp waits for its page: the warp changes sides when it has been sent, which wakes it. Without that, nobody
    /// would drop what the store makes old.
    pub(super) fn waits_for_pages_of_stores(&self, index: u32) -> bool {
        self.pager.is_some() && self.warps[index as usize].pending_stores > 0
    }

    /// A warp's last store that waited for its page has been sent, at core cycle `at`.
    pub(in crate::machine) fn stores_have_pages(&mut self, index: u32, at: u64) {
        let Some(offload) = &self.offload else { return };
        let stage = offload.visits.get(index as usize).map(|visit| visit.stage);
        if self.pager.is_some() && matches!(stage, Some(Stage::CollectingLiveIns | Stage::Completing)) {
            self.wake(index, at);
        }
    }

    /// When the scoreboard has all registers of a warp, not before `now`; `None` if one is reserved, whose release wakes the
    /// warp.
    pub(super) fn registers_ready(&mut self, index: u32, now: u64) -> Option<u64> {
        let w = &mut self.warps[index as usize];
        if let Some(slot) = w.ready.iter().position(|&r| r == Ready::PENDING) {
            w.blocked = slot as u32;
            return None;
        }
        let latest = w.ready.iter().map(|r| r.cycle()).max().unwrap_or(0);
        Some(latest.max(w.time).max(now))
    }

    /// The block is dispatched as soon as the warp's registers are ready. It will not start before the stores that its SM has
    /// sent are drained to memory.
    fn collect_live_ins(&mut self, index: u32, now: u64) {
        if self.waits_for_pages_of_stores(index) {
            return;
        }
        let Some(ready) = self.registers_ready(index, now) else { return };
        let Some(offload) = &mut self.offload else { return };
        let visit = &mut offload.visits[index as usize];
        visit.stage = Stage::Dispatched;
        if let Some(checker) = &mut self.checker {
            checker.block_dispatched(visit.block.number, visit.block.sm, now);
        }
        let waits = !self.checker.as_mut().is_some_and(|c| c.omits(Mutation::Drain));
        if waits && offload.terms.keeps_coherent() {
            visit.block.stores.clone_from(&offload.stores[visit.block.sm as usize]);
        }
        self.warps[index as usize].time = ready;
        if !visit.block.stores.is_empty() {
            offload.draining.push(index);
        }
        self.send_live_ins(index, ready);
    }

    /// Sends the offload request with the live-in registers to the stack, from core cycle `ready` on.
    fn send_live_ins(&mut self, index: u32, ready: u64) {
        let leaves = self.core_time(ready);
        let Some(offload) = &self.offload else { return };
        let visit = &offload.visits[index as usize];
        let (terms, stack) = (offload.terms, visit.block.stack as usize);
        let registers = u64::from(offload.candidates[visit.candidate].live_in);
        let bytes = registers * terms.register_bytes + terms.request_bytes;
        let sent = self.core_time(ready + u64::from(terms.pipeline_cycles));
        let arrival = match &mut self.stacks {
            Some(stacks) if !terms.is_ideal => stacks.links[stack].send(Direction::Out, sent, Bytes(bytes)),
            _ => leaves,
        };
        self.queue.push(arrival, Event::new(Event::OFFLOAD, index));
    }

    /// A block has reached its stack, or the last store that it waited for is drained: it gets a warp slot or is enqueued for
    /// one.
    pub(in crate::machine) fn reach_stack(&mut self, index: u32, t: Picos) {
        let Some(offload) = &mut self.offload else { return };
        let block = &mut offload.visits[index as usize].block;
        block.has_arrived = true;
        if !block.stores.is_empty() {
            return;
        }
        if block.stored > t {
            self.queue.push(block.stored, Event::new(Event::OFFLOAD, index));
            return;
        }
        let stack_sm = &mut offload.stacks[offload.visits[index as usize].block.stack as usize];
        if stack_sm.resident < self.config.stacks.warps {
            self.start_on_stack(index, t);
        } else {
            stack_sm.queue.push_back(index);
        }
    }

    /// Starts a block in a warp slot of its stack's SM.
    pub(super) fn start_on_stack(&mut self, index: u32, t: Picos) {
        let cycle = self.core_cycle(t);
        let Some(offload) = &mut self.offload else { return };
        let visit = &mut offload.visits[index as usize];
        visit.stage = Stage::OnStack;
        let block = &mut visit.block;
        let stack = StackId(block.stack);
        let needs_drop = offload.terms.keeps_coherent()
            && offload.freshness.needs_drop(stack, block.sm, self.queue.now(), offload.terms.drops_at_every_spawn);
        let stack_sm = &mut offload.stacks[stack.0 as usize];
        stack_sm.resident += 1;
        let issues = block.issues;
        stack_sm.begins(block, issues);
        self.stack_stats.stall += cycle.saturating_sub(block.since);
        let lanes = self.warps[index as usize].batch.ops.first().map_or(0, |op| op.mask.count_ones());
        self.stack_stats.instructions += u64::from(block.issues) * u64::from(lanes);
        let sm = self.stack_sm(stack);
        if needs_drop && !self.checker.as_mut().is_some_and(|c| c.omits(Mutation::StackFlush)) {
            self.invalidate_l1(sm);
            self.stack_stats.invalidations += 1;
        }
        let unit = &mut self.sms[sm as usize];
        let scheduler = unit.dealt % self.config.sm.schedulers;
        unit.dealt += 1;
        let w = &mut self.warps[index as usize];
        (w.sm, w.scheduler, w.time) = (sm, scheduler, cycle);
        self.wake(index, cycle);
    }
}
