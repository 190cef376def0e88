//! Bit-Plane Compression (Kim, Sullivan, Choukse, Erez: ISCA 2016).
//!
//! The first word is the base; the other 31 are 33-bit differences to the word before, all words taken as signed. Bit b
//! of all differences is plane b (DBP); a plane xor the one above it is DBX. Planes are coded from the top (32) down:
//!
//! | plane | code |
//! | --- | --- |
//! | 2 to 33 zero DBX | `01`, 5 bits of length less 2 |
//! | one zero DBX | `001` |
//! | DBX all ones | `00000` |
//! | DBX not zero, but DBP | `00001` |
//! | two ones side by side | `00010`, 5 bits: the lower one's difference |
//! | a single one | `00011`, 5 bits: its difference |
//! | anything else | `1`, 31 bits: difference 30 first |
//!
//! The base comes first: `000` zero, `001`, `010`, `011` and 4, 8, 16 signed bits, or `1` and 32 bits.
//!
//! No plane need be formed to know how it is coded. A plane is a column of the differences, and whether a column has no
//! one, one, two or more, or two side by side, is asked of all 32 columns at once by logic on whole words.

use super::{Code, Malformed};
use crate::bits::{BitReader, BitWriter};
use crate::words::{WORDS, Words, fits, transposed};

/// Differences in an entry, and bits of a plane.
const DELTAS: u32 = 31;
/// The top plane: the signs of the differences.
const TOP: u32 = 32;
/// A plane of ones.
const ONES: u32 = (1 << DELTAS) - 1;
/// Words that are looked at together: a 256-bit vector.
const LANES: usize = 8;

pub(crate) struct Bpc;

impl Code for Bpc {
    #[inline(always)]
    fn bits(words: &Words) -> u32 {
        let kinds = Kinds::of(&Deltas::of(words));
        let zero_runs = kinds.zero & !(kinds.zero << 1);
        let lone_zeros = zero_runs & !(kinds.zero >> 1);
        let (zero_runs, lone_zeros) = (zero_runs.count_ones(), lone_zeros.count_ones());
        let short = (kinds.ones | kinds.silent).count_ones();
        let sparse = (kinds.pair | kinds.single).count_ones();
        let plain = TOP + 1 - kinds.zero.count_ones() - short - sparse;
        base_bits(words[0]) + 7 * (zero_runs - lone_zeros) + 3 * lone_zeros + 5 * short + 10 * sparse + 32 * plain
    }

    #[inline(always)]
    fn write(words: &Words, out: &mut BitWriter) {
        write_base(words[0], out);
        let deltas = Deltas::of(words);
        let kinds = Kinds::of(&deltas);
        let planes = transposed(deltas.gray);
        let mut b = TOP as i32;
        while b >= 0 {
            let here = 1u64 << b;
            if kinds.zero & here != 0 {
                let run = (!(kinds.zero << (63 - b))).leading_zeros();
                match run {
                    1 => out.put(0b001, 3),
                    _ => out.put(0b01 << 5 | u64::from(run - 2), 7),
                }
                b -= run as i32;
                continue;
            }
            let plane = if b == TOP as i32 { deltas.signs } else { planes[b as usize] };
            if (kinds.ones | kinds.silent) & here != 0 {
                out.put(u64::from(kinds.silent & here != 0), 5);
            } else if (kinds.pair | kinds.single) & here != 0 {
                let code = if kinds.pair & here != 0 { 0b00010 } else { 0b00011 };
                out.put(code << 5 | u64::from(plane.trailing_zeros()), 10);
            } else {
                out.put(1 << DELTAS | u64::from(plane), 32);
            }
            b -= 1;
        }
    }

    #[inline(always)]
    fn read(code: &mut BitReader) -> Result<Words, Malformed> {
        let base = read_base(code);
        let mut planes: Words = [0; WORDS];
        let mut above = 0;
        let mut b = TOP as i32;
        while b >= 0 {
            let next = code.peek();
            let position = (next >> 54) as u32 & 0x1f;
            let (dbx, length) = match next.leading_zeros() {
                0 => ((next >> 32) as u32 & ONES, 32),
                1 => {
                    let run = (next >> 57) as i32 - 0b01_00000 + 2;
                    if run > b + 1 {
                        return Err("a run of zero planes is longer than what is left of the entry");
                    }
                    // The planes of a run equal the one above it; that of the signs (32) is needed for nothing else.
                    for plane in (b + 1 - run).max(0)..(b + 1).min(TOP as i32) {
                        planes[plane as usize] = above;
                    }
                    code.skip(7);
                    b -= run;
                    continue;
                }
                2 => (0, 3),
                _ => match next >> 59 {
                    0b00000 => (ONES, 5),
                    0b00001 if above == 0 => return Err("a plane is said to differ from the one above, but both are zero"),
                    0b00001 => (above, 5),
                    0b00010 if position + 1 < DELTAS => (0b11 << position, 10),
                    0b00011 if position < DELTAS => (1 << position, 10),
                    _ => return Err("a one stands outside its plane"),
                },
            };
            code.skip(length);
            above ^= dbx;
            if b < TOP as i32 {
                planes[b as usize] = above;
            }
            b -= 1;
        }
        let deltas = transposed(planes);
        let mut words = [base; WORDS];
        for i in 1..WORDS {
            words[i] = words[i - 1].wrapping_add(deltas[i - 1]);
        }
        Ok(words)
    }
}

