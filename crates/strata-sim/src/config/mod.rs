//! What a GPU is: every parameter of the machine, with its meaning.
//!
//! A configuration is data: presets live in `gpus/*.toml`, each value with its source; overrides are `key=value`. Nothing in
//! the simulator holds a number of its own that describes hardware.
//!
//! This file says what there is; beside it, `schema` says how each value is written and what it may be, `layers` and
//! [`load`] turn files and overrides into a [`Gpu`], and `checks` refuses what does not fit together.
//!
//! ```
//! use strata_sim::config::load;
//! let gpu = load("titan-v", &["l2.size=6MB"]).expect("a preset");
//! assert_eq!((gpu.config.sm.count, gpu.config.l2.ways), (80, 32));
//! let errors = load("titan-v", &["l2.slises=12"]).expect_err("misspelt");
//! assert!(errors.to_string().contains("did you mean `slices`?"));
//! ```

mod checks;
mod isa;
mod kinds;
mod layers;
mod load;
mod presets;
mod reference;
mod schema;
mod steps;
#[cfg(test)]
mod tests;

pub use load::{ConfigError, FileErrors, Gpu, Parameter, load};
pub use presets::{Preset, presets};
pub use reference::{calibration, key_reference};
pub use steps::{Step, Steps};

use crate::time::Clock;
use strata_core::Bytes;

/// A whole GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuConfig {
    /// Name of the preset.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Clock domains.
    pub clock: Clocks,
    /// Streaming multiprocessors.
    pub sm: SmConfig,
    /// Instruction latencies and intervals, and how PTX becomes machine instructions.
    pub isa: IsaConfig,
    /// First-level data cache and the path to it.
    pub l1: L1Config,
    /// Shared memory.
    pub shared: SharedConfig,
    /// Constant path.
    pub constant: ConstantConfig,
    /// Crossbar between SMs and L2 slices.
    pub crossbar: CrossbarConfig,
    /// Second-level cache.
    pub l2: L2Config,
    /// Device memory.
    pub dram: DramConfig,
    /// Memory in stacks behind links of their own.
    pub stacks: StackConfig,
    /// Kernel launches.
    pub launch: LaunchTiming,
    /// Host link.
    pub host_link: LinkConfig,
    /// Address translation; off unless enabled.
    pub tlb: TlbConfig,
    /// Energy per event.
    pub energy: EnergyConfig,
}

/// Clock domains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clocks {
    /// SMs and L1.
    pub core: Clock,
    /// Crossbar.
    pub interconnect: Clock,
    /// L2 slices.
    pub l2: Clock,
    /// DRAM command clock.
    pub dram: Clock,
}

/// Which warp a scheduler prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerPolicy {
    /// Stays with a warp until it stalls, then takes the oldest.
    GreedyThenOldest,
    /// Takes warps in turn.
    LooseRoundRobin,
}

/// A streaming multiprocessor.
#[derive(Clone, Debug, PartialEq)]
pub struct SmConfig {
    /// SMs of the GPU.
    pub count: u32,
    /// How many share one port of the crossbar.
    pub per_port: u32,
    /// Resident threads.
    pub threads: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident CTAs.
    pub ctas: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Registers are allocated to a warp in multiples of this.
    pub register_granularity: u32,
    /// Warp schedulers; warps are dealt to them in turn.
    pub schedulers: u32,
    /// Which warp is preferred.
    pub policy: SchedulerPolicy,
    /// Memory instructions that can wait for the load/store unit.
    pub memory_queue: u32,
    /// A warp leaves when all its stores are acknowledged; otherwise when they have issued.
    pub acknowledged_stores: bool,
    /// Cycles between the end of a CTA and the start of the next in its place.
    pub cta_start_cycles: u32,
    /// Lines of code that are fetched ahead of the one a warp comes to, in launches that find their caches empty; 0 means that code is
    /// always there.
    pub code_prefetch: u32,
    /// Cycles in which a barrier of a CTA counts one warp: it opens no earlier than the first warp's coming and so many cycles
    /// for each other.
    pub barrier_cycles: u32,
}

/// How an instruction class behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpTiming {
    /// Cycles until a dependent instruction can issue.
    pub latency: f64,
    /// Cycles each of its machine instructions occupies its unit for a warp, per scheduler.
    pub interval: f64,
    /// Machine instructions issued for one PTX instruction; 0 means it is folded into another.
    pub issues: f64,
    /// These machine instructions by class, in place of the three other values: each reads what the one before it writes, or with `+` what
    /// that one reads.
    pub steps: Steps,
}

