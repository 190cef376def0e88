//! Barriers behind which warps must keep step.
//!
//! A barrier puts the warps of a CTA in step, and on hardware all of them have done their first instructions behind it before one
//! is far ahead. Some programs lean on that: right behind the barrier all read a variable of shared memory, and one of them
//! changes it some blocks later, for the next round, without another barrier between (Parboil's bfs). Such barriers are
//! found here, so that their warps, and no others, go on in short turns at first ([`crate::turn::FIRST_TURN`]).
//!
//! Variables are told apart by their names, through registers that hold addresses made of them; what is loaded from memory is no
//! address of theirs. That is an estimate: where it errs, a program without races does the same as before.

use strata_ptx::analysis::{BlockId, Cfg};
use strata_ptx::ast::{Base, Function, Instruction, Opcode as O, Operand, RegId, StateSpace, Symbol, Word};

/// Variables, a bit each; the last bit stands for all that there is no bit for.
type Variables = u64;
const ANY: Variables = Variables::MAX;

/// Which variables the registers of a function may hold addresses of.
struct Roots {
    symbols: Vec<Symbol>,
    registers: Vec<Variables>,
}

impl Roots {
    fn of(function: &Function) -> Self {
        let mut roots = Self { symbols: Vec::new(), registers: vec![0; function.registers.len()] };
        loop {
            let mut grown = false;
            for i in function.instructions.iter().filter(|i| !reads_memory(i)) {
                let mut from = 0;
                for operand in i.inputs() {
                    operand.each_register(&mut |r: RegId| from |= roots.register(r));
                    if let Operand::Symbol(symbol, _) = operand {
                        from |= roots.symbol(*symbol);
                    }
                }
                i.each_written(|r| {
                    if let Some(known) = roots.registers.get_mut(r.0 as usize) {
                        grown |= *known | from != *known;
                        *known |= from;
                    }
                });
            }
            if !grown {
                return roots;
            }
        }
    }

    fn register(&self, r: RegId) -> Variables {
        self.registers.get(r.0 as usize).copied().unwrap_or(0)
    }

    fn symbol(&mut self, symbol: Symbol) -> Variables {
        let at = self.symbols.iter().position(|&s| s == symbol).unwrap_or_else(|| {
            self.symbols.push(symbol);
            self.symbols.len() - 1
        });
        1 << at.min(Variables::BITS as usize - 1)
    }

    /// What an instruction reads and writes in shared memory.
    fn accesses(&mut self, i: &Instruction) -> (Variables, Variables) {
        if i.space() != Some(StateSpace::Shared) || !matches!(i.op, O::Ld | O::St | O::Atom | O::Red) {
            return (0, 0);
        }
        let base =
            i.operands.iter().find_map(|o| if let Operand::Address { base, .. } = o { Some(base) } else { None });
        let variables = match base {
            Some(Base::Register(r)) => match self.register(*r) {
                0 => ANY,
                known => known,
            },
            Some(Base::Symbol(symbol)) => self.symbol(*symbol),
            _ => ANY,
        };
        if i.op == O::Ld { (variables, 0) } else { (0, variables) }
    }
}

fn reads_memory(i: &Instruction) -> bool {
    matches!(i.op, O::Ld | O::Ldu | O::Atom | O::Tex | O::Tld4 | O::Suld | O::Call)
}

fn is_barrier(i: &Instruction) -> bool {
    matches!(i.op, O::Bar | O::Barrier) && !i.has(Word::Warp)
}

/// What some instructions in a row read and write, up to a barrier; and whether there was one.
fn stretch(roots: &mut Roots, instructions: &[Instruction]) -> (Variables, Variables, bool) {
    let (mut reads, mut writes) = (0, 0);
    for i in instructions {
        if is_barrier(i) {
            return (reads, writes, true);
        }
        let (r, w) = roots.accesses(i);
        (reads, writes) = (reads | r, writes | w);
    }
    (reads, writes, false)
}

/// The instructions of a function that are such barriers.
pub(super) fn barriers(function: &Function, cfg: &Cfg) -> Vec<u32> {
    let instructions = &function.instructions;
    let found: Vec<u32> = (0..instructions.len() as u32).filter(|&pc| is_barrier(&instructions[pc as usize])).collect();
    if found.is_empty() {
        return found;
    }
    let mut roots = Roots::of(function);
    let blocks: Vec<_> =
        cfg.blocks().iter().map(|b| stretch(&mut roots, &instructions[b.first as usize..b.end as usize])).collect();
    let keeps_step = |&pc: &u32| {
        let here = cfg.block_of(pc);
        let rest = &instructions[pc as usize + 1..cfg.block(here).end as usize];
        let (mut reads, _, over) = stretch(&mut roots, rest);
        if over {
            return false;
        }
        let real = |b: &&BlockId| b.index() < blocks.len();
        let mut seen = vec![false; blocks.len()];
        let mut ways: Vec<BlockId> = Vec::new();
        for next in cfg.successors(here).iter().filter(real) {
            let (r, _, over) = blocks[next.index()];
            reads |= r;
            if !over {
                ways.extend(cfg.successors(*next).iter().filter(real));
            }
        }
        while let Some(b) = ways.pop() {
            if std::mem::replace(&mut seen[b.index()], true) {
                continue;
            }
            let (_, writes, over) = blocks[b.index()];
            if writes & reads != 0 {
                return true;
            }
            if !over {
                ways.extend(cfg.successors(b).iter().filter(real));
            }
        }
        false
    };
    found.into_iter().filter(keeps_step).collect()
}
