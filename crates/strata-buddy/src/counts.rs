//! What is counted of data: sizes of entries, values of bytes.

use crate::{EntryState, Histogram};
use strata_codec::{Codec, ENTRY_BYTES, Entry, SizeClasses};

/// Entries that so many bytes fill, the last perhaps in part.
pub const fn entries(bytes: u64) -> u64 {
    bytes.div_ceil(ENTRY_BYTES as u64)
}

/// The sizes in which ratios are counted.
pub const CLASSES: SizeClasses = SizeClasses::IDEAL;

/// The entries of a tensor or of an allocation, compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorCounts {
    /// Entries.
    pub entries: u64,
    /// Bytes that they take with each codec of [`Codec::ALL`]; 0 for one that was not asked for.
    stored: [u64; Codec::ALL.len()],
    /// Entries of each size of the ideal study, with BPC.
    pub sizes: [u64; CLASSES.all().len()],
    /// Entries in each state of Buddy Compression, with BPC.
    pub states: Histogram,
}

impl TensorCounts {
    /// Counts entries: with BPC always, with other codecs if they are asked for. `each` hears the size of every entry.
    pub fn count(&mut self, entries: &[Entry], codecs: &[Codec], mut each: impl FnMut(usize, u16)) {
        self.entries += entries.len() as u64;
        for (index, entry) in entries.iter().enumerate() {
            let size = Codec::Bpc.size(entry);
            let class = CLASSES.index(size);
            self.sizes[class] += 1;
            self.stored[Codec::Bpc as usize] += u64::from(CLASSES.all()[class]);
            self.states.add(EntryState::of(size), 1);
            each(index, CLASSES.all()[class]);
        }
        for codec in codecs.iter().filter(|codec| **codec != Codec::Bpc) {
            let bytes = entries.iter().map(|entry| u64::from(CLASSES.bytes(codec.size(entry)))).sum::<u64>();
            self.stored[*codec as usize] += bytes;
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        self.entries += other.entries;
        self.states.merge(&other.states);
        let counts = self.stored.iter_mut().chain(&mut self.sizes);
        counts.zip(other.stored.iter().chain(&other.sizes)).for_each(|(count, more)| *count += more);
    }

    /// Bytes of the entries for each byte stored; `None` if nothing is stored, for there is nothing or it is all zero.
    pub fn ratio(&self, codec: Codec) -> Option<f64> {
        let stored = self.stored[codec as usize];
        (stored > 0).then(|| (self.entries * ENTRY_BYTES as u64) as f64 / stored as f64)
    }
}

/// How often each value of a byte occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteCounts([u64; 256]);

impl Default for ByteCounts {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl ByteCounts {
    /// Counts bytes, at most 2^32 at a time.
    pub fn count(&mut self, bytes: &[u8]) {
        // Four tables: the next byte is often the same, and would wait for the count of the one before.
        let mut tables = [[0u32; 256]; 4];
        let (fours, rest) = bytes.as_chunks::<4>();
        for four in fours {
            for (table, byte) in tables.iter_mut().zip(four) {
                table[usize::from(*byte)] += 1;
            }
        }
        for byte in rest {
            tables[0][usize::from(*byte)] += 1;
        }
        for table in tables {
            self.0.iter_mut().zip(table).for_each(|(count, more)| *count += u64::from(more));
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
    }

    fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The share of bytes that are zero.
    pub fn zero_share(&self) -> f64 {
        self.0[0] as f64 / self.total().max(1) as f64
    }

    /// Shannon's entropy of a byte, in bits, each byte for itself; to six decimals.
    pub fn entropy(&self) -> f64 {
        let total = self.total();
        if total == 0 {
            return 0.0;
        }
        let own: f64 = self.0.iter().filter(|&&count| count > 0).map(|&count| count as f64 * log2(count)).sum();
        let entropy = log2(total) - own / total as f64;
        ((entropy * 1e6).round() / 1e6).max(0.0)
    }
}

/// The logarithm of a number that is not 0, to 2^-40. The mathematics library's differs from machine to machine.
fn log2(number: u64) -> f64 {
    let exponent = number.ilog2();
    let (mut logarithm, mut step) = (f64::from(exponent), 1.0);
    let mut rest = number as f64 / (1u64 << exponent) as f64;
    for _ in 0..40 {
        step /= 2.0;
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            logarithm += step;
        }
    }
    logarithm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_ten_digits() {
        for number in [1, 2, 3, 10, 255, 1 << 40, u64::MAX] {
            assert!((log2(number) - (number as f64).log2()).abs() < 1e-10, "{number}");
        }
    }

    #[test]
    fn entropy_is_the_bits_of_a_byte() {
        let check = |bytes: &[u8], zeros: f64, entropy: f64| {
            let mut counts = ByteCounts::default();
            counts.count(bytes);
            assert_eq!((counts.zero_share(), counts.entropy()), (zeros, entropy), "{bytes:?}");
        };
        check(&[], 0.0, 0.0);
        check(&[7; 1001], 0.0, 0.0);
        check(&[0, 1, 0, 1, 0, 1], 0.5, 1.0);
        check(&(0..=255).collect::<Vec<_>>(), 1.0 / 256.0, 8.0);
        check(&[0, 0, 1], 2.0 / 3.0, 0.918_296);
    }

    #[test]
    fn every_codec_has_its_place() {
        assert!(Codec::ALL.iter().enumerate().all(|(index, codec)| *codec as usize == index));
    }

    #[test]
    fn a_ratio_is_of_whole_entries() {
        let mut counts = TensorCounts::default();
        let mut entry = [0; ENTRY_BYTES];
        entry[..8].copy_from_slice(&7u64.to_le_bytes());
        counts.count(&[entry, [0; ENTRY_BYTES]], &[Codec::ZeroValue], |_, _| ());
        assert_eq!((counts.entries, counts.sizes[0], counts.sizes[1]), (2, 1, 1));
        assert_eq!(counts.ratio(Codec::Bpc), Some(32.0));
        assert_eq!(counts.ratio(Codec::ZeroValue), Some(32.0));
        assert_eq!(counts.ratio(Codec::Fpc), None);
    }
}
