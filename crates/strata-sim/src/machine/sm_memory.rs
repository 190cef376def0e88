//! The memory stage of an SM: coalescing, L1 accesses, constant memory, outstanding loads.

use super::atomics::{count_atomic_work, shared_cycles_of};
use super::home::Home;
use super::issue::is_shared;
use super::l1::{Lookup, LookupResult};
use super::{Event, Machine, NONE};
use crate::cache::{SectorMask, WayIndex};
use crate::coalesce::{CoalescedAccess, bank_conflicts, coalesce, distinct_addresses, merge_lines};
use crate::time::Picos;
use crate::view::{AtomicNumbers, MemoryClass, MicroOp, View};
use arrayvec::ArrayVec;
use strata_core::{LANES, LineAddr, Space, WarpId};

/// How many accesses of an instruction ahead L1's state is asked of the host's caches.
const AHEAD: usize = 4;

/// What a request does at L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestKind {
    Read,
    Write,
    Atomic,
}

/// A request for one line, on its way through the memory system: one cache line of the host.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Request {
    pub(super) line: LineAddr,
    pub(super) sectors: SectorMask,
    /// Sectors a store covers whole.
    pub(super) full: SectorMask,
    pub(super) kind: RequestKind,
    pub(super) sm: u32,
    /// L2 slice, set and memory partition that serve it.
    pub(super) home: Home,
    /// The load that it is part of, or [`NONE`].
    pub(super) load: u32,
    /// The L1 way that it fills, or [`NONE`].
    pub(super) way: u32,
    /// The warp that cannot retire before this store is acknowledged, or [`NONE`].
    pub(super) warp: u32,
    /// Next in a list of requests that wait for the same thing.
    pub(super) next: u32,
    /// What an atomic unit has to do for it, in sixteenths of an L2 cycle.
    pub(super) work: u16,
    /// When it was ready to leave the SM, core cycles; since when it waits.
    since: u64,
}

impl Request {
    /// A request that only a part of the machine sees, in set 0 of whatever it comes to.
    #[cfg(test)]
    pub(super) fn test(kind: RequestKind, line: u64, sectors: SectorMask) -> Self {
        let full = if kind == RequestKind::Write { sectors } else { SectorMask::NONE };
        let (line, home) = (LineAddr(line), Home::NOWHERE);
        Self { line, sectors, full, kind, sm: 0, home, load: 0, way: NONE, warp: NONE, next: NONE, work: 0, since: 0 }
    }

    /// True if L2 sends a reply: all but stores and reductions.
    pub(super) fn expects_reply(&self) -> bool {
        self.kind == RequestKind::Read || self.load != NONE
    }

    /// True if it fetches for a prefetcher alone.
    pub(super) fn is_prefetch(&self) -> bool {
        self.kind == RequestKind::Read && self.load == NONE
    }
}

const _: () = assert!(size_of::<Request>() == 64);

/// Warp and instruction that a request comes from, for mechanisms that want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Requester {
    pub(super) warp: WarpId,
    pub(super) pc: u32,
}

/// One coalesced access of an instruction, before it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineOp {
    pub(super) access: CoalescedAccess,
    pub(super) sm: u32,
    /// The warp that issued it, its CTA and the program counter, for mechanisms that want to know.
    pub(super) warp: WarpId,
    pub(super) cta: u64,
    pub(super) pc: u32,
    kind: AccessKind,
}

/// The kind of instruction that a coalesced access is part of, and whether L1 may serve it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AccessKind {
    /// Part of a load that may look into L1.
    CachedLoad(u32),
    /// Part of a load that may not.
    Load(u32),
    /// Part of a store that updates L1.
    CachedStore,
    Store,
    /// Part of an atomic; its load is [`NONE`] if it returns nothing.
    Atomic(u32),
}

impl LineOp {
    /// Warp and instruction that it comes from.
    pub(super) fn requester(&self) -> Requester {
        Requester { warp: self.warp, pc: self.pc }
    }

    pub(super) fn is_write(&self) -> bool {
        matches!(self.kind, AccessKind::CachedStore | AccessKind::Store | AccessKind::Atomic(_))
    }
}

