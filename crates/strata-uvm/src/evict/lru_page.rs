//! The least recently used page.

use super::{Candidates, Eviction};
use crate::geometry::Page;
use std::ops::Range;

pub(super) struct LruPage;

impl Eviction for LruPage {
    fn choose(&mut self, among: &mut Candidates<'_>) -> Vec<Range<u32>> {
        let Some(list) = &among.recency.pages else { return Vec::new() };
        let found = among.of(list).find(|&page| among.space.may_leave(Page(page)));
        found.map(|page| page..page + 1).into_iter().collect()
    }

    fn by_page(&self) -> bool {
        true
    }
}
