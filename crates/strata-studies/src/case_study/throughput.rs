//! How many samples a GPU trains in a second, by mini-batch size (figure 15b).
//!
//! A roofline for each kernel, as in Paleo (Qi et al., ICLR 2017) and DeLTA (Lym et al., ISPASS 2019), which the paper names
//! as very similar to its own model: a kernel takes as long as its arithmetic or its memory traffic, whichever is longer, and a
//! launch. Forward, a layer is one matrix product; backward two, for the gradients of its input and of its weights. Passes
//! over tensors are bound by bandwidth; backward they move twice as much. Then every parameter that has a gradient is updated.
//!
//! Arithmetic runs at the GPU's peak in as many SMs as have work: a product is cut in tiles, one thread block each, and the
//! last wave of them may leave SMs idle (*wave quantisation*). That is what a larger mini-batch mends, beside launches, updates,
//! and weights that are read once for more samples. Tensors move once for each kernel (Paleo); caches between kernels and the
//! traffic of tiles that read the same data twice (DeLTA) are left out.

use super::footprint::VALUE;
use super::{Network, Operation, Product, Work};

/// What the model knows of a GPU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrainingGpu {
    /// Streaming multiprocessors.
    pub sms: u64,
    /// Floating-point operations per second of all of them.
    pub peak: f64,
    /// Bytes per second of device memory.
    pub bandwidth: f64,
    /// Seconds for a kernel launch.
    pub launch: f64,
}

impl TrainingGpu {
    /// NVIDIA TITAN V, the card of figure 15c.
    pub const TITAN_V: Self = Self {
        // Volta white paper and NVIDIA's data sheet of the card: 80 SMs.
        sms: 80,
        // The same: 64 multiply-adds of 32 bits per SM and cycle, at the boost clock of 1455 MHz.
        peak: 80.0 * 64.0 * 2.0 * 1455e6,
        // The data sheet: 3072 bits of HBM2 at 850 MHz, both edges.
        bandwidth: 652.8e9,
        // `data/silicon.toml`, kernel-launch: 7257 cycles between empty kernels at 1200 MHz.
        launch: 7257.0 / 1200e6,
    };
}

/// The longest edge of a tile that one thread block computes: cuDNN's kernels have tiles of 128 x 128, 128 x 64 and 128 x 32
/// (DeLTA, recalled), the narrow ones for matrices that are no wider.
const TILE: u64 = 128;
const NARROW: [u64; 2] = [32, 64];

/// Where tiles are fewer than SMs, libraries cut the sum of a tile too (split-K), in pieces no shorter than this: the choice of
/// this model, twice the edge of a tile, so that adding up the pieces stays small beside computing them.
const LEAST_PIECE: u64 = 2 * TILE;

/// A matrix product of a whole mini-batch: `groups` of `m` x `k` with `k` x `n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gemm {
    m: u64,
    n: u64,
    k: u64,
    groups: u64,
}

/// How a product is cut in thread blocks.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Cut {
    /// Thread blocks.
    blocks: u64,
    /// Into how many pieces each sum is cut.
    pieces: u64,
    /// Multiply-adds of a block.
    block_work: f64,
}

impl Gemm {
    fn cut(self, sms: u64) -> Cut {
        let edge = |extent: u64| NARROW.into_iter().find(|narrow| extent <= *narrow).unwrap_or(TILE);
        let (height, width) = (edge(self.m), edge(self.n));
        let tiles = self.m.div_ceil(height) * self.n.div_ceil(width) * self.groups;
        let pieces = (sms / tiles).clamp(1, (self.k / LEAST_PIECE).max(1));
        let block_work = (height * width) as f64 * self.k.div_ceil(pieces) as f64;
        Cut { blocks: tiles * pieces, pieces, block_work }
    }

    fn multiply_adds(self) -> f64 {
        [self.m, self.n, self.k, self.groups].into_iter().map(|extent| extent as f64).product()
    }

    /// The share of the GPU's arithmetic that is useful: the rest goes to SMs without a block and to tiles beyond the edge.
    fn utilisation(self, cut: &Cut, sms: u64) -> f64 {
        let waves = cut.blocks.div_ceil(sms);
        self.multiply_adds() / ((waves * sms) as f64 * cut.block_work)
    }

    /// Seconds of the kernel, where `operands` values are read or written.
    fn seconds(self, gpu: &TrainingGpu, operands: u64) -> f64 {
        let cut = self.cut(gpu.sms);
        let arithmetic = 2.0 * self.multiply_adds() / (gpu.peak * self.utilisation(&cut, gpu.sms));
        // Pieces of a sum are written and read once more.
        let pieces = if cut.pieces > 1 { 2 * cut.pieces * self.m * self.n * self.groups } else { 0 };
        arithmetic.max(memory(gpu, operands + pieces)) + gpu.launch
    }
}

