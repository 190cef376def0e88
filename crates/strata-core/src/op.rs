//! What a warp does, as seen from outside the warp.
//!
//! A kernel has one table of [`OpInfo`], indexed by program counter, that says everything which is the same each time an
//! instruction runs. A [`WarpOp`] adds what differs: the active lanes and, for memory operations, 32 addresses. So the
//! stream a timing model pulls costs 12 bytes per arithmetic instruction.

use crate::addr::{Addr, LINE_BYTES, LineAddr};
use arrayvec::ArrayVec;

/// Threads of one warp.
pub const LANES: usize = 32;

/// One bit per lane of a warp; bit `i` is lane `i`.
pub type LaneMask = u32;

/// The unit an instruction occupies; the timing model gives each class a latency and a throughput.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum OpClass {
    /// Moves, selects and address conversions.
    Move,
    /// 32-bit (and narrower) integer and logic operations.
    Int,
    /// 64-bit integer and logic operations.
    Int64,
    /// Integer multiplication and multiply-add.
    IntMul,
    /// Integer division and remainder (many machine instructions).
    IntDiv,
    /// Half-precision arithmetic (f16, bf16 and their pairs).
    F16,
    /// Single-precision addition, multiplication, fused multiply-add, comparison.
    F32,
    /// Double-precision arithmetic.
    F64,
    /// Division and square root with IEEE rounding (many machine instructions).
    FloatDiv,
    /// The special-function unit: `rcp sqrt rsqrt sin cos ex2 lg2 tanh` in approximate form.
    Special,
    /// Conversions between types.
    Convert,
    /// Comparisons and predicate logic.
    Predicate,
    /// Branches, calls, returns, exits.
    Control,
    /// CTA and warp barriers, fences.
    Barrier,
    /// Data exchange inside a warp: shuffles, votes, matches, reductions.
    Collective,
    /// Anything that names a memory space: loads, stores, atomics, prefetches, asynchronous copies.
    Memory,
    /// Tensor-core operations.
    Tensor,
    /// Texture and surface operations.
    Texture,
    /// What has no other home (`nanosleep`, `pmevent`, …).
    Other,
}

impl OpClass {
    /// Every class, in the order of its number.
    pub const ALL: [Self; 19] = [
        Self::Move,
        Self::Int,
        Self::Int64,
        Self::IntMul,
        Self::IntDiv,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::FloatDiv,
        Self::Special,
        Self::Convert,
        Self::Predicate,
        Self::Control,
        Self::Barrier,
        Self::Collective,
        Self::Memory,
        Self::Tensor,
        Self::Texture,
        Self::Other,
    ];

    /// The name used in statistics: `int_mul`, `f32`, …
    pub const fn name(self) -> &'static str {
        match self {
            Self::Move => "move",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::IntMul => "int_mul",
            Self::IntDiv => "int_div",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::FloatDiv => "float_div",
            Self::Special => "special",
            Self::Convert => "convert",
            Self::Predicate => "predicate",
            Self::Control => "control",
            Self::Barrier => "barrier",
            Self::Collective => "collective",
            Self::Memory => "memory",
            Self::Tensor => "tensor",
            Self::Texture => "texture",
            Self::Other => "other",
        }
    }
}

/// Where a memory operation goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Space {
    /// Not a memory operation.
    #[default]
    None,
    /// Device memory, global or managed.
    Global,
    /// Per-CTA scratchpad.
    Shared,
    /// Per-thread memory; lives in device memory, one word of 32 lanes to a line.
    Local,
    /// Constant bank.
    Const,
    /// Kernel and function parameters.
    Param,
    /// Decided per lane, by address window, when the instruction runs.
    Generic,
}

/// What a memory operation does to its location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Access {
    /// No access.
    #[default]
    None,
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, writes and returns the old value.
    Atomic,
    /// Reads and writes, returns nothing.
    Reduce,
    /// Global to shared without a register in between (`cp.async`).
    Copy,
    /// A hint that needs no answer.
    Prefetch,
}

/// What an operation does where its class does not say enough for whoever times or records it.
///
/// The front end that decodes a program decides it; nobody behind it reads the spelling of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum OpKind {
    /// Its class, space and access say it all.
    #[default]
    Plain,
    /// Comes to a barrier of its CTA and waits there for the others.
    CtaBarrier,
    /// Comes to a barrier of its CTA and goes on.
    CtaArrival,
    /// A product of integers, twice as wide as its factors.
    WideProduct,
    /// A sum of two 64-bit integers without carry; one of a wide product may be issued together with the product.
    Sum64,
    /// Branches back to the beginning of a loop that the program says is not to be unrolled.
    RolledLoop,
    /// Branches forward over a few instructions, which an assembler executes under a predicate instead.
    ShortSkip,
    /// A jump that an assembler leaves out: what it jumps to, or over, stands beside it.
    NeedlessJump,
}

impl OpKind {
    /// Every kind, in the order of its number.
    pub const ALL: [Self; 8] = [
        Self::Plain,
        Self::CtaBarrier,
        Self::CtaArrival,
        Self::WideProduct,
        Self::Sum64,
        Self::RolledLoop,
        Self::ShortSkip,
        Self::NeedlessJump,
    ];
}

