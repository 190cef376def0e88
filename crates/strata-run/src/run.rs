//! Carries out a request.

use crate::description::Description;
use crate::engine::{self, EngineOptions};
use crate::error::LabError;
use crate::launch_file::{self, Loaded};
use crate::monitor::{Monitor, Monitored};
use crate::preparation::RunPreparation;
use crate::request::{DEFAULT_OUT, Resolved, RunRequest, What};
use crate::result::{HostTimes, KernelRun, RunResult};
use crate::setup::Setup;
use crate::stopwatch::{self, Stopwatch};
use crate::{gpus, graph_input, stats_file, trace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use strata_core::Bytes;
use strata_core::files::{self, AtomicFolder};
use strata_core::nearest::nearest;
use strata_emu::Capacity;
use strata_host::{Device, Engine, HostError, Script};
use strata_mechanism::{Chosen, Role};
use strata_sim::config::Gpu;
use strata_trace::Origin;
use strata_workloads::{Graph, Instance, Outcome, Size, UnknownWorkload, Workload};

/// What a result's folder is told by: it is there when everything else is.
const RESULT: &str = "result.json";

/// Runs a request, saves its result and returns it. `monitor` tells how far the run is.
pub fn run(request: &RunRequest, monitor: &Arc<Monitor>) -> Result<RunResult, LabError> {
    let found = Found::new(request)?;
    let (directory, asked) = (found.about.directory(request), found.resolved.to_json(request));
    saving(&directory, &asked, |folder| found.run_in(folder, monitor))
}

/// Makes a result in a folder that appears when it is whole; a run that fails or is killed leaves none.
fn saving(
    directory: &Path,
    asked: &Value,
    run: impl FnOnce(&Path) -> Result<RunResult, LabError>,
) -> Result<RunResult, LabError> {
    let unwritable = |e| LabError::io("write", directory, e);
    // First of all: a directory that cannot be written is found out before the run, not after it.
    let folder = AtomicFolder::create(directory).map_err(unwritable)?;
    save_json(folder.path(), "request.json", asked)?;
    let mut result = run(folder.path())?;
    directory.clone_into(&mut result.host.directory);
    save_result(folder.path(), &result)?;
    folder.commit(RESULT).map_err(unwritable)?;
    Ok(result)
}

/// A request whose program and machine were found: nothing was run, and nothing is wrong with it that can be told without.
pub struct Found<'r> {
    request: &'r RunRequest,
    resolved: Resolved,
    about: Description,
    chosen: Chosen,
    gpu: Option<Gpu>,
    /// What is executed; a trace is not.
    job: Option<Job>,
}

impl<'r> Found<'r> {
    /// Looks everything up.
    pub fn new(request: &'r RunRequest) -> Result<Self, LabError> {
        let (chosen, gpu) = machine(request)?;
        let (job, resolved) = match &request.what {
            What::Trace(path) if gpu.is_some() => {
                if let Some((mechanism, _)) = chosen.iter().find(|(mechanism, _)| mechanism.looks_at_data()) {
                    let name = mechanism.name();
                    let lacks = if mechanism.roles().contains(&Role::Pages) {
                        "manages the memory that a program allocates, and a trace has only its addresses"
                    } else {
                        "looks at data, which a trace does not have"
                    };
                    let reason = format!("`{name}` {lacks}: run the program itself");
                    return Err(LabError::Request(reason));
                }
                (None, trace::resolved(request, path)?)
            }
            _ => {
                let job = Job::resolve(request)?;
                let resolved = job.resolved.clone();
                (Some(job), resolved)
            }
        };
        let about = Description::of(request, &resolved, &chosen, gpu.as_ref())?;
        Ok(Self { request, resolved, about, chosen, gpu, job })
    }

    /// What its result will be of.
    pub fn about(&self) -> &Description {
        &self.about
    }

