//! CUDA's error codes, and who remembers them.
//!
//! Each thread remembers the last error it was told. An error of a kernel is *sticky*: the device is lost, and every call from then
//! on answers with it, as CUDA does until the process ends.

use super::cuda;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A status of CUDA's runtime (`cudaError_t`).
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const MEMORY_ALLOCATION: Self = Self(2);
    pub(crate) const INVALID_SYMBOL: Self = Self(13);
    pub(crate) const INVALID_TEXTURE: Self = Self(18);
    pub(crate) const INVALID_SURFACE: Self = Self(37);
    pub(crate) const INVALID_PITCH: Self = Self(12);
    pub(crate) const INVALID_CHANNELS: Self = Self(20);
    pub(crate) const INVALID_DIRECTION: Self = Self(21);
    pub(crate) const MISSING_CONFIGURATION: Self = Self(52);
    pub(crate) const INVALID_FUNCTION: Self = Self(98);
    pub(crate) const NO_DEVICE: Self = Self(100);
    pub(crate) const INVALID_DEVICE: Self = Self(101);
    pub(crate) const INVALID_HANDLE: Self = Self(400);
    pub(crate) const NOT_READY: Self = Self(600);
    pub(crate) const NOT_REGISTERED: Self = Self(713);
    pub(crate) const PEER_ACCESS: Self = Self(217);
    pub(crate) const NOT_SUPPORTED: Self = Self(801);
    pub(crate) const CAPTURE_UNSUPPORTED: Self = Self(900);
    pub(crate) const CAPTURE_UNMATCHED: Self = Self(903);
    pub(crate) const UNKNOWN: Self = Self(999);
}

/// What a call gives: a value, or the code of its error.
pub(crate) type Outcome<T = ()> = Result<T, Code>;

thread_local! {
    static LAST: Cell<Code> = const { Cell::new(Code::SUCCESS) };
}

/// The error that lost the device; 0 as long as there is none.
static STICKY: AtomicU32 = AtomicU32::new(0);

/// Turns what a call gave into its status.
pub(super) fn answer(body: impl FnOnce() -> Outcome) -> Code {
    let sticky = STICKY.load(Ordering::Relaxed);
    let code = match sticky {
        0 => body().err().unwrap_or(Code::SUCCESS),
        lost => Code(lost),
    };
    // "Not ready" is an answer, not an error.
    if code != Code::SUCCESS && code != Code::NOT_READY {
        LAST.set(code);
    }
    code
}

/// A kernel has failed: from now on every call answers with `code`.
pub(super) fn lose_device(code: Code) {
    STICKY.store(code.0, Ordering::Relaxed);
}

fn last() -> Code {
    match STICKY.load(Ordering::Relaxed) {
        0 => LAST.get(),
        lost => Code(lost),
    }
}

/// The last error of this thread, which is forgotten.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn cudaGetLastError() -> Code {
    let code = last();
    LAST.set(Code::SUCCESS);
    code
}

/// The last error of this thread.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn cudaPeekAtLastError() -> Code {
    last()
}

/// Names and texts, by code.
fn table() -> &'static BTreeMap<u32, (CString, CString)> {
    static TABLE: OnceLock<BTreeMap<u32, (CString, CString)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lines = include_str!("errors.txt").lines().filter(|line| !line.starts_with('#'));
        let row = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let code = words.next()?.parse().ok()?;
            Some((code, (CString::new(words.next()?).ok()?, CString::new(words.next()?).ok()?)))
        };
        lines.filter_map(row).collect()
    })
}

/// The name of an error.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn cudaGetErrorName(code: Code) -> *const c_char {
    table().get(&code.0).map_or(c"unrecognized error code".as_ptr(), |(name, _)| name.as_ptr())
}

/// An error in words.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn cudaGetErrorString(code: Code) -> *const c_char {
    table().get(&code.0).map_or(c"unrecognized error code".as_ptr(), |(_, text)| text.as_ptr())
}

/// Says something to the user, on standard error.
pub(super) fn say(message: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "strata: {message}");
}

cuda! {
    /// The profiler is not ours to start; a program that does is not wrong.
    fn cudaProfilerStart() { Ok(()) }
    /// Nor is it ours to stop.
    fn cudaProfilerStop() { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn errors_have_names_and_texts() {
        let text = |pointer: *const c_char| {
            // SAFETY: the functions give texts that end in a zero and are never freed.
            unsafe { CStr::from_ptr(pointer) }.to_str().expect("ASCII")
        };
        assert_eq!(text(cudaGetErrorName(Code(700))), "cudaErrorIllegalAddress");
        assert_eq!(text(cudaGetErrorString(Code(700))), "an illegal memory access was encountered");
        assert_eq!(text(cudaGetErrorString(Code(123_456))), "unrecognized error code");
    }

    #[test]
    fn a_thread_remembers_its_last_error_until_it_is_asked() {
        assert_eq!(answer(|| Err(Code::INVALID_VALUE)), Code::INVALID_VALUE);
        assert_eq!(answer(|| Err(Code::NOT_READY)), Code::NOT_READY);
        assert_eq!(answer(|| Ok(())), Code::SUCCESS);
        assert_eq!(cudaPeekAtLastError(), Code::INVALID_VALUE);
        assert_eq!(cudaGetLastError(), Code::INVALID_VALUE);
        assert_eq!(cudaGetLastError(), Code::SUCCESS);
    }
}
