//! Address translation: a TLB per SM, a shared one, and walks of the page table.
//!
//! Without a paging mechanism (`paging.rs`), translation only costs time, and nothing at all unless the configuration turns
//! it on. With one, an access to the mechanism's memory that no TLB can translate walks the page table and hears where its
//! page is; other memory is translated as if there were none.
//!
//! An SM on a memory stack has a TLB and walks of its own, past the shared TLB (TOM, section 4.4.1): its walk takes as long as one of
//! the GPU where the entry lies on its own stack, and crosses the link to another stack and back where it does not. Page tables are set
//! up before anything is offloaded, so nothing is ever shot down there, unless pages come and go: then its TLB is told as the others
//! are, and a page that is away is faulted for from the stack.

use super::sm_memory::LineOp;
use super::tlb::Tlb;
use super::{Event, Machine};
use crate::config::GpuConfig;
use crate::seam::{PageId, PageRange, Place};
use strata_core::{LINE_BYTES, LineAddr};

/// Entries of a page table in a line: 8 B each, as NVIDIA's (choice).
const ENTRIES: u64 = LINE_BYTES / 8;

/// The first line of the page table; a choice: no allocation comes so far.
const TABLE: u64 = 1 << 40;

/// The TLBs of a machine: one per SM, and a shared second level.
pub(super) struct Tlbs {
    of_sm: Vec<Tlb>,
    shared: Tlb,
    lines_per_page: u64,
}

impl Tlbs {
    pub(super) fn new(config: &GpuConfig) -> Self {
        Self {
            of_sm: (0..config.all_sms()).map(|_| Tlb::new(config.tlb.l1_entries, config.tlb.ways)).collect(),
            shared: Tlb::new(config.tlb.l2_entries, config.tlb.ways),
            lines_per_page: (config.tlb.page.0 / LINE_BYTES).max(1),
        }
    }

    /// `None` if translation is free.
    pub(super) fn if_enabled(config: &GpuConfig) -> Option<Self> {
        config.tlb.enabled.then(|| Self::new(config))
    }

    /// The virtual page that a line belongs to.
    pub(super) fn page_of(&self, line: LineAddr) -> PageId {
        PageId(line.0 / self.lines_per_page)
    }

    /// The line addresses that pages cover.
    pub(super) fn lines_of(&self, range: PageRange) -> std::ops::Range<u64> {
        range.first.0 * self.lines_per_page..(range.first.0 + range.pages) * self.lines_per_page
    }

    /// The line of the page table that has the entry of a page: behind all memory, in the order of the pages.
    pub(super) fn entry_of(page: PageId) -> LineAddr {
        LineAddr(TABLE + page.0 / ENTRIES)
    }

    /// TLB shootdown: invalidates pages in all TLBs.
    pub(super) fn invalidate(&mut self, range: PageRange) {
        for page in (range.first.0..range.first.0 + range.pages).map(PageId) {
            self.of_sm.iter_mut().chain([&mut self.shared]).for_each(|tlb| tlb.invalidate(page));
        }
    }

    pub(super) fn insert(&mut self, sm: u32, page: PageId) {
        self.of_sm[sm as usize].insert(page);
        self.shared.insert(page);
    }
}

impl Machine {
    /// Translates an access that comes from the load/store unit at core cycle `at`, and issues it.
    #[inline]
    pub(super) fn translate(&mut self, op: LineOp, at: u64) {
        if self.tlbs.is_none() {
            self.issue_access(op, at);
        } else {
            self.translate_by_tlb(op, at);
        }
    }

    /// The SM of a stack misses its TLB at core cycle `at` and walks the page table: when it has the entry.
    fn walk_from_stack(&mut self, sm: u32, page: PageId, at: u64) -> u64 {
        self.stats.tlb_misses += 1;
        self.stats.tlb_walks += 1;
        let walked = at + u64::from(self.config.tlb.walk_cycles);
        let (own, leaves, is_ideal) = (self.stack_of_sm(sm), self.core_time(at), self.offload_is_ideal());
        let Some(stacks) = &mut self.stacks else { return walked };
        let home = stacks.map.stack_of(stacks.map.place(Tlbs::entry_of(page)).partition);
        if home == own || is_ideal {
            return walked;
        }
        let away = stacks.fetch_from_peer(own, home, leaves) - leaves;
        self.core_cycle(self.core_time(walked) + away)
    }

    fn translate_by_tlb(&mut self, op: LineOp, at: u64) {
        let paged = self.is_paged(op.access.line);
        if !paged && !self.config.tlb.enabled {
            self.issue_access(op, at);
            return;
        }
        let is_on_stack = self.is_stack_sm(op.sm);
        let Some(tlbs) = &mut self.tlbs else { return };
        self.stats.tlb_accesses += 1;
        let page = tlbs.page_of(op.access.line);
        let in_sm = tlbs.of_sm[op.sm as usize].look_up(page);
        if is_on_stack && !paged {
            let ready = if in_sm { at } else { self.walk_from_stack(op.sm, page, at) };
            if let Some(tlbs) = &mut self.tlbs
                && !in_sm
            {
                tlbs.of_sm[op.sm as usize].insert(page);
            }
            self.issue_access(op, ready);
            return;
        }
        if is_on_stack {
            if in_sm {
                self.page_touched(page, &op);
                self.issue_access(op, at);
            } else {
                let ready = self.walk_from_stack(op.sm, page, at);
                self.walk_paged(op, ready);
            }
            return;
        }
        let tlb = &self.config.tlb;
        let known = in_sm || tlbs.shared.look_up(page);
        let mut ready = at;
        if !in_sm {
            self.stats.tlb_misses += 1;
            ready += u64::from(tlb.l2_cycles);
        }
        if known {
            tlbs.of_sm[op.sm as usize].insert(page);
            if paged {
                self.page_touched(page, &op);
            }
            self.issue_access(op, ready);
            return;
        }
        self.stats.tlb_walks += 1;
        ready += u64::from(tlb.walk_cycles);
        if paged {
            self.walk_paged(op, ready);
        } else {
            tlbs.insert(op.sm, page);
            self.issue_access(op, ready);
        }
    }

    /// A walk to a page of the paging mechanism ends at core cycle `ready`.
    fn walk_paged(&mut self, op: LineOp, ready: u64) {
        if op.is_write() {
            self.add_pending_store(op.warp);
        }
        let time = self.core_time(ready);
        if let Some(pager) = &mut self.pager {
            let walk = pager.walking.add(op);
            self.queue.push(time, Event::new(Event::WALK, walk));
        }
    }
}
