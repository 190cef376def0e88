//! When a unit is busy: a calendar of cycles, each taken or free.
//!
//! A warp that runs arithmetic needs no event per instruction: it takes, for each, the first cycle at which its operands are
//! ready and the unit is free. Warps that come later find the cycles between. So the throughput of a unit is exact, and a
//! run of dependent arithmetic costs a few nanoseconds per instruction.
//!
//! Invariant: nobody asks for a cycle before the `now` of an earlier call; what lies before it is forgotten.

use strata_core::prefetch;

/// Cycles ahead of now that can be taken.
const AHEAD: u64 = 1024;
const WORDS: u64 = AHEAD / 64;
/// The first cycles of frames of 1, 2, 4, 8, 16 and 32 cycles, among 64.
const STARTS: [u64; 6] =
    [u64::MAX, u64::MAX / 0b11, u64::MAX / 0xf, u64::MAX / 0xff, u64::MAX / 0xffff, u64::MAX / 0xffff_ffff];

/// The cycles of `N` units that are asked together, by their numbers.
///
/// The words of one span of time lie side by side: the issue slots of a scheduler and all the units that it feeds are one cache
/// line of the host for each 64 cycles.
#[derive(Clone)]
#[repr(align(64))]
pub(crate) struct Calendars<const N: usize> {
    /// One bit per cycle: taken.
    taken: [[u64; N]; WORDS as usize],
    /// Number of the first word that is remembered; the ring holds `WORDS` from there on.
    first: u64,
}

impl<const N: usize> Default for Calendars<N> {
    fn default() -> Self {
        Self { taken: [[0; N]; WORDS as usize], first: 0 }
    }
}

impl<const N: usize> Calendars<N> {
    /// Forgets everything before `now`.
    #[inline]
    pub(crate) fn forget(&mut self, now: u64) {
        let first = now / 64;
        if first > self.first {
            for word in self.first..first.min(self.first + WORDS) {
                self.taken[(word % WORDS) as usize] = [0; N];
            }
            self.first = first;
        }
    }

    /// Asks the host's caches for the cycles from `now` on.
    #[inline]
    pub(crate) fn prefetch(&self, now: u64) {
        let word = now / 64;
        prefetch(&self.first);
        prefetch(&self.taken[(word % WORDS) as usize]);
        prefetch(&self.taken[((word + 1) % WORDS) as usize]);
    }

    /// The first cycle at or after `cycle` from which `length` cycles of a unit are free (at most 64), or `None` if that is too
    /// far away to be remembered.
    #[inline]
    pub(crate) fn find(&self, unit: usize, cycle: u64, length: u32) -> Option<u64> {
        let length = length.clamp(1, 64);
        let end = self.end();
        let mut cycle = cycle.max(self.first * 64);
        while cycle < end {
            // All starts of 64 cycles at once: a bit stays set while the cycles from its own on are free. What lies behind the
            // last word is never part of a span that starts before `end`.
            let mut free = !(u128::from(self.window(unit, cycle)) | u128::from(self.window(unit, cycle + 64)) << 64);
            let mut known = 1;
            while known < length {
                let more = known.min(length - known);
                free &= free >> more;
                known += more;
            }
            if free as u64 != 0 {
                let found = cycle + u64::from(free.trailing_zeros());
                return (found < end).then_some(found);
            }
            cycle += 64;
        }
        None
    }

    /// The same for one cycle: the first that is free.
    #[inline]
    pub(crate) fn find_one(&self, unit: usize, cycle: u64) -> Option<u64> {
        let end = self.end();
        let mut cycle = cycle.max(self.first * 64);
        while cycle < end {
            let taken = self.window(unit, cycle).trailing_ones();
            if taken < 64 {
                return Some(cycle + u64::from(taken));
            }
            cycle += 64;
        }
        None
    }

    /// Takes one cycle, which [`Calendars::find_one`] gave.
    #[inline]
    pub(crate) fn take_one(&mut self, unit: usize, cycle: u64) {
        self.taken[(cycle / 64 % WORDS) as usize][unit] |= 1 << (cycle % 64);
    }

