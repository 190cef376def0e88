//! Wall-clock and CPU time of the running thread.

use std::time::{Duration, Instant};

/// A duration on the wall, and on the CPU.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

impl Times {
    pub(crate) fn add(&mut self, other: Self) {
        self.wall += other.wall;
        self.cpu += other.cpu;
    }
}

/// What a piece of work took.
pub(crate) fn timed<R>(work: impl FnOnce() -> R) -> (R, Times) {
    let (cpu, wall) = (cpu(), Instant::now());
    let result = work();
    let wall = wall.elapsed();
    // Where the system does not tell CPU time, the wall clock stands in for it.
    let cpu = cpu.zip(self::cpu()).map_or(wall, |(before, after)| after.saturating_sub(before));
    (result, Times { wall, cpu })
}

/// CPU time of this thread so far: nanoseconds on a core, as Linux's scheduler counts them (at its ticks, some
/// milliseconds apart).
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
