//! Places of a kernel at which somebody wants to see registers before the warp goes on: [`GridSource::watch`].
//!
//! Only the kernel itself is watched, not the functions that it calls. Without such places nothing of this runs.
//!
//! [`GridSource::watch`]: strata_core::GridSource::watch

use crate::exec::{Exec, Slot};
use crate::kernel::Kernel;
use crate::lanes::read_lanes;
use strata_core::{LANES, WatchPoint};
use strata_ptx::analysis::SlotRef;

/// No point at this program counter.
const NO_POINT: u32 = u32::MAX;

/// Where a watched register is kept.
#[derive(Clone, Copy)]
enum Kept {
    /// 32 bits or fewer.
    Word(Slot),
    /// 64 bits.
    Double(Slot),
    /// No instruction names it, or it is no number.
    Nowhere,
}

/// The watched places of a launch.
pub(crate) struct Watch {
    /// The number of the point at each program counter, or [`NO_POINT`].
    at: Vec<u32>,
    points: Vec<Vec<Kept>>,
    /// The values of the point at which the last segment began: 32-bit ones with their sign.
    pub(crate) values: Vec<[i64; LANES]>,
}

impl Watch {
    pub(crate) fn new(kernel: &Kernel, points: &[WatchPoint]) -> Self {
        let code = &kernel.functions[0];
        let function = &kernel.origin.module.functions[code.index as usize];
        let kept = |register: &u32| {
            let bits = function.registers.get(*register as usize).map_or(0, |r| r.ty.bits());
            match code.registers.get(*register as usize) {
                Some(SlotRef::Unit(unit)) if bits <= 32 => Kept::Word(Slot::register(*unit)),
                Some(SlotRef::Unit(unit)) if bits == 64 => Kept::Double(Slot::register(*unit)),
                _ => Kept::Nowhere,
            }
        };
        let mut at = vec![NO_POINT; code.insts.len()];
        for (number, point) in points.iter().enumerate() {
            if let Some(place) = at.get_mut(point.pc as usize) {
                *place = number as u32;
            }
        }
        Self { at, points: points.iter().map(|p| p.registers.iter().map(kept).collect()).collect(), values: Vec::new() }
    }

    /// True if a segment ends before this program counter of the kernel itself.
    #[inline]
    pub(crate) fn cuts(&self, pc: u32) -> bool {
        self.at.get(pc as usize).is_some_and(|&point| point != NO_POINT)
    }

    /// A segment begins; the context points at the kernel's frame.
    fn look(&mut self, x: &Exec<'_>, pc: u32) {
        self.values.clear();
        let point = self.at.get(pc as usize).and_then(|&point| self.points.get(point as usize));
        for kept in point.into_iter().flatten() {
            self.values.push(match kept {
                // SAFETY: decoding gave the register this slot, of this size.
                Kept::Word(slot) => unsafe { read_lanes::<i32>(x, *slot) }.map(i64::from),
                // SAFETY: as above.
                Kept::Double(slot) => unsafe { read_lanes::<i64>(x, *slot) },
                Kept::Nowhere => [0; LANES],
            });
        }
    }
}

impl Exec<'_> {
    /// A segment of the running function begins at `pc`.
    #[cold]
    pub(crate) fn look(&mut self, pc: u32) {
        if let Some(mut watch) = self.watch.take() {
            if self.code == 0 {
                watch.look(self, pc);
            } else {
                watch.values.clear();
            }
            self.watch = Some(watch);
        }
    }

    /// True if a segment of the running function ends before `pc`.
    #[inline(always)]
    pub(crate) fn cuts(&self, pc: u32) -> bool {
        self.watch.as_ref().is_some_and(|watch| self.code == 0 && watch.cuts(pc))
    }
}