/// Everything about a static instruction that does not change from one execution to the next.
#[derive(Clone, Debug)]
pub struct OpInfo {
    /// The unit it occupies.
    pub class: OpClass,
    /// What it does beyond that.
    pub kind: OpKind,
    /// Where it goes, if it is a memory operation.
    pub space: Space,
    /// What it does there.
    pub access: Access,
    /// Bytes per lane (a vector counts whole), 0 if not a memory operation.
    pub width: u8,
    /// True for accesses that must not be served by L1 (`volatile`, `.cg`, `.cv`, `.relaxed` and stronger).
    pub bypass_l1: bool,
    /// True for loads through the read-only path (`ld.global.nc`).
    pub read_only: bool,
    /// Registers written, by number in the function (not the packed slot).
    pub dst: ArrayVec<u32, 8>,
    /// Registers read, guard predicate included.
    pub src: ArrayVec<u32, 32>,
    /// Line of the PTX file.
    pub line: u32,
    /// The instruction as written, without operands: `add.s64`. It is for messages, and to find the row of a GPU's table
    /// of instructions.
    pub name: Box<str>,
}

/// One executed warp instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpOp {
    /// Index into the kernel's table of [`OpInfo`].
    pub pc: u32,
    /// Lanes that took part (guard predicate applied).
    pub mask: LaneMask,
    /// Index into [`OpBatch::addresses`], or [`WarpOp::NO_ADDRESSES`].
    pub addresses: u32,
}

impl WarpOp {
    /// The operation touches no memory.
    pub const NO_ADDRESSES: u32 = u32::MAX;
}

/// How the addresses of a warp lie. Most warps touch neighbours or one place: those need no list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// All lanes at one address.
    Same(Addr),
    /// Lane `l` at `first + l * step`; `step` is the bytes of a lane.
    Sequence {
        /// Where lane 0 goes.
        first: Addr,
        /// Bytes from one lane to the next.
        step: u32,
    },
    /// Each half of the warp by itself: lane `l` of the first at `first + l * step`, of the second `apart` bytes behind that.
    /// So do rows of 16 threads; `step` is the bytes of a lane, or 0 if the half is at one address.
    HalfWarps {
        /// Where lane 0 goes.
        first: Addr,
        /// Bytes from lane 0 to lane 16.
        apart: i32,
        /// Bytes from one lane to the next.
        step: u16,
    },
    /// Anywhere: an index into [`OpBatch::scattered`].
    Scattered(u32),
}

const _: () = assert!(size_of::<AddressSet>() == 24);

/// Where the lanes of one memory operation go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressSet {
    /// The lanes it is about. A generic access whose lanes differ in space makes one set per space.
    pub mask: LaneMask,
    /// The space, generic addresses resolved.
    pub space: Space,
    /// The addresses. Shared ones are offsets in the CTA's shared memory; local ones are device addresses.
    pub pattern: Pattern,
}

/// What a warp did since it was last asked: operations in order, and the addresses they refer to.
///
/// The buffers are reused: [`OpBatch::clear`] keeps their capacity.
#[derive(Default, Debug)]
pub struct OpBatch {
    /// The operations, oldest first.
    pub ops: Vec<WarpOp>,
    /// Address sets that `ops` refer to.
    pub addresses: Vec<AddressSet>,
    /// Addresses of the sets without a pattern; lanes outside the mask hold [`Addr`] 0.
    pub scattered: Vec<[Addr; LANES]>,
}

impl OpBatch {
    /// An empty batch with room for a segment of usual length: thousands of warps need not grow theirs step by step.
    pub fn with_room() -> Self {
        Self { ops: Vec::with_capacity(32), addresses: Vec::with_capacity(4), scattered: Vec::new() }
    }

