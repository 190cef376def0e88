//! A full-duplex link: to the host, to memory beyond the card, to a stack of memory.
//!
//! Each direction is a next-free time: what is sent first passes first, but for what has priority ([`Link::send_first`]). Data travels in packets of at most
//! [`PACKET_BYTES`], each with a header; a transfer has arrived when its last byte has, one latency after that byte left.
//!
//! Invariants: the directions do not hinder each other; times are exact, because what a picosecond does not divide is
//! carried over to the next transfer, so a busy link moves its bandwidth to the byte.

use crate::config::LinkConfig;
use crate::time::Picos;
use strata_core::Bytes;

/// The most data of one packet: the usual maximum payload of PCI Express (its specification allows 128 B to 4 KiB). A
/// choice for all links; lines of 128 B and their parts fit into one packet of any of them.
pub const PACKET_BYTES: u64 = 256;

const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

/// Which way data goes, as the GPU sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Towards the GPU.
    In,
    /// Away from it.
    Out,
}

/// One direction.
#[derive(Clone, Copy, Default, Debug)]
struct Lane {
    free: Picos,
    /// The part of a picosecond beyond `free`, in units of one over the bytes per second.
    fraction: u64,
    /// Bytes sent, headers included.
    carried: u64,
    /// Bytes of those that go before whatever is sent next.
    owed: u64,
    /// Bytes of the last transfer, headers included.
    last: u64,
    /// When all that has priority has left.
    first_free: Picos,
    /// Somebody else uses it, too: packets of both take turns.
    shared: bool,
}

/// A link.
///
/// ```
/// # use strata_core::Bytes;
/// use strata_sim::config::LinkConfig;
/// use strata_sim::link::{Direction, Link};
/// use strata_sim::time::Picos;
/// let mut link = Link::new(&LinkConfig { gb_per_s: 16.0, latency_ns: 100.0, header_bytes: 0 });
/// // 128 bytes at 16 bytes per nanosecond, and the latency.
/// assert_eq!(link.send(Direction::In, Picos(0), Bytes(128)), Picos(108_000));
/// ```
#[derive(Clone, Debug)]
pub struct Link {
    bytes_per_second: u64,
    latency: Picos,
    header_bytes: u64,
    lanes: [Lane; 2],
}

impl Link {
    /// An idle link.
    pub fn new(config: &LinkConfig) -> Self {
        Self {
            bytes_per_second: ((config.gb_per_s * 1e9).round() as u64).max(1),
            latency: Picos((config.latency_ns * 1e3).round() as u64),
            header_bytes: u64::from(config.header_bytes),
            lanes: [Lane::default(); 2],
        }
    }

    /// Sends data that is ready at `ready`: when all of it has arrived.
    pub fn send(&mut self, direction: Direction, ready: Picos, data: Bytes) -> Picos {
        let bytes = self.framed(data);
        self.lanes[direction as usize].carried += bytes;
        self.occupy(direction, ready, bytes) + self.latency
    }

    /// Sends data that has priority: it waits for the packet on the wire and for others that have priority, but not for data
    /// that wait for the link, which pass later by as much. The packet on the wire is taken to be as large as the last one.
    pub fn send_first(&mut self, direction: Direction, ready: Picos, data: Bytes) -> Picos {
        let lane = &self.lanes[direction as usize];
        if lane.free <= ready {
            let arrival = self.send(direction, ready, data);
            let lane = &mut self.lanes[direction as usize];
            lane.first_free = lane.free;
            return arrival;
        }
        let on_the_wire = self.time_of(lane.last.min(PACKET_BYTES + self.header_bytes)).min(lane.free - ready);
        let start = (ready + on_the_wire).max(lane.first_free);
        self.trail(direction, data);
        let end = start + self.time_of(self.framed(data));
        self.lanes[direction as usize].first_free = end;
        end + self.latency
    }

    /// Bytes of a transfer with its headers.
    fn framed(&self, data: Bytes) -> u64 {
        data.0 + data.0.div_ceil(PACKET_BYTES) * self.header_bytes
    }

    /// What so many bytes take, rounded up.
    pub fn time_of(&self, bytes: u64) -> Picos {
        Picos((u128::from(bytes) * PICOS_PER_SECOND).div_ceil(u128::from(self.bytes_per_second)) as u64)
    }

    /// Sends data that nobody waits for: it goes before whatever is sent next.
    pub fn trail(&mut self, direction: Direction, data: Bytes) {
        let bytes = self.framed(data);
        let lane = &mut self.lanes[direction as usize];
        lane.carried += bytes;
        lane.owed += bytes;
    }

    /// Takes a direction for so many bytes: when the last has left.
    fn occupy(&mut self, direction: Direction, ready: Picos, bytes: u64) -> Picos {
        let lane = &mut self.lanes[direction as usize];
        lane.last = bytes;
        let bytes = bytes + std::mem::take(&mut lane.owed);
        if ready > lane.free {
            (lane.free, lane.fraction) = (ready, 0);
        }
        let rate = u128::from(self.bytes_per_second);
        let turns = 1 + u128::from(lane.shared);
        let time = turns * u128::from(bytes) * PICOS_PER_SECOND + u128::from(lane.fraction);
        lane.free += Picos((time / rate) as u64);
        lane.fraction = (time % rate) as u64;
        lane.free + Picos(u64::from(lane.fraction > 0))
    }

