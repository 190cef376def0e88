//! How many hardware registers a thread is likely to need.
//!
//! Occupancy follows from the registers that the assembler gives a thread, and only the assembler knows them: it
//! reorders, unrolls and rematerialises. This estimate is for PTX that has not been assembled; where `ptxas -v` has been
//! run, its number is the better one. The estimate is the sum of
//!
//! - the most 32-bit registers live at once, 64-bit ones counting two, narrower ones one, predicates none (they have a
//!   file of their own), without those that hold a kernel parameter or a constant: instructions take these straight
//!   from the constant bank;
//! - half of what the loads of one stretch without barrier or branch bring in, at most [`MOST_IN_FLIGHT`]: the assembler
//!   moves loads up so that they overlap;
//! - [`ALLOWANCE`] for addresses, copies and alignment of pairs.
//!
//! Against `ptxas -v -arch=sm_75` of CUDA 13 on 24 kernels (vector arithmetic, convolution, matrix-vector and
//! matrix-matrix products, stencils, dynamic programming, graphs): median error 2 registers, 18 of 24 within a quarter;
//! the worst, three kernels whose loops the assembler unrolls itself, are given about half of what they use.

use super::cfg::Cfg;
use super::graph::NONE;
use super::liveness::Liveness;
use crate::ast::{Function, Instruction, Opcode, Operand, RegId, StateSpace, Type};

/// Registers that the estimate grants to loads in flight at most. Fitted, see the module.
pub const MOST_IN_FLIGHT: u32 = 16;

/// Registers that the estimate adds to what the program shows. Fitted, see the module.
pub const ALLOWANCE: u32 = 6;

/// The most registers a thread can have on any NVIDIA GPU since compute capability 3.5 (CUDA C++ Programming Guide,
/// technical specifications per compute capability).
pub const MOST_REGISTERS: u32 = 255;

/// The demand of one function for registers; what it calls is not included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pressure {
    /// The most 32-bit registers that are live at once, parameters and constants included.
    pub peak: u32,
    /// The first instruction at which they are.
    pub at: u32,
    /// The most predicates that are live at once.
    pub predicates: u32,
    /// The estimate of registers per thread; never over `.maxnreg`.
    pub registers: u32,
}

impl Pressure {
    /// Measures `function`; `cfg` and `liveness` are of this function.
    pub fn build(function: &Function, cfg: &Cfg, liveness: &Liveness) -> Self {
        let constant = constants(function);
        let weigh = |r: RegId| Demand::of(function.registers[r.0 as usize].ty, constant[r.0 as usize]);
        let mut pressure = Self::default();
        let (mut kept, mut loaded) = (0, 0);
        let mut last_written = vec![NONE; function.registers.len()];
        let mut cursor = liveness.cursor(function, cfg);
        let mut now = Demand::default();
        for b in cfg.ids().rev().filter(|&b| cfg.block(b).reachable) {
            cursor.start_with(b, |r, enters| now.change(weigh(r), enters));
            let mut stretch = 0;
            for i in cfg.block(b).instructions().rev() {
                let instruction = &function.instructions[i];
                // A result that nobody wants still needs a register while it is written, even if it is named twice.
                let mut with_results = now;
                instruction.each_written(|r| {
                    let written = std::mem::replace(&mut last_written[r.0 as usize], i as u32);
                    if !cursor.live().contains(r) && written != i as u32 {
                        with_results.add(weigh(r));
                    }
                });
                cursor.step_with(|r, enters| now.change(weigh(r), enters));
                for demand in [with_results, now] {
                    pressure.note(demand, i as u32);
                    kept = kept.max(demand.kept);
                }
                match instruction.op {
                    Opcode::Bar | Opcode::Barrier => stretch = 0,
                    Opcode::Ld if !is_parameter(function, instruction) => {
                        instruction.each_written(|r| stretch += weigh(r).registers);
                        loaded = loaded.max(stretch);
                    }
                    _ => {}
                }
            }
        }
        let limit = function.tuning.max_registers.unwrap_or(MOST_REGISTERS).min(MOST_REGISTERS);
        pressure.registers = (kept + (loaded / 2).min(MOST_IN_FLIGHT) + ALLOWANCE).min(limit);
        pressure
    }

    fn note(&mut self, demand: Demand, at: u32) {
        if demand.registers > self.peak || (demand.registers == self.peak && at < self.at) {
            (self.peak, self.at) = (demand.registers, at);
        }
        self.predicates = self.predicates.max(demand.predicates);
    }
}

/// What is in use at one point, or what one register adds to it.
#[derive(Clone, Copy, Default)]
struct Demand {
    /// 32-bit registers.
    registers: u32,
    /// Those of them that hold no parameter or constant.
    kept: u32,
    predicates: u32,
}

impl Demand {
    fn of(ty: Type, constant: bool) -> Self {
        if ty == Type::Pred {
            return Self { predicates: 1, ..Self::default() };
        }
        let registers = ty.bits().div_ceil(32);
        Self { registers, kept: if constant { 0 } else { registers }, predicates: 0 }
    }

