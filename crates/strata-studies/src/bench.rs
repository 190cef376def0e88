//! The speed of simulation: a fixed set of programs, without time and timed, on one core.
//!
//! Two figures are given. *Inside launches* is the CPU time that simulation takes ([`strata_run::stopwatch`]), the best of a few
//! repetitions: programs are deterministic, so the fastest repetition is the one that others disturbed least. *Whole process*
//! is what a user waits for: the CPU time of a process that starts, makes inputs, runs the program once, checks it and ends.
//! Another simulator's figures are of whole processes, so factors are, too.

use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
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

/// The machines of the timed runs, unless others are named.
pub const DEFAULT_GPUS: [&str; 2] = ["v100", "titan-x-pascal"];

const REPETITIONS: usize = 3;
const SEED: u64 = 1;

/// How fast another simulator is.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Its name and version.
    pub simulator: String,
    /// When, where and how it was measured.
    pub measured: String,
    /// Its speed, program by program.
    pub rows: Vec<PeerRow>,
}

/// The speed of another simulator on one program.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerRow {
    /// Our name of the program.
    pub name: String,
    /// Thread instructions per second of CPU time of the whole process.
    pub thread_instructions_per_second: f64,
}

/// GPGPU-Sim 4.2 on CUDA programs of the same eight shapes (vecadd, saxpy, tiled sgemm, stencil, reduction, random gather, pointer
/// chase, BFS), V100 configuration, whole processes on a quiet machine, November 2026.
const GPGPU_SIM: [(&str, f64); 8] = [
    ("vectoradd", 161e3),
    ("saxpy", 144e3),
    ("matmul-tiled", 359e3),
    ("stencil", 200e3),
    ("reduction", 392e3),
    ("gather", 33.5e3),
    ("chase", 17.9e3),
    ("bfs", 63.0e3),
];

impl Default for Peer {
    fn default() -> Self {
        let row = |(name, speed): (&str, f64)| PeerRow { name: name.to_owned(), thread_instructions_per_second: speed };
        Self {
            simulator: "GPGPU-Sim 4.2".to_owned(),
            measured: "November 2026, V100 configuration, whole processes, CUDA programs of the same shapes".to_owned(),
            rows: GPGPU_SIM.into_iter().map(row).collect(),
        }
    }
}

impl Peer {
    /// Figures that somebody has measured: a JSON file with `simulator`, `measured` and `rows`.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path).map_err(|e| LabError::io("read", path, e))?;
        serde_json::from_str(&text).map_err(|e| {
            LabError::Request(format!(
                "`{}`: {e}; it should be {{\"simulator\": TEXT, \"measured\": TEXT, \"rows\": [{{\"name\": PROGRAM, \
                 \"thread_instructions_per_second\": NUMBER}}]}}",
                path.display()
            ))
        })
    }

    fn speed(&self, name: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.name == name).map(|row| row.thread_instructions_per_second)
    }
}

/// One program in one mode.
#[derive(Clone, PartialEq, Debug)]
pub struct Speed {
    /// The program.
    pub name: &'static str,
    /// Its exact shape.
    pub instance: &'static str,
    /// CPU time inside launches, of the fastest repetition.
    pub cpu_seconds: f64,
    /// CPU time of a whole process that does nothing else, if it is timed and was asked for.
    pub process_cpu_seconds: Option<f64>,
    /// Thread instructions of the program.
    pub thread_instructions: u64,
    /// What the machine did; `None` if the run was functional.
    pub timed: Option<Timed>,
    /// Thread instructions per second of the peer, if the run is timed and there is a figure.
    pub peer: Option<f64>,
}

/// What a timed run did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timed {
    /// The machine.
    pub gpu: String,
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

    /// So many of something, per second inside launches.
    pub fn per_second(&self, count: u64) -> f64 {
        // A run too short for the clock is no faster than its resolution.
        count as f64 / self.cpu_seconds.max(1e-9)
    }

    /// Thread instructions per second of the whole process.
    pub fn per_process_second(&self) -> Option<f64> {
        self.process_cpu_seconds.map(|seconds| self.thread_instructions as f64 / seconds.max(1e-9))
    }

    /// How many times faster than the peer, whole process against whole process.
    pub fn factor(&self) -> Option<f64> {
        self.per_process_second().zip(self.peer).map(|(ours, theirs)| ours / theirs)
    }
}

