//! What is compared with silicon, and what speed is measured with, computes what it should: on the emulator.

use strata_host::{Device, HostError};
use strata_lab::{EngineOptions, engine};
use strata_workloads::micro::{self, Facts};
use strata_workloads::{Purpose, instances};

fn device() -> Result<Device, HostError> {
    let options = EngineOptions::plain(&[]);
    Ok(Device::new(engine::functional(options)?))
}

#[test]
fn silicon_rows_are_right() {
    for (workload, instance) in instances(Purpose::Silicon) {
        let mut device = device().expect("a device");
        let outcome = workload.run_instance(instance.label, 1, &mut device).expect("it runs");
        assert!(outcome.passed, "{} {}: {}", workload.info().name, instance.label, outcome.checked);
    }
}

#[test]
fn the_speed_benchmarks_are_right() {
    for (workload, instance) in instances(Purpose::Bench) {
        let mut device = device().expect("a device");
        let outcome = workload.run_instance(instance.label, 1, &mut device).expect("it runs");
        assert!(outcome.passed, "{} {}: {}", workload.info().name, instance.label, outcome.checked);
    }
}

#[test]
fn microbenchmarks_are_right_and_have_no_value_without_a_clock() {
    // A small machine, so that filling it takes no time.
    let facts = Facts { sms: 2, threads_per_sm: 2048, l2_bytes: 256 << 10 };
    for micro in micro::all() {
        let measured = micro.measure(&facts, &mut device).unwrap_or_else(|e| panic!("{}: {e}", micro.name));
        assert!(measured.outcome.passed, "{}: {}", micro.name, measured.outcome.checked);
        assert_eq!(measured.value, None, "{}", micro.name);
    }
}
