//! The programs whose kernels were measured on a Quadro GV100, for validation alone.
//!
//! The kernels (`workloads/gv100/gv100.cu`) are written here after public programs of Rodinia, Parboil and NVIDIA's samples:
//! the same algorithm, sizes, launches and precision, because these decide what a card counts. They are no workloads of
//! their own (no sizes, not listed) but have what a workload has: inputs from a seed and a CPU reference, so that a
//! measurement is also a test.

#![allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "programs are given their shapes by reference, also where one is a number"
)]

mod parboil;
mod rodinia;
mod samples;

use crate::module::module;
use crate::program::{Measured, Program};
use crate::{Info, Instance, Module, Outcome, Workload};
use strata_host::HostError;

/// The PTX of all of them.
pub const MODULE: Module = module!("gv100");

/// Every program, in the order of the published table.
pub fn all() -> &'static [&'static dyn Workload] {
    &[
        &rodinia::BACKPROP,
        &rodinia::HOTSPOT,
        &parboil::SGEMM,
        &parboil::MRI_Q,
        &samples::DCT,
        &samples::WALSH,
        &samples::QUASIRANDOM,
    ]
}

/// The program of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    all().iter().copied().find(|program| program.info().name == name)
}

/// What the public program is called, and what it does.
const fn info(name: &'static str, suite: &'static str, description: &'static str) -> Info {
    Info { name, suite, papers: &[], sizes: &[], aliases: &[], description }
}

/// A program with the one shape that was measured.
const fn measured<S>(
    info: Info,
    run: fn(&S, u64, &mut crate::gpu::Gpu<'_>) -> Result<Outcome, HostError>,
    instances: &'static [(Instance, S)],
) -> Measured<S> {
    Measured { program: Program { info, module: &[MODULE], shapes: &[], run }, instances }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_and_has_one_instance() {
        for program in all() {
            let name = program.info().name;
            assert_eq!(find(name).map(|p| p.info().name), Some(name));
            assert_eq!(program.instances().len(), 1, "{name}");
        }
        assert!(find("hotspot3D").is_none());
    }
}
