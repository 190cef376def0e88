//! Kernels whose threads must begin in step.
//!
//! On hardware the CTAs that a GPU holds begin together, and so do the warps of a CTA: each has done what stands before its first loop long
//! before another has got far into its own. Some programs lean on that:
//!
//! * Threads read their own mark at the start, and those that are marked set the marks of others for the next launch, in the same
//!   array (the breadth-first search of the ISPASS 2009 suite). If one CTA came to its end before the next began, that would find marks
//!   that are not for this launch.
//! * The warps of a CTA do the same work, by a mistake in its shape: all read where a sum begins, then each writes the same running
//!   sums to the same place (mvt of PolyBench-ACC). If one were ahead, the next would begin with its sum.
//!
//! Such kernels are found here, and they alone begin in step ([`crate::launch`], [`crate::cta`]): CTAs that are under way together cost memory,
//! and going from warp to warp costs time. Arrays are told apart by the parameters they come from, through registers that hold
//! addresses made of them. That is an estimate: where it errs, a program without races does the same as before.

use crate::turn::WARP_TURN;
use strata_ptx::analysis::{BlockId, Cfg};
use strata_ptx::ast::{Base, Function, Instruction, Opcode as O, Operand, RegId, StateSpace, Symbol, Word};

/// Parameters that an address may come from, a bit each, as far as there are bits.
type Origins = u64;

/// What a value may be made of that was loaded from memory: the index of somebody else's element.
const LOADED: Origins = 1 << 63;

/// How a kernel begins whose threads must do so in step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Start {
    /// Instructions of the longest way to the first loop, barrier or store into another's element.
    pub(crate) length: u64,
    /// The first store into another's element, for which not only the warps of a CTA begin in step, but all CTAs.
    pub(crate) store: Option<u32>,
}

struct Registers(Vec<Origins>);

impl Registers {
    fn of(function: &Function) -> Self {
        let mut registers = Self(vec![0; function.registers.len()]);
        let mut parameters: Vec<Symbol> = Vec::new();
        let mut grown = true;
        while grown {
            grown = false;
            for i in &function.instructions {
                let mut from = 0;
                match (i.op, i.space()) {
                    (O::Ld, Some(StateSpace::Param)) => {
                        if let Some(Base::Symbol(symbol)) = base(i) {
                            let at = parameters.iter().position(|p| p == symbol).unwrap_or_else(|| {
                                parameters.push(*symbol);
                                parameters.len() - 1
                            });
                            from |= if at < 63 { 1 << at } else { 0 };
                        }
                    }
                    (O::Ld | O::Ldu | O::Atom | O::Tex | O::Tld4 | O::Suld | O::Call, _) => from |= LOADED,
                    _ => {
                        for operand in i.inputs() {
                            operand.each_register(&mut |r: RegId| from |= registers.get(r));
                        }
                    }
                }
                i.each_written(|r| {
                    if let Some(known) = registers.0.get_mut(r.0 as usize) {
                        grown |= *known | from != *known;
                        *known |= from;
                    }
                });
            }
        }
        registers
    }

    fn get(&self, r: RegId) -> Origins {
        self.0.get(r.0 as usize).copied().unwrap_or(0)
    }

    /// What the address of a plain access to device memory is made of; nothing for any other instruction.
    fn address(&self, i: &Instruction, op: O) -> Origins {
        match base(i) {
            Some(Base::Register(r)) if i.op == op && matches!(i.space(), None | Some(StateSpace::Global)) => {
                self.get(*r)
            }
            _ => 0,
        }
    }
}

fn base(i: &Instruction) -> Option<&Base> {
    i.operands.iter().find_map(|o| if let Operand::Address { base, .. } = o { Some(base) } else { None })
}

fn is_barrier(i: &Instruction) -> bool {
    matches!(i.op, O::Bar | O::Barrier) && !i.has(Word::Warp)
}

/// How a kernel begins, if its threads must do so in step.
pub(super) fn in_step(function: &Function, cfg: &Cfg) -> Option<Start> {
    let registers = Registers::of(function);
    // Stores into elements whose index was loaded, and the arrays that they are in.
    let scatters = |i: &Instruction| match registers.address(i, O::St) {
        to if to & LOADED != 0 => to & !LOADED,
        _ => 0,
    };
    let of = |b: BlockId| &function.instructions[cfg.block(b).instructions()];
    let ends = |b: BlockId| of(b).iter().any(|i| is_barrier(i) || scatters(i) != 0) || in_loop(cfg, b);
    let mut ways = vec![None; cfg.blocks().len()];
    let (mut read, mut length) = (0, 0);
    let mut open = vec![(BlockId(0), 0u64)];
    while let Some((b, before)) = open.pop() {
        let known = ways.get(b.index()).copied().flatten();
        if b.index() >= ways.len() || before >= WARP_TURN || ends(b) || known.is_some_and(|longest| longest >= before) {
            continue;
        }
        ways[b.index()] = Some(before);
        let here = before + of(b).len() as u64;
        length = length.max(here);
        read |= of(b).iter().fold(0, |all, i| all | registers.address(i, O::Ld) & !LOADED);
        open.extend(cfg.successors(b).iter().map(|&next| (next, here)));
    }
    if read == 0 {
        return None;
    }
    let store = function.instructions.iter().position(|i| scatters(i) & read != 0).map(|at| at as u32);
    // A store in a loop to what was read before it.
    let stores = |b: &BlockId| of(*b).iter().any(|i| registers.address(i, O::St) & read != 0) && in_loop(cfg, *b);
    (store.is_some() || cfg.ids().any(|b| stores(&b))).then_some(Start { length: length.min(WARP_TURN), store })
}

fn in_loop(cfg: &Cfg, b: BlockId) -> bool {
    let mut seen = vec![false; cfg.blocks().len()];
    let mut open = cfg.successors(b).to_vec();
    while let Some(next) = open.pop() {
        if next == b {
            return true;
        }
        if next.index() < seen.len() && !std::mem::replace(&mut seen[next.index()], true) {
            open.extend(cfg.successors(next));
        }
    }
    false
}
