//! The tree-based neighbourhood prefetcher of UVMSmart.
//!
//! Faulted blocks become whole. Then the tree is walked, children first: a node of which more than half is on the device or
//! to come, but not all, gets every block below it of which nothing is; its parent sees the new count, so fills cascade.

use super::{Asked, Prefetcher};
use crate::geometry::{Block, Page};
use crate::space::Space;

pub(super) struct TreeNeighbourhood;

impl Prefetcher for TreeNeighbourhood {
    fn choose(&mut self, asked: &mut Asked<'_>, pages: &mut Vec<Page>) {
        let geometry = asked.space.geometry;
        let mut scheduled: Vec<Block> = Vec::new();
        for &fault in asked.faults {
            let block = geometry.block(fault);
            asked.space.count_whole(block);
            if scheduled.last() != Some(&block) {
                scheduled.push(block);
            }
        }
        let blocks = asked.space.blocks_of(asked.tree);
        // Levels from the bottom up are the post-order: a node only depends on what is below it.
        let mut width = 2;
        while width <= blocks.len() as u32 {
            for first in blocks.clone().step_by(width as usize) {
                fill(asked.space, first..first + width, &mut scheduled);
            }
            width *= 2;
        }
        pages.extend(scheduled.into_iter().flat_map(|block| geometry.pages(block)).map(Page));
    }
}

/// One node of the tree, with these leaves.
fn fill(space: &mut Space, leaves: std::ops::Range<u32>, scheduled: &mut Vec<Block>) {
    let size = (leaves.end - leaves.start) * space.geometry.pages_per_block;
    let counted: u32 = leaves.clone().map(|leaf| space.counted(Block(leaf))).sum();
    if counted < size && 2 * counted > size {
        for leaf in leaves.map(Block) {
            if space.counted(leaf) == 0 {
                space.count_whole(leaf);
                scheduled.push(leaf);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    /// Blocks in the order of their faults, and the KB that each moves.
    #[track_caller]
    fn check(kb: u64, order: &[(u32, &[u32])]) {
        let mut bench = Bench::new(kb, TreeNeighbourhood);
        for (block, moved) in order {
            assert_eq!(bench.fault_blocks(&[*block]), *moved, "block {block}");
        }
    }

    /// The micro-benchmarks getHWPrefetcherP1 to P3, as traced on a GTX 1080 Ti.
    #[test]
    fn the_traced_orders() {
        check(2048, &[(0, &[64]), (1, &[64]), (2, &[128]), (4, &[256]), (8, &[512]), (16, &[1024])]);
        check(2048, &[(1, &[64]), (3, &[64]), (0, &[64, 64]), (4, &[256]), (8, &[512]), (16, &[1024])]);
        let third = [(1, 64), (3, 64), (5, 64), (7, 64)].map(|(block, _)| (block, &[64][..]));
        let rest = [(0, &[64, 64, 64, 64][..]), (8, &[512]), (16, &[1024])];
        check(2048, &[third.as_slice(), &rest].concat());
    }

    /// The micro-benchmark managedAllocRoundUp: 2 MB + 192 KB behaves as 2 MB + 256 KB.
    #[test]
    fn a_remainder_is_rounded_up() {
        check(2048 + 192, &[(32, &[64]), (33, &[64]), (34, &[128])]);
    }

    /// The micro-benchmark largePageBoundary.
    #[test]
    fn a_boundary_of_2_mb_is_never_crossed() {
        check(4096, &[(31, &[64]), (30, &[64]), (29, &[128]), (27, &[256]), (23, &[512]), (15, &[1024]), (32, &[64])]);
    }

    /// The example of the facts: the driver fetches only 2 and 3 here.
    #[test]
    fn fills_cascade() {
        let mut bench = Bench::new(512, TreeNeighbourhood);
        bench.fault_blocks(&[0]);
        bench.fault_blocks(&[1]);
        bench.fault_blocks(&[4]);
        assert_eq!(bench.fault_blocks(&[2]), [128, 192], "2 and 3, then 5, 6 and 7");
    }

    #[test]
    fn just_half_is_not_enough() {
        check(256, &[(0, &[64]), (1, &[64])]);
        check(128, &[(0, &[64]), (1, &[64])]);
    }

    #[test]
    fn blocks_of_which_a_page_is_here_are_not_topped_up() {
        let mut bench = Bench::new(256, TreeNeighbourhood);
        bench.space.queue(Page(3 * 16 + 5));
        bench.space.arrive(Page(3 * 16 + 5));
        bench.fault_blocks(&[0]);
        assert_eq!(bench.fault_blocks(&[1]), [128], "block 2 comes, block 3 with its one page does not");
    }
}
