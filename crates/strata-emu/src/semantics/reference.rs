//! Operands for the tests: values at which floating-point definitions change, and random ones that reach every
//! exponent, so that cancellation, overflow and subnormal results all occur.

use proptest::prelude::*;

/// f32 edge values.
pub(crate) const F32_EDGES: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    -2.5,
    3.0,
    16777216.0,
    -16777215.0,
    1.0 - f32::EPSILON / 2.0,
    1.0 + f32::EPSILON,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    f32::from_bits(0x0080_0001),
    f32::from_bits(0x007f_ffff),
    f32::from_bits(0x807f_ffff),
    f32::from_bits(1),
    f32::from_bits(0x8000_0001),
    f32::from_bits(3),
    f32::MAX,
    f32::MIN,
    f32::from_bits(0x7f7f_fffe),
    f32::from_bits(0x7f00_0000),
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::from_bits(0xffc0_0001),
    f32::from_bits(0x7f80_0001),
    1e-30,
    -1e30,
    0.1,
    -std::f32::consts::PI,
    2147483648.0,
    65504.0,
];

/// f64 edge values.
pub(crate) const F64_EDGES: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    9007199254740992.0,
    -9007199254740991.0,
    1.0 - f64::EPSILON / 2.0,
    1.0 + f64::EPSILON,
    f64::MIN_POSITIVE,
    -f64::MIN_POSITIVE,
    f64::from_bits(0x000f_ffff_ffff_ffff),
    f64::from_bits(0x8010_0000_0000_0001),
    f64::from_bits(1),
    f64::from_bits(0x8000_0000_0000_0001),
    f64::from_bits(3),
    f64::MAX,
    f64::MIN,
    f64::from_bits(0x7fe0_0000_0000_0000),
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::from_bits(0xfff8_0000_0000_0001),
    f64::from_bits(0x7ff0_0000_0000_0001),
    1e-300,
    -1e300,
    0.1,
    -std::f64::consts::PI,
    1e-160,
    -1e154,
];

/// Every choice of three of them, in every order.
pub(crate) fn triples<T: Copy>(edges: &[T]) -> impl Iterator<Item = (T, T, T)> {
    let pairs = move |a: T| edges.iter().flat_map(move |&b| edges.iter().map(move |&c| (a, b, c)));
    edges.iter().flat_map(move |&a| pairs(a))
}

/// Any f32: uniform bits, an edge value, or a number near one, where results cancel.
pub(crate) fn any_f32() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits),
        proptest::sample::select(F32_EDGES),
        (0x3f00_0000u32..0x4080_0000, any::<bool>()).prop_map(|(bits, negative)| {
            let value = f32::from_bits(bits);
            if negative { -value } else { value }
        }),
    ]
}

/// Any f64: uniform bits, an edge value, or a number near one, where results cancel.
pub(crate) fn any_f64() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        proptest::sample::select(F64_EDGES),
        (0x3fe0_0000_0000_0000u64..0x4010_0000_0000_0000, any::<bool>()).prop_map(|(bits, negative)| {
            let value = f64::from_bits(bits);
            if negative { -value } else { value }
        }),
    ]
}
