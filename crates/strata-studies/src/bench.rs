//! The speed of simulation: a fixed set of programs, without time and timed, on one core.
//!
//! Rates are per second of CPU time inside launches ([`strata_run::stopwatch`]), the best of a few repetitions: programs are
//! deterministic, so the fastest repetition is the one that others disturbed least.

use serde_json::{Value, json};
use strata_core::Stats;
use strata_host::Device;
use strata_run::LabError;
use strata_run::Step;
use strata_run::engine::{self, EngineOptions};
use strata_run::gpus;
use strata_run::stopwatch::Stopwatch;
use strata_run::table::{Align, columns, grouped, short};
use strata_sim::config::GpuConfig;
use strata_workloads::{Instance, Purpose, Workload, instances};

/// The machine of the timed runs, unless another is named.
pub const DEFAULT_GPU: &str = "titan-x-pascal";

const REPETITIONS: usize = 3;
const SEED: u64 = 1;

/// Thread instructions per second of CPU time that GPGPU-Sim 4.2 simulates, for programs of the same kind (its `vecadd`,
/// `sgemm`, `stencil`, `reduction`, random gather and `BFS`). Fixed numbers: which host and configuration they were taken
/// on is not recorded, so a factor over them is good to its order of magnitude.
const GPGPU_SIM: [(&str, f64); 6] = [
    ("vectoradd", 130e3),
    ("matmul-tiled", 351e3),
    ("stencil", 185e3),
    ("reduction", 320e3),
    ("gather", 26e3),
    ("bfs", 34e3),
];

/// One program in one mode.
#[derive(Clone, PartialEq, Debug)]
pub struct Speed {
    /// The program.
    pub name: &'static str,
    /// Its exact shape.
    pub instance: &'static str,
    /// CPU time inside launches, of the fastest repetition.
    pub cpu_seconds: f64,
    /// Thread instructions of the program.
    pub thread_instructions: u64,
    /// What the machine did; `None` if the run was functional.
    pub timed: Option<Timed>,
}

/// What a timed run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timed {
    /// Core cycles of the launches.
    pub cycles: u64,
    /// Line requests to memory.
    pub requests: u64,
    /// Sectors that loads and atomics did not find in L2.
    pub l2_missing_sectors: u64,
}

impl Speed {
    fn mode(&self) -> &'static str {
        if self.timed.is_some() { "timed" } else { "functional" }
    }

    fn per_second(&self, count: u64) -> f64 {
        // A run too short for the clock is no faster than its resolution.
        count as f64 / self.cpu_seconds.max(1e-9)
    }

    /// GPGPU-Sim's thread instructions per second, if this run is timed and there is a figure.
    pub fn gpgpu_sim(&self) -> Option<f64> {
        let figure = GPGPU_SIM.iter().find(|(name, _)| *name == self.name).map(|(_, figure)| *figure);
        figure.filter(|_| self.timed.is_some())
    }

    /// How many times faster than that.
    pub fn factor(&self) -> Option<f64> {
        self.gpgpu_sim().map(|figure| self.per_second(self.thread_instructions) / figure)
    }
}

/// All programs.
#[derive(Clone, Debug)]
pub struct Speeds {
    /// The machine of the timed runs.
    pub gpu: String,
    /// Each program functional, then timed.
    pub rows: Vec<Speed>,
    /// Programs that failed or computed something wrong, with the reason.
    pub failures: Vec<String>,
}

