//! How often L2 was asked for each page of the program's allocations: what a map of memory shows.

use super::names::Names;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_core::Bytes;

/// A page, of 4 KiB.
const PAGE_SHIFT: u32 = 12;
/// More cells than this an allocation's map does not have: they become larger.
const MOST_CELLS: usize = 1 << 14;

/// Sectors by allocation number and page, of the launch that runs.
#[derive(Default)]
pub(super) struct Touched(FxHashMap<(u32, u32), u64>);

impl Touched {
    /// So many sectors at this offset of an allocation.
    pub(super) fn count(&mut self, allocation: u32, offset: u64, sectors: u64) {
        *self.0.entry((allocation, (offset >> PAGE_SHIFT) as u32)).or_default() += sectors;
    }
}

/// What was asked of L2, page by page, for those who look when the program has ended.
#[derive(Clone, Debug, Default)]
pub struct PageUse(Arc<Mutex<BTreeMap<u32, AllocationUse>>>);

/// The pages of one allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationUse {
    /// What the program calls it.
    pub name: String,
    /// Its size.
    pub bytes: Bytes,
    /// Bytes of a cell: 4 KiB, or more where there would be too many.
    pub cell: Bytes,
    /// Sectors asked of L2, cell by cell.
    pub sectors: Vec<u64>,
}

impl AllocationUse {
    fn new(name: &str, bytes: Bytes) -> Self {
        let pages = bytes.0.div_ceil(1 << PAGE_SHIFT);
        let pages_per_cell = pages.div_ceil(MOST_CELLS as u64).max(1).next_power_of_two();
        Self {
            name: name.to_owned(),
            bytes,
            cell: Bytes(pages_per_cell << PAGE_SHIFT),
            sectors: vec![0; pages.div_ceil(pages_per_cell) as usize],
        }
    }
}

impl PageUse {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, AllocationUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what a launch touched.
    pub(super) fn add(&self, touched: &Touched, names: &Names) {
        let mut all = self.lock();
        for (&(number, page), sectors) in &touched.0 {
            let Some((name, bytes)) = names.allocation(number).zip(names.bytes(number)) else { continue };
            let of = all.entry(number).or_insert_with(|| AllocationUse::new(name, bytes));
            let cell = (u64::from(page) << PAGE_SHIFT) / of.cell.0;
            if let Some(count) = of.sectors.get_mut(cell as usize) {
                *count += sectors;
            }
        }
    }

    /// Allocations that were asked for, in the order of their making.
    pub fn allocations(&self) -> Vec<AllocationUse> {
        self.lock().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::Addr;

    #[test]
    fn sectors_are_counted_by_page_and_over_launches() {
        let mut names = Names::default();
        names.allocated(Addr(1 << 20), Bytes(3 << 12), "a");
        names.allocated(Addr(1 << 30), Bytes(1 << 30), "large");
        let uses = PageUse::default();
        for _ in 0..2 {
            let mut touched = Touched::default();
            touched.count(0, 5, 4);
            touched.count(0, 2 << 12, 1);
            touched.count(1, 100 << 12, 7);
            uses.clone().add(&touched, &names);
        }
        let [small, large] = uses.allocations().try_into().expect("two");
        assert_eq!((small.name.as_str(), small.cell, small.sectors), ("a", Bytes(4096), vec![8, 0, 2]));
        assert_eq!((large.cell, large.sectors.len()), (Bytes(16 << 12), MOST_CELLS), "2^18 pages");
        assert_eq!((large.sectors[100 / 16], large.sectors.iter().sum::<u64>()), (14, 14));
    }
}