    /// Empties the batch, keeps the memory.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.addresses.clear();
        self.scattered.clear();
    }

    /// Adds what another batch holds.
    pub fn append(&mut self, other: &Self) {
        let (sets, scattered) = (self.addresses.len() as u32, self.scattered.len() as u32);
        let moved = |op: &WarpOp| WarpOp { addresses: op.addresses.saturating_add(sets), ..*op };
        self.ops.extend(other.ops.iter().map(moved));
        self.addresses.extend(other.addresses.iter().map(|set| match set.pattern {
            Pattern::Scattered(index) => AddressSet { pattern: Pattern::Scattered(index + scattered), ..*set },
            _ => *set,
        }));
        self.scattered.extend_from_slice(&other.scattered);
    }

    /// Adds a set of addresses that lie anywhere; those of lanes outside `mask` are not looked at.
    #[inline]
    pub fn scatter(&mut self, mask: LaneMask, space: Space, addresses: &[u64; LANES]) {
        let pattern = Pattern::Scattered(self.scattered.len() as u32);
        if self.scattered.capacity() == 0 {
            // Mostly it is one, and thousands of warps have a batch.
            self.scattered.reserve_exact(1);
        }
        self.scattered.push(if mask == LaneMask::MAX {
            addresses.map(Addr)
        } else {
            // Without branches: masks of programs that diverge are hard to foresee.
            std::array::from_fn(|l| Addr(addresses[l] & u64::from(mask >> l & 1).wrapping_neg()))
        });
        self.addresses.push(AddressSet { mask, space, pattern });
    }

    /// The addresses of a set, one per lane; lanes outside its mask hold [`Addr`] 0.
    #[inline]
    pub fn lanes(&self, set: &AddressSet) -> [Addr; LANES] {
        let mut made = [Addr(0); LANES];
        *self.lanes_in(set, &mut made)
    }

    /// The same without a copy of those that are listed; others are made in `room`.
    #[inline]
    pub fn lanes_in<'a>(&'a self, set: &AddressSet, room: &'a mut [Addr; LANES]) -> &'a [Addr; LANES] {
        if let Pattern::Scattered(index) = set.pattern {
            return &self.scattered[index as usize];
        }
        *room = std::array::from_fn(|l| if set.mask >> l & 1 != 0 { self.lane(set, l) } else { Addr(0) });
        room
    }

    /// Where the first lane of a set goes; `None` if it is about no lane.
    pub fn first_address(&self, set: &AddressSet) -> Option<Addr> {
        (set.mask != 0).then(|| self.lane(set, set.mask.trailing_zeros() as usize))
    }

    #[inline]
    fn lane(&self, set: &AddressSet, lane: usize) -> Addr {
        match set.pattern {
            Pattern::Same(address) => address,
            Pattern::Sequence { first, step } => first.offset(lane as u64 * u64::from(step)),
            Pattern::HalfWarps { first, apart, step } => {
                let half = if lane < LANES / 2 { first } else { Addr(first.0.wrapping_add_signed(apart.into())) };
                half.offset((lane % (LANES / 2)) as u64 * u64::from(step))
            }
            Pattern::Scattered(index) => self.scattered[index as usize][lane],
        }
    }
}

/// Names one resident warp of a warp source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WarpId(pub u32);

/// Why [`WarpSource::advance`] came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The warp can be advanced again.
    Ready,
    /// The last operation of the batch is a CTA barrier and the warp waits there; advance others first.
    Barrier,
    /// All lanes have exited.
    Exited,
    /// The program failed; the source holds the error.
    Failed,
}

/// Something a timing model can pull warp operations from: the emulator, or a recorded trace.
pub trait WarpSource {
    /// Runs warp `w` over its next *segment* and appends what it did to `out`.
    ///
    /// A segment is the rest of a basic block, cut after an operation by which threads wait for each other (a barrier, an
    /// atomic, a volatile or acquiring access). It takes functional effect at once: a timing model that asks for a
    /// segment when its first operation can issue sees global effects in issue order, segment by segment, and is free to
    /// issue the operations of one segment in the order an assembler would have chosen.
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop;
}

/// A program counter of a kernel at which somebody wants to see registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchPoint {
    /// The program counter.
    pub pc: u32,
    /// The registers, by number in the function as in [`OpInfo::src`].
    pub registers: Vec<u32>,
}

/// How soon something is needed, for those who ask the host's caches for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearness {
    /// First call: what is found without looking at anything else.
    Far,
    /// Second call: what is found through that.
    Middle,
    /// Third call: all the rest.
    Near,
}

/// A launch whose CTAs and warps are run on demand: what a timing model drives.
pub trait GridSource: WarpSource {
    /// The static instructions, indexed by [`WarpOp::pc`].
    fn instructions(&self) -> &[OpInfo];
    /// CTAs of the grid.
    fn ctas(&self) -> u64;
    /// Warps of a CTA.
    fn warps_per_cta(&self) -> u32;
    /// Where in the program's source an instruction comes from, for people: `bfs.cu:31`, or the line of the PTX file if that is all
    /// that is known; none for a source that knows no file.
    fn place(&self, _pc: u32) -> Option<String> {
        None
    }
    /// Makes CTA `number` resident in `slot`, whose former CTA has exited; slots are used densely from 0. Its warp `w`
    /// is then warp `slot * warps_per_cta + w`.
    fn start_cta(&mut self, slot: u32, number: u64);
    /// Warps that waited at a CTA barrier and can go on since the last call, appended to `out`.
    fn take_opened(&mut self, out: &mut Vec<WarpId>);
    /// Warp `w` will be advanced soon: a source may ask the host's caches for its state. Called several times, nearer each time,
    /// so that what is found by way of something else can be asked for when that is there.
    #[inline]
    fn prefetch(&self, _w: WarpId, _how_near: Nearness) {}
    /// The bytes that a line of device memory holds now; a source without values leaves `out` as it is.
    fn read_line(&self, _line: LineAddr, _out: &mut [u8; LINE_BYTES as usize]) {}
    /// From now on segments end before these program counters; a source that cannot do so ignores it.
    fn watch(&mut self, _points: &[WatchPoint]) {}
    /// Values of the registers of the watched point at which the last segment of [`WarpSource::advance`] began, before it
    /// did anything; 32-bit ones with their sign. Empty elsewhere, and for a source without values.
    fn watched(&self) -> &[[i64; LANES]] {
        &[]
    }
}
