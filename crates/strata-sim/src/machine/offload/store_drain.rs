//! Stores of SMs that are not in memory: a block that leaves an SM begins behind those that the SM had sent, the first step of
//! coherence (TOM, section 4.4.2).

use crate::machine::check::Mutation;
use crate::machine::{Event, Machine};
use crate::time::Picos;

impl Machine {
    /// A store is sent by an SM.
    #[inline]
    pub(in crate::machine) fn track_store(&mut self, request: u32) {
        if let Some(offload) = &mut self.offload {
            offload.stores[self.requests[request].sm as usize].push(request);
        }
    }

    /// A store is in memory at `time`: blocks that waited for it may start then.
    #[inline]
    pub(in crate::machine) fn complete_tracked_store(&mut self, request: u32, time: Picos) {
        if self.offload.is_some() {
            self.untrack_store(request, time);
        }
    }

    fn untrack_store(&mut self, request: u32, time: Picos) {
        let sm = self.requests[request].sm;
        let ages = !self.checker.as_mut().is_some_and(|c| c.omits(Mutation::StoreAges));
        let Some(offload) = &mut self.offload else { return };
        if ages {
            offload.freshness.ages_for(sm, time);
        }
        let stores = &mut offload.stores[sm as usize];
        if let Some(at) = stores.iter().position(|&r| r == request) {
            stores.swap_remove(at);
        }
        let (visits, queue) = (&mut offload.visits, &mut self.queue);
        offload.draining.retain(|&index| {
            let block = &mut visits[index as usize].block;
            if let Some(at) = block.stores.iter().position(|&r| r == request) {
                block.stores.swap_remove(at);
                block.stored = block.stored.max(time);
            }
            if block.stores.is_empty() && block.has_arrived {
                queue.push(block.stored, Event::new(Event::OFFLOAD, index));
            }
            !block.stores.is_empty()
        });
    }
}
