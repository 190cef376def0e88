//! The video instructions: `vadd vsub vabsdiff vmin vmax vshl vshr vmad vset` and their two- and four-element SIMD forms
//! (PTX ISA, "Video Instructions").
//!
//! Operands are parts of registers, extended by their own type; the intermediate result is exact and is then saturated,
//! combined with a third operand or merged into it. Rare in programs, these follow the manual's pseudocode closely.

use super::bits::Amount;

/// A part of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the variants are PTX's own names")]
pub enum Part {
    /// The whole register.
    Word,
    B0,
    B1,
    B2,
    B3,
    H0,
    H1,
}

impl Part {
    /// Width and position in bits.
    const fn place(self) -> (u32, u32) {
        match self {
            Self::Word => (32, 0),
            Self::B0 => (8, 0),
            Self::B1 => (8, 8),
            Self::B2 => (8, 16),
            Self::B3 => (8, 24),
            Self::H0 => (16, 0),
            Self::H1 => (16, 16),
        }
    }
}

/// The low `width` bits of `bits` as a number.
#[inline(always)]
fn extend(bits: u64, width: u32, signed: bool) -> i64 {
    let high = bits << (64 - width);
    if signed { high as i64 >> (64 - width) } else { (high >> (64 - width)) as i64 }
}

/// `value` clamped to `width` bits.
#[inline(always)]
fn saturate(value: i128, width: u32, signed: bool) -> i128 {
    if signed { value.clamp(-1 << (width - 1), (1 << (width - 1)) - 1) } else { value.clamp(0, (1 << width) - 1) }
}

/// A source operand of a scalar video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoOperand {
    /// The register.
    pub bits: u32,
    /// True for `.s32`: the part is sign-extended.
    pub signed: bool,
    /// Which part is read.
    pub part: Part,
}

impl VideoOperand {
    /// The number this operand stands for.
    #[inline(always)]
    fn value(self) -> i64 {
        let (width, position) = self.part.place();
        extend((self.bits >> position) as u64, width, self.signed)
    }
}

/// A comparison of `vset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the variants are PTX's own names")]
pub enum VideoCompare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// The primary operation of a scalar or SIMD video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VideoOp {
    /// `vadd`.
    Add,
    /// `vsub`.
    Sub,
    /// `vabsdiff`.
    AbsDiff,
    /// `vmin`.
    Min,
    /// `vmax`.
    Max,
    /// `vavrg2` and `vavrg4`: half the sum, rounded away from zero for positive sums and down for negative ones.
    Average,
    /// `vset`: one if the comparison holds, else zero.
    Set(VideoCompare),
    /// `vshl`: the shift amount is the second operand.
    ShiftLeft(Amount),
    /// `vshr`: the shift amount is the second operand; extends with the sign of a signed first operand.
    ShiftRight(Amount),
}

impl VideoOp {
    /// The exact result.
    #[inline(always)]
    fn apply(self, a: i64, b: i64) -> i128 {
        let amount = |mode| match mode {
            Amount::Clamp => b.clamp(0, 32) as u32,
            Amount::Wrap => b as u32 & 31,
        };
        let (wide_a, wide_b) = (a as i128, b as i128);
        match self {
            Self::Add => wide_a + wide_b,
            Self::Sub => wide_a - wide_b,
            Self::AbsDiff => (wide_a - wide_b).abs(),
            Self::Min => wide_a.min(wide_b),
            Self::Max => wide_a.max(wide_b),
            Self::Average => {
                let sum = wide_a + wide_b;
                (sum + i128::from(sum >= 0)) >> 1
            }
            Self::Set(compare) => i128::from(match compare {
                VideoCompare::Eq => a == b,
                VideoCompare::Ne => a != b,
                VideoCompare::Lt => a < b,
                VideoCompare::Le => a <= b,
                VideoCompare::Gt => a > b,
                VideoCompare::Ge => a >= b,
            }),
            Self::ShiftLeft(mode) => wide_a << amount(mode),
            Self::ShiftRight(mode) => wide_a >> amount(mode),
        }
    }
}

/// What a scalar video instruction does with its third operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// There is none.
    Nothing,
    /// `.add`: added to the result.
    Add,
    /// `.min`: the lesser of both, compared in the destination's type.
    Min,
    /// `.max`: the greater of both, compared in the destination's type.
    Max,
    /// `d.bN` or `d.hN`: the result replaces that part of it.
    Merge(Part),
}

