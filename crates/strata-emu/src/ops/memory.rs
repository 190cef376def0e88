//! Loads and stores.
//!
//! Warps whose lanes are neighbours or agree (see [`super::pattern`]) are served by one copy. Everything else goes lane by
//! lane. Bounds are checked against the allocation that the same static instruction touched last; only when that fails is
//! the allocation table asked.
//!
//! Loads and stores take the same way: `STORE` says which of the two is compiled.

use super::local::{Widen, in_frame, local_access};
use super::pattern::{HALF, Pattern, masked_pattern, pattern};
use crate::exec::{Exec, Flow, Slot};
use crate::fault::Cause;
use crate::inst::{Access, AsyncCopy, Inst};
use crate::lanes::{CHUNK, Lane, Stored, chunk_mask, read_lanes, write_lanes};
use crate::launch::describe;
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use strata_core::{Addr, AddressSet, LANES, LaneMask, Space};

/// Number of a [`Space`] as a constant parameter.
pub(crate) const GLOBAL: u8 = Space::Global as u8;
pub(crate) const SHARED: u8 = Space::Shared as u8;
pub(crate) const LOCAL: u8 = Space::Local as u8;
pub(crate) const CONST: u8 = Space::Const as u8;
pub(crate) const GENERIC: u8 = Space::Generic as u8;

/// Fewer active lanes than this are served one by one instead of padding the rest of the warp.
const FEW_LANES: u32 = 8;

/// An element as memory holds it, and as a register lane receives it.
pub(crate) trait Element<D: Lane>: Copy {
    /// Zero- or sign-extends to the register.
    fn extend(self) -> D;
    /// Takes the low bits of the register.
    fn truncate(register: D) -> Self;
}

macro_rules! element {
    ($($memory:ty => $($register:ty),*;)*) => { $($(
        impl Element<$register> for $memory {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast, reason = "some pairs are the same type")]
            fn extend(self) -> $register { self as $register }
            #[inline(always)]
            #[allow(clippy::unnecessary_cast, reason = "some pairs are the same type")]
            fn truncate(register: $register) -> Self { register as $memory }
        }
    )*)* };
}
element! {
    u8 => u32, u64; i8 => u32, u64; u16 => u32, u64; i16 => u32, u64; u32 => u32, u64; i32 => u64; u64 => u64;
}

/// The lanes' addresses in slot `base`, offset applied.
#[inline(always)]
pub(crate) unsafe fn addresses<const WIDE: bool>(x: &Exec<'_>, base: Slot, offset: i64) -> [u64; LANES] {
    // SAFETY: decoding gave an address slot of that width.
    unsafe {
        // Loops, not `map`: that is a call the compiler leaves outside code for wider vectors.
        let mut to = [0; LANES];
        if WIDE {
            let from = &*x.read_slot(base).cast::<[u64; LANES]>();
            for (to, a) in to.iter_mut().zip(from) {
                *to = a.wrapping_add(offset as u64);
            }
        } else {
            let from = &*x.read_slot(base).cast::<[u32; LANES]>();
            for (to, a) in to.iter_mut().zip(from) {
                *to = u64::from(a.wrapping_add(offset as u32));
            }
        }
        to
    }
}

/// The data slot of element `k`.
#[inline(always)]
pub(crate) fn data_slot(i: &Inst, k: usize) -> Slot {
    [i.d, i.b, i.c, i.e][k]
}

/// The address of a lane, offset applied.
#[inline(always)]
unsafe fn address_of<const WIDE: bool>(x: &Exec<'_>, base: Slot, lane: usize, offset: i64) -> u64 {
    // SAFETY: decoding gave an address slot of that width, which has 32 lanes.
    unsafe {
        if WIDE {
            x.read_slot(base).cast::<u64>().add(lane).read().wrapping_add(offset as u64)
        } else {
            u64::from(x.read_slot(base).cast::<u32>().add(lane).read().wrapping_add(offset as u32))
        }
    }
}

/// True if an address fits its access. Widths are powers of two, which the compiler does not know: a remainder would be
/// a division.
#[inline(always)]
pub(crate) fn aligned(address: u64, width: u64) -> bool {
    address & (width - 1) == 0
}