/// An outstanding load: an entry that collects the replies to all its requests.
pub(super) struct LoadOp {
    pub(super) warp: u32,
    /// Of the warp when it issued: a load whose value nobody needs may outlive its warp.
    epoch: u32,
    /// Requests not replied to yet.
    remaining: u32,
    /// When the data that is known to come is there, core cycles.
    ready: u64,
    registers: ArrayVec<u16, 8>,
}

impl Machine {
    /// A memory operation issues at core cycle `at`.
    pub(super) fn memory_op(&mut self, warp: u32, view: &View, op: &MicroOp, at: u64) {
        let targets = view.targets(op);
        if self.accesses(warp, op).next().is_none() {
            self.release_registers(warp, targets, at + 1);
            return;
        }
        self.probe_issue(warp, op, at);
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        let batch = &self.warps[warp as usize].batch;
        let pc = self.warps[warp as usize].pc_of(op);
        let stores = op.memory != MemoryClass::Atomic && op.memory != MemoryClass::Load && targets.is_empty();
        let group = if stores { self.config.l1.store_group } else { LANES as u32 };
        let mut shared_cycles = 0;
        let mut space = Space::Shared;
        // What the fullest bank of L1 reads, and how many addresses the constant cache is asked for, where these decide.
        let banked = self.config.l1.lines_per_cycle > 1.0 && !stores && op.memory != MemoryClass::Atomic;
        let (mut words, mut addresses) = (0, 0);
        let accesses = self.accesses(warp, op);
        for (mask, set) in accesses.clone() {
            if is_shared(set) {
                shared_cycles += shared_cycles_of(batch, set, mask, op, &self.config.shared);
            } else {
                coalesce(batch, set, mask, op.width, group, &mut lines);
                if op.memory == MemoryClass::Atomic && self.config.l2.atomic_int_cycles > 0.0 {
                    count_atomic_work(
                        batch,
                        set,
                        mask,
                        op.atomic == Some(AtomicNumbers::Floats),
                        &self.config.l2,
                        &mut lines,
                    );
                }
                space = set.space;
                if matches!(space, Space::Const | Space::Param) {
                    addresses += distinct_addresses(batch, set, mask);
                } else if banked && lines.len() > 1 {
                    words += bank_conflicts(batch, set, mask, op.width, &self.config.shared);
                }
            }
        }
        if accesses.count() > 1 {
            merge_lines(&mut lines);
        }
        let mut known = at + 1;
        if shared_cycles > 0 {
            known = self.access_shared(warp, at, shared_cycles);
        }
        // A store to a memory stack sends the sectors that it writes and no more: its link counts bytes.
        let is_sectored =
            self.config.l1.sectored || self.config.stacks.sectored_l1 && self.is_stack_sm(self.warps[warp as usize].sm);
        let sends_sectors = is_sectored || stores && self.stacks.is_some();
        if !sends_sectors {
            for request in &mut lines {
                request.sectors = SectorMask::ALL;
            }
        }
        if self.offload.is_some() {
            self.observe_accesses(warp, space, &lines);
        }
        match (space, op.memory) {
            _ if lines.is_empty() => self.release_registers(warp, targets, known),
            (Space::Const | Space::Param, _) => self.access_constants(warp, pc, targets, &lines, addresses, at),
            (_, MemoryClass::Atomic) => self.atomic(warp, pc, targets, &lines, at),
            _ if stores => {
                let cached = self.config.l1.global_loads || space == Space::Local;
                let kind = if cached { AccessKind::CachedStore } else { AccessKind::Store };
                self.send_all(warp, pc, &lines, None, at, kind);
            }
            _ => {
                let cached = (self.config.l1.global_loads || space == Space::Local || op.read_only) && !op.bypass_l1;
                self.load(warp, pc, targets, &lines, (words > 0).then_some(words), at, known, cached);
            }
        }
        self.lines = lines;
    }

    /// A generic access that went to shared memory, in whole or in part: when its data is there.
    fn access_shared(&mut self, warp: u32, at: u64, cycles: u32) -> u64 {
        let sm = &mut self.sms[self.warps[warp as usize].sm as usize];
        sm.shared.forget(at);
        let start = sm.shared.take_first(at, cycles).unwrap_or(at);
        self.stats.shared_accesses += 1;
        self.stats.shared_conflict_cycles += u64::from(cycles - 1);
        start + u64::from(cycles - 1 + self.config.shared.latency)
    }

