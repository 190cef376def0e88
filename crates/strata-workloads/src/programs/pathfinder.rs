//! Cheapest path through a grid, by dynamic programming.

use crate::check::exact;
use crate::gpu::{Gpu, blocks};
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    cols: usize,
    rows: usize,
    /// Rows per launch; a block loses as many columns on each side.
    pyramid: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { cols: 1000, rows: 27, pyramid: 10 }),
    (Size::Small, Shape { cols: 100_000, rows: 200, pyramid: 10 }),
    (Size::Medium, Shape { cols: 250_000, rows: 501, pyramid: 10 }),
    // 212 blocks, 20 launches.
    (Size::Paper, Shape { cols: 50_000, rows: 200, pyramid: 10 }),
];

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "pathfinder",
        suite: "rodinia",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &[],
        description: "cheapest path through a grid, several rows per launch",
    },
    module: &[module!("pathfinder")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const BLOCK: usize = 256;
    let Shape { cols, rows, pyramid } = *shape;
    let mut rng = Rng::new(seed, "wall");
    let wall: Vec<i32> = (0..rows * cols).map(|_| rng.below(10) as i32).collect();

    // The first row is where paths begin; the device's wall is the rest.
    let wall_array = gpu.array_of("wall", &wall[cols..])?;
    let mut before = gpu.array_of("result_0", &wall[..cols])?;
    let mut after = gpu.array("result_1", cols)?;
    let grid = blocks(cols, BLOCK - 2 * pyramid);
    gpu.announce((rows - 1).div_ceil(pyramid));
    for first_row in (0..rows - 1).step_by(pyramid) {
        let steps = pyramid.min(rows - 1 - first_row);
        let args = [
            (steps as i32).into(),
            wall_array.into(),
            before.into(),
            after.into(),
            (cols as i32).into(),
            (first_row as i32).into(),
            (pyramid as i32).into(),
        ];
        gpu.launch("dynproc_kernel", grid, BLOCK as u32, &args)?;
        std::mem::swap(&mut before, &mut after);
    }
    gpu.synchronize();
    Ok(exact("path costs", &gpu.read(before)?, &cheapest(&wall, cols)))
}

/// The cost of the cheapest path to each cell of the last row.
fn cheapest(wall: &[i32], cols: usize) -> Vec<i32> {
    let mut rows = wall.chunks_exact(cols);
    let mut costs = rows.next().map(<[i32]>::to_vec).unwrap_or_default();
    for row in rows {
        let best = |col: usize| costs[col.saturating_sub(1)..(col + 2).min(cols)].iter().min().copied().unwrap_or(0);
        costs = row.iter().enumerate().map(|(col, price)| price + best(col)).collect();
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_solved_by_hand() {
        #[rustfmt::skip]
        let wall = [
            3, 1, 9, 9,
            9, 9, 2, 9,
            1, 9, 9, 4,
        ];
        // Second row: 10, 10, 3, 18. Third: 1+10, 9+3, 9+3, 4+3.
        assert_eq!(cheapest(&wall, 4), [11, 12, 12, 7]);
    }

    /// The cheapest of all paths to a cell, each tried.
    fn walk(wall: &[i32], cols: usize, row: usize, col: usize) -> i32 {
        let price = wall[row * cols + col];
        if row == 0 {
            return price;
        }
        let from = col.saturating_sub(1)..(col + 2).min(cols);
        price + from.map(|c| walk(wall, cols, row - 1, c)).min().unwrap_or(0)
    }

    #[test]
    fn agrees_with_trying_every_path() {
        let (cols, rows) = (4, 5);
        let mut rng = Rng::new(11, "wall");
        let wall: Vec<i32> = (0..rows * cols).map(|_| rng.below(10) as i32).collect();
        let expected: Vec<i32> = (0..cols).map(|col| walk(&wall, cols, rows - 1, col)).collect();
        assert_eq!(cheapest(&wall, cols), expected);
    }
}
