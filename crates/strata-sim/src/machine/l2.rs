//! L2: slices of a sectored cache behind the crossbar.
//!
//! A slice takes requests in the order in which they come. One that needs memory and finds its queue or its MSHRs full waits,
//! and all behind it wait with it: that is how a slow memory is felt by the SMs.

use super::crossbar::Port;
use super::home::Home;
use super::sm_memory::Kind;
use super::{Event, Machine, NONE};
use crate::cache::{Line, Place, SectorMask, Tags};
use crate::config::{GpuConfig, WritePolicy};
use crate::stats::SliceStats;
use crate::time::{Cycles, Picos};
use std::collections::VecDeque;
use strata_core::LineAddr;

/// An L2 slice.
pub(super) struct Slice {
    pub(super) tags: Tags,
    /// Requests that wait for a line on its way, by place.
    waiters: Vec<u32>,
    /// When it takes the next request, in sixteenths of an L2 cycle.
    free: u64,
    /// Its port to the crossbar.
    pub(super) port: Port,
    /// Requests that wait for room, in order, with the L2 cycle since when.
    pub(super) held: VecDeque<(u32, u64)>,
    /// Lines under way from memory.
    pub(super) outstanding: u32,
    /// Requests to memory that their channel has not accepted yet, or a memory side has not come to the last step of.
    pub(super) queued: u32,
    /// Write-backs that a memory side has not come to the end of.
    pub(super) posted: u32,
    pub(super) stats: SliceStats,
}

impl Slice {
    pub(super) fn new(config: &GpuConfig) -> Self {
        let l2 = &config.l2;
        Self {
            tags: Tags::with_young(l2.sets, l2.ways, l2.eager_write_back),
            waiters: vec![NONE; (l2.sets * l2.ways) as usize],
            free: 0,
            port: Port::default(),
            held: VecDeque::new(),
            outstanding: 0,
            queued: 0,
            posted: 0,
            stats: SliceStats::default(),
        }
    }

    /// Memory will bring more sectors of a line than were asked for: who wants one of them meanwhile waits for this fill.
    /// Those that are taken of it: not the ones that are there, nor the ones that another fill brings, for a line must stay
    /// until the last of its fills has come.
    pub(super) fn will_fill(&mut self, place: u32, more: SectorMask) -> SectorMask {
        let line = self.tags.line_mut(Place::at(place));
        let taken = more.without(line.valid.or(line.pending));
        line.pending = line.pending.or(taken);
        self.stats.fetches += u64::from(taken.count());
        self.stats.fetched_along += u64::from(taken.count());
        taken
    }

    /// True if two more requests to memory (a miss and what had to leave for it) find room.
    /// A memory side holds as many write-backs as there are misses (choice), so that its slowness is felt here.
    fn has_room(&self, config: &GpuConfig) -> bool {
        let mshrs = config.l2.mshrs;
        self.queued + 2 <= config.l2.miss_queue && self.outstanding < mshrs && self.posted < mshrs
    }
}

/// Sectors that memory brings for a line.
pub(super) struct Miss {
    pub(super) slice: u16,
    pub(super) place: u32,
    pub(super) sectors: SectorMask,
}

impl Machine {
    /// A request reaches its slice.
    pub(super) fn l2_arrives(&mut self, request: u32, t: Picos) {
        let slice = self.requests[request].home.slice;
        let now = self.config.clock.l2.next(t).0;
        if self.slices[usize::from(slice)].held.is_empty() && self.l2_access(request, now) {
            return;
        }
        self.slices[usize::from(slice)].held.push_back((request, now));
    }

