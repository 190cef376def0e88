//! Behind the crossbar: L2 slices and DRAM channels.

use super::sm_memory::Kind;
use super::{Event, Machine, NONE};
use crate::cache::{Place, SectorMask, Tags, Victim};
use crate::config::{GpuConfig, WritePolicy};
use crate::dram::{AddressMap, Channel, DramError, Layout, Request as DramRequest};
use crate::time::{Cycles, Picos};
use std::collections::VecDeque;
use strata_core::{LINE_BYTES, LineAddr};

/// An L2 slice.
pub(super) struct Slice {
    tags: Tags,
    /// Requests that wait for a line on its way, by place.
    waiters: Vec<u32>,
    /// When it takes the next request, in sixteenths of an L2 cycle.
    free: u64,
    /// When its port to the crossbar is free.
    out_free: Picos,
    /// Requests that found every way of their set waiting for data.
    held: VecDeque<u32>,
}

impl Slice {
    pub(super) fn new(config: &GpuConfig) -> Self {
        Self {
            tags: Tags::new(config.l2.sets, config.l2.ways),
            waiters: vec![NONE; (config.l2.sets * config.l2.ways) as usize],
            free: 0,
            out_free: Picos(0),
            held: VecDeque::new(),
        }
    }
}

/// Sectors that DRAM brings for a line.
pub(super) struct Miss {
    slice: u32,
    place: u32,
    sectors: SectorMask,
}

/// A DRAM channel and what waits to enter it.
pub(super) struct ChannelPort {
    channel: Channel,
    map: AddressMap,
    /// Requests on their way to it or waiting for room, by the time they arrive.
    coming: VecDeque<(Picos, DramRequest)>,
    /// When its next event is, so that it has one at a time.
    next: Picos,
}

impl ChannelPort {
    pub(super) fn new(config: &GpuConfig) -> Result<Self, DramError> {
        Ok(Self {
            channel: Channel::new(&config.dram)?,
            map: AddressMap::new(&config.dram, Layout::default())?,
            coming: VecDeque::new(),
            next: Picos::NEVER,
        })
    }
}

/// The tag of a write, for which nobody waits.
const WRITE_TAG: u32 = NONE;

impl Machine {
    /// The slice of a line and its number among the lines of that slice.
    ///
    /// Consecutive chunks of `interleave` bytes go to consecutive slices; each group of as many chunks as there are slices
    /// is rotated by a hash of its number, so that no power-of-two stride stays on one slice.
    fn slice_of(&self, line: LineAddr) -> (u32, u64) {
        let slices = u64::from(self.config.l2.slices);
        let lines_per_chunk = (self.config.l2.interleave.0 / LINE_BYTES).max(1);
        let chunk = line.0 / lines_per_chunk;
        let (group, position) = (chunk / slices, chunk % slices);
        let slice = (position + fold(group)) % slices;
        (slice as u32, group * lines_per_chunk + line.0 % lines_per_chunk)
    }

    /// A request reaches its slice.
    pub(super) fn l2_arrives(&mut self, request: u32, t: Picos) {
        let (slice, local) = self.slice_of(self.requests[request].line);
        let r = self.requests[request];
        let clock = self.config.clock.l2;
        let l2 = &self.config.l2;
        let now = clock.next(t).0;
        let atomic = r.kind == Kind::Atomic;
        let service = (u64::from(r.sectors.count()) * 32 * 16 / u64::from(l2.bytes_per_cycle)).max(16)
            + if atomic { 16 * u64::from(l2.atomic_cycles) } else { 0 };
        let s = &mut self.slices[slice as usize];
        let start = s.free.max(now * 16);
        s.free = start + service;
        let ready =
            (start + service) / 16 + u64::from(l2.latency) + if atomic { u64::from(l2.atomic_cycles) } else { 0 };
        self.l2_access(slice, local, request, ready);
    }

