//! Address translation: a TLB per SM, a shared one, walks, and the paging mechanism if there is one.
//!
//! Without a mechanism, translation only costs time, and nothing at all unless the configuration turns it on. With one, an
//! access that no TLB can translate walks the page table, hears where its page is, and may have to wait for it.

use super::sm_memory::LineOp;
use super::{Event, Machine};
use crate::cache::{SectorMask, Tags};
use crate::config::GpuConfig;
use crate::link::Direction;
use crate::seam::{AccessInfo, Action, Actions, FaultId, PageId, PageRange, Paging, Token, Walk};
use crate::slab::Slab;
use crate::time::Picos;
use rustc_hash::FxHashMap;
use strata_core::{Bytes, LINE_BYTES, LineAddr, SECTOR_BYTES};

/// Ways of a set; a choice: enough that a fully associative TLB would hardly miss less.
const WAYS: u32 = 8;

/// A TLB: the pages whose translation is known.
struct Tlb(Tags);

impl Tlb {
    fn new(entries: u32) -> Self {
        let ways = WAYS.min(entries.max(1));
        Self(Tags::new((entries / ways).max(1), ways))
    }

    fn set_of(&self, page: PageId) -> u32 {
        (page.0 ^ page.0 >> 7) as u32 % self.0.sets()
    }

    fn knows(&mut self, page: PageId) -> bool {
        self.0.find(self.set_of(page), LineAddr(page.0)).is_some()
    }

    fn learn(&mut self, page: PageId) {
        if !self.knows(page) {
            self.0.insert(self.set_of(page), LineAddr(page.0));
        }
    }

    fn forget(&mut self, page: PageId) {
        self.0.remove(self.set_of(page), LineAddr(page.0));
    }
}

/// The TLBs of a machine.
pub(super) struct Tlbs {
    of_sm: Vec<Tlb>,
    shared: Tlb,
    lines_per_page: u64,
}

impl Tlbs {
    fn new(config: &GpuConfig) -> Self {
        Self {
            of_sm: (0..config.sm.count).map(|_| Tlb::new(config.tlb.l1_entries)).collect(),
            shared: Tlb::new(config.tlb.l2_entries),
            lines_per_page: (config.tlb.page.0 / LINE_BYTES).max(1),
        }
    }

    /// `None` if translation is free.
    pub(super) fn if_enabled(config: &GpuConfig) -> Option<Self> {
        config.tlb.enabled.then(|| Self::new(config))
    }

    fn learn(&mut self, sm: u32, page: PageId) {
        self.of_sm[sm as usize].learn(page);
        self.shared.learn(page);
    }
}

/// The paging mechanism and the accesses that it makes wait.
pub(super) struct Pager {
    mechanism: Box<dyn Paging>,
    /// Accesses on a walk.
    walking: Slab<LineOp>,
    /// Accesses that wait for a fault.
    waiting: FxHashMap<FaultId, Vec<LineOp>>,
    actions: Actions,
}

impl Machine {
    /// Puts a mechanism in charge of where pages are. Translation is on from now on.
    pub fn set_paging(&mut self, mechanism: Box<dyn Paging>) {
        self.tlbs = Some(Tlbs::new(&self.config));
        self.pager = Some(Box::new(Pager {
            mechanism,
            walking: Slab::default(),
            waiting: FxHashMap::default(),
            actions: Actions::new(),
        }));
    }

    /// Lets a line request of an SM go on once its address is known; it asks at core cycle `at`.
    #[inline]
    pub(super) fn translate(&mut self, op: LineOp, at: u64) {
        if self.tlbs.is_none() {
            self.go(op, at);
        } else {
            self.translate_by_tlb(op, at);
        }
    }

    fn translate_by_tlb(&mut self, op: LineOp, at: u64) {
        let Some(tlbs) = &mut self.tlbs else { return };
        self.stats.tlb_accesses += 1;
        let page = PageId(op.request.line.0 / tlbs.lines_per_page);
        let tlb = &self.config.tlb;
        let in_sm = tlbs.of_sm[op.sm as usize].knows(page);
        let known = in_sm || tlbs.shared.knows(page);
        let mut ready = at;
        if !in_sm {
            self.stats.tlb_misses += 1;
            ready += u64::from(tlb.l2_cycles);
        }
        if known {
            tlbs.of_sm[op.sm as usize].learn(page);
            let access = self.access_info(&op);
            if let Some(pager) = &mut self.pager
                && pager.mechanism.wants_touches()
            {
                pager.mechanism.touched(page, &access);
            }
            self.go(op, ready);
            return;
        }
        self.stats.tlb_walks += 1;
        ready += u64::from(tlb.walk_cycles);
        if let Some(pager) = &mut self.pager {
            let walk = pager.walking.add(op);
            let time = self.core_time(ready);
            self.queue.push(time, Event::new(Event::WALK, walk));
        } else {
            tlbs.learn(op.sm, page);
            self.go(op, ready);
        }
    }

