//! The engines that can stand behind a device.

use crate::monitor::Monitor;
use std::sync::Arc;
use strata_core::{Addr, Bytes};
use strata_host::{
    AllocFlags, Allocation, AllocationId, Engine, HostError, KernelShape, Launch, LaunchReport, ModuleId, SymbolAddress,
};

/// How the functional engine runs.
#[derive(Clone)]
pub struct EngineOptions {
    /// Host threads.
    pub threads: usize,
    /// Look for reads of uninitialised shared and local memory.
    pub check: bool,
    /// Stop a launch that executes more than so many warp instructions.
    pub max_instructions: Option<u64>,
    /// To be told how far a launch is now and then ([`Monitor::set_running`]), what the program prints
    /// ([`Monitor::print`]) and what looks suspicious ([`Monitor::warn`]).
    pub monitor: Arc<Monitor>,
}

/// The emulator alone: real values, no time.
pub fn functional(options: EngineOptions) -> Box<dyn Engine> {
    Box::new(Absent { _options: options })
}

/// Stands where the emulator will stand.
struct Absent {
    _options: EngineOptions,
}

fn absent<T>() -> Result<T, HostError> {
    Err(HostError::Module("error: this build has no emulator".into()))
}

impl Engine for Absent {
    fn load_module(&mut self, _: &str, _: &str) -> Result<ModuleId, HostError> {
        absent()
    }
    fn kernel(&self, _: ModuleId, _: &str) -> Result<KernelShape, HostError> {
        absent()
    }
    fn symbol(&self, _: ModuleId, _: &str) -> Result<SymbolAddress, HostError> {
        absent()
    }
    fn alloc(&mut self, _: Bytes, _: AllocFlags, _: &str) -> Result<Allocation, HostError> {
        absent()
    }
    fn free(&mut self, _: Addr) -> Result<AllocationId, HostError> {
        absent()
    }
    fn write(&mut self, _: Addr, _: &[u8]) -> Result<(), HostError> {
        absent()
    }
    fn read(&self, _: Addr, _: &mut [u8]) -> Result<(), HostError> {
        absent()
    }
    fn fill(&mut self, _: Addr, _: Bytes, _: u8) -> Result<(), HostError> {
        absent()
    }
    fn launch(&mut self, _: &Launch) -> Result<LaunchReport, HostError> {
        absent()
    }
}