/// Gives inactive lanes the address of the first active one, so that all 32 can be treated alike.
#[inline(always)]
fn pad(addr: &mut [u64; LANES], m: LaneMask) {
    let filler = addr[m.trailing_zeros() as usize];
    for (at, chunk) in addr.as_chunks_mut::<CHUNK>().0.iter_mut().enumerate() {
        for (a, &active) in chunk.iter_mut().zip(chunk_mask(m, at)) {
            *a = filler.merge(*a, active);
        }
    }
}

/// Proves that `bytes` from `first` may be accessed, and gives the host pointer that belongs to address 0 of the space.
#[inline(always)]
fn origin<const SPACE: u8>(x: &Exec<'_>, i: &Inst, first: u64, bytes: u64) -> Option<*mut u8> {
    if SPACE == SHARED {
        return (first < x.shared_bytes && x.shared_bytes - first >= bytes).then_some(x.shared);
    }
    // SAFETY: decoding numbers memory instructions below the table's size.
    let touched = unsafe { &mut *x.touched.add(i.touched() as usize) };
    let offset = first.wrapping_sub(touched.start);
    if offset < touched.size && touched.size - offset >= bytes {
        return Some(x.origin);
    }
    let (start, size) = x.launch.memory.range_of(Addr(first))?;
    touched.start = start.0;
    touched.size = size.0;
    (size.0 - (first - start.0) >= bytes).then_some(x.origin)
}

/// Explains the first lane whose access is wrong.
#[cold]
fn explain<const SPACE: u8>(x: &mut Exec<'_>, i: &Inst, m: LaneMask, addr: &[u64; LANES], width: u64) -> Flow {
    let space = if SPACE == SHARED { Space::Shared } else { Space::Global };
    for lane in (0..LANES as u32).filter(|l| m >> l & 1 != 0) {
        let address = addr[lane as usize];
        if origin::<SPACE>(x, i, address, width).is_none() {
            let (address, width) = (Addr(address), width as u32);
            return x.fail(if SPACE == SHARED {
                let nearest = format!("; the block has {} bytes of shared memory", x.shared_bytes);
                Cause::OutOfBounds { lane, space, address, width, nearest }
            } else {
                Cause::outside(x.launch.memory, lane, address, width)
            });
        }
        if !aligned(address, width) {
            return x.fail(Cause::Misaligned { lane, space, address: Addr(address), width: width as u32 });
        }
    }
    unreachable!("an access was refused although every lane is in bounds and aligned")
}

/// The most bytes that a lane reads at once.
const MOST_BYTES: usize = 32;

/// What a lane of a lenient launch gets that reads `width` bytes outside every allocation; the read is counted.
#[cold]
fn forgiven(x: &Exec<'_>, i: &Inst, lane: usize, address: u64, width: u64) -> Option<[u8; MOST_BYTES]> {
    let launch = x.launch;
    let mut found = [0; MOST_BYTES];
    let read = found.get_mut(..width as usize)?;
    if !launch.lenient || !aligned(address, width) || !launch.memory.stray(Addr(address), read) {
        return None;
    }
    let pc = launch.kernel.place_of(i, x.code);
    launch.output.read_outside((launch.number, i.touched()), x.cta, || {
        let cause = Cause::outside(launch.memory, lane as u32, Addr(address), width as u32);
        describe(launch, cause, x.code, pc, 1 << lane, x.cta, x.warp as usize)
    });
    Some(found)
}

/// Tells the listener where the lanes went.
#[inline(always)]
pub(crate) fn report(x: &mut Exec<'_>, space: Space, m: LaneMask, addr: &[u64; LANES]) {
    if let Some(sink) = x.listener() {
        sink.scatter(m, space, addr);
    }
}

/// The same for a full warp whose addresses lie in a pattern.
#[inline(always)]
fn report_regular(x: &mut Exec<'_>, space: Space, pattern: strata_core::Pattern) {
    if let Some(sink) = x.listener() {
        sink.addresses.push(AddressSet { mask: LaneMask::MAX, space, pattern });
    }
}

const fn space_of(number: u8) -> Space {
    match number {
        SHARED => Space::Shared,
        LOCAL => Space::Local,
        CONST => Space::Const,
        _ => Space::Global,
    }
}

/// The vector that each lane moves: its elements, and the bytes of all of them.
#[inline(always)]
fn vector<E>(i: &Inst) -> (usize, u64) {
    let elements = usize::from(i.fields::<Access>().elements);
    (elements, size_of::<E>() as u64 * elements as u64)
}

