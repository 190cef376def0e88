//! How much can be read at once from each level of the memory hierarchy.

use super::{BLOCK, Facts, Micro, Rule, Unit};
use crate::Outcome;
use crate::check::exact;
use crate::gpu::{Array, Gpu};
use strata_host::HostError;

/// Values that the arrays repeat: sums of them are exact in single precision.
const PERIOD: usize = 8;
/// Loads of 32 bits per iteration and thread, from L1 and from shared memory.
const LOADS: usize = 8;
/// Loads per iteration and thread of the other kernels.
const WIDE_LOADS: usize = 4;
/// Values between two loads of a thread: a warp's row of 32 words.
const ROW: usize = 32;
/// Values in a load of 128 bits.
const VECTOR: usize = 4;

pub(super) const ALL: &[Micro] = &[
    Micro {
        name: "l1-bandwidth-32",
        quantity: "L1 bandwidth, 32-bit loads",
        unit: Unit::BytesPerCyclePerSm,
        shape: "one block of 1024 threads on one multiprocessor; 8 independent ld.global.ca.f32 per iteration and thread, 128 B \
                apart, then 8 additions; a block reads the same 5 KiB in every iteration, N = 128",
        original: "l1_bw_32f: 1024 or 2048 threads per multiprocessor, one load and one addition per turn of a loop that the \
                   compiler unrolled, 64 KiB or more in all; which version wrote the log is unknown",
        rule: Rule::Rate(|_| (BLOCK as usize * LOADS * 4) as f64),
        iterations: |_| 128,
        run: |_, iterations, gpu| {
            let at = |thread, load| thread + load * ROW;
            let data = values(gpu, at(BLOCK as usize, LOADS))?;
            read("read_l1", Some(data), 1, iterations, gpu, |thread| {
                f64::from(iterations) * sum((0..LOADS).map(|load| at(thread, load)))
            })
        },
    },
    Micro {
        name: "l1-bandwidth-128",
        quantity: "L1 bandwidth, 128-bit loads",
        unit: Unit::BytesPerCyclePerSm,
        shape: "one block of 1024 threads on one multiprocessor; 4 independent ld.global.ca.v4.f32 per iteration and thread, \
                512 B apart, then 16 additions; a block reads the same 18 KiB in every iteration, N = 64",
        original: "l1_bw_128: 2048 threads per multiprocessor, one vector load and four additions per turn; the array of the \
                   public version is larger than L1, what the log used is unknown",
        rule: Rule::Rate(|_| (BLOCK as usize * WIDE_LOADS * VECTOR * 4) as f64),
        iterations: |_| 64,
        run: |_, iterations, gpu| {
            let at = |thread, load| (thread + load * ROW) * VECTOR;
            let data = values(gpu, at(BLOCK as usize, WIDE_LOADS))?;
            read("read_l1_vector", Some(data), 1, iterations, gpu, |thread| {
                f64::from(iterations)
                    * sum((0..WIDE_LOADS).flat_map(|load| at(thread, load)..at(thread, load) + VECTOR))
            })
        },
    },
    Micro {
        name: "shared-bandwidth",
        quantity: "shared-memory bandwidth",
        unit: Unit::BytesPerCyclePerSm,
        shape: "one block of 1024 threads on one multiprocessor; 8 independent ld.shared.f32 per iteration and thread, without \
                bank conflicts, then 8 additions; N = 128",
        original: "shared_bw: one block of 1024 threads, four neighbouring words per turn and thread; how the compiler joined \
                   them is unknown",
        rule: Rule::Rate(|_| (BLOCK as usize * LOADS * 4) as f64),
        iterations: |_| 128,
        run: |_, iterations, gpu| {
            read("read_shared", None, 1, iterations, gpu, |thread| {
                f64::from(iterations) * sum((0..LOADS).map(|load| thread + load * ROW))
            })
        },
    },
    Micro {
        name: "l2-bandwidth",
        quantity: "L2 bandwidth",
        unit: Unit::BytesPerCycle,
        shape: "blocks of 1024 threads on all multiprocessors, as many as they hold; 4 independent ld.global.cg.f32 per iteration \
                and thread, 128 B apart, the next iteration 512 B further; 4 B per thread and 16 KiB in all, copied in; N = 16",
        original: "l2_bw_32f: 2048 threads on each of 80 multiprocessors, one load and one addition per turn, each turn 128 B \
                   further, 2048 turns",
        rule: Rule::Rate(|facts| (threads(facts) * WIDE_LOADS * 4) as f64),
        iterations: |_| 16,
        run: |facts, iterations, gpu| {
            let turns = iterations as usize * WIDE_LOADS;
            let data = values(gpu, threads(facts) + turns * ROW)?;
            read("read_l2", Some(data), blocks(facts), iterations, gpu, |thread| {
                sum((0..turns).map(|turn| thread + turn * ROW))
            })
        },
    },
    Micro {
        name: "dram-bandwidth",
        quantity: "DRAM bandwidth, streaming read",
        unit: Unit::BytesPerCycle,
        shape: "blocks of 1024 threads on all multiprocessors, as many as they hold; 4 independent loads of 128 bits per iteration \
                and thread, each a whole grid after the one before; every byte is read once; the array is what 2N iterations \
                read, at least eight times L2, so its beginning is not in L2 after the copy",
        original: "mem_bw: 2048 threads on each of 80 multiprocessors add five arrays of 32 MiB into a sixth with 128-bit \
                   accesses, read with a profiler; the table calls its value a plain streaming read, whose kernel is unknown",
        rule: Rule::Rate(|facts| (threads(facts) * WIDE_LOADS * VECTOR * 4) as f64),
        iterations: dram_iterations,
        run: |facts, iterations, gpu| {
            let threads = threads(facts);
            let turns = WIDE_LOADS * iterations as usize;
            // The whole array even for N iterations: what the copy leaves in L2 must lie beyond what is read.
            let data = values(gpu, 2 * dram_iterations(facts) as usize * WIDE_LOADS * threads * VECTOR)?;
            let at = |thread, turn| (thread + turn * threads) * VECTOR;
            read("read_dram", Some(data), blocks(facts), iterations, gpu, |thread| {
                sum((0..turns).flat_map(|turn| at(thread, turn)..at(thread, turn) + VECTOR))
            })
        },
    },
];