    /// The machine, if it is timed.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.gpu.as_ref()
    }

    /// Runs it and saves nothing but what the program and mechanisms do, in a folder that is there.
    pub fn run_in(self, folder: &Path, monitor: &Arc<Monitor>) -> Result<RunResult, LabError> {
        self.run_by(folder, monitor, |job, device| job.carry_out(device, folder))
    }

    /// The same, and keeps what the program's host did if its data fit into `room`. Of a launch file, whose host may write files,
    /// and of a trace, which has no host, nothing is kept.
    pub fn run_keeping(
        self,
        folder: &Path,
        monitor: &Arc<Monitor>,
        room: Bytes,
    ) -> Result<(RunResult, Option<HostWork>), LabError> {
        let mut work = None;
        let result = self.run_by(folder, monitor, |job, device| {
            if !matches!(job.program, Program::LaunchFile(_)) {
                device.keep_script(room);
            }
            let judged = job.carry_out(device, folder)?;
            let script = device.take_script().filter(|_| judged.error.is_none());
            work = script.map(|script| HostWork { script, judged: judged.clone() });
            Ok(judged)
        })?;
        Ok((result, work))
    }

    /// The same with what the program's host did in an earlier run of the same program on the same input. `None` if the device did
    /// not answer as it did then: only a run of the program itself can tell what comes of that, in another folder.
    pub fn run_again(
        self,
        folder: &Path,
        monitor: &Arc<Monitor>,
        work: &HostWork,
    ) -> Result<Option<RunResult>, LabError> {
        let mut is_same = false;
        let result = self.run_by(folder, monitor, |_, device| {
            // What failed will fail again, and then be told with its cause.
            is_same = work.script.perform(device).unwrap_or(false);
            Ok(work.judged.clone())
        })?;
        Ok(is_same.then_some(result))
    }

    /// Runs it; `drive` is the host.
    fn run_by(
        self,
        folder: &Path,
        monitor: &Arc<Monitor>,
        drive: impl FnOnce(&Job, &mut Device) -> Result<Judged, LabError>,
    ) -> Result<RunResult, LabError> {
        let Self { request, about, chosen, gpu, job, .. } = self;
        let options = options(request, monitor);
        let Some(gpu) = gpu else {
            let engine = engine::functional(options).map_err(LabError::Device)?;
            return run_and(job, about, monitor, engine, folder, drive, |_| Ok(Vec::new()));
        };
        let capacity = Capacity::default();
        let setup = Setup::prepare(&chosen, &mut RunPreparation::new(request, &gpu.config, capacity, monitor))?;
        if request.check_data {
            setup.refuse_unchecked()?;
        }
        if let What::Trace(path) = &request.what {
            return trace::replay(request, about, path, gpu.config, setup, monitor, folder);
        }
        let setup = setup.shared();
        let engine = engine::timed_with(options, gpu.config, setup.clone())?;
        run_and(job, about, monitor, engine, folder, drive, |folder| setup.borrow().save(folder))
    }
}

/// A device for a program that the caller drives: on the machine of a request, whose program does not matter but for what mechanisms
/// want to know of it; or without time.
pub fn device(request: &RunRequest, monitor: &Arc<Monitor>) -> Result<Device, LabError> {
    let (chosen, gpu) = machine(request)?;
    let options = options(request, monitor);
    let engine = match gpu {
        None => engine::functional(options).map_err(LabError::Device)?,
        Some(gpu) => {
            let mut preparation = RunPreparation::new(request, &gpu.config, options.capacity, monitor);
            let setup = Setup::prepare(&chosen, &mut preparation)?;
            if request.check_data {
                setup.refuse_unchecked()?;
            }
            engine::timed_with(options, gpu.config, setup.shared())?
        }
    };
    Ok(Device::new(Box::new(Monitored { engine, monitor: Arc::clone(monitor) })))
}

/// What the result of a request is of.
pub fn describe(request: &RunRequest) -> Result<Description, LabError> {
    Ok(Found::new(request)?.about)
}