/// Counts bytes moved in device memory.
#[inline(always)]
fn count<const STORE: bool, const SPACE: u8>(x: &mut Exec<'_>, bytes: u64) {
    if SPACE == GLOBAL {
        if STORE {
            x.bytes_written += bytes;
        } else {
            x.bytes_read += bytes;
        }
    }
}

/// Accesses of a full warp whose lanes are neighbours or, if they load, agree; `None` leaves everything to [`flat`].
#[inline(always)]
unsafe fn regular<const STORE: bool, const SPACE: u8, const WIDE: bool, const VECTOR: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
) -> Option<Flow> {
    let (elements, width) = vector::<E>(i);
    let Access { offset, .. } = i.fields();
    // SAFETY: decoding gave an address slot of that width.
    let (pattern, first) =
        unsafe { (pattern::<WIDE, VECTOR>(x.read_slot(i.a), width), address_of::<WIDE>(x, i.a, 0, offset)) };
    let (covered, reported) = match pattern {
        Pattern::Sequence => {
            (width * LANES as u64, strata_core::Pattern::Sequence { first: Addr(first), step: width as u32 })
        }
        Pattern::Same if !STORE => (width, strata_core::Pattern::Same(Addr(first))),
        Pattern::Sequences if elements == 1 => {
            // SAFETY: passed on to the caller of an `OpFn`.
            return unsafe { by_halves::<STORE, SPACE, WIDE, E, D>(x, i, first, width) };
        }
        Pattern::TwoPlaces if elements == 1 && !STORE => {
            // SAFETY: passed on to the caller of an `OpFn`.
            return unsafe { by_halves::<STORE, SPACE, WIDE, E, D>(x, i, first, 0) };
        }
        _ => return None,
    };
    if !aligned(first, width) {
        return None;
    }
    let at = origin::<SPACE>(x, i, first, covered)?.wrapping_add(first as usize).cast::<E>();
    count::<STORE, SPACE>(x, width * LANES as u64);
    report_regular(x, space_of(SPACE), reported);
    // SAFETY: `origin` proved the range; registers are slots of `D`.
    unsafe {
        if STORE {
            store_sequence::<E, D>(x, i, elements, at);
        } else if pattern == Pattern::Same {
            for k in 0..elements {
                let value: D = at.add(k).read_unaligned().extend();
                write_lanes::<D>(x, data_slot(i, k), LaneMask::MAX, |_| value);
            }
        } else if elements == 1 {
            let from = at.cast::<[E; LANES]>().read_unaligned();
            write_lanes::<D>(x, i.d, LaneMask::MAX, |l| from[l].extend());
        } else {
            for k in 0..elements {
                write_lanes::<D>(x, data_slot(i, k), LaneMask::MAX, |l| {
                    at.add(l * elements + k).read_unaligned().extend()
                });
            }
        }
    }
    Some(Flow::Next)
}

/// Accesses of a full warp each half of which is in sequence or, if it loads and `step` is 0, at one place; `first` is where
/// the first half begins.
#[inline(always)]
unsafe fn by_halves<const STORE: bool, const SPACE: u8, const WIDE: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    first: u64,
    step: u64,
) -> Option<Flow> {
    let width = size_of::<E>() as u64;
    let Access { offset, .. } = i.fields();
    // SAFETY: decoding gave an address slot of that width, which has 32 lanes.
    let second = unsafe { address_of::<WIDE>(x, i.a, HALF, offset) };
    let apart = i32::try_from(second.wrapping_sub(first).cast_signed()).ok()?;
    if !aligned(first | second, width) {
        return None;
    }
    let covered = step * (HALF as u64 - 1) + width;
    let starts = [first, second];
    let mut halves = [std::ptr::null_mut::<E>(); 2];
    for (at, start) in halves.iter_mut().zip(starts) {
        *at = origin::<SPACE>(x, i, start, covered)?.wrapping_add(start as usize).cast::<E>();
    }
    count::<STORE, SPACE>(x, width * LANES as u64);
    let pattern = strata_core::Pattern::HalfWarps { first: Addr(first), apart, step: step as u16 };
    report_regular(x, space_of(SPACE), pattern);
    // SAFETY: `origin` proved both ranges; registers are slots of `D`.
    unsafe {
        if STORE {
            let values = x.read_slot(data_slot(i, 0)).cast::<D::Stored>();
            let values: [[E; HALF]; 2] =
                std::array::from_fn(|h| std::array::from_fn(|l| E::truncate(D::load(values.add(h * HALF + l).read()))));
            // Where the halves overlap, the higher lanes win.
            for (half, values) in halves.into_iter().zip(values) {
                half.cast::<[E; HALF]>().write_unaligned(values);
            }
        } else if step == 0 {
            let values: [D; 2] = halves.map(|half| half.read_unaligned().extend());
            write_lanes::<D>(x, i.d, LaneMask::MAX, |l| values[l / HALF]);
        } else {
            let from = halves.map(|half| half.cast::<[E; HALF]>().read_unaligned());
            write_lanes::<D>(x, i.d, LaneMask::MAX, |l| from[l / HALF][l % HALF].extend());
        }
    }
    Some(Flow::Next)
}

