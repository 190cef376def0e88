//! The timed machine beside silicon: every microbenchmark and every kernel that a real card ran ([`Silicon`]).
//!
//! Invariants: every row of the tables is shown, good or bad; what cannot be measured has no value rather than a guess,
//! and then the score over all rows has none either. A row out of its range is a finding, not an error; a program that
//! fails or computes the wrong result is told apart from both.

mod card_program;
mod kernels;
mod page;
mod plot;
mod report;
mod score;

pub use card_program::CardProgram;
pub use score::{Pair, Score};

use crate::silicon::{Kernels, Microbenchmarks, Quantity, Silicon};
use strata_host::{Device, HostError};
use strata_run::LabError;
use strata_run::Step;
use strata_run::engine::{self, EngineOptions};
use strata_run::gpus;
use strata_sim::config::GpuConfig;
use strata_sim::time::{Cycles, Picos};
use strata_workloads::micro::{self, Facts};

/// What to validate.
#[derive(Clone, Debug, Default)]
pub struct ValidateRequest {
    /// A table's own machine: that table alone. Any other preset or file: all tables on it, shown and not judged.
    /// `None`: each table on its own machine.
    pub gpu: Option<String>,
    /// Changes to the machine or machines, `key=value`.
    pub set: Vec<String>,
    /// What the microbenchmarks measured on a user's card, which the machine stands for: these rows and no others.
    pub silicon: Option<Microbenchmarks>,
}

/// One quantity that silicon measured, and what the machine says.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The table it stands in.
    pub table: String,
    /// The microbenchmark, or the instance and its kernel.
    pub name: String,
    /// What was measured.
    pub quantity: &'static str,
    /// In what.
    pub unit: &'static str,
    /// By the card.
    pub silicon: f64,
    /// By the machine; `None` if it cannot say.
    pub ours: Option<f64>,
    /// By Accel-Sim, where it was published.
    pub accel_sim: Option<f64>,
    /// Whether it is within the range of the row; `None` if the row is shown only.
    pub passed: Option<bool>,
    /// What a reader must know.
    pub note: Option<String>,
}

/// (value - silicon) / silicon; a measured 0 has no error.
fn error(value: Option<f64>, silicon: f64) -> Option<f64> {
    value.map(|value| (value - silicon) / silicon).filter(|error| error.is_finite())
}

impl Row {
    /// How far the machine is off, as a fraction of silicon.
    pub fn error(&self) -> Option<f64> {
        error(self.ours, self.silicon)
    }

    fn is_cycles_of_kernel(&self) -> bool {
        self.quantity == Quantity::Cycles.name()
    }
}

/// Everything that was compared.
#[derive(Clone, Debug)]
pub struct Validation {
    /// The machine of the microbenchmarks and their rows, if they ran.
    pub microbenchmarks: Option<(String, Vec<Row>)>,
    /// The machine of the kernels and their rows, if they ran.
    pub kernels: Option<(String, Vec<Row>)>,
    /// The machine of the programs and their rows, if they ran.
    pub programs: Option<(String, Vec<Row>)>,
    /// Their cycles at other core clocks, in MHz: the card's was not recorded.
    pub at_clocks: Vec<(u32, Vec<Row>)>,
    /// Programs that failed or computed something wrong, with the reason.
    pub failures: Vec<String>,
    /// The tables.
    pub silicon: Silicon,
}

impl Validation {
    /// All rows, in the order of the tables.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.microbenchmarks.iter().chain(&self.kernels).chain(&self.programs).flat_map(|(_, rows)| rows)
    }

    /// Our cycles of the kernels against silicon; `None` if a row has no value.
    pub fn score(&self) -> Option<Score> {
        score_of(self.kernels.as_ref()?.1.iter(), |row| row.ours)
    }

    /// Our cycles of the programs against silicon; `None` if a row has no value.
    pub fn programs_score(&self) -> Option<Score> {
        score_of(self.programs.as_ref()?.1.iter(), |row| row.ours)
    }

    /// The row of the programs whose cycles are furthest off.
    pub fn worst_program(&self) -> Option<&Row> {
        let rows = self.programs.iter().flat_map(|(_, rows)| rows).filter(|row| row.is_cycles_of_kernel());
        let far = |row: &Row| row.error().map_or(f64::INFINITY, f64::abs);
        rows.max_by(|a, b| far(a).total_cmp(&far(b)))
    }

    /// Accel-Sim's cycles of the same kernels.
    pub fn accel_sim_score(&self) -> Option<Score> {
        score_of(self.kernels.as_ref()?.1.iter(), |row| row.accel_sim)
    }

    /// Rows that are judged, and how many of them passed.
    pub fn judged(&self) -> (usize, usize) {
        let verdicts = || self.rows().filter_map(|row| row.passed);
        (verdicts().count(), verdicts().filter(|passed| *passed).count())
    }
}

