//! Sequences that each model learns from in a second, on one core and on two, and multiplications for them: three times those
//! of a prediction, since gradients by weights and by inputs cost as much again each.
//!
//! `cargo bench -p strata-learn --bench training`

use std::time::Instant;
use strata_learn::access::Access;
use strata_learn::dataset::{Dataset, Protocol};
use strata_learn::model::Model;
use strata_learn::random::Random;
use strata_learn::spec::{Kind, Spec};
use strata_learn::train::{Plan, State, train};

const SEQUENCES: usize = 1000;

fn main() {
    let mut random = Random::new(1);
    let mut page = 0u64;
    let mut request = |k: u64| {
        page += random.below(40) as u64;
        Access { cycle: k, warp: k as u32 % 4, pc: random.below(20) as u32 * 8, page: page << 12, ..Access::default() }
    };
    let accesses: Vec<Access> = (0..20_000).map(&mut request).collect();
    println!("model       threads  sequences per second  multiplications per nanosecond");
    for kind in Kind::ALL {
        let data = Dataset::new(&accesses, kind.task(1)).expect("long enough");
        let split = data.split(Protocol::Paper, 1, SEQUENCES);
        let words = data.vocabularies(data.samples(), 1000);
        for threads in [1, 2] {
            let mut model = Model::new(Spec::new(kind, data.task(), &words));
            let (plan, mut state) = (Plan { epochs: 1, threads, ..Plan::default() }, State::new(&model));
            let begin = Instant::now();
            train(&mut model, (&data, &split, &words), &plan, &mut state, &mut |_| (), &mut |_, _| ());
            // Validation goes forwards only.
            let passes = split.train.len() as f64 + split.validate.len() as f64 / 3.0;
            let per_second = passes / begin.elapsed().as_secs_f64();
            let multiplications = 3.0 * model.multiplications() as f64 * per_second / 1e9;
            println!("{:11} {threads:7} {per_second:21.0} {multiplications:31.1}", kind.name());
        }
    }
}
