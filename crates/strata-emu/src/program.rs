//! A loaded module: its variables in device memory, its kernels decoded when first launched.

use crate::check::Looks;
use crate::decode;
use crate::decode::frame::param_offsets;
use crate::kernel::{Kernel, Origin, Refused};
use crate::launch::{self, LaunchConfig, LaunchError, LaunchState, Progress};
use crate::memory::{Memory, MemoryError};
use crate::output::Output;
use crate::source::Execution;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use strata_core::{Addr, Bytes, Counts, OpInfo};
use strata_ptx::ast::{Function, Initial, Linkage, Module, StateSpace, Symbol, Variable};

/// Function addresses: the window plus the number of the function in its module.
pub(crate) const FUNCTION_WINDOW: u64 = 0x0300_0000_0000;

/// Where the module's variables are.
#[derive(Default)]
pub(crate) struct Symbols {
    module: Vec<Option<u64>>,
    functions: FxHashMap<(u32, u32), u64>,
}

impl Symbols {
    /// The address of a module-scope variable in device memory.
    pub(crate) fn address(&self, variable: u32) -> Option<u64> {
        *self.module.get(variable as usize)?
    }

    /// The address of a `.global` or `.const` variable declared in a function.
    pub(crate) fn local_address(&self, function: u32, variable: u32) -> Option<u64> {
        self.functions.get(&(function, variable)).copied()
    }
}

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Offset in the parameter block.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// What a kernel needs of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Registers of a thread, estimated.
    pub registers: u32,
    /// Shared memory of a CTA that the kernel declares.
    pub shared: Bytes,
    /// Local memory of a thread.
    pub local: Bytes,
    /// The most threads a CTA may have, if the kernel says so.
    pub max_threads: Option<u64>,
}

/// A module on a device.
pub struct Program {
    origin: Origin,
    symbols: Symbols,
    /// Decoded kernels: number in the module, and what launches look for.
    kernels: FxHashMap<(u32, Looks), Arc<Kernel>>,
    params: Addr,
    vector: bool,
}

/// Bytes kept for the parameters of a launch (the largest that PTX allows is 32764).
const PARAM_BYTES: u64 = 32768;

impl Program {
    /// Puts a module's variables into device memory.
    pub fn load(file: &str, text: &str, module: Module, memory: &mut Memory) -> Result<Self, MemoryError> {
        let origin = Origin::new(file, text, module);
        let module = origin.module.clone();
        let mut symbols = Symbols::default();
        for v in &module.variables {
            let place =
                if in_memory(v) { Some(memory.alloc(Bytes(v.bytes()), v.managed, &v.name)?.start.0) } else { None };
            symbols.module.push(place);
        }
        for (f, function) in module.functions.iter().enumerate() {
            for (k, v) in function.variables.iter().enumerate().filter(|(_, v)| in_memory(v)) {
                let start = memory.alloc(Bytes(v.bytes()), v.managed, &v.name)?.start;
                symbols.functions.insert((f as u32, k as u32), start.0);
            }
        }
        let params = memory.alloc(Bytes(PARAM_BYTES), false, "kernel parameters")?.start;
        let program = Self { origin, symbols, kernels: FxHashMap::default(), params, vector: has_vector_unit() };
        for (k, v) in module.variables.iter().enumerate() {
            if let Some(start) = program.symbols.address(k as u32) {
                program.initialise(v, start, memory)?;
            }
        }
        for (f, function) in module.functions.iter().enumerate() {
            for (k, v) in function.variables.iter().enumerate() {
                if let Some(start) = program.symbols.local_address(f as u32, k as u32) {
                    program.initialise(v, start, memory)?;
                }
            }
        }
        Ok(program)
    }

    /// Uses plain code even where the CPU has vector units; both give the same bytes.
    #[must_use]
    pub fn without_vector_units(mut self) -> Self {
        self.vector = false;
        self
    }

