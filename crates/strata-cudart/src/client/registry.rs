//! What a program registers before `main`: its fat binaries, and which host address stands for which kernel or variable.
//!
//! A fat binary is sent to the simulator when something of it is first used.

use super::boundary::{self, In, Out, Text};
use super::error::{Code, Outcome};
use super::{cuda, server};
use crate::protocol::{Kernel, Reply, Request};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What `__cudaRegisterFatBinary` is given (24 bytes).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Wrapper {
    magic: u32,
    version: u32,
    data: u64,
    /// Version 2: an array of fat binaries that were linked into this one, ended by a null pointer.
    parts: u64,
}

/// The first four bytes of a wrapper, and of a fat binary.
const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const IMAGE_MAGIC: u32 = 0xba55_ed50;
/// Bytes of the header that precedes a fat binary's entries.
const HEADER_BYTES: u64 = 16;

/// A fat binary of the program.
struct Module {
    wrapper: Wrapper,
    /// The simulator's number for it.
    number: Option<u32>,
    /// Managed variables: where the program keeps their address, and their names.
    managed: Vec<(Out<u64>, String)>,
}

struct Function {
    module: usize,
    name: String,
    kernel: Option<Arc<Kernel>>,
}

struct Variable {
    module: usize,
    name: String,
    place: Option<(u64, u64)>,
}

#[derive(Default)]
struct Registry {
    modules: Vec<Module>,
    functions: BTreeMap<u64, Function>,
    variables: BTreeMap<u64, Variable>,
}

// SAFETY: the places of managed variables are static variables of the program, which any thread may write through us; the
// lock around the registry keeps us from doing so twice at once.
unsafe impl Send for Registry {}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

fn registry() -> MutexGuard<'static, Option<Registry>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(use_it: impl FnOnce(&mut Registry) -> T) -> T {
    use_it(registry().get_or_insert_default())
}

/// The bytes of a fat binary at an address of the program.
fn image(address: u64) -> Outcome<Vec<u8>> {
    let magic: u32 = In::from_address(address).get()?;
    if magic != IMAGE_MAGIC {
        return Err(Code(200));
    }
    let size: u64 = In::from_address(address + 8).get()?;
    Ok(boundary::bytes(address, HEADER_BYTES.saturating_add(size)).to_vec())
}

impl Registry {
    /// The simulator's number of a module, which is sent if need be; managed variables get their addresses.
    fn loaded(&mut self, module: usize) -> Outcome<u32> {
        let module = self.modules.get_mut(module).ok_or(Code(200))?;
        if let Some(number) = module.number {
            return Ok(number);
        }
        let mut images = vec![image(module.wrapper.data)?];
        if module.wrapper.version == 2 && module.wrapper.parts != 0 {
            let parts = In::<u64>::from_address(module.wrapper.parts);
            for index in 0.. {
                match parts.at(index)? {
                    0 => break,
                    part => images.push(image(part)?),
                }
            }
        }
        let number = server::number(&Request::Module { images })? as u32;
        for (place, name) in &module.managed {
            if let Reply::Symbol { start, .. } = server::ask(&Request::Symbol { module: number, name: name.clone() })? {
                place.set(start)?;
            }
        }
        module.number = Some(number);
        Ok(number)
    }
}

/// Sends all modules: for questions about the program as a whole.
pub(super) fn load_all() {
    with(|registry| {
        for module in 0..registry.modules.len() {
            // What is wrong with a module is told when something of it is used.
            let _ = registry.loaded(module);
        }
    });
}

/// A kernel: the number of its module, its name, and what must be known of it.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) module: u32,
    pub(super) name: String,
    pub(super) kernel: Arc<Kernel>,
}

/// The kernel that a host function stands for.
pub(super) fn kernel(function: u64) -> Outcome<Found> {
    with(|registry| {
        let found = registry.functions.get(&function).ok_or(Code::INVALID_FUNCTION)?;
        let (module, name, known) = (found.module, found.name.clone(), found.kernel.clone());
        let module = registry.loaded(module)?;
        if let Some(kernel) = known {
            return Ok(Found { module, name, kernel });
        }
        let Reply::Kernel { kernel } = server::ask(&Request::Kernel { module, name: name.clone() })? else {
            return Err(Code::UNKNOWN);
        };
        let kernel = Arc::new(kernel);
        if let Some(found) = registry.functions.get_mut(&function) {
            found.kernel = Some(Arc::clone(&kernel));
        }
        Ok(Found { module, name, kernel })
    })
}

