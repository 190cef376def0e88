//! Ray tracing of spheres.

use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_core::Dim3;
use strata_host::HostError;

struct Shape {
    width: usize,
    height: usize,
    spheres: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { width: 50, height: 37, spheres: 6 }),
    (Size::Small, Shape { width: 128, height: 128, spheres: 2_048 }),
    (Size::Medium, Shape { width: 1_024, height: 1_024, spheres: 40 }),
    // The picture of the GPGPU-Sim suite's program; TOM names no size. 64 KiB of spheres are twice the L1 of TOM's machine.
    (Size::PaperTom, Shape { width: 256, height: 256, spheres: 2_048 }),
];

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "ray",
        suite: "gpgpu-sim",
        papers: &["tom"],
        sizes: &sizes(&SHAPES),
        aliases: &["raytracing"],
        description: "ray tracing of spheres with shadows and reflections",
    },
    module: &[module!("ray")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: (usize, usize) = (16, 8);
    let Shape { width, height, spheres } = *shape;
    let scene = scene(&mut Rng::new(seed, "spheres"), spheres);

    let spheres = gpu.array_of("spheres", scene.as_flattened())?;
    let pixels = gpu.array::<u32>("pixels", width * height)?;
    let grid = Dim3 { x: blocks(width, BLOCK.0), y: blocks(height, BLOCK.1), z: 1 };
    let block = Dim3 { x: BLOCK.0 as u32, y: BLOCK.1 as u32, z: 1 };
    let sizes = [pixels.into(), (width as i32).into(), (height as i32).into()];
    let args = [&[spheres.into(), (shape.spheres as i32).into()][..], &sizes].concat();
    gpu.launch("trace", grid, block, &args)?;
    gpu.synchronize();

    let at = |k: usize| pixel(&scene, k % width, k / width, width, height);
    Ok(judge(&gpu.read(pixels)?, &(0..width * height).map(at).collect::<Vec<_>>()))
}

/// Centre, radius, colour and mirrored share of a sphere.
type Sphere = [f32; 8];

/// Spheres that touch the floor.
fn scene(rng: &mut Rng, count: usize) -> Vec<Sphere> {
    let sphere = |k: usize| {
        let radius = rng.between(0.3, 1.5);
        let (x, z) = (rng.between(-7.0, 7.0), rng.between(-3.0, 14.0));
        let colour = [(); 3].map(|()| rng.between(0.2, 1.0));
        [x, radius, z, radius, colour[0], colour[1], colour[2], if k.is_multiple_of(2) { 0.6 } else { 0.0 }]
    };
    (0..count).map(sphere).collect()
}

/// One pixel in a hundred may see the other side of an edge.
fn judge(got: &[u32], expected: &[[f64; 3]]) -> Outcome {
    const LIMIT: f64 = 0.01;
    const STEPS: f64 = 3.0;
    let differs = |(got, expected): &(&u32, &[f64; 3])| {
        let [channels @ .., opaque] = got.to_le_bytes();
        let off = |(c, e): (u8, &f64)| (f64::from(c) - 255.0 * e.clamp(0.0, 1.0)).abs() > STEPS;
        opaque != 255 || channels.into_iter().zip(expected.iter()).any(off)
    };
    let share = got.iter().zip(expected).filter(differs).count() as f64 / expected.len().max(1) as f64;
    let checked = format!(
        "{:.2} % of {} pixels differ by more than {STEPS} of 255 (limit {:.0} %)",
        100.0 * share,
        expected.len(),
        100.0 * LIMIT
    );
    Outcome { passed: share <= LIMIT && got.len() == expected.len(), checked }
}

type Vector = [f64; 3];

fn combined(a: Vector, scale: f64, b: Vector) -> Vector {
    std::array::from_fn(|k| a[k] + scale * b[k])
}

