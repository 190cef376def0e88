//! A decoded kernel: what execution reads, nothing of how it was made.

use crate::check::Watched;
use crate::decode::entry::Start;
use crate::exec::Slot;
use crate::inst::Inst;
use crate::ops::matrix::Product;
use crate::ops::matrix_memory::{Rows, Transfer};
use crate::ops::surface::SurfaceAccess;
use crate::ops::texture::Fetch;
use arrayvec::ArrayVec;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use strata_core::{LaneMask, OpClass, OpInfo};
use strata_ptx::LineIndex;
use strata_ptx::analysis::{CallsEndBlocks, Cfg, Liveness, Pressure, SlotRef};
use strata_ptx::ast::{Module, Span};

/// A block number that stands for "none".
pub(crate) const NO_BLOCK: u32 = u32::MAX;

/// A kernel and every function it can reach, decoded together.
pub(crate) struct Kernel {
    /// Name as the module spells it.
    pub(crate) name: String,
    /// The kernel itself, then the functions it may call.
    pub(crate) functions: Vec<Code>,
    /// Static instructions of all functions, in the order of `functions`: what an observer of warp operations reads.
    pub(crate) infos: Vec<OpInfo>,
    /// Basic blocks of all functions, for counting.
    pub(crate) visits: Vec<VisitInfo>,
    /// Memory instructions of all functions.
    pub(crate) memory_instructions: u32,
    /// Decoded for checked launches: the memory instructions that are looked at, by [`Inst::touched`].
    pub(crate) watched: FxHashMap<u32, Watched>,
    /// Bytes of shared memory that the program declares with a size.
    pub(crate) static_shared: u64,
    /// Where dynamic shared memory begins.
    pub(crate) dynamic_shared_at: u64,
    /// Local memory a thread needs, call stack included.
    pub(crate) local_bytes: u64,
    /// Size of the parameter block.
    pub(crate) param_bytes: u32,
    /// Instructions that cannot be executed; a launch is refused if there are any.
    pub(crate) unsupported: Vec<Refused>,
    /// Why the order of CTAs can be observed, if it can; such a kernel runs on one host thread.
    pub(crate) order_matters: Option<String>,
    /// How its threads begin, if they must do so in step.
    pub(crate) start: Option<Start>,
    /// The upper bound that `.maxntid` or `.reqntid` sets, and whether it must be met exactly.
    pub(crate) max_threads: Option<([u32; 3], bool)>,
    /// Maps an index into the module's functions to one of `functions`, for indirect calls.
    pub(crate) function_table: Vec<Option<u32>>,
    /// Where the text is, for messages.
    pub(crate) origin: Origin,
}

impl Kernel {
    /// The number of an instruction in its function, number `code` of the kernel's.
    pub(crate) fn place_of(&self, i: &Inst, code: u32) -> u32 {
        let insts = &self.functions[code as usize].insts;
        insts.iter().position(|other| std::ptr::eq(other, i)).unwrap_or(0) as u32
    }

    /// An estimate of the registers a thread needs: the most that any function of the kernel does.
    pub(crate) fn registers(&self) -> u32 {
        let of = |index: u32| {
            let function = &self.origin.module.functions[index as usize];
            let cfg = Cfg::build(function, CallsEndBlocks::No);
            Pressure::build(function, &cfg, &Liveness::build(function, &cfg)).registers
        };
        self.functions.iter().map(|code| of(code.index)).max().unwrap_or(1)
    }
}

/// An instruction that parses and cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// Line of the file.
    pub line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// The kernel or function it stands in.
    pub function: String,
    /// Why not.
    pub why: String,
}

/// The module a kernel came from.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) file: String,
    pub(crate) text: Arc<str>,
    pub(crate) module: Arc<Module>,
    pub(crate) lines: Arc<LineIndex>,
}

impl Origin {
    pub(crate) fn new(file: &str, text: &str, module: Module) -> Self {
        Self {
            file: file.to_owned(),
            text: text.into(),
            lines: Arc::new(LineIndex::new(text)),
            module: Arc::new(module),
        }
    }

    /// The line of a source file that an instruction was made of, if the module tells (`.loc`).
    pub(crate) fn source_of(&self, instruction: &strata_ptx::ast::Instruction) -> Option<String> {
        let loc = instruction.loc.filter(|loc| loc.line > 0)?;
        let name = self.module.files.iter().find(|f| f.0 == loc.file).map_or("?", |f| f.1.as_str());
        Some(format!("{name}:{}", loc.line))
    }

