//! Loops over the 32 lanes of a warp, written so that the compiler turns them into vector code.
//!
//! A register is a *slot*: 32 consecutive lanes of 4 bytes (one unit) or 8 bytes (two units). An operation reads its
//! source slots and writes its destination slot in chunks of [`CHUNK`] lanes: each chunk is loaded whole, computed, then
//! stored, so that a destination may be the very slot of a source (register packing guarantees that slots either
//! coincide or are disjoint), and no runtime alias check stands between the compiler and the vector unit.
//!
//! Each operation is compiled twice by [`lane_op!`](crate::lane_op), for plain x86-64 (or any other machine) and for
//! x86-64-v3 (AVX2, FMA), and chosen when a module is decoded. Both give the same bytes.

use crate::exec::{Exec, Flow, Slot};
use crate::inst::Inst;
use strata_core::{LANES, LaneMask};

/// Lanes computed together.
pub(crate) const CHUNK: usize = 8;

/// The stored form of a lane.
pub(crate) trait Stored: Copy + PartialEq {
    /// `new` where `mask` is all ones, the old value where it is zero.
    fn merge(self, new: Self, mask: u32) -> Self;
}

impl Stored for u32 {
    #[inline(always)]
    fn merge(self, new: Self, mask: u32) -> Self {
        self ^ (self ^ new) & mask
    }
}

impl Stored for u64 {
    #[inline(always)]
    fn merge(self, new: Self, mask: u32) -> Self {
        self ^ (self ^ new) & i64::from(mask as i32) as u64
    }
}

/// For each eight bits of a mask, all ones in the lanes whose bit is set.
///
/// A table, because the compiler must not see that these are conditions: it would store under a mask, and masked stores
/// take some twenty times as long as whole ones on CPUs where they are microcode (AMD Zen).
static CHUNK_MASKS: [[u32; CHUNK]; 1 << CHUNK] = {
    let mut masks = [[0; CHUNK]; 1 << CHUNK];
    let mut bits = 0;
    while bits < masks.len() {
        let mut lane = 0;
        while lane < CHUNK {
            masks[bits][lane] = if bits >> lane & 1 != 0 { u32::MAX } else { 0 };
            lane += 1;
        }
        bits += 1;
    }
    masks
};

/// All ones in the lanes of chunk `at` that `mask` holds.
#[inline(always)]
pub(crate) fn chunk_mask(mask: LaneMask, at: usize) -> &'static [u32; CHUNK] {
    &CHUNK_MASKS[(mask >> (at * CHUNK)) as usize % CHUNK_MASKS.len()]
}

/// A value that lives in a lane.
pub(crate) trait Lane: Copy {
    /// How the lane stores it: at least 32 bits.
    type Stored: Stored;
    /// From the stored form; upper bits are ignored.
    fn load(stored: Self::Stored) -> Self;
    /// To the stored form; upper bits are zero.
    fn store(self) -> Self::Stored;
}

macro_rules! lane {
    ($($ty:ty as $stored:ty: $load:expr, $store:expr;)*) => { $(
        impl Lane for $ty {
            type Stored = $stored;
            #[inline(always)]
            fn load(stored: $stored) -> Self { let f: fn($stored) -> Self = $load; f(stored) }
            #[inline(always)]
            fn store(self) -> $stored { let f: fn(Self) -> $stored = $store; f(self) }
        }
    )* };
}

lane! {
    u8 as u32: |s| s as u8, |v| u32::from(v);
    i8 as u32: |s| s as i8, |v| u32::from(v as u8);
    u16 as u32: |s| s as u16, |v| u32::from(v);
    i16 as u32: |s| s as i16, |v| u32::from(v as u16);
    u32 as u32: |s| s, |v| v;
    i32 as u32: |s| s as i32, |v| v as u32;
    f32 as u32: f32::from_bits, f32::to_bits;
    u64 as u64: |s| s, |v| v;
    i64 as u64: |s| s as i64, |v| v as u64;
    f64 as u64: f64::from_bits, f64::to_bits;
}

