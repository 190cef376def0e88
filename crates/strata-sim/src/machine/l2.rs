//! L2: carries out what its slices decide ([`super::slice`]): fetches, write-backs and replies.
//!
//! A slice serves requests in order. One that needs memory and finds the miss queue or the MSHRs full blocks all behind it
//! (head-of-line blocking): that is how back-pressure of memory reaches the SMs.

use super::check::Mutation;
use super::slice::{Served, Service, SliceOutcome};
use super::sm_memory::{Request, RequestKind};
use super::{Event, Machine, NONE};
use crate::cache::{Evicted, LineState, SectorMask, WayIndex};
use crate::config::WritePolicy;
use crate::time::{Cycles, Picos};
use strata_core::{LineAddr, prefetch};

/// An outstanding L2 miss: the way that it fills, and the sectors that memory brings.
pub(super) struct Miss {
    pub(super) slice: u16,
    pub(super) way: u32,
    pub(super) sectors: SectorMask,
}

impl Machine {
    /// A request reaches its slice: it is served, or enqueued behind others.
    pub(super) fn l2_enqueue(&mut self, request: u32, t: Picos) {
        let slice = self.requests[request].home.slice;
        let now = self.config.clock.l2.next(t).0;
        if self.slices[usize::from(slice)].held.is_empty() && self.l2_access(request, now) {
            return;
        }
        self.slices[usize::from(slice)].held.push_back((request, now));
    }

    /// Serves a request from L2 cycle `now` on; false if it needs an MSHR or the miss queue and finds it full.
    fn l2_access(&mut self, request: u32, now: u64) -> bool {
        let r = self.requests[request];
        let slice = r.home.slice;
        let mut bytes = self.bytes_of_store(request, &r);
        if bytes != 0 && self.checker.as_mut().is_some_and(|c| c.omits(Mutation::ByteCount)) {
            bytes = u128::MAX;
        }
        let Some(served) = self.slices[usize::from(slice)].access(&r, bytes, now, &self.config.l2) else {
            return false;
        };
        let Served { service, evicted, aged, way, before, supplied, prefetched, ready, outcome } = served;
        let requester = self.requester_of(request);
        self.count_service(r.kind, service);
        if let Some(left) = evicted {
            self.l2_evict(slice, &left, service.ready);
        }
        if let Some(old) = aged {
            self.write_back(old.line, old.sectors, old.valid, service.ready);
        }
        self.probe_l2_access(request, before, service.ready);
        if !supplied.is_empty() {
            self.victim_supplied(request, supplied);
        }
        match outcome {
            SliceOutcome::Stored { through } => {
                if let Some(valid) = through {
                    self.write_back(r.line, r.sectors, valid, ready);
                }
                self.complete_store(request, ready);
                self.requests.remove(request);
                self.page_released(r.line);
            }
            SliceOutcome::WriteMiss { valid, fetch } => {
                self.write_back(r.line, r.sectors, valid, ready);
                self.slices[usize::from(slice)].enqueue_waiter(way, request, &mut self.requests);
                if !fetch.is_empty() {
                    let miss = self.misses.add(Miss { slice, way: way.index(), sectors: fetch });
                    self.fetch(r.home, r.line, fetch, valid, miss, ready);
                }
            }
            SliceOutcome::Hit => self.reply(request, ready),
            SliceOutcome::Merged => self.slices[usize::from(slice)].enqueue_waiter(way, request, &mut self.requests),
            SliceOutcome::Miss(sectors) => {
                self.slices[usize::from(slice)].enqueue_waiter(way, request, &mut self.requests);
                let miss = self.misses.add(Miss { slice, way: way.index(), sectors });
                self.fetch(r.home, r.line, sectors, before.valid.or(supplied), miss, ready);
            }
        }
        if let Some(requester) = requester {
            self.prefetch_into_l2(&r, requester, outcome, prefetched, service.ready);
        }
        true
    }

    /// Counts the time that a slice spends on a request.
    #[inline]
    pub(super) fn count_service(&mut self, kind: RequestKind, service: Service) {
        self.stats.wait_slice += service.waited;
        self.probe_slice(kind, service.waited, service.latency);
    }