/// Seconds in which so many values are moved.
fn memory(gpu: &TrainingGpu, values: u64) -> f64 {
    (VALUE * values) as f64 / gpu.bandwidth
}

/// Seconds of a product, forward and backward.
fn product_seconds(product: &Product, gpu: &TrainingGpu, batch: u64) -> f64 {
    let &Product { rows, columns, depth, groups, .. } = product;
    let m = batch * rows;
    // Each of the three products has the same three matrices: two are read and the other is written.
    let operands = batch * (product.input + product.output()) + product.weights();
    let forward = Gemm { m, n: columns, k: depth, groups };
    let weight_gradient = Gemm { m: columns, n: depth, k: m, groups };
    let input_gradient = product.input_gradient.then_some(Gemm { m, n: depth, k: columns, groups });
    let all = [Some(forward), Some(weight_gradient), input_gradient];
    let step: f64 = all.into_iter().flatten().map(|gemm| gemm.seconds(gpu, operands)).sum();
    product.steps as f64 * step
}

/// Seconds of an operation, forward and backward, and of the update of its parameters.
fn seconds(operation: &Operation, gpu: &TrainingGpu, batch: u64) -> f64 {
    let passes = match &operation.work {
        Work::Product(product) => product_seconds(product, gpu, batch),
        Work::Pass(moved) => 3.0 * memory(gpu, batch * moved) + 2.0 * gpu.launch,
    };
    if operation.gradients == 0 {
        return passes;
    }
    // Reads weight, gradient and state; writes weight and state.
    passes + memory(gpu, 5 * operation.gradients) + gpu.launch
}

/// Samples that `gpu` trains in a second with this mini-batch; 0 with an empty one.
pub fn throughput(network: &Network, batch: u64, gpu: &TrainingGpu) -> f64 {
    if batch == 0 {
        return 0.0;
    }
    // No memory holds more, and counts of values stay exact.
    let batch = batch.min(1 << 20);
    let iteration: f64 = network.operations.iter().map(|operation| seconds(operation, gpu, batch)).sum();
    batch as f64 / iteration
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(gemm: Gemm, blocks: u64, pieces: u64, utilisation: f64) {
        let cut = gemm.cut(80);
        assert_eq!((cut.blocks, cut.pieces), (blocks, pieces), "{gemm:?}");
        let found = gemm.utilisation(&cut, 80);
        assert!((found - utilisation).abs() < 1e-9, "{gemm:?}: {found}");
    }

    #[test]
    fn the_last_wave_of_tiles_leaves_sms_idle() {
        let rows = |tiles: u64| Gemm { m: 128 * tiles, n: 128, k: 200, groups: 1 };
        check(rows(80), 80, 1, 1.0);
        check(rows(81), 81, 1, 81.0 / 160.0);
        check(rows(40), 40, 1, 0.5);
        // Half of the rows of the last tile are not there.
        check(Gemm { m: 128 * 80 - 64, ..rows(80) }, 80, 1, 79.5 / 80.0);
    }

    #[test]
    fn narrow_matrices_have_narrow_tiles_and_groups_their_own() {
        check(Gemm { m: 1280, n: 32, k: 100, groups: 8 }, 80, 1, 1.0);
        check(Gemm { m: 1280, n: 48, k: 100, groups: 8 }, 80, 1, 0.75);
        check(Gemm { m: 1280, n: 65, k: 100, groups: 8 }, 80, 1, 65.0 / 128.0);
    }

    #[test]
    fn long_sums_are_cut_where_tiles_are_few() {
        check(Gemm { m: 128, n: 128, k: 256 * 80, groups: 1 }, 80, 80, 1.0);
        check(Gemm { m: 128, n: 128, k: 256 * 20, groups: 1 }, 20, 20, 0.25);
        check(Gemm { m: 256, n: 128, k: 256 * 80, groups: 1 }, 80, 40, 1.0);
    }

    #[test]
    fn a_kernel_takes_its_arithmetic_or_its_traffic_and_a_launch() {
        let gpu = TrainingGpu { sms: 80, peak: 80e9, bandwidth: 1e9, launch: 0.5 };
        let gemm = Gemm { m: 128 * 80, n: 128, k: 200, groups: 1 };
        let arithmetic = 2.0 * 128.0 * 128.0 * 200.0 / 1e9;
        assert!((gemm.seconds(&gpu, 1) - arithmetic - 0.5).abs() < 1e-9);
        assert_eq!(gemm.seconds(&gpu, 1_000_000_000), 4.0 + 0.5);
    }
}