/// Instruction timing and the machine view of PTX.
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Debug, PartialEq)]
pub struct IsaConfig {
    /// Rows by pattern, most specific first: opcode with modifiers (`add.s64`, `mul.lo.s32`, `ld.param`), then class names.
    pub rows: Vec<(String, OpTiming)>,
    /// Instructions ahead of the oldest unissued one that a load may be hoisted over.
    pub hoist_window: u32,
    /// Registers that hoisted loads may keep alive.
    pub hoist_registers: u32,
    /// A 64-bit addition of a product just made (`mul.wide`, `add.s64`) is one instruction with it.
    pub fuse_wide: bool,
    /// Extra cycles until a branch's target issues.
    pub branch_cycles: u32,
    /// Cycles more until a predicate decides a branch, or guards an instruction, than until it can be an operand.
    pub guard_cycles: u32,
    /// A branch over up to seven instructions is none: they issue under a predicate. A jump to what stands beside it is left out.
    pub predication: bool,
    /// Shared-memory loads through one register of words beside each other are one machine instruction up to this many bytes,
    /// if they are aligned to that.
    pub shared_merge: Bytes,
    /// The same for loads from constant memory.
    pub constant_merge: Bytes,
    /// Constants at addresses that stand in the program text are operands, not loads.
    pub constant_operands: bool,
    /// Copies of its body in which the assembler executes a loop that a counter ends; 1 means that loops stay as they are.
    pub unroll: u32,
    /// An atomic whose old value nobody reads is a reduction, which needs no reply.
    pub reductions: bool,
}

/// What a write-back cache does with a write to a line that it does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteMiss {
    /// The line is allocated and what is written stays in it, dirty.
    Keep,
    /// The write goes to memory at once, and the line is fetched.
    Fetch,
}

/// What a cache does with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// Writes go on; a line that is present is updated.
    Through,
    /// Writes stay until the line leaves.
    Back,
}

/// Where L2 slices sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceLocation {
    /// At a partition of memory: a slice holds lines of one DRAM channel only.
    Partition,
    /// At the crossbar: a slice holds lines of any channel.
    Crossbar,
}

/// The first-level data cache.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "independent properties of a cache, not states of a machine")]
pub struct L1Config {
    /// Capacity.
    pub size: Bytes,
    /// Associativity.
    pub ways: u32,
    /// 32 B sectors (true) or whole lines (false).
    pub sectored: bool,
    /// Global loads use it; if false they go straight to L2 (Pascal's default).
    pub global_loads: bool,
    /// Cycles from issue to data for a hit.
    pub latency: u32,
    /// Cycles from issue until a miss (or a bypass) leaves the SM.
    pub miss_latency: u32,
    /// Bytes a hit delivers per cycle.
    pub bytes_per_cycle: u32,
    /// Cycles that a load or store instruction occupies the load/store unit of an SM at the least.
    pub instruction_cycles: f64,
    /// Lines of a load whose tags are looked up per cycle. Beyond 1, what is read comes from 32 banks like shared memory, and
    /// takes as long as the fullest of them; at 1 a line takes a cycle at the least.
    pub lines_per_cycle: f64,
    /// Lanes of a store whose addresses are merged into sectors together: 16 or 32.
    pub store_group: u32,
    /// Outstanding lines.
    pub mshrs: u32,
    /// A store to a line that is absent brings it in.
    pub write_allocate: bool,
    /// Emptied when a kernel begins.
    pub flush_at_launch: bool,
}

/// Shared memory.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedConfig {
    /// Per SM.
    pub size: Bytes,
    /// What resident CTAs have of it is taken from the L1's capacity.
    pub from_l1: bool,
    /// The most a CTA can have.
    pub per_cta: Bytes,
    /// Allocation granularity.
    pub granularity: Bytes,
    /// Banks of 4 bytes.
    pub banks: u32,
    /// Cycles from issue to data without conflicts.
    pub latency: u32,
    /// Accesses of 8 or 16 bytes whose neighbouring lanes want the same bytes are served in half as many parts.
    pub pairs: bool,
    /// Cycles of a bank for each lane whose atomic operation goes there; 0 means that an atomic takes what a load takes.
    pub atomic_cycles: u32,
}

/// The constant path.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstantConfig {
    /// Cache per SM.
    pub size: Bytes,
    /// Associativity.
    pub ways: u32,
    /// Cycles for a hit.
    pub latency: u32,
    /// Cycles of its port for each different address that the lanes of a load read; 0 means that lines are counted instead, and
    /// the port is never busy.
    pub word_cycles: u32,
    /// Capacity of the next constant cache of an SM; 0 means that there is none and that misses go to L2.
    pub next_size: Bytes,
    /// Cycles that it takes longer.
    pub next_latency: u32,
}