    /// Looks a request up; `ready` is the L2 cycle at which a hit has its data.
    fn l2_access(&mut self, slice: u32, local: u64, request: u32, ready: u64) {
        let r = self.requests[request];
        let s = &mut self.slices[slice as usize];
        let set = (local ^ fold(local / u64::from(s.tags.sets()))) as u32 % s.tags.sets();
        let found = s.tags.find(set, r.line);
        let Some((place, victim)) = found.map(|p| (p, None)).or_else(|| s.tags.insert(set, r.line)) else {
            s.held.push_back(request);
            return;
        };
        if let Some(v) = victim.filter(|v| !v.dirty.is_empty()) {
            self.write_back(slice, v, ready);
        }
        let write_back = self.config.l2.write == WritePolicy::Back;
        let line = self.slices[slice as usize].tags.line_mut(place);
        match r.kind {
            Kind::Write => {
                let hit = found.is_some() && r.sectors.without(line.valid).is_empty();
                // A sector that is written whole needs no data from memory; one that is written in part stays as it was.
                line.valid = line.valid.or(r.full);
                if write_back {
                    line.dirty = line.dirty.or(r.sectors);
                }
                self.stats.l2_writes += u64::from(r.sectors.count());
                self.stats.l2_write_hits += if hit { u64::from(r.sectors.count()) } else { 0 };
                if !write_back {
                    let victim = Victim { line: r.line, dirty: r.sectors, clean: SectorMask::NONE };
                    self.write_back(slice, victim, ready);
                }
                self.requests.remove(request);
            }
            Kind::Read | Kind::Atomic => {
                let missing = r.sectors.without(line.valid);
                let hits = r.sectors.and(line.valid).count();
                self.stats.l2_reads += u64::from(r.sectors.count());
                self.stats.l2_read_hits += u64::from(hits);
                if r.kind == Kind::Atomic && write_back {
                    line.dirty = line.dirty.or(r.sectors);
                }
                if missing.is_empty() {
                    self.reply(slice, request, ready);
                    return;
                }
                let to_fetch = missing.without(line.pending);
                line.pending = line.pending.or(to_fetch);
                let s = &mut self.slices[slice as usize];
                self.requests[request].next = s.waiters[place.index() as usize];
                s.waiters[place.index() as usize] = request;
                if !to_fetch.is_empty() {
                    let miss = self.misses.add(Miss { slice, place: place.index(), sectors: to_fetch });
                    self.dram(slice, r.line, to_fetch, false, miss, ready);
                }
            }
        }
    }

    /// Sends the answer to a request, if somebody waits for one.
    fn reply(&mut self, slice: u32, request: u32, ready: u64) {
        let r = self.requests[request];
        if r.load == NONE {
            self.requests.remove(request);
            return;
        }
        let crossbar = &self.config.crossbar;
        let bytes = crossbar.header_bytes + 32 * r.sectors.count();
        let ready = self.config.clock.l2.edge(Cycles(ready));
        let out = self.slices[slice as usize].out_free;
        let (at_sm, free) = self.cross(ready, out, bytes, crossbar.slice_bytes, crossbar.reply_cycles);
        self.slices[slice as usize].out_free = free;
        let in_free = self.sms[r.sm as usize].in_free;
        let (arrival, free) = self.cross(at_sm, in_free, bytes, crossbar.sm_in_bytes, 0);
        self.sms[r.sm as usize].in_free = free;
        self.queue.push(arrival, Event::new(Event::REPLY, request));
    }

    fn write_back(&mut self, slice: u32, victim: Victim, ready: u64) {
        self.stats.l2_write_backs += u64::from(victim.dirty.count());
        self.dram(slice, victim.line, victim.dirty, true, WRITE_TAG, ready);
    }

    /// Asks DRAM for sectors of a line; `ready` is the L2 cycle at which the request leaves L2.
    fn dram(&mut self, slice: u32, line: LineAddr, sectors: SectorMask, write: bool, tag: u32, ready: u64) {
        let per_channel = self.config.l2.slices / self.config.dram.channels;
        let channel = slice / per_channel;
        let (_, local) = self.slice_of(line);
        let lines_per_chunk = (self.config.l2.interleave.0 / LINE_BYTES).max(1);
        let (chunk, within) = (local / lines_per_chunk, local % lines_per_chunk);
        let local_line = (chunk * u64::from(per_channel) + u64::from(slice % per_channel)) * lines_per_chunk + within;
        if write {
            self.stats.dram_writes += u64::from(sectors.count());
        } else {
            self.stats.dram_reads += u64::from(sectors.count());
        }
        let time = self.config.clock.l2.edge(Cycles(ready + u64::from(self.config.dram.controller_cycles)));
        let port = &mut self.channels[channel as usize];
        let place = port.map.place(local_line * LINE_BYTES);
        let request = DramRequest { row: place.row, bank: place.bank, accesses: sectors.count() as u8, write, tag };
        // Slices of a channel take turns, so arrivals are nearly in order already.
        let at = port.coming.iter().rposition(|c| c.0 <= time).map_or(0, |k| k + 1);
        port.coming.insert(at, (time, request));
        self.rouse(channel, time);
    }