/// All programs.
#[derive(Clone, Debug)]
pub struct Speeds {
    /// Each program functional, then timed on each machine.
    pub rows: Vec<Speed>,
    /// Whom the factors are over.
    pub peer: Peer,
    /// Programs that failed or computed something wrong, with the reason.
    pub failures: Vec<String>,
}

/// What is to be measured.
pub struct Plan<'a> {
    /// Programs by name; none: all.
    pub programs: &'a [String],
    /// Machines of the timed runs.
    pub gpus: &'a [String],
    /// Overrides of their parameters.
    pub set: &'a [String],
    /// Whom to compare with.
    pub peer: Peer,
}

/// The CPU seconds of a process that runs a program of the set on a GPU once, or why there is none. Who has a command line can
/// start one that calls [`once_on`].
pub type WholeProcess<'a> = dyn FnMut(&str, &str) -> Result<f64, String> + 'a;

/// Runs every program of the plan.
pub fn measure(
    plan: Plan<'_>,
    mut whole: Option<&mut WholeProcess<'_>>,
    progress: &mut dyn FnMut(Step<'_>),
) -> Result<Speeds, LabError> {
    let machines: Vec<_> =
        plan.gpus.iter().map(|gpu| Ok((gpu, gpus::gpu(gpu, plan.set)?.config))).collect::<Result<_, LabError>>()?;
    let programs = chosen(plan.programs)?;
    let modes = || std::iter::once(None).chain(machines.iter().map(Some));
    let set: Vec<_> = programs.iter().flat_map(|run| modes().map(move |mode| (run, mode))).collect();
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for (done, (run, machine)) in set.iter().enumerate() {
        let &(workload, instance) = *run;
        let name = workload.info().name;
        progress(Step { done, of: set.len(), left: None, name });
        let speed = best(workload, instance, machine.map(|(_, config)| config)).and_then(|mut speed| {
            if let Some((gpu, _)) = machine {
                speed.process_cpu_seconds = whole.as_mut().map(|whole| whole(name, gpu)).transpose()?;
                speed.peer = plan.peer.speed(name);
            }
            Ok(speed)
        });
        match speed {
            Ok(speed) => rows.push(speed),
            Err(why) => failures.push(format!("{name} {}: {why}", instance.label)),
        }
    }
    Ok(Speeds { rows, peer: plan.peer, failures })
}

/// Runs one program of the set on a GPU, once: what a process does that is measured as a whole.
pub fn once_on(program: &str, gpu: &str, set: &[String]) -> Result<(), LabError> {
    let config = gpus::gpu(gpu, set)?.config;
    for (workload, instance) in chosen(&[program.to_owned()])? {
        once(workload, instance, Some(&config)).map_err(LabError::Request)?;
    }
    Ok(())
}

/// The programs of the set with these names; all if there are none.
fn chosen(names: &[String]) -> Result<Vec<(&'static dyn Workload, Instance)>, LabError> {
    let all: Vec<_> = instances(Purpose::Bench).collect();
    let known: Vec<_> = all.iter().map(|(workload, _)| workload.info().name).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(LabError::Request(format!(
            "`{unknown}` is not in the benchmark's set; there are {}",
            known.join(", ")
        )));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    Ok(all.into_iter().filter(|(workload, _)| wanted(workload.info().name)).collect())
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
    let timed = machine.zip(counted("gpu.cycles")).map(|(gpu, cycles)| Timed {
        gpu: gpu.name.clone(),
        cycles,
        requests: counted("gpu.requests").unwrap_or(0),
        l2_missing_sectors: counted("gpu.l2.reads")
            .unwrap_or(0)
            .saturating_sub(counted("gpu.l2.read_hits").unwrap_or(0)),
    });
    let cpu_seconds = total.get().cpu.as_secs_f64();
    Ok(Speed {
        name: workload.info().name,
        instance: instance.label,
        cpu_seconds,
        process_cpu_seconds: None,
        thread_instructions,
        timed,
        peer: None,
    })
}

impl Speeds {
    /// The geometric mean of the factors on a machine, and of how many programs.
    fn mean_factor(&self, gpu: &str) -> (f64, usize) {
        let on = |row: &&Speed| row.timed.as_ref().is_some_and(|timed| timed.gpu == gpu);
        let factors: Vec<f64> = self.rows.iter().filter(on).filter_map(Speed::factor).collect();
        let mean = factors.iter().map(|factor| factor.ln()).sum::<f64>() / factors.len().max(1) as f64;
        (mean.exp(), factors.len())
    }

    fn gpus(&self) -> Vec<&str> {
        let mut gpus: Vec<&str> = Vec::new();
        for timed in self.rows.iter().filter_map(|row| row.timed.as_ref()) {
            if !gpus.contains(&timed.gpu.as_str()) {
                gpus.push(&timed.gpu);
            }
        }
        gpus
    }

    /// Everything, as `strata bench` prints it.
    pub fn table(&self) -> String {
        let headings = [
            ("program", Align::Left),
            ("instance", Align::Left),
            ("machine", Align::Left),
            ("thread instr.", Align::Right),
            ("CPU s, launches", Align::Right),
            ("instr./s", Align::Right),
            ("requests/s", Align::Right),
            ("L2-missing sectors/s", Align::Right),
            ("cycles", Align::Right),
            ("CPU s, process", Align::Right),
            ("instr./s", Align::Right),
            ("peer", Align::Right),
            ("factor", Align::Right),
        ];
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|speed| {
                let timed = |show: &dyn Fn(&Timed) -> String| speed.timed.as_ref().map_or_else(String::new, show);
                let figure = |figure: Option<f64>, show: &dyn Fn(f64) -> String| {
                    timed(&|_| figure.map_or_else(|| "-".to_owned(), show))
                };
                vec![
                    speed.name.to_owned(),
                    speed.instance.to_owned(),
                    speed.timed.as_ref().map_or_else(|| "functional".to_owned(), |timed| timed.gpu.clone()),
                    grouped(speed.thread_instructions),
                    format!("{:.4}", speed.cpu_seconds),
                    short(speed.per_second(speed.thread_instructions)),
                    timed(&|t| short(speed.per_second(t.requests))),
                    timed(&|t| short(speed.per_second(t.l2_missing_sectors))),
                    timed(&|t| grouped(t.cycles)),
                    figure(speed.process_cpu_seconds, &|seconds| format!("{seconds:.4}")),
                    figure(speed.per_process_second(), &short),
                    figure(speed.peer, &short),
                    figure(speed.factor(), &|factor| format!("{factor:.0}x")),
                ]
            })
            .collect();
        let mut text = format!(
            "One core. Inside launches: best of {REPETITIONS}. Process: start, inputs, one run, check, end.\n\n{}",
            columns(&headings, &rows)
        );
        for gpu in self.gpus() {
            let (mean, n) = self.mean_factor(gpu);
            let of = self.rows.iter().filter(|row| row.timed.as_ref().is_some_and(|timed| timed.gpu == gpu)).count();
            if n > 0 {
                // Writing to a string cannot fail.
                let _ =
                    write!(text, "\n{gpu}: {mean:.0} times {}, geometric mean of {n} of {of}.", self.peer.simulator);
            }
        }
        text + &format!(
            "\nThe peer is {}: {}. Its figures are not measured in this run; give yours with `--beside FILE`.\n",
            self.peer.simulator, self.peer.measured
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
                    "gpu": speed.timed.as_ref().map(|t| &t.gpu),
                    "thread_instructions": speed.thread_instructions,
                    "thread_instructions_per_second": speed.per_second(speed.thread_instructions),
                    "requests_per_second": rate(|t| t.requests),
                    "l2_missing_sectors_per_second": rate(|t| t.l2_missing_sectors),
                    "cycles": speed.timed.as_ref().map(|t| t.cycles),
                    "cpu_seconds": speed.cpu_seconds,
                    "repetitions": REPETITIONS,
                    "process_cpu_seconds": speed.process_cpu_seconds,
                    "process_thread_instructions_per_second": speed.per_process_second(),
                    "peer_thread_instructions_per_second": speed.peer,
                    "factor": speed.factor(),
                })
            })
            .collect();
        let mean = |gpu: &str| {
            let (factor, n) = self.mean_factor(gpu);
            json!({ "gpu": gpu, "factor": (n > 0).then_some(factor), "programs": n })
        };
        json!({
            "rows": rows,
            "means": self.gpus().into_iter().map(mean).collect::<Vec<_>>(),
            "peer": { "simulator": self.peer.simulator, "measured": self.peer.measured },
            "failures": self.failures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_the_field_has_its_program_and_every_program_its_figure() {
        let mut figures: Vec<_> = GPGPU_SIM.iter().map(|(name, _)| *name).collect();
        let mut programs: Vec<_> = instances(Purpose::Bench).map(|(workload, _)| workload.info().name).collect();
        figures.sort_unstable();
        programs.sort_unstable();
        assert_eq!(figures, programs);
    }

    fn speed(name: &'static str, timed: Option<Timed>) -> Speed {
        let process_cpu_seconds = timed.as_ref().map(|_| 0.65);
        let peer = Peer::default().speed(name).filter(|_| timed.is_some());
        let (instance, cpu_seconds, thread_instructions) = ("1M", 0.5, 13_000_000);
        Speed { name, instance, cpu_seconds, process_cpu_seconds, thread_instructions, timed, peer }
    }

    fn timed(gpu: &str) -> Timed {
        Timed { gpu: gpu.to_owned(), cycles: 43_340, requests: 98_304, l2_missing_sectors: 0 }
    }

    #[test]
    fn a_factor_is_of_whole_processes_of_timed_runs_that_have_a_figure() {
        assert_eq!(speed("stencil", Some(timed("v100"))).factor(), Some(100.0));
        assert_eq!(speed("stencil", None).factor(), None);
        assert_eq!(speed("nw", Some(timed("v100"))).factor(), None);
        let rows = vec![
            speed("stencil", Some(timed("v100"))),
            speed("nw", Some(timed("v100"))),
            speed("stencil", Some(timed("titan-v"))),
        ];
        let speeds = Speeds { rows, peer: Peer::default(), failures: Vec::new() };
        let (mean, n) = speeds.mean_factor("v100");
        assert!((mean - 100.0).abs() < 1e-9 && n == 1);
        assert!(speeds.table().contains("v100: 100 times GPGPU-Sim 4.2, geometric mean of 1 of 2."));
    }

    #[test]
    fn the_table_says_what_was_measured_and_leaves_the_rest_empty() {
        let rows =
            vec![speed("nw", Some(timed("titan-v"))), speed("stencil", None), speed("stencil", Some(timed("titan-v")))];
        let speeds = Speeds { rows, peer: Peer::default(), failures: Vec::new() };
        let table = speeds.table();
        let cells: Vec<Vec<_>> = table.lines().skip(3).map(|line| line.split("  ").map(str::trim).collect()).collect();
        let cells: Vec<Vec<_>> =
            cells.into_iter().map(|row| row.into_iter().filter(|cell| !cell.is_empty()).collect()).collect();
        let counted = ["13,000,000", "0.5000", "26.0 M", "197 k", "0", "43,340", "0.6500", "20.0 M"];
        assert_eq!(cells[0], [&["nw", "1M", "titan-v"][..], &counted, &["-", "-"]].concat());
        assert_eq!(cells[1], ["stencil", "1M", "functional", "13,000,000", "0.5000", "26.0 M"]);
        assert_eq!(cells[2], [&["stencil", "1M", "titan-v"][..], &counted, &["200 k", "100x"]].concat());
    }
}
