//! What is fitted to which measurement, and within which bounds.

/// A parameter of a machine that one microbenchmark shows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// The microbenchmark.
    pub row: &'static str,
    /// Its least and its greatest value that hardware can have.
    pub bounds: (f64, f64),
    /// It has no fraction.
    pub whole: bool,
}

const fn whole(name: &'static str, row: &'static str, low: f64, high: f64) -> Parameter {
    Parameter { name, row, bounds: (low, high), whole: true }
}

const fn real(name: &'static str, row: &'static str, low: f64, high: f64) -> Parameter {
    Parameter { name, row, bounds: (low, high), whole: false }
}

/// All of them, in the order in which they are fitted: what a measurement passes through comes before what it ends in.
///
/// Bounds are of what GPUs since Kepler have been measured to have, with room on both sides.
pub const PARAMETERS: &[Parameter] = &[
    whole("isa.rows.f32.latency", "fp32-latency", 2.0, 32.0),
    whole("isa.rows.int_mul.latency", "int32-latency", 2.0, 32.0),
    whole("isa.rows.f16.latency", "fp16x2-latency", 2.0, 64.0),
    whole("isa.rows.f64.latency", "fp64-latency", 4.0, 128.0),
    whole("isa.rows.special.latency", "sfu-latency", 8.0, 64.0),
    whole("isa.rows.f64.interval", "fp64-throughput", 1.0, 64.0),
    whole("isa.rows.special.interval", "sfu-throughput", 1.0, 32.0),
    whole("l1.latency", "l1-latency", 10.0, 200.0),
    whole("shared.latency", "shared-latency", 10.0, 100.0),
    whole("l2.latency", "l2-latency", 10.0, 600.0),
    whole("dram.controller_cycles", "dram-latency", 0.0, 800.0),
    whole("l2.atomic_cycles", "atomic-latency", 0.0, 300.0),
    whole("l1.bytes_per_cycle", "l1-bandwidth-128", 16.0, 256.0),
    real("l1.instruction_cycles", "l1-bandwidth-32", 1.0, 8.0),
    whole("launch.before", "kernel-launch", 0.0, 100_000.0),
];
