//! Probe points: where the machine notifies its observers, the data checker (`--check-data`) and the explanation of waiting
//! (`--explain`).
//!
//! Each place of the machine that an observer wants to know of calls one function here. Without observers that costs a test of
//! an `Option`; observers change nothing of what the machine does.

use super::explain::Wait;
use super::sm_memory::{LineOp, Request, RequestKind};
use super::{Machine, NONE};
use crate::cache::{LineState, SectorMask, WayIndex};
use crate::coalesce::CoalescedAccess;
use crate::seam::PageRange;
use crate::time::{Cycles, Picos};
use crate::view::MicroOp;
use strata_core::LineAddr;

impl Machine {
    /// A memory instruction issues at core cycle `at`.
    #[inline]
    pub(super) fn probe_issue(&mut self, warp: u32, op: &MicroOp, at: u64) {
        let block = self.offloaded_block_of(warp);
        if let Some(c) = &mut self.checker {
            let w = &self.warps[warp as usize];
            c.issues(w.sm, w.pc_of(op), at, block);
        }
        if let Some(e) = &mut self.explanation {
            e.issues(at);
            e.is_at(self.warps[warp as usize].pc_of(op));
        }
    }

    /// A request is sent at core cycle `at` for the instruction at `pc`.
    #[inline]
    pub(super) fn probe_send(&mut self, request: u32, pc: u32, at: u64) {
        if let Some(c) = &mut self.checker {
            c.sent(request, &self.requests[request]);
        }
        if let Some(e) = &mut self.explanation {
            let (kind, core) = (self.requests[request].kind, self.config.clock.core);
            e.count_request(kind);
            e.sends(request, pc);
            e.waited(kind, Wait::LoadStoreUnit, core.span(Cycles(e.since_issue(at))));
            e.waited(kind, Wait::Travel, core.span(Cycles(u64::from(self.config.l1.miss_latency))));
        }
    }

    /// A request that waited `held` core cycles for an MSHR is injected into the crossbar and is at L2 after `time`.
    #[inline]
    pub(super) fn probe_inject(&mut self, kind: RequestKind, held: u64, time: Picos) {
        if let Some(e) = &mut self.explanation {
            let clock = &self.config.clock;
            e.waited(kind, Wait::Mshr, clock.core.span(Cycles(held)));
            let travel = clock.interconnect.span(Cycles(u64::from(self.config.crossbar.request_cycles)));
            e.waited_beyond(kind, Wait::RequestPort, time, travel);
        }
    }

    /// A slice serves a request after `waited` L2 cycles; a hit has its data `latency` later.
    #[inline]
    pub(super) fn probe_slice(&mut self, kind: RequestKind, waited: u64, latency: u32) {
        if let Some(e) = &mut self.explanation {
            e.waited(kind, Wait::Slice, self.config.clock.l2.span(Cycles(waited)));
            e.waited(kind, Wait::Travel, self.config.clock.l2.span(Cycles(u64::from(latency))));
        }
    }

    /// A request got an MSHR and room in the miss queue of its slice after `waited` L2 cycles.
    #[inline]
    pub(super) fn probe_queue_wait(&mut self, kind: RequestKind, waited: u64) {
        if let Some(e) = &mut self.explanation {
            e.waited(kind, Wait::MemoryQueue, self.config.clock.l2.span(Cycles(waited)));
        }
    }

    /// A request looks up its line in L2, whose state was `before`; a hit has its data at L2 cycle `ready`.
    #[inline]
    pub(super) fn probe_l2_access(&mut self, request: u32, before: LineState, ready: u64) {
        if self.checker.is_some() {
            let r = self.requests[request];
            let bytes = self.bytes_of_store(request, &r);
            if let Some(c) = &mut self.checker {
                c.l2_access(request, &r, bytes, before);
            }
        }
        if let Some(e) = &mut self.explanation {
            let r = &self.requests[request];
            let missing = if r.kind == RequestKind::Write { SectorMask::NONE } else { r.sectors.without(before.valid) };
            e.asks(&self.names, request, r.line, r.sectors, missing);
            if !missing.is_empty() {
                e.start_miss(request, self.config.clock.l2.edge(Cycles(ready)));
            }
        }
    }

    /// A line that was `before` is prefetched into L2.
    pub(super) fn probe_l2_prefetch(&mut self, line: LineAddr, before: LineState) {
        if let Some(c) = &mut self.checker {
            c.l2_prefetched(line, before);
        }
    }

    /// L2 fetches sectors from memory.
    #[inline]
    pub(super) fn probe_fetch(&mut self, miss: u32, line: LineAddr, sectors: SectorMask) {
        if let Some(c) = &mut self.checker {
            c.fetched(miss, line);
        }
        if let Some(e) = &mut self.explanation {
            e.moved(&self.names, line, sectors);
        }
    }

    /// L2 writes sectors back, or through.
    #[inline]
    pub(super) fn probe_write_back(&mut self, line: LineAddr, sectors: SectorMask) {
        if let Some(c) = &mut self.checker {
            c.written_back(line, sectors);
        }
        if let Some(e) = &mut self.explanation {
            e.moved(&self.names, line, sectors);
        }
    }

    /// Memory fills sectors of a slice.
    #[inline]
    pub(super) fn probe_fill(&mut self, miss: u32, slice: u16, way: WayIndex, sectors: SectorMask) {
        if let Some(c) = &mut self.checker {
            c.filled(miss, self.slices[usize::from(slice)].tags.address(way), sectors);
        }
    }

