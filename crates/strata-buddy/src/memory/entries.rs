//! One entry: where it is, and its way from bytes to code and back.

use super::page_table::{Pte, Shape};
use super::{AccessError, Allocation, BuddyMemory, Place};
use crate::{EntryState, Target};
use std::ops::Range;
use strata_codec::{Codec, ENTRY_BYTES, Entry, Form, Scheme};
use strata_core::Addr;

/// What one entry has of a range of addresses.
pub(super) struct Piece {
    /// Where the entry begins.
    pub(super) entry: Addr,
    /// Bytes of the entry.
    pub(super) within: Range<usize>,
    /// Bytes of the range.
    pub(super) of_range: Range<usize>,
}

impl Piece {
    pub(super) fn is_partial(&self) -> bool {
        self.within.len() < ENTRY_BYTES
    }
}

/// The range of `length` bytes that begins at `address`, entry by entry.
pub(super) fn pieces(address: Addr, length: usize) -> impl Iterator<Item = Piece> {
    let size = ENTRY_BYTES as u64;
    let end = address.0 + length as u64;
    (address.0 / size..end.div_ceil(size)).map(move |number| {
        let entry = number * size;
        let (from, to) = (address.0.max(entry), end.min(entry + size));
        let relative = |base: u64| (from - base) as usize..(to - base) as usize;
        Piece { entry: Addr(entry), within: relative(entry), of_range: relative(address.0) }
    })
}

impl BuddyMemory {
    /// The allocation of `length` bytes that begin at `address`.
    pub(super) fn range(&self, address: Addr, length: u64) -> Result<&Allocation, AccessError> {
        let allocation = self.allocation(address)?;
        let offset = address.0 - allocation.start.0;
        if offset > allocation.size.0 || length > allocation.size.0 - offset {
            return Err(AccessError::PastTheEnd { address, length, allocation: *allocation });
        }
        Ok(allocation)
    }

    pub(super) fn entry_place(&self, pte: Pte, address: Addr) -> Place {
        let (page, entry) = self.page_and_entry(address);
        let in_device = u64::from(pte.target.device_bytes());
        let device = Addr(pte.device * self.config.part() + entry * in_device);
        let buddy = pte.buddy.map(|carve_out_page| {
            let (_, parts) = Shape::of(pte.target).buddy_place(page);
            let offset = carve_out_page * self.config.page.0 + parts * self.config.part();
            self.config.buddy_base.offset(offset + entry * (ENTRY_BYTES as u64 - in_device))
        });
        Place { device, buddy }
    }

    pub(super) fn entry_state(&self, address: Addr, allocation: &Allocation) -> Result<EntryState, AccessError> {
        if allocation.target == Target::X1 {
            return Ok(EntryState::B128);
        }
        let (page, entry) = self.page_and_entry(address);
        let code = self.metadata.code(&self.device, page, entry);
        EntryState::from_code(code).ok_or(AccessError::Metadata { address, allocation: *allocation, code })
    }

    /// The entry that begins at `address`.
    pub(super) fn read_entry(&self, address: Addr, allocation: &Allocation) -> Result<Entry, AccessError> {
        let state = self.entry_state(address, allocation)?;
        let pte = self.pte(address)?;
        let place = self.entry_place(pte, address);
        let mut stored = [0; ENTRY_BYTES];
        let stored = &mut stored[..state.bytes() as usize];
        let (first, others) = stored.split_at_mut(in_device(state, pte));
        self.device.read(place.device.0, first);
        if let Some(buddy) = place.buddy {
            self.buddy.read(buddy.0 - self.config.buddy_base.0, others);
        }
        let form = match state {
            EntryState::Zero => Form::Zero,
            EntryState::B128 => Form::Raw,
            _ => Form::Coded(Scheme::Bpc),
        };
        form.decode(stored).map_err(|source| AccessError::Damaged { address, allocation: *allocation, source })
    }

    /// Overwrites the entry that begins at `address`: as many bytes as its new state has, wherever those have their place.
    pub(super) fn write_entry(&mut self, address: Addr, entry: &Entry) -> Result<(), AccessError> {
        let pte = self.pte(address)?;
        let place = self.entry_place(pte, address);
        let mut stored = *entry;
        let mut state = EntryState::B128;
        if pte.compressed() {
            let code = Codec::Bpc.encode(entry);
            state = EntryState::of(code.size());
            // A code of more than three sectors saves none: the entry is stored as it is.
            if state != EntryState::B128 {
                stored.fill(0);
                stored[..code.bytes().len()].copy_from_slice(code.bytes());
            }
            let (page, number) = self.page_and_entry(address);
            self.metadata.set_code(&mut self.device, page, number, state.code());
        }
        let (first, others) = stored[..state.bytes() as usize].split_at(in_device(state, pte));
        self.device.write(place.device.0, first);
        if let Some(buddy) = place.buddy {
            self.buddy.write(buddy.0 - self.config.buddy_base.0, others);
        }
        Ok(())
    }
}

/// Bytes of an entry in this state that are in device memory.
fn in_device(state: EntryState, pte: Pte) -> usize {
    state.bytes().min(pte.target.device_bytes()) as usize
}