    /// Serves a request from L2 cycle `now` on; false if it finds no room to ask memory.
    fn l2_access(&mut self, request: u32, now: u64) -> bool {
        let r = self.requests[request];
        let slice = r.home.slice;
        let s = &mut self.slices[usize::from(slice)];
        let set = r.home.set;
        let known = s.tags.find(set, r.line);
        let has_room = s.has_room(&self.config);
        let served = known.is_some_and(|p| r.kind == Kind::Write || r.sectors.without(s.tags.line(p).valid).is_empty());
        if !has_room && (!served || self.config.l2.write == WritePolicy::Through) {
            return false;
        }
        let Some((place, victim)) = known.map(|p| (p, None)).or_else(|| s.tags.insert(set, r.line)) else {
            return false;
        };
        let aged = s.tags.take_crossed();
        let partial = if r.kind == Kind::Write { r.sectors.without(r.full) } else { SectorMask::NONE };
        let ready = self.occupy(slice, r.kind, r.sectors, partial, now);
        if let Some(v) = victim {
            self.tell_evicted(slice, v.line, v.clean());
            if !v.dirty.is_empty() {
                self.write_back(v.line, v.dirty, v.valid, ready);
            }
        }
        if let Some(old) = aged {
            self.clean(slice, old, ready);
        }
        self.watch_l2(request, *self.slices[usize::from(slice)].tags.line(place), ready);
        match r.kind {
            Kind::Write => self.l2_write(place, request, ready),
            Kind::Read | Kind::Atomic => self.l2_read(place, request, ready),
        }
        true
    }

    /// Takes the slice's time for a request, of whose sectors `partial` are written in part: the L2 cycle at which a hit
    /// has its data.
    pub(super) fn occupy(&mut self, slice: u16, kind: Kind, sectors: SectorMask, partial: SectorMask, now: u64) -> u64 {
        let l2 = &self.config.l2;
        let whole = u64::from(sectors.count() - partial.count()) * 32 * 16 / u64::from(l2.bytes_per_cycle);
        let service = (whole + u64::from(partial.count() * l2.partial_write_cycles) * 16).max(1);
        let s = &mut self.slices[usize::from(slice)];
        let start = s.free.max(now * 16);
        s.free = start + service;
        self.stats.wait_slice += (start - now * 16) / 16;
        let latency = l2.latency + if kind == Kind::Atomic { l2.atomic_cycles } else { 0 };
        self.watch_slice(kind, (start - now * 16) / 16, latency);
        start / 16 + u64::from(latency)
    }

    fn l2_write(&mut self, place: Place, request: u32, ready: u64) {
        let r = self.requests[request];
        let s = &mut self.slices[usize::from(r.home.slice)];
        let line = s.tags.line_mut(place);
        let count = u64::from(r.sectors.count());
        let hit = r.sectors.without(line.valid.or(line.dirty)).is_empty();
        // A sector that is written whole needs no data from memory; one that is written in part stays as it was.
        line.valid = line.valid.or(r.full.without(line.pending));
        s.stats.writes += count;
        s.stats.write_hits += if hit { count } else { 0 };
        match self.config.l2.write {
            WritePolicy::Back => line.dirty = line.dirty.or(r.sectors),
            WritePolicy::Through => {
                let valid = line.valid;
                self.write_back(r.line, r.sectors, valid, ready);
            }
        }
        self.tell_written(r.home.slice, r.line, r.sectors);
        self.store_done(request, ready);
        self.requests.remove(request);
        self.page_released(r.line);
    }

    /// A line has left a slice: its victim buffer may take what is clean.
    #[inline]
    fn tell_evicted(&mut self, slice: u16, line: LineAddr, clean: SectorMask) {
        if let Some(buffers) = &mut self.victims {
            buffers[usize::from(slice)].evicted(line, clean);
            self.watch_evicted(line, clean);
        }
    }

    /// What a victim buffer has of these sectors is stale.
    #[inline]
    pub(super) fn tell_written(&mut self, slice: u16, line: LineAddr, sectors: SectorMask) {
        if let Some(buffers) = &mut self.victims {
            buffers[usize::from(slice)].written(line, sectors);
        }
    }

