//! The fat binaries of a program as modules of its device: chosen when they arrive, loaded when they are used.

use super::fatbin::{self, FatbinError};
use super::link;
use strata_host::{Device, HostError, ModuleId};

/// What became of a fat binary.
enum State {
    /// PTX that no launch has needed yet.
    Text(String),
    Loaded(ModuleId),
    /// The reason for which it cannot be used; a launch from it fails with that.
    Unusable(String),
}

struct Module {
    state: State,
    /// The architecture of its PTX.
    sm: Option<u32>,
}

/// The modules of one process.
#[derive(Default)]
pub(super) struct Modules {
    list: Vec<Module>,
    /// The program's name, for messages.
    program: String,
}

/// The oldest architecture that current compilers support: what a device is that runs no PTX at all.
const DEFAULT_CAPABILITY: u32 = 75;

impl Modules {
    pub(super) fn new(program: String) -> Self {
        Self { list: Vec::new(), program }
    }

    /// Takes a fat binary, or those that a program was linked from on the device's side (the first is then the result, which
    /// has machine code only). Gives its number.
    pub(super) fn add(&mut self, images: &[Vec<u8>]) -> u32 {
        let module = match choose(images) {
            Ok((sm, text)) => Module { state: State::Text(text), sm: Some(sm) },
            Err(error) => Module { state: State::Unusable(error.to_string()), sm: None },
        };
        self.list.push(module);
        self.list.len() as u32 - 1
    }

    /// The module, loaded into the device.
    pub(super) fn loaded(&mut self, number: u32, device: &mut Device) -> Result<ModuleId, HostError> {
        let Some(module) = self.list.get_mut(number as usize) else {
            return Err(HostError::Module(format!("the program names module {number}, which it never registered")));
        };
        if let State::Text(text) = &module.state {
            let name = format!("{} (PTX of module {number})", self.program);
            module.state = match device.load_module(&name, text) {
                Ok(id) => State::Loaded(id),
                Err(error) => State::Unusable(error.to_string()),
            };
        }
        match &module.state {
            State::Loaded(id) => Ok(*id),
            State::Unusable(why) => Err(HostError::Module(why.clone())),
            State::Text(_) => Err(HostError::Module("the module is not loaded".into())),
        }
    }

    /// The architecture that a module's PTX is for.
    pub(super) fn architecture(&self, number: u32) -> u32 {
        self.list.get(number as usize).and_then(|module| module.sm).unwrap_or(DEFAULT_CAPABILITY)
    }

    /// The compute capability, times ten, that the program was compiled for: a device that runs any PTX is of the kind that
    /// the program expects.
    pub(super) fn capability(&self) -> u32 {
        self.list.iter().filter_map(|module| module.sm).max().unwrap_or(DEFAULT_CAPABILITY)
    }
}

/// CUDA's own library for device code (launches by kernels, conditions of graphs) calls the driver by such names. The emulator has
/// functions of the same names as the library's.
const DRIVER_CALL: &str = "__cuda_syscall_";

fn choose(images: &[Vec<u8>]) -> Result<(u32, String), FatbinError> {
    let Some((whole, parts)) = images.split_first() else { return Err(FatbinError::NoPtx(Vec::new())) };
    match fatbin::best_ptx(whole) {
        Err(FatbinError::NoPtx(_)) if !parts.is_empty() => {
            let texts = parts.iter().map(|part| fatbin::best_ptx(part)).collect::<Result<Vec<_>, _>>()?;
            // Libraries of the device's side bring PTX for newer architectures than the program is compiled for.
            let sm = texts.iter().map(|(sm, _)| *sm).min().unwrap_or(DEFAULT_CAPABILITY);
            let texts = texts.iter().map(|(_, text)| text.as_str());
            Ok((sm, link::link(texts.filter(|text| !text.contains(DRIVER_CALL)))))
        }
        found => found,
    }
}