    /// From now on a direction is, or is no longer, shared with migrations that are timed elsewhere: what is sent takes turns with their
    /// packets and has half of it.
    pub fn share(&mut self, direction: Direction, shared: bool) {
        self.lanes[direction as usize].shared = shared;
    }

    /// Bytes per second, each way.
    pub fn rate(&self) -> u64 {
        self.bytes_per_second
    }

    /// Asks the far side for data: a header alone goes out. When it has left; the latency of a link is that of the way there
    /// and back, and is counted when the data comes.
    pub fn ask(&mut self, ready: Picos) -> Picos {
        let asked = self.occupy(Direction::Out, ready, self.header_bytes);
        self.lanes[Direction::Out as usize].carried += self.header_bytes;
        asked
    }

    /// When all that was sent in a direction so far has arrived.
    pub fn delivered(&self, direction: Direction) -> Picos {
        let lane = &self.lanes[direction as usize];
        lane.free + Picos(u64::from(lane.fraction > 0)) + self.latency
    }

    /// Bytes sent in a direction so far, headers included.
    pub fn carried(&self, direction: Direction) -> Bytes {
        Bytes(self.lanes[direction as usize].carried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{In, Out};

    fn link(gb_per_s: f64, latency_ns: f64, header_bytes: u32) -> Link {
        Link::new(&LinkConfig { gb_per_s, latency_ns, header_bytes })
    }

    #[track_caller]
    fn check(mut link: Link, sends: &[(Direction, u64, u64, u64)]) {
        for &(direction, ready, bytes, arrival) in sends {
            assert_eq!(link.send(direction, Picos(ready), Bytes(bytes)), Picos(arrival), "{bytes} B at {ready}");
        }
    }

    #[test]
    fn a_transfer_takes_its_bytes_and_the_latency() {
        check(link(16.0, 700.0, 0), &[(In, 1000, 64, 705_000)]);
        check(link(16.0, 0.0, 0), &[(In, 50, 0, 50)]);
    }

    #[test]
    fn every_packet_has_a_header() {
        // 32 B at 1 byte per nanosecond are 32 ns; each packet of up to 256 B adds 8.
        check(link(1.0, 0.0, 8), &[(Out, 0, 32, 40_000)]);
        check(link(1.0, 0.0, 8), &[(Out, 0, 256, 264_000)]);
        check(link(1.0, 0.0, 8), &[(Out, 0, 257, 273_000)]);
    }

    #[test]
    fn a_question_is_a_header_on_the_way_out() {
        let mut link = link(1.0, 100.0, 8);
        let asked = link.ask(Picos(1000));
        assert_eq!(asked, Picos(9000));
        assert_eq!(link.send(In, asked, Bytes(32)), Picos(149_000));
        assert_eq!((link.carried(Out), link.carried(In)), (Bytes(8), Bytes(40)));
    }

    #[test]
    fn what_nobody_waits_for_takes_its_time_from_the_next() {
        let mut link = link(1.0, 0.0, 0);
        link.trail(In, Bytes(3));
        link.trail(In, Bytes(2));
        assert_eq!(link.send(Out, Picos(0), Bytes(1)), Picos(1000));
        assert_eq!(link.send(In, Picos(0), Bytes(10)), Picos(15_000));
        assert_eq!(link.send(In, Picos(0), Bytes(10)), Picos(25_000));
        assert_eq!(link.carried(In), Bytes(25));
    }

    #[test]
    fn what_has_priority_waits_for_the_packet_on_the_wire_and_no_other() {
        let mut link = link(1.0, 10.0, 0);
        assert_eq!(link.send_first(In, Picos(0), Bytes(5)), Picos(15_000), "the link is free");
        for k in 1..=10 {
            assert_eq!(link.send(In, Picos(0), Bytes(100)), Picos(15_000 + k * 100_000));
        }
        // A thousand bytes wait. It passes behind the hundred that are on the wire, and the next behind it.
        assert_eq!(link.send_first(In, Picos(10_000), Bytes(5)), Picos(10_000 + 105_000 + 10_000));
        assert_eq!(link.send_first(In, Picos(10_000), Bytes(5)), Picos(10_000 + 110_000 + 10_000));
        // The last of the data leaves after 1,005 ns; 2 ns before there is no more than 2 ns to wait for.
        assert_eq!(link.send_first(In, Picos(1_003_000), Bytes(1)), Picos(1_006_000 + 10_000));
        assert_eq!(link.send(In, Picos(0), Bytes(1)), Picos(1_005_000 + 12_000 + 10_000), "what passed took its time");
        assert_eq!(link.carried(In), Bytes(5 + 1000 + 11 + 1));
    }

    #[test]
    fn directions_do_not_hinder_each_other() {
        let sends = [(In, 0, 100, 110_000), (In, 0, 100, 210_000), (Out, 0, 100, 110_000), (In, 500_000, 1, 511_000)];
        check(link(1.0, 10.0, 0), &sends);
    }

    #[test]
    fn a_busy_link_moves_its_bandwidth_to_the_byte() {
        // 15.75 GB/s: a byte takes 63.49 ps, a line of 128 B no whole number of them.
        let mut link = link(15.75, 0.0, 0);
        let last = (0..15_750_000).map(|_| link.send(In, Picos(0), Bytes(1))).last();
        assert_eq!(last, Some(Picos(1_000_000_000)), "15.75 million bytes in a millisecond");
        assert_eq!(link.carried(In), Bytes(15_750_000));
        assert_eq!(link.carried(Out), Bytes(0));
    }
}
