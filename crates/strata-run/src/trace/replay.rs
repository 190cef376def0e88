//! Replays a trace on a machine with time.

use crate::description::Description;
use crate::engine;
use crate::error::LabError;
use crate::monitor::Monitor;
use crate::request::{Resolved, RunRequest};
use crate::result::{HostTimes, KernelRun, RunResult};
use crate::run::options;
use crate::setup::Setup;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use strata_core::fnv::Fnv1a64;
use strata_core::{Addr, Bytes};
use strata_host::{AllocFlags, Allocation, AllocationId, HostEvent, Launch, ModuleId};
use strata_sim::config::GpuConfig;
use strata_sim::{KernelNeeds, Machine};
use strata_trace::{Event, Replay, Step, TraceFile};

/// What a trace is of, as it says itself.
pub(crate) fn resolved(request: &RunRequest, path: &Path) -> Result<Resolved, LabError> {
    let sized = request.size.is_some() || request.input.is_some();
    let looks = request.check || request.check_races || request.lenient;
    if sized || request.seed.is_some() || looks || request.max_instructions.is_some() {
        let reason = "a trace was recorded with its size, input, seed and checks; leave these options out";
        return Err(LabError::Request(reason.into()));
    }
    let file = super::open(path)?;
    let hash = Fnv1a64::of_file(path).map_err(|e| LabError::io("read", path, e))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (program, seed) = (file.origin().program.clone(), file.origin().seed);
    Ok(Resolved { name: program, size: None, seed, inputs: vec![(name, hash)] })
}

/// Replays the trace `path` on a machine; what mechanisms save goes to `folder`.
pub(crate) fn replay(
    request: &RunRequest,
    about: Description,
    path: &Path,
    gpu: GpuConfig,
    mut setup: Setup,
    monitor: &Arc<Monitor>,
    folder: &Path,
) -> Result<RunResult, LabError> {
    let started = Instant::now();
    let mut file = super::open(path)?;
    monitor.expect_launches(file.launches() as u64);
    let machine = engine::machine(&options(request, monitor), gpu, &mut setup)?;
    let mut replayed = Replayed { machine, monitor };
    let (kernels, error) = replayed.run(path, &mut file)?;
    let mut result = RunResult {
        about,
        passed: None,
        checked: None,
        error,
        warnings: Vec::new(),
        kernels,
        copies: engine::copies_of(&replayed.machine),
        allocated: None,
        findings: Vec::new(),
        host: HostTimes { seconds: monitor.launch_seconds(), directory: folder.to_owned(), ..HostTimes::default() },
    };
    result.warnings.extend(setup.save(folder)?);
    result.host.total_seconds = started.elapsed().as_secs_f64();
    Ok(result)
}

struct Replayed<'m> {
    machine: Machine,
    monitor: &'m Monitor,
}

impl Replayed<'_> {
    /// All launches, and why the machine stopped before the last, if it did.
    fn run(&mut self, path: &Path, file: &mut TraceFile<File>) -> Result<(Vec<KernelRun>, Option<String>), LabError> {
        let mut kernels = Vec::new();
        // Launches read the file, so the steps cannot borrow from it.
        let mut living = BTreeMap::new();
        let steps: Vec<_> = file
            .steps()
            .map(|step| if let Step::Event(e) = step { Some(heard(e, &mut living)) } else { None })
            .collect();
        for step in steps {
            if let Some(event) = step {
                // A trace has addresses, not values.
                self.machine.host_event(&event, |_, _| {});
                continue;
            }
            match self.launch(path, file, kernels.len())? {
                Ok(kernel) => kernels.push(kernel),
                Err(stopped) => return Ok((kernels, Some(stopped))),
            }
        }
        Ok((kernels, None))
    }

    /// One launch; the inner error is the machine's.
    fn launch(
        &mut self,
        path: &Path,
        file: &mut TraceFile<File>,
        number: usize,
    ) -> Result<Result<KernelRun, String>, LabError> {
        let damaged = |e| LabError::trace(path, e);
        let mut source = Replay::new(file, number).map_err(damaged)?;
        let info = source.summary().info.clone();
        let threads = info.block.count() as u32;
        let needs = KernelNeeds { threads, registers: info.registers, shared: info.shared.0 };
        self.monitor.launch_began(&info.kernel);
        let (kernel, grid, block) = (info.kernel.clone(), info.grid, info.block);
        self.machine.host_event(&HostEvent::LaunchBegin { module: 0, kernel, grid, block }, |_, _| {});
        let counts = |s: &Replay<'_, File>| s.summary().counts.clone();
        let executed =
            |s: &Replay<'_, File>, share: f64| (s.summary().counts.thread_instructions() as f64 * share) as u64;
        let report = engine::run_timed(&mut self.machine, &mut source, &needs, self.monitor, counts, executed);
        self.monitor.launch_ended();
        if let Some(error) = source.take_error() {
            return Err(damaged(error));
        }
        let report = match report {
            Ok(report) => report,
            Err(error) => return Ok(Err(format!("kernel `{}`: {error}", info.kernel))),
        };
        self.machine.host_event(&HostEvent::LaunchEnd { kernel: info.kernel.clone() }, |_, _| {});
        self.monitor.count_launch(report.counts.thread_instructions());
        let launch = Launch {
            module: ModuleId(0),
            kernel: info.kernel,
            grid: info.grid,
            block: info.block,
            shared: info.shared.0 as u32,
            params: Vec::new(),
            cooperative: false,
        };
        Ok(Ok(KernelRun::new(&launch, &report)))
    }
}

/// The event as a machine hears it; `living` has what was allocated and not freed before.
fn heard(event: &Event, living: &mut BTreeMap<u32, (Addr, Bytes)>) -> HostEvent {
    match event {
        Event::Alloc { id, start, size, managed, name } => {
            living.insert(*id, (*start, *size));
            HostEvent::Alloc(Allocation {
                id: AllocationId(*id),
                start: *start,
                size: *size,
                name: name.clone(),
                flags: AllocFlags { managed: *managed, ..AllocFlags::default() },
            })
        }
        Event::Free { id } => {
            let (start, size) = living.remove(id).unwrap_or((Addr(0), Bytes(0)));
            HostEvent::Free { id: AllocationId(*id), start, size }
        }
        Event::CopyIn { start, size } => HostEvent::CopyIn { start: *start, size: *size },
        Event::CopyOut { start, size } => HostEvent::CopyOut { start: *start, size: *size },
        Event::Memset { start, size } => HostEvent::Memset { start: *start, size: *size },
        Event::Sync => HostEvent::Sync,
    }
}
