//! Photographs as a generator makes them, of a few kinds of things.
//!
//! Light and colour vary over many scales, the coarser the stronger (the spectrum of natural images falls with
//! frequency); before this stands one thing with sharp edges, whose shape, stripes and colour are those of its class, as
//! far as light and camera noise let one see. Pixels are 8-bit levels; training gets them less the mean of their channel,
//! as Caffe feeds them, inference as parts of 1, as Darknet does.

use crate::field::smooth;
use crate::rng::Rng;

/// Kinds of things.
pub(crate) const CLASSES: usize = 4;
/// Blue, green, red: the means of ImageNet that Caffe's networks subtract.
const MEANS: [f32; 3] = [104.0, 117.0, 123.0];
/// The colour of each class, in levels around the mean.
const COLOURS: [[f32; 3]; CLASSES] =
    [[-60.0, -50.0, 90.0], [90.0, -30.0, -60.0], [-60.0, 80.0, -50.0], [80.0, 75.0, 85.0]];

/// An endless album.
pub(crate) struct Album {
    random: Rng,
    side: usize,
}

impl Album {
    pub(crate) fn new(seed: u64, side: usize) -> Self {
        Self { random: Rng::new(seed, "album"), side }
    }

    /// `count` pictures, channel by channel, and their classes.
    pub(crate) fn batch(&mut self, count: usize) -> (Vec<f32>, Vec<i32>) {
        let labels: Vec<i32> = (0..count).map(|_| self.random.below(CLASSES as u32) as i32).collect();
        let plane = self.side * self.side;
        let mut pixels: Vec<f32> = labels.iter().flat_map(|label| self.picture(*label as usize)).collect();
        for (plane, channel) in pixels.chunks_exact_mut(plane).zip(MEANS.iter().cycle()) {
            for level in plane {
                *level -= channel;
            }
        }
        (pixels, labels)
    }

    /// The next picture, channel by channel, black 0 and white 1.
    pub(crate) fn photograph(&mut self) -> Vec<f32> {
        let class = self.random.below(CLASSES as u32) as usize;
        self.picture(class).into_iter().map(|level| level / 255.0).collect()
    }

    /// Light over all scales: octaves whose strength is in proportion to their size.
    fn octaves(&mut self, strength: f32) -> Vec<f32> {
        let side = self.side;
        let mut field = vec![0.0; side * side];
        let mut spacing = side;
        while spacing >= 2 {
            let amplitude = 2.0 * strength * spacing as f32 / side as f32;
            let octave = smooth(&mut self.random, side, side, spacing);
            field.iter_mut().zip(octave).for_each(|(sum, v)| *sum += amplitude * (v - 0.5));
            spacing /= 2;
        }
        field
    }

    /// The levels of a picture of this class.
    fn picture(&mut self, class: usize) -> Vec<f32> {
        let side = self.side;
        let light = self.octaves(55.0);
        let tints = [self.octaves(18.0), self.octaves(18.0), self.octaves(18.0)];
        let random = &mut self.random;
        let radius = side as f32 * random.between(0.3, 0.5);
        let (x, y) = (side as f32 * random.between(0.35, 0.65), side as f32 * random.between(0.35, 0.65));
        let brightness = random.between(0.7, 1.15);
        let period = 2 + side / 12;
        let mut pixels = Vec::with_capacity(3 * side * side);
        for (channel, tint) in tints.iter().enumerate() {
            for place in 0..side * side {
                let (row, col) = (place / side, place % side);
                let (dx, dy) = ((col as f32 - x).abs() / radius, (row as f32 - y).abs() / radius);
                let covered = match class {
                    0 => dx * dx + dy * dy < 1.0,
                    1 => dx.max(dy) < 0.85,
                    2 => dx + dy < 1.2,
                    _ => (0.3..1.1).contains(&(dx * dx + dy * dy)),
                };
                let striped = class % 2 == 1 && ((row + col) / period).is_multiple_of(2);
                let thing = COLOURS[class][channel] * if striped { 0.4 } else { 1.0 };
                let shade = if covered { brightness * thing + 0.3 * light[place] } else { light[place] + tint[place] };
                pixels.push((MEANS[channel] + shade + 1.5 * random.bell()).round().clamp(0.0, 255.0));
            }
        }
        pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_levels_around_the_mean_and_classes_differ() {
        let mut album = Album::new(1, 24);
        let (pixels, labels) = album.batch(200);
        assert_eq!(pixels.len(), 200 * 3 * 24 * 24);
        assert!(pixels.iter().all(|v| v.fract() == 0.0 && (-123.0..=151.0).contains(v)));
        let mean_of = |class: i32| {
            let of_class = pixels.chunks_exact(3 * 576).zip(&labels).filter(|(_, l)| **l == class);
            let reds: Vec<f32> = of_class.map(|(p, _)| p[2 * 576 + 12 * 24 + 12]).collect();
            reds.iter().sum::<f32>() / reds.len() as f32
        };
        assert!(mean_of(0) > mean_of(1) + 60.0, "{} and {}", mean_of(0), mean_of(1));
        let spread = (pixels.iter().map(|v| v * v).sum::<f32>() / pixels.len() as f32).sqrt();
        assert!((25.0..75.0).contains(&spread), "{spread}");
    }
}
