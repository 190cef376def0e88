//! Whole programs.

use crate::clock::{Times, timed};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use strata_core::{Addr, Bytes};
use strata_host::{
    AllocFlags, Allocation, AllocationId, Device, Engine, HostError, HostEvent, KernelShape, Launch, LaunchReport,
    ModuleId, SymbolAddress,
};
use strata_lab::Monitor;
use strata_lab::engine::{EngineOptions, functional};
use strata_workloads::Size;

/// Programs whose speed was promised, in thread instructions per second on one core.
pub(crate) const TARGETS: [(&str, f64); 4] =
    [("hotspot", 1.5e9), ("matmul-tiled", 1.5e9), ("bfs", 0.5e9), ("atax", 0.5e9)];

/// An engine that adds up the time spent in launches: inputs and CPU references are not what is measured.
struct Stopwatch {
    engine: Box<dyn Engine>,
    total: Rc<Cell<Times>>,
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
        let mut total = self.total.get();
        total.add(took);
        self.total.set(total);
        report
    }
    fn hear(&mut self, event: &HostEvent) {
        self.engine.hear(event);
    }
}

/// Thread instructions, warp instructions and time of one run.
fn once(name: &str, size: Size) -> Result<(u64, u64, Times), String> {
    let workload = strata_workloads::find(name).map_err(|e| e.to_string())?;
    let monitor = Arc::new(Monitor::default());
    let options =
        EngineOptions { threads: 1, check: false, max_instructions: None, monitor, registers: BTreeMap::new() };
    let engine = functional(options).map_err(|e| e.to_string())?;
    let total = Rc::new(Cell::new(Times::default()));
    let mut device = Device::new(Box::new(Stopwatch { engine, total: Rc::clone(&total) }));
    let outcome = workload.run(size, 1, &mut device).map_err(|e| e.to_string())?;
    if !outcome.passed {
        return Err(format!("{name}: {}", outcome.checked));
    }
    let counts = || device.launches().iter().map(|(_, report)| &report.counts);
    let threads = counts().map(strata_core::Counts::thread_instructions).sum();
    let warps = counts().map(strata_core::Counts::warp_instructions).sum();
    Ok((threads, warps, total.get()))
}

/// Runs and prints programs.
pub(crate) fn run(names: &[String], size: Size, repeat: usize) -> Result<(), String> {
    println!("functional, one core, size {size}, best of {repeat} (median in brackets); seconds inside launches");
    println!(
        "{:<13} {:>9} {:>9} {:>17} {:>17} {:>9} {:>9} {:>9}",
        "program", "thread in", "warp in", "wall s", "CPU s", "G/CPU s", "ns/warp", "target"
    );
    let mut busy = false;
    for name in names {
        let runs = (0..repeat).map(|_| once(name, size)).collect::<Result<Vec<_>, _>>()?;
        let (threads, warps, _) = runs[0];
        let (wall, wall_median) = best_and_median(runs.iter().map(|r| r.2.wall.as_secs_f64()));
        let (cpu, cpu_median) = best_and_median(runs.iter().map(|r| r.2.cpu.as_secs_f64()));
        busy |= wall_median > 1.1 * cpu_median;
        let rate = threads as f64 / cpu;
        let target = TARGETS.iter().find(|t| t.0 == name).filter(|_| size == Size::Medium);
        let verdict = target.map_or_else(String::new, |(_, target)| {
            format!("{:.1} {}", target / 1e9, if rate >= *target { "pass" } else { "miss" })
        });
        println!(
            "{name:<13} {:>7.2} G {:>7.1} M {wall:>8.3} ({wall_median:>6.3}) {cpu:>8.3} ({cpu_median:>6.3}) {:>9.2} {:>9.1} {verdict:>9}",
            threads as f64 / 1e9,
            warps as f64 / 1e6,
            rate / 1e9,
            cpu * 1e9 / warps as f64,
        );
    }
    if busy {
        println!("The machine was busy with other work: wall-clock times are longer than the CPU times.");
    }
    Ok(())
}

/// The smallest value and the middle one.
pub(crate) fn best_and_median(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    (values[0], values[values.len() / 2])
}
