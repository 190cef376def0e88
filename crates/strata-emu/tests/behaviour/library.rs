//! Cooperative groups, libcu++ and the mathematical library, compiled, against what plain Rust says.

use crate::args;
use crate::machine::Machine;

#[test]
fn tiles_and_coalesced_groups() {
    let input: Vec<i32> = (0..64).map(|i| i * 37 % 101).collect();
    let mut m = Machine::load("library");
    let (data, out) = (m.buffer("in", &input), m.buffer("out", &[0i32; 6 * 64]));
    m.run("tiles", 1, 64, args![data, out]);
    for (i, got) in m.read::<i32>(out, 6 * 64).chunks(6).enumerate() {
        let tile = &input[i / 8 * 8..][..8];
        let bits = |f: &dyn Fn(i32) -> bool| {
            tile.iter().enumerate().filter(|(_, v)| f(**v)).fold(0, |all, (k, _)| all | 1 << k)
        };
        let v = input[i];
        assert_eq!(got[0], tile.iter().sum::<i32>(), "sum, thread {i}");
        assert_eq!(got[1], bits(&|v| v % 2 != 0), "ballot, thread {i}");
        let (any, all) = (tile.iter().any(|&v| v > 90), tile.iter().all(|&v| v > 5));
        assert_eq!(got[2], i32::from(any) * 2 + i32::from(all), "any and all, thread {i}");
        assert_eq!(got[3], bits(&|w| w % 3 == v % 3), "match, thread {i}");
        assert_eq!(got[4], input[if i % 8 == 7 { i } else { i + 1 }], "shuffle, thread {i}");
        let warp = i / 32 * 32;
        let odd: Vec<usize> = (warp..warp + 32).filter(|&k| input[k] % 2 != 0).collect();
        let group = odd.iter().position(|&k| k == i).map_or(0, |rank| odd.len() * 100 + rank + 10000 * odd[0]);
        assert_eq!(got[5], group as i32, "coalesced group, thread {i}");
    }
}

#[test]
fn aggregated_atomics_keep_every_element() {
    let input: Vec<i32> = (0..300).map(|i| i * 11 % 97).collect();
    let mut m = Machine::load("library");
    let (data, next) = (m.buffer("in", &input), m.buffer("next", &[0i32]));
    let kept = m.buffer("kept", &[0i32; 300]);
    m.run("aggregated", 3, 100, args![data, next, kept]);
    let expected: Vec<i32> = input.into_iter().filter(|v| v % 3 == 0).collect();
    assert_eq!(m.read::<i32>(next, 1), [expected.len() as i32]);
    // Blocks, warps and lanes take their turn in order here.
    assert_eq!(m.read::<i32>(kept, expected.len()), expected);
}

#[test]
fn atomic_references() {
    let mut m = Machine::load("library");
    let counters = m.buffer("counters", &[0i32, 0, 0, 0, -1, 0, 4, 0, 0, 0]);
    let sum = m.buffer("sum", &[0f64]);
    m.run("atomics", 2, 40, args![counters, sum]);
    let got = m.read::<i32>(counters, 10);
    assert_eq!(got[..4], [160, 117, 77, 1]);
    assert_eq!(got[4], 0);
    assert_eq!(got[5], 0, "twice the same numbers");
    // 4, 3, 2, 1, 0, then nine down to zero again and again.
    assert_eq!(got[6], 4);
    assert_eq!(m.read::<i64>(counters.offset(32), 1), [-39i64 << 33]);
    assert_eq!(m.read::<f64>(sum, 1), [20.0]);
}

#[test]
fn barriers_of_libcu_have_phases() {
    let mut m = Machine::load("library");
    let out = m.buffer("out", &[0i32; 96]);
    m.run("phases", 1, 96, args![out]);
    let mut v: Vec<i32> = (0..96).collect();
    for _ in 0..5 {
        v = (0..96).map(|i| v[i] + v[(i + 7) % 96]).collect();
    }
    assert_eq!(m.read::<i32>(out, 96), v);
}

