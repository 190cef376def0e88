//! The offload seam: whether a warp runs a block of code on an SM of a memory stack.

use super::SideCount;
use crate::time::Picos;
use strata_core::{LANES, LaneMask, LineAddr, OpInfo, WarpId};

/// The number of a memory stack, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StackId(pub u32);

/// A block of code that may be offloaded: what the machine has to know of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Program counter of its first instruction.
    pub begin: u32,
    /// Program counter of its last instruction, inclusive.
    pub end: u32,
    /// Program counter at which warps enter it, from `begin` to `end`.
    pub entry: u32,
    /// Live-in registers of a thread, of 32 bits: sent to the stack with the block.
    pub live_in: u32,
    /// Live-out registers of a thread, of 32 bits: sent back with the acknowledgement.
    pub live_out: u32,
    /// Registers whose values the mechanism wants to see when a warp enters.
    pub conditions: Vec<u32>,
}

/// A warp reaches the entry of a candidate.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Index among the candidates of the kernel.
    pub candidate: usize,
    /// The warp, by its slot among the resident ones.
    pub warp: WarpId,
    /// Active lanes.
    pub lanes: LaneMask,
    /// What the registers that the candidate names hold, lane by lane.
    pub values: &'a [[i64; LANES]],
    /// It is in this instance already: it came while the mechanism learned, and is at the head of its loop again.
    pub again: bool,
    /// It is on a stack, behind a block that it ran there, and would stay ([`NextBlock::OnStack`]).
    pub on_stack: bool,
}

/// Load of a stack, as the channel busy monitor sees it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StackUse {
    /// Blocks that were sent to it and have not been acknowledged.
    pub pending: u32,
    /// Use of the link from the GPU to it in the last window: 1 is all the time.
    pub tx: f64,
    /// Use of the link from it to the GPU.
    pub rx: f64,
    /// Use of the issue slots of its SM.
    pub issue: f64,
    /// Core cycles that its SM needs to issue what pending blocks have not issued yet, for each instruction of the block that is
    /// decided on. Instances of a candidate are taken to be as long as those that have come back; 0 while none has.
    pub queue: f64,
}

/// The cost model of offloading, fixed for a machine.
#[allow(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Core cycles of the pipeline for an offload.
    pub pipeline_cycles: u32,
    /// Core cycles over which the use of links and SMs is measured, at least.
    pub window_cycles: u64,
    /// Bytes that a register of a warp takes on a link.
    pub register_bytes: u64,
    /// Bytes of the request to run a block, besides its registers.
    pub request_bytes: u64,
    /// What an access to the host's memory takes while data are there ([`Offload::is_at_host`]), whatever else is on the way;
    /// none is the latency of the GPU's host link.
    pub host_latency: Option<Picos>,
    /// Nothing is sent, nothing has to be kept coherent, and all data are where the block runs: what no machine can do.
    pub is_ideal: bool,
    /// Caches are kept coherent, as they must be. Without it nothing of it is charged, and data are not right: to see what it
    /// costs.
    pub is_coherent: bool,
    /// The SM of a stack drops its cache at every spawn; else only where the block might find old data in it.
    pub drops_at_every_spawn: bool,
    /// Which stack a mechanism is asked about.
    pub follows: Follows,
    /// A block whose first page is at the host is offloaded like another and faults on the stack; else it stays.
    pub follows_absent_pages: bool,
    /// What a warp does that comes from a block on a stack straight to another.
    pub next: NextBlock,
}

/// What names the stack that a block may run on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Follows {
    /// Its first access.
    #[default]
    FirstAccess,
    /// Most of the lines that its first segment accesses, but for those that all lanes share.
    MostLines,
}

/// Where a warp begins a block that it comes to straight from one that it ran on a stack.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum NextBlock {
    /// On the GPU: it goes back first.
    #[default]
    FromGpu,
    /// On the stack, if the mechanism considers it.
    OnStack,
}

impl Default for Terms {
    /// Registers of 4 B for each lane cross with two program counters and a mask; the rest is free.
    fn default() -> Self {
        Self {
            pipeline_cycles: 0,
            window_cycles: 1_000,
            register_bytes: 4 * LANES as u64,
            request_bytes: 3 * 4,
            host_latency: None,
            is_ideal: false,
            is_coherent: true,
            drops_at_every_spawn: false,
            follows: Follows::FirstAccess,
            follows_absent_pages: false,
            next: NextBlock::FromGpu,
        }
    }
}

impl Terms {
    /// True if coherence is kept and charged.
    pub const fn keeps_coherent(&self) -> bool {
        self.is_coherent && !self.is_ideal
    }
}

/// Decides which blocks are offloaded.
pub trait Offload: Send {
    /// The candidates of a kernel that begins.
    fn candidates(&mut self, instructions: &[OpInfo]) -> Vec<Candidate>;

    /// The cost model; asked once, when the machine is built.
    fn terms(&self) -> Terms;

    /// A warp comes to a candidate: false if it shall stay whatever its data are. Every instance is told, once; one that came
    /// while the mechanism observed, and goes round in a loop, once more when it does not.
    fn consider(&mut self, arrival: &Arrival<'_>) -> bool;

    /// The first access of an instance that was considered is to a line on the stack `first`: where it shall run, if not
    /// here. `uses` has all stacks.
    fn decide(&mut self, candidate: usize, first: StackId, uses: &[StackUse]) -> Option<StackId>;

    /// True if the mechanism wants to hear of accesses within candidates.
    fn wants_accesses(&self) -> bool {
        false
    }

    /// A warp within a candidate accesses a line. True: enough has been learned, as with [`Offload::exited`].
    fn accessed_line(&mut self, _warp: WarpId, _line: LineAddr) -> bool {
        false
    }

    /// A warp has left its candidate. True: what was learned changes where lines live, so the machine stops, comes to rest,
    /// empties its caches and goes on ([`Offload::remapped`]).
    fn exited(&mut self, _warp: WarpId) -> bool {
        false
    }

    /// True while data are in the memory of the host, and accesses that miss in the caches go there.
    fn is_at_host(&self) -> bool {
        false
    }

    /// The machine is at rest: from now on lines live elsewhere. Core cycles until warps go on.
    fn remapped(&mut self) -> u64 {
        0
    }

    /// Its own counters.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
