//! Nanoseconds of one prediction by the size of the vocabulary, for the paper's shape and the distilled one, beside the arithmetic
//! bound of this kind of processor: two products and two sums of eight numbers in a cycle, here of 3 GHz.
//!
//! `cargo bench -p strata-learn --bench latency`

use strata_learn::checkpoint::Trained;
use strata_learn::dataset::{HISTORY, Vocabularies};
use strata_learn::inference::Predictor;
use strata_learn::model::Model;
use strata_learn::quantise::Precision;
use strata_learn::random::Random;
use strata_learn::spec::{Kind, Spec};
use strata_learn::vocabulary::Vocabulary;

/// Multiplications in a nanosecond, at most.
const BOUND: f64 = 16.0 * 3.0;
const PCS: usize = 20;

fn main() {
    println!("model       classes  multiplications  bound ns   p50 ns   p90 ns   p99 ns  per second");
    for (kind, rounds) in [(Kind::Distilled, 2000), (Kind::Revised, 20)] {
        for classes in [30, 100, 300, 1000, 4000] {
            let task = kind.task(1);
            let words = |count: usize| Vocabulary::from((1..count as i64).collect::<Vec<_>>());
            let words = Vocabularies { features: vec![words(classes), words(PCS)], labels: words(classes) };
            let model = Model::new(Spec::new(kind, &task, &words));
            let multiplications = model.multiplications();
            let mut random = Random::new(1);
            let mut token = || [random.below(classes) as u32, random.below(PCS) as u32];
            let ids: Vec<u32> = (0..100 * HISTORY).flat_map(|_| token()).collect();
            let trained = Trained { task, words, model, precision: Precision::FourBit, origin: String::new() };
            let latency = Predictor::new(trained).latency(&ids, 2 * HISTORY, rounds);
            println!(
                "{:10} {classes:8} {multiplications:16} {:9.0} {:8} {:8} {:8} {:11}",
                kind.name(),
                multiplications as f64 / BOUND,
                latency.p50,
                latency.p90,
                latency.p99,
                latency.per_second
            );
        }
    }
}
