//! Every program on every machine, and what its requests waited for.

use super::suite::{PLAIN, Program, Scheme};
use crate::mechanisms::combination;
use crate::reproduce::Effort;
use crate::reproduce::by_program::{ALL, Subject};
use crate::reproduce::runs::{Measured, Runs};
use serde_json::Value;
use strata_buddy::Target;
use strata_core::{LINE_BYTES, SECTOR_BYTES};
use strata_run::{LabError, RunRequest, Step, What, parallel};

/// What requests wait for, as `--explain` counts it, and what that is.
pub(super) const WAITS: [(&str, &str); 8] = [
    ("load_store_unit", "load/store unit and pages"),
    ("mshr", "MSHRs"),
    ("request_port", "ports out"),
    ("memory_queue", "queue to memory"),
    ("l2_slice", "L2 slice"),
    ("memory", "memory"),
    ("reply_port", "ports back"),
    ("travel", "latencies"),
];

/// What is kept of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point {
    /// Of launches: what the host copies before and after is not in it, what pages take is.
    pub(super) cycles: f64,
    /// Bytes on the busier direction of the links to stacks, and on all links of the GPU: to stacks, between them, to the host.
    pub(super) busier: f64,
    pub(super) links: f64,
    /// Bytes that vaults moved.
    pub(super) vaults: f64,
    /// Share of time in which vaults moved data.
    pub(super) vault_use: f64,
    /// Sectors that SMs asked L2 for or sent there.
    pub(super) asked: f64,
    pub(super) energy: f64,
    /// Core cycles that requests waited, all together, by [`WAITS`].
    pub(super) waits: [f64; WAITS.len()],
    /// Line requests.
    pub(super) requests: f64,
    /// Bytes of allocations over those of device memory that are kept for them, as Buddy Compression promises.
    pub(super) promised: Option<f64>,
    /// The most pages that were on the device at once, over the frames that it had.
    pub(super) held: Option<f64>,
    /// Pages that left for want of room.
    pub(super) evicted: f64,
    pub(super) passed: bool,
}

impl Point {
    /// Of a machine: what its files say beyond statistics.
    fn of(result: &Measured, scheme: Scheme) -> Result<Self, LabError> {
        let count = |path: &str| result.count(path);
        let classes = ["load", "store", "atomic"];
        let waited = |what: &str| classes.iter().map(|class| count(&format!("explain.wait[{class}].{what}"))).sum();
        let [tx, rx, cross] = ["tx", "rx", "cross"].map(|way| count(&format!("gpu.stacks.{way}")));
        let promised = if scheme.has("buddy") { promised(&result.beside("buddy.json")?) } else { None };
        let held = if scheme.has("uvm") { held(&result.beside("uvm.json")?) } else { None };
        Ok(Self {
            cycles: result.total("cycles"),
            busier: tx.max(rx),
            links: tx + rx + cross + result.sum(&HOST_LINK),
            vaults: result.sum(&["gpu.dram.reads", "gpu.dram.writes"]) * SECTOR_BYTES as f64,
            vault_use: count("gpu.dram.bus_use"),
            asked: result.sum(&["gpu.l2.reads", "gpu.l2.writes"]),
            energy: count("gpu.energy.total"),
            waits: WAITS.map(|(what, _)| waited(what)),
            requests: waited("requests"),
            promised,
            held,
            evicted: result.sum(&["gpu.uvm.evicted_clean", "gpu.uvm.evicted_dirty"]),
            passed: result.passed(),
        })
    }
}

/// What links to the host carry: what memory sides keep there, and pages.
const HOST_LINK: [&str; 4] = ["gpu.link.in", "gpu.link.out", "gpu.uvm.pcie.in_bytes", "gpu.uvm.pcie.out_bytes"];

/// Bytes of all allocations over what their targets keep of them in device memory, by `buddy.json`.
fn promised(said: &Value) -> Option<f64> {
    let mut sums = [0.0; 2];
    for allocation in said["allocations"].as_array()? {
        let target = allocation["target"].as_str()?.parse::<Target>().ok()?;
        let bytes = allocation["bytes"].as_f64()?;
        sums[0] += bytes;
        sums[1] += bytes * f64::from(target.device_bytes()) / LINE_BYTES as f64;
    }
    (sums[1] > 0.0).then(|| sums[0] / sums[1])
}

