//! Every built-in program, on the emulator, against its CPU reference.

use std::sync::Arc;
use strata_host::Device;
use strata_lab::Monitor;
use strata_lab::engine::{self, EngineOptions};
use strata_workloads::{Size, all, find};

fn passes(name: &str, size: Size) {
    let options =
        EngineOptions { threads: 1, check: false, max_instructions: None, monitor: Arc::new(Monitor::default()) };
    let engine = engine::functional(options).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut device = Device::new(engine);
    let workload = find(name).unwrap_or_else(|e| panic!("{e}"));
    let outcome = workload.run(size, 1, &mut device).unwrap_or_else(|e| panic!("{name} at {size}: {e}"));
    assert!(outcome.passed, "{name} at {size}: {}", outcome.checked);
}

/// One test for each program and size: a failure names both.
macro_rules! programs {
    ($($test:ident = $name:literal),* $(,)?) => {
        const TESTED: &[&str] = &[$($name),*];

        $(mod $test {
            use super::{Size, passes};

            #[test]
            fn tiny() {
                passes($name, Size::Tiny);
            }

            #[test]
            fn small() {
                passes($name, Size::Small);
            }
        })*
    };
}

programs! {
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
fn no_program_is_left_out() {
    let mut names: Vec<_> = all().iter().map(|workload| workload.info().name).collect();
    names.sort_unstable();
    let mut tested = TESTED.to_vec();
    tested.sort_unstable();
    assert_eq!(tested, names);
}
