//! C-Pack (Chen, Yang, Dick, Shang, Lekatsas: 2010): words matched with a dictionary of the last 16 new ones.
//!
//! | code | word | bits after it |
//! | --- | --- | --- |
//! | `00` | zero | |
//! | `01` | new | 32 |
//! | `10` | in the dictionary | 4: where |
//! | `1100` | upper half in the dictionary | 4: where, 16: lower half |
//! | `1101` | upper three bytes zero | 8: the lowest |
//! | `1110` | upper three bytes in the dictionary | 4: where, 8: the lowest |
//!
//! The shortest code is taken, and the lowest place. What is coded with `01`, `1100` or `1110` enters the dictionary, in
//! place of the oldest. Every entry starts with an empty dictionary.

use super::{Code, Malformed};
use crate::bits::{BitReader, BitWriter};
use crate::lanes::{LANES, Lanes};
use crate::words::{WORDS, Words};

/// Places in the dictionary.
const PLACES: usize = 2 * LANES;

pub(crate) struct CPack;

impl Code for CPack {
    #[inline(always)]
    fn bits<L: Lanes>(words: &Words) -> u32 {
        let mut dictionary = Dictionary::<L>::new();
        let mut bits = 0;
        for &word in words {
            if word == 0 {
                bits += 2;
            } else if word < 1 << 8 {
                bits += 12;
            } else {
                let distance = dictionary.distance(word);
                if distance == 0 {
                    bits += 6;
                } else {
                    bits += if distance < 1 << 8 {
                        16
                    } else if distance < 1 << 16 {
                        24
                    } else {
                        34
                    };
                    dictionary.enter(word);
                }
            }
        }
        bits
    }

    #[inline(always)]
    fn write<L: Lanes>(words: &Words, out: &mut BitWriter) {
        let mut dictionary = Dictionary::<L>::new();
        for &word in words {
            let value = u64::from(word);
            if word == 0 {
                out.put(0b00, 2);
                continue;
            }
            if word < 1 << 8 {
                out.put(0b1101 << 8 | value, 12);
                continue;
            }
            let distance = dictionary.distance(word);
            match distance {
                0 => {
                    out.put(0b10 << 4 | dictionary.place::<0>(word), 6);
                    continue;
                }
                1..0x100 => out.put((0b1110 << 4 | dictionary.place::<8>(word)) << 8 | value & 0xff, 16),
                0x100..0x1_0000 => out.put((0b1100 << 4 | dictionary.place::<16>(word)) << 16 | value & 0xffff, 24),
                _ => out.put(0b01 << 32 | value, 34),
            }
            dictionary.enter(word);
        }
    }

    #[inline(always)]
    fn read<L: Lanes>(code: &mut BitReader) -> Result<Words, Malformed> {
        let mut dictionary = Dictionary::<L>::new();
        let mut words = [0; WORDS];
        for word in &mut words {
            *word = match code.take(2) {
                0b00 => 0,
                0b01 => dictionary.enter(code.take(32) as u32),
                0b10 => dictionary.get(code.take(4))?,
                _ => match code.take(2) {
                    0b00 => {
                        let upper = dictionary.get(code.take(4))? & 0xffff_0000;
                        dictionary.enter(upper | code.take(16) as u32)
                    }
                    0b01 => code.take(8) as u32,
                    0b10 => {
                        let upper = dictionary.get(code.take(4))? & 0xffff_ff00;
                        dictionary.enter(upper | code.take(8) as u32)
                    }
                    _ => return Err("1111 begins no code"),
                },
            };
        }
        Ok(words)
    }
}

/// The last words entered, first in, first out.
struct Dictionary<L> {
    /// Two vectors of places. Those still empty repeat the first word: so all can be searched, and nothing is found that
    /// is not there.
    places: [L; 2],
    entered: usize,
}

impl<L: Lanes> Dictionary<L> {
    #[inline(always)]
    fn new() -> Self {
        Self { places: [L::splat(0); 2], entered: 0 }
    }

