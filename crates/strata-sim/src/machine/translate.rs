//! Address translation: a TLB per SM, a shared one, and walks of the page table.
//!
//! Without a paging mechanism (`paging.rs`), translation only costs time, and nothing at all unless the configuration turns
//! it on. With one, an access to the mechanism's memory that no TLB can translate walks the page table and hears where its
//! page is; other memory is translated as if there were none.

use super::sm_memory::LineOp;
use super::tlb::Tlb;
use super::{Event, Machine};
use crate::config::GpuConfig;
use crate::seam::{PageId, PageRange};
use strata_core::{LINE_BYTES, LineAddr};

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

    fn translate_by_tlb(&mut self, op: LineOp, at: u64) {
        let paged = self.is_paged(op.access.line);
        if !paged && !self.config.tlb.enabled {
            self.issue_access(op, at);
            return;
        }
        let Some(tlbs) = &mut self.tlbs else { return };
        self.stats.tlb_accesses += 1;
        let page = tlbs.page_of(op.access.line);
        let tlb = &self.config.tlb;
        let in_sm = tlbs.of_sm[op.sm as usize].look_up(page);
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
            if op.is_write() {
                self.add_pending_store(op.warp);
            }
            let time = self.core_time(ready);
            if let Some(pager) = &mut self.pager {
                let walk = pager.walking.add(op);
                self.queue.push(time, Event::new(Event::WALK, walk));
            }
        } else {
            tlbs.insert(op.sm, page);
            self.issue_access(op, ready);
        }
    }
}
