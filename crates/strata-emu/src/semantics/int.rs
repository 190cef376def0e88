//! Integer arithmetic (PTX ISA 9.7.1 and 9.7.2): wrapping, high and wide products, saturation, carries, packed pairs.
//!
//! Plain `add`, `sub`, `min` and `max` are `wrapping_add`, `wrapping_sub`, `Ord::min` and `Ord::max` of the standard
//! library and have no second name here.

/// The arithmetic that exists for every PTX integer type.
pub trait Integer: Copy + Ord {
    /// The type of twice the width that `mul.wide` returns.
    type Wide: Copy;

    /// `mul.lo`: the low half of the product.
    fn mul_lo(self, b: Self) -> Self;
    /// `mul.hi`: the high half of the product.
    fn mul_hi(self, b: Self) -> Self;
    /// `mul.wide`: the whole product.
    fn mul_wide(self, b: Self) -> Self::Wide;
    /// `mad.lo`: the low half of the product plus `c`, wrapping.
    fn mad_lo(self, b: Self, c: Self) -> Self;
    /// `mad.hi`: the high half of the product plus `c`, wrapping.
    fn mad_hi(self, b: Self, c: Self) -> Self;
    /// `mad.wide`: the whole product plus `c`, wrapping.
    fn mad_wide(self, b: Self, c: Self::Wide) -> Self::Wide;
    /// `div`: rounds toward zero; all ones if `b` is zero; `MIN / -1` wraps to `MIN`.
    fn divide(self, b: Self) -> Self;
    /// `rem`: has the sign of the dividend; all ones if `b` is zero; `MIN % -1` is zero.
    fn remainder(self, b: Self) -> Self;
    /// `abs`: `MIN` wraps to itself; the identity for unsigned types.
    fn absolute(self) -> Self;
    /// `neg`: wraps.
    fn negate(self) -> Self;
    /// `sad`: `c + |a - b|`, the difference taken without overflow and the sum wrapping.
    fn sad(self, b: Self, c: Self) -> Self;
    /// `cnot`: one if the operand is zero, else zero.
    fn cnot(self) -> Self;
    /// `.relu` of `min`/`max`: a negative result becomes zero.
    fn relu(self) -> Self;
}

