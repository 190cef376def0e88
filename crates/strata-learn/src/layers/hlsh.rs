//! Which tokens Hamming-based locality-sensitive hashing leaves in attention (prefetching paper, Algorithm 1).
//!
//! Taken literally, a token that is in the sample meets itself at distance 0, its geometric mean is 0 and it is erased as a
//! copy: half of all tokens go. So a token is left out of its own sample, and the mean is that of distance + 1, less 1; the
//! literal form is an option. Means are compared as products, which needs no root.

use crate::random::Random;

/// Rounds of hashing, and buckets of each (choice: the paper gives neither).
pub(crate) const ROUNDS: usize = 8;
const BUCKETS: usize = 8;
/// Below this share of the rounds tokens are alike, above that share a token is unlike all others (section 5.4).
pub(crate) const ALIKE: f32 = 0.1;
pub(crate) const UNLIKE: f32 = 0.9;

/// What becomes of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Role {
    /// Its products are computed.
    #[default]
    Kept,
    /// Unlike all others: its query and key are zeros.
    Erased,
    /// Like the base, the first such token: erased, and the base's logits are copied to it.
    Copied(u8),
}

pub(crate) struct Hashing {
    tokens: usize,
    width: usize,
    /// For each round, half as many directions as there are buckets: the other half are their opposites (Reformer).
    directions: Vec<f32>,
    /// Half of the tokens, chosen once: the same for every sequence, so that a prediction does not depend on a batch.
    sample: Vec<usize>,
    literal: bool,
    alike: f64,
    unlike: f64,
}

impl Hashing {
    pub(crate) fn new(tokens: usize, width: usize, seed: u64, literal: bool, thresholds: (f32, f32)) -> Self {
        let mut random = Random::new(seed ^ 0x004c_5348);
        let mut sample: Vec<usize> = (0..tokens).collect();
        random.shuffle(&mut sample);
        sample.truncate(tokens / 2);
        sample.sort_unstable();
        let directions = (0..ROUNDS * BUCKETS / 2 * width).map(|_| random.normal()).collect();
        let of_rounds = |share: f32| f64::from(share) * ROUNDS as f64;
        Self {
            tokens,
            width,
            directions,
            sample,
            literal,
            alike: of_rounds(thresholds.0),
            unlike: of_rounds(thresholds.1),
        }
    }

    /// Multiplications of hashing one sequence.
    pub(crate) fn multiplications(&self) -> u64 {
        (self.tokens * self.directions.len()) as u64
    }

    fn hash(&self, x: &[f32]) -> [u8; ROUNDS] {
        let mut buckets = [0; ROUNDS];
        for (bucket, directions) in buckets.iter_mut().zip(self.directions.chunks_exact(BUCKETS / 2 * self.width)) {
            let mut most = f32::NEG_INFINITY;
            for (k, direction) in directions.chunks_exact(self.width).enumerate() {
                let along: f32 = direction.iter().zip(x).map(|(d, x)| d * x).sum();
                for (value, id) in [(along, k), (-along, k + BUCKETS / 2)] {
                    if value > most {
                        (most, *bucket) = (value, id as u8);
                    }
                }
            }
        }
        buckets
    }

    /// The roles of the tokens of one sequence, whose queries (and keys) are rows of `x`.
    pub(crate) fn roles(&self, x: &[f32], roles: &mut Vec<Role>) {
        let mut hashes = [[0u8; ROUNDS]; 64];
        for (hash, token) in hashes.iter_mut().zip(x.chunks_exact(self.width)) {
            *hash = self.hash(token);
        }
        let mut base = None;
        for token in 0..self.tokens {
            let (mut product, mut alike, mut unlike) = (1.0f64, 1.0f64, 1.0f64);
            for &other in &self.sample {
                if other == token && !self.literal {
                    continue;
                }
                let distance = hashes[token].iter().zip(&hashes[other]).filter(|(a, b)| a != b).count() as f64;
                let above = if self.literal { 0.0 } else { 1.0 };
                product *= distance + above;
                alike *= self.alike + above;
                unlike *= self.unlike + above;
            }
            roles.push(match (product >= unlike, product <= alike, base) {
                (true, ..) => Role::Erased,
                (_, true, Some(base)) => Role::Copied(base),
                (_, true, None) => {
                    base = Some(token as u8);
                    Role::Kept
                }
                _ => Role::Kept,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(tokens: &[[f32; 4]], literal: bool) -> Vec<Role> {
        let hashing = Hashing::new(tokens.len(), 4, 1, literal, (ALIKE, UNLIKE));
        let mut roles = Vec::new();
        hashing.roles(tokens.as_flattened(), &mut roles);
        roles
    }

    #[test]
    fn equal_tokens_are_copies_of_the_first() {
        let found = roles(&[[0.3, -1.0, 2.0, 0.1]; 10], false);
        assert_eq!(found[0], Role::Kept);
        assert!(found[1..].iter().all(|role| *role == Role::Copied(0)), "{found:?}");
    }

    #[test]
    fn taken_literally_half_of_different_tokens_go() {
        let mut random = Random::new(3);
        let tokens: Vec<[f32; 4]> = (0..30).map(|_| [0; 4].map(|_: i32| random.normal())).collect();
        let gone = |literal| roles(&tokens, literal).iter().filter(|role| **role != Role::Kept).count();
        assert!(gone(true) >= 14, "{}", gone(true));
        assert!(gone(false) <= 5, "{}", gone(false));
    }

    #[test]
    fn a_token_like_no_other_is_erased() {
        // Eleven tokens in one direction, and the opposite one: it shares no bucket with any of them.
        let mut tokens = [[1.0, 0.5, 0.0, 0.2]; 12];
        tokens[7] = tokens[0].map(|x| -x);
        assert_eq!(roles(&tokens, false)[7], Role::Erased);
    }
}
