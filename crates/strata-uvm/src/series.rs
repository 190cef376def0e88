//! What happens in the course of time and of instructions, in bins of equal length.
//!
//! However long a run gets, it has at most 2,048 bins: when they do not suffice, two become one.

use crate::stats::Counts;

/// More bins than this become half as many.
const BINS: usize = 2048;

/// One direction of PCI Express in one bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passed {
    /// Bytes that passed.
    pub bytes: u64,
    /// Core cycles in which something did.
    pub busy: u64,
}

/// What passed over PCI Express: to the device and to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Core cycles of a bin.
    pub bin: u64,
    /// To the device and to the host.
    pub passed: Vec<[Passed; 2]>,
}

impl Series {
    pub(crate) fn new() -> Self {
        Self { bin: 1024, passed: Vec::new() }
    }

    /// Bytes that pass from one core cycle to another.
    pub(crate) fn add(&mut self, direction: usize, from: u64, to: u64, bytes: u64) {
        while to / self.bin >= BINS as u64 {
            self.bin *= 2;
            self.passed = self.passed.chunks(2).map(both).collect();
        }
        let last = (to / self.bin) as usize;
        if self.passed.len() <= last {
            self.passed.resize(last + 1, Default::default());
        }
        let length = (to - from).max(1);
        let (mut given, mut begin) = (0, from);
        for (bin, passed) in self.passed.iter_mut().enumerate().take(last + 1).skip((from / self.bin) as usize) {
            let end = ((bin as u64 + 1) * self.bin).min(to);
            let upto = (u128::from(bytes) * u128::from(end - from) / u128::from(length)) as u64;
            let upto = if bin == last { bytes } else { upto };
            passed[direction].bytes += upto - given;
            passed[direction].busy += end - begin;
            (given, begin) = (upto, end);
        }
    }
}

/// Two bins as one.
fn both(two: &[[Passed; 2]]) -> [Passed; 2] {
    [0, 1].map(|direction| Passed {
        bytes: two.iter().map(|bin| bin[direction].bytes).sum(),
        busy: two.iter().map(|bin| bin[direction].busy).sum(),
    })
}

/// What was counted until so many instructions had issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Machine instructions times active lanes, of all launches.
    pub instructions: u64,
    /// Core cycle.
    pub cycle: u64,
    /// Everything until then.
    pub counts: Counts,
}

/// The counts in the course of the instructions: what a run that is cut short would have counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// Instructions from one moment to the next, at least.
    bin: u64,
    next: u64,
    moments: Vec<Moment>,
}

impl Course {
    pub(crate) fn new() -> Self {
        Self { bin: 4096, next: 0, moments: Vec::new() }
    }

    /// True if a moment is due. Counts only change with requests to the GMMU, so those are asked.
    #[inline]
    pub(crate) fn is_due(&self, instructions: u64) -> bool {
        instructions >= self.next
    }

    pub(crate) fn add(&mut self, moment: &Moment) {
        if self.moments.len() == BINS {
            self.bin *= 2;
            self.moments = self.moments.iter().copied().step_by(2).collect();
        }
        self.next = moment.instructions + self.bin;
        self.moments.push(*moment);
    }

    /// All moments, in order.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_keeps_every_byte_and_cycle_however_long_it_gets() {
        let mut series = Series::new();
        series.add(0, 100, 3000, 5000);
        series.add(1, 5_000_000, 5_000_001, 7);
        series.add(0, 4_000_000, 9_000_000, 1_000_003);
        let sum = |d: usize, what: fn(&Passed) -> u64| series.passed.iter().map(|b| what(&b[d])).sum::<u64>();
        assert_eq!((sum(0, |p| p.bytes), sum(1, |p| p.bytes)), (1_005_003, 7));
        assert_eq!((sum(0, |p| p.busy), sum(1, |p| p.busy)), (5_002_900, 1));
        assert!(series.passed.len() <= BINS);
        assert!(series.passed.iter().flatten().all(|p| p.busy <= series.bin));
    }

    #[test]
    fn a_course_has_moments_at_growing_distances() {
        let mut course = Course::new();
        for instructions in (0..100_000_000).step_by(1000) {
            if course.is_due(instructions) {
                let counts = Counts { hits: instructions / 10, ..Counts::default() };
                course.add(&Moment { instructions, cycle: instructions, counts });
            }
        }
        let moments = course.moments();
        assert!(moments.len() > BINS / 2 && moments.len() <= BINS);
        assert!(moments.windows(2).all(|m| m[0].instructions < m[1].instructions));
        assert!(moments.iter().all(|m| m.counts.hits == m.instructions / 10));
    }
}