    /// Finds and takes the first cycle at or after `cycle` that is free of unit `one` and lies in a free frame of unit `framed`,
    /// which is taken whole: time is divided into frames of `length` cycles (2 to 64).
    ///
    /// A unit that takes an operation every `length` cycles takes one per frame, at any cycle of it. So operations that come
    /// at odd times do not leave gaps too short for anybody.
    #[inline]
    pub(crate) fn take_in_frame(&mut self, one: usize, framed: usize, cycle: u64, length: u32) -> Option<u64> {
        let Some(&starts) = STARTS.get(length.trailing_zeros() as usize).filter(|_| length.is_power_of_two()) else {
            let found = self.find_in_odd_frame(one, framed, cycle, length)?;
            self.take_one(one, found);
            self.take(framed, found / u64::from(length) * u64::from(length), length);
            return Some(found);
        };
        // All cycles of a word at once: frames do not go from one word into the next.
        let (cycle, frame) = (cycle.max(self.first * 64), (1u64 << length) - 1);
        let (mut word, mut wanted) = (cycle / 64, u64::MAX << (cycle % 64));
        while word < self.first + WORDS - 1 {
            let row = &mut self.taken[(word % WORDS) as usize];
            let mut taken = row[framed];
            let mut half = length / 2;
            while half > 0 {
                taken |= taken >> half;
                half /= 2;
            }
            // The first cycle of each free frame, then all of its cycles.
            let found = (!taken & starts).wrapping_mul(frame) & !row[one] & wanted;
            if found != 0 {
                let at = found.trailing_zeros();
                row[one] |= 1 << at;
                row[framed] |= frame << (at & !(length - 1));
                return Some(word * 64 + u64::from(at));
            }
            (word, wanted) = (word + 1, u64::MAX);
        }
        None
    }

    /// Finds the same for frames of any length, one after another.
    #[cold]
    fn find_in_odd_frame(&self, one: usize, framed: usize, cycle: u64, length: u32) -> Option<u64> {
        let (length, wanted) = (u64::from(length), u64::MAX >> (64 - length.clamp(1, 64)));
        let mut slot = self.find_one(one, cycle)?;
        loop {
            let mut frame = slot / length * length;
            while frame + length <= self.end() && self.window(framed, frame) & wanted != 0 {
                frame += length;
            }
            if frame + length > self.end() {
                return None;
            }
            if slot >= frame {
                return Some(slot);
            }
            slot = self.find_one(one, frame)?;
        }
    }

    /// The first cycle of the last word: what is behind it is too far away.
    #[inline]
    fn end(&self) -> u64 {
        (self.first + WORDS - 1) * 64
    }

    /// The 64 cycles of a unit from `cycle` on.
    #[inline]
    fn window(&self, unit: usize, cycle: u64) -> u64 {
        let (word, shift) = (cycle / 64, cycle % 64);
        let low = self.taken[(word % WORDS) as usize][unit] >> shift;
        if shift == 0 { low } else { low | self.taken[((word + 1) % WORDS) as usize][unit] << (64 - shift) }
    }

    /// Takes `length` cycles (at most 64) from `cycle` on, which [`Calendars::find`] gave.
    #[inline]
    pub(crate) fn take(&mut self, unit: usize, cycle: u64, length: u32) {
        let span = u64::MAX >> (64 - length.clamp(1, 64));
        let (word, shift) = (cycle / 64, cycle % 64);
        self.taken[(word % WORDS) as usize][unit] |= span << shift;
        if shift != 0 {
            self.taken[((word + 1) % WORDS) as usize][unit] |= span >> (64 - shift);
        }
    }

    /// Forgets everything, as between kernels.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The cycles of one unit.
pub(crate) type Calendar = Calendars<1>;

impl Calendar {
    /// Finds and takes `length` cycles, longer spans in pieces of 64; gives the first cycle.
    #[inline]
    pub(crate) fn take_first(&mut self, cycle: u64, length: u32) -> Option<u64> {
        let first = self.find(0, cycle, length.min(64))?;
        self.take(0, first, length.min(64));
        let (mut left, mut at) = (length.saturating_sub(64), first + 64);
        while left > 0 {
            let piece = left.min(64);
            let found = self.find(0, at, piece)?;
            self.take(0, found, piece);
            at = found + u64::from(piece);
            left -= piece;
        }
        Some(first)
    }
}

/// How far ahead of its event a warp may take cycles: far enough that most runs of arithmetic need no event, and within what
/// calendars remember.
pub(crate) const RUN_AHEAD: u64 = AHEAD / 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(c: &mut Calendar, cycle: u64) -> u64 {
        let found = c.find_one(0, cycle).unwrap();
        assert_eq!(c.find(0, cycle, 1), Some(found));
        c.take_one(0, found);
        found
    }

