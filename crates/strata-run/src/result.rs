//! What a run gave: one value that the table, the JSON and later readers are made of.

use crate::description::Description;
use crate::explain::Explanation;
use crate::launch_file::Finding;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use strata_core::stats::{Members, Unit, Value as StatValue};
use strata_core::{Bytes, Counts, Dim3, LANES, OpClass, Stats};
use strata_host::{CopyReport, Launch, LaunchReport};

/// More launches than this stand in a line each of a result's file.
const MANY_LAUNCHES: usize = 1000;

/// The result of one launch.
#[derive(Clone, Debug)]
pub struct KernelRun {
    /// Kernel, as the module spells it.
    pub name: String,
    /// Extents of the grid, in CTAs.
    pub grid: Dim3,
    /// Extents of a CTA, in threads.
    pub block: Dim3,
    /// Instructions and accesses that it executed.
    pub counts: Counts,
    /// Core cycles, if the engine has a clock.
    pub cycles: Option<u64>,
    /// Those of them that are launch latency.
    pub launch_cycles: Option<u64>,
    /// What the machine counted during the launch; empty if the engine has none.
    pub machine: Stats,
    /// What single slices and channels counted.
    pub members: Vec<Members>,
}

impl KernelRun {
    /// The result of a launch, from the engine's report.
    pub fn new(launch: &Launch, report: &LaunchReport) -> Self {
        Self {
            name: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            counts: report.counts.clone(),
            cycles: report.cycles,
            launch_cycles: report.launch_cycles,
            machine: report.stats.clone(),
            members: report.members.clone(),
        }
    }

    /// The statistics tree of this launch. Those of all launches and that of the copies add up to the run's.
    pub fn stats(&self) -> Stats {
        self.stats_of(&self.counts, 1)
    }

    /// The same of several launches that are like this one and executed `counts` together.
    fn stats_of(&self, counts: &Counts, launches: u64) -> Stats {
        let mut stats = self.machine.clone();
        self.members.iter().for_each(|members| members.export(&mut stats));
        stats.count("gpu.launches", launches, Unit::Launches, "kernels launched");
        for class in OpClass::ALL {
            let (thread, warp) = (counts.thread_by_class[class as usize], counts.warp_by_class[class as usize]);
            if warp == 0 {
                continue;
            }
            let name = class.name();
            let what = "thread instructions of this class: warp instructions times active lanes";
            stats.count(format!("gpu.thread_instructions.{name}"), thread, Unit::Instructions, what);
            let what = "warp instructions of this class";
            stats.count(format!("gpu.warp_instructions.{name}"), warp, Unit::Instructions, what);
        }
        let (thread, warp) = (counts.thread_instructions(), counts.warp_instructions());
        let (lanes, what) = (warp * LANES as u64, "active lanes per warp instruction, of 32");
        stats.quotient("gpu.lane_use", thread as f64, lanes as f64, Unit::Fraction, what);
        if let Some(cycles) = self.cycles {
            let what = "thread instructions of the program per core cycle";
            stats.quotient("gpu.ipc", thread as f64, cycles as f64, Unit::Ratio, what);
        }
        stats.count("gpu.bytes_read", counts.bytes_read, Unit::Bytes, "bytes lanes read from global and local memory");
        let what = "bytes lanes wrote to global and local memory, atomics included";
        stats.count("gpu.bytes_written", counts.bytes_written, Unit::Bytes, what);
        let what = "integer divisions and remainders by zero; each gave all ones";
        stats.count("gpu.divisions_by_zero", counts.divisions_by_zero, Unit::Events, what);
        let path = format!("kernel[{}]", self.name);
        stats.count(format!("{path}.launches"), launches, Unit::Launches, "launches of this kernel");
        let what = "thread instructions of this kernel";
        stats.count(format!("{path}.thread_instructions"), thread, Unit::Instructions, what);
        let what = "warp instructions of this kernel";
        stats.count(format!("{path}.warp_instructions"), warp, Unit::Instructions, what);
        stats
    }

