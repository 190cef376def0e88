//! The machine view of a program: what the card would issue for a piece of PTX.
//!
//! PTX is not what a GPU executes. An assembler folds address arithmetic and conversions into other instructions, expands
//! 64-bit operations into several, and moves loads up so that several are under way at once. Timing therefore issues from
//! a view of each segment (a basic block or a part of one), made once: operations folded and expanded by the table of the
//! GPU, then loads hoisted by a bounded list scheduler. Functional execution keeps the order of the PTX.

use crate::config::{IsaConfig, OpTiming};
use crate::expand::expand;
use crate::unroll::{Copied, is_counted_loop, unroll};
use std::collections::BTreeMap;
use strata_core::{Access, OpClass, OpInfo, OpKind, Space};

/// The execution unit of a machine instruction; each scheduler has one of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ExecutionUnit {
    /// Integer and logic.
    Int,
    /// Single precision.
    Float,
    /// Double precision.
    Double,
    /// Half precision.
    Half,
    /// Special functions.
    Special,
    /// Branches and everything without a unit of its own.
    Control,
    /// Load/store.
    Memory,
}

/// Units of a scheduler.
pub const UNITS: usize = 7;

/// What the memory system has to do for an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryClass {
    /// Nothing: arithmetic and control.
    None,
    /// Reads global or local memory.
    Load,
    /// Writes global or local memory.
    Store,
    /// Read-modify-write at L2; returns something if it has a target.
    Atomic,
    /// Shared memory, in either direction.
    Shared,
    /// Constant bank.
    Constant,
    /// Decided by the addresses: generic.
    Generic,
    /// Waits at a CTA barrier, if the warp stopped there.
    Barrier,
}

/// What an atomic operation computes with: units for floating-point numbers are slower.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicNumbers {
    /// Integers, bits and exchanges.
    Integers,
    /// Floating-point numbers.
    Floats,
}

/// One operation as the machine issues it.
#[derive(Clone, Debug)]
pub struct MicroOp {
    /// Index of the operation in its segment.
    pub index: u16,
    /// What memory does.
    pub memory: MemoryClass,
    /// The execution unit that it occupies for `interval` cycles.
    pub unit: ExecutionUnit,
    /// Issue slots it takes; 0 if it is folded.
    pub issues: u16,
    /// Cycles of its unit.
    pub interval: u16,
    /// Cycles until dependents can issue.
    pub latency: u16,
    /// Loads may bypass L1.
    pub bypass_l1: bool,
    /// Goes through the read-only path.
    pub read_only: bool,
    /// Bytes per lane.
    pub width: u8,
    /// What it reads and writes at once, wherever that is, if it does.
    pub atomic: Option<AtomicNumbers>,
    /// Where its registers stand in [`View::slots`]: those written, then those read.
    first_slot: u32,
    targets: u8,
    sources: u8,
}

impl MicroOp {
    /// True for what takes one issue slot, or none, and ends after its latency, whatever memory and other warps do: arithmetic.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.memory == MemoryClass::None && self.issues <= 1 && self.unit != ExecutionUnit::Control
    }

    /// How many registers it writes.
    #[inline]
    pub(crate) fn targets(&self) -> usize {
        usize::from(self.targets)
    }
}

/// The view of one segment.
#[derive(Clone, Debug)]
pub struct View {
    /// Operations of the segment in PTX.
    pub length: u32,
    /// Operations in the order of issue.
    pub ops: Vec<MicroOp>,
    /// Machine instructions that one execution issues.
    pub issues: u32,
    /// Slots of the scoreboard that a warp needs for this view.
    pub scoreboard: usize,
    /// Copies of the segment that it stands for: a loop that the assembler unrolls.
    pub copies: u32,
    /// It is the body of such a loop.
    pub counted: bool,
    /// Some of its loads may be joined when the first warp has shown what they read (`joined.rs`).
    pub joinable: bool,
    /// Slots of the scoreboard that the operations touch.
    slots: Vec<u16>,
}

