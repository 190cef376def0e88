//! Managed memory: allocations, and the state of every page, block and tree in dense arrays.
//!
//! Invariants: counts of blocks and trees are sums over the flags of their pages; a page that is `QUEUED` is not `VALID`;
//! what is `LEAVING` is `VALID` until its write-back begins.

use crate::geometry::{Block, Geometry, Page, Tree};
use std::ops::Range;
use strata_core::{Addr, Advice, Bytes, LINE_BYTES};

/// Flags of a page.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Flags(u16);

impl Flags {
    /// On the device.
    pub(crate) const VALID: Self = Self(1);
    /// Written since it came, or to be written by somebody who waits for it.
    pub(crate) const DIRTY: Self = Self(2);
    /// Waiting for its transfer to the device, or in it.
    pub(crate) const QUEUED: Self = Self(4);
    /// Waiting for its write-back to begin.
    pub(crate) const LEAVING: Self = Self(8);
    /// Accessed since it came or was queued.
    pub(crate) const TOUCHED: Self = Self(16);
    /// Queued without a fault of its own.
    pub(crate) const PREFETCHED: Self = Self(32);
    /// Queued by a prefetcher, with or without a fault.
    pub(crate) const COVERED: Self = Self(64);
    /// Was on the device before and had to leave.
    pub(crate) const WAS_HERE: Self = Self(128);
    /// Accessed while its write-back waited.
    pub(crate) const RESCUED: Self = Self(256);
    /// In the driver's fault buffer.
    pub(crate) const ASKED: Self = Self(512);
    /// Queued because a predictor named it.
    pub(crate) const PREDICTED: Self = Self(1024);
    /// Named by a prediction that is not ready yet.
    pub(crate) const NAMED: Self = Self(2048);
    /// On its way because somebody waits for it, or for its block.
    pub(crate) const URGENT: Self = Self(4096);
    /// The host has a copy, or wrote to it: what neither side ever had is zero.
    pub(crate) const AT_HOST: Self = Self(8192);
    /// What ends with the stay of a page.
    const OF_STAY: Self = Self(
        Self::VALID.0
            | Self::DIRTY.0
            | Self::LEAVING.0
            | Self::TOUCHED.0
            | Self::PREFETCHED.0
            | Self::COVERED.0
            | Self::PREDICTED.0
            | Self::URGENT.0,
    );

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(crate) fn clear(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

/// What is known of a block.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct BlockState {
    /// Pages that the tree counts: on the device or to come. UVMSmart forgets them at a synchronisation.
    pub(crate) counted: u32,
    /// Accesses.
    pub(crate) accesses: u64,
    /// Evictions of its tree.
    pub(crate) round_trips: u64,
    /// When it was used last, as a sequence number.
    pub(crate) stamp: u64,
}

/// What is known of a tree.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TreeState {
    /// Pages that are managed: all, or the rounded remainder of an allocation.
    pub(crate) pages: u32,
    /// Of those, the ones on the device, waiting for their write-back, in use.
    pub(crate) valid: u32,
    pub(crate) leaving: u32,
    pub(crate) in_use: u32,
    pub(crate) accesses: u64,
    /// Written since it came.
    pub(crate) written: bool,
    /// Number of the allocation that has the tree.
    pub(crate) owner: u32,
    /// What a page of it takes of a frame on the device, in [`SHARES`].
    pub(crate) share: u64,
}

/// Parts of a frame: memory sides that compress keep a multiple of 8 of 128 bytes.
pub(crate) const SHARES: u64 = 16;

/// An allocation.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// What the program calls it.
    pub name: String,
    /// Address of its first byte.
    pub start: Addr,
    /// Its size as asked for.
    pub size: Bytes,
    /// Its pages, the rounding included.
    pub pages: Range<u32>,
    pub(crate) advised: Advised,
    pub(crate) pinned: bool,
    live: bool,
}

/// What the program said of an allocation.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Advised {
    pub(crate) read_mostly: bool,
    pub(crate) prefers_host: bool,
    pub(crate) accessed_by_device: bool,
}

/// Managed memory.
pub struct Space {
    /// How it is divided.
    pub geometry: Geometry,
    allocations: Vec<Allocation>,
    pub(crate) pages: Vec<Flags>,
    in_use: Vec<u16>,
    /// Walks to each page: the heat map.
    pub(crate) heat: Vec<u32>,
    pub(crate) blocks: Vec<BlockState>,
    pub(crate) trees: Vec<TreeState>,
    /// Managed pages of live allocations.
    managed: u64,
    /// Pages on the device that are not chosen to leave.
    here: u64,
    /// Uses so far.
    clock: u64,
}