    /// Core cycles without launch latency: what a profiler calls elapsed.
    pub fn cycles_without_launch(&self) -> Option<u64> {
        self.cycles.zip(self.launch_cycles).map(|(cycles, launch)| cycles.saturating_sub(launch))
    }

    /// Thread instructions per core cycle.
    fn ipc(&self) -> Option<f64> {
        ipc(&self.counts, self.cycles)
    }
}

fn ipc(counts: &Counts, cycles: Option<u64>) -> Option<f64> {
    cycles.filter(|&c| c > 0).map(|c| counts.thread_instructions() as f64 / c as f64)
}

fn number(value: StatValue) -> Value {
    match value {
        StatValue::Count(n) => json!(n),
        StatValue::Amount(_) | StatValue::Quotient { .. } => json!(value.as_f64()),
    }
}

/// Everything that depends on the machine the run was made on.
#[derive(Clone, Debug, Default)]
pub struct HostTimes {
    /// Wall-clock time inside launches.
    pub seconds: f64,
    /// Wall-clock time of everything: inputs, launches, references.
    pub total_seconds: f64,
    /// CPU time of a program's host: of everything but launches. 0 where nobody measures it.
    pub host_cpu_seconds: f64,
    /// CPU time of launches, likewise.
    pub launch_cpu_seconds: f64,
    /// The directory that the result was saved to.
    pub directory: PathBuf,
}

/// The result of one run.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// What it is of: program, input, machine, mechanisms, the simulator itself.
    pub about: Description,
    /// True or false if the program's results were checked, `None` if there was nothing to check against.
    pub passed: Option<bool>,
    /// The check in words: what was compared, and how far it was off.
    pub checked: Option<String>,
    /// Why the device program stopped early, if it did.
    pub error: Option<String>,
    /// What looked suspicious but did not stop the program.
    pub warnings: Vec<String>,
    /// Launches, in program order.
    pub kernels: Vec<KernelRun>,
    /// Copies between host and device, all together.
    pub copies: CopyReport,
    /// The most bytes that were allocated at once; `None` for a trace, which has no memory.
    pub allocated: Option<Bytes>,
    /// What a launch file found in its buffers.
    pub findings: Vec<Finding>,
    /// Wall-clock times and paths: all that differs between two runs of one request.
    pub host: HostTimes,
}

impl RunResult {
    /// The counts of all launches together.
    pub fn counts(&self) -> Counts {
        let mut total = Counts::default();
        for kernel in &self.kernels {
            total.add(&kernel.counts);
        }
        total
    }

    /// Core cycles of all launches that were timed together, if any was.
    pub fn cycles(&self) -> Option<u64> {
        self.kernels.iter().filter_map(|k| k.cycles).reduce(|a, b| a + b)
    }

    /// True unless the program failed or its check did.
    pub fn is_success(&self) -> bool {
        self.error.is_none() && self.passed != Some(false)
    }

    /// Thread instructions per second of wall-clock time inside launches.
    pub fn thread_instructions_per_second(&self) -> f64 {
        let rate = self.counts().thread_instructions() as f64 / self.host.seconds;
        if rate.is_finite() { rate } else { 0.0 }
    }

    /// The statistics tree: the sum over launches and copies.
    pub fn stats(&self) -> Stats {
        let mut stats = self.copies.stats.clone();
        // Launches without time have nothing but counts, and programs make tens of thousands of them: a tree for each kernel.
        let mut untimed: BTreeMap<&str, (&KernelRun, Counts, u64)> = BTreeMap::new();
        for kernel in &self.kernels {
            if kernel.cycles.is_some() || kernel.machine.iter().next().is_some() || !kernel.members.is_empty() {
                stats.add(&kernel.stats());
                continue;
            }
            let (_, counts, launches) = untimed.entry(&kernel.name).or_insert((kernel, Counts::default(), 0));
            counts.add(&kernel.counts);
            *launches += 1;
        }
        for (kernel, counts, launches) in untimed.values() {
            stats.add(&kernel.stats_of(counts, *launches));
        }
        stats
    }

