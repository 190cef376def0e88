//! A kernel written down instruction by instruction: a source of warps for machines, recorders and drivers.

use crate::instr::{Data, Instr, Kind, WORD};
use crate::memory::{Line, Memory};
use strata_core::{
    Addr, AddressSet, GridSource, LANES, LaneMask, LineAddr, OpBatch, OpInfo, Pattern, Space, Stop, WarpId, WarpOp,
    WarpSource,
};

/// One executed operation, as a source tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Op {
    /// Program counter.
    pub pc: u32,
    /// Lanes that took part.
    pub mask: LaneMask,
    /// Where they went, if anywhere: the space, generic addresses resolved, and the address of each lane (0 outside the mask).
    pub addresses: Option<(Space, [u64; LANES])>,
}

/// What one call of [`WarpSource::advance`] gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The operations, oldest first.
    pub ops: Vec<Op>,
    /// Why it ended.
    pub stop: Stop,
}

/// What every warp of a grid does, segment by segment: by CTA, and by warp of the CTA.
pub type Streams = Vec<Vec<Vec<Segment>>>;

/// A grid of scripted warps.
///
/// Warps are lists of [`Instr`]. Instructions are numbered through, warp after warp: the first of the first warp has program
/// counter 0 and PTX line 1. Each is a segment of its own, and so is the end of a warp ([`segments_of`](Self::segments_of) makes
/// longer ones); so what it writes is in memory when it issues. A CTA's barrier opens when all its warps wait there or have exited.
///
/// With values ([`Instr::word`], [`Instr::bytes`], [`on_memory`](Self::on_memory)) it holds the memory that it writes to.
///
/// ```
/// use strata_core::{Addr, GridSource, OpBatch, Stop, WarpId, WarpSource};
/// use strata_testkit::{Instr, Script};
///
/// let warp = [Instr::load(0x1000), Instr::store(0x2000).word(7)];
/// let mut script = Script::new(&[warp]).grid(4, 0x100);
/// script.start_cta(0, 3);
/// let mut batch = OpBatch::default();
/// assert_eq!(script.advance(WarpId(0), &mut batch), Stop::Ready);
/// assert_eq!(script.advance(WarpId(0), &mut batch), Stop::Ready);
/// assert_eq!(batch.lanes(&batch.addresses[1])[0], Addr(0x2300));
/// assert_eq!(script.memory().line(Addr(0x2300).line())[0], 7);
/// ```
#[derive(Clone, Debug)]
pub struct Script {
    infos: Vec<OpInfo>,
    /// Programs, which the warps of the grid take in turn.
    programs: Vec<Vec<Piece>>,
    ctas: u64,
    warps_per_cta: u32,
    cta_stride: u64,
    warp_stride: u64,
    local_stride: u64,
    memory: Option<Memory>,
    slots: Vec<Slot>,
    opened: Vec<WarpId>,
}

/// A segment of a program.
#[derive(Clone, Debug)]
struct Piece {
    steps: Vec<Step>,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Ready,
    /// Until so many warps wait, or all that have not exited.
    Barrier(Option<u32>),
    Exited,
    Failed,
}

/// An operation of a segment.
#[derive(Clone, Debug)]
struct Step {
    pc: u32,
    mask: LaneMask,
    space: Space,
    lanes: Lanes,
    data: Data,
    /// Atomics add.
    adds: bool,
}

/// Where the lanes of an operation go.
#[derive(Clone, Debug)]
enum Lanes {
    Nowhere,
    Same(u64),
    Sequence(u64),
    Anywhere(Box<[u64; LANES]>),
}

/// A resident CTA.
#[derive(Clone, Default, Debug)]
struct Slot {
    cta: u64,
    /// By warp: its next segment, and whether it waits at a barrier.
    next: Vec<usize>,
    waiting: Vec<bool>,
    /// Warps that the barrier waits for.
    expected: Option<u32>,
}

impl Script {
    /// One CTA of these warps.
    pub fn new<W: AsRef<[Instr]>>(warps: &[W]) -> Self {
        let instructions = || warps.iter().flat_map(AsRef::as_ref);
        let infos = instructions().zip(1..).map(|(instr, line)| instr.info(line)).collect();
        let has_values = instructions().any(|instr| instr.data != Data::None);
        let mut pc = 0;
        let programs = warps.iter().map(|warp| pieces(warp.as_ref(), &mut pc)).collect();
        Self { memory: has_values.then(Memory::default), ..Self::of_pieces(infos, programs) }
    }

