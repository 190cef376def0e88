//! Behind L2: the DRAM channels and the way to them.

use super::{Event, Machine, NONE};
use crate::cache::SectorMask;
use crate::config::GpuConfig;
use crate::dram::{AddressMap, Channel, DramError, Layout, Request as DramRequest};
use crate::time::{Cycles, Picos};
use std::collections::VecDeque;
use strata_core::{LINE_BYTES, LineAddr};

/// A DRAM channel and what waits to enter it.
pub(super) struct ChannelPort {
    pub(super) channel: Channel,
    map: AddressMap,
    /// Requests on their way to it or waiting for room, by the time they arrive.
    pub(super) coming: VecDeque<Coming>,
    /// When its next event is, so that it has one at a time.
    next: Picos,
}

pub(super) struct Coming {
    time: Picos,
    slice: u32,
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
}

/// The tag of a write, for which nobody waits.
const WRITE_TAG: u32 = NONE;

impl Machine {
    /// Asks memory for sectors of a line; `ready` is the L2 cycle at which the request leaves L2.
    pub(super) fn fetch(&mut self, slice: u32, line: LineAddr, sectors: SectorMask, miss: u32, ready: u64) {
        self.stats.dram_reads += u64::from(sectors.count());
        self.watch_fetch(miss, line, sectors);
        self.dram(slice, line, sectors, false, miss, ready);
    }

    /// Writes sectors of a line to memory.
    pub(super) fn put(&mut self, slice: u32, line: LineAddr, sectors: SectorMask, ready: u64) {
        self.stats.dram_writes += u64::from(sectors.count());
        self.watch_put(line, sectors);
        self.dram(slice, line, sectors, true, WRITE_TAG, ready);
    }

    fn dram(&mut self, slice: u32, line: LineAddr, sectors: SectorMask, write: bool, tag: u32, ready: u64) {
        let per_channel = self.config.l2.slices / self.config.dram.channels;
        let channel = slice / per_channel;
        let (_, local) = self.slice_of(line);
        let lines_per_chunk = (self.config.l2.interleave.0 / LINE_BYTES).max(1);
        let (chunk, within) = (local / lines_per_chunk, local % lines_per_chunk);
        let local_line = (chunk * u64::from(per_channel) + u64::from(slice % per_channel)) * lines_per_chunk + within;
        let time = self.config.clock.l2.edge(Cycles(ready + u64::from(self.config.dram.controller_cycles)));
        self.slices[slice as usize].queued += 1;
        let port = &mut self.channels[channel as usize];
        let place = port.map.place(local_line * LINE_BYTES);
        let request = DramRequest { row: place.row, bank: place.bank, accesses: sectors.count() as u8, write, tag };
        // Slices of a channel take turns, so arrivals are nearly in order already.
        let at = port.coming.iter().rposition(|c| c.time <= time).map_or(0, |k| k + 1);
        port.coming.insert(at, Coming { time, slice, request });
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
        let mut freed = false;
        while let Some(coming) = port.coming.front()
            && coming.time <= t
            && port.channel.has_room(coming.request.write)
        {
            next = Some(port.channel.push(now, coming.request));
            self.slices[coming.slice as usize].queued -= 1;
            port.coming.pop_front();
            freed = true;
        }
        for (cycle, tag) in done.drain(..) {
            if tag != WRITE_TAG {
                let back = clock.edge(Cycles(cycle));
                self.queue.push(back, Event::new(Event::FILL, tag));
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
        if freed {
            let per_channel = self.config.l2.slices / self.config.dram.channels;
            for slice in channel * per_channel..(channel + 1) * per_channel {
                self.resume_slice(slice, t);
            }
        }
    }
}
