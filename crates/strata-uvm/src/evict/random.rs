//! A page, whichever.

use super::{Candidates, Eviction};
use crate::geometry::Page;
use std::ops::Range;

pub(super) struct RandomPage;

/// Tries before the search goes on in order: enough to find a page if a tenth of all may leave.
const TRIES: u32 = 64;

impl Eviction for RandomPage {
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
        let count = among.space.pages.len() as u32;
        if count == 0 {
            return Vec::new();
        }
        for _ in 0..TRIES {
            let page = among.random.below(count.into()) as u32;
            if among.space.may_leave(Page(page)) {
                return std::iter::once(page..page + 1).collect();
            }
        }
        let start = among.random.below(count.into()) as u32;
        let found = (start..count).chain(0..start).find(|&page| among.space.may_leave(Page(page)));
        found.map(|page| page..page + 1).into_iter().collect()
    }
}
