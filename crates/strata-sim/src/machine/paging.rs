//! The paging mechanism: walks that it answers, accesses that it makes wait, and what it asks of the machine.
//!
//! The mechanism has charge of one range of lines. An access to it either finds its translation in a TLB or walks, and a
//! walk ends here.

use super::plan::PageMove;
use super::sm_memory::LineOp;
use super::{Event, Machine};
use crate::link::Direction;
use crate::seam::{AccessInfo, Action, Actions, FaultId, PageId, PageRange, Paging, SideCount, Token, Walk};
use crate::slab::Slab;
use crate::time::Picos;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use strata_core::{Addr, Bytes, HostEvent, LineAddr, SECTOR_BYTES};

/// The paging mechanism and the accesses that it makes wait.
pub(super) struct Pager {
    mechanism: Box<dyn Paging>,
    /// The lines that the mechanism manages.
    lines: Range<u64>,
    wants_touches: bool,
    /// Accesses that missed in all TLBs and walk the page table.
    pub(super) walking: Slab<LineOp>,
    /// Accesses that wait for a far fault.
    waiting: FxHashMap<FaultId, Vec<LineOp>>,
    /// Warps that have exited, while the mechanism does not let them retire.
    staying: Option<Vec<u32>>,
    /// Pages on the device; only if memory sides are told of them.
    here: FxHashSet<PageId>,
    /// Migrations on the host link, towards the GPU and away from it, that share it with memory sides.
    carried: [Option<Carried>; 2],
    /// Core cycles by which such migrations came later.
    delayed: u64,
    actions: Actions,
}

/// A migration on the host link.
#[derive(Clone, Copy)]
struct Carried {
    token: Token,
    /// Bytes that the link had carried for others.
    before: u64,
}

impl Pager {
    /// A mechanism in charge of where pages of `memory` are.
    pub(super) fn new(mechanism: Box<dyn Paging>, memory: &Range<Addr>) -> Self {
        Self {
            wants_touches: mechanism.wants_touches(),
            mechanism,
            lines: memory.start.line().0..memory.end.line().0,
            walking: Slab::default(),
            waiting: FxHashMap::default(),
            staying: None,
            here: FxHashSet::default(),
            carried: [None; 2],
            delayed: 0,
            actions: Actions::new(),
        }
    }

    /// The lines that it has charge of.
    pub(super) fn lines(&self) -> Range<u64> {
        self.lines.clone()
    }

    /// Pages have come or gone.
    pub(super) fn moved(&mut self, range: PageRange, came: bool) {
        for page in (range.first.0..range.first.0 + range.pages).map(PageId) {
            if came {
                self.here.insert(page);
            } else {
                self.here.remove(&page);
            }
        }
    }
}

impl Machine {
    /// True if a mechanism has charge of a line.
    #[inline]
    pub(super) fn is_paged(&self, line: LineAddr) -> bool {
        self.pager.as_ref().is_some_and(|pager| pager.lines.contains(&line.0))
    }

    /// True for a line whose page is at the host, if memory sides are told of pages.
    pub(super) fn is_away(&self, line: LineAddr) -> bool {
        match (&self.pager, &self.tlbs) {
            (Some(pager), Some(tlbs)) => pager.lines.contains(&line.0) && !pager.here.contains(&tlbs.page_of(line)),
            _ => false,
        }
    }

    /// Tells the paging mechanism what memory sides keep of device memory for a new allocation.
    pub(super) fn tell_reserved(&mut self, start: Addr, size: Bytes) {
        if let (Some(pager), Some(sides)) = (&mut self.pager, &self.sides) {
            pager.mechanism.reserved(start, size, sides.reserved(start));
        }
    }

    fn access_info(&self, op: &LineOp) -> AccessInfo {
        AccessInfo {
            address: op.access.line.addr(),
            sectors: op.access.asked.count(),
            write: op.is_write(),
            pc: op.pc,
            sm: op.sm,
            warp: op.warp,
            cta: op.cta,
            kernel: self.launched,
            instructions: self.stats.thread_instructions,
        }
    }

    /// A TLB hit of a managed page.
    #[inline]
    pub(super) fn page_touched(&mut self, page: PageId, op: &LineOp) {
        let (access, now) = (self.access_info(op), self.queue.now());
        if let Some(pager) = &mut self.pager
            && pager.wants_touches
        {
            pager.mechanism.touched(page, &access, now);
        }
    }

