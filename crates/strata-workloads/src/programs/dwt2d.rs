//! Wavelet transforms of a picture in colours: 5/3 on integers and 9/7 on floats.

use crate::check::{Tolerance, close, exact};
use crate::field::{scene, smooth};
use crate::gpu::{Array, Gpu, Word, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// Each a multiple of 2 to the power of [`LEVELS`], and at least 8 after all but the last of them.
    width: usize,
    height: usize,
}

/// Rodinia's default.
const LEVELS: usize = 3;

/// The size in the literature.
const MEDIUM: Shape = Shape { width: 1024, height: 1024 };

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { width: 80, height: 48 }),
    (Size::Small, Shape { width: 512, height: 512 }),
    (Size::Medium, MEDIUM),
    (Size::PaperCmd, MEDIUM),
];

const COLOURS: [&str; 3] = ["r", "g", "b"];
/// Tens of roundings of values up to 2.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "dwt2d",
        suite: "rodinia",
        papers: &["cmd"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "5/3 and 9/7 wavelet transform of a picture",
    },
    module: &[module!("dwt2d")],
    shapes: &SHAPES,
    run,
};

/// A wavelet: how it is launched, and its lifting in plain form.
struct Wavelet<T, R: 'static> {
    name: &'static str,
    split: &'static str,
    transform: &'static str,
    /// What a byte of the picture becomes.
    value: fn(u8) -> R,
    /// Changes of high (odd) and low (even) places in turn, by the neighbours: left, here, right.
    steps: &'static [fn(R, R, R) -> R],
    /// What the low and the high coefficients are multiplied with at the end.
    scale: fn(R, bool) -> R,
    judge: fn(&[T], &[R]) -> Outcome,
}

const REVERSIBLE: Wavelet<i32, i32> = Wavelet {
    name: "5/3",
    split: "split_int",
    transform: "fdwt53",
    value: |byte| i32::from(byte) - 128,
    steps: &[|left, here, right| here - ((left + right) >> 1), |left, here, right| here + ((left + right + 2) >> 2)],
    scale: |value, _| value,
    judge: |got, expected| exact("5/3 coefficients", got, expected),
};

/// The factors are those of JPEG 2000, Annex F.
const IRREVERSIBLE: Wavelet<f32, f64> = Wavelet {
    name: "9/7",
    split: "split_float",
    transform: "fdwt97",
    value: |byte| f64::from(byte) / 255.0 - 0.5,
    steps: &[
        |left, here, right| here - 1.586_134_342_059_924 * (left + right),
        |left, here, right| here - 0.052_980_118_572_961 * (left + right),
        |left, here, right| here + 0.882_911_075_530_934 * (left + right),
        |left, here, right| here + 0.443_506_852_043_971 * (left + right),
    ],
    scale: |value, high| if high { value * 1.230_174_104_914_001 } else { value / 1.230_174_104_914_001 },
    judge: |got, expected| close("9/7 coefficients", got, expected, TOLERANCE),
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let picture = picture(seed, shape);
    let pixels = gpu.array_of("rgb", &picture)?;
    // A picture is split once for each wavelet; each colour and level is a transform, and a copy between two levels.
    gpu.announce(2 * (1 + COLOURS.len() * (2 * LEVELS - 1)));
    let reversible = REVERSIBLE.run(shape, pixels, &picture, gpu)?;
    Ok(reversible.and(&IRREVERSIBLE.run(shape, pixels, &picture, gpu)?))
}

impl<T: Word, R: Copy> Wavelet<T, R> {
    fn run(&self, shape: &Shape, pixels: Array<u8>, picture: &[u8], gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
        const BLOCK: usize = 256;
        const TILE: usize = 32;
        const ROWS: u32 = 8;
        let count = shape.width * shape.height;
        let mut planes = Vec::new();
        let mut results = Vec::new();
        for colour in COLOURS {
            planes.push(gpu.array::<T>(&format!("{} {colour}", self.name), count)?);
            results.push(gpu.array::<T>(&format!("{} {colour} bands", self.name), count)?);
        }
        let [red, green, blue] = [planes[0].into(), planes[1].into(), planes[2].into()];
        let args = [pixels.into(), red, green, blue, (count as i32).into()];
        gpu.launch(self.split, blocks(count, BLOCK), BLOCK as u32, &args)?;
        for (plane, bands) in planes.iter().zip(&results) {
            for level in 0..LEVELS {
                let (width, height) = (shape.width >> level, shape.height >> level);
                if level > 0 {
                    let low = width * height;
                    let args = [(*bands).into(), (*plane).into(), (low as i32).into()];
                    gpu.launch("copy_low_band", blocks(low, BLOCK), BLOCK as u32, &args)?;
                }
                let args = [(*plane).into(), (*bands).into(), (width as i32).into(), (height as i32).into()];
                let grid = (blocks(width, TILE), blocks(height, TILE));
                gpu.launch(self.transform, grid, (TILE as u32, ROWS), &args)?;
            }
        }
        gpu.synchronize();
        let mut got = Vec::new();
        let mut expected = Vec::new();
        for (colour, bands) in results.into_iter().enumerate() {
            got.extend(gpu.read(bands)?);
            let plane = picture.iter().skip(colour).step_by(COLOURS.len()).map(|byte| (self.value)(*byte));
            expected.extend(self.bands(plane.collect(), shape));
        }
        Ok((self.judge)(&got, &expected))
    }

