//! Gaussian deviates from pairs of uniform random numbers, counted in annuli (the NAS benchmark EP).

use crate::check::{Tolerance, close_doubles, exact};
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::npb::{MULTIPLIER, Sequence, times};
use crate::program::{Program, sizes};
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// Pairs of a batch; the benchmark has 2^16, most shapes have more and smaller ones.
    pairs: usize,
    /// Batches for which the buffers have room.
    capacity: usize,
    /// Batches of one block, at most the capacity.
    block: usize,
    /// All batches; the last block has those that are left.
    batches: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { pairs: 64, capacity: 1024, block: 256, batches: 2 * 256 }),
    (Size::Small, Shape { pairs: 64, capacity: 1 << 14, block: 1 << 12, batches: 10 << 12 }),
    (Size::Medium, Shape { pairs: 64, capacity: 1 << 17, block: 1 << 15, batches: 4 << 15 }),
    // The 2^28 pairs of class A, in blocks of 1792 of the benchmark's own batches that fill their buffers, as SPEC's program has
    // them.
    (Size::PaperBuddy, Shape { pairs: 1 << 16, capacity: 1792, block: 1792, batches: 1 << 12 }),
];

/// Square annuli around the origin in which deviates are counted, each of width 1.
const ANNULI: usize = 10;
/// Factors that leap 1, 2, 4, … batches ahead: enough for any batch number that is an `i32`.
const LEAPS: usize = 31;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "ep",
        suite: "specaccel",
        papers: &["buddy"],
        sizes: &sizes(&SHAPES),
        aliases: &["352.ep"],
        description: "Gaussian deviates from random pairs, counted in annuli",
    },
    module: &[module!("ep")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 128;
    const SUM_BLOCK: u32 = 256;
    let Shape { pairs, capacity, block, batches } = *shape;
    let start = Sequence::new(seed, "deviates").0;

    let leaps = gpu.array_of("leaps", &leaps(start, pairs))?;
    let xx = gpu.zeros::<f64>("xx", capacity * 2 * pairs)?;
    let qq = gpu.zeros::<f64>("qq", capacity * ANNULI)?;
    let sx = gpu.zeros::<f64>("sx", capacity)?;
    let sy = gpu.zeros::<f64>("sy", capacity)?;
    let totals = gpu.zeros::<f64>("q", ANNULI + 2)?;
    let (room, in_batch) = (capacity as i32, pairs as i32);
    gpu.announce(4 * batches.div_ceil(block));
    for first in (0..batches).step_by(block) {
        let count = block.min(batches - first);
        let (grid, here) = (blocks(count, BLOCK), count as i32);
        gpu.launch("ep_clear", grid, BLOCK as u32, &[qq.into(), room.into(), here.into()])?;
        let args = [xx.into(), leaps.into(), in_batch.into(), (first as i32).into(), here.into()];
        gpu.launch("ep_randoms", grid, BLOCK as u32, &args)?;
        let args = [xx.into(), qq.into(), sx.into(), sy.into(), in_batch.into(), room.into(), here.into()];
        gpu.launch("ep_gaussian", grid, BLOCK as u32, &args)?;
        let args = [qq.into(), sx.into(), sy.into(), totals.into(), room.into(), here.into()];
        gpu.launch("ep_reduce", (ANNULI + 2) as u32, SUM_BLOCK, &args)?;
    }
    gpu.synchronize();

    let pairs = batches * pairs;
    let (counts, sums) = deviates(start, pairs);
    let got = gpu.read(totals)?;
    // The sums have as many terms as there are pairs, near 1 and of both signs, in another order; they come to about
    // the root of that number, and the benchmark holds them to 1e-8.
    let tolerance = Tolerance { limit: 1e-8, scale: (pairs as f64).sqrt() };
    let counted = exact("counts", &got[..ANNULI], &counts);
    Ok(counted.and(&close_doubles("sums of deviates", &got[ANNULI..], &sums, tolerance)))
}

/// What the kernel leaps with: the first number of the sequence, then the factors for 1, 2, 4, … batches of so many pairs.
fn leaps(start: u64, pairs: usize) -> Vec<u64> {
    let batch = (0..2 * pairs).fold(1, |factor, _| times(factor, MULTIPLIER));
    let factors = std::iter::successors(Some(batch), |f| Some(times(*f, *f)));
    std::iter::once(start).chain(factors.take(LEAPS)).collect()
}

/// Counts and sums of the first `pairs` pairs, one after another as they come in the sequence.
fn deviates(start: u64, pairs: usize) -> ([f64; ANNULI], [f64; 2]) {
    let mut sequence = Sequence(start);
    let (mut counts, mut sums) = ([0.0; ANNULI], [0.0; 2]);
    for _ in 0..pairs {
        let (x, y) = (2.0 * sequence.unit() - 1.0, 2.0 * sequence.unit() - 1.0);
        let square = x * x + y * y;
        if square <= 1.0 {
            let factor = (-2.0 * square.ln() / square).sqrt();
            let (first, second) = (x * factor, y * factor);
            if let Some(count) = counts.get_mut(first.abs().max(second.abs()) as usize) {
                *count += 1.0;
            }
            sums[0] += first;
            sums[1] += second;
        }
    }
    (counts, sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviates_are_those_the_benchmark_publishes() {
        // Class S, 2^24 pairs from its seed: NPB's verification values of both sums.
        let (counts, sums) = deviates(271_828_183, 1 << 24);
        assert!((sums[0] / -3.24783465203474e3 - 1.0).abs() < 1e-8, "{sums:?}");
        assert!((sums[1] / -6.958407078382297e3 - 1.0).abs() < 1e-8, "{sums:?}");
        assert_eq!(counts.iter().sum::<f64>(), 13_176_389.0);
    }

    #[test]
    fn leaps_arrive_where_walking_does() {
        const PAIRS: usize = 64;
        let leaps = leaps(271_828_183, PAIRS);
        let mut walked = Sequence(271_828_183);
        let _ = (0..5 * 2 * PAIRS).map(|_| walked.unit()).last();
        assert_eq!(times(times(leaps[0], leaps[1]), leaps[3]), walked.0);
    }
}
