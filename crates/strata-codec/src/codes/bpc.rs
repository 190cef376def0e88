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
use crate::lanes::{LANES, Lanes, VECTORS};
use crate::words::{WORDS, Words, fits, transposed};

/// Differences in an entry, and bits of a plane.
const DELTAS: u32 = 31;
/// The top plane: the signs of the differences.
const TOP: u32 = 32;
/// A plane of ones.
const ONES: u32 = (1 << DELTAS) - 1;

pub(crate) struct Bpc;

impl Code for Bpc {
    #[inline(always)]
    fn bits<L: Lanes>(words: &Words) -> u32 {
        let kinds = Kinds::of(&Deltas::<L>::of(words));
        let zero_runs = kinds.zero & !(kinds.zero << 1);
        let lone_zeros = zero_runs & !(kinds.zero >> 1);
        let (zero_runs, lone_zeros) = (zero_runs.count_ones(), lone_zeros.count_ones());
        let short = (kinds.ones | kinds.silent).count_ones();
        let sparse = (kinds.pair | kinds.single).count_ones();
        let plain = TOP + 1 - kinds.zero.count_ones() - short - sparse;
        base_bits(words[0]) + 7 * (zero_runs - lone_zeros) + 3 * lone_zeros + 5 * short + 10 * sparse + 32 * plain
    }

    #[inline(always)]
    fn write<L: Lanes>(words: &Words, out: &mut BitWriter) {
        write_base(words[0], out);
        let deltas = Deltas::<L>::of(words);
        let kinds = Kinds::of(&deltas);
        let planes = L::to_words(transposed(deltas.gray));
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
    fn read<L: Lanes>(code: &mut BitReader) -> Result<Words, Malformed> {
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
                    0b00001 if above == 0 => {
                        return Err("a plane is said to differ from the one above, but both are zero");
                    }
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
        let deltas = L::to_words(transposed(L::from_words(&planes)));
        let mut words = [base; WORDS];
        for i in 1..WORDS {
            words[i] = words[i - 1].wrapping_add(deltas[i - 1]);
        }
        Ok(words)
    }
}

/// The 31 differences; a 32nd, zero, makes whole vectors.
struct Deltas<L> {
    /// Their lower 32 bits: column b is DBP plane b.
    low: [L; VECTORS],
    /// Every bit xor the one above it: column b is DBX plane b.
    gray: [L; VECTORS],
    /// Plane 32, both DBP and DBX.
    signs: u32,
}

impl<L: Lanes> Deltas<L> {
    #[inline(always)]
    fn of(words: &Words) -> Self {
        let vectors = L::from_words(words);
        let (mut low, mut gray, mut signs) = (vectors, vectors, 0);
        for k in 0..VECTORS {
            // After the last word comes the last word, for a difference of zero.
            let following = if k + 1 < VECTORS { vectors[k + 1] } else { L::splat(words[WORDS - 1]) };
            let next = vectors[k].next(following);
            let negative = next.less(vectors[k]);
            low[k] = next.minus(vectors[k]);
            gray[k] = low[k].xor(low[k].shift_right::<1>().or(negative.shift_left::<31>()));
            signs |= negative.top_bits() << (k * LANES);
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
    fn of<L: Lanes>(deltas: &Deltas<L>) -> Self {
        let none = L::splat(0);
        let mut columns = Columns { any: none, all: L::splat(!0), adjacent: none, one: none, two: none, three: none };
        for k in 0..VECTORS {
            let dbx = deltas.gray[k];
            let last = k + 1 == VECTORS;
            let following = if last { none } else { deltas.gray[k + 1] };
            // The last word is no difference.
            let present = if last { dbx.with_lane(LANES - 1, !0) } else { dbx };
            columns = columns.plus(Columns {
                any: deltas.low[k],
                all: present,
                adjacent: dbx.and(dbx.next(following)),
                one: dbx,
                two: none,
                three: none,
            });
        }
        let columns = columns.plus(columns.swapped::<4>());
        let columns = columns.plus(columns.swapped::<2>());
        let columns = columns.plus(columns.swapped::<1>());
        let [any, all, adjacent] = [columns.any.first(), columns.all.first(), columns.adjacent.first()];
        let [one, two, three] = [columns.one.first(), columns.two.first(), columns.three.first()];
        let signs = deltas.signs;
        let with_signs = |columns: u32, signs: bool| u64::from(columns) | u64::from(signs) << TOP;

        let zero = with_signs(!one, signs == 0);
        let ones = with_signs(all, signs == ONES);
        let silent = u64::from(!any) & !zero & !ones;
        let coded = ones | silent;
        let pair = with_signs(two & !three & adjacent, is_pair(signs)) & !coded;
        let single = with_signs(one & !two, signs.is_power_of_two()) & !coded;
        Self { zero, ones, silent, pair, single }
    }
}

/// What is known of the columns of some rows.
#[derive(Clone, Copy)]
struct Columns<L> {
    /// Where DBP has a one.
    any: L,
    /// Where DBX has ones only.
    all: L,
    /// Where DBX has two ones side by side.
    adjacent: L,
    /// Where DBX has at least one, two, three ones.
    one: L,
    two: L,
    three: L,
}

impl<L: Lanes> Columns<L> {
    /// Of these rows and of others.
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self {
            any: self.any.or(other.any),
            all: self.all.and(other.all),
            adjacent: self.adjacent.or(other.adjacent),
            one: self.one.or(other.one),
            two: self.two.or(other.two).or(self.one.and(other.one)),
            three: self.three.or(other.three).or(self.two.and(other.one)).or(self.one.and(other.two)),
        }
    }

    #[inline(always)]
    fn swapped<const DISTANCE: usize>(self) -> Self {
        Self {
            any: self.any.swapped::<DISTANCE>(),
            all: self.all.swapped::<DISTANCE>(),
            adjacent: self.adjacent.swapped::<DISTANCE>(),
            one: self.one.swapped::<DISTANCE>(),
            two: self.two.swapped::<DISTANCE>(),
            three: self.three.swapped::<DISTANCE>(),
        }
    }
}

/// Whether exactly two bits are set, side by side.
#[inline(always)]
fn is_pair(plane: u32) -> bool {
    plane & plane >> 1 != 0 && plane.count_ones() == 2
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
