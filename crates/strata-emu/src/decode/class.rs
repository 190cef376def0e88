//! What an instruction is, for whoever counts or times it.

use super::matrix::{transfer_width, transfers};
use super::memory::synchronises;
use crate::ops::device_runtime;
use arrayvec::ArrayVec;
use strata_core::{Access, OpClass, OpInfo, Space};
use strata_ptx::ast::{
    Function, Instruction, Module, Opcode as O, Operand, RegId, Special, StateSpace, Symbol, Type, Word,
};
use strata_ptx::kind_of;

/// The static facts of an instruction.
pub(super) fn info(function: &Function, i: &Instruction, line: u32) -> OpInfo {
    let (space, access, width) = memory(i);
    let name = i.to_string().into_boxed_str();
    let mut info = OpInfo {
        class: class(i),
        kind: kind_of(&name),
        space,
        access,
        width,
        bypass_l1: synchronises(i) || i.has(Word::Cg),
        read_only: i.has(Word::Nc) || matches!(i.op, O::Tex | O::Tld4),
        dst: ArrayVec::default(),
        src: ArrayVec::default(),
        line,
        name,
    };
    let real = |r: strata_ptx::ast::RegId| (r.0 as usize) < function.registers.len();
    i.each_written(|r| {
        if real(r) {
            let _ = info.dst.try_push(r.0);
        }
    });
    i.each_read(|r| {
        if real(r) {
            let _ = info.src.try_push(r.0);
        }
    });
    info
}

fn memory(i: &Instruction) -> (Space, Access, u8) {
    let access = match i.op {
        O::Mbarrier if i.has(Word::PendingCount) => return (Space::None, Access::None, 0),
        O::Mbarrier if i.has(Word::Init) => Access::Store,
        O::Ld | O::Ldu | O::Tex | O::Tld4 | O::Suld => Access::Load,
        O::St | O::Sust => Access::Store,
        O::Atom | O::Mbarrier => Access::Atomic,
        O::Red => Access::Reduce,
        O::Cp if i.operands.len() >= 3 => Access::Copy,
        O::Prefetch | O::Prefetchu if !i.operands.is_empty() => Access::Prefetch,
        _ if let Some(stores) = transfers(i) => {
            if stores {
                Access::Store
            } else {
                Access::Load
            }
        }
        _ => return (Space::None, Access::None, 0),
    };
    // Texels are loads of device memory. They never straddle sectors, so one byte stands for each.
    if matches!(i.op, O::Tex | O::Tld4) {
        return (Space::Global, access, 1);
    }
    let surface = matches!(i.op, O::Suld | O::Sust);
    let space = match i.space() {
        _ if surface => Space::Global,
        Some(StateSpace::Global | StateSpace::Tex) => Space::Global,
        Some(StateSpace::Const) => Space::Const,
        Some(StateSpace::Shared) if access == Access::Copy => Space::Global,
        Some(StateSpace::Shared) => Space::Shared,
        Some(StateSpace::Local) => Space::Local,
        Some(StateSpace::Param) => Space::Param,
        None => Space::Generic,
    };
    let width = match (access, i.operands.get(2)) {
        _ if transfers(i).is_some() => transfer_width(i) as u8,
        (Access::Copy, Some(Operand::Immediate(strata_ptx::ast::Immediate::Int(n)))) => *n as u8,
        _ => i.types().last().map_or(0, |t| t.bytes() as usize * i.vector_len()) as u8,
    };
    (space, access, width)
}

