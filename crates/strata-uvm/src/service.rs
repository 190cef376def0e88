//! The real driver's fault servicing (`uvm_gpu_replayable_faults.c`), with its default replay policy: a batch of up to 256
//! entries of the fault buffer is served, block by block; then the buffer is flushed, so that what was not served faults
//! again, and everything is replayed.

use crate::faults::by_tree;
use crate::geometry::Page;
use crate::model::{Uvm, Wake};
use crate::server::Request;
use crate::space::Flags;
use crate::transfer::Incoming;
use std::collections::VecDeque;
use strata_sim::seam::{Action, Actions};
use strata_sim::time::Picos;

/// The driver's side of faults.
#[derive(Default, Debug)]
pub(crate) struct Service {
    /// The fault buffer.
    buffer: VecDeque<Page>,
    /// A batch is being served.
    busy: bool,
    /// Transfers of the batch that have not come.
    pub(crate) awaited: u32,
    /// Pages that have come and whose accesses wait for the replay.
    pub(crate) arrived: Vec<Page>,
    /// Throttled pages, and until when; in the order of time.
    naps: VecDeque<(Page, Picos)>,
}

impl Uvm {
    /// A fault reaches the buffer.
    pub(crate) fn buffer_fault(&mut self, page: Page, now: Picos, out: &mut Actions) {
        self.space.flags_mut(page).set(Flags::ASKED);
        self.service.buffer.push_back(page);
        if !self.service.busy {
            self.service.busy = true;
            self.wake_at(self.cycle(now), Wake::Serve, out);
        }
    }

    /// Serves a batch.
    pub(crate) fn serve_buffer(&mut self, now: Picos, out: &mut Actions) {
        let count = self.service.buffer.len().min(self.config.fault_batch);
        let mut faults: Vec<Page> = self.service.buffer.drain(..count).collect();
        self.counts.batches += 1;
        self.count_faults(faults.len() as u64);
        faults.sort_unstable();
        for &page in &faults {
            self.space.flags_mut(page).clear(Flags::ASKED);
        }
        // A prediction may have brought a page, or asked for it, since it faulted.
        let (mut here, mut coming) = (Vec::new(), Vec::new());
        faults.retain(|&page| {
            let flags = self.space.flags_mut(page);
            let known = if flags.has(Flags::VALID) {
                &mut here
            } else if flags.has(Flags::QUEUED) {
                &mut coming
            } else {
                flags.set(Flags::QUEUED);
                return true;
            };
            known.push(page);
            false
        });
        for page in here {
            self.first_use(page);
            out.push(Action::Resume(Self::fault_of(page)));
        }
        for page in coming {
            self.first_use(page);
            self.promote(page, now, out);
        }
        let mut scheduled = Vec::new();
        for (tree, faults) in by_tree(&faults, |page| self.space.geometry.tree(page)) {
            let excluded = self.thrashing.as_ref().map(|t| t.of_tree(&self.space, tree)).unwrap_or_default();
            scheduled.push((self.ask_prefetcher(tree, faults, &excluded), faults));
        }
        // What has come stays until the replay, so a batch must fit: beyond half of memory faulted pages come alone.
        let (mut brought, most) = (0, self.capacity() / 2);
        for (pages, faults) in &mut scheduled {
            if brought + pages.len() as u64 > most {
                pages.retain(|page| faults.binary_search(page).is_ok());
            }
            brought += pages.len() as u64;
        }
        // The host serves the batch as a whole.
        let mut batch = Request { transfers: Vec::new(), demanded: true, since: self.cycle(now) };
        for (pages, faults) in &scheduled {
            for &page in pages {
                self.note_migration(page, true, now);
            }
            let requests = self.requests_for(pages, faults, false, now);
            batch.transfers.extend(requests.into_iter().flat_map(|request| request.transfers));
        }
        for transfer in &mut batch.transfers {
            if let Incoming::Pages { batch, .. } = transfer {
                *batch = true;
                self.service.awaited += 1;
            }
        }
        if self.service.awaited == 0 {
            self.replay(now, out);
        } else {
            self.ask_host(batch, now, out);
        }
        self.make_room(now, out);
        self.begin_read(now, out);
    }

    /// All pages of the batch have come: the buffer is flushed and accesses are replayed.
    pub(crate) fn replay(&mut self, now: Picos, out: &mut Actions) {
        self.service.busy = false;
        for page in std::mem::take(&mut self.service.arrived) {
            self.space.release(page);
            out.push(Action::Resume(Self::fault_of(page)));
        }
        for page in std::mem::take(&mut self.service.buffer) {
            self.space.flags_mut(page).clear(Flags::ASKED);
            if self.space.is_valid(page) {
                // It came with a fault nearby.
                self.first_use(page);
                out.push(Action::Resume(Self::fault_of(page)));
            } else {
                out.push(Action::Retry(Self::fault_of(page)));
            }
        }
        self.make_room_later(now, out);
    }

    /// Host and device take a page from each other: its accesses wait a little.
    pub(crate) fn put_off(&mut self, page: Page, until: Picos, out: &mut Actions) {
        self.counts.throttled += 1;
        // Naps all last equally long, so the order of time is the order of coming.
        self.space.flags_mut(page).set(Flags::QUEUED);
        self.service.naps.push_back((page, until));
        self.wake_at(self.cycle(until), Wake::Nap, out);
    }

    /// Accesses to throttled pages walk again.
    pub(crate) fn naps_end(&mut self, now: Picos, out: &mut Actions) {
        while let Some(&(page, until)) = self.service.naps.front()
            && until <= now
        {
            self.service.naps.pop_front();
            self.space.flags_mut(page).clear(Flags::QUEUED);
            out.push(Action::Retry(Self::fault_of(page)));
        }
    }
}
