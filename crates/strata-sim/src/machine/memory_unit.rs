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
    /// lane, and the cycles that it waited. `banks` is what the fullest bank of L1 has to read, in words, if banks decide.
    #[inline]
    pub(super) fn take(
        &mut self,
        at: u64,
        lines: &[CoalescedAccess],
        banks: Option<u32>,
        l1: &L1Config,
    ) -> (ArrayVec<u64, LANES>, u64) {
        let start = self.free.max(at * 16);
        let mut next = start;
        let mut taken = ArrayVec::new();
        if let Some(words) = banks {
            // Each bank gives 4 of the 128 B of a cycle, or of what the unit reaches of these.
            let by_banks = u64::from(words) * LINE_BYTES * 16 / u64::from(l1.bytes_per_cycle);
            let by_tags = (lines.len() as f64 * 16.0 / l1.lines_per_cycle) as u64;
            let all = by_banks.max(by_tags);
            // Each at its share of that, rounded down, without a division for each.
            let count = lines.len() as u64;
            let (share, rest) = (all / count, all % count);
            let (mut at, mut owed) = (start, 0);
            for _ in lines {
                let _ = taken.try_push(at / 16);
                (at, owed) = (at + share, owed + rest);
                if owed >= count {
                    (at, owed) = (at + 1, owed - count);
                }
            }
            next += all;
        } else {
            for request in lines {
                let _ = taken.try_push(next / 16);
                let by_bytes = u64::from(request.sectors.count()) * 32 * 16 / u64::from(l1.bytes_per_cycle);
                next += by_bytes.max(16);
            }
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

/// The constant caches of an SM. Nobody writes to what they hold.
pub(super) struct ConstantCache {
    first: Tags,
    /// The next one, where the GPU has it.
    next: Option<Tags>,
    /// When the port takes the next load, in core cycles.
    free: u64,
}

impl ConstantCache {
    fn new(config: &GpuConfig) -> Self {
        let ways = config.constant.ways;
        let tags = |bytes: u64| Tags::new((bytes / LINE_BYTES / u64::from(ways)).max(1) as u32, ways);
        let next = (config.constant.next_size.0 > 0).then(|| tags(config.constant.next_size.0));
        Self { first: tags(config.constant.size.0), next, free: 0 }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.first.clear();
        if let Some(next) = &mut self.next {
            next.clear();
        }
    }

    /// The port is taken for so many cycles at `at` or later: when it begins.
    pub(super) fn occupy(&mut self, at: u64, cycles: u64) -> u64 {
        let start = self.free.max(at);
        self.free = start + cycles;
        start
    }

    /// The lines that must be asked for, and whether the next cache had to be asked; they are there from now on.
    pub(super) fn misses(&mut self, lines: &[CoalescedAccess]) -> (ArrayVec<CoalescedAccess, LANES>, bool) {
        let mut missing = ArrayVec::new();
        let mut asked_next = false;
        for request in lines.iter().filter(|request| !is_there(&mut self.first, request)) {
            asked_next |= self.next.is_some();
            if !self.next.as_mut().is_some_and(|next| is_there(next, request)) {
                missing.extend([*request]);
            }
        }
        (missing, asked_next)
    }
}

/// True if a cache has a line; it has it from now on.
fn is_there(tags: &mut Tags, request: &CoalescedAccess) -> bool {
    let set = request.line.0 as u32 % tags.sets();
    let there = tags.find(set, request.line).is_some();
    if !there {
        tags.insert(set, request.line);
    }
    there
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
            CoalescedAccess { line: LineAddr(k as u64), sectors: mask, full: mask, asked: mask, bytes: 0, work: 0 }
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
        let (taken, waited) = lsu.take(10, &lines(&[0b1111, 0b0001, 0b1111]), None, &l1);
        assert_eq!((taken.as_slice(), waited), (&[10, 12, 13][..], 0));
        let (taken, waited) = lsu.take(10, &lines(&[0b0001]), None, &l1);
        assert_eq!((taken.as_slice(), waited), (&[15][..], 5));
        assert_eq!(lsu.replay(10), 17, "an instruction takes two cycles at least");
        assert_eq!(lsu.replay(30), 30);
    }

    #[test]
    fn the_queue_has_room_when_its_oldest_has_left() {
        let (mut lsu, l1) = unit();
        let room: Vec<u64> = (0..3)
            .map(|_| {
                lsu.take(10, &lines(&[0b1111]), None, &l1);
                lsu.room()
            })
            .collect();
        assert_eq!(room, [0, 10, 12], "the two before the next are in the queue");
    }

    #[test]
    fn constants_are_fetched_once() {
        let mut config = gpu("titan-v");
        (config.constant.size.0, config.constant.ways, config.constant.next_size.0) = (256, 1, 0);
        let mut cache = ConstantCache::new(&config);
        assert_eq!(cache.misses(&lines(&[1, 1])).0.len(), 2);
        let (missing, asked_next) = cache.misses(&lines(&[1, 1, 1]));
        assert_eq!((missing.iter().map(|r| r.line.0).collect::<Vec<_>>(), asked_next), (vec![2], false));
        config.constant.next_size.0 = 1024;
        let mut cache = ConstantCache::new(&config);
        assert_eq!(cache.misses(&lines(&[1, 1, 1])).0.len(), 3);
        let (missing, asked_next) = cache.misses(&lines(&[1]));
        assert!(missing.is_empty() && asked_next, "line 2 took its place in the first cache, not in the next");
    }

    #[test]
    fn the_port_for_constants_takes_one_load_after_another() {
        let mut cache = ConstantCache::new(&gpu("titan-v"));
        assert_eq!([cache.occupy(10, 8), cache.occupy(10, 2), cache.occupy(30, 2)], [10, 18, 30]);
    }

    #[test]
    fn with_banks_a_load_takes_what_its_fullest_bank_or_its_tags_take() {
        let (mut lsu, mut l1) = unit();
        (l1.bytes_per_cycle, l1.instruction_cycles, l1.lines_per_cycle) = (128, 1.0, 2.0);
        let (taken, _) = lsu.take(10, &lines(&[0b1111; 4]), Some(1), &l1);
        assert_eq!(taken.as_slice(), [10, 10, 11, 11], "two tags in a cycle");
        let (taken, _) = lsu.take(20, &lines(&[0b1111; 4]), Some(4), &l1);
        assert_eq!(taken.as_slice(), [20, 21, 22, 23], "four words in one bank");
        assert_eq!(lsu.replay(20), 24);
    }
}
