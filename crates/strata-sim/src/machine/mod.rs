//! The machine: SMs, caches, crossbar, L2 slices, DRAM channels, and the loop that lets things happen in order.
//!
//! Nothing polls. A warp runs arithmetic ahead of time (see the issue calendar) until it meets memory, a barrier or the end of
//! its segment; a memory request visits the units on its way as events; a unit whose order of service cannot matter is a
//! next-free time. All events are ordered by (time, sequence), so two runs are the same, byte for byte.
//!
//! A *part* owns its state and knows nobody: it is told what comes and says what has to happen next, and the machine lets it
//! happen. So a part can be tried with a test above and below it.
//!
//! | file | does |
//! | --- | --- |
//! | `builder.rs` | how mechanisms get into a machine, and which do not go together |
//! | `mod.rs` | what the machine is made of, launches, CTA dispatch, the event loop |
//! | `warp.rs` | a warp: what it has not issued yet, its scoreboard |
//! | `issue.rs` | segments, issue slots, the turn of a warp |
//! | `barrier.rs` | CTA barriers |
//! | `sm_memory.rs` | the memory stage of an SM: coalescing, L1 accesses, outstanding loads |
//! | `memory_unit.rs` | a part: the load/store unit of an SM and its constant cache |
//! | `l1.rs` | a part: the L1 of an SM |
//! | `translate.rs` | TLBs |
//! | `paging.rs` | the paging mechanism |
//! | `home.rs` | which slice and partition serve a line |
//! | `crossbar.rs` | a part: ports between SMs and slices |
//! | `l2.rs` | L2: fetches, write-backs and replies that its slices decide on |
//! | `slice.rs` | a part: an L2 slice |
//! | `written_bytes.rs` | stores that together make a sector of L2 whole |
//! | `dirty_cap.rs` | a cap on the dirty sectors of a slice |
//! | `prefetch.rs` | what prefetchers of L1 and L2 propose |
//! | `prefetching.rs` | a part: a prefetcher beside a cache, and what became of its proposals |
//! | `waiting.rs` | requests merged with outstanding misses, in L1 and in slices |
//! | `memory.rs` | the memory controller, from L2 to memory |
//! | `channel_port.rs` | a part: a DRAM channel and what waits to enter it |
//! | `stacks.rs` | memory stacks: links to the GPU and between them |
//! | `stack_sm.rs` | SMs on memory stacks: their path to memory |
//! | `plan/` | plans of memory sides, tables, units, copies from L2 |
//! | `offload/` | the offload mechanism |
//! | `host.rs` | what the host does, and who hears of it |
//! | `copies.rs` | copies between host and device |
//! | `conserve.rs` | checks that nothing was lost |
//! | `probes.rs` | probe points: where the machine notifies its observers, which are |
//! | `check/` | would every load get the right data? |
//! | `explain.rs` | what requests waited for, about which allocations, and which lines of the source sent them |
//! | `page_use.rs` | which pages of allocations they were about |
//! | `names.rs` | what the program calls its memory and its kernels |
//! | `hang.rs` | the message of a hang: which queues are full |

mod atomics;
mod barrier;
mod builder;
#[cfg(test)]
mod cache_seam_tests;
mod channel_port;
mod check;
mod code;
mod conserve;
mod copies;
mod crossbar;
mod dirty_cap;
mod explain;
mod hang;
mod home;
mod host;
mod issue;
mod l1;
mod l2;
mod lookahead;
mod memory;
mod memory_unit;
mod names;
mod offload;
mod pace;
mod page_use;
mod paging;
mod plan;
mod prefetch;
mod prefetching;
mod probes;
#[cfg(test)]
mod seam_tests;
mod slice;
mod sm_memory;
mod stack_sm;
mod stacks;
mod tables;
#[cfg(test)]
mod testing;
mod tlb;
mod translate;
mod waiting;
mod warp;
mod written_bytes;

