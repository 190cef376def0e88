//! Far faults of UVMSmart: all whose walks end in one cycle are a batch, which the prefetcher sees tree by tree.

use crate::geometry::{Page, Tree};
use crate::model::{Uvm, Wake};
use crate::prefetch::Asked;
use crate::server::Request;
use crate::space::Flags;
use crate::transfer::{Incoming, pages_of};
use std::ops::Range;
use strata_sim::seam::Actions;
use strata_sim::time::Picos;

impl Uvm {
    /// Nobody has asked for this page before.
    pub(crate) fn far_fault(&mut self, page: Page, now: Picos, out: &mut Actions) {
        if self.is_driver() {
            self.buffer_fault(page, now, out);
            return;
        }
        self.count_faults(1);
        // Later walks wait with this one.
        self.space.flags_mut(page).set(Flags::QUEUED);
        if self.batch.is_empty() {
            self.wake_at(self.cycle(now), Wake::Batch, out);
        }
        self.batch.push(page);
    }

    pub(crate) fn count_faults(&mut self, count: u64) {
        self.counts.faults += count;
        self.counts.fault_cycles += count * self.cycles_of(self.config.fault_latency_us);
    }

    /// All walks of the cycle have ended.
    pub(crate) fn serve_batch(&mut self, now: Picos, out: &mut Actions) {
        let mut faults = std::mem::take(&mut self.batch);
        self.counts.batches += 1;
        faults.sort_unstable();
        for (tree, faults) in by_tree(&faults, |page| self.space.geometry.tree(page)) {
            let pages = self.ask_prefetcher(tree, faults, &[]);
            for request in self.requests_for(&pages, faults, true, now) {
                self.ask_host(request, now, out);
            }
        }
        faults.clear();
        self.batch = faults;
        self.make_room(now, out);
        self.begin_read(now, out);
    }

    /// The pages that come with faults of one tree, ascending, each once.
    pub(crate) fn ask_prefetcher(&mut self, tree: Tree, faults: &[Page], excluded: &[Page]) -> Vec<Page> {
        let mut pages = Vec::new();
        let mut asked = Asked { space: &mut self.space, tree, faults, excluded, random: &mut self.random };
        self.prefetcher.choose(&mut asked, &mut pages);
        let faulted = |page: &Page| faults.binary_search(page).is_ok();
        pages.retain(|page| faulted(page) || self.space.is_managed(*page) && self.space.is_absent(*page));
        pages.sort_unstable();
        pages.dedup();
        if let Some(adaptive) = &mut self.adaptive {
            let mut last = None;
            for &page in &pages {
                let block = self.space.geometry.block(page);
                if last.replace(block) != Some(block) {
                    let owner = self.space.trees[tree.0 as usize].owner;
                    adaptive.scheduled(owner, block);
                }
            }
        }
        pages
    }

    /// The requests that bring pages: a transfer ends at every gap and behind every faulted page; if the prefetcher gathers, not at
    /// gaps within a block. A request has one faulted page, if `apart`, or all of them.
    pub(crate) fn requests_for(&mut self, pages: &[Page], faults: &[Page], apart: bool, now: Picos) -> Vec<Request> {
        let since = self.cycle(now);
        let covers = self.prefetcher.covers_faults();
        let gathers = self.prefetcher.gathers();
        let mut requests: Vec<Request> = Vec::new();
        let mut runs: Vec<Range<u32>> = Vec::new();
        for (k, &page) in pages.iter().enumerate() {
            let faulted = faults.binary_search(&page).is_ok();
            self.space.queue(page);
            let flags = self.space.flags_mut(page);
            if faulted {
                if covers {
                    flags.set(Flags::COVERED);
                }
                self.first_use(page);
            } else {
                flags.set(Flags::PREFETCHED);
                flags.set(Flags::COVERED);
                self.counts.prefetches += 1;
            }
            match runs.last_mut() {
                Some(run) if run.end == page.0 => run.end += 1,
                _ => runs.push(page.0..page.0 + 1),
            }
            let block = |page: Page| self.space.geometry.block(page);
            let gap =
                pages.get(k + 1).is_none_or(|&next| next.0 != page.0 + 1 && !(gathers && block(next) == block(page)));
            if !(faulted || gap) {
                continue;
            }
            if requests.last().is_none_or(|last| faulted && apart && last.faults() > 0) {
                requests.push(Request { transfers: Vec::new(), demanded: true, since });
            }
            let Some(request) = requests.last_mut() else { continue };
            if faulted && self.config.fault_waits_for_prediction {
                request.transfers.push(Incoming::Service { cycles: self.config.prediction_latency });
            }
            request.transfers.push(pages_of(std::mem::take(&mut runs), u64::from(faulted), since));
        }
        requests
    }
}

/// Sorted pages, tree by tree.
pub(crate) fn by_tree(pages: &[Page], tree: impl Fn(Page) -> Tree) -> Vec<(Tree, &[Page])> {
    pages.chunk_by(|a, b| tree(*a) == tree(*b)).map(|chunk| (tree(chunk[0]), chunk)).collect()
}
