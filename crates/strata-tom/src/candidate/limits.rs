//! What a block must not contain (TOM, Section 3.1.4), and which instructions are memory accesses.
//!
//! Decided here, where the paper is silent:
//!
//! - Besides shared memory, synchronisation and atomics, what leaves the warp's own lanes and memory excludes a block:
//!   textures, warp collectives, accesses with an order (`volatile`, `acquire`, …), calls and what belongs to them.
//! - So does reading where a thread runs (`%smid`, `%warpid`, clocks): a stack's SM has its own. Who a thread is (`%tid`,
//!   `%ctaid`) goes along as one more live-in register: an operand that the block does not generate itself (section 5.2).
//!   What a launch or a lane fixes (`%ntid`, `%laneid`) is known everywhere.
//! - Kernel parameters and constants are in constant caches everywhere and count nothing.
//! - Local memory is device memory and counts; the arrays of the paper's LIBOR example are local.
//! - A generic address may be one of shared memory only if the module makes shared addresses generic.
//! - An access counts by its width: one for each 32 bits of a lane, rounded up.

use strata_ptx::ast::{Base, Function, Instruction, Module, Opcode, Operand, Special, StateSpace, Symbol, Type, Word};

/// Why an instruction cannot be part of a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// An access to shared memory.
    SharedMemory,
    /// A barrier, fence or asynchronous group.
    Synchronisation,
    /// An atomic operation.
    Atomic,
    /// A `volatile` access, or one with an order other than `weak`.
    OrderedAccess,
    /// A warp collective.
    WarpWide,
    /// A tensor operation.
    Tensor,
    /// A texture or surface access.
    Texture,
    /// A call, or a parameter of one.
    Call,
    /// A special register that differs where the block would run.
    Whereabouts,
    /// An instruction that acts on the SM, its stack or its caches.
    Machine,
}

impl Limit {
    /// What the instruction is, in words that follow "contains".
    pub const fn words(self) -> &'static str {
        match self {
            Self::SharedMemory => "an access to shared memory",
            Self::Synchronisation => "a barrier or fence",
            Self::Atomic => "an atomic operation",
            Self::OrderedAccess => "a volatile or ordered access",
            Self::WarpWide => "a warp collective",
            Self::Tensor => "a tensor operation",
            Self::Texture => "a texture or surface access",
            Self::Call => "a call",
            Self::Whereabouts => "a read of where or when the thread runs",
            Self::Machine => "an instruction that acts on the SM",
        }
    }
}

/// What an instruction means for a block that contains it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Nothing: it computes, branches or reads constants.
    Free,
    /// A load of so many 32-bit words.
    Load(u32),
    /// A store of so many 32-bit words.
    Store(u32),
    /// The block is no candidate.
    Forbidden(Limit),
}

impl Effect {
    /// True for loads and stores that count.
    pub(super) const fn is_access(self) -> bool {
        matches!(self, Self::Load(_) | Self::Store(_))
    }
}

/// True if some address of shared memory is made generic in `module`: then any generic access may be one.
pub(super) fn makes_shared_generic(module: &Module) -> bool {
    let of_shared = |i: &Instruction| {
        i.space() == Some(StateSpace::Shared) && (i.op == Opcode::Cvta && !i.has(Word::To) || i.op == Opcode::Mapa)
    };
    module.functions.iter().any(|f| f.instructions.iter().any(of_shared))
}

/// Classifies one instruction of `function`.
pub(super) fn effect(function: &Function, instruction: &Instruction, shared_is_generic: bool) -> Effect {
    let mut whereabouts = false;
    each_special(instruction, |special| whereabouts |= origin(special) == Origin::Place);
    if whereabouts {
        return Effect::Forbidden(Limit::Whereabouts);
    }
    match limit_of(instruction.op) {
        Some(limit) => Effect::Forbidden(limit),
        None if matches!(instruction.op, Opcode::Ld | Opcode::Ldu | Opcode::St) => {
            access(function, instruction, shared_is_generic)
        }
        None => Effect::Free,
    }
}

fn access(function: &Function, instruction: &Instruction, shared_is_generic: bool) -> Effect {
    const ORDERED: [Word; 6] = [Word::Volatile, Word::Relaxed, Word::Acquire, Word::Release, Word::Mmio, Word::Cv];
    if ORDERED.iter().any(|&word| instruction.has(word)) {
        return Effect::Forbidden(Limit::OrderedAccess);
    }
    if instruction.has(Word::Async) || instruction.has(Word::Bulk) {
        return Effect::Forbidden(Limit::Synchronisation);
    }
    let of_call = |o: &Operand| matches!(o, Operand::Address { base: Base::Symbol(Symbol::Local(_)), .. });
    match instruction.space() {
        Some(StateSpace::Shared) => return Effect::Forbidden(Limit::SharedMemory),
        None if shared_is_generic => return Effect::Forbidden(Limit::SharedMemory),
        Some(StateSpace::Const) => return Effect::Free,
        Some(StateSpace::Param) => {
            let is_constant =
                function.is_entry && instruction.op == Opcode::Ld && !instruction.operands.iter().any(of_call);
            return if is_constant { Effect::Free } else { Effect::Forbidden(Limit::Call) };
        }
        _ => {}
    }
    let bytes = instruction.ty().map_or(4, Type::bytes) * instruction.vector_len() as u32;
    let words = bytes.div_ceil(4);
    if instruction.op == Opcode::St { Effect::Store(words) } else { Effect::Load(words) }
}