    /// A load of constants: lanes with the same address are answered together, different addresses one after another.
    fn access_constants(
        &mut self,
        warp: u32,
        pc: u32,
        targets: &[u16],
        lines: &[CoalescedAccess],
        addresses: u32,
        at: u64,
    ) {
        let constants = &mut self.sms[self.warps[warp as usize].sm as usize].memory.constants;
        let config = &self.config.constant;
        let (parts, interval) =
            if config.word_cycles > 0 { (addresses, config.word_cycles) } else { (lines.len() as u32, 1) };
        let start = if config.word_cycles > 0 { constants.occupy(at, u64::from(parts * interval)) } else { at };
        let (missing, asked_next) = constants.misses(lines);
        self.stats.constant_accesses += u64::from(parts);
        self.stats.constant_misses += missing.len() as u64;
        let first = start + u64::from(config.latency) + if asked_next { u64::from(config.next_latency) } else { 0 };
        let known = first + u64::from((parts - 1) * interval);
        if missing.is_empty() || targets.is_empty() {
            self.release_registers(warp, targets, known);
        } else {
            self.load(warp, pc, targets, &missing, None, first, known, false);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "who, what and when: all are needed and none belong together")]
    fn load(
        &mut self,
        warp: u32,
        pc: u32,
        targets: &[u16],
        lines: &[CoalescedAccess],
        banks: Option<u32>,
        at: u64,
        known: u64,
        cached: bool,
    ) {
        let registers = targets.iter().copied().collect();
        // One part more than there are requests: it arrives when all are sent.
        let load = self.loads.add(LoadOp {
            warp,
            epoch: self.warps[warp as usize].epoch,
            remaining: lines.len() as u32 + 1,
            ready: known,
            registers,
        });
        self.reserve_registers(warp, targets);
        let kind = if cached { AccessKind::CachedLoad(load) } else { AccessKind::Load(load) };
        self.send_all(warp, pc, lines, banks, at, kind);
        self.complete_part(load, 0);
    }

    /// Passes all coalesced accesses of an instruction through the load/store unit to translation; `banks` as [`LoadStoreUnit::take`](super::memory_unit) has it.
    fn send_all(
        &mut self,
        warp: u32,
        pc: u32,
        lines: &[CoalescedAccess],
        banks: Option<u32>,
        at: u64,
        kind: AccessKind,
    ) {
        let w = &self.warps[warp as usize];
        let (sm, cta) = (w.sm, w.cta);
        let room = self.sms[sm as usize].memory.lsu.room();
        self.stall_until(warp, room);
        // Lanes with several places each (textures, matrices) can need more lines than there are lanes: the unit is passed
        // through again.
        let cached = matches!(kind, AccessKind::CachedLoad(_) | AccessKind::CachedStore);
        for lines in lines.chunks(LANES) {
            if let (true, [_, others @ ..]) = (cached, lines) {
                for access in others {
                    self.sms[sm as usize].memory.l1.prefetch_set(access.line);
                }
            }
            let (taken, waited) = self.sms[sm as usize].memory.lsu.take(at, lines, banks, &self.config.l1);
            self.stats.wait_lsu += waited;
            for (k, (&access, &taken)) in lines.iter().zip(&taken).enumerate() {
                if let (true, Some(ahead)) = (cached, lines.get(k + AHEAD)) {
                    self.sms[sm as usize].memory.l1.prefetch_line(ahead.line);
                }
                self.translate(LineOp { access, sm, warp: WarpId(warp), cta, pc, kind }, taken);
            }
        }
    }

    /// Issues a translated access at core cycle `at`: to L1, or past it towards L2.
    pub(super) fn issue_access(&mut self, op: LineOp, at: u64) {
        let LineOp { access: request, sm, kind, .. } = &op;
        match *kind {
            AccessKind::CachedLoad(load) => {
                self.stats.l1_transactions += u64::from(request.sectors.count());
                self.access_l1(&op, load, at);
            }
            AccessKind::Load(load) => {
                self.stats.l1_transactions += u64::from(request.sectors.count());
                self.stats.l1_bypasses += 1;
                self.send_to_l2(&op, request, RequestKind::Read, load, NONE, at);
            }
            AccessKind::CachedStore | AccessKind::Store => {
                self.stats.l1_writes += 1;
                let sent = self.send_to_l2(&op, request, RequestKind::Write, NONE, NONE, at);
                self.track_acknowledgement(sent, op.warp);
                if self.is_stack_sm(*sm) {
                    self.record_stack_store(op.warp, request.line);
                }
                if *kind == AccessKind::CachedStore {
                    self.write_l1(*sm, request);
                }
            }
            AccessKind::Atomic(load) => {
                self.stats.atomics += 1;
                // An atomic is performed at L2: this SM's L1 copy becomes stale.
                self.sms[*sm as usize].memory.l1.invalidate(request.line);
                let sent = self.send_to_l2(&op, request, RequestKind::Atomic, load, NONE, at);
                if load == NONE {
                    self.track_acknowledgement(sent, op.warp);
                }
            }
        }
    }