    fn initialise(&self, v: &Variable, start: u64, memory: &mut Memory) -> Result<(), MemoryError> {
        memory.fill(Addr(start), Bytes(v.bytes()), 0)?;
        let size = v.ty.bytes() as usize;
        let mut bytes: Vec<u8> = Vec::new();
        for value in &v.initial {
            match value {
                Initial::Value(literal) => {
                    bytes.extend(&decode::literal_bits(*literal, v.ty).to_le_bytes()[..size.min(8)]);
                }
                Initial::Address { symbol, offset, generic: _, byte } => {
                    let address = self.symbol_address(*symbol).wrapping_add(*offset as u64).to_le_bytes();
                    match byte {
                        Some(b) => bytes.push(address[usize::from(*b) & 7]),
                        None => bytes.extend(&address[..size.min(8)]),
                    }
                }
            }
        }
        bytes.truncate(v.bytes() as usize);
        memory.write(Addr(start), &bytes)
    }

    fn symbol_address(&self, symbol: Symbol) -> u64 {
        match symbol {
            Symbol::Global(v) => self.symbols.address(v).unwrap_or(0),
            Symbol::Function(f) => FUNCTION_WINDOW + u64::from(f),
            Symbol::Local(_) | Symbol::Param(_) | Symbol::Return(_) => 0,
        }
    }

