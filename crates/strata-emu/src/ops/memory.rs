//! Loads and stores.
//!
//! Most warps touch either 32 neighbouring elements or one and the same: both are recognised from the addresses with a few
//! vector instructions and served by one copy. Everything else goes lane by lane. Bounds are checked against the
//! allocation that the same static instruction touched last; only when that fails is the allocation table asked.
//!
//! Operands: `a` address, `imm` offset, `q` elements of the vector, `aux` index of the touched range, the data in
//! `d, b, c, e`; `p` is 1 for an address relative to the frame, `r` is 1 for an access that synchronises.

use crate::exec::{Exec, Flow, Inst, Slot, UNIT_BYTES};
use crate::fault::Cause;
use crate::lanes::{Lane, read_lanes, write_lanes};
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use strata_core::op::LaneAddresses;
use strata_core::{Addr, LANES, LaneMask, Space};

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

/// The lanes' addresses, offset applied.
#[inline(always)]
pub(crate) unsafe fn addresses<const WIDE: bool>(x: &Exec<'_>, i: &Inst) -> [u64; LANES] {
    // SAFETY: decoding gave an address slot of that width.
    unsafe {
        // Loops, not `map`: that is a call the compiler leaves outside code for wider vectors.
        let mut to = [0; LANES];
        if WIDE {
            let from = &*x.read_slot(i.a).cast::<[u64; LANES]>();
            for (to, a) in to.iter_mut().zip(from) {
                *to = a.wrapping_add(i.imm as u64);
            }
        } else {
            let from = &*x.read_slot(i.a).cast::<[u32; LANES]>();
            for (to, a) in to.iter_mut().zip(from) {
                *to = u64::from(a.wrapping_add(i.imm as u32));
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

/// How the lanes' addresses lie.
enum Pattern {
    /// Lane `l` at `first + l * width`.
    Sequence,
    /// All lanes at one address.
    Same,
    /// Anything else.
    Scattered,
}

#[inline(always)]
fn pattern(addr: &[u64; LANES], width: u64) -> Pattern {
    // Widths are powers of two: shifting the lane number keeps this free of multiplications, which do not vectorise.
    // Several accumulators keep it free of a chain of dependent operations.
    const STRIPES: usize = 8;
    let shift = width.trailing_zeros();
    let first = addr[0];
    let (mut sequence, mut same) = ([0; STRIPES], [0; STRIPES]);
    for at in (0..LANES).step_by(STRIPES) {
        for l in 0..STRIPES {
            let distance = addr[at + l].wrapping_sub(first);
            sequence[l] |= distance ^ (((at + l) as u64) << shift);
            same[l] |= distance;
        }
    }
    let any = |stripes: [u64; STRIPES]| stripes.iter().fold(0, |all, s| all | s) != 0;
    if !any(sequence) {
        Pattern::Sequence
    } else if !any(same) {
        Pattern::Same
    } else {
        Pattern::Scattered
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
    for (l, a) in addr.iter_mut().enumerate() {
        if m >> l & 1 == 0 {
            *a = filler;
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
    let touched = unsafe { &mut *x.touched.add(i.aux as usize) };
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
            let nearest = if SPACE == SHARED {
                format!("; the block has {} bytes of shared memory", x.shared_bytes)
            } else {
                x.launch.memory.explain(Addr(address)).to_string()
            };
            return x.fail(Cause::OutOfBounds { lane, space, address: Addr(address), width: width as u32, nearest });
        }
        if !aligned(address, width) {
            return x.fail(Cause::Misaligned { lane, space, address: Addr(address), width: width as u32 });
        }
    }
    unreachable!("an access was refused although every lane is in bounds and aligned")
}

/// Tells the listener where the lanes went.
#[inline(always)]
pub(crate) fn report(x: &mut Exec<'_>, space: Space, m: LaneMask, addr: &[u64; LANES]) {
    x.report(|| LaneAddresses {
        lanes: std::array::from_fn(|l| Addr(if m >> l & 1 != 0 { addr[l] } else { 0 })),
        space,
    });
}

const fn space_of(number: u8) -> Space {
    match number {
        SHARED => Space::Shared,
        LOCAL => Space::Local,
        CONST => Space::Const,
        _ => Space::Global,
    }
}

/// Loads `q` elements per lane from global, constant or shared memory.
#[inline(always)]
unsafe fn load_flat<const SPACE: u8, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    mut addr: [u64; LANES],
) -> Flow {
    let elements = usize::from(i.q);
    let size = size_of::<E>() as u64;
    let width = size * elements as u64;
    if SPACE == GLOBAL {
        x.bytes_read += width * u64::from(m.count_ones());
    }
    report(x, space_of(SPACE), m, &addr);
    if m.count_ones() < FEW_LANES {
        return unsafe { load_few::<SPACE, E, D>(x, i, m, &addr) };
    }
    if m != LaneMask::MAX {
        pad(&mut addr, m);
    }
    let first = addr[0];
    // SAFETY (all below): `origin` proved the range; registers are slots of `D`.
    match pattern(&addr, width) {
        Pattern::Sequence if aligned(first, width) => {
            let Some(base) = origin::<SPACE>(x, i, first, width * LANES as u64) else {
                return unsafe { load_scattered::<SPACE, E, D>(x, i, m, &addr) };
            };
            let from = base.wrapping_add(first as usize).cast::<E>();
            if elements == 1 && size_of::<E>() == size_of::<D::Stored>() && m == LaneMask::MAX {
                let to = x.write_slot(i.d);
                unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to, LANES * size_of::<E>()) };
            } else {
                for k in 0..elements {
                    unsafe {
                        write_lanes::<D>(x, data_slot(i, k), m, |l| from.add(l * elements + k).read_unaligned().extend());
                    }
                }
            }
        }
        Pattern::Same if aligned(first, width) => {
            let Some(base) = origin::<SPACE>(x, i, first, width) else {
                return explain::<SPACE>(x, i, m, &addr, width);
            };
            let from = base.wrapping_add(first as usize).cast::<E>();
            for k in 0..elements {
                unsafe {
                    let value: D = from.add(k).read_unaligned().extend();
                    write_lanes::<D>(x, data_slot(i, k), m, |_| value);
                }
            }
        }
        _ => return unsafe { load_scattered::<SPACE, E, D>(x, i, m, &addr) },
    }
    Flow::Next
}

/// Lanes anywhere: one check for all of them if they lie in one allocation, else one each.
#[inline(always)]
unsafe fn load_scattered<const SPACE: u8, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    addr: &[u64; LANES],
) -> Flow {
    let elements = usize::from(i.q);
    let width = size_of::<E>() as u64 * elements as u64;
    let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
    for &a in addr {
        low = low.min(a);
        high = high.max(a);
        bits |= a;
    }
    let inside = origin::<SPACE>(x, i, low, (high - low).saturating_add(width));
    let Some(base) = inside.filter(|_| aligned(bits, width)) else {
        // Lanes in different allocations, or one of them wrong.
        return unsafe { load_few::<SPACE, E, D>(x, i, m, addr) };
    };
    for k in 0..elements {
        // SAFETY: every address lies between the checked ends.
        unsafe {
            write_lanes::<D>(x, data_slot(i, k), m, |l| {
                base.wrapping_add(addr[l] as usize).cast::<E>().add(k).read_unaligned().extend()
            });
        }
    }
    Flow::Next
}

/// Lane by lane, each with its own check. Not inlined: it is scalar code, and half of every load otherwise.
#[inline(never)]
unsafe fn load_few<const SPACE: u8, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    addr: &[u64; LANES],
) -> Flow {
    let elements = usize::from(i.q);
    let width = size_of::<E>() as u64 * elements as u64;
    let mut rest = m;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let a = addr[lane];
        let Some(base) = origin::<SPACE>(x, i, a, width).filter(|_| aligned(a, width)) else {
            return explain::<SPACE>(x, i, m, addr, width);
        };
        for k in 0..elements {
            // SAFETY: the access was just checked; the slot has 32 lanes of `D`.
            unsafe {
                let value: D = base.wrapping_add(a as usize).cast::<E>().add(k).read_unaligned().extend();
                x.write_slot(data_slot(i, k)).cast::<D::Stored>().add(lane).write(value.store());
            }
        }
    }
    Flow::Next
}

