//! The crossbar between SMs and L2 slices: ports of limited width, a latency each way.
//!
//! A port is a next-free time: what comes first passes first. Bytes are counted in sixteenths of a cycle, so that a packet
//! does not waste the rest of the cycle in which it ends.

use crate::config::GpuConfig;
use crate::time::{Clock, Cycles, Picos};
use strata_core::SECTOR_BYTES;

/// One direction of a port: when it is free, in sixteenths of an interconnect cycle.
#[derive(Clone, Copy, Default)]
struct Port(u64);

impl Port {
    /// Sends a packet through that takes so long: when its last byte has left.
    #[inline]
    fn transmit(&mut self, ready: u64, time: u64) -> u64 {
        self.0 = self.0.max(ready) + time;
        self.0
    }
}

/// The time that packets with zero to four sectors of data take at a port, in sixteenths of a cycle.
type PacketTimes = [u64; 5];

fn packet_times(header: u32, per_cycle: u32) -> PacketTimes {
    let bytes = |sectors: usize| u64::from(header) + sectors as u64 * SECTOR_BYTES;
    std::array::from_fn(|sectors| bytes(sectors) * 16 / u64::from(per_cycle.max(1)))
}

/// A packet that crosses: when it is there, and the interconnect cycles that it took beyond its latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Crossing {
    pub(super) arrival: Picos,
    pub(super) waited: u64,
}

/// The crossbar: one port per group of SMs in each direction, one per slice for replies.
pub(super) struct Crossbar {
    clock: Clock,
    /// Latencies in interconnect cycles.
    request_cycles: u64,
    reply_cycles: u64,
    /// Of packets at the ports of SMs, out and in, and at those of slices.
    sm_out: PacketTimes,
    sm_in: PacketTimes,
    slice_out: PacketTimes,
    /// The port of each SM.
    port_of: Box<[u16]>,
    /// Request ports out of SMs, reply ports into SMs, reply ports out of slices. Slices take requests as fast as they come.
    from_sms: Vec<Port>,
    to_sms: Vec<Port>,
    from_slices: Vec<Port>,
}

impl Crossbar {
    pub(super) fn new(config: &GpuConfig) -> Self {
        let crossbar = &config.crossbar;
        let ports = vec![Port::default(); config.sm.count.div_ceil(config.sm.per_port) as usize];
        Self {
            clock: config.clock.interconnect,
            request_cycles: crossbar.request_cycles.into(),
            reply_cycles: crossbar.reply_cycles.into(),
            sm_out: packet_times(crossbar.header_bytes, crossbar.sm_out_bytes),
            sm_in: packet_times(crossbar.header_bytes, crossbar.sm_in_bytes),
            slice_out: packet_times(crossbar.header_bytes, crossbar.slice_bytes),
            port_of: (0..config.sm.count).map(|sm| (sm / config.sm.per_port) as u16).collect(),
            from_sms: ports.clone(),
            to_sms: ports,
            from_slices: vec![Port::default(); config.l2.slices as usize],
        }
    }

    /// Sends a request with so many sectors of data from an SM to its slice; `ready`: when it can leave.
    #[inline]
    pub(super) fn send_to_slice(&mut self, sm: u32, ready: Picos, sectors: u32) -> Crossing {
        let start = self.clock.next(ready).0 * 16;
        let port = &mut self.from_sms[usize::from(self.port_of[sm as usize])];
        let end = port.transmit(start, self.sm_out[sectors as usize]);
        let arrival = self.clock.edge(Cycles(end.div_ceil(16) + self.request_cycles));
        Crossing { arrival, waited: (end - start) / 16 }
    }

    /// Sends a reply with so many sectors of data from a slice to an SM; `ready`: when the slice has the data.
    #[inline]
    pub(super) fn send_to_sm(&mut self, slice: u16, sm: u32, ready: Picos, sectors: u32) -> Crossing {
        let start = self.clock.next(ready).0 * 16;
        let left = self.from_slices[usize::from(slice)].transmit(start, self.slice_out[sectors as usize]);
        let crossed = left + 16 * self.reply_cycles;
        let port = &mut self.to_sms[usize::from(self.port_of[sm as usize])];
        // The bytes follow each other through both ports: only the wider part of the time counts once.
        let behind = self.sm_in[sectors as usize];
        let end = port.transmit(crossed.saturating_sub(behind), behind).max(crossed);
        let waited = (end - start) / 16 - self.reply_cycles;
        Crossing { arrival: self.clock.edge(Cycles(end.div_ceil(16))), waited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing::gpu;

    /// Headers of 8 B, ports of 32 B in a cycle (of slices 64 B), 10 cycles there and 20 back, at 1 GHz.
    fn crossbar() -> Crossbar {
        let mut config = gpu("titan-v");
        config.clock.interconnect = Clock::from_khz(1_000_000);
        config.sm.per_port = 2;
        let c = &mut config.crossbar;
        (c.header_bytes, c.sm_out_bytes, c.sm_in_bytes, c.slice_bytes) = (8, 32, 32, 64);
        (c.request_cycles, c.reply_cycles) = (10, 20);
        Crossbar::new(&config)
    }

    fn cycles(crossing: Crossing) -> u64 {
        crossing.arrival.0 / 1000
    }

    #[test]
    fn packets_of_sms_at_one_port_follow_each_other() {
        let mut crossbar = crossbar();
        // 136 B take 4.25 cycles; a header alone a quarter of one.
        assert_eq!(cycles(crossbar.send_to_slice(0, Picos(0), 4)), 5 + 10);
        assert_eq!(cycles(crossbar.send_to_slice(1, Picos(0), 0)), 5 + 10, "4.5 cycles: in the same cycle");
        let crossing = crossbar.send_to_slice(1, Picos(0), 4);
        assert_eq!((cycles(crossing), crossing.waited), (9 + 10, 8));
        assert_eq!(cycles(crossbar.send_to_slice(2, Picos(0), 4)), 5 + 10, "another port");
    }

    #[test]
    fn a_reply_takes_the_narrower_of_its_ports() {
        let mut crossbar = crossbar();
        // 40 B leave the slice in 0.625 cycles and need 1.25 at the SM, of which they share the first.
        assert_eq!(cycles(crossbar.send_to_sm(0, 0, Picos(0), 1)), 21);
        // Of two slices to one SM: the second comes through the port behind the first.
        let crossing = crossbar.send_to_sm(1, 0, Picos(0), 4);
        assert_eq!((cycles(crossing), crossing.waited), (25, 4));
    }
}