/// Loads one chunk of a slot.
#[inline(always)]
unsafe fn chunk<T: Lane>(from: *const u8, at: usize) -> [T::Stored; CHUNK] {
    // SAFETY: the caller passes a slot of 32 stored lanes and `at` < 32 / CHUNK.
    unsafe { from.cast::<[T::Stored; CHUNK]>().add(at).read() }
}

/// Stores one chunk of a slot, keeping lanes outside the mask.
#[inline(always)]
unsafe fn put<T: Lane>(to: *mut u8, at: usize, value: [T::Stored; CHUNK], mask: LaneMask) {
    // SAFETY: as in `chunk`.
    unsafe {
        let place = to.cast::<[T::Stored; CHUNK]>().add(at);
        if mask == LaneMask::MAX {
            place.write(value);
        } else {
            let (mut merged, keep) = (place.read(), chunk_mask(mask, at));
            for i in 0..CHUNK {
                merged[i] = merged[i].merge(value[i], keep[i]);
            }
            place.write(merged);
        }
    }
}

/// `d = f(a)`.
#[inline(always)]
pub(crate) unsafe fn map1<A: Lane, R: Lane>(x: &mut Exec<'_>, i: &Inst, m: LaneMask, f: impl Fn(A) -> R) -> Flow {
    let (d, a) = (x.write_slot(i.d), x.read_slot(i.a));
    for at in 0..LANES / CHUNK {
        // SAFETY: decoding gave slots of the operand types' sizes.
        unsafe {
            let va = chunk::<A>(a, at);
            let r = std::array::from_fn(|l| f(A::load(va[l])).store());
            put::<R>(d, at, r, m);
        }
    }
    Flow::Next
}

/// `d = f(a, b)`.
#[inline(always)]
pub(crate) unsafe fn map2<A: Lane, B: Lane, R: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    f: impl Fn(A, B) -> R,
) -> Flow {
    let (d, a, b) = (x.write_slot(i.d), x.read_slot(i.a), x.read_slot(i.b));
    for at in 0..LANES / CHUNK {
        // SAFETY: decoding gave slots of the operand types' sizes.
        unsafe {
            let (va, vb) = (chunk::<A>(a, at), chunk::<B>(b, at));
            let r = std::array::from_fn(|l| f(A::load(va[l]), B::load(vb[l])).store());
            put::<R>(d, at, r, m);
        }
    }
    Flow::Next
}

/// `d = f(a, b, c)`.
#[inline(always)]
pub(crate) unsafe fn map3<A: Lane, B: Lane, C: Lane, R: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    f: impl Fn(A, B, C) -> R,
) -> Flow {
    let (d, a, b, c) = (x.write_slot(i.d), x.read_slot(i.a), x.read_slot(i.b), x.read_slot(i.c));
    for at in 0..LANES / CHUNK {
        // SAFETY: decoding gave slots of the operand types' sizes.
        unsafe {
            let (va, vb, vc) = (chunk::<A>(a, at), chunk::<B>(b, at), chunk::<C>(c, at));
            let r = std::array::from_fn(|l| f(A::load(va[l]), B::load(vb[l]), C::load(vc[l])).store());
            put::<R>(d, at, r, m);
        }
    }
    Flow::Next
}

/// `d = f(a, b, c, e)`, the fourth operand in `Inst::e`.
#[inline(always)]
pub(crate) unsafe fn map4<A: Lane, B: Lane, C: Lane, E: Lane, R: Lane>(
    x: &mut Exec<'_>,
    i: &Inst,
    m: LaneMask,
    f: impl Fn(A, B, C, E) -> R,
) -> Flow {
    let (d, a, b, c, e) = (x.write_slot(i.d), x.read_slot(i.a), x.read_slot(i.b), x.read_slot(i.c), x.read_slot(i.e));
    for at in 0..LANES / CHUNK {
        // SAFETY: decoding gave slots of the operand types' sizes.
        unsafe {
            let (va, vb, vc, ve) = (chunk::<A>(a, at), chunk::<B>(b, at), chunk::<C>(c, at), chunk::<E>(e, at));
            let r = std::array::from_fn(|l| f(A::load(va[l]), B::load(vb[l]), C::load(vc[l]), E::load(ve[l])).store());
            put::<R>(d, at, r, m);
        }
    }
    Flow::Next
}

