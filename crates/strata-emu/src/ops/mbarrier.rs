//! `mbarrier`: barriers in shared memory that count arrivals and bytes (PTX ISA 9.7.13.15).
//!
//! The manual leaves open what the 64 bits hold. Here: arrivals still expected in this phase, arrivals of a phase, bytes still
//! expected (with a sign), and the parity of the phase. A token is the barrier as its phase's arrivals found it.
//!
//! Copies take effect when they issue (see `cp.async`), so that nothing but arrivals is ever waited for in earnest; a wait that
//! finds its phase incomplete counts as waiting for other threads.

use super::memory::{GENERIC, SHARED, addresses, lane_pointer, report, window};
use crate::exec::{Exec, Flow};
use crate::inst::{Field, Inst, MbarrierChange, MbarrierWait};
use crate::lanes::{read_lanes, write_lanes};
use crate::memory::SHARED_WINDOW;
use strata_core::{LANES, LaneMask, Space};

/// What an instruction does to a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub(crate) enum Step {
    /// Expects so many arrivals in each phase.
    Init,
    /// Makes it no barrier.
    Invalidate,
    /// So many threads arrive.
    Arrive,
    /// So many arrive and will not come again.
    Leave,
    /// Bytes are expected, and the thread arrives.
    ExpectAndArrive,
    /// Bytes are expected, the thread arrives and will not come again.
    ExpectAndLeave,
    /// Bytes are expected.
    Expect,
    /// Bytes have come.
    Complete,
    /// One more arrival is expected in this phase, and there it is: `cp.async.mbarrier.arrive`.
    ArriveExtra,
}

impl Step {
    const ALL: [Self; 9] = [
        Self::Init,
        Self::Invalidate,
        Self::Arrive,
        Self::Leave,
        Self::ExpectAndArrive,
        Self::ExpectAndLeave,
        Self::Expect,
        Self::Complete,
        Self::ArriveExtra,
    ];
}

impl Field<(u16,)> for Step {
    #[inline(always)]
    fn load((number,): (u16,)) -> Self {
        Self::ALL[usize::from(number) % Self::ALL.len()]
    }
    #[inline(always)]
    fn store(self) -> (u16,) {
        (self as u16,)
    }
}

/// The fields of a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Barrier {
    pending: u64,
    expected: u64,
    bytes: i64,
    odd: bool,
}

/// Arrivals have 20 bits (the manual's limit), bytes 23 with their sign.
const COUNT_BITS: u32 = 20;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const BYTE_BITS: u32 = 23;

impl Barrier {
    fn of(bits: u64) -> Self {
        let bytes = (bits << 1) as i64 >> (64 - BYTE_BITS);
        Self { pending: bits & COUNT, expected: bits >> COUNT_BITS & COUNT, bytes, odd: bits >> 63 != 0 }
    }

    fn bits(self) -> u64 {
        let bytes = (self.bytes as u64) << (64 - BYTE_BITS) >> 1;
        self.pending & COUNT | (self.expected & COUNT) << COUNT_BITS | bytes | u64::from(self.odd) << 63
    }

    /// The barrier after a step; when nothing is expected any more, the next phase begins.
    fn after(mut self, step: Step, count: u32) -> Self {
        let count = u64::from(count);
        match step {
            Step::Init => return Self { pending: count, expected: count, bytes: 0, odd: false },
            Step::Invalidate => return Self::of(0),
            Step::Expect | Step::ExpectAndArrive | Step::ExpectAndLeave => self.bytes += count as i64,
            Step::Complete => self.bytes -= count as i64,
            Step::Arrive | Step::Leave | Step::ArriveExtra => {}
        }
        let (arrives, leaves) = match step {
            Step::Arrive => (count, 0),
            Step::Leave => (count, count),
            Step::ExpectAndArrive => (1, 0),
            Step::ExpectAndLeave => (1, 1),
            _ => (0, 0),
        };
        self.pending = self.pending.saturating_sub(arrives);
        self.expected = self.expected.saturating_sub(leaves);
        if self.pending == 0 && self.bytes == 0 {
            self.pending = self.expected;
            self.odd = !self.odd;
        }
        self
    }
}

