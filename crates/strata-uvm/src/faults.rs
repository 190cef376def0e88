//! Far faults of UVMSmart: all whose walks end in one cycle are a batch, which the prefetcher sees tree by tree.

use crate::geometry::{Page, Tree};
use crate::model::{Uvm, Wake};
use crate::prefetch::Asked;
use crate::settings::Charge;
use crate::space::Flags;
use crate::transfer::Incoming;
use std::ops::Range;
use strata_sim::seam::Actions;
use strata_sim::time::Picos;

/// Microseconds of a fault without its copies, and of each page of it: a fit of 22 faults on a GTX 1080 Ti (the traces that
/// UVMSmart's micro-benchmarks keep).
const MEASURED_FAULT_US: f64 = 12.1;
const MEASURED_PAGE_US: f64 = 0.217;

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
            self.schedule(&pages, faults, true, now);
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

    /// Queues pages: a transfer ends at every gap and behind every faulted page; if the prefetcher gathers, not at gaps within a
    /// block. `charges`: each fault is served before its transfer.
    pub(crate) fn schedule(&mut self, pages: &[Page], faults: &[Page], charges: bool, now: Picos) {
        let since = self.cycle(now);
        let covers = self.prefetcher.covers_faults();
        let each = pages.len() as u64 / faults.len().max(1) as u64;
        let gathers = self.prefetcher.gathers();
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
            if faulted && charges {
                self.charge(each);
                if self.config.fault_waits_for_prediction {
                    self.channels.push(Incoming::Service { cycles: self.config.prediction_latency });
                }
            }
            if faulted || gap {
                let runs = std::mem::take(&mut runs);
                self.channels.push(Incoming::Pages { runs, faults: u64::from(faulted), since, blocked: None });
            }
        }
    }

    /// Holds the link while a fault is served that brings so many pages, if that is charged.
    pub(crate) fn charge(&mut self, pages: u64) {
        let cycles = match self.config.charge {
            Charge::Beside => return,
            Charge::Flat => self.cycles_of(self.config.fault_latency_us),
            Charge::Measured => self.cycles_of(MEASURED_FAULT_US + MEASURED_PAGE_US * pages as f64),
        };
        self.channels.push(Incoming::Service { cycles });
    }

    /// Core cycles of microseconds.
    fn cycles_of(&self, us: f64) -> u64 {
        (us * self.clock.khz() as f64 / 1e3) as u64
    }
}

/// Sorted pages, tree by tree.
pub(crate) fn by_tree(pages: &[Page], tree: impl Fn(Page) -> Tree) -> Vec<(Tree, &[Page])> {
    pages.chunk_by(|a, b| tree(*a) == tree(*b)).map(|chunk| (tree(chunk[0]), chunk)).collect()
}
