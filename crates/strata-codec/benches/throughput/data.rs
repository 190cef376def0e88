//! Data to compress: made from a seed, of the kinds that GPU programs keep; or read from a file.

use strata_codec::{ENTRY_BYTES, Entry};

/// Bytes of each kind.
const BYTES: usize = 1 << 20;

/// One kind of data, in whole entries.
pub(crate) struct Data {
    pub(crate) name: String,
    bytes: Vec<u8>,
}

impl Data {
    fn new(name: &str, mut bytes: Vec<u8>) -> Self {
        bytes.truncate(bytes.len() / ENTRY_BYTES * ENTRY_BYTES);
        assert!(!bytes.is_empty(), "{name} has not one entry of {ENTRY_BYTES} bytes");
        Self { name: name.to_owned(), bytes }
    }

    pub(crate) fn read(path: &str) -> Self {
        Self::new(path, std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}")))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        self.bytes.as_chunks().0
    }
}

/// Uniform numbers of 32 bits (a linear congruential generator's upper half).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }

    /// In 0 to 1.
    fn unit(&mut self) -> f64 {
        f64::from(self.next()) / f64::from(u32::MAX)
    }

    /// Nearly normal: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

fn words(name: &str, mut word: impl FnMut(usize) -> u32) -> Data {
    Data::new(name, (0..BYTES / 4).flat_map(|i| word(i).to_le_bytes()).collect())
}

/// All kinds.
pub(crate) fn kinds() -> Vec<Data> {
    let mut random = Random(1);
    let mut column = 0u32;
    let wave = |i: usize| (i as f64 * 0.001).sin() * 300.0 + 320.0;
    vec![
        words("mostly zero", |_| if random.next() >> 26 == 0 { random.next() >> 20 } else { 0 }),
        words("small integers", |_| (random.next() as i32 >> 25) as u32),
        words("column indices", |i| {
            column = if i % 64 == 0 { random.next() >> 20 } else { column + 1 + (random.next() >> 28) };
            column
        }),
        words("smooth f32", |i| (wave(i) as f32).to_bits()),
        words("smooth f64", |i| (wave(i / 2).to_bits() >> (i % 2 * 32)) as u32),
        words("weights f32", |_| (random.normal() as f32 * 0.02).to_bits()),
        words("activations", |_| (random.normal() as f32).max(0.0).to_bits()),
        words("random", |_| random.next()),
    ]
}
