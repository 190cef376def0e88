//! Needleman-Wunsch alignment of two protein sequences.

use crate::check::exact;
use crate::gpu::Gpu;
use crate::module::module;
use crate::program::{Program, sizes};
use crate::rng::Rng;
use crate::{Info, Outcome, Size, Workload};
use strata_host::HostError;

struct Shape {
    /// Residues in each sequence: a multiple of 16.
    length: usize,
}

const SHAPES: [(Size, Shape); 4] = [
    (Size::Tiny, Shape { length: 80 }),
    (Size::Small, Shape { length: 2048 }),
    (Size::Medium, Shape { length: 6144 }),
    // 127 launches.
    (Size::Paper, Shape { length: 1024 }),
];

const TILE: usize = 16;
const PENALTY: i32 = 10;

pub(super) const PROGRAM: &dyn Workload = &Program {
    info: Info {
        name: "nw",
        suite: "rodinia",
        papers: &["uvm"],
        sizes: &sizes(&SHAPES),
        aliases: &["needleman-wunsch"],
        description: "global alignment of two protein sequences, a wavefront of tiles",
    },
    module: &[module!("nw")],
    shapes: &SHAPES,
    run,
};

fn run(shape: &Shape, seed: u64, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    let (down, across) = sequences(shape.length, seed);
    let width = shape.length + 1;
    // Row 0 and column 0 stand before the first residue: similarity 0, and a gap for every residue passed over.
    let mut similarity = vec![0; width * width];
    for (row, a) in similarity.chunks_exact_mut(width).skip(1).zip(&down) {
        row[1..].iter_mut().zip(&across).for_each(|(s, b)| *s = i32::from(BLOSUM62[*a][*b]));
    }
    let mut table = vec![0; width * width];
    for i in 0..width {
        table[i] = -PENALTY * i as i32;
        table[i * width] = -PENALTY * i as i32;
    }

    let reference_array = gpu.array_of("reference", &similarity)?;
    let table_array = gpu.array_of("itemsets", &table)?;
    let tiles = (shape.length / TILE) as i32;
    gpu.announce(2 * (shape.length / TILE) - 1);
    for diagonal in 0..tiles {
        let args = [reference_array.into(), table_array.into(), (width as i32).into(), PENALTY.into(), diagonal.into()];
        gpu.launch("needle_cuda_shared_1", diagonal as u32 + 1, TILE as u32, &args)?;
    }
    for first_col in 1..tiles {
        let args = [
            reference_array.into(),
            table_array.into(),
            (width as i32).into(),
            PENALTY.into(),
            tiles.into(),
            first_col.into(),
        ];
        gpu.launch("needle_cuda_shared_2", (tiles - first_col) as u32, TILE as u32, &args)?;
    }
    gpu.synchronize();

    Ok(exact("scores", &gpu.read(table_array)?, &score_table(&down, &across)))
}

/// Two related proteins: residues as frequent as in nature, the second a copy of the first with a fifth of its residues
/// exchanged and here and there some lost or gained.
fn sequences(length: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut rng = Rng::new(seed, "sequences");
    let first: Vec<usize> = (0..length).map(|_| residue(&mut rng)).collect();
    let mut second = Vec::with_capacity(length);
    let mut from = 0;
    while second.len() < length {
        match rng.below(100) {
            0..20 => {
                second.push(residue(&mut rng));
                from += 1;
            }
            20..22 => second.push(residue(&mut rng)),
            22..24 => from += 1,
            _ => {
                second.push(first[from % length]);
                from += 1;
            }
        }
    }
    (first, second)
}

fn residue(rng: &mut Rng) -> usize {
    let total: u16 = FREQUENCIES.iter().sum();
    let mut left = rng.below(u32::from(total)) as u16;
    FREQUENCIES
        .iter()
        .position(|f| {
            let here = left < *f;
            left = left.wrapping_sub(if here { 0 } else { *f });
            here
        })
        .unwrap_or(0)
}

/// The whole table, row by row, from the recurrence.
fn score_table(down: &[usize], across: &[usize]) -> Vec<i32> {
    let gaps = |n: usize| -PENALTY * n as i32;
    let mut table: Vec<i32> = (0..=across.len()).map(gaps).collect();
    let width = table.len();
    for (row, a) in down.iter().enumerate() {
        let mut left = gaps(row + 1);
        table.push(left);
        for (col, b) in across.iter().enumerate() {
            let above = row * width + col;
            let aligned = table[above] + i32::from(BLOSUM62[*a][*b]);
            left = aligned.max(table[above + 1] - PENALTY).max(left - PENALTY);
            table.push(left);
        }
    }
    table
}

/// Share of each residue in Swiss-Prot, in hundredths of a percent (PROSITE documentation PS50324), residues in the order
/// A R N D C Q E G H I L K M F P S T W Y V.
const FREQUENCIES: [u16; 20] =
    [755, 515, 452, 530, 169, 402, 632, 684, 224, 572, 933, 593, 235, 407, 492, 722, 574, 125, 319, 652];

