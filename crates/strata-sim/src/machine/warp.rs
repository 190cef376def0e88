//! A warp's timing state: the operations that it has not issued yet, and its scoreboard.

use super::NONE;
use crate::view::MicroOp;
use strata_core::{OpBatch, Stop, prefetch};

/// When a register is ready, as the scoreboard keeps it: twice the core cycle, and one more if memory brings its value, so
/// that the latest of several also says what was waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ready(u64);

impl Ready {
    /// Reserved: the value waits for memory.
    pub(super) const PENDING: Self = Self(u64::MAX);

    pub(super) const fn at(cycle: u64) -> Self {
        Self(cycle << 1)
    }

    pub(super) const fn from_memory_at(cycle: u64) -> Self {
        Self(cycle << 1 | 1)
    }

    pub(super) const fn cycle(self) -> u64 {
        self.0 >> 1
    }

    pub(super) const fn is_from_memory(self) -> bool {
        self.0 & 1 != 0
    }
}

/// A segment that was asked for before its time; `stop` is what comes after it, `None` if there is no such segment.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) batch: OpBatch,
    pub(super) stop: Option<Stop>,
}

/// A cycle that never comes.
pub(super) const NEVER: u64 = u64::MAX;

const _: () = assert!(size_of::<WarpState>() == 192);

/// The timing state of a resident warp: three cache lines of the host.
#[repr(align(64))]
pub(super) struct WarpState {
    pub(super) sm: u32,
    /// Its CTA, by its number in the grid.
    pub(super) cta: u64,
    /// How many warps had this place before: what comes for one of those comes too late.
    pub(super) epoch: u32,
    pub(super) scheduler: u32,
    /// What it did functionally and has not issued yet.
    pub(super) batch: OpBatch,
    /// View of the batch, [`NONE`] if a new segment is needed.
    pub(super) view: u32,
    /// Next operation of the view.
    pub(super) next: u32,
    /// Issue slots that this operation has already taken.
    pub(super) slots_taken: u16,
    /// When the operation took its last slot, if it has them all and its cycle is still to come; else [`NEVER`].
    pub(super) issued: u64,
    /// What comes after the batch.
    pub(super) stop: Stop,
    /// The batch is of several turns of a loop, each operation of each once.
    pub(super) unrolled: bool,
    /// Code of the batch was not at its SM when it began.
    pub(super) fetches: bool,
    /// The segment after the batch, if it was asked for to see whether it is one more turn.
    pub(super) ahead: Option<Box<Ahead>>,
    /// When each register is ready, by slot of the view.
    pub(super) ready: Vec<Ready>,
    /// The next operation issues no earlier than this.
    pub(super) time: u64,
    /// Core cycle at which it became resident.
    pub(super) started: u64,
    /// The slot of the register it waits for, or [`NONE`].
    pub(super) blocked: u32,
    /// The barrier group that lets it go, once its members are known.
    pub(super) group: u32,
    /// It has issued its barrier and waits.
    pub(super) at_barrier: bool,
    /// Stores that keep it from retiring: those without a page, which may have to be replayed, and, if it is configured so,
    /// those that are not acknowledged.
    pub(super) pending_stores: u32,
    /// It has exited, and its retirement is deferred for those stores or by the pager.
    pub(super) held: bool,
    pub(super) exited: bool,
}

impl WarpState {
    pub(super) fn new() -> Self {
        // With room for the registers of a usual kernel: thousands of warps need not grow theirs segment by segment.
        Self::with_buffers(OpBatch::with_room(), None, Vec::with_capacity(32))
    }

    fn with_buffers(batch: OpBatch, ahead: Option<Box<Ahead>>, ready: Vec<Ready>) -> Self {
        Self {
            sm: 0,
            cta: 0,
            epoch: 0,
            scheduler: 0,
            batch,
            view: NONE,
            next: 0,
            slots_taken: 0,
            issued: NEVER,
            stop: Stop::Ready,
            unrolled: false,
            fetches: false,
            ahead,
            ready,
            time: 0,
            started: 0,
            blocked: NONE,
            group: NONE,
            at_barrier: false,
            pending_stores: 0,
            held: false,
            exited: false,
        }
    }

    /// A warp of a new CTA in the place of an old one, whose buffers it keeps.
    pub(super) fn restart(&mut self, cta: u64, sm: u32, scheduler: u32, at: u64) {
        let (mut batch, mut ready) = (std::mem::take(&mut self.batch), std::mem::take(&mut self.ready));
        let mut ahead = self.ahead.take();
        if let Some(ahead) = &mut ahead {
            ahead.stop = None;
        }
        batch.clear();
        ready.fill(Ready::at(0));
        let epoch = self.epoch + 1;
        *self = Self { sm, cta, epoch, scheduler, time: at, started: at, ..Self::with_buffers(batch, ahead, ready) };
    }

    /// Asks the host's caches for its scoreboard and its operations.
    #[inline]
    pub(super) fn prefetch(&self) {
        for ready in self.ready.chunks(8).take(3) {
            prefetch(&ready[0]);
        }
        if let Some(op) = self.batch.ops.get(self.next as usize) {
            prefetch(op);
        }
        if let Some(set) = self.batch.addresses.first() {
            prefetch(set);
        }
    }

    /// True if it waits for a register.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked != NONE
    }

    /// The program counter of an operation of its view.
    #[inline]
    pub(super) fn pc_of(&self, op: &MicroOp) -> u32 {
        let ops = &self.batch.ops;
        if self.unrolled {
            ops[usize::from(op.index)].pc
        } else {
            ops.first().map_or(0, |o| o.pc) + u32::from(op.index)
        }
    }

    /// Takes the segment that was asked for before its time as its batch, if there is one, and says what comes after it.
    pub(super) fn take_ahead(&mut self) -> Option<Stop> {
        let ahead = self.ahead.as_mut()?;
        let stop = ahead.stop.take()?;
        std::mem::swap(&mut self.batch, &mut ahead.batch);
        Some(stop)
    }

    /// Adds the turn of a loop that was asked for to the batch, if it is one like the first.
    pub(super) fn append_turn(&mut self, length: usize) -> bool {
        let Self { batch, ahead: Some(ahead), .. } = self else { return false };
        let alike = ahead.stop == Some(Stop::Ready)
            && ahead.batch.ops.len() == length
            && ahead
                .batch
                .ops
                .iter()
                .zip(&batch.ops)
                .all(|(next, first)| (next.pc, next.mask) == (first.pc, first.mask));
        if alike {
            batch.append(&ahead.batch);
            ahead.stop = None;
        }
        alike
    }

    /// The operations of the batch that an operation of its view stands for: one, or one per memory if a generic access
    /// was split.
    pub(super) fn executed(&self, op: &MicroOp) -> &[strata_core::WarpOp] {
        let ops = &self.batch.ops;
        let index = usize::from(op.index);
        if self.unrolled {
            return &ops[index..=index];
        }
        let pc = ops[0].pc + u32::from(op.index);
        if ops.get(index).is_some_and(|o| o.pc == pc) && ops.get(index + 1).is_none_or(|o| o.pc != pc) {
            return &ops[index..=index];
        }
        let first = ops.partition_point(|o| o.pc < pc);
        &ops[first..first + ops[first..].partition_point(|o| o.pc == pc)]
    }
}