/// What decides the value of a special register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The launch or the lane: it is the same wherever the warp runs.
    Launch,
    /// The thread: it can be sent.
    Thread,
    /// Where and when the thread runs.
    Place,
}

fn origin(special: Special) -> Origin {
    use Special as S;
    match special {
        S::NtidX
        | S::NtidY
        | S::NtidZ
        | S::NctaidX
        | S::NctaidY
        | S::NctaidZ
        | S::Gridid
        | S::Laneid
        | S::LanemaskEq
        | S::LanemaskLe
        | S::LanemaskLt
        | S::LanemaskGe
        | S::LanemaskGt => Origin::Launch,
        S::TidX | S::TidY | S::TidZ | S::CtaidX | S::CtaidY | S::CtaidZ => Origin::Thread,
        _ => Origin::Place,
    }
}

/// Calls `see` with every special register that an instruction reads.
fn each_special(instruction: &Instruction, mut see: impl FnMut(Special)) {
    fn within(operand: &Operand, see: &mut impl FnMut(Special)) {
        match operand {
            Operand::Special(special) => see(*special),
            Operand::Vector(items) => items.iter().for_each(|item| within(item, see)),
            _ => {}
        }
    }
    instruction.inputs().iter().for_each(|operand| within(operand, &mut see));
}

/// Calls `see` with every special register that an instruction reads and that has to be sent to where it runs.
pub(super) fn each_sent_special(instruction: &Instruction, mut see: impl FnMut(Special)) {
    each_special(instruction, |special| {
        if origin(special) == Origin::Thread {
            see(special);
        }
    });
}

/// The opcodes that compute, move or branch. A prefetch is a hint that may be lost; control flow is judged by where it leads.
#[rustfmt::skip]
const FREE: &[Opcode] = {
    use Opcode as O;
    &[
        O::Abs, O::Add, O::Addc, O::And, O::Bfe, O::Bfi, O::Bfind, O::Bmsk, O::Bra, O::Brev, O::Brx, O::Clz, O::Cnot,
        O::Copysign, O::Cos, O::Createpolicy, O::Cvt, O::Cvta, O::Div, O::Dp2a, O::Dp4a, O::Ex2, O::Exit, O::Fma, O::Fns,
        O::Isspacep, O::Ld, O::Ldu, O::Lg2, O::Lop3, O::Mad, O::Mad24, O::Madc, O::Max, O::Min, O::Mov, O::Mul, O::Mul24,
        O::Neg, O::Not, O::Or, O::Popc, O::Prefetch, O::Prefetchu, O::Prmt, O::Rcp, O::Rem, O::Ret, O::Rsqrt, O::Sad,
        O::Selp, O::Set, O::Setp, O::Shf, O::Shl, O::Shr, O::Sin, O::Slct, O::Sqrt, O::St, O::Sub, O::Subc, O::Szext,
        O::Tanh, O::Testp, O::Trap, O::Vabsdiff, O::Vabsdiff2, O::Vabsdiff4, O::Vadd, O::Vadd2, O::Vadd4, O::Vavrg2,
        O::Vavrg4, O::Vmad, O::Vmax, O::Vmax2, O::Vmax4, O::Vmin, O::Vmin2, O::Vmin4, O::Vset, O::Vset2, O::Vset4,
        O::Vshl, O::Vshr, O::Vsub, O::Vsub2, O::Vsub4, O::Xor,
    ]
};

/// The limit that an opcode runs into whatever its modifiers. One that nobody has thought of acts on the machine.
fn limit_of(op: Opcode) -> Option<Limit> {
    use Opcode as O;
    match op {
        op if FREE.contains(&op) => None,
        O::Bar | O::Barrier | O::Membar | O::Fence | O::Mbarrier | O::Cp | O::Griddepcontrol => {
            Some(Limit::Synchronisation)
        }
        O::Atom | O::Red | O::Multimem => Some(Limit::Atomic),
        O::Shfl | O::Vote | O::Match | O::Redux | O::Activemask | O::Elect => Some(Limit::WarpWide),
        O::Ldmatrix | O::Stmatrix | O::Mapa | O::Getctarank => Some(Limit::SharedMemory),
        O::Tex | O::Tld4 | O::Txq | O::Suld | O::Sust | O::Sured | O::Suq | O::Istypep => Some(Limit::Texture),
        O::Call => Some(Limit::Call),
        O::Mma | O::Wmma | O::Wgmma | O::Tcgen05 | O::Movmatrix => Some(Limit::Tensor),
        _ => Some(Limit::Machine),
    }
}