/// BLOSUM62, the published substitution scores of residues (Henikoff and Henikoff, PNAS 89, 1992), same order.
#[rustfmt::skip]
const BLOSUM62: [[i8; 20]; 20] = [
    [ 4, -1, -2, -2,  0, -1, -1,  0, -2, -1, -1, -1, -1, -2, -1,  1,  0, -3, -2,  0],
    [-1,  5,  0, -2, -3,  1,  0, -2,  0, -3, -2,  2, -1, -3, -2, -1, -1, -3, -2, -3],
    [-2,  0,  6,  1, -3,  0,  0,  0,  1, -3, -3,  0, -2, -3, -2,  1,  0, -4, -2, -3],
    [-2, -2,  1,  6, -3,  0,  2, -1, -1, -3, -4, -1, -3, -3, -1,  0, -1, -4, -3, -3],
    [ 0, -3, -3, -3,  9, -3, -4, -3, -3, -1, -1, -3, -1, -2, -3, -1, -1, -2, -2, -1],
    [-1,  1,  0,  0, -3,  5,  2, -2,  0, -3, -2,  1,  0, -3, -1,  0, -1, -2, -1, -2],
    [-1,  0,  0,  2, -4,  2,  5, -2,  0, -3, -3,  1, -2, -3, -1,  0, -1, -3, -2, -2],
    [ 0, -2,  0, -1, -3, -2, -2,  6, -2, -4, -4, -2, -3, -3, -2,  0, -2, -2, -3, -3],
    [-2,  0,  1, -1, -3,  0,  0, -2,  8, -3, -3, -1, -2, -1, -2, -1, -2, -2,  2, -3],
    [-1, -3, -3, -3, -1, -3, -3, -4, -3,  4,  2, -3,  1,  0, -3, -2, -1, -3, -1,  3],
    [-1, -2, -3, -4, -1, -2, -3, -4, -3,  2,  4, -2,  2,  0, -3, -2, -1, -2, -1,  1],
    [-1,  2,  0, -1, -3,  1,  1, -2, -1, -3, -2,  5, -1, -3, -1,  0, -1, -3, -2, -2],
    [-1, -1, -2, -3, -1,  0, -2, -3, -2,  1,  2, -1,  5,  0, -2, -1, -1, -1, -1,  1],
    [-2, -3, -3, -3, -2, -3, -3, -3, -1,  0,  0, -3,  0,  6, -4, -2, -2,  1,  3, -1],
    [-1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4,  7, -1, -1, -4, -3, -2],
    [ 1, -1,  1,  0, -1,  0,  0,  0, -1, -2, -2,  0, -1, -2, -1,  4,  1, -3, -2, -2],
    [ 0, -1,  0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1,  1,  5, -2, -2,  0],
    [-3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1,  1, -4, -3, -2, 11,  2, -3],
    [-2, -2, -2, -3, -2, -1, -2, -3,  2, -1, -1, -2, -1,  3, -3, -2, -2,  2,  7, -1],
    [ 0, -3, -3, -3, -1, -2, -2, -3, -3,  3,  1, -2,  1, -1, -2, -2,  0, -3, -1,  4],
];

#[cfg(test)]
mod tests {
    use super::*;

    const RESIDUES: &str = "ARNDCQEGHILKMFPSTWYV";

    fn spelt(text: &str) -> Vec<usize> {
        text.chars().filter_map(|c| RESIDUES.find(c)).collect()
    }

    #[test]
    fn scores_are_symmetric_and_best_on_the_diagonal() {
        for (a, row) in BLOSUM62.iter().enumerate() {
            for (b, score) in row.iter().enumerate() {
                assert_eq!(*score, BLOSUM62[b][a]);
                assert!(a == b || *score < row[a]);
            }
        }
    }

    #[test]
    fn a_small_alignment_worked_by_hand() {
        // HEA against HA: H with H (8), E in a gap (-10), A with A (4).
        let table = score_table(&spelt("HEA"), &spelt("HA"));
        assert_eq!(
            table,
            [0, -10, -20, -10, 8, -2, -20, -2, 7, -30, -12, 2],
            "rows: none, H, E, A; columns: none, H, A"
        );
    }

    #[test]
    fn related_sequences_score_higher_than_strangers() {
        let (a, b) = sequences(256, 1);
        let (c, _) = sequences(256, 2);
        assert_eq!((a.len(), b.len()), (256, 256));
        let score = |x: &[usize], y: &[usize]| score_table(x, y).last().copied();
        assert!(score(&a, &b) > score(&a, &c));
        assert!(score(&a, &b) > Some(100));
    }

    #[test]
    fn residues_are_as_frequent_as_stated() {
        let mut counts = [0u32; 20];
        let mut rng = Rng::new(9, "residues");
        (0..100_000).for_each(|_| counts[residue(&mut rng)] += 1);
        for (count, frequency) in counts.iter().zip(FREQUENCIES) {
            assert!(count.abs_diff(u32::from(frequency) * 10) < 400, "{counts:?}");
        }
    }
}
