//! Shifts, bit fields, permutations and three-input logic (PTX ISA 9.7.1 and 9.7.8).
//!
//! `and`, `or`, `xor`, `not`, `clz`, `popc` and `brev` are the operators and the `leading_zeros`, `count_ones` and
//! `reverse_bits` methods of the standard library and have no second name here.

/// What a shift or mask amount beyond the width means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// `.clamp`: limited to the width.
    Clamp,
    /// `.wrap`: taken modulo the width.
    Wrap,
}

/// Shifts with PTX's clamped amounts, for every integer register type.
pub trait ClampedShift: Copy {
    /// `shl`: zero once `amount` reaches the width.
    fn shl(self, amount: u32) -> Self;
    /// `shr`: copies of the sign bit (zero for unsigned types) once `amount` reaches the width.
    fn shr(self, amount: u32) -> Self;
}

macro_rules! shifts {
    ($($type:ident)*) => {$(
        impl ClampedShift for $type {
            #[inline(always)]
            fn shl(self, amount: u32) -> Self {
                self.unbounded_shl(amount)
            }
            #[inline(always)]
            fn shr(self, amount: u32) -> Self {
                self.unbounded_shr(amount)
            }
        }
    )*};
}

shifts! { u16 i16 u32 i32 u64 i64 }

/// The amount of a funnel shift: 0 to 32.
#[inline(always)]
fn funnel_amount(amount: u32, mode: Amount) -> u32 {
    match mode {
        Amount::Clamp => amount.min(32),
        Amount::Wrap => amount & 31,
    }
}

/// `shf.l`: the high word of `b:a` shifted left.
#[inline(always)]
pub fn shf_l(a: u32, b: u32, amount: u32, mode: Amount) -> u32 {
    let n = funnel_amount(amount, mode);
    b.unbounded_shl(n) | a.unbounded_shr(32 - n)
}

/// `shf.r`: the low word of `b:a` shifted right.
#[inline(always)]
pub fn shf_r(a: u32, b: u32, amount: u32, mode: Amount) -> u32 {
    let n = funnel_amount(amount, mode);
    a.unbounded_shr(n) | b.unbounded_shl(32 - n)
}

/// `len` ones in the low bits; all ones if `len` is 32 or more.
#[inline(always)]
fn low_ones_32(len: u32) -> u32 {
    !u32::MAX.unbounded_shl(len)
}

/// `len` ones in the low bits; all ones if `len` is 64 or more.
#[inline(always)]
fn low_ones_64(len: u32) -> u64 {
    !u64::MAX.unbounded_shl(len)
}

/// `bfe.u32`: the field of `len` bits at `pos`; bits beyond the top read as zero.
#[inline(always)]
pub fn bfe_u32(a: u32, pos: u32, len: u32) -> u32 {
    a.unbounded_shr(pos & 0xff) & low_ones_32(len & 0xff)
}

/// `bfe.s32`: like `bfe.u32`, extended with the field's top bit, or with bit 31 if the field reaches beyond it.
#[inline(always)]
pub fn bfe_s32(a: i32, pos: u32, len: u32) -> i32 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    let keep = low_ones_32(len) as i32;
    let top = if len == 0 { 0 } else { a.unbounded_shr((pos + len - 1).min(31)) & 1 };
    (a.unbounded_shr(pos) & keep) | (-top & !keep)
}

/// `bfe.u64`: the field of `len` bits at `pos`; bits beyond the top read as zero.
#[inline(always)]
pub fn bfe_u64(a: u64, pos: u32, len: u32) -> u64 {
    a.unbounded_shr(pos & 0xff) & low_ones_64(len & 0xff)
}

/// `bfe.s64`: like `bfe.u64`, extended with the field's top bit, or with bit 63 if the field reaches beyond it.
#[inline(always)]
pub fn bfe_s64(a: i64, pos: u32, len: u32) -> i64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    let keep = low_ones_64(len) as i64;
    let top = if len == 0 { 0 } else { a.unbounded_shr((pos + len - 1).min(63)) & 1 };
    (a.unbounded_shr(pos) & keep) | (-top & !keep)
}

