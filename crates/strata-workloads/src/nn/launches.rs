//! Lists of launches, made before the first of them runs: a training step is the same list every time.

use crate::gpu::{Gpu, blocks};
use strata_core::{Addr, Dim3};
use strata_host::{Arg, HostError};

/// Threads per block of kernels that treat each element by itself.
const THREADS: usize = 256;
/// Values per thread that make a block worth its size, where a block reduces many values to one.
const EACH: usize = 8;

/// Tiles of a product: columns, the length of the slices that pass through shared memory, threads per row.
const TILE_COLS: usize = 64;
const SLICE: usize = 16;
const ROW_THREADS: usize = 4;
/// Rows of a tile, and what one of them costs relative to the others: fewer rows share what is loaded.
const TILE_ROWS: [(usize, f64); 3] = [(32, 1.0), (16, 1.1), (8, 1.3)];
/// A product is split until it has so many blocks (a GPU of the papers' time has 80 multiprocessors), as long as parts keep
/// this length and all parts together this size.
const WANTED_BLOCKS: usize = 80;
const LEAST_SPLIT: usize = 64;
const MOST_PARTIALS: usize = 1 << 18;

/// A matrix in device memory; its columns may lie in groups (`workloads/neural/gemm.cuh`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    start: Addr,
    row: usize,
    group: usize,
    stride: usize,
}

impl Matrix {
    /// Rows of `cols` values, one behind the other.
    pub(crate) fn plain(start: Addr, cols: usize) -> Self {
        Self { start, row: cols, group: cols, stride: 0 }
    }

    /// The channels of a batch of images as rows, the pixels of all images as columns.
    pub(crate) fn images(start: Addr, channels: usize, pixels: usize) -> Self {
        Self { start, row: pixels, group: pixels, stride: channels * pixels }
    }

    fn args(self) -> [Arg; 4] {
        [self.start.into(), int(self.row), int(self.group), int(self.stride)]
    }
}

/// Which factor of a product is transposed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// A·B.
    Plain,
    /// Aᵀ·B.
    Left,
    /// A·Bᵀ.
    Right,
}

/// A size as a kernel argument.
pub(crate) fn int(value: usize) -> Arg {
    Arg::I32(i32::try_from(value).unwrap_or(i32::MAX))
}

/// The address of element `index` of an array of 4-byte values.
pub(crate) const fn element(start: Addr, index: usize) -> Addr {
    Addr(start.0 + 4 * index as u64)
}

struct Launch {
    kernel: &'static str,
    grid: Dim3,
    block: u32,
    args: Vec<Arg>,
}

/// Launches in order, and the room that their products need.
pub(crate) struct Launches {
    list: Vec<Launch>,
    partials: Addr,
    partials_len: usize,
}

impl Launches {
    /// An empty list; `partials` is where the parts of split products go, at least [`partials_len`](Self::partials_len)
    /// values.
    pub(crate) fn new(partials: Addr) -> Self {
        Self { list: Vec::new(), partials, partials_len: 0 }
    }

    /// Values that split products leave in `partials`.
    pub(crate) fn partials_len(&self) -> usize {
        self.partials_len
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn run(&self, gpu: &mut Gpu<'_>) -> Result<(), HostError> {
        self.list.iter().try_for_each(|l| gpu.launch(l.kernel, l.grid, l.block, &l.args))
    }

    /// One thread per element.
    pub(crate) fn each(&mut self, kernel: &'static str, threads: usize, args: &[Arg]) {
        let grid = blocks(threads, THREADS).into();
        self.list.push(Launch { kernel, grid, block: THREADS as u32, args: args.to_vec() });
    }

    /// Updates `weights` weights, four in each thread.
    pub(crate) fn update(&mut self, kernel: &'static str, weights: usize, args: &[Arg]) {
        self.each(kernel, weights.div_ceil(4), args);
    }

    /// One block for each of `groups` groups of `values` values.
    pub(crate) fn groups(&mut self, kernel: &'static str, groups: usize, values: usize, args: &[Arg]) {
        let block = (values / EACH).next_multiple_of(32).clamp(32, THREADS) as u32;
        self.list.push(Launch { kernel, grid: blocks(groups, 1).into(), block, args: args.to_vec() });
    }

    /// C (m x n) = A (m x k) · B (k x n), or C + A·B if `add` is set.
    pub(crate) fn product(&mut self, form: Form, [a, b, c]: [Matrix; 3], [m, n, k]: [usize; 3], add: bool) {
        let cost = |(rows, factor): &(usize, f64)| (m.next_multiple_of(*rows) as f64 * factor) as u64;
        let rows = TILE_ROWS.iter().min_by_key(|tile| cost(tile)).map_or(TILE_ROWS[0].0, |tile| tile.0);
        let kernel = match (form, rows) {
            (Form::Plain, 8) => "gemm_nn_8",
            (Form::Plain, 16) => "gemm_nn_16",
            (Form::Plain, _) => "gemm_nn_32",
            (Form::Left, 8) => "gemm_tn_8",
            (Form::Left, 16) => "gemm_tn_16",
            (Form::Left, _) => "gemm_tn_32",
            (Form::Right, 8) => "gemm_nt_8",
            (Form::Right, 16) => "gemm_nt_16",
            (Form::Right, _) => "gemm_nt_32",
        };
        let tiles = n.div_ceil(TILE_COLS) * m.div_ceil(rows);
        let most = (k / LEAST_SPLIT).min(MOST_PARTIALS / (m * n)).max(1);
        let length = k.div_ceil((WANTED_BLOCKS / tiles).clamp(1, most)).next_multiple_of(SLICE);
        let splits = k.div_ceil(length);
        let (target, target_add) = if splits == 1 { (c, add) } else { (Matrix::plain(self.partials, n), false) };
        let mut args = [a.args(), b.args(), target.args()].concat();
        args.extend([m, n, k, length, m * n, usize::from(target_add)].map(int));
        let grid = Dim3 { x: blocks(n, TILE_COLS), y: blocks(m, rows), z: blocks(splits, 1) };
        self.list.push(Launch { kernel, grid, block: (ROW_THREADS * rows) as u32, args });
        if splits > 1 {
            self.partials_len = self.partials_len.max(splits * m * n);
            let mut args = vec![self.partials.into(), int(splits)];
            args.extend(c.args());
            args.extend([m, n, usize::from(add)].map(int));
            self.each("sum_partials", m * n, &args);
        }
    }
}
