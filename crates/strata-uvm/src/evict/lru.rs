//! The least recently used 2 MB, whole.

use super::{Candidates, Eviction};
use crate::geometry::Tree;
use std::ops::Range;

pub(super) struct LruTree;

impl Eviction for LruTree {
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
        let found = among.of(&among.recency.trees).map(Tree).find(|&tree| among.space.tree_may_leave(tree));
        found.map(|tree| among.whole(tree)).unwrap_or_default()
    }
}
