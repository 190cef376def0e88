//! The typed module: what the parser produces and every later stage reads.
//!
//! All names are resolved: a register is a [`RegId`] of its function, a variable a [`Symbol`], a branch target a
//! [`LabelId`]. An instruction keeps its opcode and its modifier [`Word`]s in the order written, so that it can be
//! printed back; accessors such as [`Instruction::ty`] and [`Instruction::has`] read them.

pub use crate::isa::FormId;
pub use crate::words::{Opcode, Special, Word};
use std::fmt;

/// A range of bytes in the source text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Span {
    /// Byte of the text at which it begins.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A fundamental type (PTX ISA 5.2), packed and alternate forms included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the variants are PTX's own names")]
pub enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    F32,
    F32x2,
    F64,
    Bf16,
    Bf16x2,
    Tf32,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    U16x2,
    S16x2,
    U8x4,
    S8x4,
    Pred,
    /// Sub-byte and other matrix element types that only tensor instructions name (`.u4 .s4 .b1 .e2m1 …`).
    Opaque,
    Texref,
    Samplerref,
    Surfref,
}

impl Type {
    /// Size in bits; predicates count 1, opaque references 64.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::Opaque | Self::B8 | Self::U8 | Self::S8 | Self::E4m3 | Self::E5m2 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 | Self::E4m3x2 | Self::E5m2x2 => 16,
            Self::B32
            | Self::U32
            | Self::S32
            | Self::F32
            | Self::F16x2
            | Self::Bf16x2
            | Self::Tf32
            | Self::U16x2
            | Self::S16x2
            | Self::U8x4
            | Self::S8x4 => 32,
            Self::B64
            | Self::U64
            | Self::S64
            | Self::F64
            | Self::F32x2
            | Self::Texref
            | Self::Samplerref
            | Self::Surfref => 64,
            Self::B128 => 128,
        }
    }

    /// Size in bytes, at least 1.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Signed integer types.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64 | Self::S16x2 | Self::S8x4)
    }

    /// Unsigned integer types.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64 | Self::U16x2 | Self::U8x4)
    }

    /// Integer types of either sign, untyped bits excluded.
    pub const fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// Untyped bits.
    pub const fn is_bits(self) -> bool {
        matches!(self, Self::B8 | Self::B16 | Self::B32 | Self::B64 | Self::B128)
    }

    /// Floating-point types, packed ones included.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::F16x2
                | Self::F32
                | Self::F32x2
                | Self::F64
                | Self::Bf16
                | Self::Bf16x2
                | Self::Tf32
                | Self::E4m3
                | Self::E5m2
                | Self::E4m3x2
                | Self::E5m2x2
        )
    }
}

/// A state space (PTX ISA 5.1) of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the variants are PTX's own names")]
pub enum StateSpace {
    Global,
    Const,
    Shared,
    Local,
    Param,
    Tex,
}

/// Index into [`Function::registers`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegId(pub u32);

/// Index into [`Function::labels`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelId(pub u32);

/// A named thing that has an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Symbol {
    /// Index into [`Module::variables`].
    Global(u32),
    /// Index into [`Function::variables`] of the function at hand.
    Local(u32),
    /// Index into [`Function::params`] of the function at hand.
    Param(u32),
    /// Index into [`Function::returns`] of the function at hand.
    Return(u32),
    /// Index into [`Module::functions`].
    Function(u32),
}

/// A literal operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Immediate {
    /// Integers, sign-extended to 64 bits (an unsigned literal over `i64::MAX` keeps its bits).
    Int(i64),
    /// `0f…` literals, as bits.
    F32(u32),
    /// `0d…` and decimal literals, as bits.
    F64(u64),
}

/// What an address is relative to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// The value of a register.
    Register(RegId),
    /// The address of a variable.
    Symbol(Symbol),
    /// Nothing: the offset is the address.
    Absolute,
}

/// An operand of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// `%r1`.
    Register(RegId),
    /// `!%p1`, a negated predicate source.
    Not(RegId),
    /// `5`, `0f3F800000`, `WARP_SZ`.
    Immediate(Immediate),
    /// `%tid.x`.
    Special(Special),
    /// A name used as a value, with a constant added: `table`, `table+8`, a function to call.
    Symbol(Symbol, i64),
    /// `[%rd1+8]`, `[param_0]`, `[16]`.
    Address {
        /// What the address is relative to.
        base: Base,
        /// Added to the base.
        offset: i64,
    },
    /// `{%f1, %f2}`; also the parenthesised lists of a `call`, and bracketed lists such as `[tex, {x, y}]`.
    Vector(Vec<Operand>),
    /// `%p1|%p2`.
    Pair(Box<Operand>, Box<Operand>),
    /// A branch target.
    Label(LabelId),
    /// The name of a `.branchtargets`, `.calltargets` or `.callprototype` declaration: index into [`Function::lists`].
    List(u32),
    /// One of four byte or half selectors of a register: `%r1.b0`, `%r1.h1`.
    Selector(RegId, Word),
    /// `_`, a result nobody wants.
    Sink,
}

