//! Runs a loaded launch file on a device.

use super::compare::{Comparison, Tolerance};
use super::contents::{Rule, buffer_seed, generate};
use super::files::{DataFile, Loaded, is_npy};
use super::program::{Action, After, ArgValue, Contents, LaunchStep};
use crate::diagnostics::Diagnostic;
use crate::error::LabError;
use crate::npy;
use serde::Serialize;
use std::io::{Read, Write};
use std::path::Path;
use strata_core::files::AtomicFile;
use strata_core::fnv::Fnv1a64;
use strata_core::{Addr, Bytes};
use strata_host::{Arg, Device, HostError, ModuleId};

/// Buffers move between host and device in pieces of at most this size: large enough that ordinary buffers are one
/// copy, small enough that the host never holds a second device's worth of memory. A multiple of every element size.
const PIECE: u64 = 64 << 20;

/// What happened with a buffer after the last launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Finding {
    /// It was written to a file in the result directory.
    Write {
        /// Name of the buffer.
        buffer: String,
        /// Name of the file, within the result directory.
        file: String,
        /// Bytes of data, without the header of an `.npy` file.
        bytes: u64,
    },
    /// It was compared with a file.
    Compare {
        /// Name of the buffer.
        buffer: String,
        /// The file, as the launch file names it.
        file: String,
        /// True if every element is within the tolerance.
        passed: bool,
        /// Elements, mismatches and the first of those.
        #[serde(flatten)]
        comparison: Comparison,
    },
    /// Its FNV-1a 64 checksum.
    Checksum {
        /// Name of the buffer.
        buffer: String,
        /// Sixteen hexadecimal digits.
        fnv1a64: String,
    },
}

/// The outcome of a launch file's launches and of its `[[after]]` steps.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// True or false if anything was compared.
    pub passed: Option<bool>,
    /// What was found after the last launch, in order.
    pub findings: Vec<Finding>,
    /// Why the device program stopped early, if it did.
    pub failure: Option<String>,
}

/// Runs `loaded` on `device` with `seed` for random contents; files it writes go to `directory`.
///
/// An error means that the file is wrong. A program that fails on the device is an outcome.
pub fn execute(loaded: &Loaded, device: &mut Device, seed: u64, directory: &Path) -> Result<Outcome, LabError> {
    let mut runner = Runner { loaded, device, modules: Vec::new(), addresses: Vec::new(), errors: Vec::new() };
    runner.load_modules()?;
    runner.allocate();
    let launches = runner.check_launches();
    runner.write_symbols();
    runner.stop_on_errors()?;
    for index in 0..loaded.program.buffers.len() {
        runner.fill(index, seed)?;
    }
    if let Some(failure) = runner.launch_all(launches) {
        return Ok(Outcome { passed: Some(false), failure: Some(failure), ..Outcome::default() });
    }
    let mut outcome = Outcome::default();
    for after in &loaded.program.after {
        let finding = runner.after(after, directory)?;
        if let Finding::Compare { passed, .. } = finding {
            outcome.passed = Some(outcome.passed.unwrap_or(true) && passed);
        }
        outcome.findings.push(finding);
    }
    Ok(outcome)
}

struct Runner<'a> {
    loaded: &'a Loaded,
    device: &'a mut Device,
    modules: Vec<ModuleId>,
    addresses: Vec<Addr>,
    errors: Vec<Diagnostic>,
}

/// A launch whose kernel was found and whose arguments fit it.
struct Ready<'a> {
    module: ModuleId,
    step: &'a LaunchStep,
    args: Vec<Arg>,
}

