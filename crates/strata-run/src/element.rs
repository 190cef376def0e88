//! Element types of device buffers and typed numbers: what a launch file means by `f32`.

use half::{bf16, f16};
use std::fmt;

/// The type of a buffer's elements or of a scalar argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the variants are their names")]
pub enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

/// A number before it has a type, or after it lost it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// Wide enough for `u64` and `i64` alike.
    Int(i128),
    /// A floating-point value; every `f16`, `bf16` and `f32` is one exactly.
    Real(f64),
}

impl Number {
    /// The nearest `f64`; integers beyond 2^53 are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Real(x) => x,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Real(x) => write!(f, "{x}"),
        }
    }
}

impl Element {
    /// Every type that a launch file can name.
    pub const ALL: [Self; 12] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    /// The name in launch files, such as `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type that launch files call so, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|e| e.name() == name)
    }

    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// True for floating-point types, which are compared with a tolerance.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// The smallest and largest value of an integer type; `None` for floating-point types.
    pub const fn integer_range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.bytes() as u32;
        match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Some((0, (1 << bits) - 1)),
            _ => None,
        }
    }

    /// Appends the little-endian bytes of `number`. Integers wrap to the type's width, reals round to nearest.
    pub fn encode(self, number: Number, out: &mut Vec<u8>) {
        match self {
            Self::F16 => out.extend(f16::from_f64(number.as_f64()).to_le_bytes()),
            Self::Bf16 => out.extend(bf16::from_f64(number.as_f64()).to_le_bytes()),
            Self::F32 => out.extend((number.as_f64() as f32).to_le_bytes()),
            Self::F64 => out.extend(number.as_f64().to_le_bytes()),
            _ => {
                let whole = match number {
                    Number::Int(n) => n,
                    Number::Real(x) => x as i128,
                };
                out.extend(&whole.to_le_bytes()[..self.bytes()]);
            }
        }
    }

    /// The number that `bytes` (little-endian, [`Element::bytes`] long; missing bytes count as zero) hold.
    pub fn decode(self, bytes: &[u8]) -> Number {
        let mut wide = [0u8; 8];
        let n = bytes.len().min(self.bytes());
        wide[..n].copy_from_slice(&bytes[..n]);
        let bits = u64::from_le_bytes(wide);
        match self {
            Self::I8 => Number::Int(i128::from(bits as i8)),
            Self::I16 => Number::Int(i128::from(bits as i16)),
            Self::I32 => Number::Int(i128::from(bits as i32)),
            Self::I64 => Number::Int(i128::from(bits as i64)),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Number::Int(i128::from(bits)),
            Self::F16 => Number::Real(f16::from_bits(bits as u16).to_f64()),
            Self::Bf16 => Number::Real(bf16::from_bits(bits as u16).to_f64()),
            Self::F32 => Number::Real(f64::from(f32::from_bits(bits as u32))),
            Self::F64 => Number::Real(f64::from_bits(bits)),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(element: Element, number: Number) -> Number {
        let mut bytes = Vec::new();
        element.encode(number, &mut bytes);
        assert_eq!(bytes.len(), element.bytes());
        element.decode(&bytes)
    }

    #[test]
    fn the_ends_of_every_integer_range_survive() {
        for element in Element::ALL {
            if let Some((low, high)) = element.integer_range() {
                assert_eq!(round_trip(element, Number::Int(low)), Number::Int(low), "{element}");
                assert_eq!(round_trip(element, Number::Int(high)), Number::Int(high), "{element}");
                assert_eq!(round_trip(element, Number::Int(high + 1)), Number::Int(low), "{element} wraps");
            }
        }
    }

    #[test]
    fn reals_round_to_nearest() {
        assert_eq!(round_trip(Element::F16, Number::Real(1.0 + 1.0 / 4096.0)), Number::Real(1.0));
        assert_eq!(round_trip(Element::Bf16, Number::Real(-2.5)), Number::Real(-2.5));
        assert_eq!(round_trip(Element::F32, Number::Int(16_777_217)), Number::Real(16_777_216.0));
    }
}
