//! The policy.

use strata_core::stats::Unit;
use strata_sim::seam::{Replacement, SideCount, Ways};

/// SRRIP with hit priority, of one cache.
pub struct Srrip {
    /// The largest prediction: a re-reference in the distant future.
    distant: u8,
    ways: u32,
    /// Predictions by set and way.
    predicted: Vec<u8>,
    victims: u64,
    /// Times that a set had to grow older first.
    aged: u64,
}

impl Srrip {
    /// With predictions of so many bits, 1 to 8.
    pub fn new(bits: u32) -> Self {
        let distant = ((1u32 << bits.clamp(1, 8)) - 1) as u8;
        Self { distant, ways: 0, predicted: Vec::new(), victims: 0, aged: 0 }
    }

    fn at(&mut self, set: u32, way: u32) -> &mut u8 {
        &mut self.predicted[(set * self.ways + way) as usize]
    }
}

impl Replacement for Srrip {
    fn attach(&mut self, sets: u32, ways: u32) {
        self.ways = ways;
        self.predicted = vec![self.distant; (sets * ways) as usize];
    }

    fn hit(&mut self, set: u32, way: u32) {
        *self.at(set, way) = 0;
    }

    fn filled(&mut self, set: u32, way: u32) {
        *self.at(set, way) = self.distant - 1;
    }

    fn victim(&mut self, set: u32, ways: &Ways) -> u32 {
        let first = (set * self.ways) as usize;
        let (row, distant) = (&mut self.predicted[first..first + self.ways as usize], self.distant);
        let of = |row: &[u8], way: u32| row.get(way as usize).copied().unwrap_or(0);
        // All that may go grow older until one is distant: by as much as the oldest of them lacks.
        let lacks = distant - ways.iter().map(|way| of(row, way)).max().unwrap_or(distant);
        for value in &mut *row {
            *value = value.saturating_add(lacks).min(distant);
        }
        let chosen = ways.iter().find(|&way| of(row, way) == distant).unwrap_or(u32::MAX);
        self.victims += 1;
        self.aged += u64::from(lacks > 0);
        chosen
    }

    fn invalidated(&mut self, set: u32, way: u32) {
        *self.at(set, way) = self.distant;
    }

    fn counts(&self) -> Vec<SideCount> {
        let count = |name, what, value| SideCount { name, unit: Unit::Events, what, value };
        let victims = "lines that the policy chose to leave";
        let aged = "of those, the ones before which their set had to grow older";
        vec![count("srrip.victims", victims, self.victims), count("srrip.aged", aged, self.aged)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ways(list: &[u32]) -> Ways {
        let mut ways = Ways::default();
        for &way in list {
            ways.insert(way);
        }
        ways
    }

    fn full(bits: u32) -> Srrip {
        let mut policy = Srrip::new(bits);
        policy.attach(2, 4);
        (0..4).for_each(|way| policy.filled(1, way));
        policy
    }

    /// The example of the paper's Figure 3: what was used stays while a scan passes through the other ways.
    #[test]
    fn a_scan_leaves_what_is_used() {
        let mut policy = full(2);
        policy.hit(1, 0);
        policy.hit(1, 1);
        for expected in [2, 3, 2, 3] {
            let way = policy.victim(1, &ways(&[0, 1, 2, 3]));
            assert_eq!(way, expected);
            policy.filled(1, way);
            policy.hit(1, 0);
            policy.hit(1, 1);
        }
    }

    #[test]
    fn what_was_used_long_ago_leaves_in_the_end() {
        let mut policy = full(2);
        policy.hit(1, 0);
        let mut left = Vec::new();
        for _ in 0..8 {
            let way = policy.victim(1, &ways(&[0, 1, 2, 3]));
            left.push(way);
            policy.filled(1, way);
        }
        assert!(left.contains(&0), "{left:?}");
        assert_ne!(left[0], 0);
    }

    #[test]
    fn ways_that_may_not_go_stay() {
        let mut policy = full(2);
        assert_eq!(policy.victim(1, &ways(&[2])), 2);
        (0..4).for_each(|way| policy.hit(1, way));
        assert_eq!(policy.victim(1, &ways(&[3])), 3, "even one that was used just now");
    }

    #[test]
    fn what_was_invalidated_leaves_first() {
        let mut policy = full(3);
        policy.invalidated(1, 3);
        assert_eq!(policy.victim(1, &ways(&[0, 1, 2, 3])), 3);
    }
}
