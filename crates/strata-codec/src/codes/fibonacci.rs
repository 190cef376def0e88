//! Fibonacci compression (Pool, Lastra, Singh: 2012): for buffers of floats whose neighbours are alike.
//!
//! Every word, as an integer, less the one before it (the first less zero), modulo 2^32 and taken as signed, is folded to
//! unsigned (0, -1, 1, -2, … become 0, 1, 2, 3, …), and one is added. The number is written as a sum of Fibonacci
//! numbers no two of which are neighbours (Zeckendorf), the bit of 1 first, then 2, 3, 5, …, and one more `1` ends it:
//! nowhere else do two ones stand side by side.

use super::{Code, Malformed};
use crate::bits::{BitReader, BitWriter};
use crate::lanes::{Lanes, VECTORS};
use crate::words::{WORDS, Words};

/// Fibonacci numbers up to the largest that is not above 2^32, the largest number coded.
const NUMBERS: usize = 46;

/// 1, 2, 3, 5, …
const FIBONACCI: [u64; NUMBERS] = {
    let mut numbers = [1; NUMBERS];
    numbers[1] = 2;
    let mut i = 2;
    while i < NUMBERS {
        numbers[i] = numbers[i - 1] + numbers[i - 2];
        i += 1;
    }
    numbers
};

pub(crate) struct Fibonacci;

impl Code for Fibonacci {
    #[inline(always)]
    fn bits<L: Lanes>(words: &Words) -> u32 {
        // A code has a bit for each Fibonacci number that is not above the number, and one more. The number is one more
        // than the folded difference and may not fit a word. The top bit turned, signed comparison orders unsigned words.
        let top = L::splat(1 << 31);
        let [a, b, c, d] = L::from_words(&folded_differences(words));
        let [a, b, c, d] = [a.xor(top), b.xor(top), c.xor(top), d.xor(top)];
        let mut above = [L::splat(0); VECTORS];
        for number in &FIBONACCI {
            let number = L::splat((number - 1) as u32).xor(top);
            // Less the mask, minus one, is one more.
            above[0] = above[0].minus(a.less(number));
            above[1] = above[1].minus(b.less(number));
            above[2] = above[2].minus(c.less(number));
            above[3] = above[3].minus(d.less(number));
        }
        let mut bits = WORDS as u32 * (NUMBERS as u32 + 1);
        for above in L::to_words(above) {
            bits -= above;
        }
        bits
    }

    #[inline(always)]
    fn write<L: Lanes>(words: &Words, out: &mut BitWriter) {
        for folded in folded_differences(words) {
            let mut rest = u64::from(folded) + 1;
            let numbers = FIBONACCI.partition_point(|&number| number <= rest);
            let mut code = 1;
            for (i, number) in FIBONACCI[..numbers].iter().enumerate().rev() {
                // No branch: nobody can predict it.
                let taken = u64::from(*number <= rest);
                rest -= number * taken;
                code |= taken << (numbers - i);
            }
            out.put(code, numbers as u32 + 1);
        }
    }

    #[inline(always)]
    fn read<L: Lanes>(code: &mut BitReader) -> Result<Words, Malformed> {
        let mut words = [0; WORDS];
        let mut before = 0;
        for word in &mut words {
            let next = code.peek();
            // The bits of the sum are those before the second of two ones.
            let numbers = (next & next << 1).leading_zeros() as usize + 1;
            if numbers > NUMBERS {
                code.skip(NUMBERS as u32 + 1);
                return Err("a number is longer than any that is written");
            }
            code.skip(numbers as u32 + 1);
            let sum: u64 = (0..numbers).map(|i| FIBONACCI[i] * (next >> (63 - i) & 1)).sum();
            let Ok(folded) = u32::try_from(sum - 1) else { return Err("a number is larger than any that is written") };
            before = unfolded(folded).wrapping_add(before);
            *word = before;
        }
        Ok(words)
    }
}

/// Differences of neighbours, folded to unsigned.
#[inline(always)]
fn folded_differences(words: &Words) -> Words {
    let mut folded = [0; WORDS];
    for i in 0..WORDS {
        let before = if i == 0 { 0 } else { words[i - 1] };
        let difference = words[i].wrapping_sub(before);
        folded[i] = difference << 1 ^ (difference as i32 >> 31) as u32;
    }
    folded
}

fn unfolded(folded: u32) -> u32 {
    folded >> 1 ^ (folded & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::testing::{check, check_malformed, starting_with};
    use crate::lanes::Plain;

    #[test]
    fn the_numbers_are_all_and_no_more_than_needed() {
        assert_eq!(FIBONACCI[..6], [1, 2, 3, 5, 8, 13]);
        assert!(FIBONACCI[NUMBERS - 1] <= 1 << 32 && FIBONACCI[NUMBERS - 1] + FIBONACCI[NUMBERS - 2] > 1 << 32);
    }

    #[test]
    fn numbers() {
        // Difference 0 is coded as 1: `11`.
        check::<Fibonacci>([0; WORDS], &"11".repeat(32));
        // 1, 1, 1, …: difference 1 is folded to 2 and coded as 3.
        check::<Fibonacci>([1; WORDS], &format!("0011 {}", "11".repeat(31)));
        // -1, …: folded to 1, coded as 2.
        check::<Fibonacci>([!0; WORDS], &format!("011 {}", "11".repeat(31)));
        // 5, then -5: folded 10 and 9, coded as 11 = 8 + 3 and 10 = 8 + 2.
        check::<Fibonacci>(starting_with(&[5]), &format!("001011 010011 {}", "11".repeat(30)));
        // 10: folded 20, coded 21, itself a Fibonacci number, the seventh.
        check::<Fibonacci>([10; WORDS], &format!("00000011 {}", "11".repeat(31)));
    }

    #[test]
    fn the_largest_number() {
        // -2^31 is folded to 2^32 - 1 and coded as 2^32, with all 46 Fibonacci numbers: 47 bits.
        let words = [1 << 31; WORDS];
        assert_eq!(Fibonacci::bits::<Plain>(&words), 47 + 31 * 2);
        let mut writer = BitWriter::new();
        Fibonacci::write::<Plain>(&words, &mut writer);
        assert_eq!(Fibonacci::read::<Plain>(&mut BitReader::new(&writer.finish())), Ok(words));
    }

    #[test]
    fn malformed_codes() {
        check_malformed::<Fibonacci>("", "a number is longer than any that is written");
        // All even places: the sum of every second number up to the largest is one less than the next, 4,807,526,976.
        let sum = "01".repeat(NUMBERS / 2);
        check_malformed::<Fibonacci>(&format!("{sum} 1"), "a number is larger than any that is written");
    }
}
