//! Where a function's variables live: parameters in units of its frame, `.local` in local memory, `.shared` in the CTA's.

use super::{Decoded, Decoder, units};
use crate::kernel::{Kernel, UnitRange};
use strata_ptx::analysis::Packing;
use strata_ptx::ast::{Function, Initial, Linkage, Module, Opcode, Operand, StateSpace, Symbol, Variable};

/// Units kept free in every frame for results nobody wants: a vector of four 64-bit elements.
const SCRATCH_UNITS: u32 = 8;
/// Local memory added for calls whose depth cannot be known (CUDA's default stack limit is 1 KiB; this is generous).
const UNKNOWN_DEPTH_BYTES: u64 = 16 << 10;

/// The frame of a function.
pub(super) struct Frame {
    /// Units in all.
    pub(super) units: u32,
    /// First of the scratch units.
    pub(super) scratch: u32,
    /// Units of each parameter (device functions only).
    pub(super) params: Vec<UnitRange>,
    /// Units of each return slot.
    pub(super) returns: Vec<UnitRange>,
    /// Units of each `.param` variable of the body, by variable.
    pub(super) variables: Vec<UnitRange>,
    /// Offset of each `.local` variable, by variable.
    pub(super) local_at: Vec<u64>,
    /// Bytes of local memory.
    pub(super) local_bytes: u64,
}

impl Frame {
    pub(super) fn of(function: &Function, packing: &Packing) -> Self {
        let scratch = packing.units.next_multiple_of(2);
        let mut next = scratch + SCRATCH_UNITS;
        let mut place = |v: &Variable| {
            let units = (v.bytes().div_ceil(4) as u32).next_multiple_of(2);
            let range = UnitRange { first: next, units };
            next += units;
            range
        };
        // A kernel's parameters are constants of the launch.
        let params = if function.is_entry { Vec::new() } else { function.params.iter().map(&mut place).collect() };
        let returns = function.returns.iter().map(&mut place).collect();
        let variables = (function.variables.iter())
            .map(|v| if v.space == StateSpace::Param { place(v) } else { UnitRange::default() })
            .collect();
        let mut local_bytes = 0u64;
        let local_at = (function.variables.iter())
            .map(|v| {
                if v.space != StateSpace::Local {
                    return 0;
                }
                let at = local_bytes.next_multiple_of(u64::from(v.align.max(1)));
                local_bytes = at + v.bytes();
                at
            })
            .collect();
        // Frames follow each other in local memory; 16 is the largest alignment an access needs.
        let local_bytes = local_bytes.next_multiple_of(16);
        Self { units: next, scratch, params, returns, variables, local_at, local_bytes }
    }
}

impl Decoder<'_> {
    /// The units of the `.param` variables in a call's list.
    pub(super) fn frame_variables(&self, list: &Operand) -> Decoded<Vec<UnitRange>> {
        let Operand::Vector(items) = list else {
            return Ok(Vec::new());
        };
        items
            .iter()
            .map(|item| match item {
                Operand::Symbol(symbol, 0) => self.frame_units(*symbol),
                Operand::Register(r) => {
                    Ok(UnitRange { first: self.unit(*r)?, units: units(self.register_type(*r).bits()) })
                }
                _ => Err("an argument is neither a `.param` variable nor a register".into()),
            })
            .collect()
    }

    /// The units of a `.param` variable.
    pub(super) fn frame_units(&self, symbol: Symbol) -> Decoded<UnitRange> {
        let found = match symbol {
            Symbol::Local(v) => self.frame.variables.get(v as usize),
            Symbol::Param(p) => self.frame.params.get(p as usize),
            Symbol::Return(r) => self.frame.returns.get(r as usize),
            _ => None,
        };
        found.copied().ok_or_else(|| "the variable is not in `.param` space".into())
    }
}

/// Offset of each parameter of a kernel in the parameter block, and the size of the block.
pub(crate) fn param_offsets(function: &Function) -> (Vec<u32>, u32) {
    let mut end = 0u32;
    let offsets = (function.params.iter())
        .map(|p| {
            let at = end.next_multiple_of(p.align.max(1));
            end = at + p.bytes() as u32;
            at
        })
        .collect();
    (offsets, end)
}

/// Where shared variables lie, for one kernel.
pub(super) struct Layout {
    module: Vec<Option<u64>>,
    functions: Vec<Vec<Option<u64>>>,
    /// Bytes of variables with a size.
    pub(super) shared_bytes: u64,
    /// Where arrays of unknown size begin.
    pub(super) dynamic_at: u64,
}

