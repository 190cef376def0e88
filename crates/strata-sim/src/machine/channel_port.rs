//! The port of a DRAM channel: the queue of requests in front of it, and the next event of the channel.

use super::NONE;
use crate::cache::SectorMask;
use crate::config::GpuConfig;
use crate::dram::{AddressMap, Channel, DramError, DramRequest, Layout};
use crate::seam::{Dir, LocalAddr};
use crate::time::{Clock, Cycles, Picos};
use std::collections::VecDeque;

/// The access comes from an SM of a stack, not from an L2 slice.
pub(super) const NO_SLICE: u16 = u16::MAX;

/// What the end of a DRAM access is for: an event, or nothing ([`NONE`]).
pub(super) type DramTag = u32;

/// A DRAM channel and what waits to enter it.
pub(super) struct ChannelPort {
    pub(super) channel: Channel,
    map: AddressMap,
    clock: Clock,
    /// Requests that have not arrived yet or wait for room in the channel's queue, in order of arrival.
    pub(super) inbound: VecDeque<Inbound>,
    /// Time of the channel's next event, so that only one is scheduled at a time.
    next: Picos,
}

/// An access of one line, on behalf of a slice that waits until it has entered ([`NO_SLICE`]: none does).
#[derive(Clone, Copy, Debug)]
pub(super) struct DramAccess {
    pub(super) slice: u16,
    pub(super) partition: u16,
    pub(super) at: LocalAddr,
    pub(super) sectors: SectorMask,
    pub(super) dir: Dir,
    pub(super) tag: DramTag,
}

/// A request before its channel.
pub(super) struct Inbound {
    time: Picos,
    slice: u16,
    request: DramRequest,
}

/// What a channel did in its turn: kept for its memory.
#[derive(Default)]
pub(super) struct Turn {
    /// Requests that are done, with the time at which their data has passed the bus.
    pub(super) ended: Vec<(Picos, DramTag)>,
    /// Slices whose requests have been dequeued into the channel: there is room in their miss queues.
    pub(super) entered: Vec<u16>,
    /// Times of the next events, at most two.
    pub(super) again: [Option<Picos>; 2],
    done: Vec<(u64, u32)>,
}

impl ChannelPort {
    pub(super) fn new(config: &GpuConfig) -> Result<Self, DramError> {
        Ok(Self {
            channel: Channel::new(&config.dram)?,
            map: AddressMap::new(&config.dram, Layout::default())?,
            clock: config.clock.dram,
            inbound: VecDeque::new(),
            next: Picos::NEVER,
        })
    }

    /// Requests in the port and in the channel's own queues.
    pub(super) fn waiting(&self) -> usize {
        self.inbound.len() + self.channel.waiting(false) as usize + self.channel.waiting(true) as usize
    }

    /// Enqueues an access that arrives at `time`: the time of an event, if one must be scheduled for it.
    #[inline]
    pub(super) fn enqueue(&mut self, access: &DramAccess, time: Picos) -> Option<Picos> {
        let decoded = self.map.decode(access.at.0);
        let request = DramRequest {
            row: decoded.row,
            bank: decoded.bank,
            accesses: access.sectors.count() as u8,
            write: access.dir == Dir::Write,
            tag: access.tag,
        };
        let inbound = Inbound { time, slice: access.slice, request };
        // Slices of a channel take turns, so arrivals are nearly in order already.
        if self.inbound.back().is_none_or(|last| last.time <= time) {
            self.inbound.push_back(inbound);
        } else {
            let position = self.inbound.iter().rposition(|c| c.time <= time).map_or(0, |k| k + 1);
            self.inbound.insert(position, inbound);
        }
        self.schedule(time)
    }

    /// Schedules an event at `time`, unless an earlier one is scheduled.
    #[inline]
    fn schedule(&mut self, time: Picos) -> Option<Picos> {
        (time < self.next).then(|| {
            self.next = time;
            time
        })
    }

    /// Advances the channel to `t`; false if the event is obsolete because an earlier one came first.
    #[inline]
    pub(super) fn advance(&mut self, t: Picos, turn: &mut Turn) -> bool {
        if t < self.next {
            return false;
        }
        self.next = Picos::NEVER;
        let now = self.clock.next(t).0;
        self.channel.advance(now, &mut turn.done);
        while let Some(inbound) = self.inbound.front()
            && inbound.time <= t
            && self.channel.has_room(inbound.request.write)
        {
            self.channel.push(now, inbound.request);
            if inbound.slice != NO_SLICE {
                turn.entered.push(inbound.slice);
            }
            self.inbound.pop_front();
        }
        let ended = turn.done.drain(..).filter(|(_, tag)| *tag != NONE);
        turn.ended.extend(ended.map(|(cycle, tag)| (self.clock.edge(Cycles(cycle)), tag)));
        let due = self.inbound.front().map(|c| c.time);
        turn.again = [
            self.channel.wake().and_then(|next| self.schedule(self.clock.edge(Cycles(next.max(now + 1))))),
            // A request that found the channel's queue full is retried at every event of the channel.
            due.filter(|&d| d > t).and_then(|due| self.schedule(due)),
        ];
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing::gpu;

    fn port() -> ChannelPort {
        let mut config = gpu("titan-v");
        config.dram.timing.refi = 0;
        ChannelPort::new(&config).expect("a preset")
    }

    fn read(at: u64, tag: u32) -> DramAccess {
        DramAccess { slice: 3, partition: 0, at: LocalAddr(at), sectors: SectorMask::ALL, dir: Dir::Read, tag }
    }

    /// Lets the channel act until nothing is to be done: tags in the order in which they end, and who entered.
    fn drain(port: &mut ChannelPort, first: Picos) -> (Vec<u32>, Vec<u16>) {
        let (mut due, mut turn, mut ended, mut entered) = (vec![first], Turn::default(), Vec::new(), Vec::new());
        while !due.is_empty() {
            due.sort_unstable();
            let now = due.remove(0);
            if port.advance(now, &mut turn) {
                due.extend(turn.again.into_iter().flatten());
            }
            ended.append(&mut turn.ended);
            entered.append(&mut turn.entered);
        }
        ended.sort_unstable();
        (ended.into_iter().map(|(_, tag)| tag).collect(), entered)
    }

    #[test]
    fn accesses_enter_in_the_order_of_their_arrival() {
        let mut port = port();
        assert_eq!(port.enqueue(&read(0, 1), Picos(5_000)), Some(Picos(5_000)));
        assert_eq!(port.enqueue(&read(128, 2), Picos(9_000)), None, "it is looked at before");
        assert_eq!(port.enqueue(&read(256, 3), Picos(1_000)), Some(Picos(1_000)));
        assert_eq!(port.waiting(), 3);
        assert_eq!(drain(&mut port, Picos(1_000)), (vec![3, 1, 2], vec![3, 3, 3]));
        assert_eq!(port.waiting(), 0);
    }

    #[test]
    fn an_end_that_nobody_waits_for_is_not_told() {
        let mut port = port();
        let write = DramAccess { dir: Dir::Write, slice: NO_SLICE, ..read(0, NONE) };
        let first = port.enqueue(&write, Picos(0)).expect("at once");
        assert_eq!(drain(&mut port, first), (vec![], vec![]));
    }
}
