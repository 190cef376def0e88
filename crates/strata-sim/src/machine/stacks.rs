//! Memory stacks: the links between the GPU and each of them, and those between stacks.
//!
//! What L2 asks of memory crosses the link of the line's stack as a packet (an address, data, an acknowledgement) before its
//! channel sees it, and the reply crosses back. A direction of a link is a next-free time; an acknowledgement that nobody
//! waits for goes with whatever comes next.

use super::channel_port::{DramAccess, DramTag};
use super::{Event, Machine, NONE};
use crate::cache::SectorMask;
use crate::config::{GpuConfig, WritePolicy};
use crate::link::{Direction, Link};
use crate::seam::{Dir, StackId};
use crate::slab::Slab;
use crate::stack_map::StackMap;
use crate::stats::StackStats;
use crate::time::Picos;
use strata_core::{Bytes, SECTOR_BYTES};

/// The memory stacks of a machine and their links.
pub(super) struct Stacks {
    pub(super) map: StackMap,
    /// To the GPU: [`Direction::Out`] leads to the stack (TX), [`Direction::In`] to the GPU (RX).
    pub(super) links: Vec<Link>,
    /// Between two stacks: of `a < b` at `a * stacks + b`; [`Direction::Out`] leads from `a` to `b`.
    cross: Vec<Link>,
    /// What DRAM has been asked for and has to cross a link before it is there.
    replies: Slab<StackReply>,
    address: u64,
    acknowledgement: u64,
}

/// The reply to a read, sent over the link when DRAM has the data.
struct StackReply {
    tag: DramTag,
    stack: StackId,
    bytes: Bytes,
}

impl Stacks {
    /// `None` if memory is not in stacks.
    pub(super) fn of(config: &GpuConfig) -> Option<Box<Self>> {
        let map = StackMap::of(config)?;
        let count = map.stacks() as usize;
        Some(Box::new(Self {
            map,
            links: vec![Link::new(&config.stacks.link); count],
            cross: vec![Link::new(&config.stacks.cross_link); count * count],
            replies: Slab::default(),
            address: u64::from(config.stacks.address_bytes),
            acknowledgement: u64::from(config.stacks.acknowledgement_bytes),
        }))
    }

    /// The stack that a partition (a vault) belongs to.
    pub(super) fn stack_of(&self, partition: u16) -> StackId {
        self.map.stack_of(u32::from(partition))
    }

    /// Replies that DRAM has not delivered.
    pub(super) fn outstanding(&self) -> usize {
        self.replies.len()
    }

    /// Bytes of a request: its address, and the data of a write.
    fn request_bytes(&self, sectors: SectorMask, dir: Dir) -> Bytes {
        Bytes(self.address + if dir == Dir::Write { data_bytes(sectors).0 } else { 0 })
    }

    /// Sends a request of L2 to a stack: when it is there, and what the end of the access is for then.
    pub(super) fn send_to_stack(&mut self, access: &DramAccess, leaves: Picos) -> (Picos, DramTag) {
        let DramAccess { partition, sectors, dir, tag, .. } = *access;
        let stack = self.stack_of(partition);
        let bytes = self.request_bytes(sectors, dir);
        let link = &mut self.links[stack.0 as usize];
        let arrival = link.send(Direction::Out, leaves, bytes);
        let reply = if dir == Dir::Write { Bytes(self.acknowledgement) } else { data_bytes(sectors) };
        if tag == NONE {
            link.trail(Direction::In, reply);
            return (arrival, NONE);
        }
        let reply = self.replies.add(StackReply { tag, stack, bytes: reply });
        (arrival, Event::new(Event::RX, reply).0)
    }

    /// Sends a request of a stack's SM to a vault of another: when it is there.
    pub(super) fn send_to_peer(
        &mut self,
        from: StackId,
        to: StackId,
        sectors: SectorMask,
        dir: Dir,
        leaves: Picos,
    ) -> Picos {
        let bytes = self.request_bytes(sectors, dir);
        let acknowledgement = Bytes(self.acknowledgement);
        let arrival = self.over_cross_link(from, to, |link, way| link.send(way, leaves, bytes));
        if dir == Dir::Write {
            self.over_cross_link(to, from, |link, way| link.trail(way, acknowledgement));
        }
        arrival
    }

    /// Asks another stack for one sector, such as an entry of the page table: when it would be there if that stack had it at hand.
    pub(super) fn fetch_from_peer(&mut self, own: StackId, home: StackId, leaves: Picos) -> Picos {
        let (address, sector) = (Bytes(self.address), Bytes(SECTOR_BYTES));
        let asked = self.over_cross_link(own, home, |link, way| link.send(way, leaves, address));
        self.over_cross_link(home, own, |link, way| link.send_first(way, asked, sector))
    }

    /// Sends data from one stack to another: when they are there.
    pub(super) fn reply_to_peer(&mut self, from: StackId, to: StackId, sectors: SectorMask, ready: Picos) -> Picos {
        self.over_cross_link(from, to, |link, way| link.send(way, ready, data_bytes(sectors)))
    }

    /// Uses the link from one stack to another.
    fn over_cross_link<R>(&mut self, from: StackId, to: StackId, using: impl FnOnce(&mut Link, Direction) -> R) -> R {
        let way = if from < to { Direction::Out } else { Direction::In };
        let (low, high) = (from.min(to).0 as usize, from.max(to).0 as usize);
        using(&mut self.cross[low * self.links.len() + high], way)
    }
}

fn data_bytes(sectors: SectorMask) -> Bytes {
    Bytes(u64::from(sectors.count()) * SECTOR_BYTES)
}

impl Machine {
    /// What was counted of the stacks so far.
    pub(super) fn stack_counts(&self) -> StackStats {
        let Some(stacks) = &self.stacks else { return self.stack_stats };
        let sum = |links: &[Link], way| links.iter().map(|link| link.carried(way).0).sum::<u64>();
        StackStats {
            tx: sum(&stacks.links, Direction::Out),
            rx: sum(&stacks.links, Direction::In),
            cross: sum(&stacks.cross, Direction::Out) + sum(&stacks.cross, Direction::In),
            ..self.stack_stats
        }
    }

    /// When what L2 has just written through at `time` is where SMs on stacks see it: behind the link of its stack.
    pub(super) fn visible_at(&self, partition: u16, time: Picos) -> Picos {
        match &self.stacks {
            Some(stacks) if self.config.l2.write == WritePolicy::Through => {
                time.max(stacks.links[stacks.stack_of(partition).0 as usize].delivered(Direction::Out))
            }
            _ => time,
        }
    }

    /// DRAM has what L2 asked a stack for: it crosses to the GPU.
    pub(super) fn reply_to_gpu(&mut self, reply: u32, t: Picos) {
        let Some(stacks) = &mut self.stacks else { return };
        let StackReply { tag, stack, bytes } = stacks.replies[reply];
        stacks.replies.remove(reply);
        let arrival = stacks.links[stack.0 as usize].send(Direction::In, t, bytes);
        self.queue.push(arrival, Event(tag));
    }
}
