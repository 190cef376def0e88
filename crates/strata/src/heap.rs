//! The heap of a process that simulates one machine: one arena, in huge pages.
//!
//! A machine is tens of thousands of small pieces in tens of megabytes, gone through at random. In pages of 4 KiB, half of a
//! short run's system time is page faults, and the host's TLB holds a fraction of them. And glibc gives every thread but the first
//! an arena that grows a page at a time, by a system call each; the thread that serves a CUDA program is such a one. Nothing here
//! changes a result, and where there is no glibc nothing happens.

/// Sets the heap up, before anything large is allocated.
pub(crate) fn prepare() {
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    glibc::prepare();
}

#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod glibc {
    use std::ffi::{c_int, c_void};

    /// Parameters of `mallopt`, from `malloc.h`.
    const TRIM_THRESHOLD: c_int = -1;
    const TOP_PAD: c_int = -2;
    const MMAP_THRESHOLD: c_int = -3;
    const ARENA_MAX: c_int = -8;

    /// `MADV_HUGEPAGE` of `sys/mman.h`.
    const HUGE_PAGES: c_int = 14;

    /// Address space that the heap takes at a time; it costs nothing before it is touched.
    const GROWTH: c_int = 256 << 20;
    /// What is larger does not live in the heap but is given back when it is no longer needed: the bytes of a copy.
    const LARGEST: c_int = 4 << 20;
    const PAGE: usize = 4096;

    unsafe extern "C" {
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
        fn sbrk(increment: isize) -> *mut c_void;
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }

    pub(super) fn prepare() {
        // SAFETY: these functions change how memory is had, not what is in any; each may fail without harm.
        unsafe {
            for (parameter, value) in
                [(ARENA_MAX, 1), (TOP_PAD, GROWTH), (MMAP_THRESHOLD, LARGEST), (TRIM_THRESHOLD, c_int::MAX)]
            {
                mallopt(parameter, value);
            }
        }
        let before = end_of_heap();
        // More than there is room for at the start, so that the heap grows.
        drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 20)));
        let first = before.next_multiple_of(PAGE);
        if let Some(length) = end_of_heap().checked_sub(first) {
            // SAFETY: the range is the heap's; the advice leaves what it holds as it is.
            unsafe { madvise(std::ptr::with_exposed_provenance_mut(first), length, HUGE_PAGES) };
        }
    }

    /// The address at which the heap ends.
    fn end_of_heap() -> usize {
        // SAFETY: an increment of zero changes nothing.
        unsafe { sbrk(0) }.expose_provenance()
    }
}
