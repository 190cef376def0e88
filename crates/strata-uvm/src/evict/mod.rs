//! Eviction: which pages leave when device memory is full. One file each.
//!
//! A policy answers with ranges of pages, each one write-back. It only names what may leave: all of a unit on the device, none
//! of it in use or chosen already. If no unit is whole, what there is of the least recent tree goes.

mod driver;
mod foreseen;
mod lfu;
mod lru;
mod lru_page;
mod random;
mod sequential;
mod tree;

pub(crate) use foreseen::used_last;

use crate::geometry::{Block, Page, Tree};
use crate::list::List;
use crate::prefetch::Prefetcher;
use crate::space::{Space, runs};
use crate::uses::Uses;
use std::ops::Range;
use strata_core::random::SplitMix64;
use strata_sim::time::Picos;

/// Who was used when.
#[derive(Default)]
pub(crate) struct Recency {
    /// Trees by their last use.
    pub(crate) trees: List,
    /// Trees by the last time that pages of them came.
    pub(crate) arrivals: List,
    /// Pages by their last use, if a policy wants that.
    pages: Option<List>,
}

impl Recency {
    pub(crate) fn new(by_page: bool) -> Self {
        Self { pages: by_page.then(List::default), ..Self::default() }
    }

    pub(crate) fn grow(&mut self, space: &Space) {
        self.trees.grow(space.trees.len());
        self.arrivals.grow(space.trees.len());
        if let Some(list) = &mut self.pages {
            list.grow(space.pages.len());
        }
    }

    #[inline]
    pub(crate) fn used(&mut self, space: &Space, page: Page) {
        self.trees.use_now(space.geometry.tree(page).0);
        if let Some(list) = &mut self.pages {
            list.use_now(page.0);
        }
    }

    pub(crate) fn arrived(&mut self, space: &Space, page: Page) {
        self.used(space, page);
        self.arrivals.use_now(space.geometry.tree(page).0);
    }

    pub(crate) fn left(&mut self, space: &Space, page: Page) {
        if let Some(list) = &mut self.pages {
            list.remove(page.0);
        }
        let tree = space.geometry.tree(page);
        if space.trees[tree.0 as usize].valid == 0 {
            self.trees.remove(tree.0);
            self.arrivals.remove(tree.0);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.trees.clear();
        self.arrivals.clear();
        if let Some(list) = &mut self.pages {
            list.clear();
        }
    }
}

/// What a policy may look at.
pub(crate) struct Candidates<'a> {
    pub(crate) space: &'a Space,
    pub(crate) recency: &'a Recency,
    pub(crate) random: &'a mut SplitMix64,
    /// Share of the least recent end of a list that is passed over.
    pub(crate) reserve: f64,
    /// What the past tells of the next use of trees, and who may know better.
    pub(crate) uses: &'a Uses,
    pub(crate) prefetcher: &'a dyn Prefetcher,
    pub(crate) now: Picos,
}

impl Candidates<'_> {
    /// Uses of trees until the next one of this.
    pub(crate) fn distance(&self, tree: Tree) -> u64 {
        let space = self.space;
        let told = self.prefetcher.next_use(space.geometry.address(space.geometry.first_page(tree)));
        told.unwrap_or_else(|| self.uses.distance(tree, space.trees[tree.0 as usize].owner))
    }

    /// Members of a list, least recent first, without those that are reserved.
    fn of<'l>(&self, list: &'l List) -> impl Iterator<Item = u32> + 'l {
        let reserved = if self.reserve > 0.0 { (list.iter().count() as f64 * self.reserve) as usize } else { 0 };
        list.iter().skip(reserved)
    }

    /// All pages of a tree.
    fn whole(&self, tree: Tree) -> Vec<Range<u32>> {
        vec![self.space.pages_of(tree)]
    }

    /// The least recent block that may leave, of the least recent tree that has one.
    fn block(&self) -> Option<Block> {
        self.of(&self.recency.trees).find_map(|tree| {
            let blocks = self.space.blocks_of(Tree(tree)).map(Block);
            blocks.filter(|&b| self.space.block_may_leave(b)).min_by_key(|b| self.space.blocks[b.0 as usize].stamp)
        })
    }

    /// What may leave of the least recent tree, if no unit is whole.
    fn remains(&self, list: &List) -> Vec<Range<u32>> {
        for tree in list.iter() {
            let loose: Vec<_> =
                self.space.pages_of(Tree(tree)).filter(|&page| self.space.may_leave(Page(page))).collect();
            if !loose.is_empty() {
                return runs(&loose);
            }
        }
        Vec::new()
    }
}

/// Chooses what leaves.
pub(crate) trait Eviction: Send {
    /// One decision; empty if nothing of what it looks for may leave.
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>>;

    /// True if it wants to know when each page was used.
    fn by_page(&self) -> bool {
        false
    }
}

/// One decision of a policy; empty only if nothing at all may leave.
pub(crate) fn choose(policy: &mut dyn Eviction, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
    let chosen = policy.choose(among);
    if chosen.is_empty() { among.remains(&among.recency.trees) } else { chosen }
}

/// The policy of a name that the settings allow.
pub(crate) fn named(name: &str) -> Box<dyn Eviction> {
    match name {
        "tree" => Box::new(tree::TreeNeighbourhood),
        "sequential" => Box::new(sequential::Block),
        "random" => Box::new(random::RandomPage),
        "lfu" => Box::new(lfu::LeastFrequent),
        "lru-page" => Box::new(lru_page::LruPage),
        "driver" => Box::new(driver::FirstCome),
        "foreseen" => Box::new(foreseen::Foreseen),
        _ => Box::new(lru::LruTree),
    }
}

#[cfg(test)]
mod tests;
