//! Pages, blocks and trees: how managed memory is divided.
//!
//! A tree is 2 MB, a block 64 KB, a page 4 KB; with pages of 2 MB all three are the same. Everything is numbered from the
//! start of the managed range, so that states are dense arrays; allocations begin at a multiple of 2 MB, so a tree belongs
//! to one allocation.

use std::ops::Range;
use strata_core::{Addr, Bytes};
use strata_sim::seam::{PageId, PageRange};

/// Bytes of a tree: facts of UVMSmart and of the driver (its VA block) agree on 2 MB.
pub const TREE_BYTES: u64 = 2 << 20;
/// Bytes of a block of small pages: UVMSmart's basic block, the driver's big page.
pub const BLOCK_BYTES: u64 = 64 << 10;

/// A page, counted from the start of the managed range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Page(pub u32);

/// A block, counted likewise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Block(pub u32);

/// A tree, counted likewise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tree(pub u32);

/// How the managed range is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Blocks of a whole tree.
    pub blocks_per_tree: u32,
    first: u64,
}

impl Geometry {
    /// Pages of `page` bytes (4 KB or 2 MB) from `start` on, a multiple of 2 MB.
    pub fn new(page: Bytes, start: Addr) -> Self {
        let block = BLOCK_BYTES.max(page.0);
        Self {
            page_bytes: page.0,
            pages_per_block: (block / page.0) as u32,
            blocks_per_tree: (TREE_BYTES / block) as u32,
            first: start.0 / page.0,
        }
    }

    /// Pages of a whole tree.
    pub fn pages_per_tree(&self) -> u32 {
        self.pages_per_block * self.blocks_per_tree
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> u64 {
        self.page_bytes * u64::from(self.pages_per_block)
    }

    /// The page that the machine calls `id`.
    pub fn page(&self, id: PageId) -> Page {
        Page((id.0 - self.first) as u32)
    }

    /// The page of an address.
    pub fn page_at(&self, address: Addr) -> Page {
        self.page(PageId(address.0 / self.page_bytes))
    }

    /// The first byte of a page.
    pub fn address(&self, page: Page) -> Addr {
        Addr((self.first + u64::from(page.0)) * self.page_bytes)
    }

    /// Pages as the machine calls them.
    pub fn range(&self, pages: &Range<u32>) -> PageRange {
        PageRange { first: PageId(self.first + u64::from(pages.start)), pages: u64::from(pages.end - pages.start) }
    }

    /// The block of a page.
    pub fn block(&self, page: Page) -> Block {
        Block(page.0 / self.pages_per_block)
    }

    /// The tree of a page.
    pub fn tree(&self, page: Page) -> Tree {
        Tree(page.0 / self.pages_per_tree())
    }

    /// True if the block of a page is among these of its tree, the lowest first.
    pub fn is_among(&self, blocks: u32, page: Page) -> bool {
        blocks >> (self.block(page).0 % self.blocks_per_tree) & 1 != 0
    }

    /// The pages of a block.
    pub fn pages(&self, block: Block) -> Range<u32> {
        block.0 * self.pages_per_block..(block.0 + 1) * self.pages_per_block
    }

    /// The first block of a tree.
    pub fn first_block(&self, tree: Tree) -> Block {
        Block(tree.0 * self.blocks_per_tree)
    }

    /// The first page of a tree.
    pub fn first_page(&self, tree: Tree) -> Page {
        Page(tree.0 * self.pages_per_tree())
    }

    /// What an allocation of `size` bytes becomes: whole trees, and a remainder of 64 KB times a power of two.
    pub fn rounded(&self, size: Bytes) -> Bytes {
        let (whole, rest) = (size.0 / TREE_BYTES * TREE_BYTES, size.0 % TREE_BYTES);
        if rest == 0 {
            return Bytes(whole.max(self.block_bytes()));
        }
        Bytes(whole + self.block_bytes() * rest.div_ceil(self.block_bytes()).next_power_of_two())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: u64 = 1 << 10;
    const MB: u64 = 1 << 20;

    #[test]
    fn allocations_are_rounded_as_on_the_card() {
        let g = Geometry::new(Bytes(4096), Addr(0));
        // The first is the micro-benchmark managedAllocRoundUp; the others stand in the facts of UVMSmart.
        let sizes = [
            (2 * MB + 192 * KB, 2 * MB + 256 * KB),
            (1200 * 1200 * 4, 6 * MB),
            (1025 * 1025 * 4, 4 * MB + 64 * KB),
            (199 * 50_000 * 4, 38 * MB),
            (50_000 * 4, 256 * KB),
            (1, 64 * KB),
            (2 * MB, 2 * MB),
        ];
        for (size, rounded) in sizes {
            assert_eq!(g.rounded(Bytes(size)), Bytes(rounded), "{size}");
        }
        assert_eq!(Geometry::new(Bytes(2 * MB), Addr(0)).rounded(Bytes(5 * MB)), Bytes(6 * MB));
    }

    #[test]
    fn large_pages_are_blocks_and_trees() {
        let g = Geometry::new(Bytes(2 * MB), Addr(64 * MB));
        assert_eq!((g.pages_per_block, g.blocks_per_tree), (1, 1));
        assert_eq!(g.page_at(Addr(67 * MB)), Page(1));
        assert_eq!(g.address(Page(1)), Addr(66 * MB));
    }
}