/// The destination of a scalar video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoResult {
    /// True for `.s32`.
    pub signed: bool,
    /// `.sat`: clamped to the range of the destination's type and part.
    pub sat: bool,
    /// The use of the third operand.
    pub combine: Combine,
}

/// A scalar video instruction: `vadd vsub vabsdiff vmin vmax vshl vshr vset`.
#[inline(always)]
pub fn video(op: VideoOp, a: VideoOperand, b: VideoOperand, c: u32, result: VideoResult) -> u32 {
    let exact = op.apply(a.value(), b.value());
    let part = if let Combine::Merge(part) = result.combine { part } else { Part::Word };
    let (width, position) = part.place();
    let value = if result.sat { saturate(exact, width, result.signed) } else { exact };
    let number = |bits: u32| extend(bits as u64, 32, result.signed) as i128;
    match result.combine {
        Combine::Nothing => value as u32,
        Combine::Add => (value as u32).wrapping_add(c),
        Combine::Min => value.min(number(c)) as u32,
        Combine::Max => value.max(number(c)) as u32,
        Combine::Merge(_) => {
            let field = (u64::MAX >> (64 - width)) as u32;
            ((value as u32 & field) << position) | (c & !(field << position))
        }
    }
}

/// What `vmad` adds and negates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VmadForm {
    /// `a * b + c`.
    Plain,
    /// `.po`: `a * b + c + 1`.
    PlusOne,
    /// One factor is negated: `c - a * b`.
    NegateProduct,
    /// The addend is negated: `a * b - c`.
    NegateAddend,
}

/// `vmad`: a product and a sum, shifted right by `scale` (0, 7 or 15) bits and, with `sat`, clamped to 32 bits.
///
/// The arithmetic is signed if either factor is or anything is negated, and then clamps to the range of s32.
#[inline(always)]
pub fn vmad(a: VideoOperand, b: VideoOperand, c: u32, form: VmadForm, scale: u32, sat: bool) -> u32 {
    let negates = matches!(form, VmadForm::NegateProduct | VmadForm::NegateAddend);
    let signed = a.signed | b.signed | negates;
    let product = a.value() as i128 * b.value() as i128;
    let addend = extend(c as u64, 32, signed) as i128;
    let sum = match form {
        VmadForm::Plain => product + addend,
        VmadForm::PlusOne => product + addend + 1,
        VmadForm::NegateProduct => addend - product,
        VmadForm::NegateAddend => product - addend,
    };
    let scaled = sum >> scale.min(63);
    (if sat { saturate(scaled, 32, signed) } else { scaled }) as u32
}

/// How many elements a SIMD video instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elements {
    /// Two half words.
    Two,
    /// Four bytes.
    Four,
}

/// How a SIMD video instruction reads one source operand from the register pair `b:a`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimdSelect {
    /// True for `.s32`: elements are sign-extended.
    pub signed: bool,
    /// For element `i`, lowest first, the element of `b:a` to read: `.h10` is `[0, 1, ..]`, `.b7654` is `[4, 5, 6, 7]`.
    pub elements: [u8; 4],
}

/// The destination of a SIMD video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimdResult {
    /// True for `.s32`.
    pub signed: bool,
    /// `.sat`: elements are clamped to their width.
    pub sat: bool,
    /// `.add`: the masked elements are added to the third operand instead of replacing its elements.
    pub accumulate: bool,
    /// Bit `i` set: element `i` takes part; the other elements come from the third operand (or add nothing).
    pub mask: u8,
}