    /// What requests waited for, if the run was asked to explain itself.
    pub fn explanation(&self) -> Option<Explanation> {
        Explanation::of(&self.stats())
    }

    /// The result as the text of a file. A launch of many stands in one line.
    pub(crate) fn json_text(value: &Value) -> String {
        let many = value.get("kernels").and_then(Value::as_array).filter(|kernels| kernels.len() > MANY_LAUNCHES);
        let Some(kernels) = many else { return format!("{value:#}\n") };
        let lines: Vec<String> = kernels.iter().map(Value::to_string).collect();
        let mut rest = value.clone();
        rest["kernels"] = json!([]);
        let rest = format!("{rest:#}\n");
        let list = format!("\"kernels\": [\n    {}\n  ]", lines.join(",\n    "));
        rest.replacen("\"kernels\": []", &list, 1)
    }

    /// Thread instructions per core cycle of the launches that were timed, if any was.
    pub fn ipc(&self) -> Option<f64> {
        let timed = self.kernels.iter().filter(|k| k.cycles.is_some());
        let mut counts = Counts::default();
        timed.for_each(|kernel| counts.add(&kernel.counts));
        ipc(&counts, self.cycles())
    }

    /// The result as the JSON object that scripts read. Everything outside `host` is the same on every machine.
    pub fn to_json(&self) -> Value {
        let kernels: Vec<_> = self
            .kernels
            .iter()
            .map(|k| {
                // Descriptions, and what single slices and channels did, stand in the run's own tree.
                let machine = k.machine.iter().map(|(path, stat)| {
                    (path.to_owned(), json!({ "value": number(stat.value), "unit": stat.unit.name() }))
                });
                json!({
                    "name": k.name,
                    "grid": [k.grid.x, k.grid.y, k.grid.z],
                    "block": [k.block.x, k.block.y, k.block.z],
                    "cycles": k.cycles,
                    "launch_cycles": k.launch_cycles,
                    "thread_instructions": k.counts.thread_instructions(),
                    "warp_instructions": k.counts.warp_instructions(),
                    "ipc": k.ipc(),
                    "stats": machine.collect::<Map<_, _>>(),
                })
            })
            .collect();
        let tree = self.stats();
        let mut stats = Map::new();
        for (path, stat) in tree.iter() {
            let (value, unit) = (number(stat.value), stat.unit.name());
            stats.insert(path.to_owned(), json!({ "value": value, "unit": unit, "description": stat.description }));
        }
        let counts = self.counts();
        let mut result = json!({
            "name": self.about.name,
            "model": strata_sim::MODEL,
            "size": self.about.size,
            "seed": self.about.seed,
            "passed": self.passed,
            "checked": self.checked,
            "answer": crate::answer(self),
            "error": self.error,
            "warnings": self.warnings,
            "thread_instructions": counts.thread_instructions(),
            "warp_instructions": counts.warp_instructions(),
            "cycles": self.cycles(),
            "copy_cycles": self.copies.cycles,
            "allocated_bytes": self.allocated.map(|bytes| bytes.0),
            "ipc": self.ipc(),
            "kernels": kernels,
            "after": self.findings,
            "explain": Explanation::of(&tree).map(|e| e.to_json()),
            "stats": stats,
            "host": {
                "seconds": self.host.seconds,
                "total_seconds": self.host.total_seconds,
                "thread_instructions_per_second": self.thread_instructions_per_second(),
                "directory": self.host.directory.display().to_string(),
            },
        });
        // Behind what was always there.
        for (key, value) in self.about.to_json() {
            if result.get(&key).is_none() {
                result[key] = value;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::stats::MemberCounter;

    impl RunResult {
        /// One for tests, of two launches.
        pub(crate) fn sample() -> Self {
            sample()
        }
    }

    fn sample() -> RunResult {
        let mut counts = Counts { bytes_read: 256, ..Counts::default() };
        counts.warp_by_class[OpClass::F32 as usize] = 2;
        counts.thread_by_class[OpClass::F32 as usize] = 48;
        let kernel = KernelRun {
            name: "k".into(),
            grid: 2.into(),
            block: 32.into(),
            counts,
            cycles: None,
            launch_cycles: None,
            machine: Stats::default(),
            members: Vec::new(),
        };
        RunResult {
            about: Description::sample(),
            passed: Some(true),
            checked: None,
            error: None,
            warnings: Vec::new(),
            kernels: vec![kernel.clone(), kernel],
            copies: CopyReport::default(),
            allocated: None,
            findings: Vec::new(),
            host: HostTimes { seconds: 2.0, ..HostTimes::default() },
        }
    }

    #[test]
    fn the_keys_that_scripts_read_are_there() {
        let json = sample().to_json();
        for key in ["name", "model", "passed", "cycles", "copy_cycles", "ipc", "kernels", "stats", "host"] {
            assert!(json.get(key).is_some(), "{key}");
        }
        for key in ["program", "inputs", "gpu", "with", "settings", "options", "version", "source", "key"] {
            assert!(json.get(key).is_some(), "{key}");
        }
        assert_eq!(json["thread_instructions"], 96);
        assert_eq!(json["warp_instructions"], 4);
        assert_eq!(json["kernels"][1]["grid"], json!([2, 1, 1]));
        assert_eq!(json["stats"]["gpu.thread_instructions.f32"]["value"], 96);
        assert_eq!(json["stats"]["gpu.lane_use"]["value"], 0.75);
        assert_eq!(json["stats"]["kernel[k].launches"]["unit"], "launches");
        assert_eq!(json["host"]["thread_instructions_per_second"], 48.0);
        assert!(json["cycles"].is_null());
    }

    #[test]
    fn many_launches_are_saved_in_a_line_each_and_say_the_same() {
        let mut result = sample();
        let kernel = result.kernels[0].clone();
        result.kernels = vec![kernel; MANY_LAUNCHES + 1];
        let json = result.to_json();
        let text = RunResult::json_text(&json);
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), json);
        assert!(text.lines().count() < MANY_LAUNCHES + 200 && text.len() < format!("{json:#}").len());
        assert_eq!(json["stats"]["gpu.launches"]["value"], MANY_LAUNCHES + 1);
        let mut one_by_one = Stats::default();
        result.kernels.iter().for_each(|kernel| one_by_one.add(&kernel.stats()));
        let (together, apart) = (result.stats(), one_by_one);
        assert!(together.iter().zip(apart.iter()).all(|(a, b)| a.0 == b.0 && a.1.value.as_f64() == b.1.value.as_f64()));
    }

    #[test]
    fn copies_and_members_stand_in_the_tree_of_the_run() {
        const READS: &[MemberCounter] =
            &[MemberCounter { name: "reads", unit: Unit::Sectors, description: "sectors read" }];
        let mut result = sample();
        for kernel in &mut result.kernels {
            kernel.members.push(Members { group: "gpu.l2".into(), counters: READS, counts: vec![0, 5] });
        }
        result.copies.cycles = Some(12);
        result.copies.stats.count("gpu.copy.cycles", 12, Unit::Cycles, "cycles of copies");
        let json = result.to_json();
        assert_eq!(json["copy_cycles"], 12);
        assert_eq!(json["stats"]["gpu.copy.cycles"]["value"], 12);
        assert_eq!(json["stats"]["gpu.l2[1].reads"]["value"], 10);
        assert!(json["stats"].get("gpu.l2[0].reads").is_none());
    }

    #[test]
    fn cycles_are_those_of_the_launches_that_were_timed() {
        let mut result = sample();
        assert_eq!(result.cycles(), None);
        result.kernels[0].cycles = Some(10);
        assert_eq!((result.cycles(), result.ipc()), (Some(10), Some(4.8)));
        result.kernels[1].cycles = Some(6);
        assert_eq!(result.cycles(), Some(16));
        assert_eq!(result.to_json()["ipc"], 6.0);
    }
}
