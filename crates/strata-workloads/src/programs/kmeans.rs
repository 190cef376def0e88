//! Clustering of records of network connections by k-means.

mod connections;

use crate::check::{Tolerance, close, exact};
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use connections::{FEATURES, connections};
use strata_host::HostError;

struct Shape {
    points: usize,
    /// Iterations at most.
    iterations: usize,
}

/// One of the inputs that come with Rodinia.
const MEDIUM: Shape = Shape { points: 204_800, iterations: 5 };

const SHAPES: [(Size, Shape); 5] = [
    (Size::Tiny, Shape { points: 700, iterations: 3 }),
    // A quarter of that. No published input is a power of two, with which all features of a point would be on one stack, channel
    // or set of whatever address bits name it.
    (Size::Small, Shape { points: 51_200, iterations: 4 }),
    (Size::Medium, MEDIUM),
    // The papers name no size.
    (Size::PaperCmd, MEDIUM),
    (Size::PaperTom, MEDIUM),
];

/// Rodinia's default.
const CLUSTERS: usize = 5;
/// Rodinia's default: iteration ends when no larger share of the points changes its cluster.
const CHANGING: f64 = 0.001;
/// A sum of 34 squares of rounded differences in single precision: of two centres that are nearer to being equally far than
/// this, either may be taken. Squares below that of the least difference of two rates are as good as none.
const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1e-4 };

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "kmeans",
        suite: "rodinia",
        papers: &["cmd", "tom"],
        sizes: &sizes(&SHAPES),
        aliases: &["KM"],
        description: "clustering of records with 34 features by k-means",
    },
    module: &[module!("kmeans")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let count = shape.points;
    let points = connections(&mut Rng::new(seed, "connections"), count);
    // Points spread over the records are the first centres.
    let mut centres: Vec<f32> = (0..CLUSTERS).flat_map(|c| point(&points, c * count / CLUSTERS).to_vec()).collect();
    let mut membership = vec![-1; count];

    let by_point = gpu.array_of("feature_d", &points)?;
    let by_feature = gpu.array("feature_flipped_d", points.len())?;
    let nearest = gpu.array("membership_d", count)?;
    let clusters = gpu.array("clusters_d", centres.len())?;
    let grid = blocks(count, BLOCK);
    let sizes = [(count as i32).into(), (FEATURES as i32).into()];
    let args = [&[by_point.into(), by_feature.into()][..], &sizes].concat();
    gpu.launch("invert_mapping", grid, BLOCK as u32, &args)?;
    let mut nearness = (Vec::new(), Vec::new());
    for _ in 0..shape.iterations {
        // As in the published program, the last membership goes along with the new centres.
        gpu.write(nearest, &membership)?;
        gpu.write(clusters, &centres)?;
        let args = [by_feature.into(), clusters.into(), nearest.into()];
        let args = [&args[..], &sizes, &[(CLUSTERS as i32).into()]].concat();
        gpu.launch("kmeans_point", grid, BLOCK as u32, &args)?;
        gpu.synchronize();
        let found = gpu.read(nearest)?;
        judge(&points, &centres, &found, &mut nearness);
        centres = means(&points, &found, &centres);
        let changed = found.iter().zip(&membership).filter(|(new, old)| new != old).count();
        membership = found;
        if changed as f64 <= CHANGING * count as f64 {
            break;
        }
    }
    let turned: Vec<f32> = (0..FEATURES).flat_map(|f| points.iter().skip(f).step_by(FEATURES).copied()).collect();
    let inverted = exact("turned features", &gpu.read(by_feature)?, &turned);
    Ok(inverted.and(&close("distances to the centres", &nearness.0, &nearness.1, TOLERANCE)))
}

fn point(points: &[f32], index: usize) -> &[f32] {
    &points[index * FEATURES..][..FEATURES]
}

/// The square of the distance.
fn apart(point: &[f32], centre: &[f32]) -> f64 {
    point.iter().zip(centre).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum()
}

/// Adds to `nearness` how far each point is from the centre that was found for it, and from the nearest. No centre is
/// infinitely far.
fn judge(points: &[f32], centres: &[f32], found: &[i32], nearness: &mut (Vec<f32>, Vec<f64>)) {
    for (point, found) in points.chunks_exact(FEATURES).zip(found) {
        let distances: Vec<f64> = centres.chunks_exact(FEATURES).map(|centre| apart(point, centre)).collect();
        let taken = usize::try_from(*found).ok().and_then(|found| distances.get(found).copied());
        let least = distances.into_iter().fold(f64::INFINITY, f64::min);
        nearness.0.push(taken.unwrap_or(f64::INFINITY) as f32);
        nearness.1.push(least);
    }
}

/// The mean of the points of each cluster; a centre that has none stays.
fn means(points: &[f32], membership: &[i32], centres: &[f32]) -> Vec<f32> {
    let mut sums = vec![0.0; centres.len()];
    let mut counts = [0u32; CLUSTERS];
    for (point, cluster) in points.chunks_exact(FEATURES).zip(membership) {
        let cluster = *cluster as usize % CLUSTERS;
        counts[cluster] += 1;
        for (sum, value) in sums[cluster * FEATURES..].iter_mut().zip(point) {
            *sum += f64::from(*value);
        }
    }
    let mean = |(index, sum): (usize, f64)| match counts[index / FEATURES] {
        0 => centres[index],
        count => (sum / f64::from(count)) as f32,
    };
    sums.into_iter().enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_line(places: &[f32]) -> Vec<f32> {
        places.iter().flat_map(|x| std::iter::once(*x).chain([0.0; FEATURES - 1])).collect()
    }

    #[test]
    fn centres_move_to_the_mean_of_their_points() {
        let centres = on_a_line(&[0.0, 10.0, 20.0, 30.0, 40.0]);
        let moved = means(&on_a_line(&[1.0, 2.0, 9.0]), &[0, 0, 1], &centres);
        assert_eq!(moved, on_a_line(&[1.5, 9.0, 20.0, 30.0, 40.0]));
    }

    #[test]
    fn a_point_in_the_wrong_cluster_is_noticed() {
        let centres = on_a_line(&[0.0, 10.0, 20.0, 30.0, 40.0]);
        let passes = |found: &[i32]| {
            let mut nearness = (Vec::new(), Vec::new());
            judge(&on_a_line(&[1.0, 12.0]), &centres, found, &mut nearness);
            close("distances", &nearness.0, &nearness.1, TOLERANCE).passed
        };
        assert!(passes(&[0, 1]));
        assert!(!passes(&[0, 2]) && !passes(&[-1, 1]) && !passes(&[0, 7]));
    }
}