/// Stores `q` elements per lane to global or shared memory; where lanes collide, the highest lane wins.
#[inline(always)]
unsafe fn store_flat<const SPACE: u8, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    addr: [u64; LANES],
) -> Flow {
    let elements = usize::from(i.q);
    let width = size_of::<E>() as u64 * elements as u64;
    if SPACE == GLOBAL {
        x.bytes_written += width * u64::from(m.count_ones());
    }
    report(x, space_of(SPACE), m, &addr);
    let first = addr[0];
    if m == LaneMask::MAX
        && aligned(first, width)
        && matches!(pattern(&addr, width), Pattern::Sequence)
        && let Some(base) = origin::<SPACE>(x, i, first, width * LANES as u64)
    {
        let to = base.wrapping_add(first as usize).cast::<E>();
        for k in 0..elements {
            // SAFETY: `origin` proved the range; the slot has 32 lanes of `D`.
            unsafe {
                let values = read_lanes::<D>(x, data_slot(i, k));
                for (l, &v) in values.iter().enumerate() {
                    to.add(l * elements + k).write_unaligned(E::truncate(v));
                }
            }
        }
        return Flow::Next;
    }
    let mut rest = m;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let a = addr[lane];
        let Some(base) = origin::<SPACE>(x, i, a, width).filter(|_| aligned(a, width)) else {
            return explain::<SPACE>(x, i, m, &addr, width);
        };
        for k in 0..elements {
            // SAFETY: the access was just checked; the slot has 32 lanes of `D`.
            unsafe {
                let value = D::load(x.read_slot(data_slot(i, k)).cast::<D::Stored>().add(lane).read());
                base.wrapping_add(a as usize).cast::<E>().add(k).write_unaligned(E::truncate(value));
            }
        }
    }
    Flow::Next
}