/// Stores the vectors of all lanes one behind the other, from `to`.
#[inline(always)]
unsafe fn store_sequence<E: Element<D>, D: Lane>(x: &Exec<'_>, i: &Inst, elements: usize, to: *mut E) {
    for k in 0..elements {
        // SAFETY: the caller checked the range; the slot has 32 lanes of `D`.
        unsafe {
            let values = x.read_slot(data_slot(i, k)).cast::<D::Stored>();
            if elements == 1 {
                let values: [E; LANES] = std::array::from_fn(|l| E::truncate(D::load(values.add(l).read())));
                to.cast::<[E; LANES]>().write_unaligned(values);
                break;
            }
            for l in 0..LANES {
                to.add(l * elements + k).write_unaligned(E::truncate(D::load(values.add(l).read())));
            }
        }
    }
}

/// Moves a vector per lane from or to global, constant or shared memory, wherever the lanes point; where lanes that store
/// collide, the highest wins.
#[inline(always)]
unsafe fn flat<const STORE: bool, const SPACE: u8, const VECTOR: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    mut addr: [u64; LANES],
) -> Flow {
    let (elements, width) = vector::<E>(i);
    count::<STORE, SPACE>(x, width * u64::from(m.count_ones()));
    report(x, space_of(SPACE), m, &addr);
    // SAFETY: passed on to the caller of an `OpFn`.
    unsafe {
        let done = if STORE {
            store_together::<SPACE, VECTOR, E, D>(x, i, m, &addr, elements, width)
        } else {
            load_together::<SPACE, VECTOR, E, D>(x, i, m, &mut addr, elements, width)
        };
        if done { Flow::Next } else { lane_by_lane::<STORE, SPACE, E, D>(x, i, m, &addr) }
    }
}

/// Loads of many lanes from one allocation; says whether they were. Inactive lanes may get another address.
#[inline(always)]
unsafe fn load_together<const SPACE: u8, const VECTOR: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    addr: &mut [u64; LANES],
    elements: usize,
    width: u64,
) -> bool {
    if m.count_ones() < FEW_LANES {
        return false;
    }
    if m != LaneMask::MAX {
        // SAFETY: passed on to the caller of an `OpFn`.
        if elements == 1 && unsafe { load_partial::<SPACE, VECTOR, E, D>(x, i, m, addr) } {
            return true;
        }
        pad(addr, m);
    }
    let Some(base) = origin_of_all::<SPACE>(x, i, addr, width) else {
        return false;
    };
    for k in 0..elements {
        // SAFETY: every address was checked.
        unsafe {
            write_lanes::<D>(x, data_slot(i, k), m, |l| {
                base.wrapping_add(addr[l] as usize).cast::<E>().add(k).read_unaligned().extend()
            });
        }
    }
    true
}

/// Stores of a full warp to one allocation, or of neighbours; says whether they were.
#[inline(always)]
unsafe fn store_together<const SPACE: u8, const VECTOR: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    addr: &[u64; LANES],
    elements: usize,
    width: u64,
) -> bool {
    if m != LaneMask::MAX {
        // SAFETY: passed on to the caller of an `OpFn`.
        return elements == 1 && unsafe { store_run::<SPACE, VECTOR, E, D>(x, i, m, addr) };
    }
    let Some(base) = origin_of_all::<SPACE>(x, i, addr, width) else {
        return false;
    };
    for k in 0..elements {
        let from = x.read_slot(data_slot(i, k)).cast::<D::Stored>();
        for (lane, &a) in addr.iter().enumerate() {
            // SAFETY: every address was checked; the slot has 32 lanes of `D`.
            unsafe {
                let value = E::truncate(D::load(from.add(lane).read()));
                base.wrapping_add(a as usize).cast::<E>().add(k).write_unaligned(value);
            }
        }
    }
    true
}

