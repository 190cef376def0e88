//! What a model takes in memory, counted as the prefetching paper counts it in Tables 6 and 7: parameters, and the outputs of all
//! modules for a batch of 128, forward and backward (`torchinfo.summary`).

use crate::model::Model;
use crate::quantise::Precision;
use crate::train::BATCH;

/// Bytes of the parameters.
pub fn parameters_bytes(model: &Model, precision: Precision) -> u64 {
    (model.parameters().len() as u64 * precision.bits()).div_ceil(8)
}

/// Bytes of the activations of a batch.
pub fn activations_bytes(model: &Model, precision: Precision) -> u64 {
    (2 * BATCH as u64 * model.activations() * precision.bits()).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Vocabularies;
    use crate::spec::{Kind, Spec};
    use crate::vocabulary::Vocabulary;

    fn revised(values: i64, pcs: i64) -> Model {
        let words = |count: i64| Vocabulary::from((1..count).collect::<Vec<_>>());
        let task = Kind::Revised.task(1);
        let words = Vocabularies { features: vec![words(values), words(pcs)], labels: words(values) };
        Model::new(Spec::new(Kind::Revised, &task, &words))
    }

    /// Table 7 is in eighths of what torchinfo prints in MB with two digits; so a row allows a few vocabulary sizes, and one of
    /// these must give both of its columns, which tells that the shape is the paper's.
    #[test]
    fn table_7_follows_from_the_vocabulary_sizes() {
        // Program, MB of parameters and of activations, and the size that gives them (ours: the paper prints none).
        let rows = [
            ("AddVectors", 0.0175, 4.30, 24),
            ("ATAX", 0.0775, 4.34, 351),
            ("Backprop", 0.77, 4.83, 4125),
            ("BICG", 0.03125, 4.31, 99),
            ("Hotspot", 0.0475, 4.32, 187),
            ("MVT", 0.07625, 4.34, 344),
            ("NW", 0.25, 4.46, 1291),
            ("Pathfinder", 0.02875, 4.31, 85),
            ("Srad-v2", 0.0375, 4.31, 133),
        ];
        for (program, parameters, activations, values) in rows {
            let model = revised(values, 10);
            let ours = parameters_bytes(&model, Precision::FourBit) as f64 / 1e6;
            assert!((ours - parameters).abs() < 0.005 / 8.0 + 1e-9, "{program}: {ours} MB of parameters");
            let ours = activations_bytes(&model, Precision::FourBit) as f64 / 1e6;
            assert!((ours - activations).abs() < 0.011, "{program}: {ours} MB of activations");
        }
    }

    #[test]
    fn a_revised_predictor_takes_at_most_six_megabytes() {
        let model = revised(4125, 10);
        let all = parameters_bytes(&model, Precision::FourBit) + activations_bytes(&model, Precision::FourBit);
        assert!(all <= 6_000_000, "{all}");
    }
}
