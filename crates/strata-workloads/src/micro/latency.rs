//! How long one memory operation takes: chains in which each address is what the operation before returned.

use super::{Facts, Micro, Rule, Unit};
use crate::Outcome;
use crate::check::exact;
use crate::gpu::Gpu;
use strata_host::HostError;

/// Hops per iteration of the kernels.
const HOPS: u32 = 16;
/// Atomic additions per iteration.
const ADDITIONS: u32 = 8;
/// Nodes of the chain in shared memory.
const SHARED_NODES: u32 = 256;

pub(super) const ALL: &[Micro] = &[
    Micro {
        name: "l1-latency",
        quantity: "L1 hit latency",
        unit: Unit::Cycles,
        shape: "one thread; ld.global.ca.u64, 16 hops per iteration, no arithmetic between; 512 nodes 8 B apart (4 KiB), \
                walked twice in N = 64 iterations",
        original: "l1_lat: one thread, 8 B apart, at most 32 KiB, 256 to 32 768 hops between two readings of the clock; \
                   which version wrote the log is unknown",
        rule: Rule::Latency(HOPS),
        iterations: |_| 64,
        run: |_, iterations, gpu| chase("chase_l1", Chain { nodes: 512, stride: 8, bytes: 4 << 10 }, iterations, gpu),
    },
    Micro {
        name: "l2-latency",
        quantity: "L2 hit latency",
        unit: Unit::Cycles,
        shape: "one thread; ld.global.cg.u64, 16 hops per iteration; 1024 nodes 32 B apart (32 KiB), walked twice in N = 128 \
                iterations, so that the mean is over many slices",
        original: "l2_lat: one thread, 8 B apart in 32 KiB, 32 768 hops",
        rule: Rule::Latency(HOPS),
        iterations: |_| 128,
        run: |_, iterations, gpu| {
            chase("chase_l2", Chain { nodes: 1024, stride: 32, bytes: 32 << 10 }, iterations, gpu)
        },
    },
    Micro {
        name: "l2-latency-after-copy",
        quantity: "first read after a host-to-device copy",
        unit: Unit::Cycles,
        shape: "one thread; ld.global.cg.u64; 8192 nodes 128 B apart (1 MiB), each visited at most once (N = 256 iterations of \
                16 hops): a hit is a line that the copy left in L2",
        original: "the log says that a read right after cudaMemcpy takes 214 cycles; how much was read is unknown",
        rule: Rule::Latency(HOPS),
        iterations: |_| 256,
        run: |_, iterations, gpu| {
            chase("chase_l2", Chain { nodes: 8192, stride: 128, bytes: 1 << 20 }, iterations, gpu)
        },
    },
    Micro {
        name: "dram-latency",
        quantity: "DRAM latency (L2 miss, idle)",
        unit: Unit::Cycles,
        shape: "one thread; ld.global.cg.u64; nodes 32 B apart at the beginning of an array of twice L2, whose end the copy \
                left in L2; each visited once (N = 512 iterations of 16 hops, 512 KiB for 2N): neighbouring sectors, so \
                rows are mostly open",
        original: "mem_lat: four threads that read one 32 B sector together, sectors in sequence over 256 KiB of an array \
                   larger than L2, ld.global.cv",
        rule: Rule::Latency(HOPS),
        iterations: |_| 512,
        run: |facts, iterations, gpu| {
            let chain = Chain { nodes: 16_384, stride: 32, bytes: (2 * facts.l2_bytes).max(1 << 20) };
            chase("chase_l2", chain, iterations, gpu)
        },
    },
    Micro {
        name: "dram-latency-far",
        quantity: "DRAM latency, another row every time",
        unit: Unit::Cycles,
        shape: "as dram-latency, but 1024 nodes spread over twice L2, at the beginning of an array of four times L2 (N = 32 \
                iterations of 16 hops)",
        original: "none: shows what a row that must be opened adds",
        rule: Rule::Latency(HOPS),
        iterations: |_| 32,
        run: |facts, iterations, gpu| {
            let stride = (2 * facts.l2_bytes / 1024).next_multiple_of(32).max(4096);
            chase("chase_l2", Chain { nodes: 1024, stride, bytes: 2 * 1024 * stride }, iterations, gpu)
        },
    },
    Micro {
        name: "shared-latency",
        quantity: "shared-memory latency",
        unit: Unit::Cycles,
        shape: "one thread; ld.shared.u32, 16 hops per iteration; 256 nodes 4 B apart, written by the thread itself; N = 64",
        original: "shared_lat: one thread along a chain in shared memory; stride and unrolling unknown",
        rule: Rule::Latency(HOPS),
        iterations: |_| 64,
        run: |_, iterations, gpu| {
            let last = gpu.array::<u32>("last", 1)?;
            gpu.launch("chase_shared", 1, 1, &[last.into(), (iterations as i32).into()])?;
            Ok(exact("ends of chains", &gpu.read(last)?, &[iterations * HOPS % SHARED_NODES]))
        },
    },
    Micro {
        name: "atomic-latency",
        quantity: "atomic addition latency (L2)",
        unit: Unit::Cycles,
        shape: "one thread; atomicAdd of 0 to 32-bit integers, 8 per iteration, each at the index that the one before \
                returned (its address is computed from that); 4096 nodes 4 B apart, copied in; N = 256",
        original: "Atomic_add_lat: one thread, 4096 dependent atomicAdd of 10 in an array of 4096 integers that starts as a \
                   chain of neighbours",
        rule: Rule::Latency(ADDITIONS),
        iterations: |_| 256,
        run: atomics,
    },
    Micro {
        name: "kernel-launch",
        quantity: "launch of an empty kernel",
        unit: Unit::Cycles,
        shape: "one thread that does nothing; the cycles of the launch",
        original: "the log gives the time between back-to-back launches of an empty kernel",
        rule: Rule::Launch,
        iterations: |_| 1,
        run: |_, _, gpu| {
            gpu.launch("empty", 1, 1, &[])?;
            Ok(Outcome { passed: true, checked: "nothing to check".to_owned() })
        },
    },
];