impl View {
    /// The view of the operations `first..first + infos.len()`, one after another so many times.
    pub fn new(isa: &IsaConfig, registers: &mut Registers, first: u32, infos: &[OpInfo], copies: u32) -> Self {
        let once = |(k, info): (usize, &OpInfo)| Copied { index: k as u16, info: info.clone(), folded: false };
        let operations: Vec<Copied> = if copies > 1 {
            unroll(infos, copies, registers.count())
        } else {
            infos.iter().enumerate().map(once).collect()
        };
        let operations = expand(isa, operations, registers.count() + copies * infos.len() as u32 * MOST_WRITTEN);
        let written = |copied: &Copied| &infos[usize::from(copied.index) % infos.len()];
        let mut ops: Vec<Draft<'_>> =
            operations.iter().map(|copied| draft(isa, registers, written(copied), copied)).collect();
        if isa.fuse_wide {
            fuse_wide(&mut ops);
        }
        let issues = ops.iter().map(|o| u32::from(o.op.issues)).sum();
        let mut slots = Vec::new();
        let mut locals = BTreeMap::new();
        let last = first + infos.len() as u32 - 1;
        let ops: Vec<_> = schedule(isa, ops)
            .into_iter()
            .map(|draft| {
                let first_slot = slots.len() as u32;
                let (dst, src) = (&draft.info.dst, &draft.info.src);
                let unread = draft.op.memory == MemoryClass::Atomic && isa.reductions && !registers.any_read(dst);
                let dst = if unread { &[][..] } else { dst };
                slots.extend(dst.iter().chain(src).map(|&r| registers.slot(r, first, last, &mut locals)));
                MicroOp { first_slot, targets: dst.len() as u8, sources: src.len() as u8, ..draft.op }
            })
            .collect();
        let scoreboard = slots.iter().max().map_or(0, |&s| usize::from(s) + 1);
        let loads = |memory, bytes: u64| bytes > 4 && ops.iter().filter(|op| op.memory == memory).count() > 1;
        let joinable =
            loads(MemoryClass::Shared, isa.shared_merge.0) || loads(MemoryClass::Constant, isa.constant_merge.0);
        let counted = isa.unroll > 1 && is_counted_loop(infos);
        Self { length: infos.len() as u32, ops, issues, scoreboard, copies, counted, joinable, slots }
    }

    /// Makes one load of `bytes` of several, lowest address first; it issues where the first of them did.
    pub(crate) fn join(&mut self, members: &[usize], bytes: u8) {
        let Some((&lowest, &leader)) = members.first().zip(members.iter().min()) else { return };
        let first_slot = self.slots.len() as u32;
        for &member in members {
            let targets = self.targets(&self.ops[member]).to_vec();
            self.slots.extend(targets);
        }
        let targets = (self.slots.len() as u32 - first_slot) as u8;
        let sources = self.sources(&self.ops[leader]).to_vec();
        self.slots.extend(sources);
        let index = self.ops[lowest].index;
        self.ops[leader] = MicroOp { index, width: bytes, first_slot, targets, ..self.ops[leader].clone() };
        let mut at = 0;
        self.ops.retain(|op| {
            let stays = at == leader || !members.contains(&at);
            self.issues -= if stays { 0 } else { u32::from(op.issues) };
            at += 1;
            stays
        });
    }

    /// The slots that an operation writes.
    #[inline]
    pub fn targets(&self, op: &MicroOp) -> &[u16] {
        let first = op.first_slot as usize;
        &self.slots[first..first + usize::from(op.targets)]
    }

    /// The slots that an operation reads.
    pub(crate) fn sources(&self, op: &MicroOp) -> &[u16] {
        &self.slots[op.first_slot as usize + usize::from(op.targets)..][..usize::from(op.sources)]
    }

    /// The slots that an operation writes or reads.
    #[inline]
    pub fn touched(&self, op: &MicroOp) -> &[u16] {
        let first = op.first_slot as usize;
        &self.slots[first..first + usize::from(op.targets) + usize::from(op.sources)]
    }
}

/// The most registers that an operation writes.
const MOST_WRITTEN: u32 = 8;

