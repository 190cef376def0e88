//! Room for pages in both memories: found, mapped, given back.

use super::allocator::Runs;
use super::page_table::{Pte, Shape};
use super::{AllocError, Allocation, BuddyMemory, FIRST_PAGE, Shortage};
use crate::Target;
use std::collections::BTreeMap;
use std::ops::Range;
use strata_codec::ENTRY_BYTES;
use strata_core::{Addr, Bytes};

impl BuddyMemory {
    /// The first byte of a page.
    pub(super) fn address(&self, page: u64) -> Addr {
        Addr((FIRST_PAGE + page) * self.config.page.0)
    }

    /// The page that holds an address, and the entry of the page. The address is in a page.
    pub(super) fn page_and_entry(&self, address: Addr) -> (u64, u64) {
        let page = self.config.page.0;
        (address.0 / page - FIRST_PAGE, address.0 % page / ENTRY_BYTES as u64)
    }

    /// Pages that so many bytes take.
    pub(super) fn pages_of(&self, size: Bytes) -> u64 {
        size.0.div_ceil(self.config.page.0)
    }

    /// Which of these allocations, by their first page, holds a page.
    pub(super) fn holder<'a>(&self, of: &'a BTreeMap<u64, Allocation>, page: u64) -> Option<&'a Allocation> {
        let (first, allocation) = of.range(..=page).next_back()?;
        (page - first < self.pages_of(allocation.size)).then_some(allocation)
    }

    /// A freed allocation that had some of these pages.
    pub(super) fn freed_within(&self, pages: &Range<u64>) -> Option<&Allocation> {
        self.holder(&self.freed, pages.start).or_else(|| self.freed.range(pages.clone()).next().map(|(_, freed)| freed))
    }

    /// Finds room for pages in both memories and makes them zero, or leaves everything as it was.
    pub(super) fn map(&mut self, pages: Range<u64>, target: Target) -> Result<(), AllocError> {
        let shape = Shape::of(target);
        let device = self.take_device(&pages, shape)?;
        let buddy = self.take_buddy(&pages, shape).inspect_err(|_| {
            for &first in &device {
                self.free_device.give(first, shape.device);
            }
        })?;
        for (page, device) in pages.clone().zip(device) {
            let group = ((page - pages.start) / shape.group) as usize;
            let buddy = buddy.get(group).map(|first| first + shape.buddy_place(page).0);
            let entry = Pte { target, device, buddy };
            self.table.set(page, entry);
            if entry.compressed() {
                self.metadata.clear(&mut self.device, page);
            } else {
                self.device.clear(device * self.config.part(), self.config.page.0);
            }
        }
        Ok(())
    }

    /// Device memory for pages, one by one.
    fn take_device(&mut self, pages: &Range<u64>, shape: Shape) -> Result<Vec<u64>, AllocError> {
        let mut taken = Vec::new();
        for _ in pages.clone() {
            let Some(first) = self.free_device.take(shape.device, 1) else {
                for first in taken {
                    self.free_device.give(first, shape.device);
                }
                let needed = (pages.end - pages.start) * shape.device;
                return Err(AllocError::Device(shortage(&self.free_device, needed, self.config.part())));
            };
            taken.push(first);
        }
        Ok(taken)
    }

    /// Buddy memory for pages, group by group.
    fn take_buddy(&mut self, pages: &Range<u64>, shape: Shape) -> Result<Vec<u64>, AllocError> {
        let mut taken = Vec::new();
        for (_, count) in buddy_runs(pages, shape) {
            let Some(first) = self.free_buddy.take(count, 1) else {
                for (first, (_, count)) in taken.into_iter().zip(buddy_runs(pages, shape)) {
                    self.free_buddy.give(first, count);
                }
                let needed = buddy_runs(pages, shape).map(|(_, count)| count).sum();
                return Err(AllocError::Buddy(shortage(&self.free_buddy, needed, self.config.page.0)));
            };
            taken.push(first);
        }
        Ok(taken)
    }

    /// Gives back what [`map`](Self::map) found.
    pub(super) fn unmap(&mut self, pages: &Range<u64>, shape: Shape) {
        for (page, count) in buddy_runs(pages, shape) {
            if let Some(first) = self.table.get(page).and_then(|entry| entry.buddy) {
                self.free_buddy.give(first, count);
            }
        }
        for page in pages.clone() {
            if let Some(entry) = self.table.take(page) {
                self.free_device.give(entry.device, shape.device);
            }
        }
    }
}

/// The groups of an allocation: the first page of each, and its carve-out pages. Pages that are not compressed have none.
fn buddy_runs(pages: &Range<u64>, shape: Shape) -> impl Iterator<Item = (u64, u64)> {
    let end = if shape.buddy == 0 { pages.start } else { pages.end };
    (pages.start..end)
        .step_by(shape.group as usize)
        .map(move |first| (first, shape.buddy_pages(shape.group.min(end - first))))
}

/// What there is, in bytes, where there are `needed` units of `unit` bytes to find.
pub(super) fn shortage(free: &Runs, needed: u64, unit: u64) -> Shortage {
    let bytes = |units: u64| Bytes(units.saturating_mul(unit));
    Shortage { needed: bytes(needed), free: bytes(free.free()), longest: bytes(free.longest()) }
}