/// The most pages on the device over its frames, by `uvm.json`.
fn held(said: &Value) -> Option<f64> {
    let fullest = &said["fullest"];
    let frames = fullest["frames"].as_f64().filter(|&frames| frames > 0.0)?;
    Some(fullest["pages"].as_f64()? / frames)
}

/// One program on all machines.
#[derive(Clone)]
pub(super) struct Timing {
    pub(super) program: Program,
    /// Bytes that it allocates.
    pub(super) bytes: f64,
    pub(super) points: Vec<(Scheme, Result<Point, String>)>,
}

impl Subject for Timing {
    const GROUPS: &'static [&'static str] = &[ALL];

    fn name(&self) -> &'static str {
        self.program.name
    }
}

impl Timing {
    /// A machine's run.
    pub(super) fn point(&self, scheme: Scheme) -> Option<Point> {
        self.points.iter().find(|(s, _)| *s == scheme).and_then(|(_, point)| point.as_ref().ok().copied())
    }

    /// A number of a run over that of another.
    pub(super) fn relative(&self, scheme: Scheme, to: Scheme, part: impl Fn(&Point) -> f64) -> Option<f64> {
        let of = part(&self.point(to)?);
        (of > 0.0).then_some(part(&self.point(scheme)?) / of)
    }

    /// How much faster than the plain machine: 1 is as fast.
    pub(super) fn speed(&self, scheme: Scheme) -> Option<f64> {
        self.relative(PLAIN, scheme, |point| point.cycles)
    }
}

/// Runs programs on machines; each run explains itself.
pub(super) fn study(
    programs: &[Program],
    effort: Effort,
    schemes: &[Scheme],
    runs: &Runs,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
) -> Result<Vec<Timing>, LabError> {
    let jobs: Vec<(Program, Scheme)> =
        schemes.iter().flat_map(|scheme| programs.iter().map(move |program| (*program, *scheme))).collect();
    let name = |(program, scheme): &(Program, Scheme)| format!("{} on {}", program.name, scheme.name);
    let points = parallel::map(&jobs, parallel::threads(), name, begins, |(program, scheme)| {
        let result = runs.measure(RunRequest {
            size: program.size(effort).map(str::to_owned),
            gpu: Some(scheme.machine.gpu().to_owned()),
            with: combination(scheme.with)?,
            set: scheme.set(),
            explain: true,
            ..RunRequest::new(What::Workload(program.name.to_owned()))
        })?;
        Ok(match result.error() {
            Some(error) => (result.total("allocated_bytes"), Err(error.to_owned())),
            None => (result.total("allocated_bytes"), Ok(Point::of(&result, *scheme)?)),
        })
    });
    let points: Vec<(f64, Result<Point, String>)> = points.into_iter().collect::<Result<_, LabError>>()?;
    let timing = |program: &Program| {
        let own = || jobs.iter().zip(&points).filter(|((of, _), _)| of == program);
        Timing {
            program: *program,
            bytes: own().map(|(_, (bytes, _))| *bytes).fold(0.0, f64::max),
            points: own().map(|((_, scheme), (_, point))| (*scheme, point.clone())).collect(),
        }
    };
    Ok(programs.iter().map(timing).collect())
}

/// An error that names the runs that failed or computed something wrong, if there are any.
pub(super) fn no_failures(timings: &[Timing]) -> Result<(), LabError> {
    let points = timings.iter().flat_map(|t| t.points.iter().map(move |(s, point)| (t.program.name, s.name, point)));
    let wrong = points.filter_map(|(program, scheme, point)| match point {
        Err(error) => Some(format!("{program} on {scheme}: {error}")),
        Ok(point) if !point.passed => Some(format!("{program} on {scheme}: its result is wrong")),
        Ok(_) => None,
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(LabError::Request(format!("programs failed:\n{}", wrong.join("\n")))) }
}