/// The machine of a request, if it has one, and the settings of its mechanisms; what does not go together is refused.
pub fn machine(request: &RunRequest) -> Result<(Chosen, Option<Gpu>), LabError> {
    let (settings, set) = request.with.settings(&request.set)?;
    let gpu = match &request.gpu {
        Some(name) => Some(gpus::gpu_with(name, &set, &request.with)?),
        None if !request.with.is_plain() => {
            return Err(LabError::Request("`--with` changes a machine: name one with `--gpu`".into()));
        }
        None if request.set.is_empty() => None,
        None => return Err(LabError::Request("`--set` changes a machine: name one with `--gpu`".into())),
    };
    let asked =
        [(request.check_data, "--check-data"), (request.explain, "--explain"), (request.like_ncu, "--like-ncu")];
    for (asked, option) in asked {
        if asked && gpu.is_none() {
            return Err(LabError::Request(format!("`{option}` is about a machine: name one with `--gpu`")));
        }
    }
    if gpu.is_some() && request.threads > 1 {
        return Err(LabError::Request("a timed run uses one host thread: leave `--threads` out".into()));
    }
    Ok((settings, gpu))
}

/// How the engine of a request runs.
pub fn options(request: &RunRequest, monitor: &Arc<Monitor>) -> EngineOptions {
    EngineOptions {
        threads: request.threads,
        check: request.check,
        check_races: request.check_races,
        lenient: request.lenient,
        check_data: request.check_data,
        explain: request.explain,
        like_ncu: request.like_ncu,
        max_instructions: request.max_instructions,
        monitor: Arc::clone(monitor),
        registers: known_registers(&request.what),
        capacity: Capacity::default(),
        managed_in: None,
    }
}

/// Registers per thread of a workload's kernels, as the assembler gave them.
fn known_registers(what: &What) -> BTreeMap<String, u32> {
    let What::Workload(name) = what else { return BTreeMap::new() };
    let modules = strata_workloads::find(name).map(Workload::modules).unwrap_or_default();
    engine::assembled_registers(modules)
}

/// Runs a request on an engine of the caller's choice, saves its result and returns it.
pub fn run_on(request: &RunRequest, monitor: &Arc<Monitor>, engine: Box<dyn Engine>) -> Result<RunResult, LabError> {
    let Found { resolved, about, job, .. } = Found::new(request)?;
    let (directory, asked) = (about.directory(request), resolved.to_json(request));
    saving(&directory, &asked, |folder| {
        let drive = |job: &Job, device: &mut Device| job.carry_out(device, folder);
        run_and(job, about, monitor, engine, folder, drive, |_| Ok(Vec::new()))
    })
}

/// Runs a program in a folder, with `drive` as its host; when it has ended, `afterthoughts` saves what mechanisms saw there and gives
/// warnings.
fn run_and(
    job: Option<Job>,
    about: Description,
    monitor: &Arc<Monitor>,
    engine: Box<dyn Engine>,
    folder: &Path,
    drive: impl FnOnce(&Job, &mut Device) -> Result<Judged, LabError>,
    afterthoughts: impl Fn(&Path) -> Result<Vec<String>, LabError>,
) -> Result<RunResult, LabError> {
    let started = Instant::now();
    let Some(job) = job else {
        return Err(LabError::Request("a trace is not executed but replayed on a machine".into()));
    };
    let (engine, in_launches) = Stopwatch::new(engine);
    let mut device = Device::new(Box::new(Monitored { engine: Box::new(engine), monitor: Arc::clone(monitor) }));
    if let Program::LaunchFile(loaded) = &job.program {
        device.announce(loaded.program.launches.iter().map(|launch| u64::from(launch.repeat)).sum());
    }
    let (judged, took) = stopwatch::timed(|| drive(&job, &mut device));
    let judged = judged?;
    for warning in afterthoughts(folder)? {
        monitor.warn(warning);
    }
    let mut result = RunResult {
        about,
        passed: judged.passed,
        checked: judged.checked,
        error: judged.error,
        warnings: monitor.warnings(),
        kernels: device.launches().iter().map(|(launch, report)| KernelRun::new(launch, report)).collect(),
        copies: device.copies(),
        allocated: Some(device.most_allocated()),
        findings: judged.findings,
        host: HostTimes {
            seconds: monitor.launch_seconds(),
            total_seconds: 0.0,
            host_cpu_seconds: took.cpu.saturating_sub(in_launches.get().cpu).as_secs_f64(),
            launch_cpu_seconds: in_launches.get().cpu.as_secs_f64(),
            directory: folder.to_owned(),
        },
    };
    result.host.total_seconds = started.elapsed().as_secs_f64();
    Ok(result)
}

