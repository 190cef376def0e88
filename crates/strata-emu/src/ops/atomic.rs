//! Read-modify-write operations.
//!
//! Lanes take effect in lane order. When CTAs run on several host threads, the update is a host compare-and-swap; only
//! operations whose order cannot be observed are allowed then (see `launch`).

use super::memory::{GENERIC, GLOBAL, SHARED, addresses, lane_pointer, report, window};
use crate::exec::{Exec, Flow};
use crate::inst::{Access, Inst};
use crate::lanes::Lane;
use crate::memory::SHARED_WINDOW;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use strata_core::{LANES, LaneMask, Space};

/// A value that memory can exchange.
pub(crate) trait Word: Lane {
    /// Replaces the value at `place` by `update(old)` and gives the old one; `shared` if other host threads run.
    unsafe fn exchange(place: *mut u8, shared: bool, update: impl FnMut(Self) -> Self) -> Self;
}

macro_rules! word {
    ($($ty:ty, $memory:ty, $atomic:ty;)*) => { $(impl Word for $ty {
        #[inline(always)]
        unsafe fn exchange(place: *mut u8, shared: bool, mut update: impl FnMut(Self) -> Self) -> Self {
            let place = place.cast::<$memory>();
            if shared {
                // SAFETY: the caller checked bounds and alignment; device memory outlives the launch.
                let cell = unsafe { <$atomic>::from_ptr(place) };
                let old = cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |bits| {
                    Some(update(Self::load(bits as _)).store() as $memory)
                });
                return Self::load(old.unwrap_or_else(|bits| bits) as _);
            }
            // SAFETY: as above.
            unsafe {
                let old = Self::load(place.read() as _);
                place.write(update(old).store() as $memory);
                old
            }
        }
    })* };
}
word! {
    u32, u32, AtomicU32; i32, u32, AtomicU32; f32, u32, AtomicU32;
    u64, u64, AtomicU64; i64, u64, AtomicU64; f64, u64, AtomicU64;
}

/// 16-bit operands: their word is never shared between host threads (launches that use them run on one).
impl Word for u16 {
    #[inline(always)]
    unsafe fn exchange(place: *mut u8, _shared: bool, mut update: impl FnMut(Self) -> Self) -> Self {
        let place = place.cast::<u16>();
        // SAFETY: the caller checked bounds and alignment.
        unsafe {
            let old = place.read();
            place.write(update(old));
            old
        }
    }
}

/// `d = [a]; [a] = update(d, b, c)`, lane by lane.
#[inline(always)]
pub(crate) unsafe fn atomic<const SPACE: u8, const WIDE: bool, T: Word>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    update: impl Fn(T, T, T) -> T,
) -> Flow {
    // SAFETY: decoding gave slots of these sizes.
    let addr = unsafe { addresses::<WIDE>(x, i.a, i.fields::<Access>().offset) };
    let width = if size_of::<T>() == 2 { 2 } else { size_of::<T::Stored>() as u64 };
    let many = x.launch.parallel;
    let (mut global, mut changed) = (0, false);
    let (d, b, c) = (x.write_slot(i.d), x.read_slot(i.b), x.read_slot(i.c));
    let mut rest = m;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let place = match lane_pointer::<SPACE>(x, i, lane, addr[lane], width) {
            Ok(place) => place,
            Err(flow) => return flow,
        };
        // SAFETY: `lane_pointer` checked the access; slots have 32 lanes of `T`.
        unsafe {
            let vb = T::load(b.cast::<T::Stored>().add(lane).read());
            let vc = T::load(c.cast::<T::Stored>().add(lane).read());
            let old = T::exchange(place, many, |old| {
                let new = update(old, vb, vc);
                changed |= new.store() != old.store();
                new
            });
            d.cast::<T::Stored>().add(lane).write(old.store());
        }
        global += u64::from(SPACE == GLOBAL || SPACE == GENERIC && window(addr[lane]) == Space::Global);
    }
    x.bytes_read += width * global;
    x.bytes_written += width * global;
    x.synchronised |= !changed;
    x.communicated |= changed;
    report_atomic::<SPACE>(x, m, &addr);
    Flow::Next
}

fn report_atomic<const SPACE: u8>(x: &mut Exec<'_>, m: LaneMask, addr: &[u64; LANES]) {
    if x.sink.is_none() {
        return;
    }
    if SPACE != GENERIC {
        let space = if SPACE == SHARED { Space::Shared } else { Space::Global };
        return report(x, space, m, addr);
    }
    for space in [Space::Global, Space::Shared] {
        let mut part = *addr;
        let mut lanes = 0;
        for l in 0..LANES {
            if m >> l & 1 != 0 && window(addr[l]) == space {
                lanes |= 1 << l;
                if space == Space::Shared {
                    part[l] -= SHARED_WINDOW;
                }
            }
        }
        if lanes != 0 {
            report(x, space, lanes, &part);
        }
    }
}
