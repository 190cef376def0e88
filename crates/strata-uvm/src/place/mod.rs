//! Placement: whether a page that is not on the device migrates, or is accessed where it is.

mod adaptive;
mod counters;
mod thrashing;

pub(crate) use adaptive::Adaptive;
pub(crate) use counters::Place;
pub(crate) use thrashing::Thrashing;

use crate::geometry::Page;
use crate::model::Uvm;
use crate::space::SHARES;
use strata_sim::time::Picos;
use thrashing::Verdict;

/// What becomes of an access to an absent page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// The page comes.
    Migrate,
    /// The access goes to the host.
    Remote,
    /// The access goes to the host the way UVMSmart has it: the link is held, and from then on the page counts as local for
    /// this SM.
    HoldLink,
    /// The access waits.
    Nap(Picos),
}

impl Uvm {
    /// Decides.
    pub(crate) fn decide(&mut self, page: Page, write: bool, now: Picos) -> Decision {
        let allocation = self.space.allocation(page);
        if self.config.zero_copy || allocation.pinned {
            return Decision::Remote;
        }
        // `cudaMemAdvise`: at home on the host, or reachable from there, so nothing moves until a counter says so.
        if allocation.advised.prefers_host || allocation.advised.accessed_by_device {
            return self.remote_unless_hot(page);
        }
        match self.thrashing.as_mut().map(|t| t.fault(page, now)) {
            Some(Verdict::Throttle(until)) => return Decision::Nap(until),
            Some(Verdict::Pin { first }) => {
                self.counts.pinned += u64::from(first);
                return Decision::Remote;
            }
            Some(Verdict::Migrate) | None => {}
        }
        if write || !self.place.delays() {
            return Decision::Migrate;
        }
        let block = self.space.geometry.block(page);
        let state = &self.space.blocks[block.0 as usize];
        let channels = &self.channels;
        let capacity = self.capacity() * SHARES;
        let buffer = self.config.free_buffer * capacity as f64;
        let occupancy =
            (buffer + (channels.used + channels.queued) as f64) / (capacity + channels.leaving).max(1) as f64;
        // The counter has seen this access, too.
        if self.place.is_cold(state.accesses + 1, state.round_trips, occupancy, self.oversubscribed) {
            Decision::HoldLink
        } else {
            Decision::Migrate
        }
    }

    /// The driver's access counters: a block that is accessed often enough at the host migrates.
    fn remote_unless_hot(&mut self, page: Page) -> Decision {
        let block = self.space.geometry.block(page);
        let count = &mut self.space.blocks[block.0 as usize].accesses;
        *count += 1;
        if self.config.counter_threshold.is_some_and(|threshold| *count >= threshold) {
            *count = 0;
            return Decision::Migrate;
        }
        Decision::Remote
    }

    /// A page changes sides, towards the device or away from it.
    pub(crate) fn note_migration(&mut self, page: Page, to_device: bool, now: Picos) {
        if let Some(thrashing) = &mut self.thrashing {
            thrashing.moved(page, self.space.geometry.tree(page), to_device, now);
        }
    }
}
