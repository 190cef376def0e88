//! Matrix products.
//!
//! Invariant: an element of a product is its start value, to which the products of one pair after another are added, in the
//! order of the inner dimension, each rounded by itself. Lanes go over columns and threads over sequences, so the bits do not
//! depend on the processor or on how the work is divided; that is why there is no fused multiply-add here, which processors
//! with separate multipliers and adders do not miss.

use rustc_hash::FxHashMap;

/// A matrix in somebody's memory, or its transpose.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    values: &'a [f32],
    /// From a row to the next, and from a column to the next.
    row: usize,
    column: usize,
}

impl<'a> View<'a> {
    /// Rows of `width` numbers, one behind the other.
    pub(crate) fn rows(values: &'a [f32], width: usize) -> Self {
        Self { values, row: width, column: 1 }
    }

    /// The same, rows and columns exchanged.
    pub(crate) fn transposed(values: &'a [f32], width: usize) -> Self {
        Self { values, row: 1, column: width }
    }
}

/// Rows and columns of the part of a product that is held in registers.
const TALL: usize = 6;
const WIDE: usize = 16;
/// What is packed at once of the second factor: a panel of it stays in the first-level cache, all of it in the second.
const INNER: usize = 256;
const COLUMNS: usize = 256;
/// Rows of the first factor are read where they lie if the second has no more columns: packing them would cost more than it saves.
const FEW: usize = 128;

/// Memory for packed parts of factors, kept between products; and factors that are packed for good, by where they lie.
#[derive(Default)]
pub(crate) struct Packed {
    a: Vec<f32>,
    b: Vec<f32>,
    prepared: FxHashMap<usize, Prepared>,
}

impl Packed {
    /// Packs a second factor for good: products with it need no packing any more.
    pub(crate) fn prepare(&mut self, at: usize, values: &[f32], (k, n): (usize, usize)) {
        let mut panels = Vec::new();
        pack_columns(View::rows(values, n), (0, k), (0, n), &mut panels);
        self.prepared.insert(at, Prepared { k, n, panels });
    }

    /// What was packed for good under this name.
    pub(crate) fn prepared(&self, at: usize) -> Option<&Prepared> {
        self.prepared.get(&at)
    }
}

/// A second factor, packed.
pub(crate) struct Prepared {
    k: usize,
    n: usize,
    panels: Vec<f32>,
}

impl Prepared {
    /// Adds rows of `a` times this factor to `c`: the same bits as [`multiply_add`].
    pub(crate) fn multiply_add(&self, a: &[f32], c: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what it was compiled for.
            unsafe { prepared_avx2(self, a, c) };
            return;
        }
        prepared_plain(self, a, c);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn prepared_avx2(b: &Prepared, a: &[f32], c: &mut [f32]) {
    prepared_plain(b, a, c);
}

#[inline(always)]
fn prepared_plain(b: &Prepared, a: &[f32], c: &mut [f32]) {
    let mut rows = a.chunks_exact(TALL * b.k);
    let mut results = c.chunks_exact_mut(TALL * b.n);
    for (a, c) in (&mut rows).zip(&mut results) {
        let a: [&[f32]; TALL] = std::array::from_fn(|row| &a[row * b.k..(row + 1) * b.k]);
        for (panel, b_panel) in b.panels.chunks_exact(b.k * WIDE).enumerate() {
            rows_times_panel(a, b_panel, &mut c[panel * WIDE..], b.n, WIDE.min(b.n - panel * WIDE));
        }
    }
    for (a, c) in rows.remainder().chunks_exact(b.k).zip(results.into_remainder().chunks_exact_mut(b.n)) {
        row_times_panels(a, b, c);
    }
}

/// `TALL` rows times one panel.
#[inline(always)]
fn rows_times_panel(a: [&[f32]; TALL], b: &[f32], c: &mut [f32], stride: usize, width: usize) {
    let mut sums = [[0.0f32; WIDE]; TALL];
    for (row, sums) in sums.iter_mut().enumerate() {
        load(&c[row * stride..row * stride + width], sums);
    }
    let b = b.as_chunks::<WIDE>().0;
    // All are as long as the compiler sees the panel to be.
    let a = a.map(|row| &row[..b.len()]);
    for (p, b) in b.iter().enumerate() {
        for (a, sums) in a.iter().zip(&mut sums) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += a[p] * b;
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        store(sums, &mut c[row * stride..row * stride + width]);
    }
}

/// Panels that one row is multiplied with at once: enough sums that none waits for its own last addition.
const TOGETHER: usize = 4;

/// One row times all panels.
#[inline(always)]
fn row_times_panels(a: &[f32], b: &Prepared, c: &mut [f32]) {
    let panel = b.k * WIDE;
    let mut groups = b.panels.chunks_exact(TOGETHER * panel);
    let mut results = c.chunks_mut(TOGETHER * WIDE);
    for (group, c) in (&mut groups).zip(&mut results) {
        let panels: [&[[f32; WIDE]]; TOGETHER] =
            std::array::from_fn(|k| group[k * panel..(k + 1) * panel].as_chunks::<WIDE>().0);
        let mut sums = [0.0f32; TOGETHER * WIDE];
        let width = c.len();
        // A whole group has a length that the compiler knows.
        match <&[f32; TOGETHER * WIDE]>::try_from(&*c) {
            Ok(whole) => sums = *whole,
            Err(_) => sums[..width].copy_from_slice(c),
        }
        for (p, a) in a.iter().enumerate() {
            for (panel, sums) in panels.iter().zip(sums.as_chunks_mut::<WIDE>().0) {
                for (sum, b) in sums.iter_mut().zip(&panel[p]) {
                    *sum += a * b;
                }
            }
        }
        match <&mut [f32; TOGETHER * WIDE]>::try_from(&mut *c) {
            Ok(whole) => *whole = sums,
            Err(_) => c.copy_from_slice(&sums[..width]),
        }
    }
    let rest = groups.remainder().chunks_exact(panel);
    let Some(c) = results.next() else { return };
    for (panel, c) in rest.zip(c.chunks_mut(WIDE)) {
        let mut sums = [0.0f32; WIDE];
        sums[..c.len()].copy_from_slice(c);
        for (a, b) in a.iter().zip(panel.as_chunks::<WIDE>().0) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += a * b;
            }
        }
        let width = c.len();
        c.copy_from_slice(&sums[..width]);
    }
}