/// `bfi.b32`: `b` with the low `len` bits of `a` placed at `pos`; what does not fit is dropped.
#[inline(always)]
pub fn bfi_b32(a: u32, b: u32, pos: u32, len: u32) -> u32 {
    let pos = pos & 0xff;
    let field = low_ones_32(len & 0xff).unbounded_shl(pos);
    (a.unbounded_shl(pos) & field) | (b & !field)
}

/// `bfi.b64`: `b` with the low `len` bits of `a` placed at `pos`; what does not fit is dropped.
#[inline(always)]
pub fn bfi_b64(a: u64, b: u64, pos: u32, len: u32) -> u64 {
    let pos = pos & 0xff;
    let field = low_ones_64(len & 0xff).unbounded_shl(pos);
    (a.unbounded_shl(pos) & field) | (b & !field)
}

/// `bfind.u32`: the position of the highest one, all ones if there is none; with `.shiftamt` the shift that would
/// bring it to the top.
#[inline(always)]
pub fn bfind_u32(a: u32, shiftamt: bool) -> u32 {
    let zeros = a.leading_zeros();
    let found = if shiftamt { zeros } else { 31u32.wrapping_sub(zeros) };
    if a == 0 { u32::MAX } else { found }
}

/// `bfind.s32`: `bfind.u32` of the highest bit that differs from the sign.
#[inline(always)]
pub fn bfind_s32(a: i32, shiftamt: bool) -> u32 {
    bfind_u32((a ^ (a >> 31)) as u32, shiftamt)
}

/// `bfind.u64`: as `bfind.u32`, for 64 bits.
#[inline(always)]
pub fn bfind_u64(a: u64, shiftamt: bool) -> u32 {
    let zeros = a.leading_zeros();
    let found = if shiftamt { zeros } else { 63u32.wrapping_sub(zeros) };
    if a == 0 { u32::MAX } else { found }
}

/// `bfind.s64`: as `bfind.s32`, for 64 bits.
#[inline(always)]
pub fn bfind_s64(a: i64, shiftamt: bool) -> u32 {
    bfind_u64((a ^ (a >> 63)) as u64, shiftamt)
}

/// How `prmt` reads its selector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermuteMode {
    /// Four nibbles, each a byte number; bit 3 of a nibble replicates that byte's sign.
    Default,
    /// `.f4e`: four bytes forward from the selector.
    Forward4,
    /// `.b4e`: four bytes backward from the selector.
    Backward4,
    /// `.rc8`: one byte in all places.
    Replicate8,
    /// `.ecl`: edge clamp left.
    EdgeClampLeft,
    /// `.ecr`: edge clamp right.
    EdgeClampRight,
    /// `.rc16`: one half word in both places.
    Replicate16,
}

/// `prmt`: four of the eight bytes of `b:a`, chosen by `selector`.
#[inline(always)]
pub fn prmt(a: u32, b: u32, selector: u32, mode: PermuteMode) -> u32 {
    let source = (a as u64) | ((b as u64) << 32);
    let n = selector & 3;
    let place = |i: u32| {
        let (index, sign) = match mode {
            PermuteMode::Default => {
                let nibble = selector >> (4 * i);
                (nibble & 7, nibble & 8 != 0)
            }
            PermuteMode::Forward4 => (n + i, false),
            PermuteMode::Backward4 => (n.wrapping_sub(i) & 7, false),
            PermuteMode::Replicate8 => (n, false),
            PermuteMode::EdgeClampLeft => (n.max(i), false),
            PermuteMode::EdgeClampRight => (n.min(i), false),
            PermuteMode::Replicate16 => (2 * (n & 1) + (i & 1), false),
        };
        let byte = (source >> (8 * index)) as u8;
        let byte = if sign { ((byte as i8) >> 7) as u8 } else { byte };
        (byte as u32) << (8 * i)
    };
    place(0) | place(1) | place(2) | place(3)
}