/// Which slot of a warp's scoreboard stands for a register.
///
/// A program has thousands of virtual registers, most of them used within one segment only. Those share slots from one
/// segment to the next, so that the scoreboard of a warp stays within a few cache lines. Slots with even numbers belong to
/// registers that live across segments, odd ones to those of the segment at hand.
pub struct Registers {
    /// First and last program counter at which each register stands.
    extents: Vec<(u32, u32)>,
    /// Which of them any instruction reads.
    read: Vec<bool>,
    /// Which of them decide branches, alone or with others.
    guards: Vec<bool>,
    /// Slots of the registers that live across segments, as far as they were met.
    lasting: Vec<Option<u16>>,
    lasting_count: u32,
}

impl Registers {
    /// Of a kernel.
    pub fn new(isa: &IsaConfig, infos: &[OpInfo]) -> Self {
        let named = |info: &OpInfo| info.dst.iter().chain(&info.src).copied().collect::<Vec<_>>();
        let registers = infos.iter().flat_map(named).max().map_or(0, |r| r as usize + 1);
        let mut extents = vec![(u32::MAX, 0); registers];
        let mut read = vec![false; registers];
        for &r in infos.iter().flat_map(|info| &info.src) {
            read[r as usize] = true;
        }
        let mut guards = vec![false; registers];
        for &r in infos.iter().filter(|info| info.class == OpClass::Control).flat_map(|info| &info.src) {
            guards[r as usize] = true;
        }
        // A predicate that is folded into a branch is read there.
        for info in infos.iter().rev().filter(|info| info.class == OpClass::Predicate) {
            if info.dst.iter().any(|&r| guards[r as usize]) && isa.timing(&info.name, info.class).issues == 0.0 {
                info.src.iter().for_each(|&r| guards[r as usize] = true);
            }
        }
        for (pc, info) in infos.iter().enumerate() {
            for &r in info.dst.iter().chain(&info.src) {
                let (first, last) = &mut extents[r as usize];
                *first = (*first).min(pc as u32);
                *last = pc as u32;
            }
        }
        Self { extents, read, guards, lasting: vec![None; registers], lasting_count: 0 }
    }

    /// True if one of these decides a branch.
    fn any_guards(&self, registers: &[u32]) -> bool {
        registers.iter().any(|&r| self.guards[r as usize])
    }

    /// True if an instruction of the kernel reads one of these.
    fn any_read(&self, registers: &[u32]) -> bool {
        registers.iter().any(|&r| self.read[r as usize])
    }

    /// How many the kernel has.
    fn count(&self) -> u32 {
        self.extents.len() as u32
    }

    /// The slot of a register in the segment `first..=last`. Beyond 32,768 registers of a kind, slots are shared: two
    /// registers may then wait for each other, and nothing worse.
    fn slot(&mut self, register: u32, first: u32, last: u32, locals: &mut BTreeMap<u32, u16>) -> u16 {
        // Registers beyond those of the kernel are of the copies of an unrolled loop.
        let extent = self.extents.get(register as usize).copied().unwrap_or((first, last));
        if extent.0 >= first && extent.1 <= last {
            let next = locals.len() as u32;
            return *locals.entry(register).or_insert((next << 1 | 1) as u16);
        }
        let count = &mut self.lasting_count;
        *self.lasting[register as usize].get_or_insert_with(|| {
            *count += 1;
            ((*count - 1) << 1) as u16
        })
    }
}

/// An operation before it has its slots.
struct Draft<'a> {
    op: MicroOp,
    info: &'a OpInfo,
}

