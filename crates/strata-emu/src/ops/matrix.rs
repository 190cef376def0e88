//! Matrix products of a warp: `wmma.mma`, `mma`.
//!
//! All lanes of a warp execute these together (`.sync.aligned`). A split that lacks lanes waits, as at a collective, and the
//! instruction runs once, when the last has come.
//!
//! # Numbers
//!
//! A product of f16, bf16, tf32 or 8-bit floats is exact; it is added to an f32 that begins as `c`, for ascending `k`, each sum
//! rounded to nearest even; an f16 result is rounded once, at the end. Tensor cores also multiply exactly, but add
//! in groups (of 4 products on Volta, 8 and 16 later), aligned to the greatest of the group and cut off a few bits below
//! f32's last place, a detail that NVIDIA does not publish. So results differ from silicon's by a few units in the
//! last place of the greatest partial sum. Double precision is the fused multiply-add for ascending `k`; integers are exact.

use crate::exec::{Exec, Flow};
use crate::fragment::{Fragment, Number, Shape};
use crate::inst::Inst;
use crate::kernel::Matrix;
use crate::semantics::float::{Float, FloatMode};
use crate::semantics::half::{self, F16, HalfFormat};
use crate::semantics::rounding::{Rounded, Rounding};
use strata_core::LaneMask;

/// `d = a * b + c`.
pub(crate) struct Product {
    pub(crate) shape: Shape,
    pub(crate) d: Fragment,
    pub(crate) a: Fragment,
    pub(crate) b: Fragment,
    pub(crate) c: Fragment,
    /// Matrices side by side in the fragments.
    pub(crate) matrices: usize,
    /// `.satfinite`.
    pub(crate) saturate: bool,
    /// Of doubles.
    pub(crate) rounding: Rounding,
    /// Of single bits: `and` instead of `xor`.
    pub(crate) bit_and: bool,
}

/// The matrix operands of an instruction.
#[inline(always)]
pub(crate) fn operands<'l>(x: &Exec<'l>, i: &Inst) -> &'l Matrix {
    &x.launch.kernel.functions[x.code as usize].matrices[i.scheduled().own as usize]
}

/// Runs `body` if all lanes of the warp are here, waits otherwise.
macro_rules! together {
    ($name:ident, $doc:literal, |$x:ident, $i:ident, $m:ident, $variant:ident($operands:ident)| $body:expr) => {
        #[doc = $doc]
        #[inline(always)]
        pub(crate) unsafe fn $name($x: &mut Exec<'_>, $i: &Inst, $m: LaneMask) -> Flow {
            if $x.live & !$m != 0 {
                return Flow::Wait;
            }
            let crate::kernel::Matrix::$variant($operands) = crate::ops::matrix::operands($x, $i) else {
                return $x.fail(crate::fault::Cause::Unsupported { what: "matrix operands of another kind".into() });
            };
            $body
        }
    };
}

pub(super) use together;

/// Elements of the greatest operand of a product of floats or bytes (32 by 16) and of its sum (16 by 16).
const MOST: usize = 512;
const MOST_SUMS: usize = 256;
/// Elements of the greatest operand of a product of parts of bytes (16 by 256 bits).
const MOST_SMALL: usize = 4096;

/// `sum += a * b` for each of the matrices, `k` ascending.
#[inline(always)]
fn accumulate<T: Copy, S: Copy>(p: &Product, a: &[T], b: &[T], sum: &mut [S], f: impl Fn(T, T, S) -> S) {
    let Shape { m, n, k } = p.shape;
    for matrix in 0..p.matrices {
        let (a, b) = (&a[matrix * m * k..][..m * k], &b[matrix * k * n..][..k * n]);
        for (a, sum) in a.chunks_exact(k).zip(sum[matrix * m * n..].chunks_exact_mut(n)) {
            for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
                for (sum, &b) in sum.iter_mut().zip(b) {
                    *sum = f(a, b, *sum);
                }
            }
        }
    }
}

