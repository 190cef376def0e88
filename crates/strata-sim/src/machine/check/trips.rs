//! Blocks that run on memory stacks: what they must see, and who must see what they wrote.
//!
//! A block runs on behalf of the SM that sent it, so what that SM issued before the block set out must be in all that the block
//! reads; and once the SM knows that the block has ended, what the block wrote must be in all that the SM reads. In between
//! nobody is promised anything, but by L2: from the acknowledgement on, L2 may not answer without the block's writes.

use super::ledger::{Origin, Sector, members};
use super::{DataChecker, LineCopy, SECTORS};
use crate::machine::sm_memory::Request;
use strata_core::LineAddr;

/// One trip to a stack and back.
#[derive(Clone, Default)]
struct Trip {
    /// Who sent it.
    sm: u32,
    /// When it set out, and when its end was known to the sender: core cycles.
    began: u64,
    ended: Option<u64>,
    /// What it wrote: line, the number of the write to each sector or 0, and the sectors written whole.
    writes: Vec<(LineAddr, [u32; SECTORS], u8)>,
}

/// The trips of a kernel, by number, counted from 1.
#[derive(Default)]
pub(super) struct Trips(Vec<Trip>);

impl Trips {
    fn get(&self, number: u32) -> Option<&Trip> {
        self.0.get((number as usize).checked_sub(1)?)
    }

    /// True if, within one kernel, a reader must see a write that issued before the read.
    pub(super) fn must_see(&self, reader: &Origin, write: &Origin) -> bool {
        match (self.get(reader.trip), self.get(write.trip)) {
            (None, None) => reader.sm == write.sm,
            (Some(_), Some(_)) if reader.trip == write.trip => true,
            (Some(block), None) => write.sm == block.sm && write.cycle < block.began,
            (None, Some(block)) => reader.sm == block.sm && block.ended.is_some_and(|end| end <= reader.cycle),
            (Some(later), Some(earlier)) => {
                later.sm == earlier.sm && earlier.ended.is_some_and(|end| end <= later.began)
            }
        }
    }
}

impl DataChecker {
    /// A trip sets out from an SM; trips are numbered in this order, but for those that overtake others.
    pub(in crate::machine) fn trip_begins(&mut self, number: u32, sm: u32, cycle: u64) {
        let trips = &mut self.trips.0;
        if trips.len() < number as usize {
            trips.resize_with(number as usize, Trip::default);
        }
        trips[number as usize - 1] = Trip { sm, began: cycle, ..Trip::default() };
    }

    /// The sender knows that a trip has ended: its writes count as arrived.
    pub(in crate::machine) fn trip_ends(&mut self, number: u32, cycle: u64) {
        let Some(trip) = self.trips.0.get_mut((number as usize).wrapping_sub(1)) else { return };
        trip.ended = Some(cycle);
        for (line, numbers, whole) in std::mem::take(&mut trip.writes) {
            let known = self.ledger.line_mut(line);
            for (s, &write) in numbers.iter().enumerate().filter(|(_, write)| **write > 0) {
                let arrived = &mut known[s].arrived;
                if whole >> s & 1 != 0 { arrived.add_whole(write) } else { arrived.add(write) }
            }
        }
    }

    /// A store of a stack's SM is in memory.
    pub(in crate::machine) fn near_written(&mut self, request: u32, r: &Request) {
        let Some(numbers) = self.writes.remove(&request) else { return };
        let known = self.ledger.line_mut(r.line);
        for s in members(r.sectors) {
            let Sector { memory, .. } = &mut known[s];
            if r.full.0 >> s & 1 != 0 { memory.add_whole(numbers[s]) } else { memory.add(numbers[s]) }
        }
        let trip = self.trips.0.get_mut((self.issuing.trip as usize).wrapping_sub(1));
        if let Some(trip) = trip {
            trip.writes.push((r.line, numbers, r.full.0));
        }
    }

    /// A stack's SM reads memory.
    pub(in crate::machine) fn near_read(&mut self, request: u32, r: &Request) {
        if let Some(known) = self.ledger.line(r.line) {
            let copy: LineCopy = known.each_ref().map(|s| s.memory.clone());
            self.answers.insert(request, copy);
        }
    }
}