    /// A request is sent: its page is in use.
    #[inline]
    pub(super) fn page_sent(&mut self, line: LineAddr) {
        if let Some(pager) = &mut self.pager
            && pager.wants_touches
            && pager.lines.contains(&line.0)
            && let Some(tlbs) = &self.tlbs
        {
            pager.mechanism.sent(tlbs.page_of(line));
        }
    }

    /// A request is done with its page.
    #[inline]
    pub(super) fn page_released(&mut self, line: LineAddr) {
        if let Some(pager) = &mut self.pager
            && pager.wants_touches
            && pager.lines.contains(&line.0)
            && let Some(tlbs) = &self.tlbs
        {
            let now = self.queue.now();
            pager.mechanism.released(tlbs.page_of(line), now, &mut pager.actions);
            if !pager.actions.is_empty() {
                self.apply_actions(now);
            }
        }
    }

    /// A page walk ends: the mechanism says where the page is.
    pub(super) fn finish_walk(&mut self, walk: u32, t: Picos) {
        let Some(pager) = &self.pager else { return };
        let op = pager.walking[walk];
        self.probe_replay(&op, self.core_cycle(t));
        let access = self.access_info(&op);
        let (Some(pager), Some(tlbs)) = (&mut self.pager, &mut self.tlbs) else { return };
        pager.walking.remove(walk);
        let page = tlbs.page_of(op.access.line);
        match pager.mechanism.walked(page, &access, t, &mut pager.actions) {
            Walk::Here => {
                tlbs.insert(op.sm, page);
                let cycle = self.core_cycle(t);
                self.issue_translated(op, cycle);
            }
            Walk::Remote => {
                let bytes = Bytes(u64::from(op.access.asked.count()) * SECTOR_BYTES);
                let direction = if op.is_write() { Direction::Out } else { Direction::In };
                let arrival = self.host_link.send(direction, t, bytes);
                self.access_remote(op, arrival);
                if op.is_write() && self.sides.is_some() {
                    self.move_line(PageMove::WrittenAway(op.access.asked), op.access.line);
                }
                if op.is_write() {
                    self.acknowledge_store(op.warp, self.core_cycle(t));
                }
            }
            Walk::Wait(fault) => pager.waiting.entry(fault).or_default().push(op),
        }
        self.apply_actions(t);
    }

    /// A timer of the mechanism expires.
    pub(super) fn wake_pager(&mut self, token: u32, t: Picos) {
        if self.delays_migration(Token(token), t) {
            return;
        }
        if let Some(pager) = &mut self.pager {
            pager.mechanism.wake(Token(token), t, &mut pager.actions);
        }
        self.apply_actions(t);
    }

    /// Tells the mechanism what the host does.
    pub(super) fn notify_pager(&mut self, event: &HostEvent) {
        let now = self.now;
        if let Some(pager) = &mut self.pager {
            pager.mechanism.host(event, now, &mut pager.actions);
        }
        self.apply_actions(now);
    }

    /// Applies the actions that the mechanism asked for, in order.
    fn apply_actions(&mut self, t: Picos) {
        let Some(pager) = &mut self.pager else { return };
        let mut actions = std::mem::take(&mut pager.actions);
        for action in actions.drain(..) {
            match action {
                Action::Timer { at, token } => self.queue.push(at, Event::new(Event::WAKE, token.0)),
                Action::Resume(fault) => {
                    for op in self.take_faulted(fault) {
                        self.replay(op, t);
                    }
                }
                Action::Retry(fault) => {
                    let walked = self.core_time(self.core_cycle(t) + u64::from(self.config.tlb.walk_cycles));
                    for op in self.take_faulted(fault) {
                        let Some(pager) = &mut self.pager else { return };
                        let walk = pager.walking.add(op);
                        self.queue.push(walked, Event::new(Event::WALK, walk));
                    }
                }
                Action::Carry { towards_device, at, token } => {
                    self.carry(towards_device, token);
                    self.queue.push(at, Event::new(Event::WAKE, token.0));
                }
                Action::Arrive(pages) => {
                    self.probe_page_in(pages);
                    self.move_pages(PageMove::Came, pages);
                }
                Action::WarpsMayLeave(may) => self.allow_exits(may, t),
                Action::Leave { pages, copied } => {
                    if let Some(tlbs) = &mut self.tlbs {
                        tlbs.invalidate(pages);
                    }
                    self.evict_pages(pages, t);
                    self.probe_page_out(pages, copied);
                    self.move_pages(PageMove::Left, pages);
                }
            }
        }
        if let Some(pager) = &mut self.pager
            && pager.actions.is_empty()
        {
            pager.actions = actions;
        }
    }