/// The crossbar.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossbarConfig {
    /// Interconnect cycles from SM to slice.
    pub request_cycles: u32,
    /// Interconnect cycles from slice to SM.
    pub reply_cycles: u32,
    /// Bytes per interconnect cycle out of an SM.
    pub sm_out_bytes: u32,
    /// Bytes per interconnect cycle into an SM.
    pub sm_in_bytes: u32,
    /// Bytes per interconnect cycle into and out of a slice.
    pub slice_bytes: u32,
    /// Bytes of a request or reply without data.
    pub header_bytes: u32,
}

/// The second-level cache.
#[derive(Clone, Debug, PartialEq)]
pub struct L2Config {
    /// Slices of the cache, each with its own port of the crossbar.
    pub slices: u32,
    /// Sets of a slice.
    pub sets: u32,
    /// Ways of a set.
    pub ways: u32,
    /// 32 B sectors (true) or whole lines (false).
    pub sectored: bool,
    /// Write policy.
    pub write: WritePolicy,
    /// What a write-back cache does with a write to a line that it does not have.
    pub write_miss: WriteMiss,
    /// Where the slices sit.
    pub location: SliceLocation,
    /// L2 cycles from arrival to the data of a hit.
    pub latency: u32,
    /// L2 cycles an atomic takes longer.
    pub atomic_cycles: u32,
    /// L2 cycles of an atomic unit for each operation on one word, integers; the words of a sector are operated on together, once
    /// they are read. 0 means that an atomic takes what a read takes, however many lanes it is of.
    pub atomic_int_cycles: f64,
    /// The same for floating-point numbers.
    pub atomic_float_cycles: f64,
    /// L2 cycles of a slice that a sector takes which is written in part.
    pub partial_write_cycles: u32,
    /// Bytes a slice delivers per L2 cycle.
    pub bytes_per_cycle: u32,
    /// Outstanding lines of a slice.
    pub mshrs: u32,
    /// Requests to memory that can wait for their channel.
    pub miss_queue: u32,
    /// A dirty line is written back, and stays, once it is no longer among this share of its set that was used last; 1 turns
    /// that off.
    pub eager_write_back: f64,
    /// Share of a slice's sectors that may be dirty; beyond it, the line that has been dirty longest is written back, and stays.
    /// 1: no such cap.
    pub dirty_share: f64,
    /// A sector is valid once its bytes have been written, by however many stores; false: only if one store covers it.
    pub byte_masks: bool,
    /// Bytes of consecutive addresses that stay in one slice.
    pub interleave: Bytes,
    /// Host-to-device copies leave their lines in L2.
    pub copies_fill: bool,
}

/// Device memory. Timings are in command-clock cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct DramConfig {
    /// Capacity.
    pub size: Bytes,
    /// Channels.
    pub channels: u32,
    /// Bytes that one data-clock edge moves.
    pub bus_bytes: u32,
    /// Transfers of a burst; bus bytes times burst is one access (32 B).
    pub burst: u32,
    /// Data transfers per command-clock cycle.
    pub data_rate: u32,
    /// Bank groups.
    pub bank_groups: u32,
    /// Banks in all.
    pub banks: u32,
    /// Bytes of a row.
    pub row: Bytes,
    /// The gates.
    pub timing: DramTiming,
    /// Requests a channel can choose from.
    pub queue: u32,
    /// Writes a channel can hold; 0 means as many as `queue`.
    pub write_queue: u32,
    /// Writes waiting at which a channel turns to writing.
    pub write_high: u32,
    /// Writes waiting at which it turns back to reading.
    pub write_low: u32,
    /// L2 cycles between L2 and the channel, one way in sum: controller, not DRAM proper.
    pub controller_cycles: u32,
    /// A write can leave bytes of its sectors as they are. Memory with error correction cannot: the code is of the whole sector, so
    /// one of which L2 has only some bytes is read, merged and written.
    pub masked_writes: bool,
}

impl DramConfig {
    /// Writes a channel can hold.
    pub fn write_room(&self) -> u32 {
        if self.write_queue == 0 { self.queue } else { self.write_queue }
    }
}