    /// A line is evicted: its clean sectors go to the victim buffer, which may keep them.
    #[inline]
    pub(super) fn probe_evict(&mut self, line: LineAddr, clean: SectorMask) {
        if let Some(c) = &mut self.checker {
            c.evicted(line, clean);
        }
    }

    /// A victim buffer supplies sectors to L2.
    #[inline]
    pub(super) fn probe_victim_supply(&mut self, line: LineAddr, sectors: SectorMask) {
        if let Some(c) = &mut self.checker {
            c.supplied(line, sectors);
        }
    }

    /// A store of a stack's SM is written to memory.
    pub(super) fn probe_stack_write(&mut self, request: u32) {
        if let Some(c) = &mut self.checker {
            c.stack_write(request, &self.requests[request]);
        }
    }

    /// A stack's SM reads memory.
    pub(super) fn probe_stack_read(&mut self, request: u32) {
        if let Some(c) = &mut self.checker {
            c.stack_read(request, &self.requests[request]);
        }
    }

    /// L2 has the data of a request at L2 cycle `ready` and replies.
    #[inline]
    pub(super) fn probe_l2_reply(&mut self, request: u32, ready: u64) {
        if let Some(c) = &mut self.checker {
            let r = &self.requests[request];
            c.l2_replies(request, r, u32::from(r.home.slice));
        }
        if let Some(e) = &mut self.explanation {
            e.end_miss(request, self.requests[request].kind, self.config.clock.l2.edge(Cycles(ready)));
        }
    }

    /// A reply takes this time through the crossbar to its SM.
    #[inline]
    pub(super) fn probe_reply_port(&mut self, kind: RequestKind, time: Picos) {
        if let Some(e) = &mut self.explanation {
            let travel = self.config.clock.interconnect.span(Cycles(u64::from(self.config.crossbar.reply_cycles)));
            e.waited_beyond(kind, Wait::ReplyPort, time, travel);
        }
    }

    /// A reply reaches its SM at core cycle `at`, before L1 is filled.
    #[inline]
    pub(super) fn probe_reply(&mut self, request: u32, r: &Request, at: u64) {
        if let Some(c) = &mut self.checker {
            c.reply_arrives(request, r);
        }
        if let Some(e) = &mut self.explanation {
            e.answered(request, at);
        }
    }

    /// A load hits sectors in L1.
    #[inline]
    pub(super) fn probe_l1_hit(&mut self, sm: u32, way: Option<WayIndex>, line: LineAddr, sectors: SectorMask) {
        if let (Some(c), Some(way)) = (&mut self.checker, way)
            && !sectors.is_empty()
        {
            c.l1_hit(sm, way, line, sectors);
        }
    }

    /// A load is merged with an outstanding L1 miss.
    #[inline]
    pub(super) fn probe_l1_merge(&mut self, waiter: u32) {
        if let Some(c) = &mut self.checker {
            c.l1_merge(waiter, self.requests[waiter].line);
        }
    }

    /// A merged load gets its data.
    #[inline]
    pub(super) fn probe_waiter_served(&mut self, waiter: u32, w: &Request) {
        if let Some(c) = &mut self.checker {
            debug_assert_ne!(w.way, NONE);
            c.waiter_served(waiter, w);
        }
    }

    /// A store that has been sent is written through L1, where the line's state was `before`.
    #[inline]
    pub(super) fn probe_l1_write(&mut self, sm: u32, way: WayIndex, request: &CoalescedAccess, before: LineState) {
        if let Some(c) = &mut self.checker {
            c.l1_written(sm, way, request, before);
        }
    }

    /// An access is replayed after its page walk or far fault, at core cycle `at`, on behalf of its instruction.
    #[inline]
    pub(super) fn probe_replay(&mut self, op: &LineOp, at: u64) {
        if let Some(c) = &mut self.checker {
            c.issues(op.sm, op.pc, at, 0);
        }
        if let Some(e) = &mut self.explanation {
            e.issues(at);
        }
    }

    /// Pages have been migrated to the device.
    pub(super) fn probe_page_in(&mut self, pages: PageRange) {
        if let (Some(c), Some(tlbs)) = (&mut self.checker, &self.tlbs) {
            c.page_in(tlbs.lines_of(pages));
        }
    }

    /// Pages have been evicted from the device; `copied`: their bytes go to the host.
    pub(super) fn probe_page_out(&mut self, pages: PageRange, copied: bool) {
        if let (Some(c), Some(tlbs)) = (&mut self.checker, &self.tlbs) {
            c.page_out(tlbs.lines_of(pages), copied);
        }
    }

    /// An access is served by the host's memory.
    #[inline]
    pub(super) fn probe_remote(&mut self, op: &LineOp) {
        if let Some(c) = &mut self.checker {
            c.remote(&op.access, op.is_write());
        }
    }

    /// The host writes to a line; how it was in L2 before, if it is there.
    #[inline]
    pub(super) fn probe_host_write(
        &mut self,
        line: LineAddr,
        touched: SectorMask,
        whole: SectorMask,
        before: Option<LineState>,
    ) {
        if let Some(c) = &mut self.checker {
            c.host_wrote(line, touched, whole, before);
        }
    }
}
