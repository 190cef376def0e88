//! The engines that can stand behind a device.

use crate::error::LabError;
use crate::monitor::Monitor;
use crate::setup::{Setup, SharedSetup};
use crate::told_source::ToldSource;
use crate::trace::Recording;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;
use strata_core::{Addr, Bytes, Counts, GridSource, Image, LANES, Stats, Texture};
use strata_emu::{
    Capacity, DEVICE_ALIGN, Execution, LaunchConfig, LaunchError, Memory, MemoryError, Output, Program, Progress, Work,
};
use strata_host::{
    AllocFlags, Allocation, AllocationId, CopyReport, Engine, HostError, HostEvent, KernelResources, KernelShape,
    Launch, LaunchReport, ModuleId, ParamShape, Submitted, SymbolAddress,
};
use strata_mechanism::Spectator;
use strata_sim::config::GpuConfig;
use strata_sim::{KernelNeeds, Machine, MachineBuilder, MachineError};
use strata_workloads::Module;

/// Where the machine's statistics stand in the tree.
pub const MACHINE: &str = "gpu";

/// The most registers per thread with which a CTA of so many threads still fits on an SM. Estimates are cut to that: an
/// assembler spills rather than make a kernel that cannot be launched.
pub fn most_registers(gpu: &GpuConfig, threads: u32) -> u32 {
    let per_warp = gpu.sm.registers / threads.div_ceil(LANES as u32).max(1);
    (per_warp - per_warp % gpu.sm.register_granularity.max(1)) / LANES as u32
}

/// Where the explanation of waiting stands in the tree.
pub const EXPLAIN: &str = "explain";

/// Options of an engine, the same for all its launches.
#[derive(Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct EngineOptions {
    /// Host threads that execute CTAs of one launch; 1 or more.
    pub threads: usize,
    /// Look for reads of uninitialised shared and local memory.
    pub check: bool,
    /// Look for conflicting accesses of different warps that nothing orders.
    pub check_races: bool,
    /// Reads outside every allocation get what lies there, and are counted.
    pub lenient: bool,
    /// Timed runs: check that every load would get the right data.
    pub check_data: bool,
    /// Timed runs: empty all caches before each launch, as profilers do.
    pub like_ncu: bool,
    /// Timed runs: count what requests wait for, and which allocations they are about.
    pub explain: bool,
    /// Stop a launch that executes more than so many warp instructions.
    pub max_instructions: Option<u64>,
    /// To be told how far a launch is now and then ([`Monitor::set_running`]), what the program prints
    /// ([`Monitor::print`]) and what looks suspicious ([`Monitor::warn`]).
    pub monitor: Arc<Monitor>,
    /// Registers per thread that the assembler gave each kernel; for others they are estimated.
    pub registers: BTreeMap<String, u32>,
    /// How much memory the device has, and where.
    pub capacity: Capacity,
    /// A file for managed memory, which the process of a CUDA program maps, too.
    pub managed_in: Option<Arc<File>>,
}

impl EngineOptions {
    /// One host thread, no checks, no limits, nobody watching; the kernels of `modules` have the registers that the
    /// assembler gave them.
    pub fn plain(modules: &[Module]) -> Self {
        Self {
            threads: 1,
            check: false,
            check_races: false,
            lenient: false,
            check_data: false,
            explain: false,
            like_ncu: false,
            max_instructions: None,
            monitor: Arc::default(),
            registers: assembled_registers(modules),
            capacity: Capacity::default(),
            managed_in: None,
        }
    }
}

/// Registers per thread of the kernels of built-in programs, as the assembler gave them.
pub fn assembled_registers(modules: &[Module]) -> BTreeMap<String, u32> {
    modules.iter().flat_map(Module::resources).map(|(kernel, resources)| (kernel, resources.registers)).collect()
}

/// The emulator alone: real values, no time.
pub fn functional(options: EngineOptions) -> Result<Box<dyn Engine>, HostError> {
    Ok(Box::new(Emulated::new(options, Mode::Functional)?))
}

/// The emulator on a machine with time.
pub fn timed(options: EngineOptions, gpu: GpuConfig) -> Result<Box<dyn Engine>, HostError> {
    let setup = Setup::plain(&gpu).shared();
    timed_with(options, gpu, setup).map_err(|e| HostError::Call { call: "device", reason: e.to_string() })
}