/// Carries a request out on an engine of the caller's choice, and saves nothing. A program that fails is an error here.
pub fn execute(request: &RunRequest, monitor: &Arc<Monitor>, engine: Box<dyn Engine>) -> Result<Device, LabError> {
    let job = Job::resolve(request)?;
    let place = request.out.as_deref().unwrap_or(Path::new(DEFAULT_OUT)).join(&job.resolved.name);
    // What a launch file writes is of no use; dropped, the folder goes.
    let folder = match &job.program {
        Program::LaunchFile(_) => Some(AtomicFolder::create(&place).map_err(|e| LabError::io("write", &place, e))?),
        Program::Workload(..) | Program::OnGraph(..) => None,
    };
    let mut device = Device::new(Box::new(Monitored { engine, monitor: Arc::clone(monitor) }));
    let judged = job.carry_out(&mut device, folder.as_ref().map_or(&place, AtomicFolder::path))?;
    match judged.error {
        Some(error) => Err(LabError::Device(HostError::Program(error))),
        None => Ok(device),
    }
}

/// Saves a result: the statistics of each kernel as Parquet, everything as JSON; both or neither.
pub fn save_result(directory: &Path, result: &RunResult) -> Result<(), LabError> {
    let path = directory.join("stats.parquet");
    stats_file::write(&path, result).map_err(|e| LabError::io("write", &path, e))?;
    save_json(directory, RESULT, &result.to_json()).inspect_err(|_| drop(std::fs::remove_file(&path)))
}

/// The result of a request as it was saved by an earlier run, if there is a whole one.
pub fn saved(request: &RunRequest) -> Result<Option<Value>, LabError> {
    let path = describe(request)?.directory(request).join(RESULT);
    Ok(std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()))
}

/// Saves a JSON file of a result, whole or not at all.
pub fn save_json(directory: &Path, name: &str, value: &Value) -> Result<(), LabError> {
    let path = directory.join(name);
    files::write_text(&path, &RunResult::json_text(value)).map_err(|e| LabError::io("write", &path, e))
}

/// A request with its defaults filled in.
pub fn resolved(request: &RunRequest) -> Result<Resolved, LabError> {
    Ok(Job::resolve(request)?.resolved)
}

/// What a trace says of the run it was made from.
pub(crate) fn origin(request: &RunRequest) -> Result<Origin, LabError> {
    let Resolved { name, size, seed, .. } = resolved(request)?;
    Ok(Origin { program: name, size: size.map(str::to_owned), seed })
}

/// A request whose program was found.
struct Job {
    resolved: Resolved,
    program: Program,
}