/// One bit per lane: `f(a, b)`.
#[inline(always)]
pub(crate) unsafe fn test2<A: Lane, B: Lane>(x: &Exec<'_>, i: &Inst, f: impl Fn(A, B) -> bool) -> LaneMask {
    let (a, b) = (x.read_slot(i.a), x.read_slot(i.b));
    let mut bits = [0u32; CHUNK];
    for at in 0..LANES / CHUNK {
        // SAFETY: decoding gave slots of the operand types' sizes.
        unsafe {
            let (va, vb) = (chunk::<A>(a, at), chunk::<B>(b, at));
            for l in 0..CHUNK {
                bits[l] |= u32::from(f(A::load(va[l]), B::load(vb[l]))) << (at * CHUNK + l);
            }
        }
    }
    bits.iter().fold(0, |all, b| all | b)
}

/// `d = p ? a : b` with one bit per lane.
#[inline(always)]
pub(crate) unsafe fn select<T: Lane>(x: &mut Exec<'_>, i: &Inst, m: LaneMask, p: LaneMask) -> Flow {
    let (d, a, b) = (x.write_slot(i.d), x.read_slot(i.a), x.read_slot(i.b));
    for at in 0..LANES / CHUNK {
        // SAFETY: decoding gave slots of the operand type's size.
        unsafe {
            let (va, vb) = (chunk::<T>(a, at), chunk::<T>(b, at));
            let r = std::array::from_fn(|l| if p >> (at * CHUNK + l) & 1 != 0 { va[l] } else { vb[l] });
            put::<T>(d, at, r, m);
        }
    }
    Flow::Next
}

/// Writes lane values computed by index.
#[inline(always)]
pub(crate) unsafe fn write_lanes<R: Lane>(x: &mut Exec<'_>, d: Slot, m: LaneMask, f: impl Fn(usize) -> R) {
    let to = x.write_slot(d);
    for at in 0..LANES / CHUNK {
        let r = std::array::from_fn(|l| f(at * CHUNK + l).store());
        // SAFETY: decoding gave a slot of the result's size.
        unsafe { put::<R>(to, at, r, m) };
    }
}

/// Reads all lanes of a slot.
#[inline(always)]
pub(crate) unsafe fn read_lanes<T: Lane>(x: &Exec<'_>, s: Slot) -> [T; LANES] {
    let from = x.read_slot(s).cast::<T::Stored>();
    // SAFETY: decoding gave a slot of the operand's size.
    std::array::from_fn(|l| T::load(unsafe { from.add(l).read() }))
}

/// Compiles a lane loop for both instruction sets and picks one: `lane_op!(v3, |x, i, m| expression)`.
///
/// The expression is an `unsafe` call of a loop above; `v3` says whether the CPU has AVX2 and FMA. Inside it, the constant
/// `VECTOR` says which of the two is being compiled.
#[macro_export]
#[doc(hidden)]
macro_rules! lane_op {
    ($v3:expr, |$x:ident, $i:ident, $m:ident| $body:expr) => {{
        #[allow(unused_variables, reason = "not every operation looks at its mask or instruction")]
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn vector(
            $x: &mut $crate::exec::Exec<'_>,
            $i: &$crate::inst::Inst,
            $m: strata_core::LaneMask,
        ) -> $crate::exec::Flow {
            #[allow(dead_code, reason = "for bodies that have code of their own for vectors")]
            const VECTOR: bool = true;
            // SAFETY: the caller of an `OpFn` guarantees what the loop needs.
            unsafe { $body }
        }
        #[allow(unused_variables, reason = "not every operation looks at its mask or instruction")]
        unsafe fn plain(
            $x: &mut $crate::exec::Exec<'_>,
            $i: &$crate::inst::Inst,
            $m: strata_core::LaneMask,
        ) -> $crate::exec::Flow {
            #[allow(dead_code, reason = "for bodies that have code of their own for vectors")]
            const VECTOR: bool = false;
            // SAFETY: as above.
            unsafe { $body }
        }
        #[cfg(target_arch = "x86_64")]
        let chosen: $crate::inst::OpFn = if $v3 { vector } else { plain };
        #[cfg(not(target_arch = "x86_64"))]
        let chosen: $crate::inst::OpFn = plain;
        chosen
    }};
}