/// The same with mechanisms in the machine.
pub fn timed_with(options: EngineOptions, gpu: GpuConfig, setup: SharedSetup) -> Result<Box<dyn Engine>, LabError> {
    let machine = machine(&options, gpu, &mut setup.borrow_mut())?;
    Ok(Box::new(Emulated::new(options, Mode::Timed(Box::new(Timed { machine, setup })))?))
}

/// A machine at rest with mechanisms in it, watched as the options say.
pub(crate) fn machine(options: &EngineOptions, mut gpu: GpuConfig, setup: &mut Setup) -> Result<Machine, LabError> {
    setup.adapt(&mut gpu);
    let mut builder = MachineBuilder::new(gpu);
    if options.check_data {
        builder.check_data();
    }
    setup.explains(options.explain.then(|| builder.explain()));
    if options.like_ncu {
        builder.profile();
    }
    setup.install(&mut builder);
    builder.build().map_err(|error| LabError::Request(error.to_string()))
}

/// The emulator alone, every launch recorded.
pub(crate) fn recording(options: EngineOptions, recording: Recording) -> Result<Box<dyn Engine>, HostError> {
    Ok(Box::new(Emulated::new(options, Mode::Recording(recording))?))
}

/// The emulator alone; a spectator takes the place of the machine.
pub(crate) fn watched(options: EngineOptions, spectator: SharedSpectator) -> Result<Box<dyn Engine>, HostError> {
    Ok(Box::new(Emulated::new(options, Mode::Watched(spectator))?))
}

/// Runs a launch on a machine. `counts` asks the source what it executed; `executed`, how many thread instructions that is
/// when so much of the launch (0 to 1) is done.
pub(crate) fn run_timed<S: GridSource>(
    machine: &mut Machine,
    source: &mut S,
    needs: &KernelNeeds,
    monitor: &Monitor,
    counts: impl FnOnce(&S) -> Counts,
    executed: impl Fn(&S, f64) -> u64,
) -> Result<LaunchReport, MachineError> {
    machine.flush_for_profiler(&mut |line, data| source.read_line(line, data));
    let (before, checked) = (machine.reading(), machine.checked());
    let time = machine.run_kernel(&mut ToldSource::new(source, monitor, executed), needs)?;
    let counted = machine.reading().delta(&before);
    let mut stats = Stats::default();
    counted.export(MACHINE, machine.config(), time.cycles, &mut stats);
    machine.export_checked(checked, MACHINE, &mut stats);
    // A trace knows the lines of its PTX, and not the file.
    let unnamed = |pc: u32| format!("PTX line {}", source.instructions().get(pc as usize).map_or(0, |info| info.line));
    machine.export_explanation(EXPLAIN, |pc| source.place(pc).unwrap_or_else(|| unnamed(pc)), &mut stats);
    let members = counted.members(MACHINE);
    let (cycles, launch_cycles) = (Some(time.cycles), Some(time.launch_cycles));
    Ok(LaunchReport { counts: counts(source), cycles, launch_cycles, stats, members, submitted: Vec::new() })
}

/// What the copies of a machine did so far.
pub(crate) fn copies_of(machine: &Machine) -> CopyReport {
    let mut stats = Stats::default();
    machine.export_copies(MACHINE, &mut stats);
    CopyReport { cycles: Some(machine.copies().cycles), stats }
}

/// A spectator that outlives its engine.
type SharedSpectator = Rc<RefCell<dyn Spectator>>;

/// What happens to the operations of a launch.
enum Mode {
    /// They are executed, and nothing consumes them.
    Functional,
    /// A machine pulls them and times them.
    Timed(Box<Timed>),
    /// They are recorded to a trace.
    Recording(Recording),
    /// Somebody looks on who has to know something of the program before it is timed.
    Watched(SharedSpectator),
}

impl Mode {
    /// Granularity at which memory is given out, if a mechanism wants one.
    fn page(&self) -> Option<Bytes> {
        match self {
            Self::Timed(timed) => timed.setup.borrow().page(),
            Self::Watched(spectator) => spectator.borrow().page(),
            Self::Functional | Self::Recording(_) => None,
        }
    }
}

/// A machine and what was put into it.
struct Timed {
    machine: Machine,
    setup: SharedSetup,
}

