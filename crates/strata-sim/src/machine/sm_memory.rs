//! The memory side of an SM: coalescing, L1, constant memory, loads that wait for their data.

use super::home::Home;
use super::issue::is_shared;
use super::{Event, Machine, NONE};
use crate::cache::{Line, Place, SectorMask};
use crate::coalesce::{LineRequest, bank_conflicts, coalesce, merge_lines};
use crate::time::Picos;
use crate::view::{Action, MicroOp, View};
use arrayvec::ArrayVec;
use std::ops::Range;
use strata_core::{LANES, LineAddr, Space, WarpId};

/// What a request asks of L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    Atomic,
}

/// One line request on its way through the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) line: LineAddr,
    pub(super) sectors: SectorMask,
    /// Sectors a store covers whole.
    pub(super) full: SectorMask,
    pub(super) kind: Kind,
    pub(super) sm: u32,
    /// Where it is served.
    pub(super) home: Home,
    /// The load that waits for it, or [`NONE`].
    pub(super) load: u32,
    /// Where it fills in L1, or [`NONE`].
    pub(super) place: u32,
    /// The warp that stays until this store is acknowledged, or [`NONE`].
    pub(super) warp: u32,
    /// Next in a list of requests that wait for the same thing.
    pub(super) next: u32,
    /// When it was ready to leave the SM, core cycles; since when it waits.
    since: u64,
}

impl Request {
    /// True if somebody waits for an answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.kind == Kind::Read || self.load != NONE
    }
}

/// One line request of an instruction, before it has left the SM.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineOp {
    pub(super) request: LineRequest,
    pub(super) sm: u32,
    /// Who asks, for mechanisms that want to know.
    pub(super) warp: WarpId,
    pub(super) cta: u64,
    pub(super) pc: u32,
    what: What,
}

/// What a line request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Part of a load that may look into L1.
    CachedLoad(u32),
    /// Part of a load that may not.
    Load(u32),
    /// Part of a store to what L1 may hold.
    CachedStore,
    Store,
    /// Part of an atomic; its load is [`NONE`] if it returns nothing.
    Atomic(u32),
}

impl LineOp {
    pub(super) fn is_write(&self) -> bool {
        matches!(self.what, What::CachedStore | What::Store | What::Atomic(_))
    }
}

/// A load whose data has not all arrived.
pub(super) struct LoadOp {
    warp: u32,
    /// Of the warp when it issued: a load whose value nobody needs may outlive its warp.
    epoch: u32,
    /// Requests still out.
    remaining: u32,
    /// When the data that is known to come is there, core cycles.
    ready: u64,
    registers: ArrayVec<u16, 8>,
}

/// The load/store unit of an SM.
pub(super) struct LoadStoreUnit {
    /// When it takes the next line request, in sixteenths of a core cycle.
    free: u64,
    /// When each of the last instructions left the queue before the unit; the oldest is at `next`.
    left: Box<[u64]>,
    next: usize,
}

impl LoadStoreUnit {
    pub(super) fn new(queue: u32) -> Self {
        Self { free: 0, left: vec![0; queue.max(1) as usize].into_boxed_slice(), next: 0 }
    }
}