/// `@%p1` or `@!%p1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The predicate register.
    pub register: RegId,
    /// True for `@!`.
    pub negated: bool,
}

/// One instruction.
///
/// `call` has four operands: `Vector` of return variables, the callee (`Symbol` or `Register`), `Vector` of arguments,
/// and `List` of the prototype or target list for an indirect call (`Sink` if there is none).
#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    /// What it does.
    pub op: Opcode,
    /// Its modifiers, in the order written, without dots.
    pub words: Vec<Word>,
    /// Its operands, in the order written.
    pub operands: Vec<Operand>,
    /// How many leading operands are written rather than read.
    pub outputs: u8,
    /// Condition of execution.
    pub guard: Option<Guard>,
    /// The line of the instruction table that it matches.
    pub form: FormId,
    /// False if the emulator cannot execute this form (from the instruction table).
    pub executes: bool,
    /// Where it stands.
    pub span: Span,
    /// Line and file number of a `.loc` that applies.
    pub loc: Option<SourceLine>,
}

/// The source line (of the CUDA file) that `.loc` gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceLine {
    /// Number of the `.file` directive.
    pub file: u32,
    /// Line in that file.
    pub line: u32,
}

impl Instruction {
    /// True if `word` is among the modifiers.
    pub fn has(&self, word: Word) -> bool {
        self.words.contains(&word)
    }

    /// The types among the modifiers, in order.
    pub fn types(&self) -> impl Iterator<Item = Type> + '_ {
        self.words.iter().filter_map(|w| w.as_type())
    }

    /// The first type: that of the result, for most instructions.
    pub fn ty(&self) -> Option<Type> {
        self.types().next()
    }

    /// The elements of a vector access: 1, 2, 4 or 8.
    pub fn vector_len(&self) -> usize {
        self.words
            .iter()
            .find_map(|w| match w {
                Word::V2 => Some(2),
                Word::V4 => Some(4),
                Word::V8 => Some(8),
                _ => None,
            })
            .unwrap_or(1)
    }

    /// The state space among the modifiers; `None` means generic addressing.
    pub fn space(&self) -> Option<StateSpace> {
        self.words.iter().find_map(|w| match w {
            Word::Global => Some(StateSpace::Global),
            Word::Const => Some(StateSpace::Const),
            Word::Shared | Word::SharedCta | Word::SharedCluster => Some(StateSpace::Shared),
            Word::Local => Some(StateSpace::Local),
            Word::Param | Word::ParamEntry | Word::ParamFunc => Some(StateSpace::Param),
            _ => None,
        })
    }

    /// The operands written.
    pub fn outputs(&self) -> &[Operand] {
        &self.operands[..self.outputs as usize]
    }

    /// The operands read (an [`Operand::Address`] among the outputs of no instruction: its base is always read).
    pub fn inputs(&self) -> &[Operand] {
        &self.operands[self.outputs as usize..]
    }

    /// Calls `f` for each register this instruction writes.
    pub fn each_written(&self, mut f: impl FnMut(RegId)) {
        for operand in self.outputs() {
            operand.each_register(&mut f);
        }
    }

    /// Calls `f` for each register this instruction reads, its guard included.
    pub fn each_read(&self, mut f: impl FnMut(RegId)) {
        if let Some(guard) = self.guard {
            f(guard.register);
        }
        for operand in self.inputs() {
            operand.each_register(&mut f);
        }
    }
}

/// Opcode and modifiers as written: `add.rn.f32`.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.op.name())?;
        for word in &self.words {
            write!(f, ".{}", word.name())?;
        }
        Ok(())
    }
}

impl Operand {
    /// Calls `f` for each register in the operand.
    pub fn each_register(&self, f: &mut impl FnMut(RegId)) {
        match self {
            Self::Register(r) | Self::Not(r) | Self::Selector(r, _) | Self::Address { base: Base::Register(r), .. } => {
                f(*r);
            }
            Self::Vector(items) => {
                for item in items {
                    item.each_register(f);
                }
            }
            Self::Pair(a, b) => {
                a.each_register(f);
                b.each_register(f);
            }
            _ => {}
        }
    }
}

/// A declared register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Register {
    /// Its name with the percent sign, unique in its scope.
    pub name: String,
    /// Its declared type.
    pub ty: Type,
}

/// One value of an initialiser.
#[derive(Clone, PartialEq, Debug)]
pub enum Initial {
    /// A literal, to be stored with the variable's element size.
    Value(Immediate),
    /// The address of a symbol plus a constant; `generic` for `generic(name)`; `byte` for `0xFF(name)` style masks.
    Address {
        /// Whose address.
        symbol: Symbol,
        /// Added to it.
        offset: i64,
        /// True if the generic address was asked for.
        generic: bool,
        /// `Some(n)`: only byte `n` of the address is stored.
        byte: Option<u8>,
    },
}

