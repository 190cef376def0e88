//! The paging seam: where a page is, and what happens if it is not on the device.
//!
//! Not only misses: recency, access counters and in-use bits change on hits, so a mechanism may ask to hear of those too.
//! A mechanism is in charge of one range of addresses; everything outside is on the device and costs nothing.

use super::memory_side::SideCount;
use crate::time::Picos;
use strata_core::{Addr, Bytes, HostEvent, WarpId};

/// The number of a virtual page: its address divided by the page size (`tlb.page`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId(pub u64);

/// Consecutive pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRange {
    /// The lowest page.
    pub first: PageId,
    /// Number of pages.
    pub pages: u64,
}

/// A far fault, as the mechanism numbers it; several accesses may wait for one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FaultId(pub u32);

/// A timer, as the mechanism numbers it; below 2^28.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub u32);

/// A line access, as the GMMU sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessInfo {
    /// Address of the line's first byte, a multiple of 128.
    pub address: Addr,
    /// Sectors of the line that lanes touch, whatever the caches fetch.
    pub sectors: u32,
    /// True for stores and atomics.
    pub write: bool,
    /// Program counter of the instruction.
    pub pc: u32,
    /// The SM that issued it.
    pub sm: u32,
    /// The warp, by its slot among the resident ones.
    pub warp: WarpId,
    /// The warp's CTA, by its number in the grid.
    pub cta: u64,
    /// Number of the launch, from 1.
    pub kernel: u32,
    /// Machine instructions issued since the machine was made, times active lanes.
    pub instructions: u64,
}

/// The result of a page walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    /// Resident on the device: the TLBs get the translation, the access goes on.
    Here,
    /// Resident at the host, and accessed there without migration, over the host link.
    Remote,
    /// A far fault: the access waits until [`Action::Resume`] or [`Action::Retry`].
    Wait(FaultId),
}

/// Something a mechanism asks of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Call [`Paging::wake`] at a time.
    Timer {
        /// The time, not before now.
        at: Picos,
        /// Given back to [`Paging::wake`].
        token: Token,
    },
    /// The same for a migration over the host link that would end at a time if the link carried nothing else. Where memory sides
    /// use that link, both share it, and the mechanism is woken as much later as their bytes took.
    Carry {
        /// The way it goes.
        towards_device: bool,
        /// The time, not before now.
        at: Picos,
        /// Given back to [`Paging::wake`]; of one migration in each direction at a time.
        token: Token,
    },
    /// Replay all accesses that wait for a fault: their page is on the device. An SM replays one in a cycle.
    Resume(FaultId),
    /// Walk the page table again for all accesses that wait for a fault.
    Retry(FaultId),
    /// Pages have been migrated to the device, which holds what the host held.
    Arrive(PageRange),
    /// From now on warps that have exited retire, or keep their slots, so that no further CTA starts on them.
    WarpsMayLeave(bool),
    /// Pages are evicted: a TLB shootdown; L1 and L2 drop their lines after writing back dirty sectors.
    Leave {
        /// The pages that are evicted.
        pages: PageRange,
        /// Their bytes go to the host; otherwise the host has them already.
        copied: bool,
    },
}

/// What a mechanism asks for, in order.
pub type Actions = Vec<Action>;

/// Decides where pages are. One mechanism per run.
pub trait Paging: Send {
    /// True: [`Paging::touched`], [`Paging::sent`] and [`Paging::released`] are called. Asked once.
    fn wants_touches(&self) -> bool {
        false
    }

    /// A TLB hit.
    fn touched(&mut self, _page: PageId, _access: &AccessInfo, _now: Picos) {}

    /// A request to a resident page leaves its SM: until it is released, the page is in use.
    fn sent(&mut self, _page: PageId) {}

    /// Such a request has been replied to, or its store is done.
    fn released(&mut self, _page: PageId, _now: Picos, _out: &mut Actions) {}

    /// A TLB miss has walked the page table: where the page is.
    fn walked(&mut self, page: PageId, access: &AccessInfo, now: Picos, out: &mut Actions) -> Walk;

    /// A timer of [`Action::Timer`] has expired.
    fn wake(&mut self, token: Token, now: Picos, out: &mut Actions);

    /// The host does something. Nothing of the device is under way but what the mechanism itself asked for. The host waits for
    /// copies, memsets and synchronisation: such an event has ended when all that the mechanism asks for then has.
    fn host(&mut self, _event: &HostEvent, _now: Picos, _out: &mut Actions) {}

    /// Memory sides keep so many bytes of device memory, at most 128, for each line of a new allocation, of which it has heard
    /// before: so much a page of it takes on the device.
    fn reserved(&mut self, _start: Addr, _size: Bytes, _per_line: u32) {}

    /// Its own counters.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