    /// Where stores are acknowledged, the warp cannot retire before this one is.
    fn track_acknowledgement(&mut self, request: u32, warp: WarpId) {
        if self.config.sm.acknowledged_stores {
            self.requests[request].warp = warp.0;
            self.add_pending_store(warp);
        }
    }

    /// An access is served by far memory; its reply is here at `arrival`.
    pub(super) fn access_remote(&mut self, op: LineOp, arrival: Picos) {
        self.stats.remote_accesses += 1;
        self.probe_remote(&op);
        let cycle = self.core_cycle(arrival);
        match op.kind {
            AccessKind::CachedLoad(load) | AccessKind::Load(load) => self.complete_part(load, cycle),
            AccessKind::Atomic(load) if load != NONE => self.complete_part(load, cycle),
            AccessKind::CachedStore | AccessKind::Store | AccessKind::Atomic(_) => {
                self.last_store = self.last_store.max(arrival);
            }
        }
    }

    /// Looks up a cacheable access of a load in L1.
    fn access_l1(&mut self, op: &LineOp, load: u32, taken: u64) {
        let (sm, request) = (op.sm, &op.access);
        self.stats.l1_accesses += 1;
        let LookupResult { lookup, way, there, prefetched } =
            self.sms[sm as usize].memory.l1.look_up(request.line, request.sectors);
        self.probe_l1_hit(sm, way, request.line, there);
        match lookup {
            Lookup::Hit => {
                self.stats.l1_hits += 1;
                self.complete_part(load, taken + u64::from(self.config.l1.latency));
            }
            Lookup::Merge => {
                self.stats.l1_merges += 1;
                if let Some(way) = way {
                    self.merge_miss(sm, way, request, load, taken);
                }
            }
            Lookup::Miss { sectors, way, merges } => {
                self.stats.l1_misses += 1;
                if merges {
                    self.loads[load].remaining += 1;
                    self.merge_miss(sm, WayIndex::at(way), request, load, taken);
                }
                self.send_to_l2(op, &CoalescedAccess { sectors, ..*request }, RequestKind::Read, load, way, taken);
            }
        }
        if self.sms[sm as usize].memory.l1.prefetching.is_some() {
            self.prefetch_into_l1(op, lookup, prefetched, taken);
        }
    }

    /// Merges an access of a load with the outstanding miss of its line.
    fn merge_miss(&mut self, sm: u32, way: WayIndex, request: &CoalescedAccess, load: u32, since: u64) {
        let waiter = self.requests.add(Request {
            line: request.line,
            sectors: request.sectors,
            full: SectorMask::NONE,
            kind: RequestKind::Read,
            sm,
            home: Home::NOWHERE,
            load,
            way: way.index(),
            warp: NONE,
            next: NONE,
            work: 0,
            since,
        });
        self.sms[sm as usize].memory.l1.enqueue_waiter(way, waiter, &mut self.requests);
        self.probe_l1_merge(waiter);
    }

    /// Writes a store through L1.
    fn write_l1(&mut self, sm: u32, request: &CoalescedAccess) {
        let written = self.sms[sm as usize].memory.l1.write(request, self.config.l1.write_allocate);
        if let Some((way, before)) = written {
            self.probe_l1_write(sm, way, request, before);
        }
    }