    /// Plays what another source told: these instructions, and what each warp did.
    pub fn of_streams(infos: Vec<OpInfo>, streams: &Streams) -> Self {
        let programs = streams.iter().flatten().map(|warp| warp.iter().map(Piece::of).collect()).collect();
        let warps = streams.first().map_or(0, Vec::len) as u32;
        Self { ctas: streams.len() as u64, warps_per_cta: warps, ..Self::of_pieces(infos, programs) }
    }

    fn of_pieces(infos: Vec<OpInfo>, programs: Vec<Vec<Piece>>) -> Self {
        Self {
            infos,
            ctas: u64::from(!programs.is_empty()),
            warps_per_cta: programs.len() as u32,
            programs,
            cta_stride: 0,
            warp_stride: 0,
            local_stride: 0,
            memory: None,
            slots: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// So many CTAs, which take the scripted warps in turn; the addresses of CTA `n` lie `n * stride` bytes further on.
    #[must_use]
    pub fn grid(self, ctas: u64, stride: u64) -> Self {
        Self { ctas, cta_stride: stride, ..self }
    }

    /// So many warps in a CTA, which take the scripted warps in turn; the addresses of warp `n` of a CTA lie `n * stride` bytes
    /// further on. Warps that take the same script have the same program counters.
    #[must_use]
    pub fn warps(self, warps_per_cta: u32, stride: u64) -> Self {
        Self { warps_per_cta, warp_stride: stride, ..self }
    }

    /// Every scripted warp is a CTA of its own.
    #[must_use]
    pub fn one_warp_per_cta(self) -> Self {
        let ctas = self.programs.len() as u64;
        self.warps(1, 0).grid(ctas, 0)
    }

    /// Up to so many instructions are pulled at once, which a machine may issue in an order of its own; the last ones together with
    /// the end of the warp. A barrier always ends a segment.
    #[must_use]
    pub fn segments_of(mut self, instructions: usize) -> Self {
        for program in &mut self.programs {
            let mut joined: Vec<Piece> = Vec::new();
            for piece in program.drain(..) {
                match joined.last_mut() {
                    Some(last) if last.end == End::Ready && last.steps.len() + piece.steps.len() <= instructions => {
                        last.steps.extend(piece.steps);
                        last.end = piece.end;
                    }
                    _ => joined.push(piece),
                }
            }
            *program = joined;
        }
        self
    }

    /// Local memory of CTA slot `n` lies `n * bytes` further on.
    #[must_use]
    pub fn local_memory(self, bytes: u64) -> Self {
        Self { local_stride: bytes, ..self }
    }

    /// Memory holds this when the kernel begins.
    #[must_use]
    pub fn on_memory(self, memory: Memory) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// What memory holds.
    pub fn memory(&self) -> &Memory {
        const EMPTY: &Memory = &Memory::EMPTY;
        self.memory.as_ref().unwrap_or(EMPTY)
    }

    /// What memory holds in the end, for the next kernel.
    pub fn into_memory(self) -> Memory {
        self.memory.unwrap_or_default()
    }
}

/// The segments of a warp, one per instruction and one for its end; `pc` counts on.
fn pieces(warp: &[Instr], pc: &mut u32) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(warp.len());
    for instr in warp {
        let end = if let Kind::Barrier(expected) = instr.kind { End::Barrier(expected) } else { End::Ready };
        pieces.push(Piece { steps: vec![Step::of(instr, *pc)], end });
        *pc += 1;
    }
    pieces.push(Piece { steps: Vec::new(), end: End::Exited });
    pieces
}

impl Piece {
    fn of(segment: &Segment) -> Self {
        let end = match segment.stop {
            Stop::Ready => End::Ready,
            Stop::Barrier => End::Barrier(None),
            Stop::Exited => End::Exited,
            Stop::Failed => End::Failed,
        };
        let step = |op: &Op| Step {
            pc: op.pc,
            mask: op.mask,
            space: op.addresses.map_or(Space::None, |(space, _)| space),
            lanes: op.addresses.map_or(Lanes::Nowhere, |(_, lanes)| Lanes::Anywhere(Box::new(lanes))),
            data: Data::None,
            adds: false,
        };
        Self { steps: segment.ops.iter().map(step).collect(), end }
    }
}

impl Step {
    fn of(instr: &Instr, pc: u32) -> Self {
        let lanes = match instr.stride {
            _ if instr.space == Space::None => Lanes::Nowhere,
            0 => Lanes::Same(instr.address),
            _ if instr.lanes == 1 => Lanes::Same(instr.address),
            WORD => Lanes::Sequence(instr.address),
            _ => Lanes::Anywhere(Box::new(std::array::from_fn(|lane| instr.lane(lane)))),
        };
        let adds = matches!(instr.kind, Kind::Atomic | Kind::Reduce);
        Self { pc, mask: instr.lanes, space: instr.space, lanes, data: instr.data, adds }
    }