/// A machine instruction of an operation that is written so in PTX.
fn draft<'a>(isa: &IsaConfig, registers: &Registers, written: &OpInfo, copied: &'a Copied) -> Draft<'a> {
    let info = &copied.info;
    let timing = timing(isa, registers, written, info);
    let at_barrier = matches!(info.kind, OpKind::CtaBarrier | OpKind::CtaArrival);
    let memory = match (info.access, info.space) {
        (Access::None | Access::Prefetch, _) if at_barrier => MemoryClass::Barrier,
        (Access::None | Access::Prefetch, _) | (_, Space::Param | Space::None) => MemoryClass::None,
        (_, Space::Shared) => MemoryClass::Shared,
        (_, Space::Const) => MemoryClass::Constant,
        (Access::Atomic | Access::Reduce, _) => MemoryClass::Atomic,
        (_, Space::Generic) => MemoryClass::Generic,
        (Access::Store, _) => MemoryClass::Store,
        _ => MemoryClass::Load,
    };
    let unit = match info.class {
        OpClass::Control if isa.predication && info.kind == OpKind::ShortSkip => ExecutionUnit::Int,
        OpClass::F32 | OpClass::IntMul | OpClass::FloatDiv => ExecutionUnit::Float,
        OpClass::F64 => ExecutionUnit::Double,
        OpClass::F16 | OpClass::Tensor => ExecutionUnit::Half,
        OpClass::Special | OpClass::Convert => ExecutionUnit::Special,
        OpClass::Control | OpClass::Barrier | OpClass::Other => ExecutionUnit::Control,
        OpClass::Memory | OpClass::Texture | OpClass::Collective => ExecutionUnit::Memory,
        _ => ExecutionUnit::Int,
    };
    // A constant whose address the program text has is an operand of the instruction that uses it.
    let is_operand = isa.constant_operands && memory == MemoryClass::Constant && info.src.is_empty();
    let is_atomic = matches!(info.access, Access::Atomic | Access::Reduce);
    let op = MicroOp {
        index: copied.index,
        memory: if is_operand { MemoryClass::None } else { memory },
        unit,
        issues: if is_operand || copied.folded { 0 } else { timing.issues.round() as u16 },
        interval: timing.interval.round() as u16,
        latency: timing.latency.round() as u16,
        bypass_l1: info.bypass_l1,
        read_only: info.read_only,
        width: info.width,
        atomic: is_atomic
            .then(|| if names_float(&info.name) { AtomicNumbers::Floats } else { AtomicNumbers::Integers }),
        first_slot: 0,
        targets: 0,
        sources: 0,
    };
    Draft { op, info }
}

/// How long an operation takes, where it stands.
fn timing(isa: &IsaConfig, registers: &Registers, written: &OpInfo, info: &OpInfo) -> OpTiming {
    let mut timing = isa.timing(&info.name, info.class);
    // Comparisons within a division or a root decide about what follows there.
    let guards = written.class != OpClass::Predicate || registers.any_guards(&written.dst);
    if info.class == OpClass::Predicate && guards {
        timing.latency += f64::from(isa.guard_cycles);
    }
    match info.kind {
        // One issue slot stands for those of what is skipped, which waits for the predicate.
        OpKind::ShortSkip if isa.predication => OpTiming { latency: 1.0, interval: 1.0, ..timing },
        OpKind::NeedlessJump if isa.predication => OpTiming { issues: 0.0, ..timing },
        _ => timing,
    }
}

/// True if an instruction is spelt with a floating-point type.
fn names_float(name: &str) -> bool {
    name.split('.').any(|part| matches!(part, "f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f64"))
}

