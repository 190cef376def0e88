//! The rule of the real driver (`uvm_perf_prefetch.c`): for each faulted page, the largest region of its 2 MB block of which
//! more than 51 percent is resident or faulted. Regions do not see each other: nothing cascades.

use super::{Asked, Prefetcher};
use crate::geometry::Page;

pub(super) struct DriverBitmap {
    /// Percent.
    pub(super) threshold: u32,
}

impl Prefetcher for DriverBitmap {
    fn choose(&mut self, asked: &mut Asked<'_>, pages: &mut Vec<Page>) {
        let (space, geometry) = (&*asked.space, asked.space.geometry);
        let all = space.pages_of(asked.tree);
        let mut bitmap: Vec<bool> = all.clone().map(|page| space.is_valid(Page(page))).collect();
        for &fault in asked.faults {
            bitmap[(fault.0 - all.start) as usize] = true;
            let block = geometry.pages(geometry.block(fault));
            if !asked.excluded.iter().any(|page| block.contains(&page.0)) {
                let inside = (block.start - all.start) as usize..(block.end.min(all.end) - all.start) as usize;
                bitmap[inside].fill(true);
            }
        }
        // How many are set before each page, so that a region is counted by one subtraction.
        let before: Vec<u32> = std::iter::once(0)
            .chain(bitmap.iter().scan(0, |sum, &set| {
                *sum += u32::from(set);
                Some(*sum)
            }))
            .collect();
        let count = bitmap.len();
        let mut chosen = vec![false; count];
        for &fault in asked.faults {
            let at = (fault.0 - all.start) as usize;
            chosen[at] = true;
            if asked.excluded.contains(&fault) {
                continue;
            }
            let mut width = 1;
            let mut best = at..at + 1;
            while width < 2 * count {
                let first = at / width * width;
                let region = first..(first + width).min(count);
                let set = before[region.end] - before[region.start];
                if set * 100 > region.len() as u32 * self.threshold {
                    best = region;
                }
                width *= 2;
            }
            chosen[best].fill(true);
        }
        let excluded = |page: &Page| asked.excluded.contains(page) && !asked.faults.contains(page);
        let named = (0..count).filter(|&at| chosen[at]).map(|at| Page(all.start + at as u32));
        pages.extend(named.filter(|page| !excluded(page)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    fn bench(kb: u64) -> Bench<DriverBitmap> {
        Bench::new(kb, DriverBitmap { threshold: 51 })
    }

    /// The same traces as the tree: on these the rules agree.
    #[test]
    fn the_traced_orders() {
        let orders: [&[(u32, u32)]; 3] = [
            &[(0, 64), (1, 64), (2, 128), (4, 256), (8, 512), (16, 1024)],
            &[(1, 64), (3, 64), (0, 128), (4, 256), (8, 512), (16, 1024)],
            &[(1, 64), (3, 64), (5, 64), (7, 64), (0, 256), (8, 512), (16, 1024)],
        ];
        for order in orders {
            let mut bench = bench(2048);
            for (block, moved) in order {
                assert_eq!(bench.fault_blocks(&[*block]).iter().sum::<u32>(), *moved, "block {block}");
            }
        }
    }

    #[test]
    fn nothing_cascades() {
        let mut bench = bench(512);
        for block in [0, 1, 4] {
            bench.fault_blocks(&[block]);
        }
        assert_eq!(bench.fault_blocks(&[2]), [128], "2 and 3; the tree fetches 5, 6 and 7 too");
    }

    #[test]
    fn levels_need_not_follow_each_other() {
        // Blocks 0 and 4 to 7 are here; a fault in 2: of 0 to 3 only half is set, but of 0 to 7 six eighths.
        let mut bench = bench(512);
        for block in [0, 4, 6, 5, 7] {
            bench.fault_blocks(&[block]);
        }
        let before = (0..128).filter(|&page| bench.space.is_valid(Page(page))).count();
        let moved: u32 = bench.fault_blocks(&[2]).iter().sum();
        assert_eq!(before as u32 * 4 + moved, 512);
    }
}