/// `lop3.b32`: bit `4a + 2b + c` of `table`, for each bit position.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    // All ones where the table's bit `i` is set; constant over the lanes, so a loop computes it once.
    let row = |i: u32| ((table as u32 >> i) & 1).wrapping_neg();
    let by_c = |i: u32| (row(i) & !c) | (row(i + 1) & c);
    let by_b = |i: u32| (by_c(i) & !b) | (by_c(i + 2) & b);
    (by_b(0) & !a) | (by_b(4) & a)
}

/// `bmsk.b32`: `width` ones starting at bit `pos`.
#[inline(always)]
pub fn bmsk(pos: u32, width: u32, mode: Amount) -> u32 {
    match mode {
        Amount::Wrap => low_ones_32(width & 31) << (pos & 31),
        Amount::Clamp => low_ones_32(width).unbounded_shl(pos),
    }
}

/// `szext.u32`: the low `width` bits of `a`.
#[inline(always)]
pub fn szext_u32(a: u32, width: u32, mode: Amount) -> u32 {
    match mode {
        Amount::Wrap => a & low_ones_32(width & 31),
        Amount::Clamp => a & low_ones_32(width),
    }
}

/// `szext.s32`: the low `width` bits of `a`, sign-extended; zero for a width of zero.
#[inline(always)]
pub fn szext_s32(a: i32, width: u32, mode: Amount) -> i32 {
    let width = match mode {
        Amount::Wrap => width & 31,
        Amount::Clamp => width.min(32),
    };
    // A shift by 32 first, for a width of zero, leaves no bit to extend.
    a.unbounded_shl(32 - width).unbounded_shr(32 - width)
}