    fn l2_read(&mut self, place: Place, request: u32, mut ready: u64) {
        let r = self.requests[request];
        let slice = r.home.slice;
        if r.kind == Kind::Atomic {
            self.tell_written(slice, r.line, r.sectors);
        }
        if self.victims.is_some() {
            ready += self.ask_victims(r.home, place, r.line, r.sectors);
        }
        let s = &mut self.slices[usize::from(slice)];
        let line = s.tags.line_mut(place);
        let missing = r.sectors.without(line.valid);
        s.stats.reads += u64::from(r.sectors.count());
        s.stats.read_hits += u64::from(r.sectors.and(line.valid).count());
        if r.kind == Kind::Atomic && self.config.l2.write == WritePolicy::Back {
            line.dirty = line.dirty.or(r.sectors);
        }
        if missing.is_empty() {
            self.reply(request, ready);
            return;
        }
        let wanted = if self.config.l2.sectored { missing } else { SectorMask::ALL.without(line.valid) };
        let to_fetch = wanted.without(line.pending);
        s.stats.read_awaited += u64::from(missing.and(line.pending).count());
        s.stats.fetches += u64::from(to_fetch.count());
        s.stats.fetched_along += u64::from(to_fetch.without(missing).count());
        line.pending = line.pending.or(to_fetch);
        self.requests[request].next = s.waiters[place.index() as usize];
        s.waiters[place.index() as usize] = request;
        if to_fetch.is_empty() {
            s.stats.merges += 1;
        } else {
            s.outstanding += 1;
            let miss = self.misses.add(Miss { slice, place: place.index(), sectors: to_fetch });
            self.fetch(r.home, r.line, to_fetch, miss, ready);
        }
    }

    /// Takes what the slice's victim buffer has of sectors that L2 lacks: the L2 cycles that it takes.
    #[cold]
    fn ask_victims(&mut self, home: Home, place: Place, named: LineAddr, sectors: SectorMask) -> u64 {
        let Some(buffers) = &mut self.victims else { return 0 };
        let line = self.slices[usize::from(home.slice)].tags.line_mut(place);
        let lacking = sectors.without(line.valid.or(line.pending));
        if lacking.is_empty() {
            return 0;
        }
        let buffer = &mut buffers[usize::from(home.slice)];
        let (supplied, cycles) = buffer.missed(named, lacking);
        if !supplied.is_empty() {
            let note = self.sides.as_ref().map_or(SectorMask::NONE, |sides| sides.note(home));
            buffer.supplied(named, supplied, note);
        }
        line.valid = line.valid.or(supplied);
        self.watch_supplied(named, supplied);
        u64::from(cycles)
    }

    /// Sends the answer to a request, if somebody waits for one.
    fn reply(&mut self, request: u32, ready: u64) {
        let r = self.requests[request];
        self.watch_served(request, ready);
        if r.kind == Kind::Atomic && self.config.l2.write == WritePolicy::Through {
            let valid = self.l2_state(r.line).1.valid;
            self.write_back(r.line, r.sectors, valid, ready);
        }
        if r.load == NONE {
            self.store_done(request, ready);
            self.requests.remove(request);
            self.page_released(r.line);
            return;
        }
        let ready = self.config.clock.l2.edge(Cycles(ready));
        let arrival = self.send_to_sm(r.home.slice, r.sm, ready, 32 * r.sectors.count());
        self.watch_reply(r.kind, arrival - ready);
        self.queue.push(arrival, Event::new(Event::REPLY, request));
    }

    /// A store or a reduction has taken effect at L2 cycle `ready`.
    fn store_done(&mut self, request: u32, ready: u64) {
        self.stats.stores += 1;
        self.stores_out -= 1;
        let time = self.config.clock.l2.edge(Cycles(ready));
        self.last_store = self.last_store.max(time);
        let r = self.requests[request];
        self.store_took_effect(request, self.in_memory(r.home.partition, time));
        if r.warp != NONE {
            let arrival = self.send_to_sm(r.home.slice, r.sm, time, 0);
            self.queue.push(arrival, Event::new(Event::STORED, r.warp));
        }
    }

    /// Writes back what is dirty in a line that stays.
    fn clean(&mut self, slice: u16, place: Place, ready: u64) {
        let s = &mut self.slices[usize::from(slice)];
        let state = s.tags.line_mut(place);
        let (dirty, valid) = (std::mem::take(&mut state.dirty), state.valid);
        if !dirty.is_empty() {
            let line = s.tags.address(place);
            s.stats.eager_write_backs += u64::from(dirty.count());
            self.write_back(line, dirty, valid, ready);
        }
    }

    /// Writes dirty sectors of a line to memory; `valid` are the sectors that L2 has, or had until now.
    pub(super) fn write_back(&mut self, line: LineAddr, dirty: SectorMask, valid: SectorMask, ready: u64) {
        let home = self.interleave.home(line);
        self.slices[usize::from(home.slice)].stats.write_backs += u64::from(dirty.count());
        self.put(home, line, dirty, valid, ready);
    }

