//! Predictions: made one after the other or a few at once, each for so long; then the pages that it named come.
//!
//! The prefetching paper (section 4) counts the predicted page into the request that brings the rest of the faulted block, "15 + 1 =
//! 16 pages (64 KB)". So a page whose prediction is ready travels with the first such transfer that still waits and has room
//! for it within 64 KB (or what `uvm.prediction_request` says), and alone only if there is none: the link carries a page alone at
//! a fifth of the speed.

use crate::geometry::Page;
use crate::model::{Uvm, Wake};
use crate::settings::Trigger;
use crate::space::{Flags, runs};
use std::collections::VecDeque;
use strata_core::Addr;
use strata_learn::access::Unit;
use strata_sim::seam::Actions;
use strata_sim::time::Picos;

/// Predictions under way.
#[derive(Debug)]
pub(crate) struct Predictions {
    /// The pages that each named, in the order in which they are ready.
    named: VecDeque<Vec<Page>>,
    /// When each of those that can be made at once has ended or will end, in core cycles, the soonest first: all take as long.
    turns: VecDeque<u64>,
    addresses: Vec<Addr>,
}

impl Predictions {
    pub(crate) fn new(at_once: usize) -> Self {
        Self { named: VecDeque::new(), turns: vec![0; at_once].into(), addresses: Vec::new() }
    }
}

impl Uvm {
    /// What makes the predictor predict. First requests to a block or root are rare, and tell what comes next whether their page
    /// is here or not.
    pub(crate) fn predicts_after(&self, what: Trigger) -> bool {
        let on = if self.prefetcher.unit() == Unit::Page { self.config.predicts_on } else { Trigger::Request };
        on == what
    }

    /// A predictor may name more pages, which come later. Only so many predictions are made at once: those of faults and of first
    /// requests to a block or root wait for their turn, those of mere requests are left out, since another will come.
    pub(crate) fn ask_predictor(&mut self, now: Picos, out: &mut Actions) {
        let cycle = self.cycle(now);
        let waits = self.prefetcher.unit() != Unit::Page || self.config.predicts_on == Trigger::Fault;
        let Some(&free) = self.predictions.turns.front().filter(|&&free| waits || free <= cycle) else {
            return;
        };
        self.predictions.addresses.clear();
        if !self.prefetcher.predict(&mut self.predictions.addresses) {
            return;
        }
        let ready = cycle.max(free) + self.config.prediction_latency;
        self.predictions.turns.pop_front();
        self.predictions.turns.push_back(ready);
        self.counts.predictions += 1;
        self.counts.predicted_nothing += u64::from(self.predictions.addresses.is_empty());
        let mut pages = self.pages_named();
        let named = pages.len();
        pages.retain(|&page| self.space.is_absent(page) && !self.space.flags(page).has(Flags::NAMED));
        self.counts.predicted_here += (named - pages.len()) as u64;
        for &page in &pages {
            self.space.flags_mut(page).set(Flags::NAMED);
        }
        if !pages.is_empty() {
            self.predictions.named.push_back(pages);
            self.wake_at(ready, Wake::Predicted, out);
        }
    }

    /// The pages of the addresses that were named, ascending: their blocks, if those are what is predicted; if it is roots, these in the order in
    /// which they were named, and of each what is worth bringing.
    fn pages_named(&mut self) -> Vec<Page> {
        let (space, geometry) = (&self.space, &self.space.geometry);
        let unit = self.prefetcher.unit();
        let mut pages = Vec::new();
        let mut trees = Vec::new();
        for &address in &self.predictions.addresses {
            let page = self.managed.contains(&address).then(|| geometry.page_at(address));
            match page.filter(|&page| space.is_managed(page)) {
                Some(page) if unit == Unit::Root => {
                    let tree = geometry.tree(page);
                    if !trees.contains(&tree) {
                        trees.push(tree);
                        let wanted = self.prefetcher.wanted(geometry.address(geometry.first_page(tree)));
                        let all = space.pages_of(tree).map(Page);
                        pages.extend(all.filter(|&page| wanted.is_none_or(|blocks| geometry.is_among(blocks, page))));
                    }
                }
                Some(page) if unit == Unit::Block || self.config.prediction_brings_block => {
                    let block = geometry.pages(geometry.block(page)).map(Page);
                    pages.extend(block.filter(|&page| space.is_managed(page)));
                }
                Some(page) => pages.push(page),
                None => self.counts.predicted_elsewhere += 1,
            }
        }
        if unit != Unit::Root {
            pages.sort_unstable();
            pages.dedup();
        }
        pages
    }

    /// A prediction has taken its time.
    pub(crate) fn prediction_is_ready(&mut self, now: Picos, out: &mut Actions) {
        let mut pages = self.predictions.named.pop_front().unwrap_or_default();
        let named = pages.len();
        // An allocation may have gone meanwhile.
        pages.retain(|&page| self.space.is_managed(page));
        for &page in &pages {
            self.space.flags_mut(page).clear(Flags::NAMED);
        }
        pages.retain(|&page| self.space.is_absent(page));
        self.counts.predicted_late += (named - pages.len()) as u64;
        let numbers: Vec<u32> = pages.iter().map(|page| page.0).collect();
        if self.prefetcher.unit() == Unit::Root {
            let tree = |page: u32| self.space.geometry.tree(Page(page));
            let roots: Vec<_> =
                numbers.chunk_by(|a, b| tree(*a) == tree(*b)).map(|root| (tree(root[0]), root)).collect();
            for (rank, (tree, pages)) in (1..).zip(roots) {
                if !self.is_worth_bringing(tree, pages, rank, now) {
                    self.counts.predicted_left += pages.len() as u64;
                    continue;
                }
                self.queue_predicted(pages, now);
                self.ask_for_root(runs(pages), now, out);
                self.make_room(now, out);
            }
        } else {
            self.queue_predicted(&numbers, now);
            for run in runs(&numbers) {
                self.ask_for_predicted(run, now, out);
            }
        }
        self.make_room(now, out);
        self.begin_read(now, out);
    }

    /// Pages are on their way because a prediction named them.
    fn queue_predicted(&mut self, pages: &[u32], now: Picos) {
        for &page in pages {
            self.note_migration(Page(page), true, now);
            self.space.queue(Page(page));
            let flags = self.space.flags_mut(Page(page));
            for flag in [Flags::PREFETCHED, Flags::COVERED, Flags::PREDICTED] {
                flags.set(flag);
            }
        }
        self.counts.prefetches += pages.len() as u64;
    }
}
