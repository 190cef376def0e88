//! The least recently used 64 KB of the least recently used 2 MB.

use super::{Candidates, Eviction};
use std::ops::Range;

pub(super) struct Block;

impl Eviction for Block {
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
        among.block().map(|block| among.space.geometry.pages(block)).into_iter().collect()
    }
}