/// Where the variable is that a host variable stands for: first byte and size.
pub(super) fn variable(host: u64) -> Outcome<(u64, u64)> {
    with(|registry| {
        let found = registry.variables.get(&host).ok_or(Code::INVALID_SYMBOL)?;
        if let Some(place) = found.place {
            return Ok(place);
        }
        let (module, name) = (found.module, found.name.clone());
        let module = registry.loaded(module)?;
        let Reply::Symbol { start, size } = server::ask(&Request::Symbol { module, name })? else {
            return Err(Code::UNKNOWN);
        };
        if let Some(found) = registry.variables.get_mut(&host) {
            found.place = Some((start, size));
        }
        Ok((start, size))
    })
}

/// A handle is the number of the module plus one, so that it is never null.
fn module_of(handle: u64) -> usize {
    (handle as usize).wrapping_sub(1)
}

/// A program has a fat binary; the handle names it in the calls below.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn __cudaRegisterFatBinary(wrapper: In<Wrapper>) -> u64 {
    match wrapper.get() {
        Ok(wrapper) if wrapper.magic == WRAPPER_MAGIC => with(|registry| {
            registry.modules.push(Module { wrapper, number: None, managed: Vec::new() });
            registry.modules.len() as u64
        }),
        _ => 0,
    }
}

/// All of it was registered.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn __cudaRegisterFatBinaryEnd(_handle: u64) {}

/// The program ends.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn __cudaUnregisterFatBinary(_handle: u64) {
    super::device::flush();
}

/// A host function stands for a kernel.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
#[allow(clippy::too_many_arguments, reason = "the signature is CUDA's")]
extern "C" fn __cudaRegisterFunction(
    handle: u64,
    host: u64,
    _device: u64,
    name: Text,
    _thread_limit: c_int,
    _tid: u64,
    _bid: u64,
    _block: u64,
    _grid: u64,
    _warp: u64,
) {
    let function = Function { module: module_of(handle), name: name.read(), kernel: None };
    with(|registry| registry.functions.insert(host, function));
}

/// A host variable stands for one of the device.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
#[allow(clippy::too_many_arguments, reason = "the signature is CUDA's")]
extern "C" fn __cudaRegisterVar(
    handle: u64,
    host: u64,
    _device: u64,
    name: Text,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    register_variable(handle, host, &name.read());
}

/// The host variable at `host` stands for variable `name` of a module.
pub(super) fn register_variable(handle: u64, host: u64, name: &str) {
    let variable = Variable { module: module_of(handle), name: name.to_owned(), place: None };
    with(|registry| registry.variables.insert(host, variable));
}

/// A managed variable: `host` is where the program keeps its address.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
#[allow(clippy::too_many_arguments, reason = "the signature is CUDA's")]
extern "C" fn __cudaRegisterManagedVar(
    handle: u64,
    host: Out<u64>,
    _device: u64,
    name: Text,
    _external: c_int,
    _size: usize,
    _constant: c_int,
    _global: c_int,
) {
    with(|registry| {
        if let Some(module) = registry.modules.get_mut(module_of(handle)) {
            module.managed.push((host, name.read()));
        }
    });
}

/// The program is about to use its managed variables. True if they are there.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn __cudaInitModule(handle: u64) -> u8 {
    u8::from(with(|registry| registry.loaded(module_of(handle))).is_ok())
}

cuda! {
    /// A kernel's handle is the host function that stands for it.
    fn __cudaGetKernel(kernel: Out<u64>, function: u64) {
        self::kernel(function)?;
        kernel.set(function)
    }

    /// The same for programs: the handle is the function itself.
    fn cudaGetKernel(kernel: Out<u64>, function: u64) {
        self::kernel(function)?;
        kernel.set(function)
    }

    /// A function of the driver is the runtime's kernel here.
    fn cudaGetFuncBySymbol(found: Out<u64>, function: u64) {
        self::kernel(function)?;
        found.set(function)
    }

    /// Where a variable is.
    fn cudaGetSymbolAddress(address: Out<u64>, symbol: u64) {
        address.set(variable(symbol)?.0)
    }

    /// How large a variable is.
    fn cudaGetSymbolSize(size: Out<usize>, symbol: u64) {
        size.set(variable(symbol)?.1 as usize)
    }
}
