//! The machine: SMs, caches, crossbar, L2 slices, DRAM channels, and the loop that lets things happen in order.
//!
//! Nothing polls. A warp runs arithmetic ahead of time (see the issue calendar) until it meets memory, a barrier or the end of
//! its segment; a memory request visits the units on its way as events; a unit whose order of service cannot matter is a
//! next-free time. All events are ordered by (time, sequence), so two runs are the same, byte for byte.
//!
//! | file | does |
//! | --- | --- |
//! | `mod.rs` | what the machine is made of, launches, CTA dispatch, the event loop |
//! | `issue.rs` | warps: segments, scoreboard, issue slots, barriers |
//! | `sm_memory.rs` | the memory side of an SM: coalescing, L1, constant memory, loads that wait |
//! | `translate.rs` | TLBs |
//! | `crossbar.rs` | ports between SMs and slices |
//! | `l2.rs` | L2 slices |
//! | `memory.rs` | DRAM channels and the way to them |
//! | `copies.rs` | copies between host and device |
//! | `conserve.rs` | checks that nothing was lost |

mod conserve;
mod copies;
mod crossbar;
mod issue;
mod l2;
mod memory;
mod sm_memory;
mod translate;

use crate::cache::Tags;
use crate::calendar::Calendar;
use crate::config::GpuConfig;
use crate::link::Link;
use crate::queue::EventQueue;
use crate::slab::Slab;
use crate::stats::{MachineStats, Reading};
use crate::time::{Cycles, Picos};
use crate::view::UNITS;
pub use conserve::{Imbalance, Imbalances};
pub use copies::CopyStats;
use crossbar::Port;
use issue::{BarrierGroup, Views, WarpState};
use l2::{Miss, Slice};
use memory::ChannelPort;
use sm_memory::{LoadOp, LoadStoreUnit, Request};
use strata_core::GridSource;
use translate::Tlbs;

/// What happens: a kind in the upper bits, whom it happens to in the lower.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Event(u32);

impl Event {
    const SHIFT: u32 = 28;
    /// A warp may issue.
    const WARP: u32 = 0;
    /// A request reaches its L2 slice.
    const L2: u32 = 1;
    /// A DRAM channel can act.
    const CHANNEL: u32 = 2;
    /// DRAM has delivered an L2 miss.
    const FILL: u32 = 3;
    /// A reply reaches its SM.
    const REPLY: u32 = 4;

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

/// No handle.
const NONE: u32 = u32::MAX;

/// What occupancy depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelNeeds {
    /// Threads of a CTA.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a CTA in bytes.
    pub shared: u64,
}

/// How long a kernel took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTime {
    /// Core cycles from launch to end, launch latency included.
    pub cycles: u64,
    /// CTAs that were resident on an SM at once.
    pub ctas_per_sm: u32,
    /// Machine instructions issued, times active lanes.
    pub thread_instructions: u64,
}

/// A warp scheduler: its issue slots and the units that it feeds.
#[derive(Clone, Default)]
struct Scheduler {
    issue: Calendar,
    units: [Calendar; UNITS],
}

/// A streaming multiprocessor.
struct Sm {
    schedulers: Vec<Scheduler>,
    shared: Calendar,
    lsu: LoadStoreUnit,
    l1: Tags,
    constants: Tags,
    /// Requests that wait for a line on its way, by place in `l1`.
    waiters: Vec<u32>,
    /// Line requests under way.
    outstanding: u32,
    /// Requests that could not leave because too many were under way, oldest first.
    held: std::collections::VecDeque<u32>,
    /// Warps dealt to schedulers so far.
    dealt: u32,
}

