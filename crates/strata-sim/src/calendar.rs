//! When a scheduler issues: a calendar of cycles, each taken or free.
//!
//! A warp that runs arithmetic needs no event per instruction: it takes, for each, the first free cycle at which its operands
//! are ready. Warps that come later find the cycles between. So the throughput of a scheduler is exact, and a run of
//! dependent arithmetic costs a few nanoseconds per instruction.

/// Cycles ahead that can be taken: more than any run of one warp between two events.
const AHEAD: u64 = 4096;
const WORDS: usize = (AHEAD / 64) as usize;

/// The issue slots of one scheduler.
pub(crate) struct Calendar {
    /// One bit per cycle, `width` rows.
    taken: Vec<[u64; WORDS]>,
    /// Cycles before this one are forgotten.
    base: u64,
}

impl Calendar {
    /// A calendar with `width` slots per cycle.
    pub(crate) fn new(width: u32) -> Self {
        Self { taken: vec![[0; WORDS]; width.max(1) as usize], base: 0 }
    }

    /// Forgets everything before `cycle`.
    #[inline]
    fn forget(&mut self, cycle: u64) {
        let (old, new) = (self.base / 64, cycle / 64);
        if new > old {
            for word in old..new.min(old + WORDS as u64) {
                for row in &mut self.taken {
                    row[word as usize % WORDS] = 0;
                }
            }
            self.base = new * 64;
        }
    }

    /// Takes the first free slot at or after `cycle`; `now` is the cycle of the event that asks, before which nobody will.
    #[inline]
    pub(crate) fn take(&mut self, now: u64, cycle: u64) -> u64 {
        self.forget(now);
        let cycle = cycle.max(self.base);
        let mut best = u64::MAX;
        let mut best_row = 0;
        let end = (self.base + AHEAD) / 64;
        for (r, row) in self.taken.iter().enumerate() {
            let mut word = cycle / 64;
            let mut free = !row[word as usize % WORDS] & (u64::MAX << (cycle % 64));
            while free == 0 && word + 1 < end {
                word += 1;
                free = !row[word as usize % WORDS];
            }
            let found = if free == 0 { end * 64 } else { word * 64 + u64::from(free.trailing_zeros()) };
            if found < best {
                best = found;
                best_row = r;
            }
            if found == cycle {
                break;
            }
        }
        if best < end * 64 {
            self.taken[best_row][(best / 64) as usize % WORDS] |= 1 << (best % 64);
        }
        best
    }

    /// Takes `length` cycles from the first free one at or after `cycle` on, and gives that one.
    ///
    /// A gap that is too short is taken nevertheless: who comes later waits for the longer of the two.
    #[inline]
    pub(crate) fn take_span(&mut self, now: u64, cycle: u64, length: u64) -> u64 {
        let first = self.take(now, cycle);
        let end = self.base + AHEAD;
        for c in first + 1..(first + length).min(end) {
            self.taken[0][(c / 64) as usize % WORDS] |= 1 << (c % 64);
        }
        first
    }

    /// Forgets everything, as between kernels.
    pub(crate) fn clear(&mut self) {
        for row in &mut self.taken {
            row.fill(0);
        }
        self.base = 0;
    }
}

/// How far ahead of its event a warp may take cycles.
pub(crate) const RUN_AHEAD: u64 = AHEAD / 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latecomers_find_the_gaps() {
        let mut c = Calendar::new(1);
        let dependent: Vec<u64> = (0..4).map(|k| c.take(100, 100 + 4 * k)).collect();
        assert_eq!(dependent, [100, 104, 108, 112]);
        let independent: Vec<u64> = (0..6).map(|_| c.take(100, 100)).collect();
        assert_eq!(independent, [101, 102, 103, 105, 106, 107]);
    }

    #[test]
    fn two_slots_per_cycle() {
        let mut c = Calendar::new(2);
        let got: Vec<u64> = (0..5).map(|_| c.take(0, 0)).collect();
        assert_eq!(got, [0, 0, 1, 1, 2]);
    }

    #[test]
    fn the_past_is_reused() {
        let mut c = Calendar::new(1);
        for k in 0..10 * AHEAD {
            assert_eq!(c.take(k, k), k);
        }
    }
}
