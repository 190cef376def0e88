//! Whole programs.

use strata_host::Device;
use strata_lab::engine::{EngineOptions, functional};
use strata_lab::stopwatch::{Stopwatch, Times};
use strata_workloads::Size;

/// Programs whose speed was promised, in thread instructions per second on one core.
pub(crate) const TARGETS: [(&str, f64); 4] =
    [("hotspot", 1.5e9), ("matmul-tiled", 1.5e9), ("bfs", 0.5e9), ("atax", 0.5e9)];

/// Thread instructions, warp instructions and time of one run.
fn once(name: &str, size: Size) -> Result<(u64, u64, Times), String> {
    let workload = strata_workloads::find(name).map_err(|e| e.to_string())?;
    let engine = functional(EngineOptions::plain(workload.modules())).map_err(|e| e.to_string())?;
    let (stopwatch, total) = Stopwatch::new(engine);
    let mut device = Device::new(Box::new(stopwatch));
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
