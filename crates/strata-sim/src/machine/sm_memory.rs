//! The memory side of an SM: coalescing, L1, shared and constant memory, loads that wait for their data.

use super::issue::is_idle;
use super::{Event, Machine, NONE};
use crate::cache::{Place, SectorMask};
use crate::coalesce::{LineRequest, bank_conflicts, coalesce};
use crate::time::Picos;
use crate::view::{Action, MicroOp};
use arrayvec::ArrayVec;
use strata_core::{LineAddr, Space, WarpOp};

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
    /// The load that waits for it, or [`NONE`].
    pub(super) load: u32,
    /// Where it fills in L1, or [`NONE`].
    place: u32,
    /// Next in a list of requests that wait for the same thing.
    pub(super) next: u32,
}

/// A load whose data has not all arrived.
pub(super) struct LoadOp {
    warp: u32,
    /// Requests still out.
    remaining: u32,
    /// When the data that is known to come is there, core cycles.
    ready: u64,
    registers: ArrayVec<u32, 8>,
}

impl Machine {
    /// A memory operation issues at core cycle `at`.
    pub(super) fn memory_op(&mut self, warp: u32, op: &MicroOp, executed: WarpOp, at: u64) {
        if is_idle(&executed) {
            self.deliver(warp, &op.dst, at + 1);
            return;
        }
        let set = self.warps[warp as usize].batch.addresses[executed.addresses as usize];
        match set.space {
            Space::Shared => self.shared_access(warp, op, executed, at),
            Space::Const | Space::Param => self.constant_access(warp, op, executed, at),
            _ => self.global_access(warp, op, executed, at),
        }
    }

    fn shared_access(&mut self, warp: u32, op: &MicroOp, executed: WarpOp, at: u64) {
        let w = &self.warps[warp as usize];
        let addresses = &w.batch.addresses[executed.addresses as usize].lanes;
        let cycles = u64::from(bank_conflicts(addresses, executed.mask, op.width, self.config.shared.banks));
        let sm = &mut self.sms[w.sm as usize];
        let start = at.max(sm.shared_free);
        sm.shared_free = start + cycles;
        self.stats.shared_accesses += 1;
        self.stats.shared_conflict_cycles += cycles - 1;
        let ready = start + cycles - 1 + u64::from(self.config.shared.latency);
        self.deliver(warp, &op.dst, ready);
    }