/// DRAM timing gates, command-clock cycles (names as in data sheets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramTiming {
    /// Column command to column command, other bank group (`tCCD_S`).
    pub ccd: u32,
    /// Column command to column command, same bank group (`tCCD_L`); 0 means as `ccd`.
    pub ccdl: u32,
    /// Activate to activate, different banks (tRRD, `tRRD_S`).
    pub rrd: u32,
    /// Activate to activate, same bank group (`tRRD_L`); 0 means as `rrd`.
    pub rrdl: u32,
    /// A window in which at most four rows are opened (tFAW); 0 means that there is none.
    pub faw: u32,
    /// Activate to column command (tRCD).
    pub rcd: u32,
    /// Activate to precharge (tRAS).
    pub ras: u32,
    /// Precharge to activate (tRP).
    pub rp: u32,
    /// Activate to activate, same bank (tRC).
    pub rc: u32,
    /// Read command to its first data (CL).
    pub cl: u32,
    /// Write command to its first data (WL).
    pub wl: u32,
    /// Last written data to precharge (tWR).
    pub wr: u32,
    /// Last written data to read command (tCDLR, also tWTR, `tWTR_S`).
    pub cdlr: u32,
    /// Last written data to read command, same bank group (`tWTR_L`); 0 means as `cdlr`.
    pub wtrl: u32,
    /// Read command to write command (tRTW); 0 means that data follow each other after two cycles.
    pub rtw: u32,
    /// Read command to precharge (tRTP, same bank group).
    pub rtpl: u32,
    /// Refresh interval; 0 turns refresh off.
    pub refi: u32,
    /// Refresh duration.
    pub rfc: u32,
    /// Duration of the refresh of one bank (tRFCSB): every bank has its own within `refi`, and the others go on. 0 means that
    /// all banks are refreshed together.
    pub rfcsb: u32,
}

/// Memory in stacks: the channels are dealt to the stacks evenly, and each stack has a link to the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct StackConfig {
    /// How many; 0 means that channels sit at their L2 slices, with no link between.
    pub count: u32,
    /// SMs on the logic layer of each stack; only a mechanism that offloads gives them work.
    pub sms: u32,
    /// Warps that can be resident on one of these SMs.
    pub warps: u32,
    /// Core cycles between such an SM and a vault of its stack, each way.
    pub near_cycles: u32,
    /// The L1 of these SMs fetches the sectors that a load needs, whatever those of the GPU do.
    pub sectored_l1: bool,
    /// Pairs of higher address bits that the map of addresses exclusive-ors into the stack, at most two: as many bits each as name a
    /// stack.
    pub hashed_pairs: u32,
    /// Bytes of an address in a packet.
    pub address_bytes: u32,
    /// Bytes of the acknowledgement of a write or of an offloaded block.
    pub acknowledgement_bytes: u32,
    /// The link between the GPU and one stack.
    pub link: LinkConfig,
    /// The link between two stacks; there is one for each pair.
    pub cross_link: LinkConfig,
}

/// Kernel launches.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchTiming {
    /// Core cycles from the launch to the first instruction.
    pub before: u32,
    /// Core cycles from the last instruction to the end as the host sees it.
    pub after: u32,
    /// Core cycles between the starts of two CTAs.
    pub cta_interval: f64,
    /// The interval holds for every CTA; false: for those that find an empty place when the kernel begins.
    pub paced: bool,
    /// Core cycles of a launch that a profiler counts as the kernel's (`--like-ncu`).
    pub profiled: u32,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Gigabytes (10^9) per second, each way.
    pub gb_per_s: f64,
    /// Latency in nanoseconds.
    pub latency_ns: f64,
    /// Bytes added to each packet.
    pub header_bytes: u32,
}

/// Address translation.
#[derive(Clone, Debug, PartialEq)]
pub struct TlbConfig {
    /// Off: every translation is free.
    pub enabled: bool,
    /// Bytes of a page.
    pub page: Bytes,
    /// Entries of the TLB of an SM.
    pub l1_entries: u32,
    /// Entries of the shared TLB; 0: there is none.
    pub l2_entries: u32,
    /// Ways of a set, in both; 0: fully associative.
    pub ways: u32,
    /// Core cycles of a hit in the shared TLB.
    pub l2_cycles: u32,
    /// Core cycles of a walk.
    pub walk_cycles: u32,
}

/// Energy per event.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyConfig {
    /// Picojoules per activation of a row.
    pub dram_activate_pj: f64,
    /// Picojoules per byte read or written in a column access.
    pub dram_column_pj_per_byte: f64,
    /// Picojoules per bit on the DRAM interface.
    pub dram_io_pj_per_bit: f64,
    /// Picojoules per bit on a link.
    pub link_pj_per_bit: f64,
    /// Picojoules per bit that a link could have carried and did not.
    pub link_idle_pj_per_bit: f64,
    /// Picojoules per access of an L2 sector.
    pub l2_access_pj: f64,
    /// Picojoules per warp instruction.
    pub instruction_pj: f64,
    /// Watts of one SM that is switched on.
    pub sm_leakage_w: f64,
    /// Watts of everything else.
    pub other_leakage_w: f64,
}