fn class(i: &Instruction) -> OpClass {
    let ty = i.ty();
    let approximate = i.has(Word::Approx);
    match i.op {
        O::Mbarrier if !i.has(Word::PendingCount) => OpClass::Memory,
        O::Ld | O::Ldu | O::St | O::Atom | O::Red | O::Cp | O::Prefetch | O::Prefetchu => OpClass::Memory,
        O::Mov | O::Selp | O::Cvta | O::Slct | O::Isspacep => OpClass::Move,
        O::Setp | O::Set | O::Testp => OpClass::Predicate,
        O::Bra | O::Brx | O::Call | O::Ret | O::Exit | O::Trap => OpClass::Control,
        O::Bar | O::Barrier | O::Membar | O::Fence => OpClass::Barrier,
        O::Shfl | O::Vote | O::Match | O::Redux | O::Activemask | O::Elect => OpClass::Collective,
        O::Cvt | O::Szext => OpClass::Convert,
        O::Sin | O::Cos | O::Ex2 | O::Lg2 | O::Tanh | O::Rsqrt => OpClass::Special,
        O::Rcp | O::Sqrt | O::Div if approximate => OpClass::Special,
        O::Rcp | O::Sqrt => OpClass::FloatDiv,
        O::Div | O::Rem => {
            if ty.is_some_and(Type::is_float) {
                OpClass::FloatDiv
            } else {
                OpClass::IntDiv
            }
        }
        _ if transfers(i).is_some() => OpClass::Memory,
        O::Wmma | O::Mma | O::Ldmatrix | O::Stmatrix | O::Wgmma | O::Movmatrix => OpClass::Tensor,
        O::Tex | O::Tld4 | O::Txq | O::Suld | O::Sust | O::Suq | O::Sured => OpClass::Texture,
        O::Nanosleep | O::Pmevent | O::Brkpt => OpClass::Other,
        O::Mul | O::Mad | O::Mul24 | O::Mad24 | O::Madc | O::Dp4a | O::Dp2a if !ty.is_some_and(Type::is_float) => {
            OpClass::IntMul
        }
        _ => match ty {
            Some(Type::Pred) => OpClass::Predicate,
            Some(Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => OpClass::F16,
            Some(Type::F32) => OpClass::F32,
            Some(Type::F64) => OpClass::F64,
            Some(t) if t.bits() == 64 => OpClass::Int64,
            _ => OpClass::Int,
        },
    }
}

/// Why the order in which CTAs run could be seen through this instruction, if it could.
///
/// `reads` tells whether the function ever reads a register: compilers write `atom` where `red` would do.
pub(super) fn order_matters(module: &Module, i: &Instruction, reads: impl Fn(RegId) -> bool) -> Option<&'static str> {
    let shared = i.space() == Some(StateSpace::Shared);
    match i.op {
        O::Atom | O::Red if !shared => {
            let mut used = false;
            i.each_written(|r| used |= reads(r));
            if used {
                Some("an atomic whose result is used")
            } else if i.types().last().is_some_and(Type::is_float) {
                Some("a floating-point reduction")
            } else if i.has(Word::Inc) || i.has(Word::Dec) {
                Some("a counter that wraps around")
            } else if i.has(Word::Exch) || i.has(Word::Cas) {
                Some("an atomic exchange")
            } else {
                None
            }
        }
        O::Ld | O::St if !shared && synchronises(i) => Some("a volatile or synchronising access"),
        O::Membar | O::Fence if !i.has(Word::Cta) => Some("a fence between blocks"),
        O::Mov if reads_clock(i) => Some("a clock"),
        O::Call => match i.operands.get(1) {
            Some(Operand::Symbol(Symbol::Function(f), _)) => match module.functions[*f as usize].name.as_str() {
                "malloc" | "free" => Some("device `malloc` and `free`"),
                "vprintf" => Some("device `printf`"),
                name if device_runtime::function(name).is_some() => Some("a call of the device's CUDA runtime"),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// True for a `mov` from a register that tells time.
pub(super) fn reads_clock(i: &Instruction) -> bool {
    use Special as S;
    let clocks = [S::Clock, S::ClockHi, S::Clock64, S::Globaltimer, S::GlobaltimerLo, S::GlobaltimerHi];
    matches!(i.operands.get(1), Some(Operand::Special(s)) if clocks.contains(s))
}
