//! The crossbar between SMs and L2 slices: ports of limited width, a latency each way.
//!
//! A port is a next-free time: what comes first passes first. Bytes are counted in sixteenths of a cycle, so that a packet
//! does not waste the rest of the cycle in which it ends.

use super::Machine;
use crate::time::{Cycles, Picos};

/// One direction of a port: when it is free, in sixteenths of an interconnect cycle.
#[derive(Clone, Copy, Default)]
pub(super) struct Port(u64);

impl Machine {
    /// Sends a request with `data` bytes from an SM; when it is at its slice. `ready`: when it can leave.
    pub(super) fn send_to_slice(&mut self, sm: u32, ready: Picos, data: u32) -> Picos {
        let crossbar = &self.config.crossbar;
        let (bytes, width, cycles) = (crossbar.header_bytes + data, crossbar.sm_out_bytes, crossbar.request_cycles);
        let start = self.config.clock.interconnect.next(ready).0 * 16;
        let port = &mut self.ports_out[(sm / self.config.sm.per_port) as usize];
        let end = pass(port, start, bytes, width);
        self.stats.wait_request_port += (end - start) / 16;
        self.config.clock.interconnect.edge(Cycles(end.div_ceil(16) + u64::from(cycles)))
    }

    /// Sends a reply with `data` bytes to an SM; when it is there. `ready`: when the slice has the data.
    pub(super) fn send_to_sm(&mut self, slice: u16, sm: u32, ready: Picos, data: u32) -> Picos {
        let crossbar = &self.config.crossbar;
        let bytes = crossbar.header_bytes + data;
        let start = self.config.clock.interconnect.next(ready).0 * 16;
        let left = pass(&mut self.slices[usize::from(slice)].port, start, bytes, crossbar.slice_bytes);
        let crossed = left + 16 * u64::from(crossbar.reply_cycles);
        let port = &mut self.ports_in[(sm / self.config.sm.per_port) as usize];
        // The bytes follow each other through both ports: only the wider part of the time counts once.
        let behind = u64::from(bytes * 16 / crossbar.sm_in_bytes.max(1));
        let end = pass(port, crossed.saturating_sub(behind), bytes, crossbar.sm_in_bytes).max(crossed);
        self.stats.wait_reply_port += (end - start) / 16 - u64::from(crossbar.reply_cycles);
        self.config.clock.interconnect.edge(Cycles(end.div_ceil(16)))
    }
}

/// Sends bytes through a port: when the last has left.
#[inline]
fn pass(port: &mut Port, ready: u64, bytes: u32, per_cycle: u32) -> u64 {
    let end = port.0.max(ready) + u64::from(bytes) * 16 / u64::from(per_cycle.max(1));
    port.0 = end;
    end
}
