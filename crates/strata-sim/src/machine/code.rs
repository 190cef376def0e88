//! Instruction fetch of a launch that finds its caches empty, as a profiler makes them: every SM fetches the lines of code that its
//! warps come to, and a stream prefetcher those that follow.
//!
//! What was fetched stays: machine code of a kernel fits into the instruction cache of an SM (128 KiB). Code that nobody emptied
//! the caches of is there from the beginning.

use super::warp::NEVER;
use crate::config::GpuConfig;
use crate::time::Cycles;

/// Bytes of a machine instruction since Volta; a PTX instruction counts as one.
const INSTRUCTION: u32 = 16;
/// Bytes of a line of the instruction caches.
const LINE: u32 = 128;
/// Core cycles between two lines that the prefetcher asks for.
const APART: u64 = 2;

/// The code of a kernel on all SMs.
pub(super) struct Code {
    lines: usize,
    /// When each line is at an SM, SM by SM; [`NEVER`] until it is asked for.
    ready: Vec<u64>,
    /// Lines that are asked for ahead of the one that a warp comes to.
    ahead: usize,
    /// Core cycles from memory.
    latency: u64,
}

impl Code {
    /// Of a kernel of so many instructions, all of it in memory.
    pub(super) fn cold(config: &GpuConfig, instructions: usize) -> Self {
        let lines = (instructions as u32 * INSTRUCTION).div_ceil(LINE).max(1) as usize;
        let (l1, crossbar, dram) = (&config.l1, &config.crossbar, &config.dram);
        let core =
            |cycles: u32, clock: &crate::time::Clock| config.clock.core.next(clock.edge(Cycles(cycles.into()))).0;
        let latency = u64::from(l1.miss_latency)
            + core(crossbar.request_cycles + crossbar.reply_cycles, &config.clock.interconnect)
            + core(config.l2.latency + dram.controller_cycles, &config.clock.l2)
            + core(dram.timing.rcd + dram.timing.cl, &config.clock.dram);
        let ahead = config.sm.code_prefetch as usize;
        Self { lines, ready: vec![NEVER; lines * config.sm.count as usize], ahead, latency }
    }

    /// The cycle at which a warp that comes to an instruction at `now` has it.
    pub(super) fn fetch(&mut self, sm: u32, pc: u32, now: u64) -> u64 {
        let line = (pc * INSTRUCTION / LINE) as usize;
        let row = &mut self.ready[sm as usize * self.lines..][..self.lines];
        for (k, ready) in row[line..].iter_mut().take(1 + self.ahead).enumerate() {
            if *ready == NEVER {
                *ready = now + self.latency + APART * k as u64;
            }
        }
        row[line]
    }

    /// True if all of these instructions are at an SM at `now`.
    pub(super) fn is_there(&self, sm: u32, first: u32, last: u32, now: u64) -> bool {
        let [first, last] = [first, last].map(|pc| (pc * INSTRUCTION / LINE) as usize);
        self.ready[sm as usize * self.lines..][first..=last].iter().all(|ready| *ready <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing::gpu;

    #[test]
    fn lines_come_once_and_those_that_follow_come_with_them() {
        let mut config = gpu("titan-v");
        config.sm.code_prefetch = 2;
        let mut code = Code::cold(&config, 64);
        let latency = code.latency;
        assert!(latency > 250, "{latency}: DRAM of this card is 313 cycles away");
        assert_eq!(code.fetch(1, 0, 100), 100 + latency);
        assert!(!code.is_there(1, 0, 7, 100) && code.is_there(1, 0, 7, 100 + latency));
        assert_eq!(code.fetch(1, 8, 100 + latency), 102 + latency, "the second line was asked for with the first");
        assert_eq!(code.fetch(1, 24, 100 + latency), 102 + 2 * latency, "the fourth when the second was needed");
        assert_eq!(code.fetch(0, 8, 500), 500 + latency, "each SM fetches for itself");
    }
}
