//! The machine view of a program: what the card would issue for a piece of PTX.
//!
//! PTX is not what a GPU executes. An assembler folds address arithmetic and conversions into other instructions, expands
//! 64-bit operations into several, and moves loads up so that several are under way at once. Timing therefore issues from
//! a view of each segment (a basic block or a part of one), made once: operations folded and expanded by the table of the
//! GPU, then loads hoisted by a bounded list scheduler. Functional execution keeps the order of the PTX.

use crate::config::{IsaConfig, OpTiming};
use strata_core::{Access, OpClass, OpInfo, Space};

/// The execution unit of a machine instruction; each scheduler has one of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Unit {
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
pub enum Action {
    /// Nothing: arithmetic and control.
    None,
    /// Reads global or local memory.
    Load,
    /// Writes global or local memory.
    Store,
    /// Read-modify-write at L2; `returns` in [`MicroOp::dst`].
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

/// One operation as the machine issues it.
#[derive(Clone, Debug)]
pub struct MicroOp {
    /// Index of the operation in its segment.
    pub index: u16,
    /// What memory does.
    pub action: Action,
    /// Its unit.
    pub unit: Unit,
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
    /// Registers written and read.
    pub dst: Box<[u32]>,
    /// See `dst`.
    pub src: Box<[u32]>,
}

/// The view of one segment.
#[derive(Clone, Debug)]
pub struct View {
    /// First program counter.
    pub first: u32,
    /// Operations of the segment in PTX.
    pub length: u32,
    /// Operations in the order of issue.
    pub ops: Box<[MicroOp]>,
    /// Machine instructions that one execution issues.
    pub issues: u32,
}

impl View {
    /// The view of the operations `first..first + infos.len()`.
    pub fn new(isa: &IsaConfig, first: u32, infos: &[OpInfo]) -> Self {
        let ops: Vec<MicroOp> = infos.iter().enumerate().map(|(k, info)| micro_op(isa, k as u16, info)).collect();
        let issues = ops.iter().map(|o| u32::from(o.issues)).sum();
        let ops = schedule(isa, ops).into_boxed_slice();
        Self { first, length: infos.len() as u32, ops, issues }
    }
}

fn micro_op(isa: &IsaConfig, index: u16, info: &OpInfo) -> MicroOp {
    let timing: OpTiming = isa.timing(&info.name, info.class);
    let action = match (info.access, info.space) {
        (Access::None | Access::Prefetch, _) if info.class == OpClass::Barrier => Action::Barrier,
        (Access::None | Access::Prefetch, _) | (_, Space::Param | Space::None) => Action::None,
        (_, Space::Shared) => Action::Shared,
        (_, Space::Const) => Action::Constant,
        (Access::Atomic | Access::Reduce, _) => Action::Atomic,
        (_, Space::Generic) => Action::Generic,
        (Access::Store, _) => Action::Store,
        _ => Action::Load,
    };
    let unit = match info.class {
        OpClass::F32 | OpClass::IntMul | OpClass::FloatDiv => Unit::Float,
        OpClass::F64 => Unit::Double,
        OpClass::F16 | OpClass::Tensor => Unit::Half,
        OpClass::Special | OpClass::Convert => Unit::Special,
        OpClass::Control | OpClass::Barrier | OpClass::Other => Unit::Control,
        OpClass::Memory | OpClass::Texture | OpClass::Collective => Unit::Memory,
        _ => Unit::Int,
    };
    MicroOp {
        index,
        action,
        unit,
        issues: timing.issues.round() as u16,
        interval: timing.interval.round() as u16,
        latency: timing.latency.round() as u16,
        bypass_l1: info.bypass_l1,
        read_only: info.read_only,
        width: info.width,
        dst: info.dst.iter().copied().collect(),
        src: info.src.iter().copied().collect(),
    }
}

/// True if an operation keeps its place: others do not move across it.
fn is_fence(op: &MicroOp) -> bool {
    matches!(op.action, Action::Atomic | Action::Barrier)
}

/// Moves loads (and what they need) up, at most `hoist_window` operations, as long as the registers they keep alive fit.
fn schedule(isa: &IsaConfig, ops: Vec<MicroOp>) -> Vec<MicroOp> {
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
        let load = (oldest..fence).find(|&k| !done[k] && is_load(&ops[k]) && room);
        let chosen = load.map_or(oldest, |l| first_ready_for(l, &waits_for, &done));
        debug_assert!(ready(chosen, &done));
        done[chosen] = true;
        if is_load(&ops[chosen]) && chosen != oldest {
            kept_alive += ops[chosen].dst.len();
        } else if chosen == oldest {
            kept_alive = kept_alive.saturating_sub(ops[chosen].src.len());
        }
        order.push(chosen);
    }
    let mut slots: Vec<Option<MicroOp>> = ops.into_iter().map(Some).collect();
    order.into_iter().filter_map(|k| slots[k].take()).collect()
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

fn is_load(op: &MicroOp) -> bool {
    matches!(op.action, Action::Load | Action::Shared | Action::Generic | Action::Constant) && !op.dst.is_empty()
}

fn is_store(op: &MicroOp) -> bool {
    match op.action {
        Action::Store => true,
        Action::Shared | Action::Generic => op.dst.is_empty(),
        _ => false,
    }
}

/// True if `later` must stay behind `earlier`.
fn depends(earlier: &MicroOp, later: &MicroOp) -> bool {
    let touch = |a: &[u32], b: &[u32]| a.iter().any(|r| b.contains(r));
    touch(&earlier.dst, &later.src)
        || touch(&earlier.src, &later.dst)
        || touch(&earlier.dst, &later.dst)
        || is_fence(earlier)
        || is_fence(later)
        || (is_store(earlier) && (is_load(later) || is_store(later)))
        || (is_load(earlier) && is_store(later))
        || later.unit == Unit::Control
}