/// Folds each 64-bit addition into the wide product that it adds, if nobody else reads that.
fn fuse_wide(ops: &mut [Draft<'_>]) {
    for product in 0..ops.len() {
        let OpInfo { kind, dst, .. } = ops[product].info;
        if *kind != OpKind::WideProduct {
            continue;
        }
        let mut readers = (product + 1..ops.len()).filter(|&k| ops[k].info.src.iter().any(|r| dst.contains(r)));
        if let (Some(sum), None) = (readers.next(), readers.next())
            && ops[sum].info.kind == OpKind::Sum64
        {
            ops[sum].op.issues = 0;
        }
    }
}

/// True if an operation keeps its place: others do not move across it.
fn is_fence(op: &Draft<'_>) -> bool {
    matches!(op.op.memory, MemoryClass::Atomic | MemoryClass::Barrier)
}

/// Moves loads (and what they need) up, at most `hoist_window` operations, as long as the registers they keep alive fit.
fn schedule<'a>(isa: &IsaConfig, ops: Vec<Draft<'a>>) -> Vec<Draft<'a>> {
    let n = ops.len();
    let window = isa.hoist_window as usize;
    if window == 0 || n < 3 {
        return ops;
    }
    // Predecessors of each operation: those whose registers it touches, and memory it must not pass.
    let mut waits_for: Vec<Vec<usize>> = vec![Vec::new(); n];
    for later in 0..n {
        for earlier in (later.saturating_sub(window)..later).rev() {
            if depends(&ops[earlier], &ops[later]) {
                waits_for[later].push(earlier);
            }
        }
    }
    let mut done = vec![false; n];
    let mut order = Vec::with_capacity(n);
    let mut oldest = 0;
    let mut kept_alive = 0;
    while order.len() < n {
        while done[oldest] {
            oldest += 1;
        }
        let end = (oldest + window).min(n);
        let ready = |k: usize, done: &[bool]| !done[k] && waits_for[k].iter().all(|&p| done[p]);
        let fence = (oldest..end).find(|&k| !done[k] && is_fence(&ops[k])).unwrap_or(end);
        let room = kept_alive < isa.hoist_registers as usize;
        // The next load that can go, or what stands between it and its address.
        let load = room.then(|| next_load(&ops, &done, oldest..fence, isa.unroll > 1)).flatten();
        let chosen = load.map_or(oldest, |l| first_ready_for(l, &waits_for, &done));
        debug_assert!(ready(chosen, &done));
        done[chosen] = true;
        if is_load(&ops[chosen]) && chosen != oldest {
            kept_alive += ops[chosen].info.dst.len();
        } else if chosen == oldest {
            kept_alive = kept_alive.saturating_sub(ops[chosen].info.src.len());
        }
        order.push(chosen);
    }
    let mut slots: Vec<Option<Draft<'_>>> = ops.into_iter().map(Some).collect();
    order.into_iter().filter_map(|k| slots[k].take()).collect()
}

