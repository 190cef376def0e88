//! Packing and unpacking registers, frame addresses, tests of address windows.

use super::memory::window;
use crate::exec::{Exec, Flow, Slot};
use crate::inst::{Inst, LocalAddress, Parts, SpaceTest};
use crate::lanes::{Lane, read_lanes, write_lanes};
use strata_core::{LANES, LaneMask, Space};

/// A register that is packed from parts, or taken apart.
pub(crate) trait Whole: Lane {
    fn to_bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
}

impl Whole for u16 {
    fn to_bits(self) -> u64 {
        self.into()
    }
    fn from_bits(bits: u64) -> Self {
        bits as Self
    }
}

impl Whole for u32 {
    fn to_bits(self) -> u64 {
        self.into()
    }
    fn from_bits(bits: u64) -> Self {
        bits as Self
    }
}

impl Whole for u64 {
    fn to_bits(self) -> u64 {
        self
    }
    fn from_bits(bits: u64) -> Self {
        bits
    }
}

/// `mov d, {a, b, c, e}`: parts of `BITS` bits, lowest first. Parts live in 32-bit slots.
pub(crate) unsafe fn pack<W: Whole, const BITS: u32>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let parts = [i.a, i.b, i.c, i.e];
    let mut whole = [0u64; LANES];
    let Parts { count } = i.fields();
    for k in 0..usize::from(count) {
        // SAFETY: decoding gave 32-bit slots for the parts.
        let part = unsafe { read_lanes::<u32>(x, parts[k]) };
        for (w, p) in whole.iter_mut().zip(part) {
            *w |= (u64::from(p) & ((1u64 << BITS) - 1)) << (BITS * k as u32);
        }
    }
    // SAFETY: decoding gave a destination of `W`.
    unsafe { write_lanes::<W>(x, i.d, m, |l| W::from_bits(whole[l])) };
    Flow::Next
}

/// `mov d, {b0, b1, …}` with byte parts.
pub(crate) unsafe fn pack_bytes<W: Whole>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: the same operands, eight bits each.
    unsafe { pack::<W, 8>(x, i, m) }
}

/// `mov {d, b, c, e}, a`: the parts of a register.
pub(crate) unsafe fn unpack<W: Whole, const BITS: u32>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a source of `W`, and 32-bit slots for the parts.
    unsafe {
        let Parts { count } = i.fields();
        let whole = read_lanes::<W>(x, i.a).map(W::to_bits);
        for (k, part) in [i.d, i.b, i.c, i.e].into_iter().enumerate().take(usize::from(count)) {
            write_lanes::<u32>(x, part, m, |l| (whole[l] >> (BITS * k as u32) & ((1u64 << BITS) - 1)) as u32);
        }
    }
    Flow::Next
}

/// The two 64-bit halves of a 128-bit slot.
const fn halves(whole: Slot) -> [Slot; 2] {
    [whole, Slot(whole.0 + 2)]
}

/// `mov.b128 d, {lo, hi}`.
pub(crate) unsafe fn pack128(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave two 64-bit sources and a 128-bit destination.
    unsafe {
        for (from, to) in [i.a, i.b].into_iter().zip(halves(i.d)) {
            let lanes = read_lanes::<u64>(x, from);
            write_lanes::<u64>(x, to, m, |l| lanes[l]);
        }
    }
    Flow::Next
}

/// `mov.b128 {lo, hi}, a`.
pub(crate) unsafe fn unpack128(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave two 64-bit destinations and a 128-bit source.
    unsafe {
        for (from, to) in halves(i.a).into_iter().zip([i.d, i.b]) {
            let lanes = read_lanes::<u64>(x, from);
            write_lanes::<u64>(x, to, m, |l| lanes[l]);
        }
    }
    Flow::Next
}

/// `mov.b128 d, a`.
pub(crate) unsafe fn copy128(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave 128-bit slots.
    unsafe {
        for (from, to) in halves(i.a).into_iter().zip(halves(i.d)) {
            let lanes = read_lanes::<u64>(x, from);
            write_lanes::<u64>(x, to, m, |l| lanes[l]);
        }
    }
    Flow::Next
}

/// The address of a `.local` variable of this frame.
pub(crate) unsafe fn local_address(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let LocalAddress { offset, wide } = i.fields();
    let address = x.local_frame.wrapping_add(offset as u64);
    // SAFETY: decoding gave a destination of this width.
    unsafe {
        if wide {
            write_lanes::<u64>(x, i.d, m, |_| address);
        } else {
            write_lanes::<u32>(x, i.d, m, |_| address as u32);
        }
    }
    Flow::Next
}

/// `isspacep`.
pub(crate) unsafe fn is_space(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let SpaceTest { result, space } = i.fields();
    // SAFETY: decoding gave a 64-bit slot.
    let addresses = unsafe { read_lanes::<u64>(x, i.a) };
    let base = x.launch.memory.base().0;
    let bits = addresses.iter().enumerate().fold(0, |bits, (l, &a)| {
        let holds = window(a) == space && (space != Space::Global || a >= base);
        bits | u32::from(holds) << l
    });
    x.set_predicate(result, m, bits);
    Flow::Next
}
