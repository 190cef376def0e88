//! scratch
use strata_learn::{
    checkpoint::*, dataset::*, inference::*, model::*, quantise::Precision, random::Random, spec::*, vocabulary::*,
};
fn main() {
    let only = std::env::args().nth(1);
    for kind in [Kind::Distilled, Kind::Revised] {
        if only.as_ref().is_some_and(|o| o != kind.name()) {
            continue;
        }
        for v in [30, 100, 300, 1000, 4000] {
            let task = kind.task(1);
            let vocab: Vocabulary = (0..v as i64).collect::<Vec<_>>().into();
            let pcs: Vocabulary = (0..20i64).collect::<Vec<_>>().into();
            let words = Vocabularies { features: vec![vocab.clone(), pcs], labels: vocab };
            let model = Model::new(Spec::new(kind, &task, &words));
            let m = model.multiplications();
            let mut r = Random::new(1);
            let ids: Vec<u32> = (0..100 * 30).flat_map(|_| [r.below(v) as u32, r.below(20) as u32]).collect();
            let mut p =
                Predictor::new(Trained { task, words, model, precision: Precision::FourBit, origin: String::new() });
            println!(
                "{} {v} mults {m} {:?}",
                kind.name(),
                p.latency(&ids, 60, if kind == Kind::Distilled { 2000 } else { 20 })
            );
        }
    }
}
