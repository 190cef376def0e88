//! Asks the host's caches for memory that will be needed soon.
//!
//! A simulated machine has thousands of warps, each with its own registers and state, and its events go from one to another at
//! random. Who knows what comes next asks for it while something else is being done; whether it comes in time changes nothing but
//! the time a simulation takes.

/// Bytes of a cache line of the host.
const HOST_LINE: usize = 64;

/// Asks for the first cache lines of a value, as many as it has, at most four.
#[inline]
pub fn prefetch<T>(value: &T) {
    let at = std::ptr::from_ref(value).cast::<i8>();
    for line in 0..size_of::<T>().div_ceil(HOST_LINE).clamp(1, 4) {
        prefetch_line(at.wrapping_add(line * HOST_LINE));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_line(at: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is a hint: it reads nothing that a program could see, and no address makes it fail.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch_line(_at: *const i8) {}