pub use builder::{Layer, MachineBuilder};
pub use check::CheckCounts;
pub use conserve::{Imbalance, Imbalances};
pub use copies::CopyStats;
pub use page_use::{AllocationUse, PageUse};

use crate::calendar::{Calendar, Calendars};
use crate::config::GpuConfig;
use crate::link::Link;
use crate::queue::EventQueue;
use crate::seam::{HostListener, Line};
use crate::slab::Slab;
use crate::stats::{MachineStats, Reading, StackStats};
use crate::time::{Cycles, Picos};
use crate::view::UNITS;
use barrier::BarrierGroup;
use channel_port::{ChannelPort, DramAccess, Turn};
use check::{DataChecker, Mutation};
use code::Code;
use crossbar::Crossbar;
use explain::Explanation;
use home::Interleave;
use issue::Views;
use l2::Miss;
use memory_unit::MemoryUnit;
use names::Names;
use offload::Offloader;
use pace::Pace;
use paging::Pager;
use plan::MemorySides;
use slice::Slice;
use sm_memory::{LoadOp, Request, Requester};
use stacks::Stacks;
use strata_core::{GridSource, LineAddr, WarpId};
use translate::Tlbs;
use warp::WarpState;

/// What happens: a kind in the upper bits, whom it happens to in the lower.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Event(u32);

impl Event {
    const SHIFT: u32 = 28;
    /// A warp has its turn at issue.
    const WARP: u32 = 0;
    /// A request reaches its L2 slice.
    const L2: u32 = 1;
    /// A DRAM channel can issue commands.
    const CHANNEL: u32 = 2;
    /// DRAM has delivered an L2 miss.
    const FILL: u32 = 3;
    /// A reply of L2 or of a vault reaches its SM.
    const REPLY: u32 = 4;
    /// A step of a plan has ended.
    const STEP: u32 = 5;
    /// DRAM has delivered a sector of a table for a step.
    const TABLE: u32 = 6;
    /// A walk of the page table has ended.
    const WALK: u32 = 7;
    /// The paging mechanism is to be woken.
    const WAKE: u32 = 8;
    /// A warp hears that a store of it has taken effect.
    const STORED: u32 = 9;
    /// DRAM of a stack has what L2 asked for.
    const RX: u32 = 10;
    /// DRAM has what an SM of a stack asked for.
    const VAULT_READ: u32 = 11;
    /// A warp has come to a stack.
    const OFFLOAD: u32 = 12;
    /// The end of an offloaded block is known to the GPU.
    const ACKNOWLEDGED: u32 = 13;

    /// DRAM has delivered the sectors that a write-back is merged with.
    const MERGED: u32 = 14;

    fn new(kind: u32, index: u32) -> Self {
        debug_assert!(index < 1 << Self::SHIFT);
        Self(kind << Self::SHIFT | index)
    }

    fn kind(self) -> u32 {
        self.0 >> Self::SHIFT
    }

    fn index(self) -> u32 {
        self.0 & ((1 << Self::SHIFT) - 1)
    }
}

/// The null handle of requests, loads, misses, warps and views.
const NONE: u32 = u32::MAX;

/// What occupancy depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelNeeds {
    /// Threads of a CTA; warps are its lanes in groups of 32.
    pub threads: u32,
    /// Architectural registers of a thread, of 32 bits.
    pub registers: u32,
    /// Shared memory of a CTA in bytes.
    pub shared: u64,
}

/// Timing of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTime {
    /// Core cycles from launch to end, launch latency included.
    pub cycles: u64,
    /// Those of them that are launch latency: before the first instruction can issue and after the last store.
    pub launch_cycles: u64,
    /// CTAs that were resident on an SM at once.
    pub ctas_per_sm: u32,
    /// Machine instructions issued, times active lanes.
    pub thread_instructions: u64,
}

/// A warp scheduler: its issue slots, and the units that it feeds behind them.
type Scheduler = Calendars<{ UNITS + 1 }>;