impl Machine {
    /// A memory operation issues at core cycle `at`.
    pub(super) fn memory_op(&mut self, warp: u32, view: &View, op: &MicroOp, at: u64) {
        let accesses = self.accesses(warp, op);
        let targets = view.targets(op);
        if accesses.is_empty() {
            self.deliver(warp, targets, at + 1);
            return;
        }
        self.watch_issue(warp, op, at);
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        let batch = &self.warps[warp as usize].batch;
        let pc = batch.ops.first().map_or(0, |o| o.pc) + u32::from(op.index);
        let stores = op.action != Action::Atomic && op.action != Action::Load && targets.is_empty();
        let group = if stores { self.config.l1.store_group } else { LANES as u32 };
        let mut shared_cycles = 0;
        let mut space = Space::Shared;
        for (mask, set) in &accesses {
            if is_shared(set) {
                shared_cycles += bank_conflicts(batch, set, *mask, op.width, self.config.shared.banks);
            } else {
                coalesce(batch, set, *mask, op.width, group, &mut lines);
                space = set.space;
            }
        }
        if accesses.len() > 1 {
            merge_lines(&mut lines);
        }
        let mut known = at + 1;
        if shared_cycles > 0 {
            known = self.shared_by_generic(warp, at, shared_cycles);
        }
        // A store to a memory stack sends the sectors that it writes and no more: its link counts bytes.
        let sends_sectors = self.config.l1.sectored || stores && self.stacks.is_some();
        if !sends_sectors {
            for request in &mut lines {
                request.sectors = SectorMask::ALL;
            }
        }
        if self.offload.is_some() {
            self.offload_observes(warp, space, &lines);
        }
        match (space, op.action) {
            _ if lines.is_empty() => self.deliver(warp, targets, known),
            (Space::Const | Space::Param, _) => self.constant_access(warp, pc, targets, &lines, at),
            (_, Action::Atomic) => self.atomic(warp, pc, targets, &lines, at),
            _ if stores => {
                let cached = self.config.l1.global_loads || space == Space::Local;
                self.send_all(warp, pc, &lines, at, if cached { What::CachedStore } else { What::Store });
            }
            _ => {
                let cached = (self.config.l1.global_loads || space == Space::Local || op.read_only) && !op.bypass_l1;
                self.load(warp, pc, targets, &lines, at, known, cached);
            }
        }
        self.lines = lines;
    }

    /// A generic access that went to shared memory, in whole or in part: when its data is there.
    fn shared_by_generic(&mut self, warp: u32, at: u64, cycles: u32) -> u64 {
        let sm = &mut self.sms[self.warps[warp as usize].sm as usize];
        sm.shared.forget(at);
        let start = sm.shared.take_first(at, cycles).unwrap_or(at);
        self.stats.shared_accesses += 1;
        self.stats.shared_conflict_cycles += u64::from(cycles - 1);
        start + u64::from(cycles - 1 + self.config.shared.latency)
    }

    fn constant_access(&mut self, warp: u32, pc: u32, targets: &[u16], lines: &[LineRequest], at: u64) {
        let sm = self.warps[warp as usize].sm;
        let latency = u64::from(self.config.constant.latency);
        let mut missing: ArrayVec<LineRequest, LANES> = ArrayVec::new();
        for request in lines {
            let tags = &mut self.sms[sm as usize].constants;
            let set = request.line.0 as u32 % tags.sets();
            if tags.find(set, request.line).is_none() {
                tags.insert(set, request.line);
                missing.extend([*request]);
            }
        }
        self.stats.constant_accesses += lines.len() as u64;
        self.stats.constant_misses += missing.len() as u64;
        let known = at + latency + lines.len() as u64 - 1;
        if missing.is_empty() || targets.is_empty() {
            self.deliver(warp, targets, known);
        } else {
            self.load(warp, pc, targets, &missing, at + latency, known, false);
        }
    }

    /// The cycle at which the load/store unit takes each line request of an instruction that comes at `at`.
    fn through_lsu(&mut self, sm: u32, at: u64, lines: &[LineRequest]) -> ArrayVec<u64, LANES> {
        let l1 = &self.config.l1;
        let lsu = &mut self.sms[sm as usize].lsu;
        let start = lsu.free.max(at * 16);
        let mut next = start;
        let mut taken = ArrayVec::new();
        for request in lines {
            let _ = taken.try_push(next / 16);
            let by_bytes = u64::from(request.sectors.count()) * 32 * 16 / u64::from(l1.bytes_per_cycle);
            next += by_bytes.max(16);
        }
        lsu.free = next.max(start + (l1.instruction_cycles * 16.0) as u64);
        lsu.left[lsu.next] = start / 16;
        lsu.next = (lsu.next + 1) % lsu.left.len();
        self.stats.wait_lsu += (start - at * 16) / 16;
        taken
    }

    #[allow(clippy::too_many_arguments, reason = "who, what and when: all are needed and none belong together")]
    fn load(&mut self, warp: u32, pc: u32, targets: &[u16], lines: &[LineRequest], at: u64, known: u64, cached: bool) {
        let registers = targets.iter().copied().collect();
        // One part more than there are requests: it arrives when all are sent.
        let load = self.loads.add(LoadOp {
            warp,
            epoch: self.warps[warp as usize].epoch,
            remaining: lines.len() as u32 + 1,
            ready: known,
            registers,
        });
        self.expect(warp, targets);
        let what = if cached { What::CachedLoad(load) } else { What::Load(load) };
        self.send_all(warp, pc, lines, at, what);
        self.part_arrived(load, 0);
    }