    /// The text of a span, white space folded.
    pub(crate) fn text_of(&self, span: Span) -> String {
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// What one execution of a block adds to the counts.
pub(crate) struct VisitInfo {
    /// Instructions by class.
    pub(crate) classes: ArrayVec<(OpClass, u32), { OpClass::ALL.len() }>,
}

/// A decoded function.
pub(crate) struct Code {
    /// Index into the module's functions.
    pub(crate) index: u32,
    /// Decoded instructions, one for each of the source.
    pub(crate) insts: Vec<Inst>,
    /// Basic blocks; the last is a synthetic return.
    pub(crate) blocks: Vec<Block>,
    /// What to do at instructions that the warp's scheduler handles; see [`Code::control`].
    pub(crate) controls: Vec<Control>,
    /// Operands of matrix instructions, which are more than an [`Inst`] holds.
    pub(crate) matrices: Vec<Matrix>,
    /// Operands of reads of textures, and of accesses to surfaces.
    pub(crate) fetches: Vec<Fetch>,
    pub(crate) surfaces: Vec<SurfaceAccess>,
    /// Values that operands refer to as constants, to be laid out when a launch begins.
    pub(crate) constants: Vec<Constant>,
    /// Where each register is kept.
    pub(crate) registers: Vec<SlotRef>,
    /// Units of the frame.
    pub(crate) units: u32,
    /// Predicates of the frame.
    pub(crate) predicates: u32,
    /// Bytes of local memory of the frame.
    pub(crate) local_bytes: u64,
    /// Number of the first instruction among those of the kernel.
    pub(crate) first_pc: u32,
    /// Where each parameter lives in the frame, with its units.
    pub(crate) params: Vec<UnitRange>,
    /// Where each return slot lives in the frame.
    pub(crate) returns: Vec<UnitRange>,
}

impl Code {
    /// What the scheduler does at an instruction that stopped its split.
    pub(crate) fn control(&self, i: &Inst) -> Control {
        self.controls[i.scheduled().control as usize]
    }
}

/// Consecutive units of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnitRange {
    pub(crate) first: u32,
    pub(crate) units: u32,
}

/// A basic block.
pub(crate) struct Block {
    /// First instruction.
    pub(crate) first: u32,
    /// One past the last that is executed as an instruction; a branch, call, return or exit stands there.
    pub(crate) end: u32,
    /// Instructions, the one that ends the block included.
    pub(crate) length: u32,
    /// How the block is left.
    pub(crate) exit: Exit,
    /// Index into [`Kernel::visits`].
    pub(crate) visit: u32,
}

/// A predicate that is read, as a guard or as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) predicate: u16,
    /// All ones if it counts where it does not hold, else 0.
    pub(crate) flip: LaneMask,
}

/// How a block is left.
pub(crate) enum Exit {
    /// To another block, always.
    Jump {
        to: u32,
    },
    /// To one of two, lane by lane.
    Branch {
        test: Test,
        taken: u32,
        other: u32,
        /// Where the lanes meet again, or [`NO_BLOCK`].
        meet: u32,
    },
    /// To the `index`-th of several.
    Table {
        test: Test,
        index: Slot,
        targets: Box<[u32]>,
        other: u32,
        meet: u32,
    },
    /// Out of the function; lanes that fail the test go on.
    Return {
        test: Test,
        other: u32,
    },
    /// Out of the kernel; lanes that fail the test go on.
    #[allow(clippy::enum_variant_names, reason = "the instruction's name")]
    Exit {
        test: Test,
        other: u32,
    },
    Call(Box<Call>),
}

/// A call of a function of the kernel.
pub(crate) struct Call {
    pub(crate) test: Test,
    /// The callee: known, or the function number in a 64-bit slot.
    pub(crate) callee: Callee,
    /// Where the arguments are in the caller's frame.
    pub(crate) arguments: Vec<UnitRange>,
    /// Where the results go.
    pub(crate) results: Vec<UnitRange>,
    /// The block after the call.
    pub(crate) next: u32,
}

/// Who is called.
#[derive(Clone, Copy)]
pub(crate) enum Callee {
    /// Index into [`Kernel::functions`].
    Known(u32),
    /// A slot with function addresses, see [`crate::program::FUNCTION_WINDOW`].
    Indirect(Slot),
}

/// An instruction that the warp's scheduler handles.
#[derive(Clone, Copy)]
pub(crate) enum Control {
    /// `bar.warp.sync`: wait for the members of the mask in slot `a`.
    WarpBarrier,
    /// A collective that found members missing: contribute, wait, finish.
    Collective {
        /// Puts the lanes' values into the exchange area.
        gather: crate::inst::OpFn,
        /// Computes the lanes' results from it.
        finish: crate::inst::OpFn,
    },
    /// An instruction that all lanes execute together: wait for them, then run it once for all.
    Together,
    /// A CTA barrier.
    Barrier(Barrier),
}

/// The operands of a matrix instruction.
pub(crate) enum Matrix {
    /// `wmma.mma`, `mma`.
    Product(Box<Product>),
    /// `wmma.load`, `wmma.store`.
    Transfer(Box<Transfer>),
    /// `ldmatrix`, `stmatrix`.
    Rows(Rows),
}

/// A CTA barrier instruction; slot `a` holds its number, slot `b` the thread count if `counted`.
#[derive(Clone, Copy)]
pub(crate) struct Barrier {
    /// False for `bar.arrive`.
    pub(crate) waits: bool,
    /// True if a thread count is given.
    pub(crate) counted: bool,
    /// What `bar.red` computes of the threads' votes.
    pub(crate) reduction: Option<Reduction>,
    /// Warps go on in short turns behind it: see [`crate::turn::FIRST_TURN`].
    pub(crate) keeps_step: bool,
}

/// The reduction of a `bar.red`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// Count of true predicates, to slot `d`.
    Popc,
    /// All true, as a predicate.
    And,
    /// Any true, as a predicate.
    Or,
}

/// A constant operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Constant {
    /// The same 32 bits in every lane: one unit.
    Word(u32),
    /// The same 64 bits in every lane: two units.
    Double(u64),
    /// The handle that a texture or surface reference at this address holds when a launch begins: two units.
    Reference(u64),
    /// A value of the parameter block, extended: one unit, or two if `wide`.
    Param { offset: u32, size: u8, signed: bool, wide: bool },
    /// The generic address of a byte of the parameter block: two units.
    ParamAddress(u32),
    /// Different in each lane: one unit.
    Lanes(Box<[u32; 32]>),
}

impl Constant {
    /// Units it takes.
    pub(crate) fn units(&self) -> u32 {
        match self {
            Self::Word(_) | Self::Lanes(_) | Self::Param { wide: false, .. } => 1,
            Self::Double(_) | Self::Reference(_) | Self::ParamAddress(_) | Self::Param { wide: true, .. } => 2,
        }
    }
}
