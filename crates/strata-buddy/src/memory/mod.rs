//! A memory that works: bytes written to it are in device memory and buddy memory as Buddy Compression puts them there.
//!
//! It has everything the mechanism has but time: the carve-out and its base register, page tables, metadata, and codes. A
//! machine that only times accesses needs none of it; this is what shows that the mechanism loses no byte.
//!
//! Invariants:
//!
//! * What is read is what was written, or zero where nothing was; an error changes nothing.
//! * An entry's places are decided when it is allocated. Writing never moves anything, whatever becomes of its size: what a
//!   larger code left in buddy memory stays there, unread, until it is overwritten.
//! * No piece of either memory belongs to two pages; a failed allocation and a freed one leave no piece behind.

mod allocator;
mod config;
mod entries;
mod error;
mod metadata;
mod page_table;
mod pages;
mod store;
#[cfg(test)]
mod tests;

pub use config::MemoryConfig;
pub use error::{AccessError, AllocError, ConfigError, Shortage};
pub use page_table::Pte;

use crate::{EntryState, Target};
use allocator::Runs;
use config::PARTS;
use entries::{Piece, pieces};
use metadata::Metadata;
use page_table::{PageTable, Shape};
use pages::shortage;
use std::collections::BTreeMap;
use std::fmt;
use store::Store;
use strata_codec::ENTRY_BYTES;
use strata_core::{Addr, Bytes};

/// The page that has the first address: null is in none. A multiple of every group.
const FIRST_PAGE: u64 = PARTS;

/// What was allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// How many were made before it.
    pub id: u64,
    /// Address of its first byte, where a page begins.
    pub start: Addr,
    /// Bytes that were asked for.
    pub size: Bytes,
    /// Target ratio that its annotation gives.
    pub target: Target,
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allocation {} ({} bytes at {}, target {})", self.id, self.size.0, self.start, self.target)
    }
}

/// Where the bytes of an entry are; each place is there whether the entry uses it or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its first bytes, in device memory.
    pub device: Addr,
    /// Its other bytes, in buddy memory; none if the page is not compressed.
    pub buddy: Option<Addr>,
}

/// Device memory, buddy memory and what maps addresses to them.
#[derive(Clone)]
pub struct BuddyMemory {
    config: MemoryConfig,
    device: Store,
    /// By the distance from its base.
    buddy: Store,
    metadata: Metadata,
    table: PageTable,
    /// Free pages of the address space.
    free_pages: Runs,
    /// Free sixteenths of pages of device memory.
    free_device: Runs,
    /// Free pages of the carve-out.
    free_buddy: Runs,
    /// By their first page.
    allocations: BTreeMap<u64, Allocation>,
    /// What was freed and not allocated again, by its first page.
    freed: BTreeMap<u64, Allocation>,
    next_id: u64,
}

