//! The boundary to C: every pointer that the program hands us, and the few functions of libc that are needed.
//!
//! The types here are pointers in the signatures of CUDA's functions. Whoever calls such a function promises, by CUDA's
//! documentation, that the pointer is null or good for what the function does with it while it runs; that promise is what
//! makes the `unsafe` blocks below sound, and no value of these types is made in any other way.

use crate::client::error::{Code, Outcome};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;

/// Where a function leaves a result.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// A place at an address that the program gave as a number.
    pub(super) fn from_address(address: u64) -> Self {
        Self(address as *mut T)
    }

    /// Leaves the result; a null pointer is an invalid value.
    pub(super) fn set(self, value: T) -> Outcome {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so the caller promises a place for a `T`; it may be unaligned for all we know.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Leaves the result if the caller wants it.
    pub(super) fn set_if_wanted(self, value: T) {
        // The only failure is the null pointer of somebody who does not want it.
        let _ = self.set(value);
    }

    /// True if the caller wants it.
    pub(super) fn wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Leaves number `index` of an array.
    pub(super) fn set_at(self, index: usize, value: T) -> Outcome {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // The caller promises an array that has a place at every index the function names.
        Self(self.0.wrapping_add(index)).set(value)
    }

    /// Changes what is there.
    pub(super) fn change(self, change: impl FnOnce(&mut T) -> Outcome) -> Outcome
    where
        T: Copy,
    {
        let mut value = In(self.0.cast_const()).get()?;
        change(&mut value)?;
        self.set(value)
    }

    /// Leaves the beginning of a structure that older versions of CUDA know without its end.
    pub(super) fn first<Beginning>(self, value: Beginning) -> Outcome {
        Out(self.0.cast::<Beginning>()).set(value)
    }
}

impl Out<u8> {
    /// Leaves several bytes.
    pub(super) fn set_all(self, value: &[u8]) -> Outcome {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so the caller promises room for the structure that the function fills in.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), self.0, value.len()) };
        Ok(())
    }
}

/// What a function reads.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The value; a null pointer is an invalid value.
    pub(super) fn get(self) -> Outcome<T> {
        self.at(0)
    }

    /// The value number `index` of an array.
    pub(super) fn at(self, index: usize) -> Outcome<T> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so the caller promises a value, or an array that has one at every index the function names.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    /// Where the program keeps it.
    pub(super) fn address(self) -> u64 {
        self.0 as u64
    }

    /// An array at an address that the program gave as a number.
    pub(super) fn from_address(address: u64) -> Self {
        Self(address as *const T)
    }
}

/// A text that ends in a zero.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// The text; empty for a null pointer.
    pub(super) fn read(self) -> String {
        if self.0.is_null() {
            return String::new();
        }
        // SAFETY: not null, so the caller promises a text that ends in a zero.
        unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned()
    }
}

/// Bytes of the program, to read.
pub(super) fn bytes<'a>(start: u64, size: u64) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: the caller of the CUDA function promises `size` readable bytes at `start` for the time of the call.
    unsafe { std::slice::from_raw_parts(start as *const u8, size as usize) }
}

/// Bytes of the program, to write.
pub(super) fn bytes_mut<'a>(start: u64, size: u64) -> &'a mut [u8] {
    if size == 0 {
        return &mut [];
    }
    // SAFETY: the caller promises `size` writable bytes at `start`, used by nobody else for the time of the call.
    unsafe { std::slice::from_raw_parts_mut(start as *mut u8, size as usize) }
}

/// Copies inside the program's memory; the ranges may overlap.
pub(super) fn move_bytes(to: u64, from: u64, size: u64) {
    // SAFETY: the caller promises both ranges; `copy` allows them to overlap.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size as usize) };
}

/// Calls a function of the program with its data.
pub(super) fn call(function: HostFunction, data: u64) {
    function.0(data as *mut c_void);
}

/// A function of the program that runs in the order of a stream.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct HostFunction(extern "C" fn(*mut c_void));

