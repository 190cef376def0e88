//! Machines side by side: a plain one against those with mechanisms, on the same programs.
//!
//! Without anything named, every family of mechanisms is looked at on a small suite that presses on what the family is about, on
//! the machine of its paper and against one of equal cost (`machines.rs`). What is named takes the place of that.

mod machines;
mod measured;
mod output;
mod sentences;

pub use machines::{Family, Group, Machine, Wanted, varied};
pub use measured::{Measured, beside};
pub(crate) use output::{against, by_program};
pub use output::{csv, save, table, to_json};
pub use sentences::sentences;

use serde_json::Value;
use std::path::PathBuf;
use strata_core::Bytes;
use strata_mechanism::Registry;
use strata_run::{Cost, LabError, RunRequest, Step, What, gpus, parallel};

/// Below this use of its buses DRAM is not what a program waits for.
const IDLE_BUS: f64 = 0.05;
/// Speed-ups nearer to 1 than this are none.
const NONE: f64 = 0.005;

/// What to compare.
#[derive(Clone, Debug, Default)]
pub struct CompareRequest {
    /// Programs, machines and mechanisms.
    pub wanted: Wanted,
    /// Seeds of the inputs; none: the usual one.
    pub seeds: Vec<u64>,
    /// Where results go; `None` means `strata-out`.
    pub out: Option<PathBuf>,
}

/// One program on one machine.
#[derive(Clone, Debug)]
pub struct CompareRow {
    /// The program.
    pub workload: String,
    /// Its size, if it has one.
    pub size: Option<String>,
    /// The seed, if one was named.
    pub seed: Option<u64>,
    /// The machine, as its group has it.
    pub machine: Machine,
    /// True for what the others of its group are compared with.
    pub is_baseline: bool,
    /// The run, or why there is none.
    pub run: Result<Measured, String>,
    /// Time of the baseline over this; copies not counted.
    pub speedup: Option<f64>,
    /// Off-chip bytes over those of the baseline.
    pub traffic: Option<f64>,
    /// Joules over those of the baseline.
    pub energy: Option<f64>,
    /// Why the program says nothing about the machines, if it does not: it fits into their caches, say.
    pub no_pressure: Option<String>,
}

impl CompareRow {
    /// `cg (small)`.
    pub fn program(&self) -> String {
        let seed = self.seed.map(|seed| format!("seed {seed}"));
        let more: Vec<String> = self.size.iter().cloned().chain(seed).collect();
        if more.is_empty() { self.workload.clone() } else { format!("{} ({})", self.workload, more.join(", ")) }
    }
}

/// The rows of one group.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What was compared.
    pub group: Group,
    /// Program by program, the baseline first.
    pub rows: Vec<CompareRow>,
}

impl Compared {
    /// Rows of programs that press on memory, by machine: what means are made of.
    pub fn telling(&self, label: &str) -> impl Iterator<Item = &CompareRow> {
        self.rows.iter().filter(move |row| !row.is_baseline && row.machine.label == label && row.no_pressure.is_none())
    }

    /// The geometric mean of a ratio over a machine's telling rows, and over how many of all programs it is.
    pub fn mean(&self, label: &str, of: impl Fn(&CompareRow) -> Option<f64>) -> (Option<f64>, usize, usize) {
        let all = self.rows.iter().filter(|row| !row.is_baseline && row.machine.label == label).count();
        let logs: Vec<f64> = self.telling(label).filter_map(&of).filter(|x| *x > 0.0).map(f64::ln).collect();
        let mean = (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp());
        (mean, logs.len(), all)
    }
}

/// Everything that was compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Group by group.
    pub groups: Vec<Compared>,
}

impl Comparison {
    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &CompareRow> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// True if a program failed or gave wrong results.
    pub fn has_failures(&self) -> bool {
        self.rows().any(|row| row.run.as_ref().map_or(true, |run| run.passed == Some(false)))
    }
}

/// A run that is to be made.
struct Job {
    group: usize,
    /// The machine's place in its group; the baseline is 0.
    machine: usize,
    request: RunRequest,
    khz: u64,
    l2: Bytes,
}

