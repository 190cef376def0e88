//! One launch: what all its CTAs share, and the order they run in.
//!
//! CTAs start in the order of their numbers and take turns ([`crate::turn`]), as many of them as a GPU holds: one that is at its end
//! within its turn, as most are, leaves before the next begins; one that needs longer, or seems to wait for another CTA, stays
//! resident while the next begins beside it. CTAs of a kernel that says so ([`crate::decode::entry`]) begin in step: all that are
//! resident together do what stands at the start before one of them goes on. So global effects of short CTAs happen in CTA order, and a grid that
//! synchronises through memory comes to its end.

use crate::check::{Checker, Looks};
use crate::cta::{Cta, CtaStop};
use crate::exec::{Exec, TouchedRange};
use crate::fault::{Cause, Fault};
use crate::kernel::{Constant, Kernel, Refused, VisitInfo};
use crate::memory::{Memory, MemoryError, WINDOW_BYTES};
use crate::output::Output;
use crate::races::Races;
use crate::turn::{Turn, fair_ctas};
use crate::warp::{Unit, Visits};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use strata_core::{Addr, Bytes, Counts, Dim3, LANES, LaneMask};

/// Shape and limits of a launch.
#[derive(Clone, Debug)]
pub struct LaunchConfig {
    /// CTAs.
    pub grid: Dim3,
    /// Threads per CTA.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// The parameter block.
    pub params: Vec<u8>,
    /// All CTAs must be resident together, and `%envreg1`, `%envreg2` name a zeroed workspace.
    pub cooperative: bool,
    /// Warp instructions after which the launch is stopped; such a launch runs on one host thread.
    pub instruction_limit: Option<u64>,
    /// Host threads; more than one only for kernels in which the order of CTAs cannot be observed.
    pub threads: usize,
    /// Look for reads of shared and local memory that nothing has written: see [`Output::take_warnings`].
    pub check: bool,
    /// Look for conflicting accesses of different warps that nothing orders, on one host thread: found in the same place.
    pub races: bool,
    /// Reads of device memory outside every allocation get what lies there, and are counted: see
    /// [`Output::take_outside`]. Writes fail as always.
    pub lenient: bool,
}

impl LaunchConfig {
    pub(crate) fn looks(&self) -> Looks {
        Looks { uninitialised: self.check, races: self.races }
    }
}

impl LaunchConfig {
    /// A launch without parameters, dynamic shared memory or limits, on one host thread.
    pub fn new(grid: Dim3, block: Dim3) -> Self {
        Self {
            grid,
            block,
            shared: 0,
            params: Vec::new(),
            cooperative: false,
            instruction_limit: None,
            threads: 1,
            check: false,
            races: false,
            lenient: false,
        }
    }
}

/// CTAs that may be resident together when they wait for each other. Real GPUs hold some thousands at most.
const MAX_RESIDENT: usize = 16384;
/// Bytes of the workspace that cooperative launches find behind `%envreg1:%envreg2`.
const WORKSPACE_BYTES: u64 = 4096;

/// What all CTAs of a launch share.
pub(crate) struct LaunchState<'l> {
    pub(crate) kernel: &'l Kernel,
    pub(crate) memory: &'l Memory,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    /// Constants of each function, laid out.
    pub(crate) constants: Vec<Vec<Unit>>,
    /// `%tid.x`, `.y`, `.z` of each warp.
    pub(crate) thread_ids: Vec<[Unit; 3]>,
    /// Total shared memory of a CTA, and how much of it was asked for by the launch.
    pub(crate) shared_bytes: u64,
    pub(crate) dynamic_shared: u32,
    /// Workspace of a cooperative launch, else 0.
    pub(crate) workspace: u64,
    /// More than one host thread runs CTAs.
    pub(crate) parallel: bool,
    pub(crate) instruction_limit: u64,
    /// What is looked for.
    pub(crate) looks: Looks,
    /// Reads outside every allocation are no failure.
    pub(crate) lenient: bool,
    /// Number of the launch on its device: `%gridid`.
    pub(crate) number: u64,
    pub(crate) output: &'l Output,
}