/// The 31 differences; a 32nd, zero, makes whole vectors.
struct Deltas {
    /// Their lower 32 bits: column b is DBP plane b.
    low: Words,
    /// Every bit xor the one above it: column b is DBX plane b.
    gray: Words,
    /// Plane 32, both DBP and DBX.
    signs: u32,
}

impl Deltas {
    #[inline(always)]
    fn of(words: &Words) -> Self {
        let (mut low, mut gray, mut signs) = ([0; WORDS], [0; WORDS], 0);
        for i in 0..DELTAS as usize {
            let delta = words[i + 1].wrapping_sub(words[i]);
            let negative = u32::from((words[i + 1] as i32) < (words[i] as i32));
            low[i] = delta;
            gray[i] = delta ^ (delta >> 1 | negative << 31);
            signs |= negative << i;
        }
        Self { low, gray, signs }
    }
}

/// How the planes are coded: bit b of exactly one mask is set, or of none if plane b is written as it is.
struct Kinds {
    zero: u64,
    ones: u64,
    /// DBX is not zero, but DBP is.
    silent: u64,
    pair: u64,
    single: u64,
}

impl Kinds {
    #[inline(always)]
    fn of(deltas: &Deltas) -> Self {
        let (mut any, mut all) = ([0; LANES], [!0; LANES]);
        let mut adjacent = [0; LANES];
        let mut counts = [Counts::default(); LANES];
        for at in (0..WORDS).step_by(LANES) {
            for lane in 0..LANES {
                let i = at + lane;
                let dbx = deltas.gray[i];
                any[lane] |= deltas.low[i];
                all[lane] &= if i < DELTAS as usize { dbx } else { !0 };
                // The last word is zero and has no neighbour.
                adjacent[lane] |= if i < DELTAS as usize { dbx & deltas.gray[i + 1] } else { 0 };
                counts[lane] = counts[lane].plus(Counts { one: dbx, two: 0, three: 0 });
            }
        }
        let count = counts.into_iter().fold(Counts::default(), Counts::plus);
        let or = |lanes: [u32; LANES]| lanes.into_iter().fold(0, |seen, lane| seen | lane);
        let signs = deltas.signs;
        let with_signs = |columns: u32, signs: bool| u64::from(columns) | u64::from(signs) << TOP;

        let zero = with_signs(!count.one, signs == 0);
        let ones = with_signs(all.into_iter().fold(!0, |seen, lane| seen & lane), signs == ONES);
        let silent = u64::from(!or(any)) & !zero & !ones;
        let coded = ones | silent;
        let pair = with_signs(count.two & !count.three & or(adjacent), is_pair(signs)) & !coded;
        let single = with_signs(count.one & !count.two, signs.is_power_of_two()) & !coded;
        Self { zero, ones, silent, pair, single }
    }
}

/// Whether exactly two bits are set, side by side.
#[inline(always)]
fn is_pair(plane: u32) -> bool {
    plane & plane >> 1 != 0 && plane.count_ones() == 2
}

/// For each column, whether it has at least one, two, three ones.
#[derive(Clone, Copy, Default)]
struct Counts {
    one: u32,
    two: u32,
    three: u32,
}

impl Counts {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self {
            one: self.one | other.one,
            two: self.two | other.two | self.one & other.one,
            three: self.three | other.three | self.two & other.one | self.one & other.two,
        }
    }
}

#[inline(always)]
fn base_bits(base: u32) -> u32 {
    if base == 0 {
        3
    } else if fits(base, 4) {
        7
    } else if fits(base, 8) {
        11
    } else if fits(base, 16) {
        19
    } else {
        33
    }
}

#[inline(always)]
fn write_base(base: u32, out: &mut BitWriter) {
    match base_bits(base) {
        3 => out.put(0b000, 3),
        7 => out.put(0b001 << 4 | u64::from(base & 0xf), 7),
        11 => out.put(0b010 << 8 | u64::from(base & 0xff), 11),
        19 => out.put(0b011 << 16 | u64::from(base & 0xffff), 19),
        _ => out.put(1 << 32 | u64::from(base), 33),
    }
}

#[inline(always)]
fn read_base(code: &mut BitReader) -> u32 {
    if code.peek() >> 63 == 1 {
        return code.take(33) as u32;
    }
    match code.take(3) {
        0 => 0,
        1 => code.take_signed(4),
        2 => code.take_signed(8),
        _ => code.take_signed(16),
    }
}

#[cfg(test)]
mod tests;
