//! Sequential-local: the rest of the faulted 64 KB block.

use super::{Asked, Prefetcher};
use crate::geometry::Page;

pub(super) struct SequentialLocal;

impl Prefetcher for SequentialLocal {
    fn choose(&mut self, asked: &mut Asked<'_>, pages: &mut Vec<Page>) {
        for &fault in asked.faults {
            let block = asked.space.geometry.block(fault);
            asked.space.count_whole(block);
            pages.extend(asked.space.geometry.pages(block).map(Page));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    #[test]
    fn a_block_comes_and_nothing_else() {
        let mut bench = Bench::new(2048, SequentialLocal);
        for block in 0..8 {
            assert_eq!(bench.fault_blocks(&[block]), [64]);
        }
    }
}