/// Programs run by the emulator.
struct Emulated {
    options: EngineOptions,
    mode: Mode,
    /// Launches only prepare what is to be measured: they are executed and nothing else.
    preparing: bool,
    /// Living memory of the device.
    allocations: BTreeMap<AllocationId, Allocation>,
    /// What follows allocations so that they end at a page.
    paddings: BTreeMap<AllocationId, Addr>,
    memory: Memory,
    programs: Vec<Program>,
    output: Output,
    /// Instructions that were warned of: module, kernel, line, text.
    warned: BTreeSet<(u32, String, u32, String)>,
    /// Kernels of which it was asked whether the order of their blocks matters: module, name.
    asked: BTreeSet<(u32, String)>,
    /// Reads outside every allocation that were forgiven, by module, kernel and line: the first of them, and how many.
    forgiven: BTreeMap<(u32, String, u32), (String, u64)>,
    launches: u64,
}

fn call(call: &'static str, error: &MemoryError) -> HostError {
    HostError::Call { call, reason: error.to_string() }
}

impl Emulated {
    fn new(options: EngineOptions, mode: Mode) -> Result<Self, HostError> {
        let memory = match &options.managed_in {
            None => Memory::new(options.capacity),
            Some(file) => Memory::with_managed_in(options.capacity, file),
        };
        let memory = memory.map_err(|e| call("device", &e))?;
        Ok(Self {
            options,
            mode,
            preparing: false,
            allocations: BTreeMap::new(),
            paddings: BTreeMap::new(),
            memory,
            programs: Vec::new(),
            output: Output::default(),
            warned: BTreeSet::new(),
            asked: BTreeSet::new(),
            forgiven: BTreeMap::new(),
            launches: 0,
        })
    }

    /// Shows a machine what memory holds after a preparation that it did not see.
    fn show_memory(&mut self) {
        let Mode::Timed(timed) = &mut self.mode else { return };
        for &Allocation { start, size, .. } in self.allocations.values() {
            let event = HostEvent::Memset { start, size };
            timed.machine.host_event(&event, |line, data| self.memory.read_line(line, data));
        }
    }

    fn program(&self, module: ModuleId) -> Result<&Program, HostError> {
        self.programs.get(module.0 as usize).ok_or_else(|| HostError::Module(format!("no module {}", module.0)))
    }
}

/// What a kernel of `module` submitted.
fn submitted(module: ModuleId, work: Work) -> Submitted {
    match work {
        Work::Launch { kernel, grid, block, shared, params } => {
            Submitted::Launch(Launch { module, kernel, grid, block, shared, params, cooperative: false })
        }
        Work::Copy { to, from, size } => Submitted::Copy { to, from, size },
        Work::Set { to, byte, size } => Submitted::Set { to, byte, size },
    }
}

impl Engine for Emulated {
    fn load_module(&mut self, name: &str, text: &str) -> Result<ModuleId, HostError> {
        let parsed = strata_ptx::parse(name, text);
        let Some(module) = parsed.module.clone() else {
            return Err(HostError::Module(parsed.render(text, false)));
        };
        let number = self.programs.len() as u32;
        let program = Program::load(name, text, module, &mut self.memory).map_err(|e| call("load module", &e))?;
        self.programs.push(program);
        Ok(ModuleId(number))
    }

    fn kernel(&self, module: ModuleId, name: &str) -> Result<KernelShape, HostError> {
        let program = self.program(module)?;
        let params = program.params(name).ok_or_else(|| {
            let known = program.kernels().collect::<Vec<_>>().join(", ");
            HostError::Module(format!("no kernel `{name}` in the module; it has {known}"))
        })?;
        let params = params.iter().map(|p| ParamShape { offset: p.offset, size: p.size }).collect();
        Ok(KernelShape { name: name.to_owned(), params })
    }

    fn resources(&mut self, module: ModuleId, name: &str) -> Result<KernelResources, HostError> {
        let known = self.options.registers.get(name).copied();
        let missing = || HostError::Module(format!("no kernel `{name}` in module {}", module.0));
        let program = self.programs.get_mut(module.0 as usize).ok_or_else(missing)?;
        let found = program.resources(name).ok_or_else(missing)?;
        Ok(KernelResources {
            registers: known.unwrap_or(found.registers),
            shared: found.shared,
            local: found.local,
            max_threads: found.max_threads,
        })
    }

    fn symbol(&self, module: ModuleId, name: &str) -> Result<SymbolAddress, HostError> {
        let found = self.program(module)?.symbol(name);
        let (start, size) = found.ok_or_else(|| HostError::Module(format!("no variable `{name}` in the module")))?;
        Ok(SymbolAddress { start, size })
    }

