//! The page table: where a page's entries are in the two memories.
//!
//! In device memory a page with target t has 1/t of a page: `128 / t` bytes of each entry, one entry after the other. The
//! other bytes of each entry are in its *buddy page*, likewise. Carve-out pages are whole pages, so that an offset of 16
//! bits names one; but a buddy page is 1/4, 1/2, 3/4 or 15/16 of a page, so neighbours share them: four pages with target
//! 4 have three carve-out pages, one behind the other. Such pages are a *group*. An allocation begins where a group does,
//! so the number of a page says where within its carve-out page its buddy page begins, and no bit has to.

use super::config::PARTS;
use crate::Target;
use strata_codec::ENTRY_BYTES;

/// Bits of a page-table entry that name the target (section III). 16x is one more of its codes.
pub(super) const TARGET_BITS: u32 = 3;

/// An entry of the page table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pte {
    /// The target of the page's allocation.
    pub target: Target,
    /// Where the page begins in device memory, in sixteenths of a page.
    pub device: u64,
    /// The page of the carve-out, counted from its base, in which the page's buddy page begins; none if it is not compressed.
    pub buddy: Option<u64>,
}

impl Pte {
    /// The bit that says whether entries are compressed.
    pub fn compressed(&self) -> bool {
        self.target != Target::X1
    }

    /// The three bits that name the target.
    pub fn target_code(&self) -> u8 {
        self.target as u8
    }
}

/// How the pages of one target divide among the memories; all lengths in sixteenths of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// What a page has in device memory.
    pub(super) device: u64,
    /// What it has in buddy memory.
    pub(super) buddy: u64,
    /// Pages of a group.
    pub(super) group: u64,
}

impl Shape {
    pub(super) fn of(target: Target) -> Self {
        let device = u64::from(target.device_bytes()) * PARTS / ENTRY_BYTES as u64;
        let buddy = PARTS - device;
        // The fewest pages whose buddy pages fill whole pages of the carve-out.
        let group = PARTS >> buddy.trailing_zeros().min(PARTS.trailing_zeros());
        Self { device, buddy, group }
    }

    /// Carve-out pages for the first `pages` of a group.
    pub(super) fn buddy_pages(self, pages: u64) -> u64 {
        (pages * self.buddy).div_ceil(PARTS)
    }

    /// Where the buddy page of page `number` begins: carve-out pages from the beginning of its group, and sixteenths from the
    /// beginning of that one.
    pub(super) fn buddy_place(self, number: u64) -> (u64, u64) {
        let before = number % self.group * self.buddy;
        (before / PARTS, before % PARTS)
    }
}

/// The page table; it is as long as the highest page that was ever mapped.
#[derive(Clone, Default)]
pub(super) struct PageTable {
    entries: Vec<Option<Pte>>,
}

impl PageTable {
    /// The entry of a page that is mapped.
    pub(super) fn get(&self, page: u64) -> Option<Pte> {
        self.entries.get(page as usize).copied().flatten()
    }

    /// Maps a page.
    pub(super) fn set(&mut self, page: u64, entry: Pte) {
        if page as usize >= self.entries.len() {
            self.entries.resize(page as usize + 1, None);
        }
        self.entries[page as usize] = Some(entry);
    }

    /// Unmaps a page; gives what it was.
    pub(super) fn take(&mut self, page: u64) -> Option<Pte> {
        self.entries.get_mut(page as usize)?.take()
    }

    /// All entries.
    #[cfg(test)]
    pub(super) fn mapped(&self) -> impl Iterator<Item = Pte> {
        self.entries.iter().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_a_group_share_carve_out_pages() {
        let shapes = Target::ALL.map(Shape::of).map(|shape| (shape.device, shape.buddy, shape.group));
        assert_eq!(shapes, [(16, 0, 1), (12, 4, 4), (8, 8, 2), (4, 12, 4), (1, 15, 16)]);
        let whole = Target::ALL.map(Shape::of).map(|shape| shape.buddy_pages(shape.group));
        assert_eq!(whole, [0, 1, 1, 3, 15]);
    }

    #[test]
    fn a_buddy_page_begins_where_the_one_before_ends() {
        for target in Target::ALL {
            let shape = Shape::of(target);
            for page in 0..64 {
                let (pages, parts) = shape.buddy_place(page);
                let group = page / shape.group * shape.buddy_pages(shape.group);
                assert_eq!((group + pages) * PARTS + parts, page * shape.buddy, "page {page} of target {target}");
            }
        }
    }

    #[test]
    fn three_bits_name_every_target() {
        let codes = Target::ALL.map(|target| Pte { target, device: 0, buddy: None }.target_code());
        assert_eq!(codes, [0, 1, 2, 3, 4]);
        assert!(codes.iter().all(|code| *code < 1 << TARGET_BITS));
    }
}
