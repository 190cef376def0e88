//! Links: full duplex, a bandwidth, a latency, bytes added to each packet.

use crate::config::LinkConfig;
use crate::time::Picos;

/// Which way over a link, seen from the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the GPU.
    In,
    /// From the GPU.
    Out,
}

/// A link: what comes first passes first, each way by itself.
#[derive(Clone, Debug)]
pub struct Link {
    /// Picoseconds of a byte, times 2^16.
    per_byte: u64,
    latency: Picos,
    header: u64,
    free: [Picos; 2],
}

impl Link {
    /// A link at rest.
    pub fn new(config: &LinkConfig) -> Self {
        Self {
            per_byte: (1000.0 / config.gb_per_s.max(1e-6) * 65536.0) as u64,
            latency: Picos((config.latency_ns * 1000.0) as u64),
            header: u64::from(config.header_bytes),
            free: [Picos(0); 2],
        }
    }

    /// Sends a packet that is ready at some time: when its last byte is there.
    pub fn send(&mut self, direction: Direction, ready: Picos, bytes: u64) -> Picos {
        let free = &mut self.free[direction as usize];
        *free = ready.max(*free) + Picos((bytes + self.header) * self.per_byte >> 16);
        *free + self.latency
    }
}
