//! The memory pipeline of an SM: the load/store unit (LSU) with its instruction queue, L1 and the constant cache.

use super::l1::L1;
use crate::cache::Tags;
use crate::coalesce::CoalescedAccess;
use crate::config::{GpuConfig, L1Config};
use arrayvec::ArrayVec;
use strata_core::{LANES, LINE_BYTES};

/// The parts of an SM's memory pipeline.
pub(super) struct MemoryUnit {
    pub(super) lsu: LoadStoreUnit,
    pub(super) l1: L1,
    pub(super) constants: ConstantCache,
}

impl MemoryUnit {
    pub(super) fn new(config: &GpuConfig) -> Self {
        Self {
            lsu: LoadStoreUnit::new(config.sm.memory_queue),
            l1: L1::new(config),
            constants: ConstantCache::new(config),
        }
    }
}

/// The load/store unit of an SM.
pub(super) struct LoadStoreUnit {
    /// When it takes the next line request, in sixteenths of a core cycle.
    free: u64,
    /// When each of the last instructions left the queue before the unit; the oldest is at `next`.
    left: Box<[u64]>,
    next: usize,
}

impl LoadStoreUnit {
    fn new(queue: u32) -> Self {
        Self { free: 0, left: vec![0; queue.max(1) as usize].into_boxed_slice(), next: 0 }
    }

    /// The core cycle at which there is room in the queue for another instruction.
    #[inline]
    pub(super) fn room(&self) -> u64 {
        self.left[self.next]
    }

    /// An instruction comes at core cycle `at`: the cycle at which the unit takes each of its line requests, at most one per
    /// lane, and the cycles that it waited.
    #[inline]
    pub(super) fn take(&mut self, at: u64, lines: &[CoalescedAccess], l1: &L1Config) -> (ArrayVec<u64, LANES>, u64) {
        let start = self.free.max(at * 16);
        let mut next = start;
        let mut taken = ArrayVec::new();
        for request in lines {
            let _ = taken.try_push(next / 16);
            let by_bytes = u64::from(request.sectors.count()) * 32 * 16 / u64::from(l1.bytes_per_cycle);
            next += by_bytes.max(16);
        }
        self.free = next.max(start + (l1.instruction_cycles * 16.0) as u64);
        self.left[self.next] = start / 16;
        self.next = (self.next + 1) % self.left.len();
        (taken, (start - at * 16) / 16)
    }

    /// The core cycle, not before `at`, at which the unit sends a line request again.
    pub(super) fn replay(&mut self, at: u64) -> u64 {
        let start = self.free.max(at * 16);
        self.free = start + 16;
        start / 16
    }
}

/// The constant cache of an SM. Nobody writes to what it holds.
pub(super) struct ConstantCache(Tags);

impl ConstantCache {
    fn new(config: &GpuConfig) -> Self {
        let ways = config.constant.ways;
        Self(Tags::new((config.constant.size.0 / LINE_BYTES / u64::from(ways)).max(1) as u32, ways))
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The lines that must be asked for; they are there from now on.
    pub(super) fn misses(&mut self, lines: &[CoalescedAccess]) -> ArrayVec<CoalescedAccess, LANES> {
        let tags = &mut self.0;
        let mut missing = ArrayVec::new();
        for request in lines {
            let set = request.line.0 as u32 % tags.sets();
            if tags.find(set, request.line).is_none() {
                tags.insert(set, request.line);
                missing.extend([*request]);
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::SectorMask;
    use crate::machine::testing::gpu;
    use strata_core::LineAddr;

    fn lines(sectors: &[u8]) -> Vec<CoalescedAccess> {
        let line = |(k, &mask): (usize, &u8)| {
            let mask = SectorMask(mask);
            CoalescedAccess { line: LineAddr(k as u64), sectors: mask, full: mask, asked: mask, bytes: 0 }
        };
        sectors.iter().enumerate().map(line).collect()
    }

    /// 64 B in a cycle, an instruction at least 2 cycles, a queue of two.
    fn unit() -> (LoadStoreUnit, L1Config) {
        let mut l1 = gpu("titan-v").l1;
        (l1.bytes_per_cycle, l1.instruction_cycles) = (64, 2.0);
        (LoadStoreUnit::new(2), l1)
    }

    #[test]
    fn line_requests_take_the_unit_one_after_another() {
        let (mut lsu, l1) = unit();
        let (taken, waited) = lsu.take(10, &lines(&[0b1111, 0b0001, 0b1111]), &l1);
        assert_eq!((taken.as_slice(), waited), (&[10, 12, 13][..], 0));
        let (taken, waited) = lsu.take(10, &lines(&[0b0001]), &l1);
        assert_eq!((taken.as_slice(), waited), (&[15][..], 5));
        assert_eq!(lsu.replay(10), 17, "an instruction takes two cycles at least");
        assert_eq!(lsu.replay(30), 30);
    }

    #[test]
    fn the_queue_has_room_when_its_oldest_has_left() {
        let (mut lsu, l1) = unit();
        let room: Vec<u64> = (0..3)
            .map(|_| {
                lsu.take(10, &lines(&[0b1111]), &l1);
                lsu.room()
            })
            .collect();
        assert_eq!(room, [0, 10, 12], "the two before the next are in the queue");
    }

    #[test]
    fn constants_are_fetched_once() {
        let mut cache = ConstantCache::new(&gpu("titan-v"));
        assert_eq!(cache.misses(&lines(&[1, 1])).len(), 2);
        assert_eq!(cache.misses(&lines(&[1, 1, 1])).iter().map(|r| r.line.0).collect::<Vec<_>>(), [2]);
    }
}