fn dot(a: Vector, b: Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

const FAR: f64 = 60.0;

/// The nearest sphere before `limit`, and its distance.
fn nearest(scene: &[Sphere], from: Vector, along: Vector, limit: f64) -> Option<(usize, f64)> {
    let distance = |sphere: &Sphere| {
        let to = combined([0, 1, 2].map(|k| sphere[k].into()), -1.0, from);
        let middle = dot(to, along);
        let inside = f64::from(sphere[3]).powi(2) - dot(to, to) + middle * middle;
        (inside > 0.0).then(|| middle - inside.sqrt()).filter(|distance| *distance > 1e-3 && *distance < limit)
    };
    let met = scene.iter().enumerate().filter_map(|(k, sphere)| Some((k, distance(sphere)?)));
    met.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The colour of a pixel.
fn pixel(scene: &[Sphere], x: usize, y: usize, width: usize, height: usize) -> Vector {
    const LAMP: Vector = [6.0, 12.0, -6.0];
    let (w, h) = (width as f64, height as f64);
    let mut from = [0.0, 3.0, -10.0];
    let through = [(x as f64 + 0.5 - 0.5 * w) / h, (0.4 * h - y as f64 - 0.5) / h, 1.0];
    let mut along = through.map(|c| c / dot(through, through).sqrt());
    let (mut seen, mut weight) = ([0.0; 3], 1.0);
    for _ in 0..4 {
        if weight <= 0.02 {
            break;
        }
        let sphere = nearest(scene, from, along, FAR);
        let to_floor = if along[1] < 0.0 { -from[1] / along[1] } else { FAR };
        let (place, normal, colour, mirror): (Vector, Vector, Vector, f64) = match sphere {
            None if to_floor >= FAR => {
                let up = 0.5 + 0.5 * along[1];
                seen = combined(seen, weight, [0.3 + 0.2 * up, 0.4 + 0.3 * up, 0.6 + 0.4 * up]);
                break;
            }
            Some((k, distance)) if to_floor >= distance => {
                let place = combined(from, distance, along);
                let [cx, cy, cz, radius, red, green, blue, mirror] = scene[k].map(f64::from);
                let normal = combined(place, -1.0, [cx, cy, cz]).map(|c| c / radius);
                (place, normal, [red, green, blue], mirror)
            }
            _ => {
                let place = combined(from, to_floor, along);
                let odd = (place[0].floor() + place[2].floor()).rem_euclid(2.0) == 1.0;
                (place, [0.0, 1.0, 0.0], if odd { [0.2, 0.2, 0.25] } else { [0.8, 0.8, 0.75] }, 0.1)
            }
        };
        let to_lamp = combined(LAMP, -1.0, place);
        let reach = dot(to_lamp, to_lamp).sqrt();
        let towards = to_lamp.map(|c| c / reach);
        let slant = dot(normal, towards);
        let lit = slant > 0.0 && nearest(scene, place, towards, reach).is_none();
        let light = if lit { 0.25 + 0.75 * slant } else { 0.25 };
        seen = combined(seen, weight * (1.0 - mirror) * light, colour);
        weight *= mirror;
        from = place;
        along = combined(along, -2.0 * dot(along, normal), normal);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_meets_the_nearer_sphere() {
        let at = |z: f32| [0.0, 0.0, z, 1.0, 0.0, 0.0, 0.0, 0.0];
        let met = nearest(&[at(9.0), at(5.0)], [0.0; 3], [0.0, 0.0, 1.0], FAR);
        assert_eq!(met, Some((1, 4.0)));
        assert_eq!(nearest(&[at(5.0)], [0.0; 3], [0.0, 1.0, 0.0], FAR), None);
    }

    #[test]
    fn a_picture_of_another_scene_is_noticed() {
        let grey = |level: u32| level | level << 8 | level << 16 | 0xff << 24;
        let expected = vec![[0.5; 3]; 200];
        assert!(judge(&vec![grey(128); 200], &expected).passed);
        let with_three_wrong: Vec<u32> = (0..200).map(|k| grey(if k < 3 { 0 } else { 128 })).collect();
        assert!(!judge(&with_three_wrong, &expected).passed);
    }
}