impl BuddyMemory {
    /// A memory with nothing in it.
    pub fn new(config: MemoryConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            device: Store::default(),
            buddy: Store::default(),
            metadata: Metadata { base: config.device.0 - config.metadata().0, page: config.page_metadata() },
            table: PageTable::default(),
            free_pages: Runs::new(config.pages()),
            free_device: Runs::new(config.device_parts()),
            free_buddy: Runs::new(config.buddy_pages()),
            allocations: BTreeMap::new(),
            freed: BTreeMap::new(),
            next_id: 0,
            config,
        })
    }

    /// How large everything is.
    pub fn config(&self) -> &MemoryConfig {
        &self.config
    }

    /// Allocates `size` bytes, all zero, of which device memory holds so much as `target` says.
    pub fn alloc(&mut self, size: Bytes, target: Target) -> Result<Addr, AllocError> {
        if size.0 == 0 {
            return Err(AllocError::Empty);
        }
        let count = self.pages_of(size);
        let page = self.config.page.0;
        let first = self
            .free_pages
            .take(count, Shape::of(target).group)
            .ok_or_else(|| AllocError::Addresses(shortage(&self.free_pages, count, page)))?;
        let pages = first..first + count;
        if let Err(error) = self.map(pages.clone(), target) {
            self.free_pages.give(first, count);
            return Err(error);
        }
        while let Some(&freed) = self.freed_within(&pages) {
            self.freed.remove(&self.page_and_entry(freed.start).0);
        }
        let start = self.address(first);
        self.allocations.insert(first, Allocation { id: self.next_id, start, size, target });
        self.next_id += 1;
        Ok(start)
    }

    /// Frees what begins at `address`.
    pub fn free(&mut self, address: Addr) -> Result<(), AccessError> {
        let allocation = *self.allocation(address)?;
        if allocation.start != address {
            return Err(AccessError::NotTheStart { address, allocation });
        }
        let (first, _) = self.page_and_entry(address);
        let pages = first..first + self.pages_of(allocation.size);
        self.unmap(&pages, Shape::of(allocation.target));
        self.free_pages.give(first, pages.end - first);
        self.allocations.remove(&first);
        self.freed.insert(first, allocation);
        Ok(())
    }

    /// Copies what begins at `address` to `out`.
    pub fn read(&self, address: Addr, out: &mut [u8]) -> Result<(), AccessError> {
        let allocation = self.range(address, out.len() as u64)?;
        for piece in pieces(address, out.len()) {
            let bytes = self.read_entry(piece.entry, allocation)?;
            out[piece.of_range].copy_from_slice(&bytes[piece.within]);
        }
        Ok(())
    }

    /// Overwrites what begins at `address` with `data`.
    pub fn write(&mut self, address: Addr, data: &[u8]) -> Result<(), AccessError> {
        let allocation = *self.range(address, data.len() as u64)?;
        // Entries that are written in part, the first and the last, must be sound before anything changes.
        for piece in pieces(address, data.len()).filter(Piece::is_partial) {
            self.read_entry(piece.entry, &allocation)?;
        }
        for piece in pieces(address, data.len()) {
            let held = piece.is_partial().then(|| self.read_entry(piece.entry, &allocation)).transpose()?;
            let mut bytes = held.unwrap_or([0; ENTRY_BYTES]);
            bytes[piece.within].copy_from_slice(&data[piece.of_range]);
            self.write_entry(piece.entry, &bytes)?;
        }
        Ok(())
    }

    /// What metadata says of the entry that holds `address`. An allocation that is not compressed has no metadata: its entries
    /// are whole.
    pub fn state(&self, address: Addr) -> Result<EntryState, AccessError> {
        let allocation = self.allocation(address)?;
        self.entry_state(address, allocation)
    }

    /// The page-table entry of the page that holds `address`.
    pub fn pte(&self, address: Addr) -> Result<Pte, AccessError> {
        self.allocation(address)?;
        let (page, _) = self.page_and_entry(address);
        self.table.get(page).ok_or(AccessError::Unmapped { address })
    }

    /// Where the entry that holds `address` is.
    pub fn place(&self, address: Addr) -> Result<Place, AccessError> {
        let entry = self.pte(address)?;
        Ok(self.entry_place(entry, address))
    }

    /// The allocation that holds `address`.
    pub fn allocation(&self, address: Addr) -> Result<&Allocation, AccessError> {
        let number = (address.0 / self.config.page.0).checked_sub(FIRST_PAGE);
        let number = number.ok_or(AccessError::Unmapped { address })?;
        self.holder(&self.allocations, number).ok_or_else(|| match self.holder(&self.freed, number) {
            Some(&freed) => AccessError::Freed { address, freed },
            None => AccessError::Unmapped { address },
        })
    }

    /// Device memory that allocations take, without metadata.
    pub fn device_used(&self) -> Bytes {
        Bytes(self.free_device.used() * self.config.part())
    }

    /// Device memory that allocations can take in all.
    pub fn device_capacity(&self) -> Bytes {
        Bytes(self.config.device_parts() * self.config.part())
    }

    /// Buddy memory that allocations take.
    pub fn buddy_used(&self) -> Bytes {
        Bytes(self.free_buddy.used() * self.config.page.0)
    }
}