    /// Tells what it does, its addresses moved on by so many bytes.
    fn tell(&self, moved: u64, out: &mut OpBatch) {
        let addresses =
            if matches!(self.lanes, Lanes::Nowhere) { WarpOp::NO_ADDRESSES } else { out.addresses.len() as u32 };
        out.ops.push(WarpOp { pc: self.pc, mask: self.mask, addresses });
        let pattern = match &self.lanes {
            Lanes::Nowhere => return,
            Lanes::Anywhere(lanes) => return out.scatter(self.mask, self.space, &lanes.map(|a| a.wrapping_add(moved))),
            Lanes::Same(address) => Pattern::Same(Addr(address + moved)),
            Lanes::Sequence(first) => Pattern::Sequence { first: Addr(first + moved), step: WORD as u32 },
        };
        out.addresses.push(AddressSet { mask: self.mask, space: self.space, pattern });
    }

    /// Writes what it writes.
    fn write(&self, moved: u64, memory: &mut Memory) {
        for lane in (0..LANES).filter(|lane| self.mask >> lane & 1 != 0) {
            let Some(word) = self.data.of_lane(lane) else { return };
            let at = Addr(match &self.lanes {
                Lanes::Nowhere => return,
                Lanes::Same(address) => *address,
                Lanes::Sequence(first) => first + lane as u64 * WORD,
                Lanes::Anywhere(lanes) => lanes[lane],
            });
            if self.adds {
                memory.add(at.offset(moved), u32::from_le_bytes(word));
            } else {
                memory.write(at.offset(moved), &word);
            }
        }
    }
}

impl WarpSource for Script {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let warps = self.warps_per_cta as usize;
        let (number, warp) = (w.0 as usize / warps, w.0 as usize % warps);
        let slot = &mut self.slots[number];
        let program_of = |warp: usize| ((slot.cta * warps as u64 + warp as u64) % self.programs.len() as u64) as usize;
        let Some(piece) = self.programs[program_of(warp)].get(slot.next[warp]) else { return Stop::Exited };
        slot.next[warp] += 1;
        let moved = slot.cta * self.cta_stride + warp as u64 * self.warp_stride;
        for step in &piece.steps {
            let moved = if step.space == Space::Local { moved + number as u64 * self.local_stride } else { moved };
            step.tell(moved, out);
            if let Some(memory) = &mut self.memory {
                step.write(moved, memory);
            }
        }
        let stop = match piece.end {
            End::Ready => return Stop::Ready,
            End::Failed => return Stop::Failed,
            End::Exited => Stop::Exited,
            End::Barrier(expected) => {
                (slot.waiting[warp], slot.expected) = (true, expected);
                Stop::Barrier
            }
        };
        let waiting = slot.waiting.iter().filter(|waits| **waits).count();
        let exited = |warp: usize| slot.next[warp] >= self.programs[program_of(warp)].len();
        let opens = match slot.expected {
            Some(expected) => waiting >= expected as usize,
            None => (0..warps).all(|warp| slot.waiting[warp] || exited(warp)),
        };
        if waiting > 0 && opens {
            for (warp, waits) in slot.waiting.iter_mut().enumerate() {
                if std::mem::take(waits) {
                    self.opened.push(WarpId((number * warps + warp) as u32));
                }
            }
        }
        stop
    }
}

impl GridSource for Script {
    fn instructions(&self) -> &[OpInfo] {
        &self.infos
    }

    fn ctas(&self) -> u64 {
        self.ctas
    }

    fn warps_per_cta(&self) -> u32 {
        self.warps_per_cta
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        let slot = slot as usize;
        self.slots.resize(self.slots.len().max(slot + 1), Slot::default());
        let state = &mut self.slots[slot];
        (state.cta, state.expected) = (number, None);
        state.next.clear();
        state.next.resize(self.warps_per_cta as usize, 0);
        state.waiting.clear();
        state.waiting.resize(self.warps_per_cta as usize, false);
    }

    fn take_opened(&mut self, out: &mut Vec<WarpId>) {
        out.append(&mut self.opened);
    }

    fn read_line(&self, line: LineAddr, out: &mut Line) {
        if let Some(memory) = &self.memory {
            *out = memory.line(line);
        }
    }
}
