//! The paging seam: where a page is, and what happens if it is not on the device.
//!
//! Not only misses: recency, access counters and in-use bits change on hits, so a mechanism may ask to hear of those too.

use crate::time::Picos;
use strata_core::{Addr, WarpId};

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

/// What a mechanism calls something it asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub u32);

/// Who accesses what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessInfo {
    /// The line's first byte.
    pub address: Addr,
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
}

/// Where a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    /// On the device.
    Here,
    /// Elsewhere, and to be accessed there, over the host link.
    Remote,
    /// On its way: the access waits until [`Action::Resume`].
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
    /// Move bytes over the host link, and wake it when they are there.
    Transfer {
        /// True from the host to the device.
        to_device: bool,
        /// How many.
        bytes: u64,
        /// What it is called.
        token: Token,
    },
    /// Let all accesses go on that wait for a fault.
    Resume(FaultId),
    /// Forget the translations of pages, in every TLB.
    Shootdown(PageRange),
    /// Drop the lines of pages from L1 and L2; what is dirty is written back first.
    DropLines(PageRange),
}

/// What a mechanism asks for, in order.
pub type Actions = Vec<Action>;

/// Decides where pages are. One mechanism per run.
pub trait Paging {
    /// False: [`Paging::touched`] is never called.
    fn wants_touches(&self) -> bool {
        false
    }

    /// An access whose page a TLB knew.
    fn touched(&mut self, _page: PageId, _access: &AccessInfo) {}

    /// An access that no TLB could translate has walked the page table.
    fn walked(&mut self, page: PageId, access: &AccessInfo, now: Picos, out: &mut Actions) -> Walk;

    /// A timer has run out or a transfer has ended.
    fn wake(&mut self, token: Token, now: Picos, out: &mut Actions);
}
