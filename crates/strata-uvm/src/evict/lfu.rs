//! The 2 MB with the fewest accesses; of two, the one that was only read, then the less recent.

use super::{Candidates, Eviction};
use crate::geometry::Tree;
use std::ops::Range;

pub(super) struct LeastFrequent;

impl Eviction for LeastFrequent {
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
        let may = among.of(&among.recency.trees).map(Tree).filter(|&tree| among.space.tree_may_leave(tree));
        // The list is in the order of use, and the first of equals is taken.
        let found = may.min_by_key(|tree| {
            let t = &among.space.trees[tree.0 as usize];
            (t.accesses, t.written)
        });
        found.map(|tree| among.whole(tree)).unwrap_or_default()
    }
}