    /// Memory has delivered sectors of a line.
    pub(super) fn l2_fills(&mut self, miss: u32, t: Picos) {
        let Miss { slice, place, sectors } = self.misses[miss];
        self.misses.remove(miss);
        let s = &mut self.slices[usize::from(slice)];
        s.outstanding -= 1;
        s.stats.fills += u64::from(sectors.count());
        let line = s.tags.line_mut(Place::at(place));
        let stale = sectors.and(line.overtaken);
        line.valid = line.valid.or(sectors.without(stale));
        line.pending = line.pending.without(sectors.without(stale));
        line.overtaken = line.overtaken.without(stale);
        let valid = line.valid;
        self.watch_fill(miss, slice, Place::at(place), sectors);
        if !stale.is_empty() {
            self.fetch_again(slice, Place::at(place), stale, t);
        }
        let s = &mut self.slices[slice as usize];
        let ready = self.config.clock.l2.next(t).0;
        let mut waiter = std::mem::replace(&mut s.waiters[place as usize], NONE);
        while waiter != NONE {
            let next = self.requests[waiter].next;
            if self.requests[waiter].sectors.without(valid).is_empty() {
                self.reply(waiter, ready);
            } else {
                let s = &mut self.slices[usize::from(slice)];
                self.requests[waiter].next = s.waiters[place as usize];
                s.waiters[place as usize] = waiter;
            }
            waiter = next;
        }
        self.resume_slice(slice, t);
    }

    /// What memory delivered was overtaken by a change there: it is asked once more.
    #[cold]
    fn fetch_again(&mut self, slice: u16, place: Place, sectors: SectorMask, t: Picos) {
        let s = &mut self.slices[usize::from(slice)];
        s.outstanding += 1;
        s.stats.fetches += u64::from(sectors.count());
        s.stats.fetched_along += u64::from(sectors.count());
        let line = s.tags.address(place);
        let miss = self.misses.add(Miss { slice, place: place.index(), sectors });
        let ready = self.config.clock.l2.next(t).0;
        self.fetch(self.interleave.home(line), line, sectors, miss, ready);
    }

    /// There may be room again for what waits at a slice.
    pub(super) fn resume_slice(&mut self, slice: u16, t: Picos) {
        let now = self.config.clock.l2.next(t).0;
        while let Some(&(request, since)) = self.slices[usize::from(slice)].held.front() {
            let at = now.max(since);
            // The request may be gone when it has been served.
            let kind = self.requests[request].kind;
            if !self.l2_access(request, at) {
                return;
            }
            self.stats.wait_memory_queue += at - since;
            self.watch_room(kind, at - since);
            self.slices[usize::from(slice)].held.pop_front();
        }
    }

    /// The host writes sectors of a line, some of them whole: memory has them at once, and L2 where it has the line or, with
    /// `allocate`, makes room for it.
    pub(super) fn line_from_host(&mut self, line: LineAddr, touched: SectorMask, whole: SectorMask, allocate: bool) {
        let home = self.interleave.home(line);
        let s = &mut self.slices[usize::from(home.slice)];
        let found = s.tags.find(home.set, line).map(|p| (p, None));
        let room = if allocate { found.or_else(|| s.tags.insert(home.set, line)) } else { found };
        let aged = s.tags.take_crossed();
        let before = room.map(|(p, _)| {
            let l = s.tags.line_mut(p);
            let before = *l;
            l.valid = l.valid.or(touched);
            l.dirty = l.dirty.without(whole);
            before
        });
        let now = self.config.clock.l2.next(self.now).0;
        self.tell_written(home.slice, line, touched);
        if let Some((_, Some(victim))) = room {
            self.tell_evicted(home.slice, victim.line, victim.clean());
            if !victim.dirty.is_empty() {
                self.write_back(victim.line, victim.dirty, victim.valid, now);
            }
        }
        self.watch_host_write(line, touched, whole, before);
        if let Some(old) = aged {
            self.clean(home.slice, old, now);
        }
    }

    /// The slice of a line and its state there, without using it; an absent line holds nothing.
    pub(super) fn l2_state(&self, line: LineAddr) -> (u16, Line) {
        let home = self.interleave.home(line);
        let tags = &self.slices[usize::from(home.slice)].tags;
        (home.slice, tags.peek(home.set, line).copied().unwrap_or_default())
    }
}
