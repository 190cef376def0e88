//! Every program on every machine, and surveyed without time.

use super::ceiling::{Rates, ceiling};
use super::suite::{BASELINE, Program, Scheme};
use crate::mechanisms::{combination, registry};
use crate::reproduce::Effort;
use crate::reproduce::runs::{Measured, Runs};
use std::sync::Arc;
use strata_core::settings::Settings;
use strata_emu::Capacity;
use strata_run::LabError;
use strata_run::gpus;
use strata_run::parallel;
use strata_run::preparation::RunPreparation;
use strata_run::{Monitor, Step};
use strata_run::{RunRequest, What};
use strata_tom::analyser::{BASELINE_MAPS, MAPPINGS, WITH_PAIRS};
use strata_tom::candidate::{Assumptions, MostLive, find, most_live};
use strata_tom::settings::Settings as TomSettings;
use strata_workloads::Workload;

/// Shares of instances that mappings are learned from in Figure 6.
pub(super) const LEARNING: [f64; 3] = [0.001, 0.005, 0.01];

/// A number of a run.
pub(super) type Part = fn(&Point) -> f64;

/// What is kept of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point {
    pub(super) cycles: f64,
    /// Bytes on the links to the stacks, from them and between them.
    pub(super) tx: f64,
    pub(super) rx: f64,
    pub(super) cross: f64,
    /// Joules of SMs, of links and of everything.
    pub(super) energy_sm: f64,
    pub(super) energy_links: f64,
    pub(super) energy: f64,
    /// Use of the busier direction of the links to stacks: bytes over what they could have carried.
    pub(super) link_use: f64,
    /// Thread instructions, and those on stacks.
    pub(super) instructions: f64,
    pub(super) offloaded: f64,
    /// Sectors that vaults moved, machine instructions of warps, and lines that load/store units took.
    pub(super) vault_sectors: f64,
    pub(super) issues: f64,
    pub(super) line_accesses: f64,
    pub(super) passed: bool,
}

impl Point {
    /// `rate`: bytes in a core cycle that all links to stacks carry in one direction.
    fn of(result: &Measured, rate: f64) -> Self {
        let busier = result.count("gpu.stacks.tx").max(result.count("gpu.stacks.rx"));
        Self {
            link_use: busier / (rate * result.total("cycles")),
            cycles: result.total("cycles"),
            tx: result.count("gpu.stacks.tx"),
            rx: result.count("gpu.stacks.rx"),
            cross: result.count("gpu.stacks.cross"),
            energy_sm: result.sum(&["gpu.energy.instructions", "gpu.energy.sm_leakage"]),
            energy_links: result.count("gpu.energy.links"),
            energy: result.count("gpu.energy.total"),
            instructions: result.count("gpu.sm.thread_instructions"),
            offloaded: result.count("gpu.offload.thread_instructions"),
            vault_sectors: result.sum(&["gpu.dram.reads", "gpu.dram.writes"]),
            issues: result.count("gpu.sm.warp_instructions"),
            line_accesses: result.count("gpu.requests"),
            passed: result.passed(),
        }
    }

    /// Bytes on all links.
    pub(super) fn traffic(&self) -> f64 {
        self.tx + self.rx + self.cross
    }
}

/// What a survey told.
#[derive(Clone, Debug, Default)]
pub(super) struct Surveyed {
    pub(super) instances: usize,
    /// Share of instances on one stack: baseline map, best mapping, and the mapping that the first instances suggest.
    pub(super) baseline: f64,
    pub(super) best: f64,
    pub(super) learned: [f64; LEARNING.len()],
    /// Share of accesses to the stack that their instance runs on: baseline map, the mapping that the first instances suggest,
    /// best mapping.
    pub(super) accesses: [f64; 3],
    /// The same of instances on one stack and of accesses, with a baseline map of so many exclusive-ored pairs.
    pub(super) by_pairs: [[f64; 2]; BASELINE_MAPS],
    /// Share of fixed offsets of each candidate that ran.
    pub(super) fixed: Vec<f64>,
    /// Registers alive at once in its candidates and in its threads.
    pub(super) live: MostLive,
}

/// One program on all machines.
pub(super) struct Timing {
    pub(super) program: Program,
    pub(super) surveyed: Surveyed,
    pub(super) points: Vec<(Scheme, Result<Point, String>)>,
    /// How fast it could get by bandwidths alone, over the baseline, and what the limit is.
    pub(super) ceiling: Option<f64>,
    pub(super) limit: Option<&'static str>,
}

impl Timing {
    /// A machine's run.
    pub(super) fn point(&self, scheme: Scheme) -> Option<Point> {
        self.points.iter().find(|(s, _)| *s == scheme).and_then(|(_, point)| point.as_ref().ok().copied())
    }

    /// How much faster than the baseline: 1 is as fast.
    pub(super) fn speed(&self, scheme: Scheme) -> Option<f64> {
        Some(self.point(BASELINE)?.cycles / self.point(scheme)?.cycles)
    }