    /// The core cycle, not before `at`, at which the load/store unit of an SM sends a line request again.
    pub(super) fn lsu_replays(&mut self, sm: u32, at: u64) -> u64 {
        let lsu = &mut self.sms[sm as usize].lsu;
        let start = lsu.free.max(at * 16);
        lsu.free = start + 16;
        start / 16
    }

    /// Sends all line requests of an instruction on their way.
    fn send_all(&mut self, warp: u32, pc: u32, lines: &[LineRequest], at: u64, what: What) {
        let w = &self.warps[warp as usize];
        let (sm, cta) = (w.sm, w.cta);
        let room = self.sms[sm as usize].lsu.left[self.sms[sm as usize].lsu.next];
        self.stall_until(warp, room);
        // Lanes with several places each (textures, matrices) can need more lines than there are lanes: the unit is passed
        // through again.
        for lines in lines.chunks(LANES) {
            let taken = self.through_lsu(sm, at, lines);
            for (&request, &taken) in lines.iter().zip(&taken) {
                self.translate(LineOp { request, sm, warp: WarpId(warp), cta, pc, what }, taken);
            }
        }
    }

    /// A line request whose address is known goes on at core cycle `at`.
    pub(super) fn go(&mut self, op: LineOp, at: u64) {
        let LineOp { request, sm, what, .. } = &op;
        match *what {
            What::CachedLoad(load) => {
                self.stats.l1_transactions += u64::from(request.sectors.count());
                self.look_into_l1(*sm, request, load, at);
            }
            What::Load(load) => {
                self.stats.l1_transactions += u64::from(request.sectors.count());
                self.stats.l1_bypasses += 1;
                self.send(*sm, request, Kind::Read, load, NONE, at);
            }
            What::CachedStore | What::Store => {
                self.stats.l1_writes += 1;
                let sent = self.send(*sm, request, Kind::Write, NONE, NONE, at);
                self.expect_acknowledgement(sent, op.warp);
                if self.is_near(*sm) {
                    self.near_wrote(op.warp, request.line);
                }
                if *what == What::CachedStore {
                    self.write_l1(*sm, request);
                }
            }
            What::Atomic(load) => {
                self.stats.atomics += 1;
                self.drop_from_l1(*sm, request.line);
                let sent = self.send(*sm, request, Kind::Atomic, load, NONE, at);
                if load == NONE {
                    self.expect_acknowledgement(sent, op.warp);
                }
            }
        }
    }

    /// A store has left: its warp stays until it hears of it, if it is configured so.
    fn expect_acknowledgement(&mut self, request: u32, warp: WarpId) {
        if self.config.sm.acknowledged_stores {
            self.requests[request].warp = warp.0;
            self.waits_for_store(warp);
        }
    }

    /// A line request is served by far memory: its answer is there at `arrival`.
    pub(super) fn remote(&mut self, op: LineOp, arrival: Picos) {
        self.stats.remote_accesses += 1;
        self.watch_remote(&op);
        let cycle = self.core_cycle(arrival);
        match op.what {
            What::CachedLoad(load) | What::Load(load) => self.part_arrived(load, cycle),
            What::Atomic(load) if load != NONE => self.part_arrived(load, cycle),
            What::CachedStore | What::Store | What::Atomic(_) => self.last_store = self.last_store.max(arrival),
        }
    }

    /// The set of a line in L1.
    fn l1_set(sets: u32, line: LineAddr) -> u32 {
        (line.0 ^ line.0 >> 7) as u32 % sets
    }

