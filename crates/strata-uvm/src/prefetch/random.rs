//! Random: the faulted page, and one page of the same tree, whichever.

use super::{Asked, Prefetcher};
use crate::geometry::Page;

pub(super) struct RandomPage;

impl Prefetcher for RandomPage {
    fn choose(&mut self, asked: &mut Asked<'_>, pages: &mut Vec<Page>) {
        let all = asked.space.pages_of(asked.tree);
        for &fault in asked.faults {
            let other = all.start + asked.random.below((all.end - all.start).into()) as u32;
            pages.extend([fault, Page(other)]);
        }
    }

    fn covers_faults(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    #[test]
    fn one_more_page_of_the_tree_comes() {
        let mut bench = Bench::new(4096, RandomPage);
        let moved: u32 = bench.fault(&[Page(600)]).iter().sum();
        assert!(moved == 8 || moved == 4);
        assert!((0..512).all(|page| bench.space.is_absent(Page(page))), "the other tree is left alone");
    }
}