/// `fns.b32`: the position of the `offset`-th one of `mask`, counted from bit `base` upwards (downwards if `offset` is
/// negative; zero asks for `base` itself); all ones if there is none.
#[inline(always)]
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    let mut left = offset.unsigned_abs();
    if left == 0 {
        return if (mask >> base) & 1 == 1 { base } else { u32::MAX };
    }
    let up = offset > 0;
    // Counting downwards is counting upwards in the mirrored mask.
    let mut rest = if up { (mask >> base) << base } else { mask.reverse_bits() & (u32::MAX << (31 - base)) };
    while rest != 0 {
        left -= 1;
        let position = rest.trailing_zeros();
        if left == 0 {
            return if up { position } else { 31 - position };
        }
        rest &= rest - 1;
    }
    u32::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Amounts around every width, where the definitions change.
    fn amount() -> impl Strategy<Value = u32> {
        prop_oneof![0u32..70, 250u32..260, any::<u32>()]
    }

    /// `bfe` as the ISA writes it, bit by bit.
    fn bfe_by_bits(a: u64, width: u32, pos: u32, len: u32, signed: bool) -> u64 {
        let msb = width - 1;
        let bit = |i: u32| (a >> i) & 1;
        let (pos, len) = (pos & 0xff, len & 0xff);
        let sign = if signed && len != 0 { bit((pos + len - 1).min(msb)) } else { 0 };
        (0..=msb).map(|i| (if i < len && pos + i <= msb { bit(pos + i) } else { sign }) << i).sum()
    }

    /// `bfi` as the ISA writes it, bit by bit.
    fn bfi_by_bits(a: u64, b: u64, width: u32, pos: u32, len: u32) -> u64 {
        let (pos, len) = (pos & 0xff, len & 0xff);
        let mut f = b;
        for i in (0..len).take_while(|i| pos + i < width) {
            f = (f & !(1 << (pos + i))) | (((a >> i) & 1) << (pos + i));
        }
        f
    }

    /// `bfind` as the ISA writes it.
    fn bfind_by_bits(a: u64, width: u32, shiftamt: bool) -> u32 {
        match (0..width).rev().find(|i| (a >> i) & 1 == 1) {
            None => u32::MAX,
            Some(i) if shiftamt => width - 1 - i,
            Some(i) => i,
        }
    }

    proptest! {
        #[test]
        fn shifts_clamp(a: u64, n in amount()) {
            let shl = |width: u32| if n >= width { 0 } else { a << n };
            prop_assert_eq!((a as u16).shl(n), shl(16) as u16);
            prop_assert_eq!((a as u32).shl(n), shl(32) as u32);
            prop_assert_eq!(a.shl(n), shl(64));
            prop_assert_eq!((a as u16).shr(n), if n > 15 { 0 } else { a as u16 >> n });
            prop_assert_eq!((a as u32).shr(n), if n > 31 { 0 } else { a as u32 >> n });
            prop_assert_eq!(a.shr(n), if n > 63 { 0 } else { a >> n });
            prop_assert_eq!((a as i16).shr(n), a as i16 >> n.min(15));
            prop_assert_eq!((a as i32).shr(n), a as i32 >> n.min(31));
            prop_assert_eq!((a as i64).shr(n), a as i64 >> n.min(63));
        }

        #[test]
        fn funnel_shifts(a: u32, b: u32, n in amount()) {
            let both = (b as u64) << 32 | a as u64;
            prop_assert_eq!(shf_l(a, b, n, Amount::Wrap), ((both << (n % 32)) >> 32) as u32);
            prop_assert_eq!(shf_r(a, b, n, Amount::Wrap), (both >> (n % 32)) as u32);
            prop_assert_eq!(shf_l(a, b, n, Amount::Clamp), ((both << n.min(32)) >> 32) as u32);
            prop_assert_eq!(shf_r(a, b, n, Amount::Clamp), (both >> n.min(32)) as u32);
        }

        #[test]
        fn bit_fields(a: u64, b: u64, pos in amount(), len in amount()) {
            prop_assert_eq!(bfe_u32(a as u32, pos, len) as u64, bfe_by_bits(a as u32 as u64, 32, pos, len, false));
            prop_assert_eq!(bfe_s32(a as i32, pos, len) as u32 as u64, bfe_by_bits(a as u32 as u64, 32, pos, len, true));
            prop_assert_eq!(bfe_u64(a, pos, len), bfe_by_bits(a, 64, pos, len, false));
            prop_assert_eq!(bfe_s64(a as i64, pos, len) as u64, bfe_by_bits(a, 64, pos, len, true));
            prop_assert_eq!(bfi_b32(a as u32, b as u32, pos, len) as u64, bfi_by_bits(a as u32 as u64, b as u32 as u64, 32, pos, len));
            prop_assert_eq!(bfi_b64(a, b, pos, len), bfi_by_bits(a, b, 64, pos, len));
        }

        #[test]
        fn highest_bits(a: u64, down in 0u32..64, shiftamt: bool) {
            let a = a >> down;
            let s = a as i64;
            prop_assert_eq!(bfind_u32(a as u32, shiftamt), bfind_by_bits(a as u32 as u64, 32, shiftamt));
            prop_assert_eq!(bfind_u64(a, shiftamt), bfind_by_bits(a, 64, shiftamt));
            let flip = |v: i64| if v < 0 { !v } else { v };
            prop_assert_eq!(bfind_s64(s, shiftamt), bfind_by_bits(flip(s) as u64, 64, shiftamt));
            prop_assert_eq!(bfind_s32(s as i32, shiftamt), bfind_by_bits(flip(s as i32 as i64) as u32 as u64, 32, shiftamt));
            prop_assert_eq!(bfind_s64(!s, shiftamt), bfind_s64(s, shiftamt));
        }

        #[test]
        fn three_input_logic(a: u32, b: u32, c: u32, table: u8) {
            let by_bits: u32 = (0..32)
                .map(|i| {
                    let row = ((a >> i) & 1) * 4 + ((b >> i) & 1) * 2 + ((c >> i) & 1);
                    ((table as u32 >> row) & 1) << i
                })
                .sum();
            prop_assert_eq!(lop3(a, b, c, table), by_bits);
        }

        #[test]
        fn masks_and_extensions(a: u32, b in amount(), pos in amount()) {
            // The ISA's own formulation of bmsk.
            let by_isa = |clamp: bool| {
                let (a1, b1) = (pos & 31, b & 31);
                let sum = a1 + b1;
                let mask0 = if clamp && pos >= 32 { 0 } else { u32::MAX << a1 };
                let overflow = sum >= 32 || (clamp && (pos >= 32 || b >= 32));
                let mask1 = if overflow { 0 } else { u32::MAX << sum };
                mask0 & !mask1
            };
            prop_assert_eq!(bmsk(pos, b, Amount::Clamp), by_isa(true));
            prop_assert_eq!(bmsk(pos, b, Amount::Wrap), by_isa(false));
            let extend = |width: u32, signed: bool| {
                if width >= 32 { return a; }
                let low = a & ((1u32 << width) - 1);
                if signed && width > 0 && (low >> (width - 1)) & 1 == 1 { low | (u32::MAX << width) } else { low }
            };
            prop_assert_eq!(szext_u32(a, b, Amount::Clamp), extend(b, false));
            prop_assert_eq!(szext_u32(a, b, Amount::Wrap), extend(b & 31, false));
            prop_assert_eq!(szext_s32(a as i32, b, Amount::Clamp) as u32, extend(b, true));
            prop_assert_eq!(szext_s32(a as i32, b, Amount::Wrap) as u32, extend(b & 31, true));
        }

        #[test]
        fn nth_set_bit(mask: u32, base in 0u32..32, offset in -34i32..=34) {
            // The ISA's own loop.
            let mut expected = u32::MAX;
            if offset == 0 {
                if (mask >> base) & 1 == 1 { expected = base; }
            } else {
                let (mut position, mut count) = (base as i32, offset.abs() - 1);
                while (0..32).contains(&position) {
                    if (mask >> position) & 1 == 1 {
                        if count == 0 { expected = position as u32; break; }
                        count -= 1;
                    }
                    position += offset.signum();
                }
            }
            prop_assert_eq!(fns(mask, base, offset), expected);
        }
    }

    #[test]
    fn a_position_outside_the_mask_has_no_set_bit() {
        assert_eq!(fns(u32::MAX, 32, 1), u32::MAX);
        assert_eq!(fns(u32::MAX, 5, i32::MIN), u32::MAX);
    }

    #[test]
    fn permutations_follow_the_table_of_the_manual() {
        let (a, b) = (0x33_22_11_80, 0x77_66_55_44);
        let p = |selector, mode| prmt(a, b, selector, mode);
        assert_eq!(p(0x7531, PermuteMode::Default), 0x77_55_33_11);
        assert_eq!(p(0x0123, PermuteMode::Default), 0x80_11_22_33);
        // Nibble 8 replicates the sign of byte 0 (0x80), nibble 9 that of byte 1 (0x11).
        assert_eq!(p(0x9810, PermuteMode::Default), 0x00_ff_11_80);
        assert_eq!(p(1, PermuteMode::Forward4), 0x44_33_22_11);
        assert_eq!(p(3, PermuteMode::Forward4), 0x66_55_44_33);
        assert_eq!(p(0, PermuteMode::Backward4), 0x55_66_77_80);
        assert_eq!(p(3, PermuteMode::Backward4), 0x80_11_22_33);
        assert_eq!(p(2, PermuteMode::Replicate8), 0x22_22_22_22);
        assert_eq!(p(1, PermuteMode::EdgeClampLeft), 0x33_22_11_11);
        assert_eq!(p(2, PermuteMode::EdgeClampLeft), 0x33_22_22_22);
        assert_eq!(p(1, PermuteMode::EdgeClampRight), 0x11_11_11_80);
        assert_eq!(p(2, PermuteMode::EdgeClampRight), 0x22_22_11_80);
        assert_eq!(p(1, PermuteMode::Replicate16), 0x33_22_33_22);
        assert_eq!(p(2, PermuteMode::Replicate16), 0x11_80_11_80);
    }
}