impl<'a> Runner<'a> {
    fn load_modules(&mut self) -> Result<(), LabError> {
        let mut failures = Vec::new();
        for (name, text) in &self.loaded.modules {
            match self.device.load_module(name, text) {
                Ok(id) => self.modules.push(id),
                Err(error) => failures.push(error.to_string()),
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(LabError::Module(failures.join("\n\n"))) }
    }

    fn allocate(&mut self) {
        for (buffer, &size) in self.loaded.program.buffers.iter().zip(&self.loaded.sizes) {
            let name = &buffer.name.value;
            let given = match buffer.managed {
                Some(true) => self.device.alloc_managed(name, size),
                Some(false) => self.device.alloc_on_device(name, size),
                None => self.device.alloc(name, size),
            };
            match given {
                Ok(address) => self.addresses.push(address),
                Err(error) => {
                    self.addresses.push(Addr(0));
                    let span = buffer.name.span.clone();
                    self.errors.push(Diagnostic { span, message: error.to_string(), help: None });
                }
            }
        }
    }

    /// Finds every kernel and checks every argument before anything runs.
    fn check_launches(&mut self) -> Vec<Ready<'a>> {
        let mut launches = Vec::new();
        for step in &self.loaded.program.launches {
            let args = step.args.value.iter().map(|arg| self.arg(&arg.value)).collect::<Vec<_>>();
            let mut first_error = None;
            let found =
                self.modules.iter().find_map(|&module| match self.device.pack(module, &step.kernel.value, &args) {
                    Ok(_) => Some(module),
                    Err(error) => {
                        // Of several modules, the one that has the kernel knows best what is wrong.
                        let is_mismatch = matches!(error, HostError::Call { .. });
                        if first_error.is_none() || is_mismatch {
                            first_error = Some(error);
                        }
                        None
                    }
                });
            match (found, first_error) {
                (Some(module), _) => launches.push(Ready { module, step, args }),
                (None, error) => {
                    let span = match &error {
                        Some(HostError::Call { .. }) => step.args.span.clone(),
                        _ => step.kernel.span.clone(),
                    };
                    let message = match error {
                        Some(HostError::Call { reason, .. }) => reason,
                        Some(other) => other.to_string(),
                        None => format!("no module has a kernel `{}`", step.kernel.value),
                    };
                    self.errors.push(Diagnostic { span, message, help: None });
                }
            }
        }
        launches
    }

    fn arg(&self, value: &ArgValue) -> Arg {
        match value {
            ArgValue::Buffer(index, offset) => Arg::Ptr(self.addresses[*index].offset(*offset)),
            ArgValue::Bytes(bytes) => Arg::Raw(bytes.clone()),
        }
    }

    /// A variable that several modules declare gets its value in each of them.
    fn write_symbols(&mut self) {
        for symbol in &self.loaded.program.symbols {
            let places: Vec<_> =
                self.modules.iter().map(|&module| self.device.symbol(module, &symbol.name.value)).collect();
            let mut failure = None;
            let mut written = false;
            for place in places {
                let place = match place {
                    Ok(place) => place,
                    Err(error) => {
                        failure.get_or_insert(error.to_string());
                        continue;
                    }
                };
                written = true;
                if place.size.0 < symbol.bytes.len() as u64 {
                    let (name, size) = (&symbol.name.value, place.size.0);
                    let message = format!("`{name}` has {size} bytes, {} are given", symbol.bytes.len());
                    self.errors.push(Diagnostic { span: symbol.name.span.clone(), message, help: None });
                } else if let Err(error) = self.device.copy_in(place.start, &symbol.bytes) {
                    failure = Some(error.to_string());
                    written = false;
                }
            }
            if let (false, Some(message)) = (written, failure) {
                self.errors.push(Diagnostic { span: symbol.name.span.clone(), message, help: None });
            }
        }
    }

    fn stop_on_errors(&mut self) -> Result<(), LabError> {
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(LabError::LaunchFile(self.loaded.diagnose(std::mem::take(&mut self.errors))))
    }

    fn fill(&mut self, index: usize, seed: u64) -> Result<(), LabError> {
        let buffer = &self.loaded.program.buffers[index];
        let (start, size) = (self.addresses[index], self.loaded.size(index));
        let (element, rule) = match &buffer.contents {
            Contents::Zeros => return Ok(self.device.memset(start, Bytes(size), 0)?),
            Contents::File(file) => return self.fill_from_file(start, size, &file.value),
            Contents::Constant(element, value) => (*element, Rule::Constant(*value)),
            Contents::Iota(element, first, step) => (*element, Rule::Iota(*first, *step)),
            Contents::Random(element, low, high) => {
                (*element, Rule::Random(*low, *high, buffer_seed(seed, &buffer.name.value)))
            }
        };
        let width = element.bytes() as u64;
        let mut piece = Vec::new();
        for offset in (0..size).step_by(PIECE as usize) {
            let count = PIECE.min(size - offset) / width;
            generate(rule, element, offset / width, count, &mut piece);
            self.device.copy_in(start.offset(offset), &piece)?;
        }
        Ok(())
    }

