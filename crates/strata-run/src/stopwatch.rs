//! How long work takes, on the wall and on the CPU, and an engine that measures its launches alone.
//!
//! Speed is judged by CPU time: on an idle machine both agree, on a busy one only CPU time says something about the
//! program. Nothing measured here is part of a result that must be the same on every machine.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use strata_host::{Around, Engine, HostError, Launch, LaunchReport};

/// A duration on the wall, and on the CPU.
#[derive(Clone, Copy, Default, Debug)]
pub struct Times {
    /// Wall-clock time.
    pub wall: Duration,
    /// Of the thread that worked, on a core.
    pub cpu: Duration,
}

/// What a piece of work took that this thread does alone.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, Times) {
    let (cpu, wall) = (cpu(), Instant::now());
    let result = work();
    let wall = wall.elapsed();
    // Where the system does not tell CPU time, the wall clock stands in for it.
    let cpu = cpu.zip(self::cpu()).map_or(wall, |(before, after)| after.saturating_sub(before));
    (result, Times { wall, cpu })
}

/// CPU time of this thread so far.
#[cfg(unix)]
fn cpu() -> Option<Duration> {
    Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime)).ok()
}

/// CPU time of all threads of this process since it began; none where the system does not tell.
#[cfg(unix)]
pub fn process_cpu() -> Duration {
    Duration::try_from(rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// CPU time of all threads of this process since it began; none where the system does not tell.
#[cfg(not(unix))]
pub fn process_cpu() -> Duration {
    Duration::ZERO
}

#[cfg(not(unix))]
fn cpu() -> Option<Duration> {
    None
}

/// An engine that adds up the time spent in launches: inputs and CPU references are not what is measured.
pub struct Stopwatch {
    engine: Box<dyn Engine>,
    total: Rc<Cell<Times>>,
}

impl Stopwatch {
    /// The engine, and where the time of its launches so far can be read.
    pub fn new(engine: Box<dyn Engine>) -> (Self, Rc<Cell<Times>>) {
        let total = Rc::<Cell<Times>>::default();
        (Self { engine, total: Rc::clone(&total) }, total)
    }
}

impl Around for Stopwatch {
    fn inside(&self) -> &dyn Engine {
        &*self.engine
    }

    fn inside_mut(&mut self) -> &mut dyn Engine {
        &mut *self.engine
    }

    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
        let (report, took) = timed(|| self.engine.launch(launch));
        let total = self.total.get();
        self.total.set(Times { wall: total.wall + took.wall, cpu: total.cpu + took.cpu });
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_takes_no_cpu_time_and_work_does() {
        let nap = Duration::from_millis(30);
        let ((), slept) = timed(|| std::thread::sleep(nap));
        assert!(slept.wall >= nap);
        assert!(cfg!(not(unix)) || slept.cpu < nap / 2, "{slept:?}");
        let (_, worked) = timed(|| (0..1_000_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
        assert!(worked.cpu > Duration::ZERO, "{worked:?}");
    }
}