/// The barriers of the lanes, shown to `f` one after the other; it gives what they become.
#[inline(always)]
unsafe fn each<const SPACE: u8, const WIDE: bool>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    mut f: impl FnMut(usize, u64) -> u64,
) -> Flow {
    // SAFETY: decoding gave an address of that width.
    let mut lanes = unsafe { addresses::<WIDE>(x, i.a, i.offset()) };
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        let at = match lane_pointer::<SPACE>(x, i, lane, lanes[lane], 8) {
            Ok(at) => at.cast::<u64>(),
            Err(flow) => return flow,
        };
        // SAFETY: the access was just checked.
        unsafe { at.write(f(lane, at.read())) };
        if SPACE == GENERIC && window(lanes[lane]) == Space::Shared {
            lanes[lane] -= SHARED_WINDOW;
        }
    }
    report(x, Space::Shared, m, &lanes);
    Flow::Next
}

/// Everything that changes a barrier.
pub(crate) unsafe fn change<const SPACE: u8, const WIDE: bool>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave slots of these widths.
    unsafe {
        let counts = read_lanes::<u32>(x, i.b);
        let MbarrierChange { step, .. } = i.fields();
        let mut tokens = [0; LANES];
        let flow = each::<SPACE, WIDE>(x, i, m, |lane, bits| {
            tokens[lane] = bits;
            Barrier::of(bits).after(step, counts[lane]).bits()
        });
        write_lanes::<u64>(x, i.d, m, |l| tokens[l]);
        x.communicated = true;
        flow
    }
}

/// `test_wait` and `try_wait`: whether the phase of a token or of a parity is complete.
pub(crate) unsafe fn wait<const SPACE: u8, const WIDE: bool>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave slots of these widths.
    unsafe {
        let MbarrierWait { result, by_parity, .. } = i.fields();
        let odd: [bool; LANES] = if by_parity {
            read_lanes::<u32>(x, i.b).map(|parity| parity & 1 != 0)
        } else {
            read_lanes::<u64>(x, i.b).map(|token| Barrier::of(token).odd)
        };
        let mut complete = 0;
        let flow = each::<SPACE, WIDE>(x, i, m, |lane, bits| {
            complete |= u32::from(Barrier::of(bits).odd != odd[lane]) << lane;
            bits
        });
        x.set_predicate(result, m, complete);
        x.synchronised |= complete & m != m;
        flow
    }
}

/// `pending_count`: what a token's phase still expected.
pub(crate) fn pending_count(token: u64) -> u32 {
    Barrier::of(token).pending as u32
}

/// The code of [`change`] or [`wait`] for a space and address width.
macro_rules! placed {
    ($function:ident, $space:expr, $wide:expr) => {
        match ($space, $wide) {
            (SHARED, false) => $function::<SHARED, false>,
            (SHARED, true) => $function::<SHARED, true>,
            _ => $function::<GENERIC, true>,
        }
    };
}

/// [`change`] for a space and address width.
pub(crate) fn changes(space: u8, wide: bool) -> crate::inst::OpFn {
    placed!(change, space, wide)
}

/// [`wait`] for a space and address width.
pub(crate) fn waits(space: u8, wide: bool) -> crate::inst::OpFn {
    placed!(wait, space, wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_survives_its_bits() {
        for barrier in [
            Barrier { pending: 0, expected: 0, bytes: 0, odd: false },
            Barrier { pending: COUNT, expected: 3, bytes: -5, odd: true },
            Barrier { pending: 1, expected: COUNT, bytes: (1 << 20) - 1, odd: false },
        ] {
            assert_eq!(Barrier::of(barrier.bits()), barrier);
        }
    }

    #[test]
    fn a_phase_ends_when_arrivals_and_bytes_have_come() {
        let start = Barrier::of(0).after(Step::Init, 2);
        let waiting = start.after(Step::ExpectAndArrive, 16).after(Step::Arrive, 1);
        assert!(!waiting.odd && waiting.pending == 0);
        let ended = waiting.after(Step::Complete, 16);
        assert!(ended.odd && ended.pending == 2);
        // One leaves: the next phases expect one arrival.
        let fewer = ended.after(Step::Leave, 1).after(Step::Arrive, 1);
        assert!(!fewer.odd && fewer.pending == 1);
        assert!(fewer.after(Step::Arrive, 1).odd);
    }
}