impl LaunchState<'_> {
    pub(crate) fn warps_per_cta(&self) -> usize {
        self.block.count().div_ceil(LANES as u64) as usize
    }

    /// Device address of a warp's local memory.
    pub(crate) fn local_of(&self, resident: u32, warp: u32) -> u64 {
        let per_warp = self.kernel.local_bytes.next_multiple_of(4) * LANES as u64;
        let index = u64::from(resident) * self.warps_per_cta() as u64 + u64::from(warp);
        self.memory.local_base().0 + index * per_warp
    }

    /// CTAs that can be resident together: limited by local memory. [`check`] made sure that it is at least one.
    pub(crate) fn resident_limit(&self) -> usize {
        match self.memory.local_capacity().0.checked_div(local_bytes_per_cta(self.kernel, self.block)) {
            Some(n) => (n as usize).min(MAX_RESIDENT),
            None => MAX_RESIDENT,
        }
    }

    /// A context for one host thread.
    pub(crate) fn context<'s>(&'s self, touched: &mut [TouchedRange]) -> Exec<'s> {
        Exec {
            regs: std::ptr::null_mut(),
            preds: std::ptr::null_mut(),
            consts: std::ptr::null(),
            shared: std::ptr::null_mut(),
            shared_bytes: self.shared_bytes,
            origin: self.memory.host_origin(),
            touched: touched.as_mut_ptr(),
            local: 0,
            local_bytes: self.kernel.local_bytes,
            local_frame: 0,
            live: 0,
            active: 0,
            code: 0,
            cta: 0,
            warp: 0,
            resident: 0,
            clock: 0,
            synchronised: false,
            communicated: false,
            exchange: std::ptr::null_mut(),
            bytes_read: 0,
            bytes_written: 0,
            divisions_by_zero: 0,
            sink: None,
            checker: self.looks.uninitialised.then(Box::<Checker>::default),
            races: self.looks.races.then(Box::<Races>::default),
            watch: None,
            cause: None,
            launch: self,
        }
    }
}

/// Local memory of a CTA: whole warps, whole words.
pub(crate) fn local_bytes_per_cta(kernel: &Kernel, block: Dim3) -> u64 {
    let warps = block.count().div_ceil(LANES as u64);
    kernel.local_bytes.next_multiple_of(4).saturating_mul(LANES as u64 * warps)
}

/// Lays out the constants of every function.
fn lay_out(kernel: &Kernel, memory: &Memory, params: &[u8], param_address: u64) -> Vec<Vec<Unit>> {
    let splat = |units: &mut Vec<Unit>, v: u32| units.push(Unit([v; LANES]));
    let splat64 = |units: &mut Vec<Unit>, v: u64| {
        // A 64-bit slot is 32 lanes of 8 bytes: two units of alternating halves.
        let pair = std::array::from_fn(|k| if k % 2 == 0 { v as u32 } else { (v >> 32) as u32 });
        units.extend([Unit(pair), Unit(pair)]);
    };
    kernel
        .functions
        .iter()
        .map(|code| {
            let mut units = Vec::new();
            for constant in &code.constants {
                match constant {
                    Constant::Word(v) => splat(&mut units, *v),
                    Constant::Double(v) => splat64(&mut units, *v),
                    Constant::Reference(address) => {
                        let mut handle = [0; 8];
                        // A variable of the module: it is there. What is bound to nothing has no object, and says so.
                        let bound = memory.read(Addr(*address), &mut handle).is_ok();
                        splat64(&mut units, if bound { u64::from_le_bytes(handle) } else { 0 });
                    }
                    Constant::Lanes(lanes) => units.push(Unit(**lanes)),
                    Constant::ParamAddress(offset) => splat64(&mut units, param_address + u64::from(*offset)),
                    Constant::Param { offset, size, signed, wide } => {
                        let mut bytes = [0; 8];
                        let from = *offset as usize;
                        let to = (from + *size as usize).min(params.len());
                        if from < to {
                            bytes[..to - from].copy_from_slice(&params[from..to]);
                        }
                        let shift = 64 - 8 * u32::from(*size);
                        let raw = u64::from_le_bytes(bytes) << shift;
                        let value = if *signed { ((raw as i64) >> shift) as u64 } else { raw >> shift };
                        if *wide { splat64(&mut units, value) } else { splat(&mut units, value as u32) }
                    }
                }
            }
            units
        })
        .collect()
}

fn thread_ids(block: Dim3) -> Vec<[Unit; 3]> {
    let threads = block.count();
    (0..threads.div_ceil(LANES as u64))
        .map(|w| {
            let mut ids = [Unit([0; LANES]); 3];
            for lane in 0..LANES {
                let p = block.position((w * LANES as u64 + lane as u64).min(threads - 1));
                ids[0].0[lane] = p.x;
                ids[1].0[lane] = p.y;
                ids[2].0[lane] = p.z;
            }
            ids
        })
        .collect()
}