/// A variable, parameter or return slot.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// Name as the text spells it.
    pub name: String,
    /// Where it lives.
    pub space: StateSpace,
    /// Element type.
    pub ty: Type,
    /// Elements of a vector type (`.v4`), else 1.
    pub vector: u32,
    /// Array extents, outermost first; empty for a scalar; a first extent of 0 is an array of unknown size (`[]`).
    pub extents: Vec<u32>,
    /// Alignment in bytes.
    pub align: u32,
    /// Flattened initial values; shorter than the variable means zeros follow.
    pub initial: Vec<Initial>,
    /// `.extern`, `.visible`, `.weak`, `.common`, or none.
    pub linkage: Linkage,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// Where it was declared.
    pub span: Span,
}

impl Variable {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.extents.iter().fold(u64::from(self.ty.bytes() * self.vector), |n, &e| n.saturating_mul(u64::from(e)))
    }
}

/// Visibility of a name outside its module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the variants are PTX's own names")]
pub enum Linkage {
    #[default]
    Internal,
    Extern,
    Visible,
    Weak,
    Common,
}

/// A position that branches can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Name as the text spells it; unique in its scope.
    pub name: String,
    /// Index of the instruction that follows it; may equal the number of instructions.
    pub at: u32,
    /// Where it stands.
    pub span: Span,
}

/// A `.branchtargets`, `.calltargets` or `.callprototype` declaration.
#[derive(Clone, PartialEq, Debug)]
pub enum List {
    /// Targets of `brx.idx`.
    Branches(Vec<LabelId>),
    /// Possible callees of an indirect call: indices into [`Module::functions`].
    Calls(Vec<u32>),
    /// The shape of an indirect callee.
    Prototype {
        /// Return slots.
        returns: Vec<Variable>,
        /// Parameters.
        params: Vec<Variable>,
    },
}

/// Performance-tuning directives of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tuning {
    /// `.maxntid` or `.reqntid` as an upper bound of threads per CTA.
    pub max_threads: Option<[u32; 3]>,
    /// True if `.reqntid` gave it: the launch must match exactly.
    pub exact_threads: bool,
    /// `.minnctapersm`.
    pub min_ctas: Option<u32>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
}

/// A kernel (`.entry`) or device function (`.func`).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Function {
    /// Name as the text spells it, mangled if a compiler wrote it.
    pub name: String,
    /// True for `.entry`.
    pub is_entry: bool,
    /// True if only declared; `instructions` is empty then.
    pub is_declaration: bool,
    /// Visibility.
    pub linkage: Linkage,
    /// Return slots of a `.func`; may be in `.param` space or registers (old style).
    pub returns: Vec<Variable>,
    /// Parameters, in order.
    pub params: Vec<Variable>,
    /// For register-style `.func` parameters and returns (`.reg .b32 %x`): the register each is, else `None`.
    pub param_registers: Vec<Option<RegId>>,
    /// The same for returns.
    pub return_registers: Vec<Option<RegId>>,
    /// Tuning directives.
    pub tuning: Tuning,
    /// The registers of all scopes that are named in the body, by first use (one that is only declared is absent).
    pub registers: Vec<Register>,
    /// Variables declared in the body: `.shared`, `.local`, `.param`, …
    pub variables: Vec<Variable>,
    /// The body.
    pub instructions: Vec<Instruction>,
    /// Labels, by position.
    pub labels: Vec<Label>,
    /// Positions at which `.pragma "nounroll"` stands: loops that begin there are not unrolled.
    pub rolled: Vec<u32>,
    /// Branch-target lists, call-target lists and prototypes.
    pub lists: Vec<List>,
    /// Where it stands.
    pub span: Span,
}

/// A whole PTX file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    /// `.version`, major and minor.
    pub version: (u32, u32),
    /// `.target` words: `sm_75`, `texmode_independent`, …
    pub targets: Vec<String>,
    /// `.address_size`: 32 or 64 (default 32 by the manual; every compiler writes 64).
    pub address_size: u32,
    /// Module-scope variables.
    pub variables: Vec<Variable>,
    /// Functions, in order; a declaration followed by its definition is one entry.
    pub functions: Vec<Function>,
    /// `.alias` names: (alias, index of the function).
    pub aliases: Vec<(String, u32)>,
    /// `.file` names by number.
    pub files: Vec<(u32, String)>,
}

impl Module {
    /// The kernel of that name.
    pub fn entry(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.is_entry && f.name == name)
    }

    /// The instructions that parse but that the emulator cannot execute, each with its function.
    pub fn unsupported(&self) -> impl Iterator<Item = (&Function, &Instruction)> {
        self.functions.iter().flat_map(|f| f.instructions.iter().filter(|i| !i.executes).map(move |i| (f, i)))
    }
}