/// Runs every program on every machine, several at once; `run` makes one result. `took` says how many seconds runs like it took
/// before, if there were any.
pub fn compare(
    request: &CompareRequest,
    registry: &Registry,
    took: &dyn Fn(&RunRequest) -> Option<f64>,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
    run: &(dyn Fn(&RunRequest) -> Result<Value, LabError> + Sync),
) -> Result<Comparison, LabError> {
    let groups = request.wanted.groups(registry)?;
    let mut jobs = Vec::new();
    for (group, each) in groups.iter().enumerate() {
        jobs.extend(jobs_of(request, each, group)?);
    }
    let label = |job: &Job| {
        let group = &groups[job.group];
        let machine = if job.machine == 0 { &group.baseline } else { &group.schemes[job.machine - 1] };
        format!("{}, {}", job.request.what.name(), machine.label)
    };
    let cost = |job: &Job| {
        let (name, size) = (job.request.what.name(), job.request.size.as_deref().unwrap_or("small"));
        let family = groups[job.group].family;
        let guess = took(&job.request).or_else(|| family.seconds(&name, size));
        Cost { kind: format!("{name} {size}, {}", family.name()), guess }
    };
    let results = parallel::map_of_costs(&jobs, parallel::threads(), label, cost, begins, |job| run(&job.request));
    let mut compared: Vec<Compared> = groups.into_iter().map(|group| Compared { group, rows: Vec::new() }).collect();
    for (job, result) in jobs.iter().zip(results) {
        let Compared { group, rows } = &mut compared[job.group];
        let machine = if job.machine == 0 { &group.baseline } else { &group.schemes[job.machine - 1] };
        let run = match result {
            Ok(value) => Measured::of(value, job.khz, group.family),
            // One machine that refuses a program says nothing about the others.
            Err(error) if job.machine > 0 => Err(error.to_string()),
            Err(error) => return Err(error),
        };
        let mut row = CompareRow {
            workload: job.request.what.name(),
            size: job.request.size.clone(),
            seed: job.request.seed,
            machine: machine.clone(),
            is_baseline: job.machine == 0,
            run,
            speedup: None,
            traffic: None,
            energy: None,
            no_pressure: None,
        };
        let baseline = rows.len() - job.machine.min(rows.len());
        row.relate(rows.get(baseline).and_then(|b| b.run.as_ref().ok()));
        row.no_pressure = match rows.get(baseline) {
            Some(before) if job.machine > 0 => before.no_pressure.clone(),
            _ => no_pressure(&row, group.family, job.l2),
        };
        rows.push(row);
    }
    Ok(Comparison { groups: compared })
}

impl CompareRow {
    /// Sets the ratios to a baseline; to itself, if there is none before it.
    fn relate(&mut self, baseline: Option<&Measured>) {
        let Ok(own) = &self.run else { return };
        let Some(base) = (if self.is_baseline { Some(own) } else { baseline }) else { return };
        // The same clock is the usual case: whole cycles have no rounding.
        let same_clock = base.seconds * own.cycles as f64 == own.seconds * base.cycles as f64;
        let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
        self.speedup =
            if same_clock { ratio(base.cycles as f64, own.cycles as f64) } else { ratio(base.seconds, own.seconds) };
        self.traffic = ratio(own.offchip_bytes as f64, base.offchip_bytes as f64);
        self.energy = ratio(own.energy, base.energy);
    }
}

fn jobs_of(request: &CompareRequest, group: &Group, index: usize) -> Result<Vec<Job>, LabError> {
    let seeds: Vec<Option<u64>> =
        if request.seeds.is_empty() { vec![None] } else { request.seeds.iter().copied().map(Some).collect() };
    let mut jobs = Vec::new();
    for (what, size) in &group.programs {
        for &seed in &seeds {
            for (number, machine) in [&group.baseline].into_iter().chain(&group.schemes).enumerate() {
                let config =
                    gpus::gpu_with(&machine.gpu, &machine.with.settings(&machine.set)?.1, &machine.with)?.config;
                let request = RunRequest {
                    size: size.clone(),
                    seed,
                    gpu: Some(machine.gpu.clone()),
                    with: machine.with.clone(),
                    set: machine.set.clone(),
                    out: request.out.clone(),
                    // Which lines and pages are hot is a property of the program: the plain machine says it.
                    explain: number == 0,
                    ..RunRequest::new(what.clone())
                };
                let (khz, l2) = (config.clock.core.khz(), config.l2_size());
                jobs.push(Job { group: index, machine: number, request, khz, l2 });
            }
        }
    }
    Ok(jobs)
}

/// Why a program says nothing about mechanisms between L2 and memory, if it does not.
fn no_pressure(baseline: &CompareRow, family: Family, l2: Bytes) -> Option<String> {
    let run = baseline.run.as_ref().ok()?;
    if family == Family::UnifiedMemory {
        return None;
    }
    let larger = larger_size(baseline);
    if let Some(allocated) = run.allocated.filter(|&bytes| bytes <= l2.0) {
        let reason = format!("its {} fit into the L2 of {l2}", Bytes(allocated));
        return Some(format!("{reason}: {larger}"));
    }
    let idle = run.bus_use < IDLE_BUS && family != Family::NearData;
    idle.then(|| format!("it uses {:.1} % of the bandwidth of DRAM: {larger}", 100.0 * run.bus_use))
}

