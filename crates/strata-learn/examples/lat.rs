//! scratch
use strata_learn::{dataset::*, model::*, spec::*, checkpoint::*, inference::*, quantise::Precision, vocabulary::*, random::Random};
fn main() {
    for kind in [Kind::Distilled, Kind::Revised] { for v in [30, 100, 300, 1000, 4000] {
        let task = kind.task(1);
        let vocab: Vocabulary = (0..v as i64).collect::<Vec<_>>().into();
        let pcs: Vocabulary = (0..20i64).collect::<Vec<_>>().into();
        let words = Vocabularies { features: vec![vocab.clone(), pcs], labels: vocab };
        let model = Model::new(Spec::new(kind, &task, &words));
        let m = model.multiplications();
        let mut r = Random::new(1);
        let ids: Vec<u32> = (0..100*30).flat_map(|_| [r.below(v) as u32, r.below(20) as u32]).collect();
        let mut p = Predictor::new(Trained { task, words, model, precision: Precision::FourBit, origin: String::new() });
        println!("{} {v} mults {m} {:?}", kind.name(), p.latency(&ids, 60, if kind == Kind::Distilled { 200 } else { 20 }));
    }}
}
