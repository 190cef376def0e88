//! All of a tree on the first fault in it: what the driver's bitmap does with the lowest threshold. The strongest of the simple
//! rules where a far fault is dear.

use super::{Asked, Prefetcher};
use crate::geometry::Page;

pub(crate) struct FirstTouch;

impl Prefetcher for FirstTouch {
    fn choose(&mut self, asked: &mut Asked<'_>, pages: &mut Vec<Page>) {
        let all = asked.space.pages_of(asked.tree).map(Page);
        pages.extend(all.filter(|page| asked.faults.contains(page) || !asked.excluded.contains(page)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    #[test]
    fn a_fault_brings_its_tree_and_no_other() {
        let mut bench = Bench::new(4096 + 128, FirstTouch);
        assert_eq!(bench.fault_blocks(&[40]), [2048]);
        assert_eq!(bench.fault_blocks(&[64]), [128], "the remainder of the allocation");
        assert_eq!(bench.fault_blocks(&[3]), [2048]);
    }

    #[test]
    fn it_is_the_drivers_bitmap_with_the_lowest_threshold() {
        let mut bitmap = Bench::new(2048, super::super::driver::DriverBitmap { threshold: 1 });
        assert_eq!(bitmap.fault_blocks(&[7]), Bench::new(2048, FirstTouch).fault_blocks(&[7]));
    }
}
