//! Every program on every machine, and what its requests waited for.

use super::suite::{Machine, PLAIN, Program, Scheme};
use crate::mechanisms::combination;
use crate::reproduce::Effort;
use crate::reproduce::by_program::{ALL, Subject};
use crate::reproduce::runs::{Measured, Runs};
use serde_json::Value;
use strata_buddy::Target;
use strata_core::{LINE_BYTES, SECTOR_BYTES};
use strata_run::{LabError, RunRequest, Step, What, gpus, parallel};

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
    /// Use of the busier direction of the links to stacks, if there are any.
    pub(super) link_use: f64,
    /// Bytes on all links of the GPU: to stacks, between them, to the host.
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
    /// The most pages that were on the device at once, and the frames that it had.
    pub(super) held: Option<Held>,
    /// Pages that left for want of room.
    pub(super) evicted: f64,
    pub(super) passed: bool,
}

impl Point {
    /// What statistics say, and files beside them. `rate`: bytes in a core cycle that all links to stacks carry in one direction.
    fn of(result: &Measured, scheme: Scheme, rate: f64) -> Result<Self, LabError> {
        let count = |path: &str| result.count(path);
        let classes = ["load", "store", "atomic"];
        let waited = |what: &str| classes.iter().map(|class| count(&format!("explain.wait[{class}].{what}"))).sum();
        let [tx, rx, cross] = ["tx", "rx", "cross"].map(|way| count(&format!("gpu.stacks.{way}")));
        let promised = if scheme.has("buddy") { promised(&result.beside("buddy.json")?) } else { None };
        let held = if scheme.has("uvm") { held(&result.beside("uvm.json")?) } else { None };
        Ok(Self {
            cycles: result.total("cycles"),
            link_use: if rate > 0.0 { tx.max(rx) / (rate * result.total("cycles")) } else { 0.0 },
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

/// The device when it held the most pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) pages: f64,
    /// Pages that it has room for if each takes all of its bytes.
    pub(super) frames: f64,
}

impl Held {
    /// Pages in a frame.
    pub(super) fn ratio(self) -> f64 {
        self.pages / self.frames
    }
}

/// By `uvm.json`.
fn held(said: &Value) -> Option<Held> {
    let of = |what: &str| said["fullest"][what].as_f64();
    Some(Held { pages: of("pages")?, frames: of("frames").filter(|&frames| frames > 0.0)? })
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

/// Bytes in a core cycle that all links to stacks of a machine carry in one direction.
fn rate(machine: Machine) -> Result<f64, LabError> {
    let gpu = gpus::gpu(machine.gpu(), &[""; 0])?.config;
    let bytes = f64::from(gpu.stacks.count) * gpu.stacks.link.gb_per_s * 1e9;
    Ok(bytes / (1e3 * gpu.clock.core.khz() as f64))
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
            None => (result.total("allocated_bytes"), Ok(Point::of(&result, *scheme, rate(scheme.machine)?)?)),
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
