//! Numbers held between two bounds, as the prefetching paper does with all activations and their gradients (section 6).

use super::{Back, Layer, Saved};
use crate::matrix::Packed;

/// The paper's bounds: -8 and 8.
pub(crate) const BOUND: f32 = 8.0;

pub(crate) struct Clamp(pub(crate) usize);

impl Layer for Clamp {
    fn input(&self) -> usize {
        self.0
    }

    fn output(&self) -> usize {
        self.0
    }

    fn forward(&self, _: &[f32], x: &[f32], y: &mut Vec<f32>, _: &mut Saved, _: &mut Packed) {
        y.clear();
        y.extend(x.iter().map(|x| x.clamp(-BOUND, BOUND)));
    }

    fn backward(&self, _: &[f32], back: Back<'_>, _: &mut Saved, _: &mut Packed) {
        back.dx.clear();
        let inside = |x: f32| x.abs() < BOUND;
        back.dx
            .extend(back.x.iter().zip(back.dy).map(|(x, dy)| if inside(*x) { dy.clamp(-BOUND, BOUND) } else { 0.0 }));
    }

    fn multiplications(&self) -> u64 {
        0
    }

    fn activations(&self) -> u64 {
        0
    }
}
