//! The shapes of models.
//!
//! Where the prefetching paper is silent: 8 heads, a feed-forward layer of 1024 and one linear layer from all 30 tokens to the
//! classes follow from the sizes of its Tables 6 and 7 (see `memory`); widths of features are a choice that sums to its 200.

use crate::access::{Cluster, Feature, Unit};
use crate::dataset::{HISTORY, Task, Vocabularies};
use crate::layers::{ALIKE, UNLIKE};
use serde::{Deserialize, Serialize};

/// What a model is built of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The paper's unconstrained Transformer (section 4).
    Transformer,
    /// The paper's revised predictor (section 6).
    Revised,
    /// The revised predictor made smaller: its last token alone is classified, after a small feed-forward layer.
    Distilled,
    /// Long short-term memory.
    Lstm,
    /// Two convolutions.
    Cnn,
    /// Two hidden layers.
    Mlp,
    /// One fully connected layer.
    Linear,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Transformer, Self::Revised, Self::Distilled, Self::Lstm, Self::Cnn, Self::Mlp, Self::Linear];

    /// Its name in tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transformer => "transformer",
            Self::Revised => "revised",
            Self::Distilled => "distilled",
            Self::Lstm => "lstm",
            Self::Cnn => "cnn",
            Self::Mlp => "mlp",
            Self::Linear => "linear",
        }
    }

    /// What the paper gives it to predict from.
    pub fn task(self, distance: usize) -> Task {
        let (cluster, features) = match self {
            Self::Transformer => (Cluster::Sm, Feature::ALL.to_vec()),
            Self::Revised | Self::Distilled => (Cluster::SmWarp, vec![Feature::PageDelta, Feature::Pc]),
            // Figure 9 does not say; they get the tokens of the revised predictor and the clusters of the Transformer.
            _ => (Cluster::Sm, vec![Feature::PageDelta, Feature::Pc]),
        };
        Task { cluster, features, distance, unit: Unit::Page, least: HISTORY, shuffled: false }
    }

    /// Numbers of a token.
    fn width(self) -> usize {
        match self {
            Self::Transformer => 200,
            Self::Revised | Self::Distilled => 12,
            _ => 32,
        }
    }
}

/// How hashing thins attention.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hlsh {
    /// As Algorithm 1 is written: tokens meet themselves.
    pub literal: bool,
    /// Nobody attends to erased tokens; as written, their logits are 0.
    pub masks: bool,
    /// HBOT as a share of the rounds.
    pub alike: f32,
    /// HTOP as a share of the rounds.
    pub unlike: f32,
}

impl Default for Hlsh {
    fn default() -> Self {
        Self { literal: false, masks: false, alike: ALIKE, unlike: UNLIKE }
    }
}

/// The shape of a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// What it is built of.
    pub kind: Kind,
    /// For each feature: its name, how many values it has, and how many numbers stand for one.
    pub features: Vec<(Feature, usize, usize)>,
    /// Classes, the unknown included.
    pub classes: usize,
    /// Encoder layers.
    pub layers: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Hidden numbers of feed-forward layers.
    pub hidden: usize,
    /// Attention is thinned.
    pub hlsh: Option<Hlsh>,
    /// Encoder layers are left out, because deltas have converged.
    pub bypass: bool,
    /// Activations and weights are held in [-8, 8].
    pub clamps: bool,
    /// Seed of its first parameters and of hashing.
    pub seed: u64,
}

impl Spec {
    /// The paper's shape of a kind, for these vocabularies.
    pub fn new(kind: Kind, task: &Task, words: &Vocabularies) -> Self {
        let widths = widths(&task.features, kind.width());
        let features = task.features.iter().zip(&words.features).zip(widths);
        let encoder = matches!(kind, Kind::Transformer | Kind::Revised);
        Self {
            kind,
            features: features.map(|((&feature, words), width)| (feature, words.size(), width)).collect(),
            classes: words.labels.size(),
            layers: if kind == Kind::Transformer { 2 } else { 1 },
            heads: if kind == Kind::Transformer { 8 } else { 1 },
            hidden: if encoder { 1024 } else { SMALL },
            hlsh: (kind == Kind::Revised).then(Hlsh::default),
            bypass: false,
            clamps: false,
            seed: 1,
        }
    }

    /// Numbers of a token.
    pub fn width(&self) -> usize {
        self.features.iter().map(|(_, _, width)| width).sum()
    }

    /// Fewer parameters than this no model of the shape has: its embeddings, its classes and one of its hidden layers.
    pub(crate) fn least_parameters(&self) -> u128 {
        let product = |a: usize, b: usize| a as u128 * b as u128;
        let embeddings: u128 = self.features.iter().map(|&(_, size, width)| product(size, width)).sum();
        let (into_classes, hidden) = match self.kind {
            Kind::Transformer | Kind::Revised if self.bypass => (HISTORY * self.width(), 0),
            Kind::Transformer | Kind::Revised => (HISTORY * self.width(), product(self.width(), self.hidden)),
            Kind::Distilled => (self.width(), product(self.width(), self.hidden)),
            Kind::Lstm => (4 * self.hidden, 16 * product(self.hidden, self.hidden)),
            Kind::Cnn => (HISTORY * self.hidden, product(self.hidden, self.hidden)),
            Kind::Mlp => (8 * self.hidden, 64 * product(self.hidden, self.hidden)),
            Kind::Linear => (HISTORY * self.width(), 0),
        };
        embeddings + product(into_classes, self.classes) + hidden
    }
}

/// Hidden numbers of the other kinds (choice).
const SMALL: usize = 32;

/// `total` numbers shared out among features: more for those that the paper found to carry the knowledge (section 5.3).
fn widths(features: &[Feature], total: usize) -> Vec<usize> {
    let weight = |feature: &Feature| match (feature, total) {
        // The revised predictor has 6 and 6, and so has the distilled one whatever its two features.
        (_, 12) => 1,
        (Feature::PageDelta, _) => 48,
        (Feature::Page, _) => 32,
        (Feature::Pc, _) => 24,
        (Feature::Block | Feature::Root, _) => 16,
        (Feature::BlockDelta | Feature::RootDelta, _) => 12,
        (Feature::Hit | Feature::Tpc, _) => 4,
        _ => 8,
    };
    let all: usize = features.iter().map(weight).sum();
    let mut widths: Vec<usize> = features.iter().map(|feature| weight(feature) * total / all).collect();
    let given: usize = widths.iter().sum();
    if let Some(first) = widths.first_mut() {
        *first += total - given;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_sum_to_the_papers() {
        assert_eq!(widths(&Feature::ALL, 200), [48, 24, 32, 16, 16, 12, 12, 8, 4, 8, 8, 4, 8]);
        assert_eq!(widths(&[Feature::PageDelta, Feature::Pc], 12), [6, 6]);
        assert_eq!(widths(&[Feature::RootDelta, Feature::Hit], 12), [6, 6]);
        assert_eq!(widths(&[Feature::Cta], 200), [200]);
        assert_eq!(widths(&[Feature::PageDelta, Feature::Pc], 32).iter().sum::<usize>(), 32);
    }
}