/// A streaming multiprocessor.
struct Sm {
    schedulers: Vec<Scheduler>,
    shared: Calendar,
    memory: MemoryUnit,
    /// Warps dealt to schedulers so far.
    dealt: u32,
}

/// The timing model of a GPU.
pub struct Machine {
    config: GpuConfig,
    queue: EventQueue<Event>,
    sms: Vec<Sm>,
    slices: Vec<Slice>,
    channels: Vec<ChannelPort>,
    crossbar: Crossbar,
    tlbs: Option<Tlbs>,
    interleave: Interleave,
    stacks: Option<Box<Stacks>>,
    /// Mechanisms, one field per seam.
    sides: Option<Box<MemorySides>>,
    /// One of them looks at data; asked at every event, so it is here.
    sides_look_at_data: bool,
    pager: Option<Box<Pager>>,
    offload: Option<Box<Offloader>>,
    listeners: Vec<Box<dyn HostListener>>,
    /// Who sent each request, by handle; kept only for prefetchers of L2.
    requesters: Option<Vec<Requester>>,
    /// The bytes that each store writes which does not cover its sectors, by handle; kept only if L2 wants to know.
    store_bytes: Vec<u128>,
    /// Kernels launched so far.
    launched: u32,
    host_link: Link,
    copies: CopyStats,
    requests: Slab<Request>,
    loads: Slab<LoadOp>,
    misses: Slab<Miss>,
    warps: Vec<WarpState>,
    groups: Slab<BarrierGroup>,
    stats: MachineStats,
    stack_stats: StackStats,
    /// Write-backs that wait for sectors that are merged with what L2 has of them, where memory cannot mask a write.
    merging: Slab<DramAccess>,
    merge_reads: u64,
    /// When the last launch or copy ended.
    now: Picos,
    /// Stores and reductions that L2 has not performed yet, and when the last of those before was performed.
    stores_out: u32,
    last_store: Picos,
    /// Code that its SMs have to fetch first.
    code: Option<Box<Code>>,
    /// When the latest store of an SM on a stack is in memory.
    last_stack_store: Picos,
    /// Caches are emptied before each launch.
    profiled: bool,
    /// Observers of the probe points (`probes.rs`), if anybody asked for them.
    checker: Option<Box<DataChecker>>,
    explanation: Option<Box<Explanation>>,
    names: Names,
    /// Scratch, kept for its memory.
    lines: Vec<crate::coalesce::CoalescedAccess>,
    opened: Vec<strata_core::WarpId>,
    turn: Turn,
}