/// Loads of a part of a warp whose lanes are neighbours or agree; says whether they were.
#[inline(always)]
unsafe fn load_partial<const SPACE: u8, const VECTOR: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    addr: &[u64; LANES],
) -> bool {
    let width = size_of::<E>() as u64;
    let one = addr[m.trailing_zeros() as usize];
    let Some(base) = origin::<SPACE>(x, i, one, width).filter(|_| aligned(one, width)) else {
        return false;
    };
    let (pattern, first) = masked_pattern::<VECTOR>(addr, m, width);
    // SAFETY: the range is in bounds, for a sequence also where inactive lanes would be; the slot has lanes of `D`.
    unsafe {
        match pattern {
            Pattern::Sequence => {
                let (start, size) = bounds::<SPACE>(x, i);
                let offset = first.wrapping_sub(start);
                if offset >= size || size - offset < width * LANES as u64 {
                    return false;
                }
                let from = base.wrapping_add(first as usize).cast::<[E; LANES]>().read_unaligned();
                write_lanes::<D>(x, i.d, m, |l| from[l].extend());
            }
            Pattern::Same => {
                let value: D = base.wrapping_add(one as usize).cast::<E>().read_unaligned().extend();
                write_lanes::<D>(x, i.d, m, |_| value);
            }
            _ => return false,
        }
    }
    true
}

/// Start and size of shared memory, or of the allocation that the instruction touched last.
#[inline(always)]
fn bounds<const SPACE: u8>(x: &Exec<'_>, i: &Inst) -> (u64, u64) {
    if SPACE == SHARED {
        return (0, x.shared_bytes);
    }
    // SAFETY: decoding numbers memory instructions below the table's size.
    let touched = unsafe { *x.touched.add(i.touched() as usize) };
    (touched.start, touched.size)
}

/// As [`origin`] for lanes anywhere in one allocation, alignment included.
#[inline(always)]
fn origin_of_all<const SPACE: u8>(x: &Exec<'_>, i: &Inst, addr: &[u64; LANES], width: u64) -> Option<*mut u8> {
    // Also makes the touched range the one of the first lane.
    let base = origin::<SPACE>(x, i, addr[0], width)?;
    let (start, size) = bounds::<SPACE>(x, i);
    // An offset is inside if neither it nor what is left behind it is negative; both signs are collected in one word.
    let room = size - width;
    let (mut signs, mut bits) = (0, 0);
    for &a in addr {
        let offset = a.wrapping_sub(start);
        signs |= offset | room.wrapping_sub(offset);
        bits |= a;
    }
    ((signs as i64) >= 0 && aligned(bits, width)).then_some(base)
}

/// Gives a lane of a lenient launch what it reads outside every allocation; says whether it may.
#[cold]
#[inline(never)]
unsafe fn give_stray<E: Element<D>, D: Lane>(x: &mut Exec<'_>, i: &Inst, lane: usize, address: u64) -> bool {
    let (elements, width) = vector::<E>(i);
    let Some(found) = forgiven(x, i, lane, address, width) else { return false };
    for k in 0..elements {
        // SAFETY: a vector has at most as many bytes as were found; the slot has 32 lanes of `D`.
        unsafe {
            let value: D = found.as_ptr().cast::<E>().add(k).read_unaligned().extend();
            x.write_slot(data_slot(i, k)).cast::<D::Stored>().add(lane).write(value.store());
        }
    }
    true
}

/// Each lane with its own check: they are in different allocations, or few, or one of them is wrong. Not inlined: it is
/// scalar code, and half of every access otherwise.
#[inline(never)]
unsafe fn lane_by_lane<const STORE: bool, const SPACE: u8, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    addr: &[u64; LANES],
) -> Flow {
    let (elements, width) = vector::<E>(i);
    let mut rest = m;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let a = addr[lane];
        let Some(base) = origin::<SPACE>(x, i, a, width).filter(|_| aligned(a, width)) else {
            // SAFETY: passed on to the caller of an `OpFn`.
            if !STORE && SPACE == GLOBAL && unsafe { give_stray::<E, D>(x, i, lane, a) } {
                continue;
            }
            return explain::<SPACE>(x, i, m, addr, width);
        };
        for k in 0..elements {
            // SAFETY: the access was just checked; the slot has 32 lanes of `D`.
            unsafe {
                let place = base.wrapping_add(a as usize).cast::<E>().add(k);
                if STORE {
                    let value = D::load(x.read_slot(data_slot(i, k)).cast::<D::Stored>().add(lane).read());
                    place.write_unaligned(E::truncate(value));
                } else {
                    let value: D = place.read_unaligned().extend();
                    x.write_slot(data_slot(i, k)).cast::<D::Stored>().add(lane).write(value.store());
                }
            }
        }
    }
    Flow::Next
}

