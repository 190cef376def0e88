//! The device: there is one, number 0.

use super::boundary::{self, In, Out};
use super::error::{Code, Outcome};
use super::{cuda, registry, server};
use crate::protocol::{Properties, Reply, Request};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Waits for the device and shows what it has printed.
pub(super) fn synchronize() -> Outcome {
    if let Reply::Printed { text } = server::ask(&Request::Synchronize)?
        && !text.is_empty()
    {
        boundary::print(&text);
    }
    Ok(())
}

/// A kernel has printed something that was not shown yet.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Runs a kernel.
pub(super) fn run(launch: &Request) -> Outcome {
    if let Reply::Launched { printed: true } = server::ask(launch)? {
        PRINTED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Shows what kernels have printed: before launches and at copies, as CUDA does, and not only when somebody waits.
pub(super) fn show_printed() -> Outcome {
    if PRINTED.swap(false, Ordering::Relaxed)
        && let Reply::Printed { text } = server::ask(&Request::Printed)?
    {
        boundary::print(&text);
    }
    Ok(())
}

/// At the end of the program: shows what the device has printed since the last time.
pub(super) fn flush() {
    if server::is_connected() {
        // Nothing can be done about an error now.
        let _ = synchronize();
    } else {
        server::say_loaded();
    }
}

fn check(device: c_int) -> Outcome {
    server::layout()?;
    if device == 0 { Ok(()) } else { Err(Code::INVALID_DEVICE) }
}

/// What the device is like.
pub(super) fn properties() -> Outcome<&'static Properties> {
    static KNOWN: OnceLock<Properties> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known);
    }
    // The device has the compute capability that the program was compiled for, so it must know the program.
    registry::load_all();
    let Reply::Properties { properties } = server::ask(&Request::Properties)? else { return Err(Code::UNKNOWN) };
    Ok(KNOWN.get_or_init(|| properties))
}

/// The version of CUDA as one number; the newest of its line.
fn version() -> c_int {
    match boundary::cuda_major() {
        11 => 11080,
        12 => 12090,
        _ => 13040,
    }
}

/// The limits a program may ask for (`cudaLimit`): stack, printf buffer, heap, depth of synchronisation, pending launches, L2
/// fetch granularity, persisting L2; CUDA's defaults.
const LIMITS: [usize; 7] = [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0];

cuda! {
    /// There is one.
    fn cudaGetDeviceCount(count: Out<c_int>) {
        server::layout()?;
        count.set(1)
    }
    /// There is one.
    fn cudaGetDevice(device: Out<c_int>) {
        server::layout()?;
        device.set(0)
    }
    /// There is one.
    fn cudaSetDevice(device: c_int) { check(device) }
    /// There is one.
    fn cudaInitDevice(device: c_int, _device_flags: u32, _flags: u32) { check(device) }
    /// There is one.
    fn cudaChooseDevice(device: Out<c_int>, _wanted: u64) { device.set(0) }
    /// There is one.
    fn cudaSetValidDevices(_devices: In<c_int>, _count: c_int) { Ok(()) }
    /// How the host waits does not matter.
    fn cudaSetDeviceFlags(_flags: u32) { Ok(()) }
    /// How the host waits does not matter.
    fn cudaGetDeviceFlags(flags: Out<u32>) { flags.set(0) }

    /// Waits for everything.
    fn cudaDeviceSynchronize() { synchronize() }
    /// Waits for everything, under its name of before 2011.
    fn cudaThreadSynchronize() { synchronize() }
    /// The end of what a program wants of the device; memory goes back when the process ends.
    fn cudaDeviceReset() { synchronize() }
    /// The same under its old name.
    fn cudaThreadExit() { synchronize() }

    /// Limits are not enforced: local memory and heap grow as needed.
    fn cudaDeviceSetLimit(limit: u32, _value: usize) {
        if (limit as usize) < LIMITS.len() { Ok(()) } else { Err(Code(215)) }
    }
    /// CUDA's defaults.
    fn cudaDeviceGetLimit(value: Out<usize>, limit: u32) {
        value.set(*LIMITS.get(limit as usize).ok_or(Code(215))?)
    }

    /// The carve-out of the machine is fixed by its configuration.
    fn cudaDeviceSetCacheConfig(_config: u32) { Ok(()) }
    /// The carve-out of the machine is fixed by its configuration.
    fn cudaDeviceGetCacheConfig(config: Out<u32>) { config.set(0) }
    /// Banks have four bytes.
    fn cudaDeviceSetSharedMemConfig(_config: u32) { Ok(()) }
    /// Banks have four bytes.
    fn cudaDeviceGetSharedMemConfig(config: Out<u32>) { config.set(1) }
    /// Nothing persists in L2.
    fn cudaCtxResetPersistingL2Cache() { Ok(()) }

    /// The version of the driver there is none of.
    fn cudaDriverGetVersion(number: Out<c_int>) { number.set(version()) }
    /// The version of this library.
    fn cudaRuntimeGetVersion(number: Out<c_int>) { number.set(version()) }

    /// There is one device.
    fn cudaDeviceCanAccessPeer(can: Out<c_int>, _device: c_int, _peer: c_int) { can.set(0) }
    /// There is one device.
    fn cudaDeviceEnablePeerAccess(_peer: c_int, _flags: u32) { Err(Code::PEER_ACCESS) }
    /// There is one device.
    fn cudaDeviceDisablePeerAccess(_peer: c_int) { Err(Code(705)) }

    /// The address on a bus there is none of.
    fn cudaDeviceGetPCIBusId(text: Out<[c_char; 13]>, size: c_int, device: c_int) {
        check(device)?;
        if size < 13 {
            return Err(Code::INVALID_VALUE);
        }
        text.set(b"0000:01:00.0\0".map(|byte| byte as c_char))
    }
    /// There is one device.
    fn cudaDeviceGetByPCIBusId(device: Out<c_int>, _text: u64) { device.set(0) }
}