    fn alloc(&mut self, size: Bytes, flags: AllocFlags, name: &str) -> Result<Allocation, HostError> {
        let managed = match &self.mode {
            Mode::Timed(timed) => timed.setup.borrow().manages(flags),
            Mode::Functional | Mode::Recording(_) | Mode::Watched(_) => flags.managed,
        };
        let flags = AllocFlags { managed, ..flags };
        let record = self.memory.alloc(size, managed || flags.pinned, name).map_err(|e| call("alloc", &e))?;
        let (id, start) = (AllocationId(record.id), record.start);
        let allocation = Allocation { id, start, size: record.size, name: record.name, flags };
        if flags.pinned {
            // It is the host's.
            return Ok(allocation);
        }
        if let Mode::Timed(timed) = &mut self.mode
            && let Err(reason) = timed.setup.borrow_mut().allocate(&allocation)
        {
            self.memory.free(start).map_err(|e| call("free", &e))?;
            return Err(HostError::Call { call: "alloc", reason });
        }
        self.allocations.insert(id, allocation.clone());
        if let Some(page) = self.mode.page().filter(|_| !managed) {
            // The next allocation begins a whole number of pages behind this one.
            let taken = size.0.max(1).next_multiple_of(DEVICE_ALIGN);
            let more = Bytes(taken.next_multiple_of(page.0) - taken);
            if more.0 > 0 {
                let padding = self.memory.alloc(more, false, "padding").map_err(|e| call("alloc", &e))?;
                self.paddings.insert(id, padding.start);
            }
        }
        Ok(allocation)
    }

    fn free(&mut self, start: Addr) -> Result<AllocationId, HostError> {
        let record = self.memory.free(start).map_err(|e| call("free", &e))?;
        let id = AllocationId(record.id);
        let known = self.allocations.remove(&id);
        if let Some(padding) = self.paddings.remove(&id) {
            self.memory.free(padding).map_err(|e| call("free", &e))?;
        }
        if let (Mode::Timed(timed), Some(allocation)) = (&self.mode, known) {
            timed.setup.borrow_mut().free(&allocation);
        }
        Ok(id)
    }

    fn write(&mut self, start: Addr, data: &[u8]) -> Result<(), HostError> {
        self.memory.write(start, data).map_err(|e| call("copy to device", &e))
    }

    fn read(&self, start: Addr, data: &mut [u8]) -> Result<(), HostError> {
        self.memory.read(start, data).map_err(|e| call("copy from device", &e))?;
        let Mode::Timed(timed) = &self.mode else { return Ok(()) };
        if self.preparing {
            return Ok(());
        }
        timed.machine.check_copy_out(start, Bytes(data.len() as u64)).map_err(|e| HostError::Program(e.to_string()))
    }

    fn fill(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), HostError> {
        self.memory.fill(start, size, byte).map_err(|e| call("memset", &e))
    }

    fn create_texture(&mut self, texture: &Texture) -> Result<u64, HostError> {
        self.memory.create_texture(texture).map_err(|e| call("create texture", &e))
    }

    fn create_surface(&mut self, image: &Image) -> Result<u64, HostError> {
        self.memory.create_surface(image).map_err(|e| call("create surface", &e))
    }