    #[test]
    fn latecomers_find_the_gaps() {
        let mut c = Calendar::default();
        c.forget(100);
        let dependent: Vec<u64> = (0..4).map(|k| issue(&mut c, 100 + 4 * k)).collect();
        assert_eq!(dependent, [100, 104, 108, 112]);
        let independent: Vec<u64> = (0..6).map(|_| issue(&mut c, 100)).collect();
        assert_eq!(independent, [101, 102, 103, 105, 106, 107]);
    }

    #[test]
    fn a_span_needs_a_gap_of_its_length() {
        let mut c = Calendar::default();
        assert_eq!(c.take_first(0, 8), Some(0));
        assert_eq!(c.take_first(12, 8), Some(12));
        assert_eq!(c.take_first(3, 8), Some(20), "the gap of 8 to 12 is too short");
        assert_eq!(c.take_first(3, 4), Some(8));
        assert_eq!(c.take_first(60, 8), Some(60), "across a word");
        assert_eq!(c.take_first(61, 1), Some(68));
    }

    #[test]
    fn a_frame_takes_one() {
        let mut c = Calendars::<2>::default();
        let taken: Vec<_> = (0..3).map(|_| c.take_in_frame(0, 1, 19, 8).unwrap()).collect();
        assert_eq!(taken, [19, 24, 32]);
        assert_eq!(c.take_in_frame(0, 1, 9, 8), Some(9));
        assert_eq!(c.take_in_frame(0, 1, 9, 8), Some(40), "its frame is taken whole");
    }

    #[test]
    fn spans_are_found_at_once_as_one_after_another() {
        let one_by_one = |c: &Calendar, from: u64, length: u32| {
            let end = (c.first + WORDS - 1) * 64;
            let wanted = u64::MAX >> (64 - length);
            (from.max(c.first * 64)..end).find(|&cycle| c.window(0, cycle) & wanted == 0)
        };
        for length in [1, 2, 3, 7, 8, 32, 63, 64] {
            let mut c = Calendar::default();
            c.forget(200);
            for k in 0..600u64 {
                c.take_one(0, 192 + (k * k * 11 + k / 3) % (AHEAD - 1));
                let from = 192 + k * 2;
                assert_eq!(c.find(0, from, length), one_by_one(&c, from, length), "{length} from {from}");
            }
        }
    }

    #[test]
    fn frames_are_found_at_once_as_one_after_another() {
        for length in [2, 4, 8, 16, 32] {
            let mut c = Calendars::<2>::default();
            c.forget(200);
            // Cycles without a pattern, closer together the farther away.
            for k in 0..600u64 {
                c.take_one(0, 192 + (k * k * 7 + k / 3) % (AHEAD - 64));
                if k % 4 == 0 {
                    c.take_one(1, 192 + (k * k * 5 + k / 7) % (AHEAD - 64));
                }
                let from = 192 + k;
                let expected = c.find_in_odd_frame(0, 1, from, length);
                let mut taking = c.clone();
                assert_eq!(taking.take_in_frame(0, 1, from, length), expected, "{length} from {from}");
                if let Some(slot) = expected {
                    c.take_one(0, slot);
                    c.take(1, slot / u64::from(length) * u64::from(length), length);
                }
                assert_eq!(taking.taken, c.taken, "{length} from {from}");
            }
        }
    }

    #[test]
    fn the_past_is_used_again() {
        let mut c = Calendar::default();
        for k in 0..10 * AHEAD {
            c.forget(k);
            assert_eq!(c.take_first(k, 1), Some(k));
        }
    }

    #[test]
    fn what_is_too_far_away_has_no_cycle() {
        let mut c = Calendar::default();
        assert_eq!(c.take_first(2 * AHEAD, 1), None);
        while c.take_first(0, 1).is_some() {}
        assert!((0..AHEAD - 64).all(|k| c.find(0, k, 1).is_none()));
    }
}
