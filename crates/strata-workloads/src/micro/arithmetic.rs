//! How long one arithmetic operation takes, and how many a multiprocessor does at once.
//!
//! Latency and throughput have one kernel: 64 operations per iteration, each on the result of the one before. One thread
//! shows the latency; 1024 threads (32 warps, eight for each of four schedulers) hide it and show the throughput.

use super::{BLOCK, Facts, Micro, Rule, Unit};
use crate::Outcome;
use crate::check::{Tolerance, close, exact};
use crate::gpu::{Gpu, Word};
use std::fmt::Debug;
use strata_host::{Arg, HostError};

/// Operations per iteration and thread.
const OPERATIONS: u32 = 64;
/// N: long enough that the launch's ragged beginning and end do not show.
const ITERATIONS: u32 = 64;

const LATENCY_SHAPE: &str = "one thread; 64 dependent operations per iteration, N = 64";
const RATE_SHAPE: &str = "one block of 1024 threads on one multiprocessor; 64 dependent operations per iteration and thread, \
                          N = 64; rate = operations of all lanes / cycles";
const LATENCY_ORIGINAL: &str =
    "one thread, 4 dependent operations in a loop of 1024 or 4096, between two readings of the clock";
const RATE_ORIGINAL: &str = "one block of 1024 threads, otherwise as the latency; only the clock of thread 0 was read";

pub(super) const ALL: &[Micro] = &[
    latency("fp32-latency", "fp32 multiply-add latency", |_, n, gpu| add_ones(F32, 1, n, gpu)),
    latency("int32-latency", "int32 multiply-add latency", |_, n, gpu| add_ones(I32, 1, n, gpu)),
    latency("fp64-latency", "fp64 multiply-add latency", |_, n, gpu| add_ones(F64, 1, n, gpu)),
    latency("fp16x2-latency", "fp16x2 multiply-add latency", |_, n, gpu| add_ones(F16X2, 1, n, gpu)),
    latency("sfu-latency", "fast square root latency", |_, n, gpu| roots(1, n, gpu)),
    Micro {
        unit: Unit::FlopsPerCyclePerSm,
        rule: Rule::Rate(|_| f64::from(2 * OPERATIONS * BLOCK)),
        ..throughput("fp32-throughput", "fp32 multiply-add throughput", |_, n, gpu| add_ones(F32, BLOCK, n, gpu))
    },
    throughput("int32-throughput", "int32 multiply-add throughput", |_, n, gpu| add_ones(I32, BLOCK, n, gpu)),
    throughput("fp64-throughput", "fp64 multiply-add throughput", |_, n, gpu| add_ones(F64, BLOCK, n, gpu)),
    throughput("fp16x2-throughput", "fp16x2 multiply-add throughput", |_, n, gpu| add_ones(F16X2, BLOCK, n, gpu)),
    throughput("sfu-throughput", "fast square root throughput", |_, n, gpu| roots(BLOCK, n, gpu)),
];

type Run = fn(&Facts, u32, &mut Gpu<'_>) -> Result<Outcome, HostError>;

const fn latency(name: &'static str, quantity: &'static str, run: Run) -> Micro {
    Micro {
        name,
        quantity,
        unit: Unit::Cycles,
        shape: LATENCY_SHAPE,
        original: LATENCY_ORIGINAL,
        rule: Rule::Latency(OPERATIONS),
        iterations: |_| ITERATIONS,
        run,
    }
}

const fn throughput(name: &'static str, quantity: &'static str, run: Run) -> Micro {
    Micro {
        name,
        quantity,
        unit: Unit::OperationsPerCyclePerSm,
        shape: RATE_SHAPE,
        original: RATE_ORIGINAL,
        rule: Rule::Rate(|_| f64::from(OPERATIONS * BLOCK)),
        iterations: |_| ITERATIONS,
        run,
    }
}

/// A kernel that adds 1 times 1 with every operation.
struct Ones<T> {
    kernel: &'static str,
    one: T,
    /// The sum of so many ones, as the type rounds it.
    sum: fn(u32) -> T,
}

const F32: &Ones<f32> = &Ones { kernel: "arithmetic_f32", one: 1.0, sum: |ones| ones as f32 };
const F64: &Ones<f64> = &Ones { kernel: "arithmetic_f64", one: 1.0, sum: f64::from };
const I32: &Ones<i32> = &Ones { kernel: "arithmetic_i32", one: 1, sum: |ones| ones as i32 };
const F16X2: &Ones<u32> = &Ones { kernel: "arithmetic_f16x2", one: 0x3c00_3c00, sum: halves };

/// A pair of half-precision sums of so many ones: from 2048 on one more is lost in rounding.
fn halves(ones: u32) -> u32 {
    const EXPONENT_BIAS: u32 = 15;
    let sum = ones.min(2048);
    let half =
        sum.checked_ilog2().map_or(0, |exponent| (exponent + EXPONENT_BIAS) << 10 | (sum << 10 >> exponent) & 0x3ff);
    half << 16 | half
}

fn add_ones<T>(of: &Ones<T>, threads: u32, iterations: u32, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError>
where
    T: Word + Into<Arg> + PartialEq + Debug,
{
    let out = gpu.array::<T>("out", threads as usize)?;
    let args = [out.into(), of.one.into(), of.one.into(), (iterations as i32).into()];
    gpu.launch(of.kernel, 1, threads, &args)?;
    let expected = (of.sum)(iterations * OPERATIONS);
    Ok(exact("sums", &gpu.read(out)?, &vec![expected; threads as usize]))
}

/// The root of 1, again and again.
fn roots(threads: u32, iterations: u32, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    /// What an approximate root may be off.
    const TOLERANCE: Tolerance = Tolerance { limit: 1e-5, scale: 1.0 };
    let out = gpu.array::<f32>("out", threads as usize)?;
    gpu.launch("arithmetic_sqrt", 1, threads, &[out.into(), 1.0f32.into(), (iterations as i32).into()])?;
    Ok(close("roots", &gpu.read(out)?, &vec![1.0; threads as usize], TOLERANCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_halves() {
        assert_eq!(halves(0), 0);
        assert_eq!(halves(1), 0x3c00_3c00);
        // 2 is 0x4000, 3 is 0x4200, 2047 is 0x67ff, 2048 is 0x6800.
        assert_eq!([2, 3, 2047, 2048, 5000].map(|n| halves(n) & 0xffff), [0x4000, 0x4200, 0x67ff, 0x6800, 0x6800]);
    }
}