/// Stores of one run of lanes (no gap in the mask) to neighbouring elements; says whether they were.
#[inline(always)]
unsafe fn store_run<const SPACE: u8, const VECTOR: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    addr: &[u64; LANES],
) -> bool {
    let low = m.trailing_zeros() as usize;
    let lanes = (m >> low).trailing_ones() as usize;
    let (one, width) = (addr[low], size_of::<E>() as u64);
    if lanes as u32 != m.count_ones()
        || !aligned(one, width)
        || masked_pattern::<VECTOR>(addr, m, width).0 != Pattern::Sequence
    {
        return false;
    }
    let Some(base) = origin::<SPACE>(x, i, one, width * lanes as u64) else {
        return false;
    };
    // SAFETY: the range is in bounds; the slot has 32 lanes of `D`. The bytes around it are left alone, not written
    // back: another host thread may write them.
    unsafe {
        let from = x.read_slot(i.d).cast::<D::Stored>();
        let values: [E; LANES] = std::array::from_fn(|l| E::truncate(D::load(from.add(l).read())));
        let to = base.wrapping_add(one as usize);
        std::ptr::copy_nonoverlapping(values.as_ptr().add(low).cast(), to, lanes * size_of::<E>());
    }
    true
}

/// Which memory the generic addresses of the active lanes are in; `None` if they differ.
#[inline(always)]
pub(crate) fn resolve(addr: &[u64; LANES], m: LaneMask) -> Option<Space> {
    let mut found = None;
    let mut rest = m;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let space = window(addr[lane]);
        match found {
            None => found = Some(space),
            Some(s) if s != space => return None,
            Some(_) => {}
        }
    }
    found
}

/// The memory behind one generic address.
#[inline(always)]
pub(crate) fn window(address: u64) -> Space {
    if address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES {
        Space::Shared
    } else if address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES {
        Space::Local
    } else {
        Space::Global
    }
}

/// Splits a generic access by memory and runs each part.
#[inline(always)]
unsafe fn by_window(
    x: &mut Exec<'_>,
    m: LaneMask,
    addr: [u64; LANES],
    mut part: impl FnMut(&mut Exec<'_>, Space, LaneMask, [u64; LANES]) -> Flow,
) -> Flow {
    let strip = |space: Space, addr: [u64; LANES]| match space {
        Space::Shared => addr.map(|a| a.wrapping_sub(SHARED_WINDOW)),
        Space::Local => addr.map(|a| a.wrapping_sub(LOCAL_WINDOW)),
        _ => addr,
    };
    if let Some(space) = resolve(&addr, m) {
        return part(x, space, m, strip(space, addr));
    }
    for space in [Space::Global, Space::Shared, Space::Local] {
        let mut lanes = 0;
        for (l, &a) in addr.iter().enumerate() {
            if m >> l & 1 != 0 && window(a) == space {
                lanes |= 1 << l;
            }
        }
        if lanes != 0 {
            let flow = part(x, space, lanes, strip(space, addr));
            if flow != Flow::Next {
                return flow;
            }
        }
    }
    Flow::Next
}

/// `ld` and `st`: between elements `E` in memory and registers `D`.
#[inline(always)]
pub(crate) unsafe fn access<
    const STORE: bool,
    const SPACE: u8,
    const WIDE: bool,
    const VECTOR: bool,
    E: Element<D>,
    D: Lane,
>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
) -> Flow
where
    u64: Widen<E>,
{
    let Access { offset, synchronises, .. } = i.fields();
    x.synchronised |= synchronises;
    // SAFETY: passed on to the caller of an `OpFn`; see there.
    unsafe {
        if m == LaneMask::MAX
            && matches!(SPACE, GLOBAL | SHARED | CONST)
            && let Some(flow) = regular::<STORE, SPACE, WIDE, VECTOR, E, D>(x, i)
        {
            return flow;
        }
        let addr = addresses::<WIDE>(x, i.a, offset);
        match SPACE {
            LOCAL => local_access::<STORE, E, D>(x, i, m, &in_frame(x, i, addr)),
            GENERIC => by_window(x, m, addr, |x, space, m, addr| match space {
                Space::Shared => flat::<STORE, SHARED, VECTOR, E, D>(x, i, m, addr),
                Space::Local => local_access::<STORE, E, D>(x, i, m, &addr),
                _ => flat::<STORE, GLOBAL, VECTOR, E, D>(x, i, m, addr),
            }),
            _ => flat::<STORE, SPACE, VECTOR, E, D>(x, i, m, addr),
        }
    }
}

