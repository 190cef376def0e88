//! Base-Delta-Immediate (Pekhimenko et al.: PACT 2012).
//!
//! The entry is an array of elements of 8, 4 or 2 bytes. Every element is a small signed delta, either to zero or to
//! one base, the first element that zero cannot reach. The code: 4 bits, which layout; the base; one bit per element,
//! set for a delta to the base; the deltas; all rounded up to whole bytes. The smallest layout that fits is taken, of two
//! equal ones the first.
//!
//! The two other forms of the paper, zeros and one 8 B value repeated, cost nothing here: the metadata tells them
//! (`Form` in `codec`).

use super::{Code, Malformed, NO_CODE};
use crate::ENTRY_BYTES;
use crate::bits::{BitReader, BitWriter};
use crate::lanes::Lanes;
use crate::words::{WORDS, Words};

/// Bytes of an element and of a delta.
#[derive(Clone, Copy)]
struct Layout {
    element: u32,
    delta: u32,
}

/// By size of the code, smallest first; the index is the 4-bit number of the layout.
const LAYOUTS: [Layout; 6] = [
    Layout { element: 8, delta: 1 },
    Layout { element: 4, delta: 1 },
    Layout { element: 8, delta: 2 },
    Layout { element: 4, delta: 2 },
    Layout { element: 8, delta: 4 },
    Layout { element: 2, delta: 1 },
];

impl Layout {
    const fn elements(self) -> u32 {
        ENTRY_BYTES as u32 / self.element
    }

    const fn code_bits(self) -> u32 {
        let deltas = self.elements() * self.delta * 8;
        (4 + self.element * 8 + self.elements() + deltas).next_multiple_of(8)
    }

    /// Element `i`, zero-extended.
    #[inline(always)]
    fn element(self, words: &Words, i: usize) -> u64 {
        match self.element {
            8 => u64::from(words[2 * i + 1]) << 32 | u64::from(words[2 * i]),
            4 => words[i].into(),
            _ => (words[i / 2] >> (i % 2 * 16) & 0xffff).into(),
        }
    }

    /// Whether the delta between two elements is small enough.
    #[inline(always)]
    fn reaches(self, from: u64, element: u64) -> bool {
        let half = 1 << (self.delta * 8 - 1);
        let moved = element.wrapping_sub(from).wrapping_add(half);
        // Arithmetic of as many bits as an element has.
        moved << (64 - self.element * 8) >> (64 - self.element * 8) >> (self.delta * 8) == 0
    }

    /// The base: the first element that zero cannot reach. Zero if there is none.
    #[inline(always)]
    fn base(self, words: &Words) -> u64 {
        for i in 0..self.elements() as usize {
            let element = self.element(words, i);
            if !self.reaches(0, element) {
                return element;
            }
        }
        0
    }

    #[inline(always)]
    fn fits(self, words: &Words) -> bool {
        let base = self.base(words);
        let mut all = true;
        for i in 0..self.elements() as usize {
            let element = self.element(words, i);
            all &= self.reaches(0, element) | self.reaches(base, element);
        }
        all
    }
}

pub(crate) struct Bdi;

impl Code for Bdi {
    #[inline(always)]
    fn bits<L: Lanes>(words: &Words) -> u32 {
        layout_of(words).map_or(NO_CODE, |number| LAYOUTS[number].code_bits())
    }

    #[inline(always)]
    fn write<L: Lanes>(words: &Words, out: &mut BitWriter) {
        let Some(number) = layout_of(words) else { return };
        let layout = LAYOUTS[number];
        let base = layout.base(words);
        out.put(number as u64, 4);
        for half in (0..layout.element * 8).step_by(16).rev() {
            out.put(base >> half & 0xffff, 16);
        }
        let elements = || (0..layout.elements() as usize).map(|i| layout.element(words, i));
        for element in elements() {
            out.put(u64::from(!layout.reaches(0, element)), 1);
        }
        for element in elements() {
            let from = if layout.reaches(0, element) { 0 } else { base };
            let delta = element.wrapping_sub(from) & ((1 << (layout.delta * 8)) - 1);
            out.put(delta, layout.delta * 8);
        }
        let rest = layout.code_bits() - out.written() as u32;
        if rest > 0 {
            out.put(0, rest);
        }
    }

