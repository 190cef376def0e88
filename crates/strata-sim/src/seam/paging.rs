//! The paging seam: where a page is, and what happens if it is not on the device.
//!
//! Not only misses: recency, access counters and in-use bits change on hits, so a mechanism may ask to hear of those too.
//! A mechanism is in charge of one range of addresses; everything outside is on the device and costs nothing.

use super::memory_side::SideCount;
use crate::time::Picos;
use strata_core::{Addr, HostEvent, WarpId};

/// A virtual page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId(pub u64);

/// Consecutive pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRange {
    /// The first.
    pub first: PageId,
    /// How many.
    pub pages: u64,
}

/// What a mechanism calls an access that waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FaultId(pub u32);

/// What a mechanism calls something it asked for; below 2^28.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub u32);

/// Who accesses what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessInfo {
    /// The line's first byte.
    pub address: Addr,
    /// Sectors of the line that lanes touch, whatever the caches fetch.
    pub sectors: u32,
    /// True for stores and atomics.
    pub write: bool,
    /// Program counter of the instruction.
    pub pc: u32,
    /// The SM.
    pub sm: u32,
    /// The resident warp.
    pub warp: WarpId,
    /// The CTA it belongs to.
    pub cta: u64,
    /// Number of the launch.
    pub kernel: u32,
    /// Machine instructions issued since the machine was made, times active lanes.
    pub instructions: u64,
}

/// Where a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    /// On the device.
    Here,
    /// Elsewhere, and to be accessed there, over the host link.
    Remote,
    /// On its way: the access waits until [`Action::Resume`] or [`Action::Retry`].
    Wait(FaultId),
}

/// Something a mechanism asks of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Wake it at a time.
    Timer {
        /// When.
        at: Picos,
        /// What it is called.
        token: Token,
    },
    /// Let all accesses go on that wait for a fault: their page is on the device. An SM replays one in a cycle.
    Resume(FaultId),
    /// Let all accesses that wait for a fault walk again.
    Retry(FaultId),
    /// Pages have come: device memory holds what the host held.
    Arrive(PageRange),
    /// From now on, warps that have done all they do leave, or stay: a CTA that stays keeps its place from the next one.
    WarpsMayLeave(bool),
    /// Pages leave: every TLB forgets them, L1 and L2 drop their lines after writing back what is dirty.
    Leave {
        /// Which.
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

    /// An access whose page a TLB knew.
    fn touched(&mut self, _page: PageId, _access: &AccessInfo, _now: Picos) {}

    /// A request to a page on the device leaves its SM.
    fn sent(&mut self, _page: PageId) {}

    /// Such a request has ended.
    fn released(&mut self, _page: PageId, _now: Picos, _out: &mut Actions) {}

    /// An access that no TLB could translate has walked the page table.
    fn walked(&mut self, page: PageId, access: &AccessInfo, now: Picos, out: &mut Actions) -> Walk;

    /// A timer has run out.
    fn wake(&mut self, token: Token, now: Picos, out: &mut Actions);

    /// The host does something. Nothing of the device is under way but what the mechanism itself asked for. The host waits for
    /// copies, memsets and synchronisation: such an event has ended when all that the mechanism asks for then has.
    fn host(&mut self, _event: &HostEvent, _now: Picos, _out: &mut Actions) {}

    /// What it has counted.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