/// Adds `a` (m x k) times `b` (k x n) to `c`, whose rows have n numbers.
pub(crate) fn multiply_add(
    (m, k, n): (usize, usize, usize),
    a: View<'_>,
    b: View<'_>,
    c: &mut [f32],
    packed: &mut Packed,
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what it was compiled for.
        unsafe { multiply_add_avx2((m, k, n), a, b, c, packed) };
        return;
    }
    multiply_add_plain((m, k, n), a, b, c, packed);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn multiply_add_avx2(size: (usize, usize, usize), a: View<'_>, b: View<'_>, c: &mut [f32], packed: &mut Packed) {
    multiply_add_plain(size, a, b, c, packed);
}

#[inline(always)]
fn multiply_add_plain((m, k, n): (usize, usize, usize), a: View<'_>, b: View<'_>, c: &mut [f32], packed: &mut Packed) {
    for first_column in (0..n).step_by(COLUMNS) {
        let columns = COLUMNS.min(n - first_column);
        for first_inner in (0..k).step_by(INNER) {
            let inner = INNER.min(k - first_inner);
            pack_columns(b, (first_inner, inner), (first_column, columns), &mut packed.b);
            for first_row in (0..m).step_by(TALL) {
                let rows = TALL.min(m - first_row);
                let start = |row: usize| (first_row + row) * a.row + first_inner * a.column;
                let stay = rows == TALL && n <= FEW;
                let from = if stay && a.column == 1 {
                    Rows::Side(std::array::from_fn(|row| &a.values[start(row)..][..inner]))
                } else if stay && a.row == 1 {
                    Rows::Across(&a.values[start(0)..], a.column)
                } else {
                    pack_rows(a, (first_row, rows), (first_inner, inner), &mut packed.a);
                    Rows::Across(&packed.a, TALL)
                };
                for (panel, b) in packed.b.chunks_exact(inner * WIDE).enumerate() {
                    let column = first_column + panel * WIDE;
                    let width = WIDE.min(n - column);
                    let c = &mut c[first_row * n + column..];
                    match &from {
                        Rows::Side(a) => rows_times_panel(*a, b, c, n, width),
                        Rows::Across(a, step) => tile(a, *step, b, c, n, (rows, width)),
                    }
                }
            }
        }
    }
}

