//! Block- and warp-level algorithms, compiled, against what plain Rust says.

use crate::args;
use crate::machine::Machine;

/// A sequence without pattern.
fn noise(n: usize, seed: u32) -> Vec<u32> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            state >> 4
        })
        .collect()
}

#[test]
fn block_radix_sort() {
    let keys = noise(1024, 1);
    let values: Vec<i32> = (0..1024).collect();
    let mut m = Machine::load("blocks");
    let (a, b) = (m.buffer("keys", &keys), m.buffer("values", &values));
    let (sorted, moved) = (m.buffer("sorted", &[0u32; 1024]), m.buffer("moved", &[0i32; 1024]));
    m.run("radix_sort", 2, 128, args![a, sorted, b, moved]);
    let expected: Vec<(u32, i32)> = (keys.chunks(512).zip(values.chunks(512)))
        .flat_map(|(k, v)| {
            let mut pairs: Vec<_> = k.iter().copied().zip(v.iter().copied()).collect();
            pairs.sort_by_key(|p| p.0);
            pairs
        })
        .collect();
    let got = m.read::<u32>(sorted, 1024).into_iter().zip(m.read::<i32>(moved, 1024));
    assert_eq!(got.collect::<Vec<_>>(), expected);
}

#[test]
fn block_scan_and_reduction() {
    let input: Vec<i32> = noise(384, 2).iter().map(|v| (v % 2001) as i32 - 1000).collect();
    let mut m = Machine::load("blocks");
    let (data, scanned) = (m.buffer("in", &input), m.buffer("scanned", &[0i32; 384]));
    let (total, largest) = (m.buffer("total", &[0i32; 3]), m.buffer("largest", &[0i32; 3]));
    m.run("scan_and_reduce", 3, 128, args![data, scanned, total, largest]);
    let before: Vec<i32> =
        input.chunks(128).flat_map(|c| c.iter().scan(0, |sum, v| Some(std::mem::replace(sum, *sum + v)))).collect();
    assert_eq!(m.read::<i32>(scanned, 384), before);
    assert_eq!(m.read::<i32>(total, 3), input.chunks(128).map(|c| c.iter().sum()).collect::<Vec<i32>>());
    assert_eq!(m.read::<i32>(largest, 3), input.chunks(128).map(|c| *c.iter().max().unwrap()).collect::<Vec<_>>());
}

#[test]
fn warp_reduction_scan_and_merge_sort() {
    let input: Vec<i32> = noise(128, 3).iter().map(|v| (v % 1000) as i32 + 1).collect();
    let mut m = Machine::load("blocks");
    let (data, sums) = (m.buffer("in", &input), m.buffer("sums", &[0i32; 16]));
    let (prefix, merged) = (m.buffer("prefix", &[0i32; 128]), m.buffer("merged", &[0i32; 256]));
    m.run("warp_primitives", 1, 128, args![data, sums, prefix, merged]);
    assert_eq!(m.read::<i32>(sums, 16), input.chunks(8).map(|c| c.iter().sum()).collect::<Vec<i32>>());
    let running: Vec<i32> = input
        .chunks(32)
        .flat_map(|c| {
            c.iter().scan(0, |sum, v| {
                *sum += v;
                Some(*sum)
            })
        })
        .collect();
    assert_eq!(m.read::<i32>(prefix, 128), running);
    let sorted: Vec<i32> = input
        .chunks(32)
        .flat_map(|c| {
            let mut both: Vec<i32> = c.iter().flat_map(|&v| [v, -v]).collect();
            both.sort_unstable();
            both
        })
        .collect();
    assert_eq!(m.read::<i32>(merged, 256), sorted);
}

#[test]
fn histogram_of_bytes() {
    let input: Vec<u8> = noise(5000, 4).iter().map(|&v| (v >> 8) as u8 & 0x3f).collect();
    let mut m = Machine::load("blocks");
    let (data, bins) = (m.buffer("in", &input), m.buffer("bins", &[0u32; 256]));
    m.run("histogram", 4, 96, args![data, bins, 5000]);
    let mut expected = vec![0u32; 256];
    for &b in &input {
        expected[usize::from(b)] += 1;
    }
    assert_eq!(m.read::<u32>(bins, 256), expected);
}

#[test]
fn bitonic_sort_in_shared_memory() {
    let mut input: Vec<f32> = noise(256, 5).iter().map(|&v| v as f32 - 1e8).collect();
    let mut m = Machine::load("blocks");
    m.options.shared = 1024;
    let data = m.buffer("data", &input);
    m.run("bitonic_sort", 1, 256, args![data]);
    input.sort_by(f32::total_cmp);
    assert_eq!(m.read::<f32>(data, 256), input);
}

#[test]
fn tiled_transpose() {
    let (width, height) = (45usize, 70usize);
    let input: Vec<f64> = (0..width * height).map(|v| v as f64 * 0.5).collect();
    let mut m = Machine::load("blocks");
    let (data, out) = (m.buffer("in", &input), m.buffer("out", &vec![0f64; width * height]));
    m.run("transpose", (3, 5), (16, 16), args![data, out, width as i32, height as i32]);
    let expected: Vec<f64> = (0..width).flat_map(|x| (0..height).map(move |y| (y * width + x) as f64 * 0.5)).collect();
    assert_eq!(m.read::<f64>(out, width * height), expected);
}