impl Layout {
    pub(super) fn of(module: &Module, reachable: &[u32]) -> Self {
        let mut used = vec![false; module.variables.len()];
        for &f in reachable {
            each_symbol(&module.functions[f as usize], |s| {
                if let Symbol::Global(v) = s {
                    used[v as usize] = true;
                }
            });
        }
        let mut layout = Self {
            module: vec![None; module.variables.len()],
            functions: vec![Vec::new(); module.functions.len()],
            shared_bytes: 0,
            dynamic_at: 0,
        };
        let unsized_array = |v: &Variable| v.linkage == Linkage::Extern || v.extents.first() == Some(&0);
        let mut dynamic_align = 16;
        for (k, v) in module.variables.iter().enumerate() {
            if v.space == StateSpace::Shared && used[k] {
                if unsized_array(v) {
                    dynamic_align = dynamic_align.max(u64::from(v.align));
                } else {
                    layout.module[k] = Some(layout.place(v));
                }
            }
        }
        for &f in reachable {
            let variables = &module.functions[f as usize].variables;
            layout.functions[f as usize] = (variables.iter())
                .map(|v| (v.space == StateSpace::Shared && !unsized_array(v)).then(|| layout.place(v)))
                .collect();
        }
        layout.dynamic_at = layout.shared_bytes.next_multiple_of(dynamic_align);
        for (k, v) in module.variables.iter().enumerate() {
            if v.space == StateSpace::Shared && used[k] && unsized_array(v) {
                layout.module[k] = Some(layout.dynamic_at);
            }
        }
        for &f in reachable {
            for (k, v) in module.functions[f as usize].variables.iter().enumerate() {
                if v.space == StateSpace::Shared && unsized_array(v) {
                    layout.functions[f as usize][k] = Some(layout.dynamic_at);
                }
            }
        }
        layout
    }

    fn place(&mut self, v: &Variable) -> u64 {
        let at = self.shared_bytes.next_multiple_of(u64::from(v.align.max(1)));
        self.shared_bytes = at + v.bytes();
        at
    }

    pub(super) fn module_shared(&self, variable: u32) -> Option<u64> {
        self.module[variable as usize]
    }

    pub(super) fn function_shared(&self, function: u32, variable: u32) -> Option<u64> {
        *self.functions[function as usize].get(variable as usize)?
    }
}

fn each_symbol(function: &Function, mut f: impl FnMut(Symbol)) {
    fn visit(operand: &Operand, f: &mut impl FnMut(Symbol)) {
        match operand {
            Operand::Symbol(s, _) | Operand::Address { base: strata_ptx::ast::Base::Symbol(s), .. } => f(*s),
            Operand::Vector(items) => items.iter().for_each(|o| visit(o, f)),
            _ => {}
        }
    }
    for i in &function.instructions {
        i.operands.iter().for_each(|o| visit(o, &mut f));
    }
}

/// The kernel, then every function it may call, directly or through an address.
pub(super) fn reachable(module: &Module, entry: u32) -> Vec<u32> {
    let mut found = vec![false; module.functions.len()];
    let mut order = vec![entry];
    found[entry as usize] = true;
    let mut addressed = false;
    let mut k = 0;
    while k < order.len() {
        let function = &module.functions[order[k] as usize];
        k += 1;
        // A kernel whose address is taken is launched, not called.
        let mut reach = |f: u32, order: &mut Vec<u32>| {
            let called = &module.functions[f as usize];
            if !std::mem::replace(&mut found[f as usize], true) && !called.is_declaration && !called.is_entry {
                order.push(f);
            }
        };
        each_symbol(function, |s| {
            if let Symbol::Function(f) = s {
                reach(f, &mut order);
            }
        });
        let indirect = |i: &strata_ptx::ast::Instruction| {
            i.op == Opcode::Call && matches!(i.operands.get(1), Some(Operand::Register(_)))
        };
        if !addressed && function.instructions.iter().any(indirect) {
            addressed = true;
            // An indirect call may reach whatever has its address stored or taken anywhere.
            for v in &module.variables {
                for value in &v.initial {
                    if let Initial::Address { symbol: Symbol::Function(f), .. } = value {
                        reach(*f, &mut order);
                    }
                }
            }
            for other in &module.functions {
                for i in other.instructions.iter().filter(|i| i.op == Opcode::Mov) {
                    for o in &i.operands {
                        if let Operand::Symbol(Symbol::Function(f), _) = o {
                            reach(*f, &mut order);
                        }
                    }
                }
            }
        }
    }
    order
}

/// Local memory a thread needs: the deepest chain of frames, and an allowance where calls recurse or are indirect.
pub(super) fn local_bytes(kernel: &Kernel, module: &Module) -> u64 {
    // Longest path by repeated relaxation; a path that keeps growing is a cycle.
    let n = kernel.functions.len();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut unknown = false;
    for (k, code) in kernel.functions.iter().enumerate() {
        for i in &module.functions[code.index as usize].instructions {
            match (i.op, i.operands.get(1)) {
                (Opcode::Call, Some(Operand::Symbol(Symbol::Function(f), _))) => {
                    edges.extend(kernel.function_table[*f as usize].map(|to| (k, to as usize)));
                }
                (Opcode::Call, Some(Operand::Register(_))) => unknown = true,
                _ => {}
            }
        }
    }
    let own = |k: usize| kernel.functions[k].local_bytes;
    let mut depth: Vec<u64> = (0..n).map(own).collect();
    for round in 0..=n {
        let mut changed = false;
        for &(from, to) in &edges {
            let below = own(from).saturating_add(depth[to]);
            if below > depth[from] {
                depth[from] = below;
                changed = true;
            }
        }
        if !changed {
            break;
        }
        if round == n {
            unknown = true;
            depth = (0..n).map(own).collect();
        }
    }
    let known = depth.first().copied().unwrap_or(0).max(if unknown { (0..n).map(own).sum() } else { 0 });
    // Recursion without local variables still needs no local memory; its depth is limited by the register frames.
    let recursive = unknown && (0..n).any(|k| own(k) > 0);
    known + if recursive { UNKNOWN_DEPTH_BYTES } else { 0 }
}