    /// Makes sure that a channel acts at `time` or earlier.
    fn rouse(&mut self, channel: u32, time: Picos) {
        let port = &mut self.channels[channel as usize];
        if time < port.next {
            port.next = time;
            self.queue.push(time, Event::new(Event::CHANNEL, channel));
        }
    }

    pub(super) fn channel_acts(&mut self, channel: u32, t: Picos) {
        let clock = self.config.clock.dram;
        let port = &mut self.channels[channel as usize];
        if t < port.next {
            return;
        }
        port.next = Picos::NEVER;
        let now = clock.next(t).0;
        let mut done = std::mem::take(&mut self.done);
        let mut next = port.channel.advance(now, &mut done);
        while let Some(&(arrival, request)) = port.coming.front()
            && arrival <= t
            && port.channel.has_room(request.write)
        {
            next = Some(port.channel.push(now, request));
            port.coming.pop_front();
        }
        for (cycle, tag) in done.drain(..) {
            if tag != WRITE_TAG {
                let back = clock.edge(Cycles(cycle));
                self.queue.push(back, Event::new(Event::FILL, tag));
            }
        }
        self.done = done;
        let due = self.channels[channel as usize].coming.front().map(|c| c.0);
        if let Some(next) = next {
            self.rouse(channel, clock.edge(Cycles(next.max(now + 1))));
        }
        // What found no room is tried again whenever the channel acts.
        if let Some(due) = due.filter(|&d| d > t) {
            self.rouse(channel, due);
        }
    }

    /// DRAM has delivered sectors of a line.
    pub(super) fn l2_fills(&mut self, miss: u32, t: Picos) {
        let Miss { slice, place, sectors } = self.misses[miss];
        self.misses.remove(miss);
        let s = &mut self.slices[slice as usize];
        let line = s.tags.line_mut(Place::at(place));
        line.valid = line.valid.or(sectors);
        line.pending = line.pending.without(sectors);
        let valid = line.valid;
        let ready = self.config.clock.l2.next(t).0;
        let mut waiter = std::mem::replace(&mut s.waiters[place as usize], NONE);
        while waiter != NONE {
            let next = self.requests[waiter].next;
            if self.requests[waiter].sectors.without(valid).is_empty() {
                self.reply(slice, waiter, ready);
            } else {
                let s = &mut self.slices[slice as usize];
                self.requests[waiter].next = s.waiters[place as usize];
                s.waiters[place as usize] = waiter;
            }
            waiter = next;
        }
        if let Some(held) = self.slices[slice as usize].held.pop_front() {
            let (_, local) = self.slice_of(self.requests[held].line);
            self.l2_access(slice, local, held, ready);
        }
    }

    /// A host-to-device copy: its lines are in L2 afterwards, clean, if the card does that.
    pub fn copy_in(&mut self, first: LineAddr, lines: u64) {
        if !self.config.l2.copies_fill {
            return;
        }
        for k in 0..lines {
            let line = LineAddr(first.0 + k);
            let (slice, local) = self.slice_of(line);
            let s = &mut self.slices[slice as usize];
            let set = (local ^ fold(local / u64::from(s.tags.sets()))) as u32 % s.tags.sets();
            let found = s.tags.find(set, line);
            if let Some(p) = found.or_else(|| s.tags.insert(set, line).map(|(p, _)| p)) {
                let l = s.tags.line_mut(p);
                l.valid = SectorMask::ALL;
                l.dirty = SectorMask::NONE;
            }
        }
    }
}

/// Folds the bits of a number together: the exclusive-or hash that keeps strides from colliding.
fn fold(n: u64) -> u64 {
    n ^ n >> 5 ^ n >> 11 ^ n >> 17 ^ n >> 29
}
