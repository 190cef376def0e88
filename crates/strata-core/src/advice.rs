//! What a program says about the use of managed memory, as `cudaMemAdvise` does.

/// How memory will be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// Mostly read: host and device may both have a copy. False takes it back.
    ReadMostly(bool),
    /// Better on the host.
    PreferHost,
    /// Better on the device.
    PreferDevice,
    /// Neither is better.
    NoPreference,
    /// The device shall be able to access it wherever it is, without a fault. False takes it back.
    AccessedByDevice(bool),
    /// Stays on the host for good (`cudaHostRegister`): the device accesses it there.
    PinToHost,
}