/// Why a launch was refused or stopped.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The launch itself is wrong.
    #[error("launch of `{kernel}`: {reason}")]
    Refused {
        /// Name of the kernel.
        kernel: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The kernel contains instructions that cannot be executed: rendered diagnostics, one each.
    #[error("kernel `{kernel}` contains instructions that StrataSim cannot execute:\n{}", list.join("\n"))]
    Unsupported {
        /// Name of the kernel.
        kernel: String,
        /// The instructions.
        list: Vec<String>,
    },
    /// The program failed.
    #[error("{0}")]
    Fault(#[from] Box<Fault>),
}

/// Limits that CUDA sets on a launch (compute capability 7.5: CUDA C++ Programming Guide, technical specifications).
const MAX_THREADS: u64 = 1024;
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// The most shared memory any GPU gives a block (compute capability 10.0: 227 KiB).
const MAX_SHARED: u64 = 227 << 10;

pub(crate) fn check(kernel: &Kernel, config: &LaunchConfig, memory: &Memory) -> Result<(), LaunchError> {
    let refuse = |reason: String| Err(LaunchError::Refused { kernel: kernel.name.clone(), reason });
    if !kernel.unsupported.is_empty() {
        let told = |r: &Refused| format!("  {}:{}: `{}`: {}", kernel.origin.file, r.line, r.instruction, r.why);
        let list = kernel.unsupported.iter().map(told).collect();
        return Err(LaunchError::Unsupported { kernel: kernel.name.clone(), list });
    }
    let (g, b) = (config.grid, config.block);
    for (dim, max, what) in [(g, MAX_GRID, "grid"), (b, MAX_BLOCK, "block")] {
        for ((extent, max), axis) in [dim.x, dim.y, dim.z].into_iter().zip(max).zip(["x", "y", "z"]) {
            if extent == 0 || extent > max {
                return refuse(format!("{what} {dim} has {extent} in {axis}; it must be between 1 and {max}"));
            }
        }
    }
    if b.count() > MAX_THREADS {
        return refuse(format!("block {b} has {} threads; the limit is {MAX_THREADS}", b.count()));
    }
    if let Some((max, exact)) = kernel.max_threads {
        let limit: u64 = max.iter().map(|&m| u64::from(m.max(1))).product();
        if exact && [b.x, b.y, b.z] != max.map(|m| m.max(1)) {
            let demanded = Dim3::new(max[0].max(1), max[1].max(1), max[2].max(1));
            return refuse(format!("block {b}, but the kernel demands {demanded} (.reqntid)"));
        }
        if b.count() > limit {
            return refuse(format!("block {b} has {} threads; the kernel allows {limit} (.maxntid)", b.count()));
        }
    }
    let shared = kernel.dynamic_shared_at + u64::from(config.shared);
    if shared > MAX_SHARED {
        return refuse(format!("{} of shared memory per block; the limit is {}", Bytes(shared), Bytes(MAX_SHARED)));
    }
    let (local, have) = (local_bytes_per_cta(kernel, b), memory.local_capacity());
    if local > have.0 || kernel.local_bytes > WINDOW_BYTES {
        let (thread, most) = (Bytes(kernel.local_bytes), Bytes(WINDOW_BYTES));
        return refuse(format!(
            "{thread} of local memory per thread and {} per block; the limits are {most} and {have}",
            Bytes(local)
        ));
    }
    if config.params.len() != kernel.param_bytes as usize {
        return refuse(format!("{} bytes of parameters; the kernel takes {}", config.params.len(), kernel.param_bytes));
    }
    if config.threads > 1 && config.races {
        return refuse("races are looked for on one host thread; leave --threads out".into());
    }
    if config.threads > 1
        && let Some(why) = &kernel.order_matters
    {
        return refuse(format!("the order of blocks can be observed ({why}); run it with --threads 1"));
    }
    Ok(())
}

/// Sets up what the CTAs share. `param_address` is where the parameter block lies in device memory.
pub(crate) fn prepare<'l>(
    kernel: &'l Kernel,
    memory: &'l Memory,
    config: &LaunchConfig,
    number: u64,
    param_address: u64,
    workspace: u64,
    output: &'l Output,
) -> LaunchState<'l> {
    LaunchState {
        kernel,
        memory,
        grid: config.grid,
        block: config.block,
        constants: lay_out(kernel, memory, &config.params, param_address),
        thread_ids: thread_ids(config.block),
        shared_bytes: kernel.static_shared.max(kernel.dynamic_shared_at + u64::from(config.shared)),
        dynamic_shared: config.shared,
        workspace,
        parallel: config.threads > 1,
        instruction_limit: config.instruction_limit.unwrap_or(u64::MAX),
        looks: config.looks(),
        lenient: config.lenient,
        number,
        output,
    }
}

