//! What a launch file says, typed. Everything a later stage may have to complain about keeps its place in the file.

use crate::element::{Element, Number};
use std::ops::Range;
use strata_core::{Bytes, Dim3};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// What was read.
    pub value: T,
    /// Where it stands, in bytes of the launch file.
    pub span: Range<usize>,
}

impl<T> At<T> {
    /// `value`, written at `span`.
    pub const fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }
}

/// A launch file, as its text says it: no named file has been opened yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// PTX files, relative to the launch file.
    pub ptx: Vec<At<String>>,
    /// Seed of buffers with random contents.
    pub seed: u64,
    /// Device buffers, in the order of the file, which is the order of allocation.
    pub buffers: Vec<Buffer>,
    /// Values of module-scope variables.
    pub symbols: Vec<SymbolValue>,
    /// Launches, in the order in which they run.
    pub launches: Vec<LaunchStep>,
    /// What happens with buffers after the last launch, in order.
    pub after: Vec<After>,
}

/// A buffer in device memory and what it holds before the first launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name, by which launches and `[[after]]` steps refer to it; unique in the file.
    pub name: At<String>,
    /// The type of its elements, if given.
    pub element: Option<Element>,
    /// Its size; `None` if the file that fills it decides.
    pub size: Option<At<Bytes>>,
    /// What it holds before the first launch.
    pub contents: Contents,
    /// Managed (unified) memory, or never; `None`: managed where all memory is.
    pub managed: Option<bool>,
}

/// What a buffer holds before the first launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// All bytes 0.
    Zeros,
    /// Every element has this value.
    Constant(Element, Number),
    /// `start`, `start + step`, `start + 2 step`, …; integers wrap.
    Iota(Element, Number, Number),
    /// Uniformly distributed between two bounds, both included.
    Random(Element, Number, Number),
    /// The bytes of a `.bin` file or the data of a `.npy` file.
    File(At<String>),
}

/// A value for a module-scope variable.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolValue {
    /// The module-scope variable, as the module spells it.
    pub name: At<String>,
    /// The bytes, from its first byte on.
    pub bytes: Vec<u8>,
}

/// One `[[launch]]`: a kernel, its grid and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchStep {
    /// Kernel, as the module spells it.
    pub kernel: At<String>,
    /// Extents of the grid, in CTAs.
    pub grid: Dim3,
    /// Extents of a CTA, in threads.
    pub block: Dim3,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Arguments, in order; the span is that of the whole list.
    pub args: At<Vec<At<ArgValue>>>,
    /// Buffers (indices into [`Program::buffers`]) that are asked to the device before it, each time.
    pub prefetch: Vec<usize>,
    /// Times that it is launched, one after another; at least 1.
    pub repeat: u32,
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// The address of a buffer (index into [`Program::buffers`]), plus an offset in bytes.
    Buffer(usize, u64),
    /// The bytes of a scalar or a structure.
    Bytes(Vec<u8>),
}

/// One `[[after]]`: what is done with a buffer when all launches have ended.
#[derive(Clone, Debug, PartialEq)]
pub struct After {
    /// Index into [`Program::buffers`].
    pub buffer: usize,
    /// The type its bytes are read as, if it matters.
    pub element: Option<Element>,
    /// What is done with it.
    pub action: At<Action>,
}

/// What to do with a buffer after the last launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Write it to a file of that name in the result directory.
    Write(String),
    /// Compare it with a file (relative to the launch file).
    Compare {
        /// Path of the file, relative to the launch file.
        file: String,
        /// Allowed absolute difference.
        abs: f64,
        /// Allowed difference relative to the expected value.
        rel: f64,
    },
    /// Print its FNV-1a 64 checksum.
    Checksum,
}