/// Blocks that fill all multiprocessors.
fn blocks(facts: &Facts) -> u32 {
    facts.sms * (facts.threads_per_sm / BLOCK).max(1)
}

fn threads(facts: &Facts) -> usize {
    blocks(facts) as usize * BLOCK as usize
}

/// As many as read four times L2, and at least three.
fn dram_iterations(facts: &Facts) -> u32 {
    let bytes = (threads(facts) * WIDE_LOADS * VECTOR * 4) as u64;
    (4 * facts.l2_bytes).div_ceil(bytes).max(3) as u32
}

/// An array of small whole numbers.
fn values(gpu: &mut Gpu<'_>, len: usize) -> Result<Array<f32>, HostError> {
    let values: Vec<f32> = (0..len).map(|i| (i % PERIOD) as f32).collect();
    gpu.array_of("data", &values)
}

/// The sum of the values at these places.
fn sum(places: impl Iterator<Item = usize>) -> f64 {
    places.map(|place| (place % PERIOD) as f64).sum()
}

/// Launches a kernel that reads, and compares every thread's sum.
fn read(
    kernel: &str,
    data: Option<Array<f32>>,
    grid: u32,
    iterations: u32,
    gpu: &mut Gpu<'_>,
    expected: impl Fn(usize) -> f64,
) -> Result<Outcome, HostError> {
    let threads = grid as usize * BLOCK as usize;
    let out = gpu.array::<f32>("out", threads)?;
    let args: Vec<_> = data.map(Into::into).into_iter().chain([out.into(), (iterations as i32).into()]).collect();
    gpu.launch(kernel, grid, BLOCK, &args)?;
    let expected: Vec<f32> = (0..threads).map(|thread| expected(thread) as f32).collect();
    Ok(exact("sums", &gpu.read(out)?, &expected))
}