    fn constant_access(&mut self, warp: u32, op: &MicroOp, executed: WarpOp, at: u64) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        let w = &self.warps[warp as usize];
        let addresses = &w.batch.addresses[executed.addresses as usize].lanes;
        coalesce(addresses, executed.mask, op.width, &mut lines);
        let sm = w.sm;
        let latency = u64::from(self.config.constant.latency);
        let mut missing = 0;
        for request in &lines {
            let tags = &mut self.sms[sm as usize].constants;
            let set = request.line.0 as u32 % tags.sets();
            if tags.find(set, request.line).is_none() {
                tags.insert(set, request.line);
                missing += 1;
            }
        }
        self.stats.constant_accesses += lines.len() as u64;
        self.stats.constant_misses += missing;
        if missing == 0 || op.dst.is_empty() {
            self.deliver(warp, &op.dst, at + latency + lines.len() as u64 - 1);
        } else {
            self.send_load(warp, op, &lines, at + latency);
        }
        self.lines = lines;
    }

    fn global_access(&mut self, warp: u32, op: &MicroOp, executed: WarpOp, at: u64) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        let set = &self.warps[warp as usize].batch.addresses[executed.addresses as usize];
        coalesce(&set.lanes, executed.mask, op.width, &mut lines);
        let local = set.space == Space::Local;
        if !self.config.l1.sectored {
            for request in &mut lines {
                request.sectors = SectorMask::ALL;
            }
        }
        let stores = op.dst.is_empty() && op.action != Action::Load;
        if op.action == Action::Atomic {
            self.atomic(warp, op, &lines, at);
        } else if stores {
            self.store(warp, &lines, at);
        } else if (self.config.l1.global_loads || local || op.read_only) && !op.bypass_l1 {
            self.cached_load(warp, op, &lines, at);
        } else {
            self.stats.l1_bypasses += lines.len() as u64;
            self.send_load(warp, op, &lines, at);
        }
        self.lines = lines;
    }

    /// The cycle at which the load/store unit takes a line request that comes at `at`.
    fn through_lsu(&mut self, sm: u32, at: u64, sectors: SectorMask) -> u64 {
        let l1 = &self.config.l1;
        let by_request = (16.0 / l1.requests_per_cycle) as u64;
        let by_bytes = u64::from(sectors.count()) * 32 * 16 / u64::from(l1.bytes_per_cycle);
        let sm = &mut self.sms[sm as usize];
        let start = sm.lsu_free.max(at * 16);
        sm.lsu_free = start + by_request.max(by_bytes);
        start / 16
    }

    /// A load that goes to L2 without looking into L1.
    fn send_load(&mut self, warp: u32, op: &MicroOp, lines: &[LineRequest], at: u64) {
        let sm = self.warps[warp as usize].sm;
        let registers = op.dst.iter().copied().collect();
        let load = self.loads.add(LoadOp { warp, remaining: lines.len() as u32, ready: at, registers });
        self.expect(warp, op);
        for request in lines {
            let taken = self.through_lsu(sm, at, request.sectors);
            self.send(sm, request, Kind::Read, load, NONE, taken);
        }
    }

    fn cached_load(&mut self, warp: u32, op: &MicroOp, lines: &[LineRequest], at: u64) {
        let sm = self.warps[warp as usize].sm;
        let latency = u64::from(self.config.l1.latency);
        let registers: ArrayVec<u32, 8> = op.dst.iter().copied().collect();
        let load = self.loads.add(LoadOp { warp, remaining: 1, ready: at, registers });
        for request in lines {
            let taken = self.through_lsu(sm, at, request.sectors);
            self.stats.l1_accesses += 1;
            let unit = &mut self.sms[sm as usize];
            let set = (request.line.0 ^ request.line.0 >> 7) as u32 % unit.l1.sets();
            let place = unit.l1.find(set, request.line);
            let (valid, pending) = place.map_or_else(Default::default, |p| {
                let line = unit.l1.line(p);
                (line.valid, line.pending)
            });
            let wanted = request.sectors;
            if wanted.without(valid).is_empty() {
                self.stats.l1_hits += 1;
                let ready = taken + latency;
                self.loads[load].ready = self.loads[load].ready.max(ready);
                continue;
            }
            self.loads[load].remaining += 1;
            if let Some(p) = place
                && wanted.without(valid.or(pending)).is_empty()
            {
                // Everything missing is on its way: wait for it.
                self.stats.l1_merges += 1;
                self.wait_for_line(sm, p, request, load);
                continue;
            }
            self.stats.l1_misses += 1;
            let room = place.or_else(|| unit.l1.insert(set, request.line).map(|(p, _)| p));
            let missing = LineRequest { sectors: wanted.without(valid.or(pending)), ..*request };
            let Some(p) = room else {
                // Every way waits for data: the request goes out without a place.
                self.send(sm, request, Kind::Read, load, NONE, taken);
                continue;
            };
            let line = unit.l1.line_mut(p);
            line.pending = line.pending.or(missing.sectors);
            if !wanted.and(pending).is_empty() {
                self.loads[load].remaining += 1;
                self.wait_for_line(sm, p, request, load);
            }
            self.send(sm, &missing, Kind::Read, load, p.index(), taken);
        }
        self.expect(warp, op);
        self.part_arrived(load, 0);
    }

    /// A load waits for a line that another request brings.
    fn wait_for_line(&mut self, sm: u32, place: Place, request: &LineRequest, load: u32) {
        let head = self.sms[sm as usize].waiters[place.index() as usize];
        let waiter = self.requests.add(Request {
            line: request.line,
            sectors: request.sectors,
            full: SectorMask::NONE,
            kind: Kind::Read,
            sm,
            load,
            place: place.index(),
            next: head,
        });
        self.sms[sm as usize].waiters[place.index() as usize] = waiter;
    }

    fn store(&mut self, warp: u32, lines: &[LineRequest], at: u64) {
        let sm = self.warps[warp as usize].sm;
        for request in lines {
            let taken = self.through_lsu(sm, at, request.sectors);
            self.stats.l1_writes += 1;
            self.send(sm, request, Kind::Write, NONE, NONE, taken);
        }
    }

    fn atomic(&mut self, warp: u32, op: &MicroOp, lines: &[LineRequest], at: u64) {
        let sm = self.warps[warp as usize].sm;
        let returns = !op.dst.is_empty();
        let load = if returns {
            let registers = op.dst.iter().copied().collect();
            self.expect(warp, op);
            self.loads.add(LoadOp { warp, remaining: lines.len() as u32, ready: at, registers })
        } else {
            NONE
        };
        for request in lines {
            let taken = self.through_lsu(sm, at, request.sectors);
            self.stats.atomics += 1;
            self.send(sm, request, Kind::Atomic, load, NONE, taken);
        }
    }

    /// Sends a request towards L2; it leaves the SM at core cycle `at` plus the latency of a miss, when the port is free.
    fn send(&mut self, sm: u32, line: &LineRequest, kind: Kind, load: u32, place: u32, at: u64) {
        let request = self.requests.add(Request {
            line: line.line,
            sectors: line.sectors,
            full: line.full,
            kind,
            sm,
            load,
            place,
            next: NONE,
        });
        let waits = kind == Kind::Read || load != NONE;
        if waits && self.sms[sm as usize].outstanding >= self.config.l1.mshrs {
            self.stats.mshr_stalls += 1;
            self.sms[sm as usize].held.push_back(request);
            return;
        }
        self.leave_sm(request, at);
    }

    fn leave_sm(&mut self, request: u32, at: u64) {
        let r = self.requests[request];
        let crossbar = &self.config.crossbar;
        let data = if r.kind == Kind::Read { 0 } else { 32 * r.sectors.count() };
        let bytes = crossbar.header_bytes + data;
        let ready = self.core_time(at + u64::from(self.config.l1.miss_latency));
        let (arrival, free) =
            self.cross(ready, self.sms[r.sm as usize].out_free, bytes, crossbar.sm_out_bytes, crossbar.request_cycles);
        let sm = &mut self.sms[r.sm as usize];
        sm.out_free = free;
        if r.kind == Kind::Read || r.load != NONE {
            sm.outstanding += 1;
        }
        self.queue.push(arrival, Event::new(Event::L2, request));
    }

    /// Sends bytes through a port that is free at `free`: when they arrive, and when the port is free again.
    pub(super) fn cross(&self, ready: Picos, free: Picos, bytes: u32, per_cycle: u32, cycles: u32) -> (Picos, Picos) {
        let clock = self.config.clock.interconnect;
        let start = clock.next(ready.max(free));
        let busy = u64::from(bytes.div_ceil(per_cycle.max(1)));
        let end = crate::time::Cycles(start.0 + busy);
        (clock.edge(crate::time::Cycles(end.0 + u64::from(cycles))), clock.edge(end))
    }

    /// A reply reaches its SM.
    pub(super) fn reply_arrives(&mut self, request: u32, t: Picos) {
        let r = self.requests[request];
        self.requests.remove(request);
        let cycle = self.core_cycle(t);
        self.sms[r.sm as usize].outstanding -= 1;
        if r.place != NONE {
            self.fill_l1(&r, cycle);
        }
        if r.load != NONE {
            self.part_arrived(r.load, cycle);
        }
        if let Some(held) = self.sms[r.sm as usize].held.pop_front() {
            self.leave_sm(held, cycle);
        }
    }

    fn fill_l1(&mut self, r: &Request, cycle: u64) {
        let sm = &mut self.sms[r.sm as usize];
        let place = Place::at(r.place);
        let line = sm.l1.line_mut(place);
        line.valid = line.valid.or(r.sectors);
        line.pending = line.pending.without(r.sectors);
        let valid = line.valid;
        // Those whose sectors are all here now go on; the others stay.
        let mut waiter = std::mem::replace(&mut sm.waiters[r.place as usize], NONE);
        while waiter != NONE {
            let w = self.requests[waiter];
            if w.sectors.without(valid).is_empty() {
                self.requests.remove(waiter);
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
            let (warp, ready) = (l.warp, l.ready);
            let registers = std::mem::take(&mut l.registers);
            self.loads.remove(load);
            self.deliver(warp, &registers, ready);
        }
    }
}