    /// A slice has evicted a line at L2 cycle `ready`: writes its dirty sectors back.
    pub(super) fn l2_evict(&mut self, slice: u16, left: &Evicted, ready: u64) {
        if self.slices[usize::from(slice)].victim.is_some() {
            self.probe_evict(left.line, left.clean());
        }
        if !left.dirty.is_empty() {
            self.write_back(left.line, left.dirty, left.valid, ready);
        }
    }

    /// The victim buffer has supplied sectors to a request: it is told what the memory side of the line's partition notes.
    #[cold]
    fn victim_supplied(&mut self, request: u32, supplied: SectorMask) {
        let r = &self.requests[request];
        let (line, home) = (r.line, r.home);
        let note = self.sides.as_ref().map_or(SectorMask::NONE, |sides| sides.note(home));
        if let Some(buffer) = &mut self.slices[usize::from(home.slice)].victim {
            buffer.supplied(line, supplied, note);
        }
        self.probe_victim_supply(line, supplied);
    }

    /// The bytes that a store writes which does not cover its sectors, if L2 keeps such.
    #[inline]
    pub(super) fn bytes_of_store(&self, request: u32, r: &Request) -> u128 {
        if !self.config.l2.byte_masks || r.kind != RequestKind::Write || r.sectors == r.full {
            return 0;
        }
        self.store_bytes[request as usize]
    }

    /// Notes the bytes that a store writes which does not cover its sectors.
    #[inline]
    pub(super) fn record_store_bytes(&mut self, request: u32, bytes: u128) {
        let r = &self.requests[request];
        if self.config.l2.byte_masks && r.kind == RequestKind::Write && r.sectors != r.full {
            let at = request as usize;
            if self.store_bytes.len() <= at {
                self.store_bytes.resize(at + 1, 0);
            }
            self.store_bytes[at] = bytes;
        }
    }

    /// Completes a request: sends the reply, or ends a reduction that expects none.
    fn reply(&mut self, request: u32, ready: u64) {
        let r = self.requests[request];
        self.probe_l2_reply(request, ready);
        if r.kind == RequestKind::Atomic && self.config.l2.write == WritePolicy::Through {
            let valid = self.l2_state(r.line).1.valid;
            self.write_back(r.line, r.sectors, valid, ready);
        }
        if !r.expects_reply() {
            self.complete_store(request, ready);
            self.requests.remove(request);
            self.page_released(r.line);
            return;
        }
        let ready = self.config.clock.l2.edge(Cycles(ready));
        let arrival = self.send_to_sm(r.home.slice, r.sm, ready, r.sectors.count());
        self.probe_reply_port(r.kind, arrival - ready);
        self.queue.push(arrival, Event::new(Event::REPLY, request));
    }

    /// Sends a reply with so many sectors of data from a slice to an SM; when it is there. `ready`: when the slice has the data.
    #[inline]
    fn send_to_sm(&mut self, slice: u16, sm: u32, ready: Picos, sectors: u32) -> Picos {
        let crossing = self.crossbar.send_to_sm(slice, sm, ready, sectors);
        self.stats.wait_reply_port += crossing.waited;
        crossing.arrival
    }

    /// A store or a reduction is performed at L2 cycle `ready`; acknowledges it, if its warp waits for that.
    fn complete_store(&mut self, request: u32, ready: u64) {
        self.stats.stores += 1;
        self.stores_out -= 1;
        let time = self.config.clock.l2.edge(Cycles(ready));
        self.last_store = self.last_store.max(time);
        let r = self.requests[request];
        self.complete_tracked_store(request, self.visible_at(r.home.partition, time));
        if r.warp != NONE {
            let arrival = self.send_to_sm(r.home.slice, r.sm, time, 0);
            self.queue.push(arrival, Event::new(Event::STORED, r.warp));
        }
    }

    /// Writes dirty sectors of a line to memory; `valid` are the sectors that L2 has, or had until now.
    pub(super) fn write_back(&mut self, line: LineAddr, dirty: SectorMask, valid: SectorMask, ready: u64) {
        let home = self.interleave.home(line);
        self.slices[usize::from(home.slice)].stats.write_backs += u64::from(dirty.count());
        self.send_write_back(home, line, dirty, valid, ready);
    }