/// Rounds to a binary format with `bits` of significand, nearest even; values here are normal in it.
fn rounded(v: f64, bits: i32) -> f64 {
    if v == 0.0 {
        return v;
    }
    let scale = 2f64.powi(bits - 1 - v.abs().log2().floor() as i32);
    (v * scale).round_ties_even() / scale
}

#[test]
fn half_precision() {
    let input: Vec<f32> = (0..64).map(|i| ((i * 29 % 64) as f32 - 31.0) * 0.37 + 0.01).collect();
    let mut m = Machine::load("library");
    let (data, out) = (m.buffer("in", &input), m.buffer("out", &[0f32; 8 * 32]));
    m.run("halves", 1, 32, args![data, out]);
    for (i, got) in m.read::<f32>(out, 8 * 32).chunks(8).enumerate() {
        let (x, y) = (f64::from(input[2 * i]), f64::from(input[2 * i + 1]));
        let h = |v: f64| rounded(v, 11);
        let bf = |v: f64| rounded(v, 8);
        let (a, b, c, d) = (h(x), h(y), bf(x), bf(y));
        let expected = [
            h(a + b),
            h(a * b - a),
            h(a * b + a),
            h(b * b + a),
            bf(c + d),
            bf(c * d - c),
            if a < b { h(a.abs().sqrt()) } else { a.max(b) },
            a.round_ties_even() + b.abs().trunc(),
        ];
        for (k, (&got, want)) in got.iter().zip(expected).enumerate() {
            // The compiler may fuse a product and a difference, or not: both roundings are right.
            let unfused = match k {
                1 => h(h(a * b) - a),
                5 => bf(bf(c * d) - c),
                _ => want,
            };
            assert!(f64::from(got) == want || f64::from(got) == unfused, "value {k} of thread {i}: {got}, not {want}");
        }
    }
}

/// The error function by its Taylor series.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// The logarithm of the gamma function by Stirling's series, after shifting the argument up.
fn ln_gamma(x: f64) -> f64 {
    let (mut z, mut shift) = (x, 0.0);
    while z < 20.0 {
        shift += z.ln();
        z += 1.0;
    }
    let series = 1.0 / (12.0 * z) - 1.0 / (360.0 * z.powi(3)) + 1.0 / (1260.0 * z.powi(5)) - 1.0 / (1680.0 * z.powi(7));
    (z - 0.5) * z.ln() - z + (2.0 * std::f64::consts::PI).ln() / 2.0 + series - shift
}

#[test]
fn double_precision_functions() {
    let input: Vec<f64> = (0..64).map(|i| (f64::from(i) - 31.7) * 0.09).collect();
    let mut m = Machine::load("library");
    let (data, out) = (m.buffer("in", &input), m.buffer("out", &[0f64; 8 * 64]));
    m.run("doubles", 1, 64, args![data, out]);
    for (got, v) in m.read::<f64>(out, 8 * 64).chunks(8).zip(input) {
        let a = v.abs();
        let want = [v.sin(), v.exp(), a.powf(1.7), erf(v), ln_gamma(a + 0.5), v.cbrt(), v.atan2(2.0), a.ln_1p()];
        for (k, (&got, want)) in got.iter().zip(want).enumerate() {
            // The reference of the gamma function subtracts numbers much larger than its result.
            let tolerance = if k == 4 { 1e-13 } else { 4e-14 * want.abs() };
            assert!((got - want).abs() <= tolerance, "function {k} of {v}: {got}, not {want}");
        }
    }
}