    /// True if the baseline uses more than half of the links, as section 5.3 asks of programs.
    pub(super) fn presses_on_links(&self) -> bool {
        self.point(BASELINE).is_some_and(|p| p.link_use > 0.5)
    }

    /// A number of a run over that of another.
    pub(super) fn relative(&self, scheme: Scheme, to: Scheme, part: Part) -> Option<f64> {
        let of = part(&self.point(to)?);
        (of > 0.0).then(|| Some(part(&self.point(scheme)?) / of))?
    }
}

fn request(program: Program, effort: Effort) -> RunRequest {
    let size = Some(program.size(effort).to_owned());
    RunRequest { size, ..RunRequest::new(What::Workload(program.workload.to_owned())) }
}

/// Registers that candidates of a program and its threads keep alive.
fn live(program: Program) -> MostLive {
    let modules = strata_workloads::find(program.workload).map(Workload::modules).unwrap_or_default();
    let parsed = modules.iter().filter_map(|module| strata_ptx::parse(module.path, module.ptx).module);
    let each = parsed.map(|module| most_live(&module, &find(&module, &Assumptions::default())));
    each.fold(MostLive::default(), MostLive::max)
}

fn survey(program: Program, effort: Effort, runs: &Runs) -> Result<Surveyed, LabError> {
    let gpu = gpus::gpu("ndp-maxwell", &[""; 0])?;
    let defaults = Settings::read("tom", registry().find("tom")?.settings(), &[""; 0])
        .map_err(|errors| LabError::Request(errors.join("\n")))?;
    let monitor = Arc::new(Monitor::default());
    // Where the timed runs look for it.
    let request = RunRequest { out: Some(runs.folder().to_owned()), ..request(program, effort) };
    let mut preparation = RunPreparation::new(&request, &gpu.config, Capacity::default(), &monitor);
    let survey = strata_tom::survey(&defaults, &mut preparation)?;
    let seen = &survey.seen;
    let (instances, settings) = (seen.instances(), TomSettings::of(&defaults));
    let after = |share: f64| {
        let settings = TomSettings { learning_share: share, ..settings.clone() };
        seen.best(settings.mapping_rule, settings.learns_from(instances as u64) as usize)
    };
    // Where no mapping is better the baseline map stays.
    let one_stack = |mapping: Option<usize>| seen.one_stack_share(mapping.unwrap_or(MAPPINGS));
    let on_first = |mapping: Option<usize>| seen.first_stack_share(mapping.unwrap_or(MAPPINGS));
    let best = seen.best(settings.mapping_rule, usize::MAX);
    Ok(Surveyed {
        instances,
        baseline: one_stack(None),
        best: one_stack(best),
        learned: LEARNING.map(|part| one_stack(after(part))),
        accesses: [None, after(LEARNING[0]), best].map(on_first),
        by_pairs: std::array::from_fn(|pairs| {
            [seen.one_stack_share(WITH_PAIRS + pairs), seen.first_stack_share(WITH_PAIRS + pairs)]
        }),
        fixed: survey.offsets.iter().filter_map(|(_, _, offsets)| offsets.fixed_share()).collect(),
        live: live(program),
    })
}

/// Runs all programs on all machines.
pub(super) fn study(
    programs: &[Program],
    effort: Effort,
    schemes: &[Scheme],
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Timing>, LabError> {
    let threads = parallel::threads();
    let name = |program: &Program| format!("{}, without time", program.name);
    let surveys = parallel::map(programs, threads, name, begins, |program| survey(*program, effort, runs));
    let surveys: Vec<Surveyed> = surveys.into_iter().collect::<Result<_, LabError>>()?;
    let rates = Rates::of_table_1()?;
    let jobs: Vec<(Program, Scheme)> =
        programs.iter().flat_map(|program| schemes.iter().map(move |scheme| (*program, *scheme))).collect();
    let name = |(program, scheme): &(Program, Scheme)| format!("{} on {}", program.name, scheme.name);
    let points = parallel::map(&jobs, threads, name, begins, |(program, scheme)| {
        let result = runs.measure(RunRequest {
            gpu: Some(scheme.gpu.to_owned()),
            with: combination(scheme.with)?,
            set: scheme.set.iter().map(|one| (*one).to_owned()).collect(),
            ..request(*program, effort)
        })?;
        Ok(match result.error() {
            Some(error) => Err(error.to_owned()),
            None => Ok(Point::of(&result, rates.link)),
        })
    });
    let points: Vec<Result<Point, String>> = points.into_iter().collect::<Result<_, LabError>>()?;
    let by_program = programs.iter().zip(surveys).zip(points.chunks(schemes.len().max(1)));
    Ok(by_program
        .map(|((&program, surveyed), points)| {
            let points = schemes.iter().copied().zip(points.iter().cloned()).collect();
            let timing = Timing { program, surveyed, points, ceiling: None, limit: None };
            let (ceiling, limit) = ceiling(&rates, &timing).unzip();
            Timing { ceiling, limit, ..timing }
        })
        .collect())
}