/// Reads a fragment of floats.
#[inline(always)]
fn read_f32<const N: usize>(x: &Exec<'_>, fragment: &Fragment) -> [f32; N] {
    let mut out = [0.0; N];
    let number = fragment.number;
    fragment.read(x, |place, bits| out[place % N] = number.to_f32(bits));
    out
}

/// Reads a fragment of integers.
#[inline(always)]
fn read_i32<const N: usize>(x: &Exec<'_>, fragment: &Fragment) -> [i32; N] {
    let mut out = [0; N];
    let number = fragment.number;
    fragment.read(x, |place, bits| out[place % N] = number.to_i32(bits));
    out
}

together!(product_f32, "A product that is summed in f32.", |x, i, m, Product(p)| {
    let (a, b) = (read_f32::<MOST>(x, &p.a), read_f32::<MOST>(x, &p.b));
    let mut sum = read_f32::<MOST_SUMS>(x, &p.c);
    accumulate(p, &a, &b, &mut sum, f32::mul_add);
    if p.d.number == Number::F16 {
        let finish = |bits: u16| match (p.saturate, half::is_nan::<F16>(bits)) {
            (false, _) => bits,
            (true, true) => 0,
            (true, false) => half::satfinite::<F16>(bits),
        };
        p.d.write(x, m, |place| finish(F16::narrow(sum[place])).into());
    } else {
        let finish = |value: f32| match (p.saturate, value.is_nan()) {
            (true, true) => 0.0,
            (true, false) => value.clamp(f32::MIN, f32::MAX),
            (false, _) => value.finish(FloatMode::PLAIN),
        };
        p.d.write(x, m, |place| finish(sum[place]).to_bits().into());
    }
    Flow::Next
});

together!(product_f64, "A product of doubles.", |x, i, m, Product(p)| {
    let read = |fragment: &Fragment| {
        let mut out = [0.0; MOST_SUMS];
        fragment.read(x, |place, bits| out[place] = f64::from_bits(bits));
        out
    };
    let (a, b, mut sum) = (read(&p.a), read(&p.b), read(&p.c));
    let rounding = p.rounding;
    accumulate(p, &a, &b, &mut sum, |a: f64, b, sum| a.fma_rounded(b, sum, rounding, FloatMode::PLAIN));
    p.d.write(x, m, |place| sum[place].to_bits());
    Flow::Next
});

/// The sums of a product of integers, wrapped or clamped.
#[inline(always)]
fn write_sums(x: &mut Exec<'_>, p: &Product, m: LaneMask, sum: &[i64]) {
    let finish = |v: i64| if p.saturate { v.clamp(i32::MIN.into(), i32::MAX.into()) } else { v } as u32;
    p.d.write(x, m, |place| finish(sum[place]).into());
}

together!(product_bytes, "A product of bytes.", |x, i, m, Product(p)| {
    let (a, b) = (read_i32::<MOST>(x, &p.a), read_i32::<MOST>(x, &p.b));
    let mut sum = read_i32::<MOST_SUMS>(x, &p.c).map(i64::from);
    accumulate(p, &a, &b, &mut sum, |a, b, sum| sum + i64::from(a * b));
    write_sums(x, p, m, &sum);
    Flow::Next
});

together!(product_small, "A product of half-bytes or bits.", |x, i, m, Product(p)| {
    let (a, b) = (read_i32::<MOST_SMALL>(x, &p.a), read_i32::<MOST_SMALL>(x, &p.b));
    let mut sum = read_i32::<MOST_SUMS>(x, &p.c).map(i64::from);
    match (p.a.number, p.bit_and) {
        (Number::B1, true) => accumulate(p, &a, &b, &mut sum, |a, b, sum| sum + i64::from(a & b)),
        (Number::B1, false) => accumulate(p, &a, &b, &mut sum, |a, b, sum| sum + i64::from(a ^ b)),
        _ => accumulate(p, &a, &b, &mut sum, |a, b, sum| sum + i64::from(a * b)),
    }
    write_sums(x, p, m, &sum);
    Flow::Next
});