    fn add(&mut self, other: Self) {
        self.registers += other.registers;
        self.kept += other.kept;
        self.predicates += other.predicates;
    }

    fn change(&mut self, by: Self, enters: bool) {
        if enters { self.add(by) } else { self.take(by) }
    }

    fn take(&mut self, other: Self) {
        self.registers -= other.registers;
        self.kept -= other.kept;
        self.predicates -= other.predicates;
    }
}

/// True for a load of a kernel parameter.
fn is_parameter(function: &Function, instruction: &Instruction) -> bool {
    function.is_entry && instruction.op == Opcode::Ld && instruction.space() == Some(StateSpace::Param)
}

/// For each register, whether it is written once and holds a kernel parameter, a constant, or either as an address.
fn constants(function: &Function) -> Vec<bool> {
    let mut writes = vec![0_u8; function.registers.len()];
    for instruction in &function.instructions {
        instruction.each_written(|r| {
            let count = &mut writes[r.0 as usize];
            *count = count.saturating_add(1);
        });
    }
    let mut constant = vec![false; function.registers.len()];
    // In program order: `cvta` follows the load of what it converts in all compiled code.
    for instruction in function.instructions.iter().filter(|i| i.guard.is_none()) {
        let holds = match (instruction.op, instruction.inputs()) {
            (Opcode::Ld, _) => is_parameter(function, instruction),
            (Opcode::Mov, [Operand::Immediate(_) | Operand::Symbol(..)]) => true,
            (Opcode::Cvta, [Operand::Register(source)]) => constant[source.0 as usize],
            _ => false,
        };
        if holds {
            instruction.each_written(|r| constant[r.0 as usize] = writes[r.0 as usize] == 1);
        }
    }
    constant
}

#[cfg(test)]
mod tests {
    use super::super::CallsEndBlocks;
    use super::super::packing::Packing;
    use super::super::testing::{Body, any_function};
    use super::*;
    use crate::ast::{Immediate, Word};
    use proptest::prelude::*;

    fn measure(function: &Function) -> Pressure {
        let cfg = Cfg::build(function, CallsEndBlocks::No);
        Pressure::build(function, &cfg, &Liveness::build(function, &cfg))
    }

    #[test]
    fn wide_registers_count_twice_and_predicates_apart() {
        let mut body = Body::new();
        let types = [Type::Pred, Type::B16, Type::F32, Type::F64];
        let all: Vec<_> = types.into_iter().map(|ty| body.register(ty)).collect();
        for &r in &all {
            body.compute(&[r], &[]);
        }
        body.store(&all);
        let pressure = measure(&body.finish());
        assert_eq!((pressure.peak, pressure.at, pressure.predicates), (4, 3, 1));
        assert_eq!(pressure.registers, 4 + ALLOWANCE);
    }

    #[test]
    fn constants_are_live_but_need_no_register() {
        let mut body = Body::new();
        let (constant, address, twice) = (body.register(Type::B64), body.register(Type::B64), body.register(Type::B32));
        let five = || vec![Operand::Immediate(Immediate::Int(5))];
        body.instruction(Opcode::Mov, vec![Operand::Register(constant)], five());
        body.instruction(Opcode::Cvta, vec![Operand::Register(address)], vec![Operand::Register(constant)]);
        body.instruction(Opcode::Mov, vec![Operand::Register(twice)], five());
        body.store(&[address, twice, constant]);
        body.instruction(Opcode::Mov, vec![Operand::Register(twice)], five());
        let pressure = measure(&body.finish());
        assert_eq!((pressure.peak, pressure.registers), (5, 1 + ALLOWANCE));
    }

    #[test]
    fn loads_in_flight_count_half_and_parameters_not_at_all() {
        let mut body = Body::new();
        let address = body.register(Type::B64);
        let values: Vec<_> = (0..4).map(|_| body.register(Type::F32)).collect();
        body.instruction(Opcode::Ld, vec![Operand::Register(address)], Vec::new());
        for &value in &values {
            body.load(&[value], address);
        }
        let mut function = body.finish();
        function.instructions[0].words.push(Word::Param);
        assert_eq!(measure(&function).registers, 1 + 2 + ALLOWANCE);
        function.tuning.max_registers = Some(8);
        assert_eq!(measure(&function).registers, 8);
    }

    proptest! {
        #[test]
        fn no_packing_is_smaller_than_the_peak(function in any_function()) {
            let cfg = Cfg::build(&function, CallsEndBlocks::No);
            let liveness = Liveness::build(&function, &cfg);
            let pressure = Pressure::build(&function, &cfg, &liveness);
            let packing = Packing::build(&function, &cfg, &liveness);
            prop_assert!(pressure.peak <= packing.units);
            prop_assert!(pressure.predicates <= packing.predicates);
        }
    }
}
