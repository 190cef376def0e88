//! Unmodified CUDA programs: `strata run -- program arguments`.
//!
//! The program runs as a process of its own, with StrataSim's `libcudart.so` (crate `strata-cudart`) first on its library
//! path. The library talks to this process over a Unix socket; here are the device, the engine and the results, so that
//! nothing is lost when the program dies.
//!
//! The road of a call: `session` answers it (copies: `transfers`), with the fat binaries that `modules` has from `fatbin` (and
//! `link`);
//! what launches did goes into the `record`, which is saved while the program runs and when it has ended. Managed and pinned
//! memory is a file that both processes map at the same addresses.
//!
//! Invariants: the program's standard streams and exit status are its own; everything that can go wrong here is told to
//! the program as an error of CUDA's, never by a crash; a saved result is whole or not there.

mod allocations;
pub mod build;
mod code;
pub mod fatbin;
mod gpu;
mod library;
mod link;
mod modules;
mod record;
mod selection;
mod session;
mod transfers;

pub use record::Printed;
use record::{Known, Record};
use rustix::process::{Pid, Signal};
pub use selection::Selection;
use session::Parts;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use strata_core::file_error::why;
use strata_core::fnv::Fnv1a64;
use strata_core::{Addr, Bytes};
use strata_cudart::protocol::SOCKET_VARIABLE;
use strata_emu::Capacity;
use strata_host::Device;
use strata_mechanism::{Chosen, Role};
use strata_run::engine::{self, EngineOptions};
use strata_run::preparation::RunPreparation;
use strata_run::run::{machine, options, save_json, save_result};
use strata_run::setup::Setup;
use strata_run::{Description, HostTimes, LabError, Monitor, Monitored, Resolved, RunRequest, RunResult, What, gpus};
use strata_sim::config::{Gpu, GpuConfig};

/// First address of device memory: far from where Linux puts programs, libraries, heaps and stacks, so that managed memory
/// has the same addresses in the program.
const BASE: Addr = Addr(0x2000_0000_0000);

/// What stays free behind every allocation: an index that is too large by a page's worth of bytes is found out.
const GUARD: Bytes = Bytes(4096);

/// How often the run looks whether there is something to save or to stop.
const TICK: Duration = Duration::from_millis(100);
/// How often a result is saved while the program runs.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// Saves take up to a twentieth of the time.
const SAVE_SHARE: u32 = 20;
/// How long a process may take to say goodbye after the program has ended.
const GOODBYE: Duration = Duration::from_secs(2);

/// The outcome of a CUDA program.
pub struct ProgramRun {
    /// The result of all its launches and copies.
    pub result: RunResult,
    /// Exit status of the process.
    pub status: ExitStatus,
}

/// Runs a program of the request's (see [`What::Program`]) to its end. `printed` is where `monitor` puts what device code
/// prints; once `stop` is true the program is asked to end.
pub fn run(
    request: &RunRequest,
    monitor: &Arc<Monitor>,
    printed: Arc<Printed>,
    stop: &AtomicBool,
) -> Result<ProgramRun, LabError> {
    let What::Program(command) = &request.what else {
        return Err(LabError::Request("only programs are run as CUDA programs".into()));
    };
    let began = Instant::now();
    let (chosen, gpu) = machine(request)?;
    let resolved = resolve(request, command)?;
    let about = Description::of(request, &resolved, &chosen, gpu.as_ref())?;
    let machine = Machine::new(request, chosen, gpu, monitor)?;
    let directory = about.directory(request);
    save_json(&directory, "request.json", &resolved.to_json(request))?;
    for old in ["result.json", "stats.parquet", PARTIAL] {
        // What an earlier run left must not be taken for the result of one that is killed.
        let _ = fs::remove_file(directory.join(old));
    }
    let libraries = library::folder()?;
    let record = Arc::new(Record::new(printed));
    let socket = Socket::new()?;
    let factory = Factory {
        machine,
        request: request.clone(),
        monitor: Arc::clone(monitor),
        name: resolved.name.clone(),
        directory: directory.clone(),
    };
    accept(&socket, Arc::clone(&record), factory)?;
    let child = start(command, &libraries, &socket.path)?;
    let result_of = |known: Known| RunResult {
        about: about.clone(),
        passed: None,
        checked: None,
        error: known.error,
        warnings: monitor.warnings().into_iter().chain(known.warnings).collect(),
        kernels: known.kernels,
        copies: known.copies,
        allocated: Some(known.allocated),
        findings: Vec::new(),
        host: HostTimes {
            seconds: monitor.launch_seconds(),
            total_seconds: began.elapsed().as_secs_f64(),
            directory: directory.clone(),
            ..HostTimes::default()
        },
    };
    let status = wait(child, &record, stop, |known| save_json(&directory, PARTIAL, &result_of(known).to_json()))?;
    let known = record.known();
    if known.processes.is_empty() && !known.loaded {
        let program = find(command.first().map_or(OsStr::new(""), OsString::as_os_str))?;
        let advice = if fs::read(program).is_ok_and(|bytes| library::is_named_in(&bytes)) {
            format!("the program loads the CUDA runtime, but ended before its first CUDA call ({status})")
        } else {
            "the program never asked for a GPU; a CUDA program must load the CUDA runtime as a shared library: \
             link it with `nvcc -cudart shared`"
                .into()
        };
        monitor.warn(advice);
    }
    let result = result_of(known);
    save_result(&directory, &result)?;
    // The whole result is there.
    let _ = fs::remove_file(directory.join(PARTIAL));
    Ok(ProgramRun { result, status })
}