enum Program {
    Workload(&'static dyn Workload, Extent),
    OnGraph(&'static dyn Workload, Box<Graph>),
    LaunchFile(Box<Loaded>),
}

/// How much of a workload is run.
#[derive(Clone, Copy)]
enum Extent {
    Size(Size),
    Instance(Instance),
}

impl Extent {
    fn name(self) -> &'static str {
        match self {
            Self::Size(size) => size.name(),
            Self::Instance(instance) => instance.label,
        }
    }
}

/// What the host of a program did in a run, and how it judged what came of it: for other runs of the program on the same input, which
/// then make neither the input nor the reference.
pub struct HostWork {
    script: Script,
    judged: Judged,
}

#[derive(Clone, Default)]
struct Judged {
    passed: Option<bool>,
    checked: Option<String>,
    error: Option<String>,
    findings: Vec<launch_file::Finding>,
}

impl Judged {
    /// The verdict on a workload that has run.
    fn of(run: Result<Outcome, HostError>) -> Result<Self, LabError> {
        match run {
            Ok(outcome) => Ok(Self { passed: Some(outcome.passed), checked: Some(outcome.checked), ..Self::default() }),
            Err(HostError::Module(text)) => Err(LabError::Module(text)),
            Err(error) => Ok(Self { passed: Some(false), error: Some(error.to_string()), ..Self::default() }),
        }
    }
}

impl Job {
    fn resolve(request: &RunRequest) -> Result<Self, LabError> {
        match &request.what {
            What::Workload(name) => {
                let workload = strata_workloads::find(name).map_err(|e| unknown_workload(&e))?;
                if let Some(path) = &request.input {
                    let (graph, input) = graph_input::read(workload, path, request)?;
                    let resolved = Resolved {
                        name: workload.info().name.to_owned(),
                        size: None,
                        seed: Resolved::seed(request, None),
                        inputs: vec![input],
                    };
                    return Ok(Self { resolved, program: Program::OnGraph(workload, Box::new(graph)) });
                }
                let extent = extent_of(workload, request.size.as_deref())?;
                let resolved = Resolved {
                    name: workload.info().name.to_owned(),
                    size: Some(extent.name()),
                    seed: Resolved::seed(request, None),
                    inputs: Vec::new(),
                };
                Ok(Self { resolved, program: Program::Workload(workload, extent) })
            }
            What::LaunchFile(path) => {
                for (given, reason) in [
                    (request.size.is_some(), "a launch file gives the sizes of its own buffers; leave `--size` out"),
                    (request.input.is_some(), "a launch file names its own data; leave `--input` out"),
                ] {
                    if given {
                        return Err(LabError::Request(reason.into()));
                    }
                }
                let loaded = Loaded::read(path)?;
                let resolved = Resolved {
                    name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                    size: None,
                    seed: Resolved::seed(request, Some(loaded.program.seed)),
                    inputs: loaded.inputs.clone(),
                };
                Ok(Self { resolved, program: Program::LaunchFile(Box::new(loaded)) })
            }
            What::Program(_) => {
                Err(LabError::Request("a CUDA program is a process of its own: only `strata run` starts it".into()))
            }
            What::Trace(path) => Err(LabError::Request(format!(
                "a trace is not executed but replayed on a machine: `strata run {} --gpu NAME`",
                path.display()
            ))),
        }
    }

    fn carry_out(&self, device: &mut Device, directory: &Path) -> Result<Judged, LabError> {
        match &self.program {
            Program::Workload(workload, extent) => {
                let seed = self.resolved.seed;
                Judged::of(match extent {
                    Extent::Size(size) => workload.run(*size, seed, device),
                    Extent::Instance(instance) => workload.run_instance(instance.label, seed, device),
                })
            }
            Program::OnGraph(workload, graph) => Judged::of(workload.run_graph(graph, self.resolved.seed, device)),
            Program::LaunchFile(loaded) => {
                let outcome = launch_file::execute(loaded, device, self.resolved.seed, directory)?;
                Ok(Judged { passed: outcome.passed, checked: None, error: outcome.failure, findings: outcome.findings })
            }
        }
    }
}

fn unknown_workload(unknown: &UnknownWorkload) -> LabError {
    let hint = match unknown.nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`strata workloads` lists them; a launch file ends in `.toml`".to_owned(),
    };
    LabError::Request(format!("there is no workload `{}`; {hint}", unknown.name))
}

fn extent_of(workload: &dyn Workload, asked: Option<&str>) -> Result<Extent, LabError> {
    let info = workload.info();
    let asked = asked.unwrap_or("small");
    let instances = workload.instances();
    if let Some(instance) = instances.iter().find(|instance| instance.label.eq_ignore_ascii_case(asked)) {
        return Ok(Extent::Instance(*instance));
    }
    let sizes = info.sizes.iter().map(|s| s.name());
    let names: Vec<_> = sizes.chain(instances.iter().map(|instance| instance.label)).collect();
    let missing = |name: &str| {
        let near = nearest(name, names.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
        let near = near.unwrap_or_default();
        LabError::Request(format!("`{}` has no size `{name}`; it has {}{near}", info.name, names.join(", ")))
    };
    let size: Size = match asked.parse() {
        Ok(size) => size,
        Err(_) => return Err(missing(asked)),
    };
    if info.size_for(size).is_none() {
        return Err(missing(size.name()));
    }
    Ok(Extent::Size(size))
}
