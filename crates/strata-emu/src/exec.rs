//! What a decoded instruction sees when it runs.

use crate::check::Checker;
use crate::fault::Cause;
use crate::kernel::Test;
use crate::launch::LaunchState;
use crate::races::Races;
use crate::warp::Exchange;
use crate::watch::Watch;
use std::ptr::NonNull;
use strata_core::{LANES, LaneMask, OpBatch};

/// Bytes of one unit of the register file: 32 lanes of 4 bytes.
pub(crate) const UNIT_BYTES: usize = 4 * LANES;

/// Where an operand lives: a unit of the frame's registers, or of the function's constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    const CONSTANT: u32 = 1 << 31;

    pub(crate) const fn register(unit: u32) -> Self {
        Self(unit)
    }

    pub(crate) const fn constant(unit: u32) -> Self {
        Self(unit | Self::CONSTANT)
    }

    /// True if it is one of the function's constants.
    pub(crate) const fn is_constant(self) -> bool {
        self.0 & Self::CONSTANT != 0
    }
}

/// What to do after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Flow {
    /// Go on.
    Next,
    /// The warp's scheduler has to act: the instruction is a barrier, or a collective that lacks members.
    Wait,
    /// `Exec::cause` says what went wrong.
    Fault,
}

/// The allocation that a static memory instruction last touched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TouchedRange {
    /// Address of its first byte.
    pub(crate) start: u64,
    /// Size; 0 matches nothing.
    pub(crate) size: u64,
}

/// Predicate 0 of each frame is always true, predicate 1 is the carry flag.
pub(crate) const TRUE_PREDICATE: u16 = 0;
/// The carry flag of extended-precision arithmetic.
pub(crate) const CARRY_PREDICATE: u16 = 1;
/// First predicate that a program's registers get.
pub(crate) const FIRST_PREDICATE: u16 = 2;

/// What an instruction sees: the frame of one split of one warp, and the machine around it.
pub(crate) struct Exec<'l> {
    /// First unit of the frame.
    pub(crate) regs: *mut u8,
    /// First predicate of the frame.
    pub(crate) preds: *mut u32,
    /// Constants of the running function.
    pub(crate) consts: *const u8,
    /// Shared memory of the CTA.
    pub(crate) shared: *mut u8,
    /// Bytes of shared memory that the CTA has.
    pub(crate) shared_bytes: u64,
    /// Where device address 0 would be on the host.
    pub(crate) origin: *mut u8,
    /// One entry per static memory instruction of the kernel.
    pub(crate) touched: *mut TouchedRange,
    /// Device address of the warp's local memory, and its size per lane.
    pub(crate) local: u64,
    pub(crate) local_bytes: u64,
    /// Offset of the frame in each lane's local memory.
    pub(crate) local_frame: u64,
    /// Lanes of the warp that have not exited.
    pub(crate) live: LaneMask,
    /// The whole mask of the running split, before guards.
    pub(crate) active: LaneMask,
    /// Running function: index into the kernel's functions.
    pub(crate) code: u32,
    /// Linear number of the CTA, and of the warp in it.
    pub(crate) cta: u64,
    pub(crate) warp: u32,
    /// Slot of the CTA among the resident ones.
    pub(crate) resident: u32,
    /// Warp instructions so far: the clock of a machine without time.
    pub(crate) clock: u64,
    /// True after an instruction with which programs wait for other threads: a volatile, relaxed or acquiring access, an
    /// atomic that changed nothing (a lock not taken), a sleep.
    pub(crate) synchronised: bool,
    /// True after an atomic that changed memory, or a fence: seldom a sign of waiting, but it can be.
    pub(crate) communicated: bool,
    /// Exchange area of the warp's collectives, once it had one.
    pub(crate) exchange: *mut Option<Box<Exchange>>,
    /// Bytes read and written in device memory.
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) divisions_by_zero: u64,
    /// Where operations and addresses go if somebody listens: the batch of the call of `advance` that is under way.
    pub(crate) sink: Option<NonNull<OpBatch>>,
    /// Looks at accesses to shared and local memory; only in checked launches.
    pub(crate) checker: Option<Box<Checker>>,
    /// Looks for races; only in launches that ask for it.
    pub(crate) races: Option<Box<Races>>,
    /// Where somebody wants to see registers.
    pub(crate) watch: Option<Box<Watch>>,
    /// What went wrong, set before `Flow::Fault`.
    pub(crate) cause: Option<Box<Cause>>,
    /// What all CTAs of the launch share: kernel, shape, parameters, device memory.
    pub(crate) launch: &'l LaunchState<'l>,
}

impl Exec<'_> {
    /// Where to read an operand.
    #[inline(always)]
    pub(crate) fn read_slot(&self, s: Slot) -> *const u8 {
        let base = if s.0 & Slot::CONSTANT == 0 { self.regs.cast_const() } else { self.consts };
        base.wrapping_add((s.0 & !Slot::CONSTANT) as usize * UNIT_BYTES)
    }

    /// Where to write a result; never a constant.
    #[inline(always)]
    pub(crate) fn write_slot(&self, s: Slot) -> *mut u8 {
        debug_assert_eq!(s.0 & Slot::CONSTANT, 0, "a constant is written");
        self.regs.wrapping_add(s.0 as usize * UNIT_BYTES)
    }

    /// One bit per lane of a predicate register.
    #[inline(always)]
    pub(crate) fn predicate(&self, p: u16) -> LaneMask {
        // SAFETY: decoding numbers predicates below the frame's count.
        unsafe { *self.preds.add(p as usize) }
    }

    /// The lanes in which a predicate holds, or does not if the test inverts it.
    #[inline(always)]
    pub(crate) fn truth(&self, test: Test) -> LaneMask {
        self.predicate(test.predicate) ^ test.flip
    }

    /// Writes a predicate register in the lanes of `m`.
    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, p: u16, m: LaneMask, bits: LaneMask) {
        // SAFETY: decoding numbers predicates below the frame's count.
        unsafe {
            let place = self.preds.add(p as usize);
            *place = (*place & !m) | (bits & m);
        }
    }

    /// The warp's exchange area.
    #[inline(always)]
    pub(crate) fn exchange(&mut self) -> &mut Exchange {
        // SAFETY: entering a split points this at its warp's area, which lives as long as the warp.
        unsafe { &mut *self.exchange }.get_or_insert_default()
    }

    /// Records why the launch must stop.
    #[cold]
    pub(crate) fn fail(&mut self, cause: Cause) -> Flow {
        self.cause = Some(Box::new(cause));
        Flow::Fault
    }

    /// Tells who looks for races, if somebody does.
    pub(crate) fn tell_races(&mut self, tell: impl FnOnce(&mut Races, &Self)) {
        if let Some(mut races) = self.races.take() {
            tell(&mut races, self);
            self.races = Some(races);
        }
    }

    /// The batch to report to, if somebody listens.
    #[inline(always)]
    pub(crate) fn listener(&mut self) -> Option<&mut OpBatch> {
        // SAFETY: the pointer is set from an exclusive borrow that lasts as long as the warp runs, and used only here.
        self.sink.map(|mut sink| unsafe { sink.as_mut() })
    }
}