    /// The names of the kernels, in the order of the module.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.origin.module.functions.iter().filter(|f| f.is_entry && !f.is_declaration).map(|f| f.name.as_str())
    }

    /// The parameters of a kernel.
    pub fn params(&self, kernel: &str) -> Option<Vec<Param>> {
        let function = self.origin.module.entry(kernel)?;
        let (offsets, _) = param_offsets(function);
        Some(
            offsets.iter().zip(&function.params).map(|(&offset, p)| Param { offset, size: p.bytes() as u32 }).collect(),
        )
    }

    /// Where a module-scope variable is, and its size.
    pub fn symbol(&self, name: &str) -> Option<(Addr, Bytes)> {
        let index = self.origin.module.variables.iter().position(|v| v.name == name)?;
        let start = self.symbols.address(index as u32)?;
        Some((Addr(start), Bytes(self.origin.module.variables[index].bytes())))
    }

    /// The kernel, decoded.
    pub(crate) fn kernel(&mut self, name: &str, looks: Looks) -> Option<Arc<Kernel>> {
        let index = self.origin.module.functions.iter().position(|f| f.is_entry && f.name == name)? as u32;
        let kernel = self
            .kernels
            .entry((index, looks))
            .or_insert_with(|| Arc::new(decode::kernel(&self.origin, &self.symbols, index, self.vector, looks)));
        Some(kernel.clone())
    }

    /// Managed module-scope variables: name, first byte, size.
    pub fn managed_variables(&self) -> impl Iterator<Item = (&str, Addr, Bytes)> {
        let variables = self.origin.module.variables.iter().enumerate().filter(|(_, v)| v.managed);
        variables.filter_map(|(k, v)| Some((v.name.as_str(), Addr(self.symbols.address(k as u32)?), Bytes(v.bytes()))))
    }

    /// What a kernel needs of an SM.
    pub fn resources(&mut self, kernel: &str) -> Option<Resources> {
        let kernel = self.kernel(kernel, Looks::default())?;
        Some(Resources {
            registers: kernel.registers(),
            shared: Bytes(kernel.static_shared),
            local: Bytes(kernel.local_bytes),
            max_threads: kernel.max_threads.map(|([x, y, z], _)| u64::from(x) * u64::from(y) * u64::from(z)),
        })
    }

    /// What the result of a kernel may depend on beside its inputs, if that can be seen: the order in which its blocks run.
    pub fn order_dependence(&mut self, kernel: &str) -> Option<String> {
        let kernel = self.kernel(kernel, Looks::default())?;
        let instructions = &self.origin.module.functions[kernel.functions[0].index as usize].instructions;
        let at = instructions.get(kernel.start?.store? as usize)?.span;
        let (name, line, text) = (&kernel.name, self.origin.lines.line(at.start), self.origin.text_of(at));
        Some(format!(
            "kernel `{name}`: its blocks may read at their start what others store in the same launch (line {line}: `{text}`), \
             and then the result depends on the order in which blocks run; --check-races says whether they do"
        ))
    }

    /// The static instructions of a kernel, indexed by the program counters of its warp operations.
    pub fn instructions(&mut self, kernel: &str) -> Option<Vec<OpInfo>> {
        Some(self.kernel(kernel, Looks::default())?.infos.clone())
    }

    /// The instructions of a kernel, and of what it calls, that cannot be executed; a launch is refused if there are any.
    pub fn unsupported(&mut self, kernel: &str) -> Option<Vec<Refused>> {
        Some(self.kernel(kernel, Looks::default())?.unsupported.clone())
    }

    /// Runs a kernel to its end. `number` counts the launches of the device; `progress` is told how far it is.
    pub fn launch(
        &mut self,
        kernel: &str,
        config: &LaunchConfig,
        memory: &mut Memory,
        number: u64,
        output: &Output,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Counts, LaunchError> {
        self.prepared(kernel, config, memory, number, output, |state| launch::run(state, config.threads, progress))?
    }

    /// Hands a launch to `drive`, which decides what runs when: see [`Execution`].
    pub fn drive<R>(
        &mut self,
        kernel: &str,
        config: &LaunchConfig,
        memory: &mut Memory,
        number: u64,
        output: &Output,
        drive: impl FnOnce(&mut Execution<'_>) -> R,
    ) -> Result<R, LaunchError> {
        self.prepared(kernel, config, memory, number, output, |state| drive(&mut Execution::new(state)))
    }

    /// Checks a launch, lays out what its CTAs share, and lets `run` do the rest.
    fn prepared<R>(
        &mut self,
        name: &str,
        config: &LaunchConfig,
        memory: &mut Memory,
        number: u64,
        output: &Output,
        run: impl FnOnce(&LaunchState<'_>) -> R,
    ) -> Result<R, LaunchError> {
        let kernel = self.kernel(name, config.looks()).ok_or_else(|| LaunchError::Refused {
            kernel: name.to_owned(),
            reason: format!("no such kernel; the module has {}", self.kernels().collect::<Vec<_>>().join(", ")),
        })?;
        launch::check(&kernel, config, memory)?;
        let refused = |e: MemoryError| LaunchError::Refused { kernel: name.to_owned(), reason: e.to_string() };
        memory.write(self.params, &config.params).map_err(refused)?;
        let workspace = launch::workspace_of(config, memory).map_err(refused)?;
        let address = workspace.map_or(0, |w| w.0);
        let state = launch::prepare(&kernel, memory, config, number, self.params.0, address, output);
        let result = run(&state);
        if let Some(w) = workspace {
            memory.free(w).map_err(refused)?;
        }
        Ok(result)
    }
}

/// The instructions of a module that cannot be executed, in the order of their lines: those for which launches of its kernels
/// are refused, and those of functions that no kernel calls.
pub fn unsupported(file: &str, text: &str, module: &Module) -> Vec<Refused> {
    let origin = Origin::new(file, text, module.clone());
    // Where variables will be does not matter, only which of them have a place.
    let place = |v: &Variable| in_memory(v).then_some(0);
    let variables = |f: usize, function: &Function| {
        let places = function.variables.iter().enumerate().filter(|(_, v)| in_memory(v));
        places.map(|(k, _)| ((f as u32, k as u32), 0)).collect::<Vec<_>>()
    };
    let symbols = Symbols {
        module: module.variables.iter().map(place).collect(),
        functions: module.functions.iter().enumerate().flat_map(|(f, function)| variables(f, function)).collect(),
    };
    let mut found = BTreeSet::new();
    let mut seen = vec![false; module.functions.len()];
    // Kernels first: what they reach need not be looked at again.
    let defined = |entry: bool| {
        let functions = module.functions.iter().enumerate();
        functions.filter(move |(_, f)| f.is_entry == entry && !f.is_declaration).map(|(index, _)| index)
    };
    for index in defined(true).chain(defined(false)) {
        if !seen[index] {
            let kernel = decode::kernel(&origin, &symbols, index as u32, has_vector_unit(), Looks::default());
            kernel.functions.iter().for_each(|code| seen[code.index as usize] = true);
            found.extend(kernel.unsupported);
        }
    }
    found.into_iter().collect()
}

/// True for variables that have a place in device memory.
fn in_memory(v: &Variable) -> bool {
    matches!(v.space, StateSpace::Global | StateSpace::Const) && v.linkage != Linkage::Extern
}

/// True if the vectorised code paths can run here.
fn has_vector_unit() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}
