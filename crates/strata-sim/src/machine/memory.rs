//! Behind L2: the DRAM channels and the way to them.

use super::home::Home;
use super::plan::Deferred;
use super::{Event, Machine, NONE};
use crate::cache::SectorMask;
use crate::config::GpuConfig;
use crate::dram::{AddressMap, Channel, DramError, Layout, Request as DramRequest};
use crate::seam::{Dir, LocalAddr};
use crate::time::{Cycles, Picos};
use std::collections::VecDeque;
use strata_core::LineAddr;

/// A DRAM channel and what waits to enter it.
pub(super) struct ChannelPort {
    pub(super) channel: Channel,
    map: AddressMap,
    /// Requests on their way to it or waiting for room, by the time they arrive.
    pub(super) coming: VecDeque<Coming>,
    /// When its next event is, so that it has one at a time.
    next: Picos,
}

/// A request before its channel.
pub(super) struct Coming {
    time: Picos,
    slice: u16,
    request: DramRequest,
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

    /// Requests that it has not served.
    pub(super) fn waiting(&self) -> usize {
        self.coming.len() + self.channel.waiting(false) as usize + self.channel.waiting(true) as usize
    }
}

/// The access is not L2's.
pub(super) const NO_SLICE: u16 = u16::MAX;

/// What the end of a DRAM access is for: an event, or nothing ([`NONE`]).
pub(super) type DramTag = u32;

impl Machine {
    /// Asks memory for sectors of a line; `ready` is the L2 cycle at which the request leaves L2.
    pub(super) fn fetch(&mut self, home: Home, line: LineAddr, sectors: SectorMask, miss: u32, ready: u64) {
        self.watch_fetch(miss, line, sectors);
        if self.sides.is_some() {
            let resident = self.l2_state(line).1.valid;
            self.defer(Deferred { home, line, sectors, resident, miss, ready });
        } else {
            let tag = Event::new(Event::FILL, miss).0;
            self.dram(home.slice, home.partition, home.local.addr(), sectors, Dir::Read, tag, ready);
        }
    }

    /// Writes sectors of a line to memory; L2 has, or had until now, the sectors `valid`.
    pub(super) fn put(&mut self, home: Home, line: LineAddr, sectors: SectorMask, valid: SectorMask, ready: u64) {
        self.watch_put(line, sectors);
        if self.sides.is_some() {
            self.defer(Deferred { home, line, sectors, resident: valid, miss: NONE, ready });
        } else {
            self.dram(home.slice, home.partition, home.local.addr(), sectors, Dir::Write, NONE, ready);
        }
    }

    /// Sends an access of one line to a partition's channel, on behalf of a slice; it leaves L2 at L2 cycle `ready`.
    #[allow(clippy::too_many_arguments, reason = "who, where, what, when: all are needed and none belong together")]
    pub(super) fn dram(
        &mut self,
        slice: u16,
        partition: u16,
        at: LocalAddr,
        sectors: SectorMask,
        dir: Dir,
        tag: DramTag,
        ready: u64,
    ) {
        if self.offload.is_some() && self.data_at_host() {
            self.asks_host(sectors, dir, tag, ready);
            return;
        }
        let (time, tag) = self.towards_channel(partition, sectors, dir, tag, ready);
        self.slices[usize::from(slice)].queued += 1;
        self.enter_channel(slice, partition, at, sectors, dir, tag, time);
    }

    /// Sends an access to a partition's channel, where it is at `time`; `slice` is [`NO_SLICE`] if no L2 slice waits for room.
    #[allow(clippy::too_many_arguments, reason = "who, where, what, when: all are needed and none belong together")]
    pub(super) fn enter_channel(
        &mut self,
        slice: u16,
        partition: u16,
        at: LocalAddr,
        sectors: SectorMask,
        dir: Dir,
        tag: DramTag,
        time: Picos,
    ) {
        let write = dir == Dir::Write;
        if write {
            self.stats.dram_writes += u64::from(sectors.count());
        } else {
            self.stats.dram_reads += u64::from(sectors.count());
        }
        let port = &mut self.channels[usize::from(partition)];
        let place = port.map.place(at.0);
        let request = DramRequest { row: place.row, bank: place.bank, accesses: sectors.count() as u8, write, tag };
        // Slices of a channel take turns, so arrivals are nearly in order already.
        let position = port.coming.iter().rposition(|c| c.time <= time).map_or(0, |k| k + 1);
        port.coming.insert(position, Coming { time, slice, request });
        self.rouse(u32::from(partition), time);
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
        let mut freed = std::mem::take(&mut self.freed);
        while let Some(coming) = port.coming.front()
            && coming.time <= t
            && port.channel.has_room(coming.request.write)
        {
            next = Some(port.channel.push(now, coming.request));
            if coming.slice != NO_SLICE {
                self.slices[usize::from(coming.slice)].queued -= 1;
            }
            if coming.slice != NO_SLICE && freed.last() != Some(&coming.slice) {
                freed.push(coming.slice);
            }
            port.coming.pop_front();
        }
        for (cycle, tag) in done.drain(..) {
            if tag != NONE {
                self.queue.push(clock.edge(Cycles(cycle)), Event(tag));
            }
        }
        self.done = done;
        let due = self.channels[channel as usize].coming.front().map(|c| c.time);
        if let Some(next) = next {
            self.rouse(channel, clock.edge(Cycles(next.max(now + 1))));
        }
        // What found no room is tried again whenever the channel acts.
        if let Some(due) = due.filter(|&d| d > t) {
            self.rouse(channel, due);
        }
        for slice in freed.drain(..) {
            self.resume_slice(slice, t);
        }
        self.freed = freed;
    }
}
