//! Programs on a machine with time: right results, the same cycles every time, latencies as the card measured them.

use strata_host::{Device, HostError};
use strata_lab::silicon::Silicon;
use strata_lab::{EngineOptions, engine, gpus};
use strata_sim::config::GpuConfig;
use strata_workloads::micro::{self, Facts};
use strata_workloads::{Size, find};

fn titan_v() -> GpuConfig {
    gpus::gpu("titan-v", &[""; 0]).expect("a preset").config
}

fn device(gpu: &GpuConfig) -> Result<Device, HostError> {
    let options = EngineOptions::plain(&[]);
    Ok(Device::new(engine::timed(options, gpu.clone())?))
}

/// Cycles of each launch.
fn cycles(name: &str, gpu: &GpuConfig) -> Vec<u64> {
    let mut device = device(gpu).expect("a device");
    let workload = find(name).expect("a workload");
    let outcome = workload.run(Size::Tiny, 1, &mut device).expect("it runs");
    assert!(outcome.passed, "{name}: {}", outcome.checked);
    device.launches().iter().map(|(_, report)| report.cycles.expect("a clock")).collect()
}

#[test]
fn programs_are_right_and_take_the_same_time_twice() {
    let gpu = titan_v();
    let empty = u64::from(gpu.launch.before + gpu.launch.after);
    for name in ["hotspot", "bfs", "backprop", "nw", "matmul-tiled", "pagerank"] {
        let first = cycles(name, &gpu);
        assert!(first.iter().all(|&c| c > empty), "{name}: {first:?}");
        assert_eq!(first, cycles(name, &gpu), "{name}");
    }
}

/// The latencies that a single warp sees: within the tolerance of the silicon table.
#[test]
fn unloaded_latencies_are_those_of_the_card() {
    let gpu = titan_v();
    let facts = Facts { sms: gpu.sm.count, threads_per_sm: gpu.sm.threads, l2_bytes: gpu.l2_size().0 };
    let silicon = Silicon::built_in();
    for name in ["l1-latency", "l2-latency", "dram-latency", "shared-latency", "fp64-latency", "sfu-latency"] {
        let micro = micro::find(name).expect("a microbenchmark");
        let measured = micro.measure(&facts, &mut || device(&gpu)).expect("it runs");
        let value = measured.value.expect("a clock");
        let row = silicon.microbenchmarks.rows.iter().find(|r| r.micro == name).expect("a row");
        assert!(silicon.microbenchmarks.passes(row, value), "{name}: {value}, silicon {}", row.silicon);
    }
}
