//! The mirror of the tree prefetcher: the least recent block leaves, and then, children first, every node of which less than
//! half is left, but something, loses the rest of its blocks that may leave.

use super::{Candidates, Eviction};
use crate::geometry::Block;
use crate::space::runs;
use std::ops::Range;

pub(super) struct TreeNeighbourhood;

impl Eviction for TreeNeighbourhood {
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
        let space = among.space;
        let Some(first) = among.block() else { return Vec::new() };
        let tree = space.geometry.tree(crate::geometry::Page(space.geometry.pages(first).start));
        let blocks = space.blocks_of(tree);
        let mut left: Vec<u32> = blocks.clone().map(|block| space.counted(Block(block))).collect();
        let mut gone = vec![first.0];
        left[(first.0 - blocks.start) as usize] = 0;
        let mut width = 2;
        while width <= left.len() {
            for node in (0..left.len()).step_by(width) {
                let size = width as u32 * space.geometry.pages_per_block;
                let valid: u32 = left[node..node + width].iter().sum();
                if valid == 0 || 2 * valid >= size {
                    continue;
                }
                for (at, rest) in left.iter_mut().enumerate().skip(node).take(width) {
                    let block = blocks.start + at as u32;
                    if *rest > 0 && space.block_may_leave(Block(block)) {
                        *rest = 0;
                        gone.push(block);
                    }
                }
            }
            width *= 2;
        }
        gone.sort_unstable();
        let pages: Vec<u32> = gone.into_iter().flat_map(|block| space.geometry.pages(Block(block))).collect();
        runs(&pages)
    }
}
