//! The 8-bit floating-point formats (PTX ISA 5.2.3, after the OCP specification of 8-bit floats).

use super::float::Float;

/// An 8-bit format: a sign, exponent bits, fraction bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Small {
    fraction_bits: u32,
    bias: i32,
    /// The greatest finite number.
    greatest: u8,
    /// The bits of infinity, if there is one.
    infinity: Option<u8>,
}

/// 4 exponent and 3 fraction bits; no infinity, one NaN, up to 448.
pub const E4M3: Small = Small { fraction_bits: 3, bias: 7, greatest: 0x7e, infinity: None };
/// 5 exponent and 2 fraction bits, as IEEE 754 would have it, up to 57344.
pub const E5M2: Small = Small { fraction_bits: 2, bias: 15, greatest: 0x7b, infinity: Some(0x7c) };

/// The NaN that conversions produce, in both formats.
const NAN: u8 = 0x7f;

impl Small {
    /// The exact value; NaN is the canonical one.
    #[inline]
    pub fn widen(self, bits: u8) -> f32 {
        let magnitude = bits & 0x7f;
        let value = if magnitude > self.greatest {
            if self.infinity == Some(magnitude) { f32::INFINITY } else { return f32::CANONICAL_NAN }
        } else {
            // As a number of f32 with an exponent that is too small: one product makes it right, subnormals too.
            let misplaced = f32::from_bits(u32::from(magnitude) << (23 - self.fraction_bits));
            misplaced * f32::from_bits(((254 - self.bias) as u32) << 23)
        };
        if bits & 0x80 == 0 { value } else { -value }
    }

    /// The value rounded to nearest even; too great ones become the greatest finite number of their sign, NaN stays NaN:
    /// `cvt.rn.satfinite`.
    #[inline]
    pub fn narrow_saturating(self, value: f32) -> u8 {
        if value.is_nan() {
            return NAN;
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        // The distance of numbers of this format around the magnitude.
        let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(1 - self.bias);
        let unit = f32::from_bits(((exponent - self.fraction_bits as i32 + 127) as u32) << 23);
        let units = (magnitude / unit).min(f32::from(u8::MAX)).round_ties_even() as u32;
        // A carry out of the fraction makes the exponent one greater, as it should.
        let bits = units + (((exponent + self.bias - 1) as u32) << self.fraction_bits);
        sign | bits.min(self.greatest.into()) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the bits stand for, from the definition.
    fn number(bits: u8, fraction_bits: u32, bias: i32) -> f64 {
        let (exponent, fraction) = (i32::from(bits & 0x7f) >> fraction_bits, bits & ((1 << fraction_bits) - 1));
        let fraction = f64::from(fraction) / f64::from(1 << fraction_bits);
        let magnitude =
            if exponent == 0 { fraction * 2f64.powi(1 - bias) } else { (1.0 + fraction) * 2f64.powi(exponent - bias) };
        if bits & 0x80 == 0 { magnitude } else { -magnitude }
    }

    #[test]
    fn every_number_widens_and_comes_back() {
        for (format, fraction_bits, bias) in [(E4M3, 3, 7), (E5M2, 2, 15)] {
            for bits in (0..=u8::MAX).filter(|b| b & 0x7f <= format.greatest) {
                let value = format.widen(bits);
                assert_eq!(f64::from(value), number(bits, fraction_bits, bias), "{bits:#x}");
                assert_eq!(format.narrow_saturating(value), bits, "{value}");
            }
        }
        assert!(E4M3.widen(0x7f).is_nan() && E4M3.widen(0xff).is_nan() && E5M2.widen(0x7d).is_nan());
        assert_eq!((E5M2.widen(0x7c), E5M2.widen(0xfc)), (f32::INFINITY, f32::NEG_INFINITY));
    }

    #[test]
    fn between_two_numbers_the_nearest_is_taken_and_the_even_one_in_the_middle() {
        for format in [E4M3, E5M2] {
            for low in 0..format.greatest {
                let (a, b) = (format.widen(low), format.widen(low + 1));
                let middle = f32::midpoint(a, b);
                assert_eq!(format.narrow_saturating(middle), low + low % 2, "{middle}");
                assert_eq!(format.narrow_saturating(middle.next_down()), low, "below {middle}");
                assert_eq!(format.narrow_saturating(-middle.next_up()), (low + 1) | 0x80, "above {middle}");
            }
            for great in [f32::INFINITY, f32::MAX, format.widen(format.greatest) * 1.2] {
                assert_eq!(format.narrow_saturating(great), format.greatest);
                assert_eq!(format.narrow_saturating(-great), format.greatest | 0x80);
            }
            assert_eq!(format.narrow_saturating(f32::NAN), 0x7f);
        }
    }
}