/// Runs every program of the set; timed runs on the machine `gpu` with overrides `set`.
pub fn measure(gpu: &str, set: &[String], progress: &mut dyn FnMut(Step<'_>)) -> Result<Speeds, LabError> {
    let config = gpus::gpu(gpu, set)?.config;
    let set: Vec<_> = instances(Purpose::Bench).flat_map(|run| [(run, None), (run, Some(&config))]).collect();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for (done, ((workload, instance), machine)) in set.iter().enumerate() {
        let name = workload.info().name;
        progress(Step { done, of: set.len(), name });
        match best(*workload, *instance, *machine) {
            Ok(speed) => rows.push(speed),
            Err(why) => failures.push(format!("{name} {}: {why}", instance.label)),
        }
    }
    Ok(Speeds { gpu: config.name, rows, failures })
}

fn best(workload: &'static dyn Workload, instance: Instance, machine: Option<&GpuConfig>) -> Result<Speed, String> {
    let mut best: Option<Speed> = None;
    for _ in 0..REPETITIONS {
        let speed = once(workload, instance, machine)?;
        if best.as_ref().is_none_or(|best| speed.cpu_seconds < best.cpu_seconds) {
            best = Some(speed);
        }
    }
    best.ok_or_else(|| "nothing was run".to_owned())
}

fn once(workload: &'static dyn Workload, instance: Instance, machine: Option<&GpuConfig>) -> Result<Speed, String> {
    let options = EngineOptions::plain(workload.modules());
    let engine = match machine {
        Some(gpu) => engine::timed(options, gpu.clone()),
        None => engine::functional(options),
    };
    let (stopwatch, total) = Stopwatch::new(engine.map_err(|e| e.to_string())?);
    let mut device = Device::new(Box::new(stopwatch));
    let outcome = workload.run_instance(instance.label, SEED, &mut device).map_err(|e| e.to_string())?;
    if !outcome.passed {
        return Err(outcome.checked);
    }
    let mut stats = Stats::default();
    let mut thread_instructions = 0;
    for (_, report) in device.launches() {
        stats.add(&report.stats);
        thread_instructions += report.counts.thread_instructions();
    }
    let counted = |path: &str| stats.number(path).map(|value| value as u64);
    let timed = counted("gpu.cycles").map(|cycles| Timed {
        cycles,
        requests: counted("gpu.requests").unwrap_or(0),
        l2_missing_sectors: counted("gpu.l2.reads")
            .unwrap_or(0)
            .saturating_sub(counted("gpu.l2.read_hits").unwrap_or(0)),
    });
    let cpu_seconds = total.get().cpu.as_secs_f64();
    Ok(Speed { name: workload.info().name, instance: instance.label, cpu_seconds, thread_instructions, timed })
}

impl Speeds {
    /// Everything, as `strata bench` prints it.
    pub fn table(&self) -> String {
        let headings = [
            ("program", Align::Left),
            ("instance", Align::Left),
            ("mode", Align::Left),
            ("thread instructions", Align::Right),
            ("CPU s", Align::Right),
            ("thread in/s", Align::Right),
            ("requests/s", Align::Right),
            ("L2-missing sectors/s", Align::Right),
            ("cycles", Align::Right),
            ("GPGPU-Sim 4.2", Align::Right),
            ("factor", Align::Right),
        ];
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|speed| {
                let timed = |show: &dyn Fn(&Timed) -> String| speed.timed.as_ref().map_or_else(String::new, show);
                vec![
                    speed.name.to_owned(),
                    speed.instance.to_owned(),
                    speed.mode().to_owned(),
                    grouped(speed.thread_instructions),
                    format!("{:.4}", speed.cpu_seconds),
                    short(speed.per_second(speed.thread_instructions)),
                    timed(&|t| short(speed.per_second(t.requests))),
                    timed(&|t| short(speed.per_second(t.l2_missing_sectors))),
                    timed(&|t| grouped(t.cycles)),
                    timed(&|_| speed.gpgpu_sim().map_or_else(|| "-".to_owned(), short)),
                    timed(&|_| speed.factor().map_or_else(|| "-".to_owned(), |factor| format!("{factor:.0}x"))),
                ]
            })
            .collect();
        format!(
            "timed on {}; per second of CPU time inside launches, one core, best of {REPETITIONS}\n\n{}\n\
             GPGPU-Sim's figures are fixed numbers, not measured in this run.\n",
            self.gpu,
            columns(&headings, &rows)
        )
    }

    /// Everything for scripts. A functional run has neither cycles nor requests.
    pub fn to_json(&self) -> Value {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|speed| {
                let rate = |count: fn(&Timed) -> u64| speed.timed.as_ref().map(|t| speed.per_second(count(t)));
                json!({
                    "name": speed.name,
                    "instance": speed.instance,
                    "mode": speed.mode(),
                    "thread_instructions": speed.thread_instructions,
                    "thread_instructions_per_second": speed.per_second(speed.thread_instructions),
                    "requests_per_second": rate(|t| t.requests),
                    "l2_missing_sectors_per_second": rate(|t| t.l2_missing_sectors),
                    "cycles": speed.timed.map(|t| t.cycles),
                    "cpu_seconds": speed.cpu_seconds,
                    "repetitions": REPETITIONS,
                    "gpgpu_sim_thread_instructions_per_second": speed.gpgpu_sim(),
                    "factor": speed.factor(),
                })
            })
            .collect();
        json!({ "gpu": self.gpu, "rows": rows, "failures": self.failures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_the_field_has_its_program() {
        for (name, _) in GPGPU_SIM {
            assert!(instances(Purpose::Bench).any(|(workload, _)| workload.info().name == name), "{name}");
        }
    }

    fn speed(name: &'static str, timed: Option<Timed>) -> Speed {
        Speed { name, instance: "1M", cpu_seconds: 0.5, thread_instructions: 13_000_000, timed }
    }

    const TIMED: Option<Timed> = Some(Timed { cycles: 43_340, requests: 98_304, l2_missing_sectors: 0 });

    #[test]
    fn a_factor_is_of_timed_runs_that_have_a_figure() {
        assert_eq!(speed("vectoradd", TIMED).factor(), Some(200.0));
        assert_eq!(speed("vectoradd", None).factor(), None);
        assert_eq!(speed("saxpy", TIMED).factor(), None);
    }

    #[test]
    fn the_table_says_what_was_measured_and_leaves_the_rest_empty() {
        let rows = vec![speed("saxpy", TIMED), speed("vectoradd", None), speed("vectoradd", TIMED)];
        let speeds = Speeds { gpu: "titan-v".into(), rows, failures: Vec::new() };
        let table = speeds.table();
        let cells: Vec<Vec<_>> = table.lines().skip(3).map(|line| line.split("  ").map(str::trim).collect()).collect();
        let cells: Vec<Vec<_>> =
            cells.into_iter().map(|row| row.into_iter().filter(|cell| !cell.is_empty()).collect()).collect();
        let counted = ["13,000,000", "0.5000", "26.0 M", "197 k", "0", "43,340"];
        assert_eq!(cells[0], [&["saxpy", "1M", "timed"][..], &counted, &["-", "-"]].concat());
        assert_eq!(cells[1], ["vectoradd", "1M", "functional", "13,000,000", "0.5000", "26.0 M"]);
        assert_eq!(cells[2], [&["vectoradd", "1M", "timed"][..], &counted, &["130 k", "200x"]].concat());
    }
}
