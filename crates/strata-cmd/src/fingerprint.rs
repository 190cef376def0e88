//! Fingerprints of a block's masked sectors.
//!
//! What a fingerprint costs in time is the machine's business; here it is a number. MD5 is trusted by CMD: equal
//! fingerprints mean equal blocks. The simulation may use xxh3 in its place, which is some forty times faster: the hash
//! store keeps the bytes of its entries, so that a collision of the simulation's own key is no match and can corrupt nothing.

use md5::{Digest, Md5};
use strata_core::SECTOR_BYTES;
use strata_sim::cache::SectorMask;
use strata_sim::seam::Line;

/// A function of a mask and of the sectors that it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fingerprint {
    /// MD5, 16 bytes.
    Md5,
    /// 128-bit xxh3 in place of MD5.
    Xxh3,
    /// CRC-32, 4 bytes.
    Crc,
    /// The check bits of a SEC-DED code over each 8 bytes, 8 bytes in all (ESD).
    Ecc,
    /// The first byte alone: collides at once.
    #[cfg(test)]
    FirstByte,
}

impl Fingerprint {
    /// Of the sectors `mask` of a line.
    pub fn of(self, mask: SectorMask, data: &Line) -> u128 {
        let line = &masked(mask, data);
        match self {
            Self::Md5 => {
                let digest = Md5::new().chain_update([mask.0]).chain_update(line).finalize();
                u128::from_le_bytes(digest.into())
            }
            Self::Xxh3 => xxhash_rust::xxh3::xxh3_128_with_seed(line, u64::from(mask.0)),
            Self::Crc => {
                let mut crc = crc32fast::Hasher::new();
                crc.update(&[mask.0]);
                crc.update(line);
                u128::from(crc.finalize())
            }
            Self::Ecc => u128::from(ecc(line) ^ u64::from(mask.0)),
            #[cfg(test)]
            Self::FirstByte => u128::from(line[0]),
        }
    }

    /// Bytes of it in an entry of the hash store.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Md5 | Self::Xxh3 => 16,
            Self::Crc => 4,
            Self::Ecc => 8,
            #[cfg(test)]
            Self::FirstByte => 1,
        }
    }
}

/// The line with zeros outside the mask.
pub(crate) fn masked(mask: SectorMask, data: &Line) -> Line {
    let mut line = *data;
    for (k, sector) in line.chunks_exact_mut(SECTOR_BYTES as usize).enumerate() {
        if mask.0 >> k & 1 == 0 {
            sector.fill(0);
        }
    }
    line
}

/// The word that all words of the masked sectors are equal to.
pub fn repeated_word(mask: SectorMask, data: &Line) -> Option<u32> {
    let first = mask.0.trailing_zeros() as usize * SECTOR_BYTES as usize;
    let word: [u8; 4] = data.get(first..first + 4)?.try_into().ok()?;
    let pattern = u64::from_le_bytes([word, word].concat().try_into().ok()?);
    let sectors = data.chunks_exact(SECTOR_BYTES as usize).enumerate().filter(|(k, _)| mask.0 >> k & 1 != 0);
    for (_, sector) in sectors {
        let equal = |pair: &[u8]| pair.try_into().is_ok_and(|pair| u64::from_le_bytes(pair) == pattern);
        if !sector.chunks_exact(8).all(equal) {
            return None;
        }
    }
    Some(u32::from_le_bytes(word))
}

/// Check bytes of the Hamming code of 8 data bytes: seven parities over the positions of its ones and one over all bits. A
/// line of 128 bytes has sixteen of them; the two halves are put together by exclusive-or, so that the fingerprint has the
/// 8 bytes of a 64-byte line.
fn ecc(line: &Line) -> u64 {
    let mut check = [0u8; 8];
    for (k, word) in line.chunks_exact(8).enumerate() {
        let word = word.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        let parity = |mask: u64| (word & mask).count_ones() & 1;
        let hamming = PARITY_MASKS.iter().enumerate().fold(0, |byte, (bit, &mask)| byte | parity(mask) << bit);
        check[k % 8] ^= (hamming | parity(u64::MAX) << 7) as u8;
    }
    u64::from_le_bytes(check)
}

/// Data bits that each parity covers: those whose position in the code word has the parity's bit.
const PARITY_MASKS: [u64; 7] = parity_masks();

const fn parity_masks() -> [u64; 7] {
    let mut masks = [0; 7];
    // Positions that are powers of two belong to the parities themselves.
    let (mut position, mut bit) = (1u32, 0);
    while bit < 64 {
        if !position.is_power_of_two() {
            let mut parity = 0;
            while parity < 7 {
                if position >> parity & 1 != 0 {
                    masks[parity] |= 1 << bit;
                }
                parity += 1;
            }
            bit += 1;
        }
        position += 1;
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REAL: [Fingerprint; 4] = [Fingerprint::Md5, Fingerprint::Xxh3, Fingerprint::Crc, Fingerprint::Ecc];

    #[test]
    fn md5_is_md5() {
        // RFC 1321's "a" is no line; so the digest of the mask and 128 zeros, as `md5sum` gives it.
        let expected = 0x07b6_6eb0_f49e_4372_5098_3b9b_4696_ba65;
        assert_eq!(Fingerprint::Md5.of(SectorMask::ALL, &[0; 128]).swap_bytes(), expected);
    }

    proptest! {
        #[test]
        fn only_masked_sectors_count(mask in 1u8..16, data in any::<[u8; 32]>(), at in 0usize..128) {
            let line: Line = std::array::from_fn(|k| data[k % 32]);
            let mut other = line;
            other[at] ^= 0x10;
            let inside = mask >> (at / 32) & 1 != 0;
            for fingerprint in REAL {
                let (a, b) = (fingerprint.of(SectorMask(mask), &line), fingerprint.of(SectorMask(mask), &other));
                // A single changed bit never escapes any of them.
                prop_assert_eq!(a != b, inside, "{:?}", fingerprint);
            }
        }

        #[test]
        fn words_repeat_or_not(mask in 1u8..16, word in any::<u32>(), at in 0usize..32) {
            let mut line: Line = [0; 128];
            line.chunks_exact_mut(4).for_each(|w| w.copy_from_slice(&word.to_le_bytes()));
            prop_assert_eq!(repeated_word(SectorMask(mask), &line), Some(word));
            line[4 * at] ^= 1;
            let inside = mask >> (at / 8) & 1 != 0;
            let alone = inside && repeated_word(SectorMask(mask), &line).is_none();
            prop_assert_eq!(alone, inside);
        }
    }

    #[test]
    fn masks_tell_equal_bytes_apart() {
        for fingerprint in REAL {
            let of = |mask| fingerprint.of(SectorMask(mask), &[0; 128]);
            assert_ne!(of(0b0011), of(0b0001), "{fingerprint:?}");
        }
    }
}
