//! How long work takes, on the wall and on the CPU, and an engine that measures its launches alone.
//!
//! Speed is judged by CPU time: on an idle machine both agree, on a busy one only CPU time says something about the
//! program. Nothing measured here is part of a result that must be the same on every machine.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use strata_core::{Addr, Bytes};
use strata_host::{
    AllocFlags, Allocation, AllocationId, CopyReport, Engine, HostError, HostEvent, KernelShape, Launch, LaunchReport,
    ModuleId, SymbolAddress,
};

/// A duration on the wall, and on the CPU.
#[derive(Clone, Copy, Default, Debug)]
pub struct Times {
    /// On the wall.
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

impl Engine for Stopwatch {
    fn load_module(&mut self, name: &str, text: &str) -> Result<ModuleId, HostError> {
        self.engine.load_module(name, text)
    }

    fn kernel(&self, module: ModuleId, name: &str) -> Result<KernelShape, HostError> {
        self.engine.kernel(module, name)
    }

    fn symbol(&self, module: ModuleId, name: &str) -> Result<SymbolAddress, HostError> {
        self.engine.symbol(module, name)
    }

    fn alloc(&mut self, size: Bytes, flags: AllocFlags, name: &str) -> Result<Allocation, HostError> {
        self.engine.alloc(size, flags, name)
    }

    fn free(&mut self, start: Addr) -> Result<AllocationId, HostError> {
        self.engine.free(start)
    }

    fn write(&mut self, start: Addr, data: &[u8]) -> Result<(), HostError> {
        self.engine.write(start, data)
    }

    fn read(&self, start: Addr, data: &mut [u8]) -> Result<(), HostError> {
        self.engine.read(start, data)
    }

    fn fill(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), HostError> {
        self.engine.fill(start, size, byte)
    }

    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
        let (report, took) = timed(|| self.engine.launch(launch));
        let total = self.total.get();
        self.total.set(Times { wall: total.wall + took.wall, cpu: total.cpu + took.cpu });
        report
    }

    fn copies(&self) -> CopyReport {
        self.engine.copies()
    }

    fn begin_measurement(&mut self) {
        self.engine.begin_measurement();
    }

    fn hear(&mut self, event: &HostEvent) {
        self.engine.hear(event);
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