    fn destroy_object(&mut self, handle: u64) -> Result<(), HostError> {
        self.memory.destroy_object(handle).map_err(|e| call("destroy object", &e))
    }

    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
        self.launches += 1;
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            params: launch.params.clone(),
            cooperative: launch.cooperative,
            instruction_limit: self.options.max_instructions,
            threads: self.options.threads,
            check: self.options.check,
            races: self.options.check_races,
            lenient: self.options.lenient,
        };
        let monitor = &self.options.monitor;
        let Some(program) = self.programs.get_mut(launch.module.0 as usize) else {
            return Err(HostError::Module(format!("no module {}", launch.module.0)));
        };
        let (kernel, memory, output) = (&launch.kernel, &mut self.memory, &self.output);
        let assembled = self.options.registers.get(kernel).copied();
        let mut executed_only = Mode::Functional;
        let result = match if self.preparing { &mut executed_only } else { &mut self.mode } {
            Mode::Timed(timed) => program.drive(kernel, &config, memory, self.launches, output, |e| {
                let threads = launch.block.count() as u32;
                let most = most_registers(timed.machine.config(), threads);
                let registers = assembled.unwrap_or_else(|| e.registers().min(most));
                let needs = KernelNeeds { threads, registers, shared: e.shared_bytes() };
                let executed = |e: &Execution<'_>, _: f64| e.counts().thread_instructions();
                let report = run_timed(&mut timed.machine, e, &needs, monitor, Execution::counts, executed);
                let mut report = report.map_err(|error| {
                    let text = e.take_fault().map_or_else(|| error.to_string(), |fault| fault.to_string());
                    HostError::Program(text)
                })?;
                timed.setup.borrow().add_rates(MACHINE, &mut report.stats);
                Ok(report)
            }),
            Mode::Recording(recording) => program.drive(kernel, &config, memory, self.launches, output, |e| {
                let registers = assembled.unwrap_or_else(|| e.registers());
                recording.launch(launch, e, registers, monitor)
            }),
            Mode::Watched(spectator) => program.drive(kernel, &config, memory, self.launches, output, |e| {
                if !spectator.borrow_mut().launch(launch.module.0, kernel, e) {
                    let fault = e.take_fault();
                    let text = fault.map_or_else(|| format!("kernel `{kernel}` failed"), |fault| fault.to_string());
                    return Err(HostError::Program(text));
                }
                Ok(LaunchReport { counts: e.counts(), ..LaunchReport::default() })
            }),
            Mode::Functional => {
                let progress = |p: Progress| monitor.set_running(p.thread_instructions, p.ctas as f64 / p.of as f64);
                program
                    .launch(kernel, &config, memory, self.launches, output, &progress)
                    .map(|counts| Ok(LaunchReport { counts, ..LaunchReport::default() }))
            }
        };
        if !self.preparing
            && matches!(self.mode, Mode::Functional)
            && launch.grid.count() > 1
            && self.asked.insert((launch.module.0, kernel.clone()))
            && let Some(note) = program.order_dependence(kernel)
        {
            monitor.warn(note);
        }
        let printed = self.output.take();
        if !printed.is_empty() {
            monitor.print(&printed);
        }
        for w in self.output.take_warnings() {
            if self.warned.insert((launch.module.0, w.kernel.clone(), w.line, w.instruction.clone())) {
                monitor.warn(w.to_string());
            }
        }
        for (read, count) in self.output.take_outside() {
            let place = (launch.module.0, read.kernel.clone(), read.line);
            let (first, so_far) = self.forgiven.entry(place).or_insert_with(|| (read.to_string(), 0));
            *so_far += count;
            monitor.forgive(first, *so_far);
        }
        let submitted = self.output.take_submitted().into_iter().map(|s| submitted(launch.module, s.work)).collect();
        match result {
            Ok(report) => report.map(|report| LaunchReport { submitted, ..report }),
            Err(LaunchError::Refused { kernel, reason }) => {
                Err(HostError::Call { call: "launch", reason: format!("kernel `{kernel}`: {reason}") })
            }
            Err(e @ (LaunchError::Fault(_) | LaunchError::Unsupported { .. })) => {
                Err(HostError::Program(e.to_string()))
            }
        }
    }

    fn copies(&self) -> CopyReport {
        match &self.mode {
            Mode::Timed(timed) => copies_of(&timed.machine),
            Mode::Functional | Mode::Recording(_) | Mode::Watched(_) => CopyReport::default(),
        }
    }

    fn hear(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Prepare => self.preparing = true,
            HostEvent::Measure => {
                self.preparing = false;
                self.show_memory();
            }
            // What happens meanwhile is seen when the preparation ends.
            HostEvent::CopyIn { .. }
            | HostEvent::CopyOut { .. }
            | HostEvent::Memset { .. }
            | HostEvent::LaunchBegin { .. }
            | HostEvent::LaunchEnd { .. }
                if self.preparing =>
            {
                return;
            }
            _ => {}
        }
        match &mut self.mode {
            Mode::Functional => {}
            Mode::Watched(spectator) => spectator.borrow_mut().host_event(event),
            Mode::Timed(timed) => {
                let memory = |line, data: &mut _| self.memory.read_line(line, data);
                if let HostEvent::ModuleLoaded { module, .. } = event {
                    let program = self.programs.get(*module as usize);
                    for (name, start, size) in program.into_iter().flat_map(Program::managed_variables) {
                        let variable = Allocation::of_variable(name, start, size);
                        timed.machine.host_event(&HostEvent::Alloc(variable), memory);
                    }
                }
                timed.machine.host_event(event, memory);
            }
            Mode::Recording(recording) => recording.hear(event),
        }
    }
}