impl Space {
    /// Nothing is allocated yet.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            allocations: Vec::new(),
            pages: Vec::new(),
            in_use: Vec::new(),
            heat: Vec::new(),
            blocks: Vec::new(),
            trees: Vec::new(),
            managed: 0,
            here: 0,
            clock: 0,
        }
    }

    /// Adds an allocation; its start is a multiple of 2 MB.
    pub fn allocate(&mut self, start: Addr, size: Bytes, name: &str) {
        let g = self.geometry;
        let first = g.page_at(start).0;
        let count = (g.rounded(size).0 / g.page_bytes) as u32;
        let pages = first..first + count;
        let trees = g.tree(Page(first)).0..g.tree(Page(pages.end - 1)).0 + 1;
        let all = trees.end as usize * g.pages_per_tree() as usize;
        if self.pages.len() < all {
            self.pages.resize(all, Flags::default());
            self.in_use.resize(all, 0);
            self.heat.resize(all, 0);
            self.blocks.resize(trees.end as usize * g.blocks_per_tree as usize, BlockState::default());
            self.trees.resize(trees.end as usize, TreeState::default());
        }
        let owner = self.allocations.len() as u32;
        for tree in trees {
            let begin = g.first_page(Tree(tree)).0;
            let count = pages.end.min(begin + g.pages_per_tree()) - begin;
            self.trees[tree as usize] = TreeState { pages: count, owner, share: SHARES, ..TreeState::default() };
            self.blocks[g.first_block(Tree(tree)).0 as usize..][..g.blocks_per_tree as usize]
                .fill(BlockState::default());
            self.pages[begin as usize..][..g.pages_per_tree() as usize].fill(Flags::default());
        }
        self.managed += u64::from(count);
        self.allocations.push(Allocation {
            name: name.to_owned(),
            start,
            size,
            pages,
            advised: Advised::default(),
            pinned: false,
            live: true,
        });
    }

    /// Takes an allocation away: its pages.
    pub fn free(&mut self, start: Addr) -> Option<Range<u32>> {
        let found = self.allocations.iter_mut().find(|a| a.live && a.start == start)?;
        found.live = false;
        self.managed -= u64::from(found.pages.end - found.pages.start);
        Some(found.pages.clone())
    }

    /// Remembers what the program says of its memory; CUDA lets it say so of parts, here it holds for the allocation.
    pub fn advise(&mut self, start: Addr, advice: Advice) {
        let page = self.geometry.page_at(start).0;
        let Some(a) = self.allocations.iter_mut().find(|a| a.live && a.pages.contains(&page)) else { return };
        match advice {
            Advice::ReadMostly(is) => a.advised.read_mostly = is,
            Advice::PreferHost => a.advised.prefers_host = true,
            Advice::PreferDevice | Advice::NoPreference => a.advised.prefers_host = false,
            Advice::AccessedByDevice(is) => a.advised.accessed_by_device = is,
            Advice::PinToHost => a.pinned = true,
        }
    }

    /// All allocations so far, in their order.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// On the device, each line of an allocation takes so many bytes alone.
    pub(crate) fn reserve(&mut self, start: Addr, per_line: u32) {
        let share = (u64::from(per_line) * SHARES).div_ceil(LINE_BYTES).clamp(1, SHARES);
        let Some(a) = self.allocations.iter().rfind(|a| a.live && a.start == start) else { return };
        let (first, last) = (self.geometry.tree(Page(a.pages.start)), self.geometry.tree(Page(a.pages.end - 1)));
        for tree in &mut self.trees[first.0 as usize..=last.0 as usize] {
            tree.share = share;
        }
    }

    /// Pages on the device that are not chosen to leave.
    pub fn here(&self) -> u64 {
        self.here
    }

    /// What pages take on the device, in [`SHARES`] of a frame.
    pub(crate) fn shares(&self, pages: impl IntoIterator<Item = u32>) -> u64 {
        pages.into_iter().map(|page| self.trees[self.geometry.tree(Page(page)).0 as usize].share).sum()
    }

    /// Number of the allocation of a tree.
    pub(crate) fn owner(&self, page: Page) -> u32 {
        self.trees[self.geometry.tree(page).0 as usize].owner
    }

    /// The allocation of a page.
    pub(crate) fn allocation(&self, page: Page) -> &Allocation {
        &self.allocations[self.owner(page) as usize]
    }

    /// True if the page belongs to a live allocation.
    pub fn is_managed(&self, page: Page) -> bool {
        let tree = self.geometry.tree(page);
        self.trees.get(tree.0 as usize).is_some_and(|t| page.0 < self.geometry.first_page(tree).0 + t.pages)
    }

    /// Pages of live allocations.
    pub(crate) fn managed(&self) -> u64 {
        self.managed
    }

    pub(crate) fn flags(&self, page: Page) -> Flags {
        self.pages[page.0 as usize]
    }

    pub(crate) fn flags_mut(&mut self, page: Page) -> &mut Flags {
        &mut self.pages[page.0 as usize]
    }

    /// On the device.
    pub fn is_valid(&self, page: Page) -> bool {
        self.flags(page).has(Flags::VALID)
    }

    /// Neither on the device nor on its way.
    pub fn is_absent(&self, page: Page) -> bool {
        !self.flags(page).has(Flags(Flags::VALID.0 | Flags::QUEUED.0))
    }

    /// The blocks of a tree that are managed.
    pub fn blocks_of(&self, tree: Tree) -> Range<u32> {
        let first = self.geometry.first_block(tree).0;
        first..first + self.trees[tree.0 as usize].pages.div_ceil(self.geometry.pages_per_block)
    }

    /// The managed pages of a tree.
    pub fn pages_of(&self, tree: Tree) -> Range<u32> {
        let first = self.geometry.first_page(tree).0;
        first..first + self.trees[tree.0 as usize].pages
    }

    /// Pages of a block that the tree counts.
    pub fn counted(&self, block: Block) -> u32 {
        self.blocks[block.0 as usize].counted
    }

    /// The tree counts all pages of a block.
    pub fn count_whole(&mut self, block: Block) {
        self.blocks[block.0 as usize].counted = self.geometry.pages_per_block;
    }

    /// An access to a page.
    #[inline]
    pub(crate) fn accessed(&mut self, page: Page, write: bool) {
        let g = &self.geometry;
        let (block, tree) = (g.block(page).0 as usize, g.tree(page).0 as usize);
        self.clock += 1;
        let b = &mut self.blocks[block];
        b.accesses += 1;
        b.stamp = self.clock;
        let t = &mut self.trees[tree];
        t.accesses += 1;
        t.written |= write;
        if write {
            self.pages[page.0 as usize].set(Flags::DIRTY);
        }
    }

    /// A request to a page is under way.
    #[inline]
    pub(crate) fn take(&mut self, page: Page) {
        self.in_use[page.0 as usize] += 1;
        self.trees[self.geometry.tree(page).0 as usize].in_use += 1;
    }

    /// It has ended.
    #[inline]
    pub(crate) fn release(&mut self, page: Page) {
        self.in_use[page.0 as usize] -= 1;
        self.trees[self.geometry.tree(page).0 as usize].in_use -= 1;
    }

    /// A page is on its way from now on.
    pub(crate) fn queue(&mut self, page: Page) {
        let g = &self.geometry;
        let block = &mut self.blocks[g.block(page).0 as usize];
        block.counted = (block.counted + 1).min(g.pages_per_block);
        self.flags_mut(page).set(Flags::QUEUED);
    }

    /// A page has come.
    pub(crate) fn arrive(&mut self, page: Page) {
        self.clock += 1;
        let (block, tree) = (self.geometry.block(page), self.geometry.tree(page));
        self.blocks[block.0 as usize].stamp = self.clock;
        self.trees[tree.0 as usize].valid += 1;
        self.here += 1;
        let flags = self.flags_mut(page);
        flags.clear(Flags::QUEUED);
        flags.set(Flags::VALID);
    }

    /// A page is chosen to leave.
    pub(crate) fn mark_leaving(&mut self, page: Page) {
        self.flags_mut(page).set(Flags::LEAVING);
        self.here -= 1;
        self.trees[self.geometry.tree(page).0 as usize].leaving += 1;
    }

    /// It stays after all.
    pub(crate) fn unmark_leaving(&mut self, page: Page) {
        self.flags_mut(page).clear(Flags(Flags::LEAVING.0 | Flags::RESCUED.0));
        self.here += 1;
        self.trees[self.geometry.tree(page).0 as usize].leaving -= 1;
    }

    /// A page has left.
    pub(crate) fn leave(&mut self, page: Page) {
        let (block, tree) = (self.geometry.block(page), self.geometry.tree(page));
        let was_leaving = self.flags(page).has(Flags::LEAVING);
        let t = &mut self.trees[tree.0 as usize];
        t.valid -= 1;
        self.here -= u64::from(!was_leaving);
        t.leaving -= u32::from(was_leaving);
        t.written &= t.valid > 0;
        let b = &mut self.blocks[block.0 as usize];
        b.counted = b.counted.saturating_sub(1);
        self.flags_mut(page).clear(Flags::OF_STAY);
    }

    /// True if nothing keeps a page from leaving.
    pub(crate) fn may_leave(&self, page: Page) -> bool {
        let flags = self.flags(page);
        flags.has(Flags::VALID) && !flags.has(Flags::LEAVING) && self.in_use[page.0 as usize] == 0
    }

    /// True if all of a block is on the device and nothing keeps it.
    pub(crate) fn block_may_leave(&self, block: Block) -> bool {
        self.geometry.pages(block).all(|page| self.may_leave(Page(page)))
    }

    /// True if all of a tree is on the device and nothing keeps it.
    pub(crate) fn tree_may_leave(&self, tree: Tree) -> bool {
        let t = &self.trees[tree.0 as usize];
        t.pages > 0 && t.valid == t.pages && t.leaving == 0 && t.in_use == 0
    }
}

/// Consecutive pages of a sorted list, as ranges.
pub(crate) fn runs(pages: &[u32]) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for &page in pages {
        match runs.last_mut() {
            Some(last) if last.end == page => last.end += 1,
            _ => runs.push(page..page + 1),
        }
    }
    runs
}