/// A GPU in time.
pub struct Machine {
    config: GpuConfig,
    queue: EventQueue<Event>,
    sms: Vec<Sm>,
    slices: Vec<Slice>,
    channels: Vec<ChannelPort>,
    /// Ports of SMs to the crossbar, and from it.
    ports_out: Vec<Port>,
    ports_in: Vec<Port>,
    tlbs: Option<Tlbs>,
    host_link: Link,
    copies: CopyStats,
    requests: Slab<Request>,
    loads: Slab<LoadOp>,
    misses: Slab<Miss>,
    warps: Vec<WarpState>,
    groups: Slab<BarrierGroup>,
    stats: MachineStats,
    /// When the last launch or copy ended.
    now: Picos,
    /// Stores and reductions on their way to L2, and when the last of those before took effect.
    stores_out: u32,
    last_store: Picos,
    /// Scratch, kept for its memory.
    lines: Vec<crate::coalesce::LineRequest>,
    opened: Vec<strata_core::WarpId>,
    done: Vec<(u64, u32)>,
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
    /// The DRAM of the configuration is impossible.
    #[error(transparent)]
    Dram(#[from] crate::dram::DramError),
    /// The program failed; the source knows how.
    #[error("the program failed")]
    Program,
}

impl Machine {
    /// A machine at rest.
    pub fn new(config: GpuConfig) -> Result<Self, MachineError> {
        let channels = (0..config.dram.channels).map(|_| ChannelPort::new(&config)).collect::<Result<_, _>>()?;
        let sm = || Sm {
            schedulers: vec![Scheduler::default(); config.sm.schedulers as usize],
            shared: Calendar::default(),
            lsu: LoadStoreUnit::new(config.sm.memory_queue),
            l1: Tags::new(l1_sets(&config), config.l1.ways),
            constants: Tags::new(
                (config.constant.size.0 / strata_core::LINE_BYTES / u64::from(config.constant.ways)).max(1) as u32,
                config.constant.ways,
            ),
            waiters: vec![NONE; (l1_sets(&config) * config.l1.ways) as usize],
            outstanding: 0,
            held: std::collections::VecDeque::new(),
            dealt: 0,
        };
        Ok(Self {
            sms: (0..config.sm.count).map(|_| sm()).collect(),
            slices: (0..config.l2.slices).map(|_| Slice::new(&config)).collect(),
            channels,
            ports_out: vec![Port::default(); config.sm.count.div_ceil(config.sm.per_port) as usize],
            ports_in: vec![Port::default(); config.sm.count.div_ceil(config.sm.per_port) as usize],
            tlbs: Tlbs::new(&config),
            host_link: Link::new(&config.host_link),
            copies: CopyStats::default(),
            queue: EventQueue::default(),
            requests: Slab::default(),
            loads: Slab::default(),
            misses: Slab::default(),
            warps: Vec::new(),
            groups: Slab::default(),
            stats: MachineStats::default(),
            now: Picos(0),
            stores_out: 0,
            last_store: Picos(0),
            lines: Vec::new(),
            opened: Vec::new(),
            done: Vec::new(),
            config,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &GpuConfig {
        &self.config
    }

    /// What was counted so far.
    pub fn reading(&self) -> Reading {
        Reading {
            machine: MachineStats { events: self.queue.taken(), ..self.stats },
            slices: self.slices.iter().map(|slice| slice.stats).collect(),
            channels: self.channels.iter().map(|port| *port.channel.stats()).collect(),
        }
    }

    /// Simulated time so far.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// The core cycle that `t` belongs to.
    fn core_cycle(&self, t: Picos) -> u64 {
        self.config.clock.core.next(t).0
    }

    /// When a core cycle begins.
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
            (sm.registers / (per_warp * warps), "registers"),
            (self.config.shared.size.0.checked_div(shared).map_or(u32::MAX, |n| n as u32), "shared memory"),
        ];
        let (ctas, what) = limits.into_iter().min_by_key(|l| l.0).unwrap_or((0, ""));
        if ctas == 0 {
            return Err(MachineError::DoesNotFit(format!(
                "{} threads, {} registers per thread and {} bytes of shared memory; it is {what} that are missing",
                needs.threads, needs.registers, needs.shared
            )));
        }
        Ok(ctas)
    }

    /// Runs a kernel from launch to end.
    pub fn run_kernel<S: GridSource>(
        &mut self,
        source: &mut S,
        needs: &KernelNeeds,
    ) -> Result<KernelTime, MachineError> {
        let per_sm = self.occupancy(needs)?;
        let start = self.config.clock.core.next(self.now).0;
        let begin = start + u64::from(self.config.launch.before);
        self.prepare(per_sm, needs);
        let sms = self.sms.len() as u32;
        let slots = (u64::from(per_sm) * u64::from(sms)).min(source.ctas()) as u32;
        let warps_per_cta = source.warps_per_cta();
        self.warps.clear();
        self.warps.resize_with((slots * warps_per_cta) as usize, WarpState::new);
        let mut views = Views::new(source.instructions());
        let mut next_cta = 0;
        for slot in 0..slots {
            let at = begin + (f64::from(slot) * self.config.launch.cta_interval) as u64;
            self.start_cta(source, slot, slot % sms, next_cta, at);
            next_cta += 1;
        }
        let issued = self.stats.thread_instructions;
        let mut end = begin;
        let mut live = u64::from(slots) * u64::from(warps_per_cta);
        // A kernel has ended when its last warp has and its stores are where everybody sees them.
        while live > 0 || self.stores_out > 0 {
            let Some((t, event)) = self.queue.pop() else {
                return Err(MachineError::Hang(self.who_waits()));
            };
            if event.kind() != Event::WARP {
                self.memory_event(t, event);
                continue;
            }
            let (index, cycle) = (event.index(), self.core_cycle(t));
            match self.run_warp(source, &mut views, index, cycle) {
                issue::Outcome::Parked => {}
                issue::Outcome::Failed => {
                    self.give_up();
                    return Err(MachineError::Program);
                }
                issue::Outcome::Exited(at) => {
                    live -= 1;
                    end = end.max(at);
                    if let Some(slot) = self.warp_left(index, warps_per_cta)
                        && next_cta < source.ctas()
                    {
                        let sm = self.warps[index as usize].sm;
                        let at = at + u64::from(self.config.sm.cta_start_cycles);
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
        self.come_to_rest();
        self.check_conservation()?;
        Ok(KernelTime {
            cycles: end - start,
            ctas_per_sm: per_sm,
            thread_instructions: self.stats.thread_instructions - issued,
        })
    }

    /// Makes the SMs ready for a kernel of which `per_sm` CTAs are resident on each.
    fn prepare(&mut self, per_sm: u32, needs: &KernelNeeds) {
        let (l1, shared) = (&self.config.l1, &self.config.shared);
        let taken = u64::from(per_sm) * needs.shared.next_multiple_of(shared.granularity.0.max(1));
        for sm in &mut self.sms {
            sm.schedulers.fill(Scheduler::default());
            sm.shared.clear();
            sm.lsu.line.clear();
            sm.dealt = 0;
            if shared.from_l1 {
                // What shared memory takes of the common array is missing from L1.
                let left = u64::from(l1.ways) * l1.size.0.saturating_sub(taken) / l1.size.0;
                sm.l1.limit_ways(left as u32);
            } else if l1.flush_at_launch {
                sm.l1.clear();
            }
        }
    }

    /// Something happens behind the SMs.
    #[inline]
    fn memory_event(&mut self, t: Picos, event: Event) {
        match event.kind() {
            Event::L2 => self.l2_arrives(event.index(), t),
            Event::CHANNEL => self.channel_acts(event.index(), t),
            Event::FILL => self.l2_fills(event.index(), t),
            Event::REPLY => self.reply_arrives(event.index(), t),
            _ => {}
        }
    }

    /// What memory still has to do is done before the next launch begins.
    fn come_to_rest(&mut self) {
        while let Some((t, event)) = self.queue.pop() {
            self.memory_event(t, event);
            self.now = self.now.max(t);
        }
    }

    /// After a failed program: its warps are gone, and what they had under way ends.
    fn give_up(&mut self) {
        self.come_to_rest();
        self.groups = Slab::default();
    }

    /// Who is under way when nothing happens any more: for the message.
    fn who_waits(&self) -> String {
        format!(
            "{} line requests, {} loads and {} L2 misses are under way, and no event is left",
            self.requests.len(),
            self.loads.len(),
            self.misses.len()
        )
    }
}

fn l1_sets(config: &GpuConfig) -> u32 {
    ((config.l1.size.0 / strata_core::LINE_BYTES) as u32 / config.l1.ways.max(1)).max(1)
}