    /// Fills an outstanding miss, replies to the requests merged with it, and retries those that waited for an MSHR.
    pub(super) fn l2_fill(&mut self, miss: u32, t: Picos) {
        let Miss { slice, way, sectors } = self.misses[miss];
        self.misses.remove(miss);
        let way = WayIndex::at(way);
        let (valid, stale) = self.slices[usize::from(slice)].fill(way, sectors);
        self.probe_fill(miss, slice, way, sectors);
        if !stale.is_empty() {
            self.refetch(slice, way, stale, t);
        }
        let ready = self.config.clock.l2.next(t).0;
        let mut waiting = self.slices[usize::from(slice)].take_waiters(way);
        let mut lost = SectorMask::NONE;
        while let Some(request) =
            self.slices[usize::from(slice)].next_ready(&mut waiting, way, valid, &mut self.requests, &mut lost)
        {
            self.reply(request, ready);
        }
        if !lost.is_empty() {
            self.slices[usize::from(slice)].expect(way, lost);
            self.refetch(slice, way, lost, t);
        }
        self.retry_slice(slice, t);
    }

    /// The sectors were invalidated while they were pending: fetches them again.
    #[cold]
    fn refetch(&mut self, slice: u16, way: WayIndex, sectors: SectorMask, t: Picos) {
        let s = &mut self.slices[usize::from(slice)];
        s.refetch(sectors);
        let (line, resident) = (s.tags.address(way), s.tags.line(way).valid);
        let miss = self.misses.add(Miss { slice, way: way.index(), sectors });
        let ready = self.config.clock.l2.next(t).0;
        self.fetch(self.interleave.home(line), line, sectors, resident, miss, ready);
    }

    /// Retries the requests in a slice's input queue, after an MSHR or room in the miss queue has become free.
    pub(super) fn retry_slice(&mut self, slice: u16, t: Picos) {
        if self.slices[usize::from(slice)].held.is_empty() {
            return;
        }
        let now = self.config.clock.l2.next(t).0;
        while let Some((request, since)) = self.slices[usize::from(slice)].retryable(&self.config.l2) {
            let at = now.max(since);
            // The request may be gone when it has been served.
            let kind = self.requests[request].kind;
            if !self.l2_access(request, at) {
                return;
            }
            self.stats.wait_memory_queue += at - since;
            self.probe_queue_wait(kind, at - since);
            let held = &mut self.slices[usize::from(slice)].held;
            held.pop_front();
            // Those behind have waited for long: the host's caches have forgotten them.
            if let Some(request) = held.get(1).and_then(|&(request, _)| self.requests.get(request)) {
                prefetch(request);
            }
        }
    }

    /// The host writes sectors of a line, some of them whole: memory has them at once, and L2 where it has the line or, with
    /// `allocate`, makes room for it.
    pub(super) fn host_write_line(&mut self, line: LineAddr, touched: SectorMask, whole: SectorMask, allocate: bool) {
        let home = self.interleave.home(line);
        let written = self.slices[usize::from(home.slice)].host_write(home.set, line, touched, whole, allocate);
        let now = self.config.clock.l2.next(self.now).0;
        if let Some(left) = written.evicted {
            self.l2_evict(home.slice, &left, now);
        }
        self.probe_host_write(line, touched, whole, written.before);
        if let Some(old) = written.aged {
            self.write_back(old.line, old.sectors, old.valid, now);
        }
    }

    /// Invalidates a line in L2, of which memory has newer data; pending sectors will be fetched again.
    pub(super) fn invalidate_l2(&mut self, line: LineAddr) {
        let home = self.interleave.home(line);
        self.slices[usize::from(home.slice)].invalidate(home.set, line);
    }

    /// The slice of a line and its state there, without touching its recency; an absent line has no valid sector.
    pub(super) fn l2_state(&self, line: LineAddr) -> (u16, LineState) {
        let home = self.interleave.home(line);
        let tags = &self.slices[usize::from(home.slice)].tags;
        (home.slice, tags.peek(home.set, line).copied().unwrap_or_default())
    }
}