macro_rules! integer {
    ($($type:ident, $wide:ident, $absolute:expr, $divide:expr;)*) => {$(
        impl Integer for $type {
            type Wide = $wide;

            #[inline(always)]
            fn mul_lo(self, b: Self) -> Self {
                self.wrapping_mul(b)
            }
            #[inline(always)]
            fn mul_hi(self, b: Self) -> Self {
                ((self as $wide * b as $wide) >> $type::BITS) as $type
            }
            #[inline(always)]
            fn mul_wide(self, b: Self) -> $wide {
                self as $wide * b as $wide
            }
            #[inline(always)]
            fn mad_lo(self, b: Self, c: Self) -> Self {
                self.wrapping_mul(b).wrapping_add(c)
            }
            #[inline(always)]
            fn mad_hi(self, b: Self, c: Self) -> Self {
                self.mul_hi(b).wrapping_add(c)
            }
            #[inline(always)]
            fn mad_wide(self, b: Self, c: $wide) -> $wide {
                self.mul_wide(b).wrapping_add(c)
            }
            #[inline(always)]
            fn divide(self, b: Self) -> Self {
                let divide: fn($type, $type) -> $type = $divide;
                divide(self, b)
            }
            #[inline(always)]
            fn remainder(self, b: Self) -> Self {
                if b == 0 { !0 } else { self.wrapping_sub(self.divide(b).wrapping_mul(b)) }
            }
            #[inline(always)]
            fn absolute(self) -> Self {
                let absolute: fn($type) -> $type = $absolute;
                absolute(self)
            }
            #[inline(always)]
            fn negate(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn sad(self, b: Self, c: Self) -> Self {
                c.wrapping_add(self.abs_diff(b) as $type)
            }
            #[inline(always)]
            fn cnot(self) -> Self {
                $type::from(self == 0)
            }
            #[inline(always)]
            fn relu(self) -> Self {
                self.max(0)
            }
        }
    )*};
}

integer! {
    u16, u32, |a| a, |a, b| divide_u32(a as u32, b as u32) as u16;
    i16, i32, i16::wrapping_abs, |a, b| divide_s32(a as i32, b as i32) as i16;
    u32, u64, |a| a, divide_u32;
    i32, i64, i32::wrapping_abs, divide_s32;
    u64, u128, |a| a, |a, b| a.checked_div(b).unwrap_or(!0);
    i64, i128, i64::wrapping_abs, |a, b| if b == 0 { !0 } else { a.wrapping_div(b) };
}

// Vector units divide no integers, but the f64 quotient of 32-bit integers truncates to the integer quotient: an exact
// quotient a/b that is no integer lies at least 1/b from the next one, and rounding moves it by at most a/b * 2^-53,
// which is less because a < 2^53.

/// `div.u32`, as the trait defines it.
#[inline(always)]
fn divide_u32(a: u32, b: u32) -> u32 {
    // Only a divisor of at least two keeps the quotient in the range of s32, to which vector units convert.
    let quotient = a as f64 / b.max(2) as f64;
    // SAFETY: the quotient is in [0, 2^31).
    let quotient = unsafe { quotient.to_int_unchecked::<i32>() } as u32;
    let quotient = if b == 1 { a } else { quotient };
    if b == 0 { !0 } else { quotient }
}

/// `div.s32`, as the trait defines it.
#[inline(always)]
fn divide_s32(a: i32, b: i32) -> i32 {
    let divisor = if (b == 0) | (b == -1) { 1 } else { b };
    let quotient = a as f64 / divisor as f64;
    // SAFETY: the divisor is neither zero nor -1, so the quotient is in [-2^31, 2^31).
    let quotient = unsafe { quotient.to_int_unchecked::<i32>() };
    let quotient = if b == -1 { a.wrapping_neg() } else { quotient };
    if b == 0 { !0 } else { quotient }
}

/// `add.sat.s32`: clamped to the range of `s32`.
#[inline(always)]
pub fn add_sat_s32(a: i32, b: i32) -> i32 {
    a.saturating_add(b)
}

/// `add.sat.u32`: clamped to the range of `u32`.
#[inline(always)]
pub fn add_sat_u32(a: u32, b: u32) -> u32 {
    a.saturating_add(b)
}

/// `sub.sat.u32`: clamped to the range of `u32`.
#[inline(always)]
pub fn sub_sat_u32(a: u32, b: u32) -> u32 {
    a.saturating_sub(b)
}

/// `sub.sat.s32`: clamped to the range of `s32`.
#[inline(always)]
pub fn sub_sat_s32(a: i32, b: i32) -> i32 {
    a.saturating_sub(b)
}

/// `mad.hi.sat.s32`: the high half of the product plus `c`, clamped to the range of `s32`.
#[inline(always)]
pub fn mad_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 {
    a.mul_hi(b).saturating_add(c)
}

/// The low 24 bits of `a`, sign-extended.
#[inline(always)]
fn sext24(a: i32) -> i64 {
    ((a << 8) >> 8) as i64
}

/// The low 24 bits of `a`, zero-extended.
#[inline(always)]
fn zext24(a: u32) -> u64 {
    (a & 0xff_ffff) as u64
}

/// `mul24.lo.s32`: bits 31..0 of the 48-bit product.
#[inline(always)]
pub fn mul24_lo_s32(a: i32, b: i32) -> i32 {
    (sext24(a) * sext24(b)) as i32
}

/// `mul24.hi.s32`: bits 47..16 of the 48-bit product.
#[inline(always)]
pub fn mul24_hi_s32(a: i32, b: i32) -> i32 {
    ((sext24(a) * sext24(b)) >> 16) as i32
}

/// `mul24.lo.u32`: bits 31..0 of the 48-bit product.
#[inline(always)]
pub fn mul24_lo_u32(a: u32, b: u32) -> u32 {
    (zext24(a) * zext24(b)) as u32
}

/// `mul24.hi.u32`: bits 47..16 of the 48-bit product.
#[inline(always)]
pub fn mul24_hi_u32(a: u32, b: u32) -> u32 {
    ((zext24(a) * zext24(b)) >> 16) as u32
}

/// `mad24.lo.s32`.
#[inline(always)]
pub fn mad24_lo_s32(a: i32, b: i32, c: i32) -> i32 {
    mul24_lo_s32(a, b).wrapping_add(c)
}

/// `mad24.hi.s32`.
#[inline(always)]
pub fn mad24_hi_s32(a: i32, b: i32, c: i32) -> i32 {
    mul24_hi_s32(a, b).wrapping_add(c)
}

/// `mad24.hi.sat.s32`: the sum is clamped to the range of `s32`.
#[inline(always)]
pub fn mad24_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 {
    mul24_hi_s32(a, b).saturating_add(c)
}

/// `mad24.lo.u32`.
#[inline(always)]
pub fn mad24_lo_u32(a: u32, b: u32, c: u32) -> u32 {
    mul24_lo_u32(a, b).wrapping_add(c)
}

/// `mad24.hi.u32`.
#[inline(always)]
pub fn mad24_hi_u32(a: u32, b: u32, c: u32) -> u32 {
    mul24_hi_u32(a, b).wrapping_add(c)
}

/// Byte `i` of `a` as a number, sign-extended if `signed`.
#[inline(always)]
fn byte(a: u32, i: u32, signed: bool) -> i32 {
    let byte = (a >> (8 * i)) as u8;
    if signed { byte as i8 as i32 } else { byte as i32 }
}

/// `dp4a`: four byte products added to `c`, wrapping; each packed operand is signed or unsigned on its own.
#[inline(always)]
pub fn dp4a(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
    let product = |i| byte(a, i, a_signed).wrapping_mul(byte(b, i, b_signed)) as u32;
    c.wrapping_add(product(0)).wrapping_add(product(1)).wrapping_add(product(2)).wrapping_add(product(3))
}

/// `dp2a.lo` (`high` false) or `dp2a.hi`: the two 16-bit elements of `a` times the low or high two bytes of `b`, added
/// to `c`, wrapping.
#[inline(always)]
pub fn dp2a(a: u32, a_signed: bool, b: u32, b_signed: bool, high: bool, c: u32) -> u32 {
    let element = |i: u32| {
        let half = (a >> (16 * i)) as u16;
        if a_signed { half as i16 as i32 } else { half as i32 }
    };
    let first = if high { 2 } else { 0 };
    let product = |i| element(i).wrapping_mul(byte(b, first + i, b_signed)) as u32;
    c.wrapping_add(product(0)).wrapping_add(product(1))
}

/// Carries between the words of a long number: the condition code register `CC.CF`.
///
/// `sub.cc` and `subc.cc` keep a *borrow* in the flag; it is passed on as such (PTX ISA 9.7.2).
pub trait Carry: Integer {
    /// `add.cc`: sum and carry out.
    fn add_cc(self, b: Self) -> (Self, bool);
    /// `addc.cc` (and `addc`, whose carry out is dropped): sum with carry in, and carry out.
    fn addc_cc(self, b: Self, carry: bool) -> (Self, bool);
    /// `sub.cc`: difference and borrow out.
    fn sub_cc(self, b: Self) -> (Self, bool);
    /// `subc.cc` (and `subc`): difference with borrow in, and borrow out.
    fn subc_cc(self, b: Self, borrow: bool) -> (Self, bool);
    /// `mad.lo.cc`: the low half of the product plus `c`, and carry out.
    fn mad_lo_cc(self, b: Self, c: Self) -> (Self, bool);
    /// `mad.hi.cc`: the high half of the product plus `c`, and carry out.
    fn mad_hi_cc(self, b: Self, c: Self) -> (Self, bool);
    /// `madc.lo.cc` (and `madc.lo`): the low half of the product plus `c` with carry in, and carry out.
    fn madc_lo_cc(self, b: Self, c: Self, carry: bool) -> (Self, bool);
    /// `madc.hi.cc` (and `madc.hi`): the high half of the product plus `c` with carry in, and carry out.
    fn madc_hi_cc(self, b: Self, c: Self, carry: bool) -> (Self, bool);
}

macro_rules! carry {
    ($($type:ident, $unsigned:ident;)*) => {$(
        impl Carry for $type {
            #[inline(always)]
            fn add_cc(self, b: Self) -> (Self, bool) {
                self.addc_cc(b, false)
            }
            #[inline(always)]
            fn addc_cc(self, b: Self, carry: bool) -> (Self, bool) {
                let (sum, first) = (self as $unsigned).overflowing_add(b as $unsigned);
                let (sum, second) = sum.overflowing_add(carry as $unsigned);
                (sum as $type, first | second)
            }
            #[inline(always)]
            fn sub_cc(self, b: Self) -> (Self, bool) {
                self.subc_cc(b, false)
            }
            #[inline(always)]
            fn subc_cc(self, b: Self, borrow: bool) -> (Self, bool) {
                let (difference, first) = (self as $unsigned).overflowing_sub(b as $unsigned);
                let (difference, second) = difference.overflowing_sub(borrow as $unsigned);
                (difference as $type, first | second)
            }
            #[inline(always)]
            fn mad_lo_cc(self, b: Self, c: Self) -> (Self, bool) {
                self.mul_lo(b).add_cc(c)
            }
            #[inline(always)]
            fn mad_hi_cc(self, b: Self, c: Self) -> (Self, bool) {
                self.mul_hi(b).add_cc(c)
            }
            #[inline(always)]
            fn madc_lo_cc(self, b: Self, c: Self, carry: bool) -> (Self, bool) {
                self.mul_lo(b).addc_cc(c, carry)
            }
            #[inline(always)]
            fn madc_hi_cc(self, b: Self, c: Self, carry: bool) -> (Self, bool) {
                self.mul_hi(b).addc_cc(c, carry)
            }
        }
    )*};
}

carry! { u32, u32; i32, u32; u64, u64; i64, u64; }

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks every operation of one type against 128-bit (or 256-bit, by halves) arithmetic.
    macro_rules! against_i128 {
        ($name:ident, $type:ident, $wide:ident) => {
            proptest! {
                #[test]
                fn $name(a: $type, b: $type, c: $type, w: $wide, down in 0..$type::BITS, near in -1i8..=1) {
                    // Divisors of every size, and dividends at a multiple of them, where a quotient is decided.
                    let b = b >> down;
                    let a = if w & 1 == 0 { b.wrapping_mul(c).wrapping_add(near as $type) } else { a };
                    let bits = $type::BITS;
                    let (x, y, z) = (a as i128, b as i128, c as i128);
                    let product = x.wrapping_mul(y);
                    prop_assert_eq!(a.mul_lo(b), product as $type);
                    prop_assert_eq!(a.mad_lo(b, c), product.wrapping_add(z) as $type);
                    prop_assert_eq!(a.mul_wide(b) as i128, product);
                    prop_assert_eq!(a.mul_hi(b), (a.mul_wide(b) >> bits) as $type);
                    prop_assert_eq!(a.mad_hi(b, c) as i128 & (!0u128 >> (128 - bits)) as i128,
                        (a.mul_hi(b) as i128 + z) & (!0u128 >> (128 - bits)) as i128);
                    prop_assert_eq!(a.mad_wide(b, w), a.mul_wide(b).wrapping_add(w));
                    if b == 0 {
                        prop_assert_eq!((a.divide(b), a.remainder(b)), (!0, !0));
                    } else {
                        prop_assert_eq!(a.divide(b), (x / y) as $type);
                        prop_assert_eq!(a.remainder(b), (x % y) as $type);
                    }
                    prop_assert_eq!(a.absolute(), x.unsigned_abs() as $type);
                    prop_assert_eq!(a.negate(), (-x) as $type);
                    prop_assert_eq!(a.sad(b, c), (z + (x - y).abs()) as $type);
                    prop_assert_eq!(a.cnot(), (a == 0) as $type);
                    prop_assert_eq!(a.relu() as i128, x.max(0));
                }
            }
        };
    }

    against_i128!(u16_matches_wide_arithmetic, u16, u32);
    against_i128!(s16_matches_wide_arithmetic, i16, i32);
    against_i128!(u32_matches_wide_arithmetic, u32, u64);
    against_i128!(s32_matches_wide_arithmetic, i32, i64);
    against_i128!(s64_matches_wide_arithmetic, i64, i128);

    #[test]
    fn division_by_zero_is_all_ones_and_min_over_minus_one_wraps() {
        assert_eq!((7i32.divide(0), 7u64.divide(0), 7i32.remainder(0), 7u16.remainder(0)), (-1, !0, -1, !0));
        assert_eq!((i32::MIN.divide(-1), i32::MIN.remainder(-1)), (i32::MIN, 0));
        assert_eq!((i64::MIN.divide(-1), i64::MIN.remainder(-1)), (i64::MIN, 0));
        assert_eq!((0i32.cnot(), 5u32.cnot()), (1, 0));
    }

    proptest! {
        #[test]
        fn u64_products_agree_with_the_schoolbook(a: u64, b: u64, c: u64) {
            let (al, ah, bl, bh) = (a & 0xffff_ffff, a >> 32, b & 0xffff_ffff, b >> 32);
            let middle = ((al * bl) >> 32) + ((ah * bl) & 0xffff_ffff) + ((al * bh) & 0xffff_ffff);
            let high = ah * bh + ((ah * bl) >> 32) + ((al * bh) >> 32) + (middle >> 32);
            prop_assert_eq!(a.mul_hi(b), high);
            prop_assert_eq!(a.mad_hi(b, c), high.wrapping_add(c));
        }

        #[test]
        fn saturating_forms_clamp(a: i32, b: i32, c: i32) {
            let clamp = |v: i64| v.clamp(i32::MIN as i64, i32::MAX as i64) as i32;
            prop_assert_eq!(add_sat_s32(a, b), clamp(a as i64 + b as i64));
            prop_assert_eq!(sub_sat_s32(a, b), clamp(a as i64 - b as i64));
            let high = (a as i64 * b as i64) >> 32;
            prop_assert_eq!(mad_hi_sat_s32(a, b, c), clamp(high + c as i64));
            let high24 = mul24_hi_s32(a, b) as i64;
            prop_assert_eq!(mad24_hi_sat_s32(a, b, c), clamp(high24 + c as i64));
        }

        #[test]
        fn products_of_24_bits(a: u32, b: u32, c: u32) {
            let unsigned = (a % (1 << 24)) as u64 * (b % (1 << 24)) as u64;
            prop_assert_eq!(mul24_lo_u32(a, b), unsigned as u32);
            prop_assert_eq!(mul24_hi_u32(a, b), (unsigned >> 16) as u32);
            prop_assert_eq!(mad24_lo_u32(a, b, c), (unsigned as u32).wrapping_add(c));
            prop_assert_eq!(mad24_hi_u32(a, b, c), ((unsigned >> 16) as u32).wrapping_add(c));
            let extend = |v: u32| { let v = (v % (1 << 24)) as i64; if v >= 1 << 23 { v - (1 << 24) } else { v } };
            let signed = extend(a) * extend(b);
            prop_assert_eq!(mul24_lo_s32(a as i32, b as i32), signed as i32);
            prop_assert_eq!(mul24_hi_s32(a as i32, b as i32), (signed >> 16) as i32);
            prop_assert_eq!(mad24_lo_s32(a as i32, b as i32, c as i32), (signed as i32).wrapping_add(c as i32));
            prop_assert_eq!(mad24_hi_s32(a as i32, b as i32, c as i32), ((signed >> 16) as i32).wrapping_add(c as i32));
        }

        #[test]
        fn a_long_sum_with_carries_is_the_wide_sum(a: u128, b: u128, c: u128) {
            let word = |v: u128, i: u32| (v >> (64 * i)) as u64;
            let (low, carry) = word(a, 0).add_cc(word(b, 0));
            let (high, out) = word(a, 1).addc_cc(word(b, 1), carry);
            prop_assert_eq!((low as u128 | (high as u128) << 64, out), a.overflowing_add(b));
            let (low, borrow) = word(a, 0).sub_cc(word(b, 0));
            let (high, out) = word(a, 1).subc_cc(word(b, 1), borrow);
            prop_assert_eq!((low as u128 | (high as u128) << 64, out), a.overflowing_sub(b));
            // One word times one word plus two words, as `mad.lo.cc` and `madc.hi.cc` chain.
            let (x, y) = (word(a, 0), word(b, 1));
            let (low, carry) = x.mad_lo_cc(y, word(c, 0));
            let (high, out) = x.madc_hi_cc(y, word(c, 1), carry);
            prop_assert_eq!((low as u128 | (high as u128) << 64, out), (x as u128 * y as u128).overflowing_add(c));
            prop_assert_eq!(x.mad_hi_cc(y, 5), x.madc_hi_cc(y, 5, false));
            prop_assert_eq!(x.madc_lo_cc(y, 5, true), x.mul_lo(y).addc_cc(5, true));
        }

        #[test]
        fn dot_products(a: u32, b: u32, c: u32) {
            let u = |v: u32, i: usize| v.to_le_bytes()[i] as i64;
            let s = |v: u32, i: usize| v.to_le_bytes()[i] as i8 as i64;
            let sum = |f: &dyn Fn(usize) -> i64| (0..4).map(f).sum::<i64>();
            prop_assert_eq!(dp4a(a, true, b, true, c), (c as i64 + sum(&|i| s(a, i) * s(b, i))) as u32);
            prop_assert_eq!(dp4a(a, false, b, true, c), (c as i64 + sum(&|i| u(a, i) * s(b, i))) as u32);
            prop_assert_eq!(dp4a(a, false, b, false, c), (c as i64 + sum(&|i| u(a, i) * u(b, i))) as u32);
            let (h0, h1) = (a as i16 as i64, (a >> 16) as i16 as i64);
            prop_assert_eq!(dp2a(a, true, b, false, false, c), (c as i64 + h0 * u(b, 0) + h1 * u(b, 1)) as u32);
            prop_assert_eq!(dp2a(a, true, b, true, true, c), (c as i64 + h0 * s(b, 2) + h1 * s(b, 3)) as u32);
        }
    }
}