    /// All levels of the transform of a plane. The bands of a level (low; high in x; high in y; high in both) follow each
    /// other, in the place of the low band of the level before.
    fn bands(&self, mut plane: Vec<R>, shape: &Shape) -> Vec<R> {
        for level in 0..LEVELS {
            let (width, height) = (shape.width >> level, shape.height >> level);
            let image = &mut plane[..width * height];
            for row in image.chunks_exact_mut(width) {
                self.lift(row);
            }
            for x in 0..width {
                let mut column: Vec<R> = image.iter().skip(x).step_by(width).copied().collect();
                self.lift(&mut column);
                image.iter_mut().skip(x).step_by(width).zip(column).for_each(|(to, from)| *to = from);
            }
            let mut bands = Vec::with_capacity(image.len());
            for (high_y, high_x) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                for row in image.chunks_exact(width).skip(high_y).step_by(2) {
                    bands.extend(row.iter().skip(high_x).step_by(2));
                }
            }
            image.copy_from_slice(&bands);
        }
        plane
    }

    /// The transform of a line, whose ends are mirrors: low coefficients in even places, high ones in odd places.
    fn lift(&self, line: &mut [R]) {
        let last = line.len() - 1;
        for (number, step) in self.steps.iter().enumerate() {
            for place in ((number + 1) % 2..line.len()).step_by(2) {
                let left = line[if place == 0 { 1 } else { place - 1 }];
                let right = line[if place == last { last - 1 } else { place + 1 }];
                line[place] = step(left, line[place], right);
            }
        }
        for (place, value) in line.iter_mut().enumerate() {
            *value = (self.scale)(*value, place % 2 == 1);
        }
    }
}

/// A picture of coloured objects: one scene in grey, tinted by smooth fields, with the noise of a sensor.
fn picture(seed: u64, shape: &Shape) -> Vec<u8> {
    let Shape { width, height } = *shape;
    let mut rng = Rng::new(seed, "picture");
    let grey = scene(&mut rng, height, width);
    let tints = [(); 3].map(|()| smooth(&mut rng, height, width, 200));
    let mut picture = Vec::with_capacity(3 * grey.len());
    for (pixel, level) in grey.iter().enumerate() {
        for tint in &tints {
            picture.push((level * (0.7 + 0.5 * tint[pixel]) + 1.5 * rng.bell()).clamp(0.0, 255.0) as u8);
        }
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_has_no_detail_and_a_step_has() {
        let mut ramp: Vec<i32> = (0..16).map(|x| 10 * x).collect();
        REVERSIBLE.lift(&mut ramp);
        // The last high place sees the mirrored end.
        assert!(ramp.iter().skip(1).step_by(2).take(7).all(|high| *high == 0), "{ramp:?}");
        let mut edge: Vec<f64> = (0..16).map(|x| if x < 7 { 0.0 } else { 1.0 }).collect();
        IRREVERSIBLE.lift(&mut edge);
        assert!(edge.iter().skip(1).step_by(2).any(|high| high.abs() > 0.1), "{edge:?}");
        let mut flat = vec![1.0; 16];
        IRREVERSIBLE.lift(&mut flat);
        // Low coefficients of a constant are that constant, high ones nothing.
        assert!(flat.iter().step_by(2).all(|low| (low - 1.0).abs() < 1e-6), "{flat:?}");
        assert!(flat.iter().skip(1).step_by(2).all(|high| high.abs() < 1e-6), "{flat:?}");
    }

    #[test]
    fn bands_lie_in_the_place_of_the_low_band_before() {
        let shape = Shape { width: 16, height: 8 };
        let bands = REVERSIBLE.bands(vec![7; 128], &shape);
        assert!(bands[..2].iter().all(|low| *low == 7));
        assert!(bands[2..].iter().all(|detail| *detail == 0));
    }
}