    fn access_info(&self, op: &LineOp) -> AccessInfo {
        AccessInfo {
            address: op.request.line.addr(),
            write: op.is_write(),
            pc: op.pc,
            sm: op.sm,
            warp: op.warp,
            cta: op.cta,
            kernel: self.launched,
        }
    }

    /// A walk has ended.
    pub(super) fn walk_ends(&mut self, walk: u32, t: Picos) {
        let Some(pager) = &self.pager else { return };
        let op = pager.walking[walk];
        let access = self.access_info(&op);
        let (Some(pager), Some(tlbs)) = (&mut self.pager, &mut self.tlbs) else { return };
        pager.walking.remove(walk);
        let page = PageId(op.request.line.0 / tlbs.lines_per_page);
        let found = pager.mechanism.walked(page, &access, t, &mut pager.actions);
        match found {
            Walk::Here => {
                tlbs.learn(op.sm, page);
                let cycle = self.core_cycle(t);
                self.go(op, cycle);
            }
            Walk::Remote => {
                let bytes = Bytes(u64::from(op.request.sectors.count()) * SECTOR_BYTES);
                let direction = if op.is_write() { Direction::Out } else { Direction::In };
                let arrival = self.host_link.send(direction, t, bytes);
                self.remote(op, arrival);
            }
            Walk::Wait(fault) => pager.waiting.entry(fault).or_default().push(op),
        }
        self.act(t);
    }

    /// Something that the mechanism asked for has happened.
    pub(super) fn pager_wakes(&mut self, token: u32, t: Picos) {
        if let Some(pager) = &mut self.pager {
            pager.mechanism.wake(Token(token), t, &mut pager.actions);
        }
        self.act(t);
    }

    /// Does what the mechanism asks.
    fn act(&mut self, t: Picos) {
        let Some(pager) = &mut self.pager else { return };
        let mut actions = std::mem::take(&mut pager.actions);
        for action in actions.drain(..) {
            let Some(pager) = &mut self.pager else { return };
            match action {
                Action::Timer { at, token } => self.queue.push(at, Event::new(Event::WAKE, token.0)),
                Action::Transfer { to_device, bytes, token } => {
                    let direction = if to_device { Direction::In } else { Direction::Out };
                    let arrival = self.host_link.send(direction, t, Bytes(bytes));
                    self.queue.push(arrival, Event::new(Event::WAKE, token.0));
                }
                Action::Resume(fault) => {
                    for op in pager.waiting.remove(&fault).unwrap_or_default() {
                        let walk = pager.walking.add(op);
                        self.queue.push(t, Event::new(Event::WALK, walk));
                    }
                }
                Action::Shootdown(range) => self.shoot_down(range),
                Action::DropLines(range) => self.drop_lines(range, t),
            }
        }
        if let Some(pager) = &mut self.pager {
            pager.actions = actions;
        }
    }

    fn shoot_down(&mut self, range: PageRange) {
        let Some(tlbs) = &mut self.tlbs else { return };
        for page in (range.first.0..range.first.0 + range.pages).map(PageId) {
            tlbs.of_sm.iter_mut().chain([&mut tlbs.shared]).for_each(|tlb| tlb.forget(page));
        }
    }

    /// Drops the lines of pages from all caches; dirty sectors are written back.
    fn drop_lines(&mut self, range: PageRange, t: Picos) {
        let per_page = self.tlbs.as_ref().map_or(1, |tlbs| tlbs.lines_per_page);
        let now = self.config.clock.l2.next(t).0;
        for line in (range.first.0 * per_page..(range.first.0 + range.pages) * per_page).map(LineAddr) {
            for sm in 0..self.sms.len() as u32 {
                self.drop_from_l1(sm, line);
            }
            let home = self.interleave.home(line);
            self.tell_written(home.slice, line, SectorMask::ALL);
            let tags = &mut self.slices[usize::from(home.slice)].tags;
            // A line on its way stays: who waits for it was here before the page left.
            if tags.peek(home.set, line).is_some_and(|l| l.pending.is_empty())
                && let Some(left) = tags.remove(home.set, line)
                && !left.dirty.is_empty()
            {
                self.write_back(line, left.dirty, left.valid, now);
            }
        }
    }

    /// True if an access waits for its page.
    #[inline]
    pub(super) fn waits_for_pages(&self) -> bool {
        self.pager.as_ref().is_some_and(|pager| pager.walking.len() > 0 || !pager.waiting.is_empty())
    }

    /// Accesses that wait for pages: for the message of a hang.
    pub(super) fn waiting_for_pages(&self) -> usize {
        self.pager.as_ref().map_or(0, |pager| pager.waiting.values().map(Vec::len).sum::<usize>() + pager.walking.len())
    }
}
