//! Tracking of points on the walls of a beating heart.

mod ultrasound;

use crate::check::{Tolerance, close};
use crate::gpu::Gpu;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;
use ultrasound::{Heart, Picture};

struct Shape {
    /// Rows and columns of a frame.
    side: usize,
    frames: usize,
    /// Points on the inner and on the outer wall.
    points: (usize, usize),
    /// Templates reach so many pixels from their point, and windows so many from its last place.
    radius: usize,
    reach: usize,
}

/// Points, templates of 51x51 and search areas of 81x81 pixels as in Rodinia's program.
const fn rodinia(frames: usize) -> Shape {
    Shape { side: 600, frames, points: (20, 31), radius: 25, reach: 15 }
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { side: 96, frames: 3, points: (3, 4), radius: 5, reach: 3 }),
    (Size::Small, Shape { side: 400, frames: 1, points: (20, 31), radius: 16, reach: 8 }),
    (Size::Medium, rodinia(4)),
    // TOM names no size. Rodinia's film has more frames; all do the same.
    (Size::PaperTom, rodinia(1)),
];

/// The template takes this of what was found in every tenth frame.
const BLEND: f32 = 0.2;
const BLENDED: usize = 10;
/// Correlations are quotients of sums of some thousand products of grey levels in single precision.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-4, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "heartwall",
        suite: "rodinia",
        papers: &["tom"],
        sizes: &sizes(&SHAPES),
        aliases: &["HW"],
        description: "tracking of heart walls in ultrasound frames by correlation",
    },
    module: &[module!("heartwall")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: u32 = 256;
    let Shape { side, frames, points, radius, reach } = *shape;
    let heart = Heart::new(&mut Rng::new(seed, "speckle"), side);
    let first = heart.frame(0);
    let mut places = heart.points(points.0, points.1);
    let mut tracker = Tracker { radius, reach, templates: Vec::new() };
    tracker.templates = places.iter().map(|place| tracker.cut(&first, *place)).collect();

    let frame = gpu.array_of("frame", &first.pixels)?;
    let flat: Vec<i32> = places.iter().flatten().map(|place| *place as i32).collect();
    let place_array = gpu.array_of("places", &flat)?;
    let template_side = 2 * radius + 1;
    let templates = gpu.array::<f32>("templates", places.len() * template_side * template_side)?;
    let across = template_side + 2 * reach;
    let (padded, windows) = (across + 2 * template_side, across + template_side - 1);
    let mut of_points = |name: &str, elements: usize| gpu.array::<f32>(name, places.len() * elements);
    let steps = [
        of_points("areas", across * across)?,
        of_points("turned", template_side * template_side)?,
        of_points("convolved", windows * windows)?,
        of_points("down", padded * padded)?,
        of_points("along", windows * padded)?,
        of_points("sums", windows * windows)?,
        of_points("squares", windows * windows)?,
    ];
    let fits = gpu.array::<f32>("fits", places.len())?;
    let grid = places.len() as u32;
    let [columns, radius, reach] = [side, radius, reach].map(|n| n as i32);
    let args = [frame.into(), columns.into(), place_array.into(), templates.into(), radius.into()];
    gpu.launch("take_templates", grid, BLOCK, &args)?;
    let (mut found, mut best, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=frames {
        let picture = heart.frame(number);
        gpu.write(frame, &picture.pixels)?;
        let blend = if number % BLENDED == 0 { BLEND } else { 0.0 };
        let pictures = [frame.into(), columns.into(), place_array.into(), templates.into()];
        let searched = [fits.into(), radius.into(), reach.into(), blend.into()];
        let args = [&pictures[..], &steps.map(Into::into), &searched].concat();
        gpu.launch("track", grid, BLOCK, &args)?;
        gpu.synchronize();
        let now: Vec<[i32; 2]> = gpu.read(place_array)?.chunks_exact(2).map(|place| [place[0], place[1]]).collect();
        told.extend(gpu.read(fits)?);
        for (point, place) in places.iter_mut().enumerate() {
            let (at_place, at_best) = tracker.judge(point, &picture, *place, now[point]);
            found.push(at_place as f32);
            best.push(at_best);
            *place = now[point].map(|n| n as usize);
            tracker.blend(point, &picture, *place, blend);
        }
    }
    let expected: Vec<f64> = found.iter().map(|fit| f64::from(*fit)).collect();
    let tracked = close("correlations with the best place", &found, &best, TOLERANCE);
    Ok(tracked.and(&close("correlations that were told", &told, &expected, TOLERANCE)))
}

/// The search in double precision, which follows what the device finds.
struct Tracker {
    radius: usize,
    reach: usize,
    templates: Vec<Vec<f64>>,
}

impl Tracker {
    /// The picture around a place.
    fn cut(&self, picture: &Picture, [row, column]: [usize; 2]) -> Vec<f64> {
        let side = 2 * self.radius + 1;
        let line = |r: usize| picture.row(row - self.radius + r)[column - self.radius..][..side].iter();
        (0..side).flat_map(line).map(|value| f64::from(*value)).collect()
    }

    /// The correlation of a point's template with the window at the place it was moved to, and with the best window. A place
    /// that is not among those searched fits as badly as can be.
    fn judge(&self, point: usize, picture: &Picture, from: [usize; 2], to: [i32; 2]) -> (f64, f64) {
        let span = 2 * self.reach + 1;
        let (mut taken, mut best) = (-1.0, -1.0);
        for k in 0..span * span {
            let place = [from[0] + k / span - self.reach, from[1] + k % span - self.reach];
            let fit = correlation(&self.templates[point], &self.cut(picture, place));
            best = f64::max(best, fit);
            if place.map(|n| n as i32) == to {
                taken = fit;
            }
        }
        (taken, best)
    }

    fn blend(&mut self, point: usize, picture: &Picture, place: [usize; 2], share: f32) {
        let share = f64::from(share);
        let window = self.cut(picture, place);
        for (old, new) in self.templates[point].iter_mut().zip(window) {
            *old += share * (new - *old);
        }
    }
}

/// Between -1 and 1.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let products =
        a.iter().zip(b).map(|(a, b)| [(a - mean_a) * (b - mean_b), (a - mean_a).powi(2), (b - mean_b).powi(2)]);
    let [both, of_a, of_b] = products.fold([0.0; 3], |sums, next| std::array::from_fn(|k| sums[k] + next[k]));
    both / (of_a * of_b).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_sees_shape_alone() {
        let a = [1.0, 5.0, 2.0, 9.0];
        assert!((correlation(&a, &a.map(|x| 3.0 * x + 7.0)) - 1.0).abs() < 1e-12);
        assert!((correlation(&a, &a.map(|x| -x)) + 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_point_that_was_lost_is_noticed() {
        let heart = Heart::new(&mut Rng::new(1, "speckle"), 96);
        let (picture, place) = (heart.frame(0), heart.points(3, 4)[0]);
        let mut tracker = Tracker { radius: 5, reach: 3, templates: Vec::new() };
        tracker.templates = vec![tracker.cut(&picture, place)];
        let at = |row: i32| tracker.judge(0, &picture, place, [place[0] as i32 + row, place[1] as i32]);
        let (taken, best) = at(0);
        assert!((taken - 1.0).abs() < 1e-9 && (best - 1.0).abs() < 1e-9);
        assert!(at(3).0 < 0.95 && at(9).0 == -1.0);
    }
}