    /// One line request of a load that L1 may serve.
    fn look_into_l1(&mut self, sm: u32, request: &LineRequest, load: u32, taken: u64) {
        self.stats.l1_accesses += 1;
        let unit = &mut self.sms[sm as usize];
        let set = Self::l1_set(unit.l1.sets(), request.line);
        let place = unit.l1.find(set, request.line);
        let Line { valid, pending, overtaken, .. } = place.map(|p| *unit.l1.line(p)).unwrap_or_default();
        let wanted = request.sectors;
        if !wanted.and(overtaken).is_empty() {
            // What is on its way is too old: the request goes out without a place.
            self.stats.l1_misses += 1;
            self.send(sm, request, Kind::Read, load, NONE, taken);
            return;
        }
        self.watch_l1_hit(sm, place, request.line, wanted.and(valid));
        if wanted.without(valid).is_empty() {
            self.stats.l1_hits += 1;
            self.part_arrived(load, taken + u64::from(self.config.l1.latency));
            return;
        }
        if let Some(p) = place
            && wanted.without(valid.or(pending)).is_empty()
        {
            // Everything missing is on its way: wait for it.
            self.stats.l1_merges += 1;
            self.wait_for_line(sm, p, request, load, taken);
            return;
        }
        self.stats.l1_misses += 1;
        let unit = &mut self.sms[sm as usize];
        let room = place.or_else(|| unit.l1.insert(set, request.line).map(|(p, _)| p));
        let missing = LineRequest { sectors: wanted.without(valid.or(pending)), ..*request };
        let Some(p) = room else {
            // Every way waits for data: the request goes out without a place.
            self.send(sm, request, Kind::Read, load, NONE, taken);
            return;
        };
        let line = unit.l1.line_mut(p);
        line.pending = line.pending.or(missing.sectors);
        if !wanted.and(pending).is_empty() {
            self.loads[load].remaining += 1;
            self.wait_for_line(sm, p, request, load, taken);
        }
        self.send(sm, &missing, Kind::Read, load, p.index(), taken);
    }

    /// A load waits for a line that another request brings.
    fn wait_for_line(&mut self, sm: u32, place: Place, request: &LineRequest, load: u32, since: u64) {
        let head = self.sms[sm as usize].waiters[place.index() as usize];
        let waiter = self.requests.add(Request {
            line: request.line,
            sectors: request.sectors,
            full: SectorMask::NONE,
            kind: Kind::Read,
            sm,
            home: Home::NOWHERE,
            load,
            place: place.index(),
            warp: NONE,
            next: head,
            since,
        });
        self.sms[sm as usize].waiters[place.index() as usize] = waiter;
        self.watch_waiter(waiter);
    }

    /// A store passes through L1: what is there is updated, and a whole sector may come to be there.
    fn write_l1(&mut self, sm: u32, request: &LineRequest) {
        let allocate = self.config.l1.write_allocate;
        let l1 = &mut self.sms[sm as usize].l1;
        let set = Self::l1_set(l1.sets(), request.line);
        let mut place = l1.find(set, request.line);
        if place.is_none() && allocate {
            place = l1.insert(set, request.line).map(|(p, _)| p);
        }
        if let Some(p) = place {
            let line = l1.line_mut(p);
            let before = *line;
            line.valid = line.valid.or(request.full.without(line.pending));
            self.watch_l1_write(sm, p, request, before);
        }
    }

    fn atomic(&mut self, warp: u32, pc: u32, targets: &[u16], lines: &[LineRequest], at: u64) {
        let load = if targets.is_empty() {
            NONE
        } else {
            self.expect(warp, targets);
            let registers = targets.iter().copied().collect();
            self.loads.add(LoadOp {
                warp,
                epoch: self.warps[warp as usize].epoch,
                remaining: lines.len() as u32,
                ready: at,
                registers,
            })
        };
        self.send_all(warp, pc, lines, at, What::Atomic(load));
    }

    /// What an atomic changes at L2 is stale in this SM's L1.
    pub(super) fn drop_from_l1(&mut self, sm: u32, line: LineAddr) {
        let l1 = &mut self.sms[sm as usize].l1;
        let set = Self::l1_set(l1.sets(), line);
        if let Some(p) = l1.find(set, line) {
            let line = l1.line_mut(p);
            line.valid = SectorMask::NONE;
            line.overtaken = line.pending;
        }
    }

    /// Drops a range of lines from an SM's L1.
    pub(super) fn drop_range_from_l1(&mut self, sm: u32, lines: &Range<u64>) {
        let l1 = &mut self.sms[sm as usize].l1;
        for place in l1.places() {
            if lines.contains(&l1.address(place).0) {
                let line = l1.line_mut(place);
                line.valid = SectorMask::NONE;
                line.overtaken = line.pending;
            }
        }
    }