/// The load that is moved up next: the first, or, if an assembler like that is imitated, the first of those that go far.
fn next_load(ops: &[Draft<'_>], done: &[bool], range: std::ops::Range<usize>, far_first: bool) -> Option<usize> {
    let mut loads = range.filter(|&k| !done[k] && is_load(&ops[k]));
    let goes_far = |k: &usize| !matches!(ops[*k].op.memory, MemoryClass::Shared | MemoryClass::Constant);
    let first = loads.clone().next();
    if far_first { loads.find(goes_far).or(first) } else { first }
}

/// The first operation that `target` still waits for, itself if there is none.
fn first_ready_for(target: usize, waits_for: &[Vec<usize>], done: &[bool]) -> usize {
    let mut at = target;
    // Predecessors are always earlier, so this ends.
    while let Some(&p) = waits_for[at].iter().rev().find(|&&p| !done[p]) {
        at = p;
    }
    at
}

fn is_load(op: &Draft<'_>) -> bool {
    matches!(op.op.memory, MemoryClass::Load | MemoryClass::Shared | MemoryClass::Generic | MemoryClass::Constant)
        && !op.info.dst.is_empty()
}

fn is_store(op: &Draft<'_>) -> bool {
    match op.op.memory {
        MemoryClass::Store => true,
        MemoryClass::Shared | MemoryClass::Generic => op.info.dst.is_empty(),
        _ => false,
    }
}

/// True if two accesses may meet: shared memory and the rest are apart, unless one of them is generic.
fn same_memory(a: &Draft<'_>, b: &Draft<'_>) -> bool {
    let generic = a.op.memory == MemoryClass::Generic || b.op.memory == MemoryClass::Generic;
    generic || (a.op.memory == MemoryClass::Shared) == (b.op.memory == MemoryClass::Shared)
}

/// True if `later` must stay behind `earlier`.
fn depends(earlier: &Draft<'_>, later: &Draft<'_>) -> bool {
    let touch = |a: &[u32], b: &[u32]| a.iter().any(|r| b.contains(r));
    touch(&earlier.info.dst, &later.info.src)
        || touch(&earlier.info.src, &later.info.dst)
        || touch(&earlier.info.dst, &later.info.dst)
        || is_fence(earlier)
        || is_fence(later)
        || same_memory(earlier, later)
            && (is_store(earlier) && (is_load(later) || is_store(later)) || is_load(earlier) && is_store(later))
        || later.op.unit == ExecutionUnit::Control
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    /// An operation of a kind that writes register `dst` and reads `src`.
    fn info(kind: OpKind, dst: u32, src: &[u32]) -> OpInfo {
        OpInfo {
            class: OpClass::Int64,
            kind,
            space: Space::None,
            access: Access::None,
            width: 0,
            bypass_l1: false,
            read_only: false,
            dst: std::iter::once(dst).collect(),
            src: src.iter().copied().collect(),
            line: 1,
            name: "anything".into(),
        }
    }

    fn view(infos: &[OpInfo]) -> View {
        let isa = load("titan-v", &[""; 0]).expect("a preset").config.isa;
        View::new(&isa, &mut Registers::new(&isa, infos), 0, infos, 1)
    }

    fn issues_of(view: &View, index: u16) -> u16 {
        view.ops.iter().find(|op| op.index == index).expect("an operation").issues
    }

    #[test]
    fn a_sum_is_folded_into_the_wide_product_that_nobody_else_reads() {
        let (product, sum) = (info(OpKind::WideProduct, 1, &[0]), info(OpKind::Sum64, 2, &[1, 3]));
        assert_eq!(issues_of(&view(&[product.clone(), sum.clone()]), 1), 0);
        let read_again = [product.clone(), sum.clone(), info(OpKind::Plain, 4, &[1])];
        assert!(issues_of(&view(&read_again), 1) > 0);
        assert!(issues_of(&view(&[info(OpKind::Plain, 1, &[0]), sum]), 1) > 0);
        assert!(issues_of(&view(&[product, info(OpKind::Plain, 2, &[1, 3])]), 1) > 0);
    }

    /// A comparison that writes register 1, and what reads it.
    fn compared(reader: OpInfo) -> [OpInfo; 2] {
        let compare = OpInfo { class: OpClass::Predicate, name: "setp.lt.s32".into(), ..info(OpKind::Plain, 1, &[0]) };
        [compare, reader]
    }

    fn branch(kind: OpKind) -> OpInfo {
        OpInfo { class: OpClass::Control, dst: [].into_iter().collect(), name: "bra".into(), ..info(kind, 9, &[1]) }
    }

    #[test]
    fn a_predicate_decides_a_branch_later_than_it_is_an_operand() {
        let latency = |infos: &[OpInfo]| view(infos).ops[0].latency;
        let operand = latency(&compared(info(OpKind::Plain, 2, &[1])));
        assert_eq!(latency(&compared(branch(OpKind::Plain))), operand + 8);
        // Also if it does so together with another, which takes no instruction.
        let [first, second] = compared(branch(OpKind::Plain));
        let both = OpInfo { class: OpClass::Predicate, name: "and.pred".into(), ..info(OpKind::Plain, 2, &[1]) };
        let decides = OpInfo { src: std::iter::once(2).collect(), ..second };
        assert_eq!(latency(&[first, both, decides]), operand + 8);
    }

    #[test]
    fn a_short_skip_is_an_issue_slot_and_a_needless_jump_is_nothing() {
        let last = |kind| view(&compared(branch(kind))).ops[1].clone();
        let (skip, jump, real) = (last(OpKind::ShortSkip), last(OpKind::NeedlessJump), last(OpKind::Plain));
        assert!(skip.is_plain() && skip.issues == 1 && skip.interval == 1);
        assert_eq!(jump.issues, 0);
        assert!(!real.is_plain() && real.unit == ExecutionUnit::Control);
    }

    #[test]
    fn waiting_and_arriving_at_a_barrier_of_the_cta_are_fences() {
        for (kind, memory) in [
            (OpKind::CtaBarrier, MemoryClass::Barrier),
            (OpKind::CtaArrival, MemoryClass::Barrier),
            (OpKind::Plain, MemoryClass::None),
        ] {
            assert_eq!(view(&[info(kind, 1, &[])]).ops[0].memory, memory, "{kind:?}");
        }
    }
}
