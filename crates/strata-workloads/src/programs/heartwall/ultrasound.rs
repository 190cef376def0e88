//! Pictures of a beating heart as ultrasound shows it.

use crate::math::sin_pi;
use crate::rng::Rng;

/// A frame: grey levels, row by row.
pub(super) struct Picture {
    side: usize,
    pub(super) pixels: Vec<f32>,
}

impl Picture {
    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.pixels[row * self.side..][..self.side]
    }
}

/// The heart: two rings of tissue around the middle of the picture.
pub(super) struct Heart {
    side: usize,
    /// Brightness of tissue on a lattice that moves with it.
    speckle: Vec<f32>,
}

/// Distance of speckle grains, in pixels.
const GRAIN: f32 = 3.0;
/// Radii of the walls and their thickness, as shares of the picture's side.
const INNER: f32 = 0.16;
const OUTER: f32 = 0.27;
const THICKNESS: f32 = 0.035;
/// How much the walls widen, and frames of a beat.
const STROKE: f64 = 0.1;
const BEAT: f64 = 20.0;

impl Heart {
    pub(super) fn new(rng: &mut Rng, side: usize) -> Self {
        // Walls are drawn together at most by the stroke: lattice beyond the picture's edge is never asked for.
        let lattice = Self::lattice(side);
        Self { side, speckle: (0..lattice * lattice).map(|_| rng.unit()).collect() }
    }

    fn lattice(side: usize) -> usize {
        (side as f32 * 1.3 / GRAIN) as usize + 3
    }

    /// How wide the heart is in a frame; as it was made in the first.
    fn width(number: usize) -> f32 {
        (1.0 + STROKE * sin_pi(2.0 * number as f64 / BEAT)) as f32
    }

    /// Brightness of the tissue at a place relative to the middle, between lattice points in proportion.
    fn tissue(&self, x: f32, y: f32) -> f32 {
        let lattice = Self::lattice(self.side);
        let middle = (lattice / 2) as f32;
        let place = |at: f32| {
            let at = (at / GRAIN + middle).clamp(0.0, lattice as f32 - 2.001);
            (at as usize, at - at.floor())
        };
        let ((column, right), (row, below)) = (place(x), place(y));
        let at = |r: usize, c: usize| self.speckle[(row + r) * lattice + column + c];
        let line = |r: usize| at(r, 0) + right * (at(r, 1) - at(r, 0));
        line(0) + below * (line(1) - line(0))
    }

    /// A frame, in whole grey levels.
    pub(super) fn frame(&self, number: usize) -> Picture {
        let (side, width) = (self.side as f32, Self::width(number));
        let pixel = |k: usize| {
            let place = |n: usize| (n as f32 + 0.5 - 0.5 * side) / width;
            let (x, y) = (place(k % self.side), place(k / self.side));
            let radius = (x * x + y * y).sqrt() / side;
            let wall = |at: f32| (1.0 - ((radius - at) / THICKNESS).abs()).max(0.0);
            let bright = 30.0 + 225.0 * wall(INNER).max(wall(OUTER));
            (bright * (0.35 + 0.65 * self.tissue(x, y))).min(255.0).floor()
        };
        Picture { side: self.side, pixels: (0..self.side * self.side).map(pixel).collect() }
    }

    /// Points on the inner and the outer wall of the first frame, as rows and columns.
    pub(super) fn points(&self, inner: usize, outer: usize) -> Vec<[usize; 2]> {
        let on = |radius: f32, count: usize| {
            let side = self.side as f64;
            (0..count).map(move |k| {
                let turn = 2.0 * k as f64 / count as f64;
                [sin_pi(turn), sin_pi(turn + 0.5)].map(|c| (side * (0.5 + f64::from(radius) * c)) as usize)
            })
        };
        on(INNER, inner).chain(on(OUTER, outer)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_are_bright_and_move() {
        let heart = Heart::new(&mut Rng::new(3, "speckle"), 200);
        let mean_at = |number: usize, radius: f32| {
            let picture = heart.frame(number);
            let columns = (0..200).filter(|c| ((*c as f32 - 99.5) - radius * 200.0).abs() < 2.0);
            let values: Vec<f32> = columns.map(|c| picture.row(100)[c]).collect();
            values.iter().sum::<f32>() / values.len() as f32
        };
        assert!(mean_at(0, INNER) > 2.0 * mean_at(0, 0.0));
        // In a quarter of a beat the inner wall has gone where the picture was dim.
        assert!(mean_at(5, INNER * 1.1) > 1.5 * mean_at(0, INNER * 1.1 + THICKNESS));
    }

    #[test]
    fn points_have_room_for_templates() {
        let heart = Heart::new(&mut Rng::new(3, "speckle"), 400);
        for [row, column] in heart.points(20, 31) {
            assert!((60..340).contains(&row) && (60..340).contains(&column), "{row} {column}");
        }
    }
}