    fn fill_from_file(&mut self, start: Addr, size: u64, file: &str) -> Result<(), LabError> {
        let path = self.loaded.resolve(file);
        let mut data = DataFile::open(&path).map_err(|e| LabError::io("read", &path, e))?;
        if data.bytes < size {
            self.device.memset(start, Bytes(size), 0)?;
        }
        // The file may have changed since it was measured: never write past the buffer.
        let held = data.bytes.min(size);
        let mut piece = Vec::new();
        for offset in (0..held).step_by(PIECE as usize) {
            piece.resize(PIECE.min(held - offset) as usize, 0);
            data.reader.read_exact(&mut piece).map_err(|e| LabError::io("read", &path, e))?;
            self.device.copy_in(start.offset(offset), &piece)?;
        }
        Ok(())
    }

    fn launch_all(&mut self, launches: Vec<Ready<'_>>) -> Option<String> {
        for Ready { module, step, args } in launches {
            for _ in 0..step.repeat {
                for &buffer in &step.prefetch {
                    self.device.prefetch(self.addresses[buffer], Bytes(self.loaded.size(buffer)), true);
                }
                let run = self.device.launch(module, &step.kernel.value, step.grid, step.block, step.shared, &args);
                if let Err(error) = run {
                    return Some(error.to_string());
                }
            }
        }
        self.device.synchronize();
        None
    }

    fn after(&mut self, after: &After, directory: &Path) -> Result<Finding, LabError> {
        let buffer = self.loaded.program.buffers[after.buffer].name.value.clone();
        match &after.action.value {
            Action::Checksum => {
                let mut hash = Fnv1a64::default();
                self.each_piece(after.buffer, |piece| {
                    hash.feed(piece);
                    Ok(())
                })?;
                Ok(Finding::Checksum { buffer, fnv1a64: hash.to_string() })
            }
            Action::Write(file) => {
                let bytes = self.loaded.size(after.buffer);
                let path = directory.join(file);
                let failed = |e| LabError::io("write", &path, e);
                let mut out = AtomicFile::create(&path).map_err(failed)?;
                if is_npy(file)
                    && let Some(element) = after.element
                    && let Some(header) = npy::header_bytes(element, bytes / element.bytes() as u64)
                {
                    out.write_all(&header).map_err(failed)?;
                }
                self.each_piece(after.buffer, |piece| out.write_all(piece).map_err(failed))?;
                out.commit().map_err(failed)?;
                Ok(Finding::Write { buffer, file: file.clone(), bytes })
            }
            Action::Compare { file, abs, rel } => {
                let path = self.loaded.resolve(file);
                let failed = |e| LabError::io("read", &path, e);
                let mut data = DataFile::open(&path).map_err(failed)?;
                let element = after.element.or(data.element).unwrap_or(crate::element::Element::U8);
                let tolerance = Tolerance { abs: *abs, rel: *rel };
                let mut comparison = Comparison::default();
                let mut expected = Vec::new();
                self.each_piece(after.buffer, |piece| {
                    expected.resize(piece.len(), 0);
                    data.reader.read_exact(&mut expected).map_err(failed)?;
                    comparison.feed(element, tolerance, piece, &expected);
                    Ok(())
                })?;
                let passed = comparison.mismatches == 0;
                Ok(Finding::Compare { buffer, file: file.clone(), passed, comparison })
            }
        }
    }

    fn each_piece(
        &mut self,
        buffer: usize,
        mut each: impl FnMut(&[u8]) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let (start, size) = (self.addresses[buffer], self.loaded.size(buffer));
        let mut piece = Vec::new();
        for offset in (0..size).step_by(PIECE as usize) {
            piece.resize(PIECE.min(size - offset) as usize, 0);
            self.device.copy_out(start.offset(offset), &mut piece)?;
            each(&piece)?;
        }
        Ok(())
    }
}
