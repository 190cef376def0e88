//! Blocks that run on memory stacks: what they must see, and who must see what they wrote.
//!
//! A block runs on behalf of the SM that sent it, so what that SM issued before the block set out must be in all that the block
//! reads; and once the SM knows that the block has ended, what the block wrote must be in all that the SM reads. In between
//! nobody is promised anything, but by L2: from the acknowledgement on, L2 may not answer without the block's writes.

use super::ledger::{Origin, Sector, members};
use super::{DataChecker, LineCopy, SECTORS};
use crate::machine::sm_memory::Request;
use strata_core::LineAddr;

/// One block that was offloaded to a stack.
#[derive(Clone, Default)]
struct OffloadedBlock {
    /// Who sent it.
    sm: u32,
    /// When it set out, and when its end was known to the sender: core cycles.
    began: u64,
    ended: Option<u64>,
    /// What it wrote: line, the number of the write to each sector or 0, and the sectors written whole.
    writes: Vec<(LineAddr, [u32; SECTORS], u8)>,
}

/// The offloaded blocks of a kernel, by number, counted from 1.
#[derive(Default)]
pub(super) struct OffloadedBlocks(Vec<OffloadedBlock>);

impl OffloadedBlocks {
    fn get(&self, number: u32) -> Option<&OffloadedBlock> {
        self.0.get((number as usize).checked_sub(1)?)
    }

    /// True if, within one kernel, a reader must see a write that issued before the read.
    pub(super) fn must_see(&self, reader: &Origin, write: &Origin) -> bool {
        match (self.get(reader.block), self.get(write.block)) {
            (None, None) => reader.sm == write.sm,
            (Some(_), Some(_)) if reader.block == write.block => true,
            (Some(block), None) => write.sm == block.sm && write.cycle < block.began,
            (None, Some(block)) => reader.sm == block.sm && block.ended.is_some_and(|end| end <= reader.cycle),
            (Some(later), Some(earlier)) => {
                later.sm == earlier.sm && earlier.ended.is_some_and(|end| end <= later.began)
            }
        }
    }
}

impl DataChecker {
    /// An SM dispatches a block; blocks are numbered in this order, but for those that overtake others.
    pub(in crate::machine) fn block_dispatched(&mut self, number: u32, sm: u32, cycle: u64) {
        let offloaded = &mut self.offloaded.0;
        if offloaded.len() < number as usize {
            offloaded.resize_with(number as usize, OffloadedBlock::default);
        }
        offloaded[number as usize - 1] = OffloadedBlock { sm, began: cycle, ..OffloadedBlock::default() };
    }

    /// The sender has the acknowledgement of a block: its writes count as arrived.
    pub(in crate::machine) fn block_retired(&mut self, number: u32, cycle: u64) {
        let Some(block) = self.offloaded.0.get_mut((number as usize).wrapping_sub(1)) else { return };
        block.ended = Some(cycle);
        for (line, numbers, whole) in std::mem::take(&mut block.writes) {
            let known = self.ledger.line_mut(line);
            for (s, &write) in numbers.iter().enumerate().filter(|(_, write)| **write > 0) {
                let arrived = &mut known[s].arrived;
                if whole >> s & 1 != 0 { arrived.add_whole(write) } else { arrived.add(write) }
            }
        }
    }

    /// A store of a stack's SM is in memory.
    #[cold]
    pub(in crate::machine) fn stack_write(&mut self, request: u32, r: &Request) {
        let Some(numbers) = self.writes.remove(&request) else { return };
        let known = self.ledger.line_mut(r.line);
        for s in members(r.sectors) {
            let Sector { memory, .. } = &mut known[s];
            if r.full.0 >> s & 1 != 0 { memory.add_whole(numbers[s]) } else { memory.add(numbers[s]) }
        }
        let block = self.offloaded.0.get_mut((self.issuing.block as usize).wrapping_sub(1));
        if let Some(block) = block {
            block.writes.push((r.line, numbers, r.full.0));
        }
    }

    /// A stack's SM reads memory.
    #[cold]
    pub(in crate::machine) fn stack_read(&mut self, request: u32, r: &Request) {
        if let Some(known) = self.ledger.line(r.line) {
            let copy: LineCopy = known.each_ref().map(|s| s.memory.clone());
            self.answers.insert(request, copy);
        }
    }
}
