//! The dispatcher of CTAs: how many it starts in a time.

use crate::config::LaunchTiming;

/// When the dispatcher can start the next CTA.
pub(super) struct Pace {
    /// Core cycles; a fraction of one counts.
    free: f64,
    /// Core cycles between two starts; 0 where CTAs that follow others start as soon as these have ended.
    interval: f64,
}

impl Pace {
    /// After the first `started` CTAs of a kernel that began at a cycle.
    pub(super) fn after(begin: u64, started: u32, launch: &LaunchTiming) -> Self {
        let interval = if launch.paced { launch.cta_interval } else { 0.0 };
        Self { free: begin as f64 + f64::from(started) * interval, interval }
    }

    /// The cycle at which a CTA starts whose place is free at `at`.
    pub(super) fn start(&mut self, at: u64) -> u64 {
        let start = self.free.max(at as f64);
        self.free = start + self.interval;
        if self.interval == 0.0 { at } else { start as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(paced: bool) -> LaunchTiming {
        LaunchTiming { before: 0, after: 0, cta_interval: 1.5, paced, profiled: 0 }
    }

    #[test]
    fn places_that_become_free_together_are_taken_one_after_another() {
        let mut pace = Pace::after(100, 10, &launch(true));
        assert_eq!([105, 200, 200, 200, 300].map(|at| pace.start(at)), [115, 200, 201, 203, 300]);
    }

    #[test]
    fn without_a_pace_nobody_waits() {
        let mut pace = Pace::after(100, 10, &launch(false));
        assert_eq!([105, 200, 200, 199].map(|at| pace.start(at)), [105, 200, 200, 199]);
    }
}