/// A ring of nodes at the beginning of an array.
#[derive(Clone, Copy)]
struct Chain {
    nodes: u64,
    /// Bytes from node to node, a multiple of 8.
    stride: u64,
    /// Bytes of the whole array, all of them copied in.
    bytes: u64,
}

fn chase(kernel: &str, chain: Chain, iterations: u32, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const WORD: u64 = 8;
    let array = gpu.array::<u64>("nodes", (chain.bytes / WORD) as usize)?;
    let node = |number: u64| array.address().0 + number % chain.nodes * chain.stride;
    let mut words = vec![0; (chain.bytes / WORD) as usize];
    for number in 0..chain.nodes {
        words[(number * chain.stride / WORD) as usize] = node(number + 1);
    }
    let last = gpu.array::<u64>("last", 1)?;
    gpu.write(array, &words)?;
    gpu.launch(kernel, 1, 1, &[node(0).into(), last.into(), (iterations as i32).into()])?;
    Ok(exact("ends of chains", &gpu.read(last)?, &[node(u64::from(iterations * HOPS))]))
}

fn atomics(_: &Facts, iterations: u32, gpu: &mut Gpu<'_>) -> Result<Outcome, HostError> {
    const NODES: i32 = 4096;
    let next: Vec<i32> = (1..=NODES).map(|node| node % NODES).collect();
    let last = gpu.array::<i32>("last", 1)?;
    let array = gpu.array_of("next", &next)?;
    let args = [array.into(), last.into(), 0.into(), (iterations as i32).into()];
    gpu.launch("chain_atomic", 1, 1, &args)?;
    let expected = (iterations * ADDITIONS) as i32 % NODES;
    Ok(exact("ends of chains", &gpu.read(last)?, &[expected]).and(&exact("links", &gpu.read(array)?, &next)))
}