    /// The bits in which the word differs from the most similar one, as a number: less than 2^n if all but the lowest n agree.
    #[inline(always)]
    fn distance(&self, word: u32) -> u32 {
        let word = L::splat(word);
        let nearest = self.places[0].xor(word).min(self.places[1].xor(word));
        let nearest = nearest.min(nearest.swapped::<4>());
        let nearest = nearest.min(nearest.swapped::<2>());
        let nearest = nearest.min(nearest.swapped::<1>()).first();
        if self.entered == 0 { u32::MAX } else { nearest }
    }

    /// The lowest place of a word that agrees but for the lowest `BITS`, which is known to be there.
    #[inline(always)]
    fn place<const BITS: i32>(&self, word: u32) -> u64 {
        let word = L::splat(word);
        let [low, high] = [self.places[0].xor(word), self.places[1].xor(word)];
        let agreeing = low.shift_right::<BITS>().zero_lanes() | high.shift_right::<BITS>().zero_lanes() << LANES;
        agreeing.trailing_zeros().into()
    }

    #[inline(always)]
    fn enter(&mut self, word: u32) -> u32 {
        if self.entered == 0 {
            self.places = [L::splat(word); 2];
        }
        let place = self.entered % PLACES;
        // A place in the one vector is none in the other.
        self.places[0] = self.places[0].with_lane(place, word);
        self.places[1] = self.places[1].with_lane(place.wrapping_sub(LANES), word);
        self.entered += 1;
        word
    }

    #[inline(always)]
    fn get(&self, place: u64) -> Result<u32, Malformed> {
        let place = place as usize % PLACES;
        if place >= self.entered {
            return Err("an empty place of the dictionary is used");
        }
        Ok(self.places[place / LANES].to_array()[place % LANES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::testing::{check, check_malformed, fields, starting_with};

    #[test]
    fn every_pattern() {
        let words = starting_with(&[0, 0xff, 0x1234_5678, 0x1234_5678, 0x1234_5600, 0x1234_0000, 0x1234_00aa]);
        let new = "00010010001101000101011001111000";
        // Places: 0 holds …5678, 1 …5600, 2 …0000. The sixth word agrees with 0 in its upper half, the seventh with 2 in three bytes.
        let code = format!(
            "00  1101 11111111  01 {new}  10 0000  1110 0000 00000000  1100 0000 0000000000000000  1110 0010 10101010 {}",
            "00".repeat(25)
        );
        check::<CPack>(words, &code);
    }

    #[test]
    fn an_empty_dictionary_matches_nothing() {
        // Its places are no zero words: 0x0000_1234 does not agree with zero in its upper half.
        check::<CPack>(starting_with(&[0x1234]), &format!("01 {:032b} {}", 0x1234, "00".repeat(31)));
    }

    #[test]
    fn the_oldest_word_goes_first() {
        // 17 new words fill the dictionary and push out the first; the third is still at place 2, the 17th at place 0.
        let new: Vec<u32> = (1..=17).map(|i| i << 16 | 0x8000).collect();
        let mut words = starting_with(&new);
        words[17..21].copy_from_slice(&[new[0], new[16], new[2], new[15]]);
        let code = fields(34, new.iter().map(|&word| 0b01 << 32 | u64::from(word)));
        // The first word is new again and takes place 1.
        let rest = format!("01 {:032b}  10 0000  10 0010  10 1111 {}", new[0], "00".repeat(11));
        check::<CPack>(words, &format!("{code} {rest}"));
    }

    #[test]
    fn malformed_codes() {
        check_malformed::<CPack>("10 0000", "an empty place of the dictionary is used");
        check_malformed::<CPack>(
            &format!("01 {} 1110 0001", "1".repeat(32)),
            "an empty place of the dictionary is used",
        );
        check_malformed::<CPack>("1111", "1111 begins no code");
    }
}
