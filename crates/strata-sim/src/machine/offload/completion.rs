//! Completion of a block: live-out registers and the addresses of dirty lines go back, and the GPU's caches invalidate those
//! lines, the third step of coherence.

use super::Stage;
use crate::link::Direction;
use crate::machine::check::Mutation;
use crate::machine::{Event, Machine};
use crate::time::Picos;
use strata_core::{Bytes, LineAddr, WarpId};

impl Machine {
    /// A warp on a stack has stored to a line.
    pub(in crate::machine) fn record_stack_store(&mut self, warp: WarpId, line: LineAddr) {
        let arrival = self.last_stack_store;
        let Some(offload) = &mut self.offload else { return };
        let block = &mut offload.visits[warp.0 as usize].block;
        block.last_write = block.last_write.max(arrival);
        if block.written.last() != Some(&line) {
            block.written.push(line);
        }
    }

    /// A warp has executed its block: as soon as its loads are complete, it frees its warp slot and sends the acknowledgement,
    /// which passes data that wait for the link: until it is there, the block holds a place at its stack.
    pub(super) fn complete_block(&mut self, index: u32, now: u64) {
        if self.waits_for_pages_of_stores(index) {
            return;
        }
        let Some(ready) = self.registers_ready(index, now) else { return };
        let ready_time = self.core_time(ready);
        let address = u64::from(self.config.stacks.address_bytes);
        let acknowledgement = u64::from(self.config.stacks.acknowledgement_bytes);
        let Some(offload) = &mut self.offload else { return };
        let visit = &mut offload.visits[index as usize];
        visit.stage = Stage::Returning;
        let block = &mut visit.block;
        block.since = now;
        block.written.sort_unstable();
        block.written.dedup();
        if !offload.terms.keeps_coherent() {
            block.written.clear();
        }
        let registers = u64::from(offload.candidates[visit.candidate].live_out) * offload.terms.register_bytes;
        let bytes = Bytes(registers + acknowledgement + address * block.written.len() as u64);
        let leaves = ready_time.max(block.last_write);
        let stack_sm = &mut offload.stacks[block.stack as usize];
        stack_sm.resident -= 1;
        let next = stack_sm.queue.pop_front();
        let (stack, is_ideal) = (block.stack as usize, offload.terms.is_ideal);
        let arrival = match &mut self.stacks {
            Some(stacks) if !is_ideal => stacks.links[stack].send_first(Direction::In, leaves, bytes),
            _ => leaves,
        };
        self.queue.push(arrival, Event::new(Event::ACKNOWLEDGED, index));
        if let Some(next) = next {
            self.start_on_stack(next, ready_time);
        }
    }

    /// The acknowledgement of a block arrives: the GPU invalidates the lines that it wrote, and the warp resumes on its own SM.
    pub(in crate::machine) fn retire_block(&mut self, index: u32, t: Picos) {
        let cycle = self.core_cycle(t);
        let Some(offload) = &mut self.offload else { return };
        let visit = &mut offload.visits[index as usize];
        visit.stage = Stage::Outside;
        let mut block = std::mem::take(&mut visit.block);
        let lengths = &mut offload.lengths[visit.candidate];
        lengths.instances += 1;
        lengths.instructions += block.begun;
        let stack_sm = &mut offload.stacks[block.stack as usize];
        stack_sm.state.pending -= 1;
        stack_sm.expected -= block.expected;
        offload.is_stopped |= offload.mechanism.exited(WarpId(index));
        match block.next.take() {
            Some((candidate, ..)) if block.next_stays => {
                let visit = &mut offload.visits[index as usize];
                (visit.candidate, visit.stage, visit.while_learning) = (candidate, Stage::OnGpu, false);
            }
            Some((candidate, lanes, values)) => offload.enter(index, candidate, lanes, &values, false),
            None => {}
        }
        self.stack_stats.stall += cycle.saturating_sub(block.since);
        self.stack_stats.dirty_lines += block.written.len() as u64;
        let drops = |m: &mut Self, step| !m.checker.as_mut().is_some_and(|c| c.omits(step));
        if !block.written.is_empty()
            && drops(self, Mutation::BlockAges)
            && let Some(offload) = &mut self.offload
        {
            offload.freshness.ages_for(block.sm, t);
        }
        for &line in &block.written {
            if drops(self, Mutation::RequesterDrop) {
                self.sms[block.sm as usize].memory.l1.invalidate(line);
            }
            if drops(self, Mutation::L2Drop) {
                self.invalidate_l2(line);
                if let Some(sides) = &mut self.sides {
                    sides.written_near.remove(&line);
                }
            }
        }
        if let Some(checker) = &mut self.checker {
            checker.block_retired(block.number, cycle);
        }
        let w = &mut self.warps[index as usize];
        (w.sm, w.scheduler, w.time) = (block.sm, block.scheduler, cycle);
        self.wake(index, cycle);
    }
}