/// Host pointer to one lane's operand in global or shared memory, generic windows resolved; for atomics and copies.
#[inline(always)]
pub(crate) fn lane_pointer<const SPACE: u8>(
    x: &mut Exec<'_>,
    i: &Inst,
    lane: usize,
    address: u64,
    width: u64,
) -> Result<*mut u8, Flow> {
    let at = |x: &Exec<'_>, shared: bool, a: u64| {
        let base = if shared { origin::<SHARED>(x, i, a, width) } else { origin::<GLOBAL>(x, i, a, width) };
        base.filter(|_| aligned(a, width)).map(|b| b.wrapping_add(a as usize))
    };
    let shared = SPACE == SHARED || SPACE == GENERIC && window(address) == Space::Shared;
    let a = if shared && SPACE == GENERIC { address - SHARED_WINDOW } else { address };
    if let Some(pointer) = at(x, shared, a) {
        return Ok(pointer);
    }
    let mut addr = [0; LANES];
    addr[lane] = a;
    Err(if shared {
        explain::<SHARED>(x, i, 1 << lane, &addr, width)
    } else {
        explain::<GLOBAL>(x, i, 1 << lane, &addr, width)
    })
}

/// `cp.async`: from global to shared memory; what is not read is zero.
pub(crate) unsafe fn copy_async<const WIDE: bool>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let AsyncCopy { offset, bytes, skips, .. } = i.fields();
    // SAFETY: decoding gave slots of these sizes.
    let (from, to, sizes) =
        unsafe { (addresses::<true>(x, i.a, offset), copy_targets::<WIDE>(x, i), read_lanes::<u32>(x, i.c)) };
    let width = u64::from(bytes);
    let skipped = x.truth(skips);
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        let target = match lane_pointer::<SHARED>(x, i, lane, to[lane], width) {
            Ok(target) => target,
            Err(flow) => return flow,
        };
        let read = if skipped >> lane & 1 != 0 { 0 } else { u64::from(sizes[lane]).min(width) as usize };
        // SAFETY: both ranges were checked by `lane_pointer`; shared and global memory do not overlap.
        unsafe {
            std::ptr::write_bytes(target, 0, width as usize);
            if read > 0 {
                // What is not read may lie outside: then only the first and the last byte read are checked.
                let whole = read as u64 == width || !aligned(from[lane], width);
                let last = if whole { from[lane] } else { from[lane] + read as u64 - 1 };
                let checked = if whole { width } else { 1 };
                let ends = lane_pointer::<GLOBAL>(x, i, lane, last, checked)
                    .and_then(|_| lane_pointer::<GLOBAL>(x, i, lane, from[lane], checked));
                match ends {
                    Ok(source) => std::ptr::copy_nonoverlapping(source, target, read),
                    Err(flow) => return flow,
                }
            }
        }
        x.bytes_read += read as u64;
    }
    report(x, Space::Global, m, &from);
    Flow::Next
}

/// Where the lanes of a `cp.async` write.
#[inline(always)]
pub(crate) unsafe fn copy_targets<const WIDE: bool>(x: &Exec<'_>, i: &Inst) -> [u64; LANES] {
    // SAFETY: decoding gave a 64-bit constant, and an address slot of that width.
    unsafe { addresses::<WIDE>(x, i.b, read_lanes::<u64>(x, i.e)[0] as i64) }
}

/// `prefetch`: nothing happens but the access itself, for whoever listens.
pub(crate) unsafe fn prefetch(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a 64-bit address.
    let addr = unsafe { addresses::<true>(x, i.a, i.fields::<Access>().offset) };
    report(x, Space::Global, m, &addr);
    Flow::Next
}
