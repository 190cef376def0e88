//! What can go wrong with a memory: its configuration, an allocation, an access.

use super::Allocation;
use strata_codec::DecodeError;
use strata_core::{Addr, Bytes};

/// A configuration that makes no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The page is no power of two, or too small.
    #[error("a page of {} bytes: write a power of two, at least {} (GPUs have 64 KiB and 2 MiB)", .page.0, .least.0)]
    Page {
        /// The size of pages that the configuration gives.
        page: Bytes,
        /// The smallest whose sixteenth is a sector.
        least: Bytes,
    },
    /// A memory that is larger than any.
    #[error("{what} of {} bytes; the most is {}", .size.0, .most.0)]
    TooLarge {
        /// Device memory or the carve-out, as text.
        what: &'static str,
        /// The size that the configuration gives.
        size: Bytes,
        /// The largest size that the tables can address.
        most: Bytes,
    },
    /// Metadata would leave no page of device memory.
    #[error("device memory of {} bytes has no page left beside {} bytes of metadata; make it larger or the carve-out smaller", .device.0, .metadata.0)]
    NoRoom {
        /// Capacity of device memory.
        device: Bytes,
        /// What the metadata of all entries takes of it.
        metadata: Bytes,
    },
    /// The base register does not name a page.
    #[error("the base of buddy memory, {base}, is no multiple of the page of {} bytes", .page.0)]
    Base {
        /// The base address that the configuration gives.
        base: Addr,
        /// The size of pages, of which it must be a multiple.
        page: Bytes,
    },
}

/// What is asked for and what there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// Bytes the allocation takes.
    pub needed: Bytes,
    /// Bytes that are free, in all.
    pub free: Bytes,
    /// Bytes of the longest piece that is free.
    pub longest: Bytes,
}

/// An allocation that is refused; the memory is as if it had not been asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AllocError {
    /// It asks for no bytes.
    #[error("an allocation of 0 bytes has no address")]
    Empty,
    /// Device memory has no room.
    #[error("out of device memory: {} bytes needed, {} free, in pieces of at most {}; raise the target ratio or free something", .0.needed.0, .0.free.0, .0.longest.0)]
    Device(Shortage),
    /// The carve-out has no room.
    #[error("out of buddy memory: {} bytes needed, {} free, in pieces of at most {}; enlarge the carve-out or lower the target ratio", .0.needed.0, .0.free.0, .0.longest.0)]
    Buddy(Shortage),
    /// There are as many addresses as bytes in both memories, and no run of them is long enough.
    #[error("out of addresses: {} bytes needed, {} free, in pieces of at most {}; device and buddy memory together hold no more", .0.needed.0, .0.free.0, .0.longest.0)]
    Addresses(Shortage),
}

/// An address that cannot be read, written or freed as was asked; nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AccessError {
    /// No allocation holds the address.
    #[error("{address} is in no allocation")]
    Unmapped {
        /// The address that was accessed.
        address: Addr,
    },
    /// Its allocation has been freed.
    #[error("{address} is in {freed}, which has been freed")]
    Freed {
        /// The address that was accessed.
        address: Addr,
        /// The allocation that had it last.
        freed: Allocation,
    },
    /// The access goes on after the allocation.
    #[error("{length} bytes at {address} go past the end of {allocation}")]
    PastTheEnd {
        /// First byte of the access.
        address: Addr,
        /// Bytes of the access.
        length: u64,
        /// The allocation in which the access begins.
        allocation: Allocation,
    },
    /// What is freed is not where an allocation begins.
    #[error("{address} is inside {allocation}; free it where it begins")]
    NotTheStart {
        /// The address that was to be freed.
        address: Addr,
        /// The allocation that holds it.
        allocation: Allocation,
    },
    /// The metadata of an entry has a code that no state has.
    #[error("the metadata of the entry at {address} in {allocation} is {code}, which is no state: it has been damaged")]
    Metadata {
        /// First byte of the entry.
        address: Addr,
        /// The allocation that holds the entry.
        allocation: Allocation,
        /// The four bits of metadata.
        code: u8,
    },
    /// What is stored of an entry is no code.
    #[error("the entry at {address} in {allocation} has been damaged: {source}")]
    Damaged {
        /// First byte of the entry.
        address: Addr,
        /// The allocation that holds the entry.
        allocation: Allocation,
        /// Where the codec gave up, and why.
        source: DecodeError,
    },
}