/// The result so far, while the program runs.
const PARTIAL: &str = "result.partial.json";

/// The machine that the program's launches run on.
struct Machine {
    chosen: Chosen,
    /// The GPU that is timed, or only described.
    gpu: GpuConfig,
    timed: bool,
    selection: Selection,
}

impl Machine {
    fn new(request: &RunRequest, chosen: Chosen, gpu: Option<Gpu>, monitor: &Arc<Monitor>) -> Result<Self, LabError> {
        let selection = Selection::of(request)?;
        let timed = gpu.is_some();
        let gpu = match gpu {
            Some(gpu) => gpu,
            None => gpus::gpu(gpu::DEFAULT, &[""; 0])?,
        };
        let machine = Self { chosen, gpu: gpu.config, timed, selection };
        if timed {
            // What is wrong is said before the program begins; each of its processes gets mechanisms of its own later.
            machine.setup(request, machine.capacity(), monitor)?;
        }
        Ok(machine)
    }

    fn capacity(&self) -> Capacity {
        Capacity {
            base: BASE,
            // Managed memory begins at a multiple of its alignment; there is room for many guards.
            device: Bytes(self.gpu.dram.size.0.next_multiple_of(strata_emu::MANAGED_ALIGN) + (4 << 30)),
            guard: GUARD,
            ..Capacity::default()
        }
    }

    fn setup(&self, request: &RunRequest, capacity: Capacity, monitor: &Arc<Monitor>) -> Result<Setup, LabError> {
        let mut preparation = RunPreparation::new(request, &self.gpu, capacity, monitor);
        let setup = Setup::prepare(&self.chosen, &mut preparation)?;
        if request.check_data {
            setup.refuse_unchecked()?;
        }
        Ok(setup)
    }
}

/// Makes a device for each process.
struct Factory {
    machine: Machine,
    request: RunRequest,
    monitor: Arc<Monitor>,
    name: String,
    directory: PathBuf,
}

impl Factory {
    fn parts(&self) -> Result<Parts, String> {
        let machine = &self.machine;
        let memory = managed_file().map_err(|e| format!("cannot make a file for managed memory: {e}"))?;
        let memory = Arc::new(memory);
        let capacity = machine.capacity();
        let how =
            EngineOptions { capacity, managed_in: Some(Arc::clone(&memory)), ..options(&self.request, &self.monitor) };
        let mut setup = None;
        let engine = if machine.timed {
            let made = machine.setup(&self.request, capacity, &self.monitor).map_err(|e| e.to_string())?;
            let shared = setup.insert(made.shared());
            engine::timed_with(how, machine.gpu.clone(), shared.clone())
        } else {
            engine::functional(how).map_err(LabError::from)
        };
        let engine = engine.map_err(|e| e.to_string())?;
        Ok(Parts {
            device: Device::new(Box::new(Monitored { engine, monitor: Arc::clone(&self.monitor) })),
            capacity,
            memory,
            gpu: machine.gpu.clone(),
            timed: machine.timed,
            watched: !machine.chosen.is_empty(),
            paged: self.request.with.list().iter().any(|mechanism| mechanism.roles().contains(&Role::Pages)),
            program: self.name.clone(),
            selection: machine.selection.clone(),
            setup,
            directory: self.directory.clone(),
        })
    }
}

#[cfg(target_os = "linux")]
fn managed_file() -> std::io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create("strata-managed", rustix::fs::MemfdFlags::CLOEXEC)?))
}