    /// Sends a request towards L2; it leaves the SM at core cycle `at` plus the latency of a miss, when the port is free.
    fn send(&mut self, sm: u32, line: &LineRequest, kind: Kind, load: u32, place: u32, at: u64) -> u32 {
        let since = at + u64::from(self.config.l1.miss_latency);
        let request = Request {
            line: line.line,
            sectors: line.sectors,
            full: line.full,
            kind,
            sm,
            home: self.interleave.home(line.line),
            load,
            place,
            warp: NONE,
            next: NONE,
            since,
        };
        let awaited = request.is_awaited();
        let request = self.requests.add(request);
        self.watch_sent(request, at);
        self.page_sent(line.line);
        let unit = &mut self.sms[sm as usize];
        if awaited && unit.outstanding >= self.config.l1.mshrs {
            unit.held.push_back(request);
            return request;
        }
        unit.outstanding += u32::from(awaited);
        self.stores_out += u32::from(!awaited);
        if !awaited {
            self.store_sets_out(request);
        }
        self.leave_sm(request, since);
        request
    }

    fn leave_sm(&mut self, request: u32, ready: u64) {
        let r = self.requests[request];
        self.stats.sent += 1;
        self.stats.wait_mshr += ready - r.since;
        if self.is_near(r.sm) {
            self.leaves_near(request, ready);
            return;
        }
        let data = if r.kind == Kind::Read { 0 } else { 32 * r.sectors.count() };
        let leaves = self.core_time(ready);
        let arrival = self.send_to_slice(r.sm, leaves, data);
        self.watch_leave(r.kind, ready - r.since, arrival - leaves);
        self.queue.push(arrival, Event::new(Event::L2, request));
    }

    /// A reply reaches its SM.
    pub(super) fn reply_arrives(&mut self, request: u32, t: Picos) {
        let r = self.requests[request];
        self.requests.remove(request);
        let cycle = self.core_cycle(t);
        self.sms[r.sm as usize].outstanding -= 1;
        self.stats.reply_latency += cycle - r.since;
        self.stats.replies += 1;
        self.watch_answer(request, &r);
        self.page_released(r.line);
        if r.place != NONE {
            self.fill_l1(&r, cycle);
        }
        if r.load != NONE {
            self.part_arrived(r.load, cycle);
        }
        if let Some(held) = self.sms[r.sm as usize].held.pop_front() {
            self.sms[r.sm as usize].outstanding += 1;
            let ready = cycle.max(self.requests[held].since);
            self.leave_sm(held, ready);
        }
    }

    fn fill_l1(&mut self, r: &Request, cycle: u64) {
        let sm = &mut self.sms[r.sm as usize];
        let place = Place::at(r.place);
        let line = sm.l1.line_mut(place);
        line.valid = line.valid.or(r.sectors.without(line.overtaken));
        line.pending = line.pending.without(r.sectors);
        line.overtaken = line.overtaken.without(r.sectors);
        let pending = line.pending;
        // Those whose sectors have all come go on; the others stay.
        let mut waiter = std::mem::replace(&mut sm.waiters[r.place as usize], NONE);
        while waiter != NONE {
            let w = self.requests[waiter];
            if w.sectors.and(pending).is_empty() {
                self.requests.remove(waiter);
                self.watch_waiter_served(waiter, &w);
                self.part_arrived(w.load, cycle);
            } else {
                let sm = &mut self.sms[r.sm as usize];
                self.requests[waiter].next = sm.waiters[r.place as usize];
                sm.waiters[r.place as usize] = waiter;
            }
            waiter = w.next;
        }
    }

    /// One part of a load is there.
    fn part_arrived(&mut self, load: u32, cycle: u64) {
        let l = &mut self.loads[load];
        l.ready = l.ready.max(cycle);
        l.remaining -= 1;
        if l.remaining == 0 {
            let (warp, epoch, ready) = (l.warp, l.epoch, l.ready);
            let registers = std::mem::take(&mut l.registers);
            self.loads.remove(load);
            if self.warps[warp as usize].epoch == epoch {
                self.deliver(warp, &registers, ready);
            }
        }
    }
}