/// The agreement of the cycles of rows; `None` if one has no value.
fn score_of<'r>(rows: impl Iterator<Item = &'r Row>, value: fn(&Row) -> Option<f64>) -> Option<Score> {
    let rows = rows.filter(|row| row.is_cycles_of_kernel());
    let pairs: Option<Vec<_>> =
        rows.map(|row| value(row).map(|predicted| Pair { predicted, measured: row.silicon })).collect();
    Score::of(&pairs?)
}

/// Compares the machine with silicon; `progress` is told before each program.
pub fn validate(request: &ValidateRequest, progress: &mut dyn FnMut(Step<'_>)) -> Result<Validation, LabError> {
    let silicon = Silicon::built_in();
    if let Some(measured) = &request.silicon {
        return beside_card(request, measured, silicon, progress);
    }
    let (micro, kernels, programs) = (&silicon.microbenchmarks, &silicon.kernels, &silicon.programs);
    let own = [&micro.gpu, &kernels.gpu, &programs.gpu].map(String::as_str);
    let micro_machine = machine(request, own, 0, false)?;
    let kernel_machine = machine(request, own, 1, kernels.profiled)?;
    let program_machine = machine(request, own, 2, programs.profiled)?;
    let clocks =
        program_machine.as_ref().map_or(&[][..], |machine| if machine.judged { &programs.clocks_mhz } else { &[] });
    // At its own clock the machine is not measured again.
    let other = |mhz: u32| program_machine.as_ref().filter(|machine| !machine.runs_at(mhz));
    let other_clocks = clocks
        .iter()
        .map(|&mhz| Ok((mhz, other(mhz).map(|machine| machine.at_clock(mhz, request)).transpose()?)))
        .collect::<Result<Vec<_>, LabError>>()?;
    let others = other_clocks.iter().filter(|(_, machine)| machine.is_some()).count();
    let runs = micro_machine.as_ref().map_or(0, |_| micro.rows.len())
        + kernel_machine.as_ref().map_or(0, |_| kernels::runs(kernels).count())
        + program_machine.as_ref().map_or(0, |_| kernels::runs(programs).count() * (1 + others));
    let mut done = 0;
    let mut begins = |name: &str| {
        progress(Step { done, of: runs, left: None, name });
        done += 1;
    };
    let mut failures = Vec::new();
    let microbenchmarks =
        micro_machine.map(|machine| (machine.gpu.name.clone(), measure(&machine, micro, &mut begins, &mut failures)));
    let kernel_rows = kernel_machine
        .map(|machine| (machine.gpu.name.clone(), kernels::measure(&machine, kernels, &mut begins, &mut failures)));
    let mut measure_programs = |machine: &Subject| kernels::measure(machine, programs, &mut begins, &mut failures);
    let program_rows = program_machine.map(|machine| (machine.gpu.name.clone(), measure_programs(&machine)));
    let mut at_clocks = Vec::new();
    for (mhz, machine) in other_clocks {
        let rows = match (machine, &program_rows) {
            (Some(machine), _) => measure_programs(&machine),
            (None, Some((_, rows))) => rows.clone(),
            (None, None) => Vec::new(),
        };
        at_clocks.push((mhz, rows.into_iter().filter(Row::is_cycles_of_kernel).collect()));
    }
    Ok(Validation { microbenchmarks, kernels: kernel_rows, programs: program_rows, at_clocks, failures, silicon })
}

/// Compares a machine with what its user's card measured.
fn beside_card(
    request: &ValidateRequest,
    measured: &Microbenchmarks,
    silicon: Silicon,
    progress: &mut dyn FnMut(Step<'_>),
) -> Result<Validation, LabError> {
    let gpu = gpus::gpu(&measured.gpu, &request.set)?.config;
    let machine = Subject { gpu, judged: true, profiled: false };
    let (mut done, of) = (0, measured.rows.len());
    let mut begins = |name: &str| {
        progress(Step { done, of, left: None, name });
        done += 1;
    };
    let mut failures = Vec::new();
    let rows = measure(&machine, measured, &mut begins, &mut failures);
    let microbenchmarks = Some((machine.gpu.name, rows));
    let silicon = Silicon { microbenchmarks: measured.clone(), ..silicon };
    Ok(Validation { microbenchmarks, kernels: None, programs: None, at_clocks: Vec::new(), failures, silicon })
}

/// Every row of the microbenchmarks on a machine that stands for their card.
pub(crate) fn measure_microbenchmarks(gpu: GpuConfig, table: &Microbenchmarks, failures: &mut Vec<String>) -> Vec<Row> {
    measure(&Subject { gpu, judged: true, profiled: false }, table, &mut |_| {}, failures)
}

/// The machine that a table runs on.
struct Subject {
    gpu: GpuConfig,
    /// False if it does not stand for the card of the table.
    judged: bool,
    /// It is measured as a profiler measures.
    profiled: bool,
}

impl Subject {
    /// A new device, cold.
    fn device(&self, modules: &[strata_workloads::Module]) -> Result<Device, HostError> {
        let options = EngineOptions { like_ncu: self.profiled, ..EngineOptions::plain(modules) };
        Ok(Device::new(engine::timed(options, self.gpu.clone())?))
    }

    /// True if this is its core clock.
    fn runs_at(&self, mhz: u32) -> bool {
        self.gpu.clock.core.edge(Cycles(u64::from(mhz))) == Picos(1_000_000)
    }

    /// The same machine with core, crossbar and L2 at another clock; what takes its time in DRAM takes the same time.
    fn at_clock(&self, mhz: u32, request: &ValidateRequest) -> Result<Self, LabError> {
        let ours = self.gpu.clock.l2.edge(Cycles(1_000_000)).0 as f64 / 1e6;
        let controller = f64::from(self.gpu.dram.controller_cycles) * ours * f64::from(mhz) / 1e6;
        let mut set = request.set.clone();
        set.extend(["core", "interconnect", "l2"].map(|clock| format!("clock.{clock}={mhz}MHz")));
        set.push(format!("dram.controller_cycles={controller:.0}"));
        let gpu = gpus::gpu(&self.gpu.name, &set)?.config;
        Ok(Self { gpu, judged: false, profiled: self.profiled })
    }
}

/// The machine for a table, given the tables' own machines; `None` if the request is for another table.
fn machine(
    request: &ValidateRequest,
    own: [&str; 3],
    table: usize,
    profiled: bool,
) -> Result<Option<Subject>, LabError> {
    let name = request.gpu.as_deref().unwrap_or(own[table]);
    if name != own[table] && own.contains(&name) {
        return Ok(None);
    }
    let gpu = gpus::gpu(name, &request.set)?.config;
    Ok(Some(Subject { gpu, judged: name == own[table], profiled }))
}

/// Every row of the microbenchmarks.
fn measure(
    machine: &Subject,
    table: &Microbenchmarks,
    begins: &mut dyn FnMut(&str),
    failures: &mut Vec<String>,
) -> Vec<Row> {
    let gpu = &machine.gpu;
    let facts = Facts { sms: gpu.sm.count, threads_per_sm: gpu.sm.threads, l2_bytes: gpu.l2_size().0 };
    let rows = table.rows.iter().filter_map(|row| micro::find(&row.micro).map(|micro| (row, micro)));
    rows.map(|(row, micro)| {
        begins(micro.name);
        let ours = match micro.measure(&facts, &mut || machine.device(&[micro::MODULE])) {
            Ok(measured) if measured.outcome.passed => measured.value,
            Ok(measured) => {
                failures.push(format!("{}: {}", micro.name, measured.outcome.checked));
                None
            }
            Err(error) => {
                failures.push(format!("{}: {error}", micro.name));
                None
            }
        };
        let judged = machine.judged && row.judged;
        Row {
            table: "microbenchmarks".into(),
            name: micro.name.into(),
            quantity: micro.quantity,
            unit: micro.unit.symbol(),
            silicon: row.silicon,
            ours,
            accel_sim: None,
            passed: judged.then(|| ours.is_some_and(|value| table.passes(row, value))),
            note: row.note.clone(),
        }
    })
    .collect()
}

/// The limits of the cycles of all kernels together.
fn limits(kernels: &Kernels) -> Score {
    Score { mape: kernels.mean_absolute_error, correlation: Some(kernels.correlation) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(gpu: Option<&str>, expected: [Option<(&str, bool)>; 3]) {
        let request = ValidateRequest { gpu: gpu.map(Into::into), set: vec!["sm.count=2".into()], silicon: None };
        let silicon = Silicon::built_in();
        let own = [&silicon.microbenchmarks.gpu, &silicon.kernels.gpu, &silicon.programs.gpu].map(String::as_str);
        let found = [0, 1, 2].map(|table| {
            let subject = machine(&request, own, table, false).expect("a sound machine")?;
            assert_eq!(subject.gpu.sm.count, 2);
            Some((subject.gpu.name, subject.judged))
        });
        assert_eq!(found, expected.map(|e| e.map(|(name, judged)| (name.to_owned(), judged))), "{gpu:?}");
    }

    #[test]
    fn a_table_runs_on_its_own_machine_or_on_a_stranger_that_is_not_judged() {
        check(None, [Some(("titan-v", true)), Some(("titan-x-pascal", true)), Some(("gv100", true))]);
        check(Some("titan-v"), [Some(("titan-v", true)), None, None]);
        check(Some("titan-x-pascal"), [None, Some(("titan-x-pascal", true)), None]);
        check(Some("gv100"), [None, None, Some(("gv100", true))]);
        check(Some("v100"), [Some(("v100", false)); 3]);
    }
}
