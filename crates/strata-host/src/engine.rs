//! What stands behind a device.

use strata_core::stats::Members;
use strata_core::{Addr, AllocFlags, Allocation, AllocationId, Bytes, Counts, Dim3, HostEvent, Image, Stats, Texture};

/// An error of a host call or of the device program it started, ready to be shown.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The module does not parse, or names something it does not have. The text is a rendered diagnostic.
    #[error("{0}")]
    Module(String),
    /// A host call was wrong: its name and what is wrong with it.
    #[error("{call}: {reason}")]
    Call {
        /// What was asked of the device: `launch`, `free`.
        call: &'static str,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The device program failed: out of bounds, deadlock, unsupported instruction. The text names kernel, line, block
    /// and thread.
    #[error("{0}")]
    Program(String),
}

/// Names a loaded module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleId(pub u32);

/// One parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamShape {
    /// Offset in the parameter block.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// What a launch must know of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelShape {
    /// Its name as the module spells it (mangled).
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<ParamShape>,
}

/// What a kernel needs of an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelResources {
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a CTA that the kernel declares.
    pub shared: Bytes,
    /// Local memory of a thread.
    pub local: Bytes,
    /// The most threads a CTA may have, if the kernel says so.
    pub max_threads: Option<u64>,
}

/// Where a module-scope variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolAddress {
    /// Address of its first byte.
    pub start: Addr,
    /// Bytes that the module declares.
    pub size: Bytes,
}

/// One kernel launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Module that holds the kernel.
    pub module: ModuleId,
    /// Kernel name.
    pub kernel: String,
    /// CTAs.
    pub grid: Dim3,
    /// Threads per CTA.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Parameter block, laid out as [`KernelShape`] says.
    pub params: Vec<u8>,
    /// All CTAs must be resident together (`cudaLaunchCooperativeKernel`).
    pub cooperative: bool,
}

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct LaunchReport {
    /// Instructions and bytes.
    pub counts: Counts,
    /// Core cycles, launch latency included; `None` if the engine has no clock.
    pub cycles: Option<u64>,
    /// Those of them that are launch latency.
    pub launch_cycles: Option<u64>,
    /// What the machine counted during the launch; empty if the engine has no machine.
    pub stats: Stats,
    /// What single members of the machine's groups counted (slices, channels); empty if the engine has no machine.
    pub members: Vec<Members>,
    /// What the kernel itself has submitted, in the order in which it is to happen.
    pub submitted: Vec<Submitted>,
}

/// Work that a kernel submits (dynamic parallelism).
#[derive(Clone, Debug)]
pub enum Submitted {
    /// A launch.
    Launch(Launch),
    /// A copy in device memory.
    Copy {
        /// Where to.
        to: Addr,
        /// Where from.
        from: Addr,
        /// How much.
        size: Bytes,
    },
    /// A byte, many times.
    Set {
        /// Where to.
        to: Addr,
        /// The byte.
        byte: u8,
        /// How often.
        size: Bytes,
    },
}

/// What copies between host and device did in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CopyReport {
    /// Core cycles; `None` if the engine has no clock.
    pub cycles: Option<u64>,
    /// What the machine counted; empty if the engine has no machine.
    pub stats: Stats,
}

/// Runs what a device is told. Implementations: functional (emulator alone), timed, recording.
pub trait Engine {
    /// Loads a module; `name` is used in diagnostics.
    fn load_module(&mut self, name: &str, text: &str) -> Result<ModuleId, HostError>;
    /// The kernel's parameters.
    fn kernel(&self, module: ModuleId, name: &str) -> Result<KernelShape, HostError>;
    /// What the kernel needs of an SM.
    fn resources(&mut self, _module: ModuleId, name: &str) -> Result<KernelResources, HostError> {
        Err(HostError::Module(format!("this engine does not know what kernel `{name}` needs")))
    }
    /// The address of a module-scope variable.
    fn symbol(&self, module: ModuleId, name: &str) -> Result<SymbolAddress, HostError>;
    /// Gives memory, 512 B aligned (2 MB for managed memory).
    fn alloc(&mut self, size: Bytes, flags: AllocFlags, name: &str) -> Result<Allocation, HostError>;
    /// Takes memory back.
    fn free(&mut self, start: Addr) -> Result<AllocationId, HostError>;
    /// Writes device memory.
    fn write(&mut self, start: Addr, data: &[u8]) -> Result<(), HostError>;
    /// Reads device memory.
    fn read(&self, start: Addr, data: &mut [u8]) -> Result<(), HostError>;
    /// Sets device memory.
    fn fill(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), HostError>;
    /// Makes a texture object; gives the value that kernels name it by.
    fn create_texture(&mut self, _texture: &Texture) -> Result<u64, HostError> {
        Err(HostError::Call { call: "create texture", reason: "this engine has none".into() })
    }
    /// Makes a surface object; gives the value that kernels name it by.
    fn create_surface(&mut self, _image: &Image) -> Result<u64, HostError> {
        Err(HostError::Call { call: "create surface", reason: "this engine has none".into() })
    }
    /// Forgets a texture or surface object.
    fn destroy_object(&mut self, handle: u64) -> Result<(), HostError> {
        Err(HostError::Call { call: "destroy object", reason: format!("{handle:#x} is no texture or surface") })
    }
    /// Runs a kernel to its end.
    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError>;
    /// What copies did so far.
    fn copies(&self) -> CopyReport {
        CopyReport::default()
    }
    /// Hears every event, after it took effect (before, for `LaunchBegin`).
    fn hear(&mut self, event: &HostEvent) {
        let _ = event;
    }
}
