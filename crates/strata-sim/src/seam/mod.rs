//! The seams: where a mechanism meets the machine.
//!
//! A mechanism lives in a crate of its own and implements one or more of these traits; nothing else changes. Every seam is an
//! `Option` of the machine that is tested once where it matters, so that one which nobody uses costs nothing. Mechanisms
//! decide, the machine times: no trait hands out a queue, a port or a clock to be moved.
//!
//! | seam | trait | asked |
//! | --- | --- | --- |
//! | offload | [`Offload`] | when a warp comes to a candidate block |
//! | paging | [`Paging`] | for each translated line request |
//! | place | [`Place`] | once per line request, before L2 |
//! | memory side | [`MemorySide`] | for each L2 fill and write-back, with its data |
//! | victim | [`Victim`] | on each eviction, miss and write of L2 |
//! | cache prefetcher | [`CachePrefetcher`] | for each access to L1 or L2 |
//! | replacement | [`Replacement`] | on each hit, fill and eviction of L1 or L2 |
//! | host | [`HostListener`] | whatever the host does |
//!
//! What the host does (allocations, copies, launches) reaches paging mechanisms, memory sides and listeners as the same
//! [`HostEvent`](strata_core::HostEvent)s, in program order.
//!
//! Every mechanism is [`Send`]. Memory sides and victims are made one per partition and per slice, and share nothing: what the
//! victim buffer of a slice must know of a line, the machine asks of the line's partition ([`MemorySide::note`]) and tells it
//! ([`Victim::supplied`]).

mod cache_prefetcher;
mod host_listener;
mod memory_side;
mod offload;
mod paging;
mod place;
mod replacement;
mod stored_pages;
mod victim;

pub use cache_prefetcher::{CacheAccess, CachePrefetcher, Outcome, Proposal};
pub use host_listener::HostListener;
pub use memory_side::{
    Below, Counted, Dir, Line, LineKind, LineRange, LineRequest, LinkId, LocalAddr, LocalLine, MemorySide, Move, Parts,
    Plan, Reserved, SideCount, Step, StepSet, TableId, TableSpec, TrafficId, UnitId, Wanted,
};
pub use offload::{Arrival, Candidate, Follows, NextBlock, Offload, StackId, StackUse, Terms};
pub use paging::{AccessInfo, Action, Actions, FaultId, PageId, PageRange, Paging, Token, Walk};
pub use place::{Place, Placed};
pub use replacement::{Replacement, Ways};
pub use stored_pages::StoredPages;
pub use victim::Victim;