/// A function that runs in the order of a stream and is told its status.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct StreamCallback(extern "C" fn(u64, Code, *mut c_void));

impl StreamCallback {
    /// Runs the program's function, telling it that the stream is well.
    pub(super) fn call(self, stream: u64, data: u64) {
        (self.0)(stream, Code::SUCCESS, data as *mut c_void);
    }
}

/// Maps a file at exactly `start`; false if something else is there.
pub(super) fn map_at(file: &File, start: u64, size: u64) -> bool {
    /// Linux: readable and writable; shared; without reserving swap; exactly there, but never over something else.
    const PROTECTION: c_int = 1 | 2;
    const FLAGS: c_int = 0x01 | 0x4000 | 0x10_0000;
    // SAFETY: the kernel refuses if anything is mapped there already, so no memory of the program changes.
    let at = unsafe { mmap(start as *mut c_void, size as usize, PROTECTION, FLAGS, file.as_raw_fd(), 0) };
    if at as u64 == start {
        return true;
    }
    if at as isize != -1 {
        // An old kernel takes the address for a hint.
        // SAFETY: the mapping was made just now and nobody knows it.
        unsafe { munmap(at, size as usize) };
    }
    false
}

/// Puts a part of a file, or with none fresh memory, in place of what is at `start`, with the same bytes in it. All are multiples of
/// a page. False if that cannot be.
pub(super) fn replace_pages(start: u64, size: u64, file: Option<(&File, u64)>) -> bool {
    /// Linux: readable and writable; exactly there, over what is there; shared, or private and of no file.
    const PROTECTION: c_int = 1 | 2;
    const FIXED: c_int = 0x10;
    const SHARED: c_int = 0x01;
    const ANONYMOUS: c_int = 0x02 | 0x20;
    let on_stack = 0u8;
    if (start..start.saturating_add(size)).contains(&(&raw const on_stack as u64)) {
        return false;
    }
    let kept = bytes(start, size).to_vec();
    let (flags, descriptor, offset) = match file {
        Some((file, offset)) => (FIXED | SHARED, file.as_raw_fd(), offset as i64),
        None => (FIXED | ANONYMOUS, -1, 0),
    };
    // SAFETY: the program registered this memory, or its pages are ours; it gets its bytes back below, and nobody may use it
    // while the call lasts.
    let at = unsafe { mmap(start as *mut c_void, size as usize, PROTECTION, flags, descriptor, offset) };
    if at as u64 != start {
        return false;
    }
    bytes_mut(start, size).copy_from_slice(&kept);
    true
}

/// Writes to the program's own standard output, in order with what the program writes there.
pub(super) fn print(text: &[u8]) {
    // SAFETY: `stdout` is libc's own, valid from the start of the process to its end; the bytes are a slice.
    unsafe {
        fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
    }
}

/// The major version of CUDA that this library stands for: the number in the name of its file.
pub(super) fn cuda_major() -> u32 {
    let mut found = DlInfo { file: std::ptr::null(), base: 0, symbol: std::ptr::null(), address: 0 };
    // SAFETY: the address of one of our own functions, and a structure as `dladdr` fills it in.
    let known = unsafe { dladdr(cuda_major as *const c_void, &raw mut found) };
    if known == 0 || found.file.is_null() {
        return NEWEST;
    }
    // SAFETY: `dladdr` succeeded, so this is the loader's text, which stays as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(found.file) }.to_string_lossy().into_owned();
    let version = name.rsplit_once(".so.").map_or("", |(_, version)| version);
    version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(NEWEST)
}

/// The newest version of CUDA that is known here.
const NEWEST: u32 = 13;

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: usize,
    symbol: *const c_char,
    address: usize,
}

unsafe extern "C" {
    static stdout: *mut c_void;
    fn fwrite(data: *const c_void, size: usize, count: usize, to: *mut c_void) -> usize;
    fn mmap(start: *mut c_void, size: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn munmap(start: *mut c_void, size: usize) -> c_int;
    fn dladdr(address: *const c_void, found: *mut DlInfo) -> c_int;
}
