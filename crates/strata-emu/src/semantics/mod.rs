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
//!   `0x7ff8000000000000`. Moves, `abs`, `neg` and `copysign` only touch the sign bit.
//!
//! Floating-point registers are passed as `f32`/`f64`, half-precision ones as their bits (`u16`, or `u32` for a packed
//! pair with element 0 in the low half).

#![allow(
    clippy::inline_always,
    reason = "the functions must inline into loops compiled for a wider instruction set than the crate's baseline"
)]

pub mod approx;
pub mod bits;
pub mod convert;
pub mod float;
pub mod half;
pub mod int;
#[cfg(test)]
mod reference;
pub mod rounding;
