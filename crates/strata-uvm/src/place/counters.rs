//! UVMSmart's delayed migration: reads of a block go to the host until its counter of accesses reaches a threshold.

use crate::settings::{Config, Delay};

/// When reads do not migrate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    delay: Delay,
    threshold: u64,
    penalty: u64,
}

impl Place {
    pub(crate) fn new(config: &Config) -> Self {
        Self { delay: config.delay, threshold: config.migrate_threshold, penalty: config.dma_penalty }
    }

    /// True if there is anything to decide.
    pub(crate) fn delays(&self) -> bool {
        self.delay != Delay::Disabled
    }

    /// Delays from now on, once memory was full.
    pub(crate) fn delay_when_full(&mut self) {
        self.delay = Delay::Oversubscribed;
    }

    /// True if a block with so many accesses, so many round trips, stays at the host.
    pub(crate) fn is_cold(&self, accesses: u64, round_trips: u64, occupancy: f64, oversubscribed: bool) -> bool {
        let threshold = match self.delay {
            Delay::Disabled => return false,
            Delay::Adaptive if oversubscribed => self.threshold * self.penalty * (round_trips + 1),
            Delay::Adaptive => (1.0 + self.threshold as f64 * occupancy) as u64,
            Delay::Oversubscribed if !oversubscribed => return false,
            Delay::Always | Delay::Oversubscribed => self.threshold,
        };
        accesses < threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With UVMSmart's threshold of 8 and penalty of 2.
    #[track_caller]
    fn check(delay: Delay, (round_trips, occupancy, full): (u64, f64, bool), threshold: u64) {
        let place = Place { delay, threshold: 8, penalty: 2 };
        let cold = |accesses| place.is_cold(accesses, round_trips, occupancy, full);
        assert_eq!((0..200).find(|&accesses| !cold(accesses)), Some(threshold), "{delay:?}");
    }

    #[test]
    fn the_four_modes() {
        check(Delay::Disabled, (3, 1.0, true), 0);
        check(Delay::Always, (0, 0.0, false), 8);
        check(Delay::Oversubscribed, (0, 1.0, false), 0);
        check(Delay::Oversubscribed, (0, 1.0, true), 8);
        check(Delay::Adaptive, (0, 0.0, false), 1);
        check(Delay::Adaptive, (0, 0.5, false), 5);
        check(Delay::Adaptive, (0, 1.0, true), 16);
        check(Delay::Adaptive, (2, 1.0, true), 48);
    }
}