/// One host thread's share of a launch.
struct Worker {
    visits: Vec<Visits>,
    counts: Counts,
    fault: Option<(u64, Box<Fault>)>,
}

/// How far a launch is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// CTAs that have ended.
    pub ctas: u64,
    /// CTAs of the grid.
    pub of: u64,
    /// Thread instructions executed, about.
    pub thread_instructions: u64,
}

/// CTAs between two reports of a host thread.
const REPORT_EVERY: u64 = 16;

/// Runs all CTAs; `progress` is told now and then how far it is.
pub(crate) fn run(
    state: &LaunchState<'_>,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Counts, LaunchError> {
    let total = state.grid.count();
    // Where a limit strikes must not depend on how CTAs are shared out.
    let threads = if state.instruction_limit == u64::MAX { threads.min(state.resident_limit()) } else { 1 };
    let (next, done, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let executed = AtomicU64::new(0);
    let work = |slot: u32| {
        let take = || {
            let n = next.fetch_add(1, Ordering::Relaxed);
            (n < total && !stop.load(Ordering::Relaxed)).then_some(n)
        };
        let finished = |ctas: u64, instructions: u64| {
            let ctas = done.fetch_add(ctas, Ordering::Relaxed) + ctas;
            let thread_instructions = executed.fetch_add(instructions, Ordering::Relaxed) + instructions;
            progress(Progress { ctas, of: total, thread_instructions });
        };
        let worker = run_ctas(state, slot, take, finished);
        if worker.fault.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
        worker
    };
    let workers: Vec<Worker> = if threads <= 1 {
        vec![work(0)]
    } else {
        std::thread::scope(|scope| {
            let work = &work;
            let handles: Vec<_> = (0..threads as u32).map(|slot| scope.spawn(move || work(slot))).collect();
            handles.into_iter().map(|h| h.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
        })
    };
    let mut counts = Counts::default();
    let mut fault: Option<(u64, Box<Fault>)> = None;
    for mut worker in workers {
        counts.add(&worker.counts);
        add_visits(state.kernel, &worker.visits, &mut counts);
        // Of several faults the one of the first CTA is told, whichever thread met it first.
        if let Some(found) = worker.fault.take()
            && fault.as_ref().is_none_or(|f| found.0 < f.0)
        {
            fault = Some(found);
        }
    }
    match fault {
        Some((_, fault)) => Err(LaunchError::Fault(fault)),
        None => Ok(counts),
    }
}

fn thread_instructions(kernel: &Kernel, visits: &[Visits]) -> u64 {
    let of_block = |v: &VisitInfo| v.classes.iter().map(|c| u64::from(c.1)).sum::<u64>();
    kernel.visits.iter().zip(visits).map(|(info, v)| v.lanes * of_block(info)).sum()
}

/// Turns visits of blocks into instructions by class.
pub(crate) fn add_visits(kernel: &Kernel, visits: &[Visits], counts: &mut Counts) {
    for (info, v) in kernel.visits.iter().zip(visits) {
        for &(class, n) in &info.classes {
            counts.warp_by_class[class as usize] += v.warps * u64::from(n);
            counts.thread_by_class[class as usize] += v.lanes * u64::from(n);
        }
    }
}

/// Runs CTAs that `take` hands out until there are none. `slot` is the host thread's number.
fn run_ctas(state: &LaunchState<'_>, slot: u32, take: impl Fn() -> Option<u64>, finished: impl Fn(u64, u64)) -> Worker {
    let kernel = state.kernel;
    let mut touched = vec![TouchedRange::default(); kernel.memory_instructions as usize];
    let mut x = state.context(&mut touched);
    let mut visits = vec![Visits::default(); kernel.visits.len()];
    let mut turn = Turn::new(state.instruction_limit);
    let most = if state.parallel { 1 } else { state.resident_limit() };
    let mut limit = most.min(fair_ctas(state.block.count(), state.shared_bytes));
    let new_cta = || Cta::new(state.warps_per_cta(), state.shared_bytes);
    // CTAs that are not at their end, in their slots of local memory; `None` is a free slot.
    let mut resident: Vec<Option<Cta>> = Vec::new();
    let mut spare: Vec<Cta> = vec![new_cta()];
    let mut fault = None;
    // They run again once another has come to its end, or when no further one can start.
    let mut again = false;
    let (mut unreported, mut reported) = (0, 0);
    let in_step = kernel.start.filter(|start| start.store.is_some() && !state.parallel);
    'grid: loop {
        let mut begins = None;
        let slots = if again {
            0..resident.len()
        } else if resident.iter().flatten().count() < limit
            && let Some(number) = take()
        {
            let mut cta = spare.pop().unwrap_or_else(new_cta);
            cta.start(kernel, number, state.block.count());
            let free = resident.iter().position(Option::is_none).unwrap_or_else(|| {
                resident.push(None);
                resident.len() - 1
            });
            resident[free] = Some(cta);
            begins = in_step;
            free..free + 1
        } else if resident.iter().all(Option::is_none) {
            break;
        } else {
            0..resident.len()
        };
        again = false;
        let mut moved = slots.len() < resident.len();
        for k in slots {
            let Some(cta) = &mut resident[k] else { continue };
            x.resident = if state.parallel { slot } else { k as u32 };
            let stop = match begins {
                Some(start) => cta.begin(&mut x, kernel, &mut visits, &mut turn, start.length),
                None => cta.run(&mut x, kernel, &mut visits, &mut turn),
            };
            match stop {
                CtaStop::Done => {
                    unreported += 1;
                    if unreported == REPORT_EVERY {
                        let so_far = thread_instructions(kernel, &visits);
                        finished(unreported, so_far - reported);
                        (unreported, reported) = (0, so_far);
                    }
                    spare.extend(resident[k].take());
                    again = begins.is_none() && resident.iter().any(Option::is_some);
                    moved = true;
                }
                CtaStop::TurnOver => moved = true,
                CtaStop::Spinning => {}
                CtaStop::Fault { warp } => {
                    fault = Some((cta.number, Box::new(locate(state, &mut x, cta, warp))));
                    break 'grid;
                }
            }
        }
        if !moved && resident.len() >= limit {
            // They may all be waiting for one that only a larger GPU would hold.
            limit = (2 * limit).min(most);
        }
    }
    let counts = Counts {
        bytes_read: x.bytes_read,
        bytes_written: x.bytes_written,
        divisions_by_zero: x.divisions_by_zero,
        ..Counts::default()
    };
    Worker { visits, counts, fault }
}

/// Says where in the program a fault happened.
pub(crate) fn locate(state: &LaunchState<'_>, x: &mut Exec<'_>, cta: &Cta, warp: usize) -> Fault {
    let cause = x.cause.take().map_or(Cause::Unsupported { what: "unknown fault".into() }, |c| *c);
    let w = &cta.warps[warp];
    let (code, pc, mask) = if matches!(cause, Cause::BarrierDeadlock { .. }) {
        w.waiting().next().map_or((0, 0, 0), |(_, code, pc, mask)| (code, pc, mask))
    } else {
        let split = &w.splits[w.current];
        (split.code, split.pc, split.mask)
    };
    describe(state, cause, code, pc, mask, cta.number, warp)
}

/// Says where in the program something happened: instruction `pc` of function `code`, lanes `mask` of a warp.
pub(crate) fn describe(
    state: &LaunchState<'_>,
    cause: Cause,
    code: u32,
    pc: u32,
    mask: LaneMask,
    cta: u64,
    warp: usize,
) -> Fault {
    let kernel = state.kernel;
    let lane = cause.lane().unwrap_or(mask.trailing_zeros() % LANES as u32);
    let code = &kernel.functions[code as usize];
    let function = &kernel.origin.module.functions[code.index as usize];
    let instruction = function.instructions.get(pc as usize);
    let source = instruction.and_then(|i| kernel.origin.source_of(i));
    Fault {
        cause,
        kernel: kernel.name.clone(),
        function: function.name.clone(),
        file: kernel.origin.file.clone(),
        line: instruction.map_or(0, |i| kernel.origin.lines.line(i.span.start)),
        instruction: instruction.map_or_else(String::new, |i| kernel.origin.text_of(i.span)),
        source,
        block: state.grid.position(cta),
        thread: state.block.position((warp * LANES) as u64 + u64::from(lane)),
    }
}

/// The zeroed workspace of a cooperative launch.
pub(crate) fn workspace_of(config: &LaunchConfig, memory: &mut Memory) -> Result<Option<Addr>, MemoryError> {
    if !config.cooperative {
        return Ok(None);
    }
    let record = memory.alloc(Bytes(WORKSPACE_BYTES), false, "cooperative workspace")?;
    memory.fill(record.start, record.size, 0)?;
    Ok(Some(record.start))
}
