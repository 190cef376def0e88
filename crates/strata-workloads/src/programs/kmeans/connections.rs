//! Records of network connections with the statistics of the KDD Cup of 1999, which Rodinia's inputs are taken from: 34
//! numbers each, most of them 0; a few kinds of attack that repeat nearly the same record thousands of times in
//! sequence, and normal traffic that varies.

use crate::rng::Rng;

/// Numeric features of a record.
pub(super) const FEATURES: usize = 34;

/// How records come about, and how many of a kind follow each other on average. Each kind begins equally often: the
/// lengths make the shares of the cup's "10 percent" file (57 % smurf, 22 % neptune, 20 % normal, few others).
const KINDS: [(Maker, u32); 4] = [(smurf, 1140), (neptune, 440), (normal, 400), (probe, 40)];

type Record = [f32; FEATURES];
type Maker = fn(&mut Rng) -> Record;

// Places in a record, in the order of the cup's file without its symbolic features.
const DURATION: usize = 0;
const SOURCE_BYTES: usize = 1;
const TARGET_BYTES: usize = 2;
const HOT: usize = 6;
const LOGGED_IN: usize = 8;
const COUNT: usize = 15;
const SERVICE_COUNT: usize = 16;
const ERROR_RATE: usize = 17;
const SERVICE_ERROR_RATE: usize = 18;
const REJECTED_RATE: usize = 19;
const SAME_SERVICE_RATE: usize = 21;
const OTHER_SERVICE_RATE: usize = 22;
const HOST_COUNT: usize = 24;
const HOST_SERVICE_COUNT: usize = 25;
const HOST_SAME_SERVICE_RATE: usize = 26;
const HOST_OTHER_SERVICE_RATE: usize = 27;
const HOST_SAME_PORT_RATE: usize = 28;
const HOST_ERROR_RATE: usize = 30;
const HOST_REJECTED_RATE: usize = 32;

/// `count` records, kind after kind.
pub(super) fn connections(rng: &mut Rng, count: usize) -> Vec<f32> {
    let mut records = Vec::with_capacity(count * FEATURES);
    let (mut record, mut left): (Maker, u32) = (normal, 0);
    for _ in 0..count {
        if left == 0 {
            let (kind, mean) = KINDS[rng.below(KINDS.len() as u32) as usize];
            (record, left) = (kind, 1 + rng.below(2 * mean));
        }
        left -= 1;
        records.extend(record(rng));
    }
    records
}

/// Rates have two decimals.
fn rate(rng: &mut Rng, low: u32, high: u32) -> f32 {
    (low + rng.below(high - low + 1)) as f32 / 100.0
}

/// A number of bytes from a distribution with a long tail.
fn bytes(rng: &mut Rng, typical: u32) -> f32 {
    let scale = 1 << rng.below(4);
    (typical / 4 + rng.below(typical * scale)) as f32
}

/// Echo replies of one size, as many as the counters can count.
fn smurf(rng: &mut Rng) -> Record {
    let mut record = [0.0; FEATURES];
    record[SOURCE_BYTES] = if rng.below(5) == 0 { 520.0 } else { 1032.0 };
    record[COUNT] = 511.0;
    record[SERVICE_COUNT] = 511.0;
    record[SAME_SERVICE_RATE] = 1.0;
    record[HOST_COUNT] = 255.0;
    record[HOST_SERVICE_COUNT] = 255.0;
    record[HOST_SAME_SERVICE_RATE] = 1.0;
    record[HOST_SAME_PORT_RATE] = 1.0;
    record
}

/// Half-open connections to one service after another.
fn neptune(rng: &mut Rng) -> Record {
    let mut record = [0.0; FEATURES];
    let seen = 1 + rng.below(20);
    record[COUNT] = (100 + rng.below(200)) as f32;
    record[SERVICE_COUNT] = seen as f32;
    record[ERROR_RATE] = 1.0;
    record[SERVICE_ERROR_RATE] = 1.0;
    record[SAME_SERVICE_RATE] = rate(rng, 1, 15);
    record[OTHER_SERVICE_RATE] = rate(rng, 5, 7);
    record[HOST_COUNT] = 255.0;
    record[HOST_SERVICE_COUNT] = seen as f32;
    record[HOST_SAME_SERVICE_RATE] = rate(rng, 0, 8);
    record[HOST_OTHER_SERVICE_RATE] = rate(rng, 5, 8);
    record[HOST_ERROR_RATE] = 1.0;
    record[HOST_ERROR_RATE + 1] = 1.0;
    record
}

/// Requests to a web server, mails, transfers.
fn normal(rng: &mut Rng) -> Record {
    let mut record = [0.0; FEATURES];
    let seen = 1 + rng.below(30);
    record[DURATION] = if rng.below(10) == 0 { rng.below(300) as f32 } else { 0.0 };
    record[SOURCE_BYTES] = (150 + rng.below(200)) as f32;
    record[TARGET_BYTES] = bytes(rng, 1500);
    record[HOT] = if rng.below(50) == 0 { 1.0 } else { 0.0 };
    record[LOGGED_IN] = if rng.below(10) < 7 { 1.0 } else { 0.0 };
    record[COUNT] = seen as f32;
    record[SERVICE_COUNT] = (seen + rng.below(10)) as f32;
    record[SAME_SERVICE_RATE] = 1.0;
    record[HOST_COUNT] = (1 + rng.below(255)) as f32;
    record[HOST_SERVICE_COUNT] = if rng.below(3) == 0 { rng.below(255) as f32 } else { 255.0 };
    record[HOST_SAME_SERVICE_RATE] = if rng.below(4) == 0 { rate(rng, 50, 99) } else { 1.0 };
    record[HOST_SAME_PORT_RATE] = rate(rng, 0, 10);
    record
}

/// A scan of ports that are closed.
fn probe(rng: &mut Rng) -> Record {
    let mut record = [0.0; FEATURES];
    record[COUNT] = (1 + rng.below(500)) as f32;
    record[SERVICE_COUNT] = 1.0;
    record[REJECTED_RATE] = 1.0;
    record[REJECTED_RATE + 1] = 1.0;
    record[SAME_SERVICE_RATE] = rate(rng, 0, 5);
    record[OTHER_SERVICE_RATE] = 1.0;
    record[HOST_COUNT] = 255.0;
    record[HOST_SERVICE_COUNT] = 1.0;
    record[HOST_OTHER_SERVICE_RATE] = rate(rng, 50, 100);
    record[HOST_REJECTED_RATE] = rate(rng, 80, 100);
    record[HOST_REJECTED_RATE + 1] = 1.0;
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_shares_of_the_cup_and_are_mostly_zero() {
        let count = 100_000;
        let values = connections(&mut Rng::new(1, "connections"), count);
        assert_eq!(values.len(), count * FEATURES);
        let share = |is: fn(&[f32]) -> bool| {
            values.chunks_exact(FEATURES).filter(|record| is(record)).count() as f64 / count as f64
        };
        assert!((0.4..0.7).contains(&share(|r| r[COUNT] == 511.0)));
        assert!((0.1..0.35).contains(&share(|r| r[ERROR_RATE] == 1.0)));
        assert!((0.1..0.35).contains(&share(|r| r[TARGET_BYTES] > 0.0)));
        let zeros = values.iter().filter(|value| **value == 0.0).count() as f64 / values.len() as f64;
        assert!((0.6..0.85).contains(&zeros), "{zeros}");
    }
}