#[test]
fn single_precision_functions() {
    let input: Vec<f32> = (0..64).map(|i| (i as f32 - 31.7) * 0.11).collect();
    let mut m = Machine::load("library");
    let (data, out) = (m.buffer("in", &input), m.buffer("out", &[0f32; 8 * 64]));
    m.run("floats", 1, 64, args![data, out]);
    for (got, v) in m.read::<f32>(out, 8 * 64).chunks(8).zip(input) {
        let (x, a) = (f64::from(v), f64::from(v.abs()));
        let thousandfold = f64::from(v * 1000.0);
        let want = [
            thousandfold.sin(),
            x.exp(),
            a.powf(f64::from(1.7f32)),
            x.tan(),
            x / f64::from(3.7f32),
            a.sqrt(),
            x % f64::from(0.3f32),
            a.ln(),
        ];
        for (k, (&got, want)) in got.iter().zip(want).enumerate() {
            let error = (f64::from(got) - want).abs();
            assert!(error <= 4e-7 * want.abs().max(4e-7), "function {k} of {v}: {got}, not {want}");
        }
        assert_eq!((got[4], got[5], got[6]), (v / 3.7, v.abs().sqrt(), v % 0.3), "exact operations of {v}");
    }
}

#[test]
fn sixty_four_bit_integers() {
    let pairs: Vec<i64> = (0..64u64)
        .flat_map(|i| {
            let a = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
            let b = ((i + 1).wrapping_mul(0xd1b5_4a32_d192_ed03) >> (i % 60)) as i64 | 1;
            [a, if i % 3 == 0 { -b } else { b }]
        })
        .collect();
    let mut m = Machine::load("library");
    let (data, out) = (m.buffer("in", &pairs), m.buffer("out", &[0i64; 6 * 64]));
    m.run("wide_integers", 1, 64, args![data, out]);
    let expected: Vec<i64> = pairs
        .chunks(2)
        .flat_map(|p| {
            let (a, b, ua, ub) = (p[0], p[1], p[0] as u64, p[1] as u64);
            let product = i128::from(a) * i128::from(b);
            [a / b, a % b, (ua / ub) as i64, (ua % ub) as i64, (product >> 64) as i64, (product >> 17) as i64]
        })
        .collect();
    assert_eq!(m.read::<i64>(out, 6 * 64), expected);
}

#[test]
fn mandelbrot_with_complex_numbers() {
    let mut m = Machine::load("library");
    let out = m.buffer("out", &[0i32; 64 * 16]);
    m.run("mandelbrot", (2, 16), 32, args![out, 60]);
    let expected: Vec<i32> = (0..16)
        .flat_map(|y| {
            (0..64).map(move |x| {
                let (cr, ci) = (f64::from(x).mul_add(3.0 / 64.0, -2.0), f64::from(y).mul_add(2.0 / 16.0, -1.0));
                let (mut zr, mut zi, mut n) = (0f64, 0f64, 0);
                while n < 60 && zr * zr + zi * zi < 4.0 {
                    (zr, zi) = (zr * zr - zi * zi + cr, 2.0 * zr * zi + ci);
                    n += 1;
                }
                n
            })
        })
        .collect();
    let got = m.read::<i32>(out, 64 * 16);
    // Points at the edge may differ by the rounding of fused operations.
    let different = got.iter().zip(&expected).filter(|(a, b)| a != b).count();
    assert!(different <= 3, "{different} points differ");
}

#[test]
fn counter_based_random_numbers() {
    let mut m = Machine::load("library");
    let out = m.buffer("out", &[0u32; 4 * 128]);
    m.run("philox", 2, 64, args![out, 0xdead_beefu32, 17u32]);
    let expected: Vec<u32> = (0..128)
        .flat_map(|i| {
            let (mut c, mut k) = ([i, 0, 7, 0], [0xdead_beefu32, 17]);
            for _ in 0..10 {
                let (p0, p1) = (0xD251_1F53u64 * u64::from(c[0]), 0xCD9E_8D57u64 * u64::from(c[2]));
                c = [(p1 >> 32) as u32 ^ c[1] ^ k[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k[1], p0 as u32];
                k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
            }
            c
        })
        .collect();
    assert_eq!(m.read::<u32>(out, 4 * 128), expected);
}
