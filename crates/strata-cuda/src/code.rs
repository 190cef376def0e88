//! CUDA's numbers: of errors (`cudaError_t`) that are answered from here, and of advice.

use strata_core::Advice;

pub(super) const INVALID_VALUE: u32 = 1;
pub(super) const MEMORY_ALLOCATION: u32 = 2;
pub(super) const INITIALIZATION: u32 = 3;
pub(super) const INVALID_CONFIGURATION: u32 = 9;
pub(super) const INVALID_SYMBOL: u32 = 13;
pub(super) const INVALID_FUNCTION: u32 = 98;
pub(super) const NO_KERNEL_IMAGE: u32 = 209;
pub(super) const ILLEGAL_ADDRESS: u32 = 700;
pub(super) const LAUNCH_TIMEOUT: u32 = 702;
pub(super) const ASSERT: u32 = 710;
pub(super) const MISALIGNED: u32 = 716;
pub(super) const LAUNCH_FAILURE: u32 = 719;
pub(super) const NOT_SUPPORTED: u32 = 801;

/// CUDA's number for what a kernel did wrong, by the first words of its fault. The device is lost in any case: also a kernel that
/// cannot be executed must not look, to a program that only waits for it, as if it had been.
pub(super) fn failure(text: &str) -> u32 {
    const BEGINNINGS: [(&str, u32); 7] = [
        ("null pointer", ILLEGAL_ADDRESS),
        ("out of bounds", ILLEGAL_ADDRESS),
        ("use after free", ILLEGAL_ADDRESS),
        ("misaligned", MISALIGNED),
        ("assertion failed", ASSERT),
        ("instruction limit", LAUNCH_TIMEOUT),
        ("kernel `", NOT_SUPPORTED),
    ];
    let found = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning));
    found.map_or(LAUNCH_FAILURE, |(_, code)| *code)
}

/// `cudaMemoryAdvise`.
pub(super) fn advice_of(number: u32, to_device: bool) -> Option<Advice> {
    Some(match number {
        1 => Advice::ReadMostly(true),
        2 => Advice::ReadMostly(false),
        3 if to_device => Advice::PreferDevice,
        3 => Advice::PreferHost,
        4 => Advice::NoPreference,
        5 => Advice::AccessedByDevice(true),
        6 => Advice::AccessedByDevice(false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::{Addr, Space};
    use strata_emu::Cause;

    #[test]
    fn faults_have_the_numbers_that_cuda_gives_them() {
        let (lane, width, address) = (0, 4, Addr(0x10_0000));
        let space = Space::Global;
        let check = |cause: Cause, expected| assert_eq!(failure(&cause.to_string()), expected);
        check(Cause::OutOfBounds { lane, space, address, width, nearest: String::new() }, ILLEGAL_ADDRESS);
        check(Cause::UseAfterFree { lane, address, width, was: String::new() }, ILLEGAL_ADDRESS);
        check(Cause::OutOfBounds { lane, space, address: Addr(8), width, nearest: String::new() }, ILLEGAL_ADDRESS);
        check(Cause::Misaligned { lane, space, address, width }, MISALIGNED);
        check(Cause::Trap { lane, message: "assertion failed: `x`".into() }, ASSERT);
        check(Cause::InstructionLimit { limit: 5 }, LAUNCH_TIMEOUT);
        assert_eq!(failure("division"), LAUNCH_FAILURE);
        assert_eq!(failure("kernel `k` contains instructions that StrataSim cannot execute"), NOT_SUPPORTED);
    }
}
