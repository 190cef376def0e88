//! Integers packed into a 32-bit register: `.u16x2 .s16x2 .u8x4 .s8x4`.

use std::ops::RangeInclusive;

/// A packed integer type.
pub trait Packed {
    /// Bits of an element.
    const WIDTH: u32;
    /// What an element can be.
    const RANGE: RangeInclusive<i32>;

    /// The low [`Packed::WIDTH`] bits as a number.
    fn element(bits: u32) -> i32;
}

macro_rules! packed {
    ($($name:ident, $element:ty;)*) => {$(
        #[doc = concat!("Elements of `", stringify!($element), "`.")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name;

        impl Packed for $name {
            const WIDTH: u32 = <$element>::BITS;
            const RANGE: RangeInclusive<i32> = <$element>::MIN as i32..=<$element>::MAX as i32;

            #[inline(always)]
            fn element(bits: u32) -> i32 {
                bits as $element as i32
            }
        }
    )*};
}

packed! { U16x2, u16; S16x2, i16; U8x4, u8; S8x4, i8; }

/// Applies `f` to the elements of two registers; results wrap to the element.
#[inline(always)]
pub fn zip<P: Packed>(a: u32, b: u32, f: impl Fn(i32, i32) -> i32) -> u32 {
    let mask = u32::MAX >> (32 - P::WIDTH);
    let mut packed = 0;
    for position in (0..32).step_by(P::WIDTH as usize) {
        let result = f(P::element(a >> position), P::element(b >> position)) as u32;
        packed |= (result & mask) << position;
    }
    packed
}

/// `value` clamped to the element.
#[inline(always)]
fn saturate<P: Packed>(value: i32) -> i32 {
    value.clamp(*P::RANGE.start(), *P::RANGE.end())
}

/// `add`.
#[inline(always)]
pub fn add<P: Packed>(a: u32, b: u32) -> u32 {
    zip::<P>(a, b, |a, b| a + b)
}

/// `add.sat`.
#[inline(always)]
pub fn add_sat<P: Packed>(a: u32, b: u32) -> u32 {
    zip::<P>(a, b, |a, b| saturate::<P>(a + b))
}

/// `sub`.
#[inline(always)]
pub fn sub<P: Packed>(a: u32, b: u32) -> u32 {
    zip::<P>(a, b, |a, b| a - b)
}

/// `sub.sat`.
#[inline(always)]
pub fn sub_sat<P: Packed>(a: u32, b: u32) -> u32 {
    zip::<P>(a, b, |a, b| saturate::<P>(a - b))
}

/// `min`.
#[inline(always)]
pub fn min<P: Packed>(a: u32, b: u32) -> u32 {
    zip::<P>(a, b, Ord::min)
}

/// `max`.
#[inline(always)]
pub fn max<P: Packed>(a: u32, b: u32) -> u32 {
    zip::<P>(a, b, Ord::max)
}

/// `min.relu`: negative results become zero.
#[inline(always)]
pub fn min_relu<P: Packed>(a: u32, b: u32) -> u32 {
    zip::<P>(a, b, |a, b| a.min(b).max(0))
}

/// `max.relu`: negative results become zero.
#[inline(always)]
pub fn max_relu<P: Packed>(a: u32, b: u32) -> u32 {
    zip::<P>(a, b, |a, b| a.max(b).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn halves_do_not_mix(a0: u16, a1: u16, b0: u16, b1: u16) {
            let pack = |low: u16, high: u16| low as u32 | (high as u32) << 16;
            let (a, b) = (pack(a0, a1), pack(b0, b1));
            prop_assert_eq!(add::<U16x2>(a, b), pack(a0.wrapping_add(b0), a1.wrapping_add(b1)));
            prop_assert_eq!(add::<S16x2>(a, b), add::<U16x2>(a, b));
            prop_assert_eq!(sub::<U16x2>(a, b), pack(a0.wrapping_sub(b0), a1.wrapping_sub(b1)));
            prop_assert_eq!(add_sat::<U16x2>(a, b), pack(a0.saturating_add(b0), a1.saturating_add(b1)));
            prop_assert_eq!(sub_sat::<U16x2>(a, b), pack(a0.saturating_sub(b0), a1.saturating_sub(b1)));
            prop_assert_eq!(min::<U16x2>(a, b), pack(a0.min(b0), a1.min(b1)));
            prop_assert_eq!(max::<U16x2>(a, b), pack(a0.max(b0), a1.max(b1)));
            let (s0, s1, t0, t1) = (a0 as i16, a1 as i16, b0 as i16, b1 as i16);
            prop_assert_eq!(add_sat::<S16x2>(a, b), pack(s0.saturating_add(t0) as u16, s1.saturating_add(t1) as u16));
            prop_assert_eq!(min::<S16x2>(a, b), pack(s0.min(t0) as u16, s1.min(t1) as u16));
            prop_assert_eq!(max_relu::<S16x2>(a, b), pack(s0.max(t0).max(0) as u16, s1.max(t1).max(0) as u16));
            prop_assert_eq!(min_relu::<S16x2>(a, b), pack(s0.min(t0).max(0) as u16, s1.min(t1).max(0) as u16));
        }

        #[test]
        fn bytes_do_not_mix(a: [u8; 4], b: [u8; 4]) {
            let (x, y) = (u32::from_le_bytes(a), u32::from_le_bytes(b));
            let each = |f: fn(u8, u8) -> u8| u32::from_le_bytes(std::array::from_fn(|i| f(a[i], b[i])));
            prop_assert_eq!(add::<S8x4>(x, y), each(u8::wrapping_add));
            prop_assert_eq!(add_sat::<U8x4>(x, y), each(u8::saturating_add));
            prop_assert_eq!(sub_sat::<S8x4>(x, y), each(|a, b| (a as i8).saturating_sub(b as i8) as u8));
            prop_assert_eq!(max::<U8x4>(x, y), each(Ord::max));
            prop_assert_eq!(min::<S8x4>(x, y), each(|a, b| (a as i8).min(b as i8) as u8));
        }
    }
}