/// The program's name in results, and what tells it from others: its file and its arguments.
fn resolve(request: &RunRequest, command: &[OsString]) -> Result<Resolved, LabError> {
    let path = find(command.first().map_or(OsStr::new(""), OsString::as_os_str))?;
    let bytes = fs::read(&path).map_err(|error| {
        LabError::Request(format!(
            "cannot read `{}`: {}; behind `--` stands a program built with `nvcc -cudart shared`, and its arguments",
            path.display(),
            why("read", &path, &error)
        ))
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let inputs = vec![(name.clone(), Fnv1a64::of(&bytes))];
    Ok(Resolved { name, size: None, seed: Resolved::seed(request, None), inputs })
}

/// Where a program is, as a shell would find it.
fn find(program: &OsStr) -> Result<PathBuf, LabError> {
    let direct = Path::new(program);
    if direct.components().count() != 1 || program.to_string_lossy().contains('/') {
        return Ok(direct.to_owned());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file());
    found.ok_or_else(|| {
        let name = direct.display();
        let hint =
            if direct.is_file() { format!("; for the file in this folder say `./{name}`") } else { String::new() };
        LabError::Request(format!("there is no program `{name}` on the path{hint}"))
    })
}

/// The socket of a run, in a folder that only this user can enter; both go when the run ends.
struct Socket {
    folder: PathBuf,
    path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    fn new() -> Result<Self, LabError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("strata-{}-{number}", std::process::id()));
        // A process of the same number may have been killed.
        let _ = fs::remove_dir_all(&folder);
        DirBuilder::new().mode(0o700).create(&folder).map_err(|e| LabError::io("write", &folder, e))?;
        let path = folder.join("cuda");
        let listener = UnixListener::bind(&path).map_err(|e| LabError::io("write", &path, e))?;
        Ok(Self { folder, path, listener })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Serves every process that connects, each on a thread of its own, until this process ends.
fn accept(socket: &Socket, record: Arc<Record>, factory: Factory) -> Result<(), LabError> {
    let listener = socket.listener.try_clone().map_err(|e| LabError::io("write", &socket.path, e))?;
    let factory = Arc::new(factory);
    let serve = move |stream: UnixStream| {
        let (record, factory) = (Arc::clone(&record), Arc::clone(&factory));
        thread::spawn(move || {
            // A process that breaks off in the middle of a message has died; its launches are recorded.
            let _ = session::serve(stream, record, || factory.parts());
        });
    };
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(serve));
    Ok(())
}

/// Starts the program with our library before all others.
fn start(command: &[OsString], libraries: &Path, socket: &Path) -> Result<Child, LabError> {
    const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
    let Some((program, arguments)) = command.split_first() else {
        return Err(LabError::Request("name a program after `--`".into()));
    };
    let before = std::env::var_os(LIBRARY_PATH).filter(|path| !path.is_empty());
    let paths = std::iter::once(libraries.to_owned()).chain(before.iter().flat_map(std::env::split_paths));
    let paths = std::env::join_paths(paths).map_err(|e| LabError::Request(format!("the library path: {e}")))?;
    let child = Command::new(program).args(arguments).env(LIBRARY_PATH, paths).env(SOCKET_VARIABLE, socket).spawn();
    child.map_err(|e| LabError::Request(format!("cannot start `{}`: {e}", Path::new(program).display())))
}

/// Waits for the program, and for its processes to be served; saves what is known now and then.
fn wait(
    mut child: Child,
    record: &Record,
    stop: &AtomicBool,
    save: impl Fn(Known) -> Result<(), LabError>,
) -> Result<ExitStatus, LabError> {
    let process = Pid::from_child(&child);
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(child.wait()));
    let (mut saved, mut next, mut asked) = (0, Instant::now() + SAVE_INTERVAL, false);
    let status = loop {
        match told.recv_timeout(TICK) {
            Ok(status) => break status,
            Err(RecvTimeoutError::Disconnected) => break Err(std::io::Error::other("nobody waits for the program")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stop.load(Ordering::Relaxed) && !asked {
            asked = true;
            // It may have ended by itself meanwhile.
            let _ = rustix::process::kill_process(process, Signal::TERM);
        }
        let launches = record.launches();
        if launches > saved && Instant::now() >= next {
            let began = Instant::now();
            save(record.known())?;
            saved = launches;
            next = Instant::now() + SAVE_INTERVAL.max(began.elapsed() * SAVE_SHARE);
        }
    };
    let ended = Instant::now();
    // What the program has started may live on. A process that was killed in a launch is not waited for: nobody wants the
    // rest of that launch.
    while !record.is_quiet() && (ended.elapsed() < GOODBYE || record.is_any_alive()) {
        thread::sleep(Duration::from_millis(1));
    }
    status.map_err(|e| LabError::Request(format!("cannot wait for the program: {e}")))
}