/// A SIMD video instruction: `vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2` and the same with 4.
#[inline(always)]
pub fn video_simd(
    op: VideoOp,
    elements: Elements,
    (a, select_a): (u32, SimdSelect),
    (b, select_b): (u32, SimdSelect),
    c: u32,
    result: SimdResult,
) -> u32 {
    let (count, width) = match elements {
        Elements::Two => (2, 16),
        Elements::Four => (4, 8),
    };
    let pair = a as u64 | ((b as u64) << 32);
    let element = |select: SimdSelect, i: usize| {
        let source = select.elements[i] as u32 % (2 * count);
        extend(pair >> (source * width), width, select.signed)
    };
    let field = (1u32 << width) - 1;
    let mut d = c;
    for i in (0..count).filter(|i| (result.mask >> i) & 1 == 1) {
        let exact = op.apply(element(select_a, i as usize), element(select_b, i as usize));
        let value = if result.sat { saturate(exact, width, result.signed) } else { exact } as u32;
        let position = i * width;
        d = if result.accumulate {
            d.wrapping_add(value)
        } else {
            (d & !(field << position)) | ((value & field) << position)
        };
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: VideoResult = VideoResult { signed: true, sat: false, combine: Combine::Nothing };
    const BYTES_A: SimdSelect = SimdSelect { signed: false, elements: [0, 1, 2, 3] };
    const BYTES_B: SimdSelect = SimdSelect { signed: false, elements: [4, 5, 6, 7] };
    const HALVES_A: SimdSelect = SimdSelect { signed: true, elements: [0, 1, 0, 0] };
    const HALVES_B: SimdSelect = SimdSelect { signed: true, elements: [2, 3, 0, 0] };

    fn word(bits: u32, signed: bool) -> VideoOperand {
        VideoOperand { bits, signed, part: Part::Word }
    }

    fn part(bits: u32, signed: bool, part: Part) -> VideoOperand {
        VideoOperand { bits, signed, part }
    }

    proptest! {
        #[test]
        fn whole_words_are_plain_arithmetic(a: i32, b: i32, c: i32) {
            let signed = |op| video(op, word(a as u32, true), word(b as u32, true), 0, WORDS) as i32;
            prop_assert_eq!(signed(VideoOp::Add), a.wrapping_add(b));
            prop_assert_eq!(signed(VideoOp::Sub), a.wrapping_sub(b));
            prop_assert_eq!(signed(VideoOp::AbsDiff) as u32, a.abs_diff(b));
            prop_assert_eq!(signed(VideoOp::Min), a.min(b));
            prop_assert_eq!(signed(VideoOp::Max), a.max(b));
            let sat = VideoResult { sat: true, ..WORDS };
            prop_assert_eq!(video(VideoOp::Add, word(a as u32, true), word(b as u32, true), 0, sat) as i32, a.saturating_add(b));
            let combined = |combine| {
                video(VideoOp::Sub, word(a as u32, true), word(b as u32, true), c as u32, VideoResult { sat: true, combine, ..WORDS }) as i32
            };
            prop_assert_eq!(combined(Combine::Add), a.saturating_sub(b).wrapping_add(c));
            prop_assert_eq!(combined(Combine::Min), a.saturating_sub(b).min(c));
            prop_assert_eq!(combined(Combine::Max), a.saturating_sub(b).max(c));
        }

        #[test]
        fn mixed_types_are_exact(a: u32, b: u32) {
            // u32 - s32, clamped to u32.
            let result = VideoResult { signed: false, sat: true, combine: Combine::Nothing };
            let exact = a as i64 - b as i32 as i64;
            let expected = exact.clamp(0, u32::MAX as i64) as u32;
            prop_assert_eq!(video(VideoOp::Sub, word(a, false), word(b, true), 0, result), expected);
        }

        #[test]
        fn products(a: u32, b: u32, c: u32, scale in proptest::sample::select(vec![0u32, 7, 15])) {
            let unsigned = a as i128 * b as i128;
            let (x, y) = (word(a, false), word(b, false));
            prop_assert_eq!(vmad(x, y, c, VmadForm::Plain, scale, false), ((unsigned + c as i128) >> scale) as u32);
            prop_assert_eq!(vmad(x, y, c, VmadForm::PlusOne, scale, false), ((unsigned + c as i128 + 1) >> scale) as u32);
            let clamped = ((unsigned + c as i128) >> scale).min(u32::MAX as i128) as u32;
            prop_assert_eq!(vmad(x, y, c, VmadForm::Plain, scale, true), clamped);
            let signed = a as i32 as i128 * b as i128;
            let clamp = |v: i128| v.clamp(i32::MIN as i128, i32::MAX as i128) as u32;
            prop_assert_eq!(vmad(word(a, true), y, c, VmadForm::NegateProduct, scale, true), clamp((c as i32 as i128 - signed) >> scale));
            prop_assert_eq!(vmad(word(a, true), y, c, VmadForm::NegateAddend, scale, true), clamp((signed - c as i32 as i128) >> scale));
        }

        #[test]
        fn sums_of_absolute_byte_differences(a: u32, b: u32, c: u32) {
            // vabsdiff4.u32.u32.u32.add, as a block-matching search uses it.
            let result = SimdResult { signed: false, sat: false, accumulate: true, mask: 0xf };
            let expected = a.to_le_bytes().iter().zip(b.to_le_bytes()).map(|(&x, y)| x.abs_diff(y) as u32).fold(c, u32::wrapping_add);
            prop_assert_eq!(video_simd(VideoOp::AbsDiff, Elements::Four, (a, BYTES_A), (b, BYTES_B), c, result), expected);
        }

        #[test]
        fn halves_saturate_and_merge(a: u32, b: u32, c: u32) {
            let result = SimdResult { signed: true, sat: true, accumulate: false, mask: 0b11 };
            let sum = |shift: u32| ((a >> shift) as i16).saturating_add((b >> shift) as i16) as u16 as u32;
            let got = video_simd(VideoOp::Add, Elements::Two, (a, HALVES_A), (b, HALVES_B), c, result);
            prop_assert_eq!(got, sum(0) | (sum(16) << 16));
            let upper = SimdResult { mask: 0b10, ..result };
            let got = video_simd(VideoOp::Add, Elements::Two, (a, HALVES_A), (b, HALVES_B), c, upper);
            prop_assert_eq!(got, (c & 0xffff) | (sum(16) << 16));
        }
    }

    #[test]
    fn parts_extend_by_their_type() {
        let a = 0x8123_45f6;
        let read = |p, signed| video(VideoOp::Add, part(a, signed, p), word(0, false), 0, WORDS);
        assert_eq!(read(Part::B0, true), 0xffff_fff6);
        assert_eq!(read(Part::B0, false), 0xf6);
        assert_eq!(read(Part::B1, true), 0x45);
        assert_eq!(read(Part::B2, false), 0x23);
        assert_eq!(read(Part::B3, true), 0xffff_ff81);
        assert_eq!(read(Part::H0, true), 0x45f6);
        assert_eq!(read(Part::H1, true), 0xffff_8123);
    }

    #[test]
    fn merging_saturates_to_the_part() {
        let merge = |part, signed| VideoResult { signed, sat: true, combine: Combine::Merge(part) };
        let sum = |result| video(VideoOp::Add, word(200, true), word(100, true), 0xaabb_ccdd, result);
        assert_eq!(sum(merge(Part::B1, false)), 0xaabb_ffdd);
        assert_eq!(sum(merge(Part::B3, true)), 0x7fbb_ccdd);
        assert_eq!(sum(merge(Part::H1, true)), 0x012c_ccdd);
    }

    #[test]
    fn shifts_clamp_or_wrap_and_saturate_after() {
        let shift = |op, a: VideoOperand, n| video(op, a, word(n, false), 0, VideoResult { signed: a.signed, ..WORDS });
        assert_eq!(shift(VideoOp::ShiftLeft(Amount::Clamp), word(3, false), 40), 0);
        assert_eq!(shift(VideoOp::ShiftLeft(Amount::Wrap), word(3, false), 33), 6);
        assert_eq!(shift(VideoOp::ShiftRight(Amount::Clamp), word(0x8000_0000, true), u32::MAX), u32::MAX);
        assert_eq!(shift(VideoOp::ShiftRight(Amount::Clamp), word(0x8000_0000, false), 31), 1);
        let sat = VideoResult { signed: false, sat: true, combine: Combine::Nothing };
        assert_eq!(video(VideoOp::ShiftLeft(Amount::Clamp), word(3, false), word(31, false), 0, sat), u32::MAX);
    }

    #[test]
    fn comparisons_and_averages() {
        let set = |compare, a, b| video(VideoOp::Set(compare), word(a, true), word(b, true), 0, WORDS);
        assert_eq!(set(VideoCompare::Lt, u32::MAX, 0), 1);
        assert_eq!(
            [VideoCompare::Eq, VideoCompare::Ne, VideoCompare::Le, VideoCompare::Gt, VideoCompare::Ge]
                .map(|c| set(c, 4, 4)),
            [1, 0, 1, 0, 1]
        );
        let result = SimdResult { signed: true, sat: false, accumulate: false, mask: 0b11 };
        let average = |a, b| video_simd(VideoOp::Average, Elements::Two, (a, HALVES_A), (b, HALVES_B), 0, result);
        // (1 + 2 + 1) >> 1 = 2 below, (-1 + -2) >> 1 = -2 above.
        assert_eq!(average(0xffff_0001, 0xfffe_0002), 0xfffe_0002);
    }
}