/// The device address of a byte of a lane's local memory: one word of 32 lanes to a line.
#[inline(always)]
pub(crate) fn local_address(x: &Exec<'_>, lane: usize, offset: u64) -> u64 {
    x.local + (offset / 4) * UNIT_BYTES as u64 + lane as u64 * 4 + offset % 4
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

/// Offsets of a variable named in the instruction (`p` is 1) are relative to the frame; register contents are not.
#[inline(always)]
fn in_frame(x: &Exec<'_>, i: &Inst, offsets: [u64; LANES]) -> [u64; LANES] {
    let base = u64::from(i.p) * x.local_frame;
    offsets.map(|o| o.wrapping_add(base))
}

/// Loads from, or stores to, local memory; `offsets` are offsets in each lane's local memory.
#[inline(always)]
unsafe fn local_access<E: Element<D>, D: Lane, const STORE: bool>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    offsets: &[u64; LANES],
) -> Flow
where
    u64: Widen<E>,
{
    let elements = usize::from(i.q);
    let size = size_of::<E>();
    let width = (size * elements) as u64;
    let bytes = width * u64::from(m.count_ones());
    if STORE {
        x.bytes_written += bytes;
    } else {
        x.bytes_read += bytes;
    }
    let physical = std::array::from_fn(|l| local_address(x, l, offsets[l]));
    report(x, Space::Local, m, &physical);
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

/// `ld` of elements `E` into registers `D`.
#[inline(always)]
pub(crate) unsafe fn load<const SPACE: u8, const WIDE: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
) -> Flow
where
    u64: Widen<E>,
{
    x.synchronised |= i.r != 0;
    // SAFETY: passed on to the caller of an `OpFn`; see there.
    unsafe {
        let addr = addresses::<WIDE>(x, i);
        match SPACE {
            LOCAL => local_access::<E, D, false>(x, i, m, &in_frame(x, i, addr)),
            GENERIC => by_window(x, m, addr, |x, space, m, addr| match space {
                Space::Shared => load_flat::<SHARED, E, D>(x, i, m, addr),
                Space::Local => local_access::<E, D, false>(x, i, m, &addr),
                _ => load_flat::<GLOBAL, E, D>(x, i, m, addr),
            }),
            _ => load_flat::<SPACE, E, D>(x, i, m, addr),
        }
    }
}

/// `st` of registers `D` to elements `E`.
#[inline(always)]
pub(crate) unsafe fn store<const SPACE: u8, const WIDE: bool, E: Element<D>, D: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
) -> Flow
where
    u64: Widen<E>,
{
    x.synchronised |= i.r != 0;
    // SAFETY: passed on to the caller of an `OpFn`; see there.
    unsafe {
        let addr = addresses::<WIDE>(x, i);
        match SPACE {
            LOCAL => local_access::<E, D, true>(x, i, m, &in_frame(x, i, addr)),
            GENERIC => by_window(x, m, addr, |x, space, m, addr| match space {
                Space::Shared => store_flat::<SHARED, E, D>(x, i, m, addr),
                Space::Local => local_access::<E, D, true>(x, i, m, &addr),
                _ => store_flat::<GLOBAL, E, D>(x, i, m, addr),
            }),
            _ => store_flat::<SPACE, E, D>(x, i, m, addr),
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

/// `cp.async`: `q` bytes from global (`a`, `imm`) to shared memory (`b`, plus the constant in `e`); only the first `c`
/// bytes are read, the rest is zero.
pub(crate) unsafe fn copy_async<const WIDE: bool>(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave slots of these sizes.
    let (from, to, sizes) = unsafe {
        let offset = read_lanes::<u64>(x, i.e)[0];
        let to: [u64; LANES] = if WIDE {
            read_lanes::<u64>(x, i.b).map(|a| a.wrapping_add(offset))
        } else {
            read_lanes::<u32>(x, i.b).map(|a| u64::from(a.wrapping_add(offset as u32)))
        };
        (addresses::<true>(x, i), to, read_lanes::<u32>(x, i.c))
    };
    let width = u64::from(i.q);
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        let target = match lane_pointer::<SHARED>(x, i, lane, to[lane], width) {
            Ok(target) => target,
            Err(flow) => return flow,
        };
        let read = u64::from(sizes[lane]).min(width) as usize;
        // SAFETY: both ranges were checked by `lane_pointer`; shared and global memory do not overlap.
        unsafe {
            std::ptr::write_bytes(target, 0, width as usize);
            if read > 0 {
                match lane_pointer::<GLOBAL>(x, i, lane, from[lane], width) {
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

/// `prefetch`: nothing happens but the access itself, for whoever listens.
pub(crate) unsafe fn prefetch(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    // SAFETY: decoding gave a 64-bit address.
    let addr = unsafe { addresses::<true>(x, i) };
    report(x, Space::Global, m, &addr);
    Flow::Next
}