    #[inline(always)]
    fn read<L: Lanes>(code: &mut BitReader) -> Result<Words, Malformed> {
        let Some(&layout) = LAYOUTS.get(code.take(4) as usize) else { return Err("there is no such layout") };
        let base = (0..layout.element / 2).fold(0, |base, _| base << 16 | code.take(16));
        let to_base: u64 = (0..layout.elements()).fold(0, |mask, i| mask | code.take(1) << i);
        let mut words = [0; WORDS];
        for i in 0..layout.elements() as usize {
            let shift = 64 - layout.delta * 8;
            let delta = (code.take(layout.delta * 8) << shift) as i64 >> shift;
            let element = if to_base >> i & 1 == 1 { base } else { 0 }.wrapping_add(delta as u64);
            match layout.element {
                8 => (words[2 * i], words[2 * i + 1]) = (element as u32, (element >> 32) as u32),
                4 => words[i] = element as u32,
                _ => words[i / 2] |= (element as u32 & 0xffff) << (i % 2 * 16),
            }
        }
        code.skip(layout.code_bits() - code.position() as u32);
        Ok(words)
    }
}

/// The first, and so the smallest, layout that fits.
#[inline(always)]
fn layout_of(words: &Words) -> Option<usize> {
    // Written out, so that each is compiled for its layout.
    if LAYOUTS[0].fits(words) {
        Some(0)
    } else if LAYOUTS[1].fits(words) {
        Some(1)
    } else if LAYOUTS[2].fits(words) {
        Some(2)
    } else if LAYOUTS[3].fits(words) {
        Some(3)
    } else if LAYOUTS[4].fits(words) {
        Some(4)
    } else if LAYOUTS[5].fits(words) {
        Some(5)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::testing::{check, check_malformed, fields};
    use crate::lanes::Plain;

    /// An entry of 8-byte elements.
    fn longs(element: impl Fn(usize) -> u64) -> Words {
        std::array::from_fn(|i| (element(i / 2) >> (i % 2 * 32)) as u32)
    }

    #[test]
    fn sizes_are_those_of_the_definition_and_ascend() {
        // Base, deltas, mask and 4 bits: 8 + 16 + 2 B and so on.
        let bytes = LAYOUTS.map(|layout| layout.code_bits() / 8);
        assert_eq!(bytes, [27, 41, 43, 73, 75, 75]);
    }

    #[test]
    fn deltas_to_zero_and_to_the_base() {
        // Pointers near 0x7_0000_1000 and small numbers: the first pointer is the base.
        let words = longs(|i| match i {
            0 => 5,
            1 => 0x7_0000_1000,
            2 => 0x7_0000_0ff0,
            _ => u64::MAX,
        });
        let base = format!("{:064b}", 0x7_0000_1000u64);
        let code = format!("0000 {base} 0110000000000000 00000101 00000000 11110000 {} 0000", "1".repeat(13 * 8));
        check::<Bdi>(words, &code);
    }

    #[test]
    fn four_byte_elements() {
        // 32 numbers around a million: no 8-byte element reaches another with one byte.
        let words = std::array::from_fn(|i| 1_000_000 + i as u32);
        let deltas = fields(8, 0..32);
        check::<Bdi>(words, &format!("0001 {:032b} {} {deltas} 0000", 1_000_000, "1".repeat(32)));
    }

    #[test]
    fn deltas_are_signed_in_the_width_of_an_element() {
        // 0, -1, 2, -3, …: small to zero as words, but not as 8-byte values.
        let words = std::array::from_fn(|i| if i % 2 == 0 { i as u32 } else { (i as u32).wrapping_neg() });
        let deltas = fields(8, words.map(|word| word as u8));
        check::<Bdi>(words, &format!("0001 {} {} {deltas} 0000", "0".repeat(32), "0".repeat(32)));
    }

    #[test]
    fn two_byte_elements_are_the_last_resort() {
        // Halves near 0x4000, too far apart as words.
        let words = std::array::from_fn(|i| 0x4000_4000 + 0x0001_0003 * i as u32);
        let deltas = fields(8, (0..32).flat_map(|i| [3 * i, i]));
        check::<Bdi>(words, &format!("0101 {:016b} {} {deltas} 0000", 0x4000, "1".repeat(64)));
    }

    #[test]
    fn wider_deltas() {
        for (step, number, bytes) in [(200, 2, 43), (1 << 20, 4, 75)] {
            let words = longs(|i| 0x7fff_0000_0000 + step * i as u64);
            assert_eq!(layout_of(&words), Some(number));
            assert_eq!(Bdi::bits::<Plain>(&words), bytes * 8);
        }
        assert_eq!(layout_of(&std::array::from_fn(|i| 0x10_0000 + 777 * i as u32)), Some(3));
    }

    #[test]
    fn nothing_fits() {
        let words = std::array::from_fn(|i| (i as u32 + 1).wrapping_mul(0x9e37_79b9));
        assert_eq!(Bdi::bits::<Plain>(&words), NO_CODE);
    }

    #[test]
    fn an_unknown_layout_is_malformed() {
        check_malformed::<Bdi>("0110", "there is no such layout");
    }
}
