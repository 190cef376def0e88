//! Local memory: each lane's own, in device memory, one word of 32 lanes to a line.

use super::memory::{Element, aligned, data_slot, report};
use crate::exec::{Exec, Flow, UNIT_BYTES};
use crate::fault::Cause;
use crate::inst::{Access, Inst};
use crate::lanes::Lane;
use strata_core::{Addr, LANES, LaneMask, Space};

/// The device address of a byte of a lane's local memory: one word of 32 lanes to a line.
#[inline(always)]
pub(crate) fn local_address(x: &Exec<'_>, lane: usize, offset: u64) -> u64 {
    // The offset of an inactive lane can be anything.
    x.local.wrapping_add((offset / 4).wrapping_mul(UNIT_BYTES as u64)) + lane as u64 * 4 + offset % 4
}

/// Moves `bytes` between a lane's local memory and `word`, a little-endian value. `None` if out of bounds.
#[inline(always)]
unsafe fn local_move(x: &Exec<'_>, lane: usize, offset: u64, bytes: usize, word: &mut u64, write: bool) {
    let at = |o: u64| x.origin.wrapping_add(local_address(x, lane, o) as usize);
    // SAFETY: the caller checked the offset against the lane's local memory, which lies in the reservation.
    unsafe {
        match (bytes, write) {
            (1, false) => *word = u64::from(at(offset).read()),
            (1, true) => at(offset).write(*word as u8),
            (2, false) => *word = u64::from(at(offset).cast::<u16>().read_unaligned()),
            (2, true) => at(offset).cast::<u16>().write_unaligned(*word as u16),
            (4, false) => *word = u64::from(at(offset).cast::<u32>().read_unaligned()),
            (4, true) => at(offset).cast::<u32>().write_unaligned(*word as u32),
            (_, false) => {
                let low = u64::from(at(offset).cast::<u32>().read_unaligned());
                let high = u64::from(at(offset + 4).cast::<u32>().read_unaligned());
                *word = low | high << 32;
            }
            (_, true) => {
                at(offset).cast::<u32>().write_unaligned(*word as u32);
                at(offset + 4).cast::<u32>().write_unaligned((*word >> 32) as u32);
            }
        }
    }
}

/// Checks one lane's local access.
#[inline(always)]
pub(crate) fn local_check(x: &mut Exec<'_>, lane: usize, offset: u64, width: u64) -> Result<(), Flow> {
    let (lane, address, width32) = (lane as u32, Addr(offset), width as u32);
    if offset >= x.local_bytes || x.local_bytes - offset < width {
        let nearest = format!("; the thread has {} bytes of local memory", x.local_bytes);
        return Err(x.fail(Cause::OutOfBounds { lane, space: Space::Local, address, width: width32, nearest }));
    }
    if !aligned(offset, width) {
        return Err(x.fail(Cause::Misaligned { lane, space: Space::Local, address, width: width32 }));
    }
    Ok(())
}

/// Offsets of a variable named in the instruction are relative to the frame; register contents are not.
#[inline(always)]
pub(super) fn in_frame(x: &Exec<'_>, i: &Inst, offsets: [u64; LANES]) -> [u64; LANES] {
    let Access { in_frame, .. } = i.fields();
    let base = u64::from(in_frame) * x.local_frame;
    offsets.map(|o| o.wrapping_add(base))
}

/// Loads from, or stores to, local memory; `offsets` are offsets in each lane's local memory.
#[inline(always)]
pub(super) unsafe fn local_access<const STORE: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    offsets: &[u64; LANES],
) -> Flow
where
    u64: Widen<E>,
{
    let elements = usize::from(i.fields::<Access>().elements);
    let size = size_of::<E>();
    let width = (size * elements) as u64;
    let bytes = width * u64::from(m.count_ones());
    if STORE {
        x.bytes_written += bytes;
    } else {
        x.bytes_read += bytes;
    }
    if x.sink.is_some() {
        let physical = std::array::from_fn(|l| local_address(x, l, offsets[l]));
        report(x, Space::Local, m, &physical);
    }
    let mut rest = m;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        if let Err(flow) = local_check(x, lane, offsets[lane], width) {
            return flow;
        }
        for k in 0..elements {
            let offset = offsets[lane] + (k * size) as u64;
            // SAFETY: the access was just checked; the slot has 32 lanes of `D`.
            unsafe {
                if STORE {
                    let value = D::load(x.read_slot(data_slot(i, k)).cast::<D::Stored>().add(lane).read());
                    let mut word = <u64 as Widen<E>>::widen(E::truncate(value));
                    local_move(x, lane, offset, size, &mut word, true);
                } else {
                    let mut word = 0;
                    local_move(x, lane, offset, size, &mut word, false);
                    let value: D = <u64 as Widen<E>>::narrow(word).extend();
                    x.write_slot(data_slot(i, k)).cast::<D::Stored>().add(lane).write(value.store());
                }
            }
        }
    }
    Flow::Next
}

/// A memory element as the low bits of a word.
pub(crate) trait Widen<E> {
    fn widen(e: E) -> u64;
    fn narrow(word: u64) -> E;
}

macro_rules! widen {
    ($($ty:ty),*) => { $(impl Widen<$ty> for u64 {
        #[inline(always)]
        #[allow(clippy::unnecessary_cast, reason = "one of the types is u64")]
        fn widen(e: $ty) -> u64 { e as u64 }
        #[inline(always)]
        #[allow(clippy::unnecessary_cast, reason = "one of the types is u64")]
        fn narrow(word: u64) -> $ty { word as $ty }
    })* };
}
widen!(u8, i8, u16, i16, u32, i32, u64);