/// Where [`TALL`] rows of a factor lie: each in one piece, or number k of all of them together, every so many numbers.
enum Rows<'a> {
    Side([&'a [f32]; TALL]),
    Across(&'a [f32], usize),
}

/// Panels of `WIDE` columns, padded with zeros, each row by row.
#[inline(always)]
fn pack_columns(
    b: View<'_>,
    (first_inner, inner): (usize, usize),
    (first_column, columns): (usize, usize),
    out: &mut Vec<f32>,
) {
    out.resize(columns.div_ceil(WIDE) * WIDE * inner, 0.0);
    if !columns.is_multiple_of(WIDE) {
        out.fill(0.0);
    }
    for (panel, to) in out.chunks_exact_mut(inner * WIDE).enumerate() {
        let column = first_column + panel * WIDE;
        let width = WIDE.min(first_column + columns - column);
        for (p, to) in to.chunks_exact_mut(WIDE).enumerate() {
            let start = (first_inner + p) * b.row + column * b.column;
            if b.column == 1 {
                to[..width].copy_from_slice(&b.values[start..start + width]);
            } else {
                for (to, from) in to[..width].iter_mut().zip(b.values[start..].iter().step_by(b.column)) {
                    *to = *from;
                }
            }
        }
    }
}

/// `TALL` rows, padded with zeros, column by column.
#[inline(always)]
fn pack_rows(a: View<'_>, (first_row, rows): (usize, usize), (first_inner, inner): (usize, usize), out: &mut Vec<f32>) {
    // Rows that are not there are zeros; the others are overwritten.
    out.resize(inner * TALL, 0.0);
    if rows < TALL {
        out.fill(0.0);
    }
    for row in 0..rows {
        let start = (first_row + row) * a.row + first_inner * a.column;
        for (to, from) in out[row..].iter_mut().step_by(TALL).zip(a.values[start..].iter().step_by(a.column)) {
            *to = *from;
        }
    }
}

/// One part of the product, in registers.
#[inline(always)]
fn tile(a: &[f32], step: usize, b: &[f32], c: &mut [f32], stride: usize, (rows, width): (usize, usize)) {
    let mut sums = [[0.0f32; WIDE]; TALL];
    for (row, sums) in sums.iter_mut().enumerate().take(rows) {
        load(&c[row * stride..row * stride + width], sums);
    }
    for (p, b) in b.as_chunks::<WIDE>().0.iter().enumerate() {
        let a = &a[p * step..p * step + TALL];
        for (a, sums) in a.iter().zip(&mut sums) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += a * b;
            }
        }
    }
    for (row, sums) in sums.iter().enumerate().take(rows) {
        store(sums, &mut c[row * stride..row * stride + width]);
    }
}

/// The sums that a row of a product begins with; a whole row has a length that the compiler knows.
#[inline(always)]
fn load(from: &[f32], sums: &mut [f32; WIDE]) {
    match <&[f32; WIDE]>::try_from(from) {
        Ok(whole) => *sums = *whole,
        Err(_) => sums[..from.len()].copy_from_slice(from),
    }
}

/// Writes the sums of a row of a product back.
#[inline(always)]
fn store(sums: &[f32; WIDE], to: &mut [f32]) {
    match <&mut [f32; WIDE]>::try_from(&mut *to) {
        Ok(whole) => *whole = *sums,
        Err(_) => to.copy_from_slice(&sums[..to.len()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn check((m, k, n): (usize, usize, usize), transposed: bool) {
        let mut random = Random::new(7);
        let mut numbers = |count: usize| (0..count).map(|_| random.signed()).collect::<Vec<_>>();
        let (a, b, start) = (numbers(m * k), numbers(k * n), numbers(m * n));
        let at = |row: usize, p: usize| if transposed { a[p * m + row] } else { a[row * k + p] };
        let of = |p: usize, column: usize| if transposed { b[column * k + p] } else { b[p * n + column] };
        let views = if transposed {
            (View::transposed(&a, m), View::transposed(&b, k))
        } else {
            (View::rows(&a, k), View::rows(&b, n))
        };
        let (mut c, mut plain) = (start.clone(), start.clone());
        multiply_add((m, k, n), views.0, views.1, &mut c, &mut Packed::default());
        multiply_add_plain((m, k, n), views.0, views.1, &mut plain, &mut Packed::default());
        for row in 0..m {
            for column in 0..n {
                let mut sum = start[row * n + column];
                for p in 0..k {
                    sum += at(row, p) * of(p, column);
                }
                assert_eq!(c[row * n + column].to_bits(), sum.to_bits(), "{m} {k} {n} at {row} {column}");
            }
        }
        assert_eq!(c, plain, "the same with and without wide registers");
        if !transposed {
            let (mut packed, mut prepared) = (Packed::default(), start.clone());
            packed.prepare(3, &b, (k, n));
            packed.prepared(3).expect("prepared").multiply_add(&a, &mut prepared);
            assert_eq!(c, prepared, "the same with a factor packed for good");
        }
    }

    #[test]
    fn products_have_the_bits_of_the_plain_loop() {
        for size in [
            (1, 1, 1),
            (6, 16, 16),
            (7, 300, 33),
            (13, 12, 1024),
            (1, 360, 500),
            (2, 12, 70),
            (30, 12, 12),
            (1, 7, 128),
            (5, 257, 259),
        ] {
            check(size, false);
            check(size, true);
        }
    }
}