    fn atomic(&mut self, warp: u32, pc: u32, targets: &[u16], lines: &[CoalescedAccess], at: u64) {
        let load = if targets.is_empty() {
            NONE
        } else {
            self.reserve_registers(warp, targets);
            let registers = targets.iter().copied().collect();
            self.loads.add(LoadOp {
                warp,
                epoch: self.warps[warp as usize].epoch,
                remaining: lines.len() as u32,
                ready: at,
                registers,
            })
        };
        self.send_all(warp, pc, lines, None, at, AccessKind::Atomic(load));
    }

    /// Sends a request to L2: it needs an MSHR if it expects a reply, and is ready to leave at core cycle `at` plus the latency
    /// of a miss.
    pub(super) fn send_to_l2(
        &mut self,
        op: &LineOp,
        line: &CoalescedAccess,
        kind: RequestKind,
        load: u32,
        way: u32,
        at: u64,
    ) -> u32 {
        let sm = op.sm;
        let since = at + u64::from(self.config.l1.miss_latency);
        let request = Request {
            line: line.line,
            sectors: line.sectors,
            full: line.full,
            kind,
            sm,
            home: self.interleave.home(line.line),
            load,
            way,
            warp: NONE,
            next: NONE,
            work: line.work,
            since,
        };
        let awaited = request.expects_reply();
        let request = self.requests.add(request);
        self.probe_send(request, op.pc, at);
        self.page_sent(line.line);
        self.record_requester(request, op.requester());
        self.record_store_bytes(request, line.bytes);
        if awaited {
            if !self.sms[sm as usize].memory.l1.allocate_mshr(request) {
                return request;
            }
        } else {
            self.stores_out += 1;
            self.track_store(request);
        }
        self.inject(request, since);
        request
    }

    #[inline]
    fn inject(&mut self, request: u32, ready: u64) {
        let Request { sm, kind, sectors, since, .. } = self.requests[request];
        self.stats.sent += 1;
        self.stats.wait_mshr += ready - since;
        if self.is_stack_sm(sm) {
            self.issue_to_vault(request, ready);
            return;
        }
        let data = if kind == RequestKind::Read { 0 } else { sectors.count() };
        let leaves = self.core_time(ready);
        let crossing = self.crossbar.send_to_slice(sm, leaves, data);
        self.stats.wait_request_port += crossing.waited;
        self.probe_inject(kind, ready - since, crossing.arrival - leaves);
        self.queue.push(crossing.arrival, Event::new(Event::L2, request));
    }

    /// A reply reaches its SM: fills L1, wakes merged loads, and gives its MSHR to the next request.
    pub(super) fn receive_reply(&mut self, request: u32, t: Picos) {
        let r = self.requests[request];
        self.requests.remove(request);
        let cycle = self.core_cycle(t);
        self.sms[r.sm as usize].memory.l1.release_mshr();
        self.stats.reply_latency += cycle - r.since;
        self.stats.replies += 1;
        self.probe_reply(request, &r, cycle);
        self.page_released(r.line);
        if r.way != NONE {
            self.fill_l1(&r, cycle);
        }
        if r.load != NONE {
            self.complete_part(r.load, cycle);
        }
        if let Some(held) = self.sms[r.sm as usize].memory.l1.dequeue_held() {
            let ready = cycle.max(self.requests[held].since);
            self.inject(held, ready);
        }
    }

    fn fill_l1(&mut self, r: &Request, cycle: u64) {
        let (sm, way) = (r.sm as usize, WayIndex::at(r.way));
        let (pending, mut waiting) = self.sms[sm].memory.l1.fill(way, r.sectors);
        // Merged loads whose sectors are all filled complete; the others stay.
        while let Some(waiter) = self.sms[sm].memory.l1.next_ready(&mut waiting, way, pending, &mut self.requests) {
            let w = self.requests[waiter];
            self.requests.remove(waiter);
            self.probe_waiter_served(waiter, &w);
            self.complete_part(w.load, cycle);
        }
    }

    /// One request of a load is replied to; with the last, its registers are released.
    fn complete_part(&mut self, load: u32, cycle: u64) {
        let l = &mut self.loads[load];
        l.ready = l.ready.max(cycle);
        l.remaining -= 1;
        if l.remaining == 0 {
            let (warp, epoch, ready) = (l.warp, l.epoch, l.ready);
            let registers = std::mem::take(&mut l.registers);
            self.loads.remove(load);
            if self.warps[warp as usize].epoch == epoch {
                self.release_registers(warp, &registers, ready);
            }
        }
    }
}