    /// A migration begins on the host link, which memory sides may use, too.
    fn carry(&mut self, towards_device: bool, token: Token) {
        let direction = if towards_device { Direction::In } else { Direction::Out };
        if let (Some(pager), Some(_)) = (&mut self.pager, &self.sides) {
            pager.carried[direction as usize] = Some(Carried { token, before: self.host_link.carried(direction).0 });
            self.host_link.share(direction, true);
        }
    }

    /// A migration would end now: it ends later by what the link has carried for memory sides meanwhile, since packets of both take
    /// turns on the wire. True if it goes on.
    fn delays_migration(&mut self, token: Token, t: Picos) -> bool {
        let Some(pager) = &mut self.pager else { return false };
        for direction in [Direction::In, Direction::Out] {
            let Some(carried) = pager.carried[direction as usize].filter(|carried| carried.token == token) else {
                continue;
            };
            let now = self.host_link.carried(direction).0;
            if now == carried.before {
                pager.carried[direction as usize] = None;
                self.host_link.share(direction, false);
                return false;
            }
            pager.carried[direction as usize] = Some(Carried { before: now, ..carried });
            let more = self.host_link.time_of(now - carried.before);
            pager.delayed += self.config.clock.core.next(more).0;
            self.queue.push(t + more, Event::new(Event::WAKE, token.0));
            return true;
        }
        false
    }

    fn take_faulted(&mut self, fault: FaultId) -> Vec<LineOp> {
        self.pager.as_mut().and_then(|pager| pager.waiting.remove(&fault)).unwrap_or_default()
    }

    fn allow_exits(&mut self, may: bool, t: Picos) {
        let Some(pager) = &mut self.pager else { return };
        let stayed = std::mem::replace(&mut pager.staying, (!may).then(Vec::new)).unwrap_or_default();
        let cycle = self.core_cycle(t);
        for warp in stayed {
            self.resume_exit(warp, cycle);
        }
    }

    /// True if the mechanism keeps a warp that has exited from retiring.
    pub(super) fn pager_defers_exit(&mut self, warp: u32) -> bool {
        match self.pager.as_mut().and_then(|pager| pager.staying.as_mut()) {
            Some(staying) => {
                staying.push(warp);
                true
            }
            None => false,
        }
    }

    /// Replays an access whose page has come, in the next free cycle of its SM's load/store unit.
    fn replay(&mut self, op: LineOp, t: Picos) {
        let cycle = self.core_cycle(t);
        let at = self.sms[op.sm as usize].memory.lsu.replay(cycle);
        self.probe_replay(&op, at);
        if let Some(tlbs) = &mut self.tlbs {
            let page = tlbs.page_of(op.access.line);
            tlbs.insert(op.sm, page);
        }
        self.issue_translated(op, at);
    }

    /// Issues an access that had to walk, now translated, at core cycle `at`.
    fn issue_translated(&mut self, op: LineOp, at: u64) {
        self.issue_access(op, at);
        if op.is_write() {
            self.acknowledge_store(op.warp, at);
        }
    }

    /// Evicts the lines of pages from all caches; dirty sectors are written back.
    fn evict_pages(&mut self, range: PageRange, t: Picos) {
        let Some(lines) = self.tlbs.as_ref().map(|tlbs| tlbs.lines_of(range)) else { return };
        for sm in &mut self.sms {
            sm.memory.l1.invalidate_range(&lines);
        }
        let now = self.config.clock.l2.next(t).0;
        for line in lines.map(LineAddr) {
            let home = self.interleave.home(line);
            if let Some(left) = self.slices[usize::from(home.slice)].evict_line(home.set, line) {
                self.write_back(line, left.sectors, left.valid, now);
            }
        }
    }

    /// What the mechanism has counted.
    pub(super) fn paging_counts(&self) -> Vec<SideCount> {
        self.pager.as_ref().map(|pager| pager.mechanism.counts()).unwrap_or_default()
    }

    /// True if an access is on a walk or waits for a far fault.
    #[inline]
    pub(super) fn has_faulted_accesses(&self) -> bool {
        self.pager.as_ref().is_some_and(|pager| pager.walking.len() > 0 || !pager.waiting.is_empty())
    }

    /// Accesses on walks and behind far faults: for the message of a hang.
    pub(super) fn faulted_accesses(&self) -> usize {
        self.pager.as_ref().map_or(0, |pager| pager.waiting.values().map(Vec::len).sum::<usize>() + pager.walking.len())
    }
}
