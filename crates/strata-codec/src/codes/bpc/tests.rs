//! Vectors worked out by hand from the table, and the table once more, literally, as the reference.

use super::*;
use crate::codes::testing::{check, check_malformed, starting_with};
use crate::lanes::Plain;
use proptest::prelude::*;

/// An entry with this base and these differences; those not given are zero.
fn with_deltas(base: i32, deltas: &[i32]) -> Words {
    let mut words = [base as u32; WORDS];
    for i in 1..WORDS {
        words[i] = words[i - 1].wrapping_add(deltas.get(i - 1).copied().unwrap_or(0) as u32);
    }
    words
}

#[test]
fn bases() {
    // No difference at all: 33 zero planes, a run with length field 31.
    for (base, code) in [
        (0, "000"),
        (7, "001 0111"),
        (-8, "001 1000"),
        (8, "010 00001000"),
        (-128, "010 10000000"),
        (128, "011 0000000010000000"),
        (-32768, "011 1000000000000000"),
        (32768, "1 00000000000000001000000000000000"),
        (i32::MIN, "1 10000000000000000000000000000000"),
    ] {
        check::<Bpc>([base as u32; WORDS], &format!("{code} 01 11111"));
    }
}

#[test]
fn one_difference_everywhere() {
    // All differences 1: plane 0 all ones, 32 zero planes above it.
    check::<Bpc>(with_deltas(0, &[1; 31]), "000 01 11110 00000");
    // All -1: every DBP plane is ones; DBX has ones in plane 32 and zeros below.
    check::<Bpc>(with_deltas(0, &[-1; 31]), "000 00000 01 11110");
    // All 3: planes 1 and 0 are ones, so DBX is ones in plane 1 only.
    check::<Bpc>(with_deltas(0, &[3; 31]), "000 01 11101 00000 001");
    // All 2: plane 1 is ones and plane 0 zero: DBX of plane 0 is ones too, and ones come first in the table.
    check::<Bpc>(with_deltas(0, &[2; 31]), "000 01 11101 00000 00000");
}

#[test]
fn single_ones_and_pairs() {
    // Difference 5 is 2: DBX plane 1 has a single one at 5; plane 0 is zero in DBP but not in DBX.
    check::<Bpc>(with_deltas(0, &[0, 0, 0, 0, 0, 2]), "000 01 11101 00011 00101 00001");
    // The last difference, 1.
    check::<Bpc>(starting_with(&[]).map_last(1), "000 01 11110 00011 11110");
    // Differences 0 and 1 are 1.
    check::<Bpc>(with_deltas(0, &[1, 1]), "000 01 11110 00010 00000");
    // The last two are 1.
    let mut deltas = [0; 31];
    deltas[29..].fill(1);
    check::<Bpc>(with_deltas(0, &deltas), "000 01 11110 00010 11101");
    // Two ones apart, and three in a row, are written as they are: difference 30 first.
    check::<Bpc>(with_deltas(0, &[1, 0, 1]), "000 01 11110 1 0000000000000000000000000000101");
    check::<Bpc>(with_deltas(0, &[1, 1, 1]), "000 01 11110 1 0000000000000000000000000000111");
}

#[test]
fn differences_have_33_bits_and_a_sign() {
    // 2^31 - 1 to -2^31: -(2^32 - 1) = 1 0000…0001. Planes 32 and 0 have the one; DBX has it in 32, 31 and 0.
    check::<Bpc>(
        starting_with(&[]).map(|_| i32::MIN as u32).with_first(i32::MAX as u32),
        "1 01111111111111111111111111111111 00011 00000 00001 01 11100 00011 00000",
    );
    // A step down of one: all planes have the one, DBX only the top.
    check::<Bpc>(with_deltas(0, &[-1]), "000 00011 00000 01 11110");
}

#[test]
fn small_signed_integers_take_a_sector() {
    // The words are signed: alternation between -1 and 1 is a small difference, not one of 2^32.
    let words = std::array::from_fn(|i| if i % 2 == 0 { 1 } else { -1i32 as u32 });
    // Even differences are -2 (1…1110), odd ones 2 (0…010): planes 32 to 2 alike, plane 1 ones, plane 0 zero.
    let even = "1 1010101010101010101010101010101";
    let odd = "1 0101010101010101010101010101010";
    check::<Bpc>(words, &format!("001 0001 {even} 01 11100 {odd} 00000"));
}

#[test]
fn malformed_codes() {
    check_malformed::<Bpc>("000 01 11110 01 00000", "a run of zero planes is longer than what is left of the entry");
    check_malformed::<Bpc>("000 00011 11111", "a one stands outside its plane");
    check_malformed::<Bpc>("000 00010 11110", "a one stands outside its plane");
    check_malformed::<Bpc>("000 00001", "a plane is said to differ from the one above, but both are zero");
}

trait Changed {
    fn with_first(self, word: u32) -> Self;
    fn map_last(self, word: u32) -> Self;
}

impl Changed for Words {
    fn with_first(mut self, word: u32) -> Self {
        self[0] = word;
        self
    }

    fn map_last(mut self, word: u32) -> Self {
        self[WORDS - 1] = word;
        self
    }
}

/// The definition, bit by bit.
fn reference_bits(words: &Words) -> u32 {
    let base = words[0] as i32;
    let mut bits = match base {
        0 => 3,
        -8..8 => 7,
        -128..128 => 11,
        -32768..32768 => 19,
        _ => 33,
    };
    let deltas: Vec<i64> = words.windows(2).map(|w| i64::from(w[1] as i32) - i64::from(w[0] as i32)).collect();
    let plane = |b: usize| deltas.iter().map(|d| d >> b & 1 == 1).collect::<Vec<bool>>();
    let mut zeros = 0;
    let flush = |bits: &mut u32, zeros: &mut u32| {
        *bits += [0, 3].get(*zeros as usize).copied().unwrap_or(7);
        *zeros = 0;
    };
    for b in (0..=32).rev() {
        let dbp = plane(b);
        let dbx: Vec<bool> =
            if b == 32 { dbp.clone() } else { dbp.iter().zip(plane(b + 1)).map(|(x, y)| x ^ y).collect() };
        let ones: Vec<usize> = (0..31).filter(|&i| dbx[i]).collect();
        if ones.is_empty() {
            zeros += 1;
            continue;
        }
        flush(&mut bits, &mut zeros);
        bits += match ones[..] {
            _ if ones.len() == 31 || !dbp.contains(&true) => 5,
            [_] => 10,
            [low, high] if high == low + 1 => 10,
            _ => 32,
        };
    }
    flush(&mut bits, &mut zeros);
    bits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Few distinct differences, so that every kind of plane turns up.
    #[test]
    fn sizes_follow_the_table(
        base: i32,
        small in -40i32..40,
        places in proptest::collection::vec((0usize..31, any::<i32>(), 0u32..32), 0..5),
        background in prop_oneof![Just(0), Just(1), Just(-1), any::<i32>()],
    ) {
        let mut deltas = [background; 31];
        for (at, delta, shift) in places {
            deltas[at] = delta >> shift;
        }
        for words in [with_deltas(base, &deltas), with_deltas(small, &deltas)] {
            prop_assert_eq!(Bpc::bits::<Plain>(&words), reference_bits(&words));
        }
    }
}
