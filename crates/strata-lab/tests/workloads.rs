//! Every built-in program, on the emulator, against its CPU reference.

use strata_host::Device;
use strata_lab::engine::{self, EngineOptions};
use strata_workloads::{Size, all, find};

fn passes(name: &str, size: Size) {
    let engine = engine::functional(EngineOptions::plain(&[])).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut device = Device::new(engine);
    let workload = find(name).unwrap_or_else(|e| panic!("{e}"));
    let outcome = workload.run(size, 1, &mut device).unwrap_or_else(|e| panic!("{name} at {size}: {e}"));
    assert!(outcome.passed, "{name} at {size}: {}", outcome.checked);
}

/// One test for each of the first programs at small size: a failure names it. Later programs have only their tiny size here;
/// their larger ones belong to benchmarks.
macro_rules! at_small_size {
    ($($test:ident = $name:literal),* $(,)?) => { $(
        #[test]
        fn $test() {
            passes($name, Size::Small);
        }
    )* };
}

at_small_size! {
    addvectors = "addvectors",
    atax = "atax",
    backprop = "backprop",
    bfs = "bfs",
    bicg = "bicg",
    conv2d = "2dconv",
    hotspot = "hotspot",
    matmul_naive = "matmul-naive",
    matmul_tiled = "matmul-tiled",
    mvt = "mvt",
    nw = "nw",
    pagerank = "pagerank",
    pathfinder = "pathfinder",
    saxpy = "saxpy",
    srad = "srad",
    streamtriad = "streamtriad",
}

#[test]
fn every_program_at_tiny_size() {
    for workload in all() {
        passes(workload.info().name, Size::Tiny);
    }
}