/// Something a machine cannot do.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// A CTA does not fit on an SM.
    #[error("a block does not fit on an SM: it needs {0}")]
    DoesNotFit(String),
    /// Nothing is left to happen, yet warps have not ended.
    #[error("the machine hangs: {0}")]
    Hang(String),
    /// The simulator lost or invented something; see `conserve`.
    #[error("the simulator lost count, which is a fault of its own, please report it: {0}")]
    Conservation(#[from] Imbalances),
    /// Mechanisms that do not go together, or not with this GPU; the text says which and why.
    #[error("{0}")]
    Refused(String),
    /// With [`MachineBuilder::check_data`]: a load would get old data. The text names the load, the address and what was
    /// missed.
    #[error("the machine lost data: {0}")]
    Data(String),
    /// The DRAM of the configuration is impossible.
    #[error(transparent)]
    Dram(#[from] crate::dram::DramError),
    /// The program failed; the source knows how.
    #[error("the program failed")]
    Program,
}

impl Machine {
    /// A plain machine at rest; [`MachineBuilder`] puts mechanisms into one.
    pub fn new(config: GpuConfig) -> Result<Self, MachineError> {
        let channels = (0..config.dram.channels).map(|_| ChannelPort::new(&config)).collect::<Result<_, _>>()?;
        let sm = || Sm {
            schedulers: vec![Scheduler::default(); config.sm.schedulers as usize],
            shared: Calendar::default(),
            memory: MemoryUnit::new(&config),
            dealt: 0,
        };
        Ok(Self {
            sms: (0..config.all_sms()).map(|_| sm()).collect(),
            slices: (0..config.l2.slices).map(|_| Slice::new(&config)).collect(),
            channels,
            crossbar: Crossbar::new(&config),
            tlbs: Tlbs::if_enabled(&config),
            interleave: Interleave::new(&config),
            stacks: Stacks::of(&config),
            sides: None,
            sides_look_at_data: false,
            pager: None,
            offload: None,
            listeners: Vec::new(),
            requesters: None,
            store_bytes: Vec::new(),
            launched: 0,
            host_link: Link::new(&config.host_link),
            copies: CopyStats::default(),
            queue: EventQueue::default(),
            requests: Slab::default(),
            loads: Slab::default(),
            misses: Slab::default(),
            warps: Vec::new(),
            groups: Slab::default(),
            stats: MachineStats::default(),
            stack_stats: StackStats::default(),
            merging: Slab::default(),
            merge_reads: 0,
            now: Picos(0),
            stores_out: 0,
            last_store: Picos(0),
            code: None,
            last_stack_store: Picos(0),
            profiled: false,
            checker: None,
            explanation: None,
            names: Names::default(),
            lines: Vec::new(),
            opened: Vec::new(),
            turn: Turn::default(),
            config,
        })
    }

    /// The configuration that the machine was built from.
    pub fn config(&self) -> &GpuConfig {
        &self.config
    }

    /// All counters, since the machine was built.
    pub fn reading(&self) -> Reading {
        Reading {
            machine: MachineStats { events: self.queue.taken(), ..self.stats },
            stacks: self.stack_counts(),
            slices: self.slices.iter().map(|slice| slice.stats).collect(),
            channels: self.channels.iter().map(|port| *port.channel.stats()).collect(),
            sides: self.side_reading(),
            merge_reads: self.merge_reads,
            paging: self.paging_counts(),
            offload: self.offload_counts(),
            caches: self.cache_counts(),
        }
    }

    /// Simulated time at the end of the last launch or copy.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// The core cycle that `t` belongs to.
    fn core_cycle(&self, t: Picos) -> u64 {
        self.config.clock.core.next(t).0
    }

    /// The time of the edge that begins a core cycle.
    fn core_time(&self, cycle: u64) -> Picos {
        self.config.clock.core.edge(Cycles(cycle))
    }

    /// CTAs of a kernel that fit on an SM.
    pub fn occupancy(&self, needs: &KernelNeeds) -> Result<u32, MachineError> {
        let sm = &self.config.sm;
        let warps = needs.threads.div_ceil(32).max(1);
        let registers = needs.registers.max(1) * 32;
        let per_warp = registers.next_multiple_of(sm.register_granularity.max(1));
        let shared = needs.shared.next_multiple_of(self.config.shared.granularity.0.max(1));
        let limits = [
            (sm.threads / (warps * 32), "threads"),
            (sm.warps / warps, "warps"),
            (sm.ctas, "blocks"),
            (if shared > self.config.shared.per_cta.0 { 0 } else { u32::MAX }, "shared memory of one block"),
            (sm.registers / (per_warp * warps), "registers"),
            (self.config.shared.size.0.checked_div(shared).map_or(u32::MAX, |n| n as u32), "shared memory"),
        ];
        let (ctas, what) = limits.into_iter().min_by_key(|l| l.0).unwrap_or((0, ""));
        if ctas == 0 {
            return Err(MachineError::DoesNotFit(format!(
                "{} threads, {} registers per thread and {} bytes of shared memory; what is missing is {what}",
                needs.threads, needs.registers, needs.shared
            )));
        }
        Ok(ctas)
    }

    /// Runs a kernel from launch to end. Who drives the machine tells [`Machine::host_event`] of the launch, before and after.
    pub fn run_kernel<S: GridSource>(
        &mut self,
        source: &mut S,
        needs: &KernelNeeds,
    ) -> Result<KernelTime, MachineError> {
        let per_sm = self.occupancy(needs)?;
        let start = self.config.clock.core.next(self.now).0;
        let begin = start + u64::from(self.config.launch.before);
        self.launched += 1;
        self.prepare_sms(per_sm, needs);
        self.check_kernel_begin(source.instructions());
        let sms = self.config.sm.count;
        let slots = (u64::from(per_sm) * u64::from(sms)).min(source.ctas()) as u32;
        let warps_per_cta = source.warps_per_cta();
        self.warps.resize_with((slots * warps_per_cta) as usize, WarpState::new);
        self.load_candidates(source);
        let mut views = Views::new(&self.config, source.instructions());
        let is_cold = self.profiled && self.config.sm.code_prefetch > 0;
        self.code = is_cold.then(|| Box::new(Code::cold(&self.config, source.instructions().len())));
        let mut next_cta = 0;
        for slot in 0..slots {
            let at = begin + (f64::from(slot) * self.config.launch.cta_interval) as u64;
            self.start_cta(source, slot, slot % sms, next_cta, at);
            next_cta += 1;
        }
        let mut pace = Pace::after(begin, slots, &self.config.launch);
        let issued = self.stats.thread_instructions;
        let mut end = begin;
        let mut live = u64::from(slots) * u64::from(warps_per_cta);
        // A kernel has ended when its last warp has and its stores are where everybody sees them.
        while live > 0 || self.stores_out > 0 || self.has_faulted_accesses() {
            // A warp on a stack asks memory in its own turn, and there may be no event behind that.
            if self.offload.is_some() {
                self.plan_requests(source);
            }
            let Some((t, event)) = self.queue.pop() else {
                if self.resume_after_remap() {
                    continue;
                }
                return Err(MachineError::Hang(self.describe_hang(warps_per_cta)));
            };
            self.look_ahead(source);
            if event.kind() != Event::WARP {
                self.handle(t, event);
                self.plan_requests(source);
                self.data_fault()?;
                continue;
            }
            let (index, cycle) = (event.index(), self.core_cycle(t));
            if self.offload.is_some() && self.park_for_remap(index, cycle) {
                continue;
            }
            match self.run_warp(source, &mut views, index, cycle) {
                issue::TurnEnd::Parked => self.data_fault()?,
                issue::TurnEnd::Failed => {
                    self.abort();
                    return Err(MachineError::Program);
                }
                issue::TurnEnd::Exited(_) if self.defer_exit(index) => {}
                issue::TurnEnd::Exited(at) => {
                    live -= 1;
                    end = end.max(at);
                    if let Some(slot) = self.retire_warp(index, warps_per_cta)
                        && next_cta < source.ctas()
                    {
                        let sm = self.warps[index as usize].sm;
                        let at = pace.start(at + u64::from(self.config.sm.cta_start_cycles));
                        self.start_cta(source, slot, sm, next_cta, at);
                        next_cta += 1;
                        live += u64::from(warps_per_cta);
                    }
                }
            }
        }
        self.stats.places += u64::from(sms) * u64::from(self.config.sm.warps) * (end - begin);
        let end = end.max(self.core_cycle(self.last_store)) + u64::from(self.config.launch.after);
        self.now = self.core_time(end);
        self.drain(&mut |line, data| source.read_line(line, data));
        self.check_conservation()?;
        self.check_kernel_end()?;
        Ok(KernelTime {
            cycles: end - start,
            launch_cycles: self.launch_latency(),
            ctas_per_sm: per_sm,
            thread_instructions: self.stats.thread_instructions - issued,
        })
    }

    /// Makes the SMs ready for a kernel of which `per_sm` CTAs are resident on each.
    fn prepare_sms(&mut self, per_sm: u32, needs: &KernelNeeds) {
        let (l1, shared) = (&self.config.l1, &self.config.shared);
        let taken = u64::from(per_sm) * needs.shared.next_multiple_of(shared.granularity.0.max(1));
        let flushes = !self.checker.as_mut().is_some_and(|c| c.omits(Mutation::L1Flush));
        for sm in &mut self.sms {
            sm.schedulers.fill(Scheduler::default());
            sm.shared.clear();
            sm.dealt = 0;
            if shared.from_l1 {
                // What shared memory takes of the common array is missing from L1.
                let left = u64::from(l1.ways) * l1.size.0.saturating_sub(taken) / l1.size.0;
                sm.memory.l1.limit_ways(left as u32);
            } else if l1.flush_at_launch && flushes {
                sm.memory.l1.clear();
            }
        }
    }

    /// Core cycles of a launch that are not the kernel's: a profiler counts some of them as such.
    fn launch_latency(&self) -> u64 {
        let launch = &self.config.launch;
        let all = u64::from(launch.before) + u64::from(launch.after);
        if self.profiled { all.saturating_sub(launch.profiled.into()) } else { all }
    }

    /// Empties all caches, as profilers do before each launch that they measure: what is dirty is written back, and nothing
    /// of that belongs to a launch. Without [`MachineBuilder::profile`] nothing happens.
    pub fn flush_for_profiler(&mut self, memory: &mut dyn FnMut(LineAddr, &mut Line)) {
        if !self.profiled {
            return;
        }
        for sm in &mut self.sms {
            sm.memory.l1.clear();
            sm.memory.constants.clear();
        }
        let now = self.config.clock.l2.next(self.now).0;
        for slice in 0..self.slices.len() {
            let lines: Vec<LineAddr> = self.slices[slice].tags.iter().map(|(line, _)| line).collect();
            for line in lines {
                let home = self.interleave.home(line);
                if let Some(left) = self.slices[slice].evict_line(home.set, line) {
                    self.write_back(line, left.sectors, left.valid, now);
                }
            }
            // Lines that the host has dropped, and what a prefetcher remembers of them.
            self.slices[slice].clear();
        }
        self.drain(memory);
    }

    /// Drains the machine: handles events until none is left.
    fn drain(&mut self, memory: &mut dyn FnMut(LineAddr, &mut Line)) {
        loop {
            while self.sides.as_ref().is_some_and(|sides| !sides.deferred.is_empty()) {
                self.plan_deferred(&mut *memory);
            }
            let Some((t, event)) = self.queue.pop() else { return };
            self.handle(t, event);
            self.now = self.now.max(t);
        }
    }

    /// Lets memory sides plan the requests that the last event submitted.
    #[inline]
    fn plan_requests<S: GridSource>(&mut self, source: &S) {
        while self.sides_look_at_data
            && let Some(sides) = &self.sides
            && !sides.deferred.is_empty()
        {
            self.plan_deferred(|line, data| source.read_line(line, data));
        }
    }

    /// Handles an event of the memory system.
    #[inline]
    fn handle(&mut self, t: Picos, event: Event) {
        match event.kind() {
            Event::L2 => self.l2_enqueue(event.index(), t),
            Event::CHANNEL => self.run_channel(event.index(), t),
            Event::FILL => self.l2_fill(event.index(), t),
            Event::REPLY => self.receive_reply(event.index(), t),
            Event::STEP => self.complete_step(event.index(), t),
            Event::TABLE => self.fill_table(event.index(), t),
            Event::WALK => self.finish_walk(event.index(), t),
            Event::WAKE => self.wake_pager(event.index(), t),
            Event::STORED => self.acknowledge_store(WarpId(event.index()), self.core_cycle(t)),
            Event::RX => self.reply_to_gpu(event.index(), t),
            Event::VAULT_READ => self.reply_from_vault(event.index(), t),
            Event::OFFLOAD => self.reach_stack(event.index(), t),
            Event::ACKNOWLEDGED => self.retire_block(event.index(), t),
            Event::MERGED => self.write_merged(event.index(), t),
            _ => {}
        }
    }

    /// After a failed program: its warps are dropped, and their outstanding requests are drained.
    fn abort(&mut self) {
        self.drain(&mut |_, _| ());
        self.groups = Slab::default();
    }
}
