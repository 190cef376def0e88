//! What each PTX arithmetic instruction computes, for one lane.
//!
//! Every function here is a pure scalar function of its operands. The execution loops of this crate apply them to 32
//! lanes; the functions are written without branches, tables or calls on their common path so that those loops
//! vectorise. Three invariants hold for all of them:
//!
//! * **One result on every machine.** Only IEEE operations, bit operations and fused multiply-add are used: no hardware
//!   estimate, no mathematical library. Scalar, AVX2 and AVX-512 code give the same bits.
//! * **No input panics.** Division by zero, shifts beyond the width and conversions out of range all have a value.
//! * **NaN results are canonical.** A NaN *produced* by f32 arithmetic is `0x7fffffff`, by f16 and bf16 arithmetic
//!   `0x7fff` (PTX ISA, "canonical NaN"). PTX leaves the payload of an f64 NaN to the machine; here it is
//!   `0x7ff8000000000000` (the coarse `.approx.ftz.f64` functions have their own, in the manual). Moves,
//!   `abs`, `neg` and `copysign` only touch the sign bit.
//!
//! Floating-point registers are passed as `f32`/`f64`, half-precision ones as their bits (`u16`, or `u32` for a packed
//! pair with element 0 in the low half).

#![allow(
    clippy::inline_always,
    reason = "the functions must inline into loops compiled for a wider instruction set than the crate's baseline"
)]
#![allow(clippy::return_self_not_must_use, reason = "operations of a register type return it; none has a side effect")]
#![allow(clippy::needless_bitwise_bool, reason = "`&` and `|` have no branch, so the loops over lanes vectorise")]
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "the negated comparison is the definition of PTX's unordered comparisons"
)]

pub mod approx;
pub mod bits;
pub mod convert;
pub mod float;
pub mod half;
pub mod int;
pub mod packed;
#[cfg(test)]
mod reference;
pub mod rounding;
pub mod sampling;
pub mod small;
pub mod video;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::approx;
    use super::convert::{IntType, f32_to_int, f64_to_f32, int_to_f32};
    use super::float::{Float, FloatMode, MinMaxMode};
    use super::half::{self, F16, HalfMode};
    use super::int::Integer;
    use super::reference::F32_EDGES;
    use super::rounding::{Rounded, Rounding};

    /// A bit of everything that a compiler might translate differently for a wider instruction set.
    #[inline(always)]
    fn everything(a: f32, b: f32, c: f32) -> [u32; 16] {
        let (x, y, z) = (a.to_bits(), b.to_bits(), c.to_bits());
        let mode = FloatMode::PLAIN;
        [
            a.add_rn(b, FloatMode::FTZ).to_bits(),
            a.mul_rn(b, FloatMode::SAT).to_bits(),
            a.fma_rn(b, c, mode).to_bits(),
            a.div_rn(b, mode).to_bits(),
            a.min_ptx(b, MinMaxMode::default()).to_bits(),
            a.fma_rounded(b, c, Rounding::Down, mode).to_bits(),
            a.sqrt_rounded(Rounding::Up, mode).to_bits(),
            approx::ex2_f32(a, false).to_bits(),
            approx::lg2_f32(a, false).to_bits(),
            approx::sin_f32(a, false).to_bits(),
            approx::tanh_f32(a).to_bits(),
            half::pair3(x, y, z, |a, b, c| half::fma::<F16>(a, b, c, HalfMode::PLAIN)),
            f32_to_int(a, IntType::S32, Rounding::Nearest, false) as u32,
            int_to_f32(x as u64, IntType::U32, Rounding::Nearest, mode).to_bits(),
            f64_to_f32(a as f64 * b as f64, Rounding::Zero, mode).to_bits(),
            x.divide(y).wrapping_add((x as i32).remainder(z as i32) as u32),
        ]
    }

    type Lanes<T> = [T; 32];

    #[inline(always)]
    fn all_lanes(a: &Lanes<f32>, b: &Lanes<f32>, c: &Lanes<f32>, out: &mut Lanes<[u32; 16]>) {
        for lane in 0..32 {
            out[lane] = everything(a[lane], b[lane], c[lane]);
        }
    }

    #[inline(never)]
    fn baseline(a: &Lanes<f32>, b: &Lanes<f32>, c: &Lanes<f32>, out: &mut Lanes<[u32; 16]>) {
        all_lanes(a, b, c, out);
    }

    #[inline(never)]
    #[target_feature(enable = "avx2,fma")]
    fn avx2(a: &Lanes<f32>, b: &Lanes<f32>, c: &Lanes<f32>, out: &mut Lanes<[u32; 16]>) {
        all_lanes(a, b, c, out);
    }

    #[test]
    fn wider_instruction_sets_give_the_same_bits() {
        if !(std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")) {
            return;
        }
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            // One operand in four is an edge value.
            if state >> 30 == 0 { F32_EDGES[(state >> 8) as usize % F32_EDGES.len()] } else { f32::from_bits(state) }
        };
        for _ in 0..2000 {
            let [a, b, c] = [(); 3].map(|()| [(); 32].map(|()| next()));
            let (mut narrow, mut wide) = ([[0; 16]; 32], [[0; 16]; 32]);
            baseline(&a, &b, &c, &mut narrow);
            // SAFETY: both features were detected above.
            unsafe { avx2(&a, &b, &c, &mut wide) };
            assert_eq!(narrow, wide);
        }
    }
}
