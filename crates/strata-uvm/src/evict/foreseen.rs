//! The 2 MB that are foreseen to be used last, or what there is of them: Belady's rule with what is known of the future. What is in use
//! goes only if everything is, and then the least recent; of what nothing is known, the least recent goes, too.

use super::{Candidates, Eviction};
use crate::geometry::{Page, Tree};
use crate::space::runs;
use std::ops::Range;

pub(super) struct Foreseen;

/// The tree that is used last of those that may leave, and uses until then: none if it is in use.
pub(crate) fn used_last(among: &Candidates<'_>) -> Option<(Tree, u64)> {
    let mut last: Option<(Tree, u64)> = None;
    for tree in among.of(&among.recency.trees).map(Tree) {
        let state = &among.space.trees[tree.0 as usize];
        if state.in_use > 0 || state.valid == state.leaving {
            continue;
        }
        let distance = if among.uses.in_use(tree, state.owner, among.now) { 0 } else { among.distance(tree).max(1) };
        if last.is_none_or(|(_, so_far)| distance > so_far) {
            last = Some((tree, distance));
        }
    }
    last
}

impl Eviction for Foreseen {
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
        let Some((tree, _)) = used_last(among) else { return Vec::new() };
        let may_leave = among.space.pages_of(tree).filter(|&page| among.space.may_leave(Page(page)));
        runs(&may_leave.collect::<Vec<_>>())
    }
}