/// What to try instead.
fn larger_size(row: &CompareRow) -> String {
    let is_scaled = row.machine.set.iter().any(|set| set.starts_with("l2.slices="));
    let scale = if is_scaled { "try a larger `--scale`" } else { "try `--scale 8`, an eighth of the machine" };
    let Ok(What::Workload(name)) = What::named(&row.workload) else { return scale.to_owned() };
    let Ok(workload) = strata_workloads::find(&name) else { return scale.to_owned() };
    let sizes = workload.info().sizes;
    let at = sizes.iter().position(|size| Some(size.name()) == row.size.as_deref().or(Some("small")));
    match at.and_then(|at| sizes.get(at + 1)) {
        Some(next) if is_scaled => format!("try `--size {}`", next.name()),
        Some(next) => format!("try `--size {}`, or `--scale 8`", next.name()),
        None => scale.to_owned(),
    }
}

/// True if all machines of a program are as fast as the baseline.
pub(crate) fn all_alike(rows: &[&CompareRow]) -> bool {
    rows.iter().filter_map(|row| row.speedup).all(|speedup| (speedup - 1.0).abs() < NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Programs with the speed-ups that `bpc` gives them, and half the traffic.
    pub(super) fn comparison(programs: &[(&str, f64)]) -> Comparison {
        let registry = crate::mechanisms::registry();
        let machine = |label: &str, with: &str| Machine {
            label: label.to_owned(),
            gpu: "g".to_owned(),
            with: registry.combination(with).expect("known"),
            set: Vec::new(),
        };
        let group = Group {
            family: Family::Compression,
            title: "compression, on g".to_owned(),
            baseline: machine("plain", "none"),
            schemes: vec![machine("bpc", "bpc")],
            programs: Vec::new(),
        };
        let mut rows: Vec<CompareRow> = Vec::new();
        for (name, speedup) in programs {
            for (k, machine) in [&group.baseline, &group.schemes[0]].into_iter().enumerate() {
                let cycles = if k == 0 { 3000 } else { (3000.0 / speedup) as u64 };
                let sectors = if k == 0 { 200 } else { 100 };
                let result = json!({
                    "cycles": cycles, "passed": true, "allocated_bytes": 1 << 20, "key": format!("{name}{k}"),
                    "stats": { "gpu.dram.asked_reads": { "value": sectors }, "gpu.energy.total": { "value": 1.0 } },
                });
                let mut row = CompareRow {
                    workload: (*name).to_owned(),
                    size: None,
                    seed: None,
                    machine: machine.clone(),
                    is_baseline: k == 0,
                    run: Measured::of(result, 1_000_000, Family::Compression),
                    speedup: None,
                    traffic: None,
                    energy: None,
                    no_pressure: None,
                };
                row.relate(rows.last().and_then(|b| b.run.as_ref().ok()));
                rows.push(row);
            }
        }
        Comparison { groups: vec![Compared { group, rows }] }
    }

    #[test]
    fn ratios_are_to_the_baseline_of_the_program() {
        let all = comparison(&[("a", 1.5), ("b", 0.75)]);
        let speedups: Vec<_> = all.rows().filter_map(|row| row.speedup).collect();
        assert_eq!(speedups, [1.0, 1.5, 1.0, 0.75]);
        assert_eq!(all.groups[0].rows[1].traffic, Some(0.5));
        let (mean, n, of) = all.groups[0].mean("bpc", |row| row.speedup);
        assert!((mean.expect("two") - 1.125f64.sqrt()).abs() < 1e-12 && (n, of) == (2, 2));
        assert!(!all.has_failures());
    }

    #[test]
    fn small_programs_say_so() {
        let all = comparison(&[("saxpy", 1.0)]);
        let baseline = &all.groups[0].rows[0];
        let fits = no_pressure(baseline, Family::Compression, Bytes(4 << 20)).expect("it fits");
        assert_eq!(fits, "its 1.0 MiB fit into the L2 of 4.0 MiB: try `--size medium`, or `--scale 8`");
        let idle = no_pressure(baseline, Family::Compression, Bytes(1 << 10)).expect("idle");
        assert!(idle.starts_with("it uses 0.0 % of the bandwidth of DRAM"), "{idle}");
        assert_eq!(no_pressure(baseline, Family::UnifiedMemory, Bytes(4 << 20)), None);
    }
}
