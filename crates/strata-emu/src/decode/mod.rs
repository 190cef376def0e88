//! From a parsed function to code that runs: operands become slots, instructions become function pointers.
//!
//! Decoding happens once per kernel, when it is first launched. Each instruction of the source becomes exactly one
//! [`Inst`], so that program counters, lines and statistics agree; what cannot be executed becomes an entry in
//! [`Kernel::unsupported`], and the launch is refused with all of them.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "the unsafe blocks here are the bodies of closures that become an `OpFn`: its caller upholds its contract"
)]

mod arithmetic;
mod branches;
mod class;
mod compare;
mod control;
pub(crate) mod convert;
pub(crate) mod entry;
mod float;
pub(crate) mod frame;
mod half;
mod matrix;
mod mbarrier;
mod memory;
mod moves;
mod packed;
mod small;
mod step;
mod texture;
mod video;

use crate::check::{Looks, Watched};
use crate::exec::{Exec, FIRST_PREDICATE, Flow, Slot, TRUE_PREDICATE};
use crate::inst::{Clock, Inst, Scheduled};
use crate::kernel::{
    Block, Call, Callee, Code, Constant, Control, Exit, Kernel, Matrix, NO_BLOCK, Origin, Refused, Test, VisitInfo,
};
use crate::lane_op;
use crate::lanes::map1;
use crate::ops::surface::SurfaceAccess;
use crate::ops::texture::Fetch;
use crate::program::{FUNCTION_WINDOW, Symbols};
use arrayvec::ArrayVec;
use frame::Frame;
use rustc_hash::FxHashMap;
use strata_core::{LaneMask, OpClass};
use strata_ptx::analysis::{
    CallsEndBlocks, Cfg, DominatorTree, Liveness, Packing, Reconvergence, RegisterSet, SlotRef,
};
use strata_ptx::ast::{
    Function, Guard, Immediate, Instruction, LabelId, List, Opcode, Operand, RegId, StateSpace, Symbol, Type, Word,
};

/// Why an instruction cannot be decoded.
pub(crate) type Refusal = String;
type Decoded<T> = Result<T, Refusal>;

/// Decodes a kernel and everything it can call.
pub(crate) fn kernel(origin: &Origin, symbols: &Symbols, entry: u32, vector: bool, looks: Looks) -> Kernel {
    let module = &origin.module;
    let reachable = frame::reachable(module, entry);
    let layout = frame::Layout::of(module, &reachable);
    let function = &module.functions[entry as usize];
    let mut function_table = vec![None; module.functions.len()];
    for (k, &f) in reachable.iter().enumerate() {
        function_table[f as usize] = Some(k as u32);
    }
    let mut kernel = Kernel {
        name: function.name.clone(),
        functions: Vec::new(),
        infos: Vec::new(),
        visits: Vec::new(),
        memory_instructions: 0,
        watched: FxHashMap::default(),
        static_shared: layout.shared_bytes,
        dynamic_shared_at: layout.dynamic_at,
        local_bytes: 0,
        param_bytes: frame::param_offsets(function).1,
        unsupported: Vec::new(),
        order_matters: None,
        start: None,
        max_threads: function.tuning.max_threads.map(|m| (m, function.tuning.exact_threads)),
        function_table,
        origin: origin.clone(),
    };
    for &f in &reachable {
        let code = Decoder::new(origin, symbols, &layout, &mut kernel, f, vector).function(looks);
        kernel.functions.push(code);
    }
    kernel.local_bytes = frame::local_bytes(&kernel, module);
    kernel.start = entry::in_step(function, &Cfg::build(function, CallsEndBlocks::Yes));
    if let Some(store) = kernel.start.and_then(|start| start.store) {
        let line = origin.lines.line(function.instructions[store as usize].span.start);
        let why = || format!("blocks read at their start what others store, line {line}");
        kernel.order_matters.get_or_insert_with(why);
    }
    kernel
}

/// Decodes one function.
struct Decoder<'a> {
    origin: &'a Origin,
    symbols: &'a Symbols,
    layout: &'a frame::Layout,
    kernel: &'a mut Kernel,
    index: u32,
    function: &'a Function,
    /// The CPU has AVX2 and FMA.
    vector: bool,
    packing: Packing,
    frame: Frame,
    constants: Vec<Constant>,
    /// First unit of each constant, to share equal ones.
    constant_units: FxHashMap<(bool, u64), u32>,
    next_constant: u32,
    controls: Vec<Control>,
    matrices: Vec<Matrix>,
    fetches: Vec<Fetch>,
    surfaces: Vec<SurfaceAccess>,
    /// Barriers behind which warps keep step.
    in_step: Vec<u32>,
}

impl<'a> Decoder<'a> {
    fn new(
        origin: &'a Origin,
        symbols: &'a Symbols,
        layout: &'a frame::Layout,
        kernel: &'a mut Kernel,
        index: u32,
        vector: bool,
    ) -> Self {
        let function = &origin.module.functions[index as usize];
        let cfg = Cfg::build(function, CallsEndBlocks::Yes);
        let liveness = Liveness::build(function, &cfg);
        let packing = Packing::build(function, &cfg, &liveness);
        let frame = Frame::of(function, &packing);
        Self {
            origin,
            symbols,
            layout,
            kernel,
            index,
            function,
            vector,
            packing,
            frame,
            constants: Vec::new(),
            constant_units: FxHashMap::default(),
            next_constant: 0,
            controls: Vec::new(),
            matrices: Vec::new(),
            fetches: Vec::new(),
            surfaces: Vec::new(),
            in_step: step::barriers(function, &cfg),
        }
    }

    /// Accesses to memory that somebody wants to look at are looked at when they run.
    fn function(mut self, looks: Looks) -> Code {
        let function = self.function;
        let first_pc = self.kernel.infos.len() as u32;
        let mut insts = Vec::with_capacity(function.instructions.len());
        let mut read = RegisterSet::new(function.registers.len());
        for i in &function.instructions {
            i.each_read(|r| {
                read.insert(r);
            });
        }
        for i in &function.instructions {
            let mut info = class::info(function, i, self.origin.lines.line(i.span.start));
            if i.op == Opcode::Bra {
                info.kind = branches::kind(function, self.kernel.infos.len() as u32 - first_pc);
            }
            let mut inst = self.instruction(i).unwrap_or_else(|why| {
                self.refuse(i, &why);
                Inst::new(unreachable_instruction)
            });
            if looks != Looks::default()
                && !matrix::is_matrix(i.op)
                && let Some(watched) = Watched::new(&mut inst, &info, insts.len() as u32, self.wide_address(i), looks)
            {
                self.kernel.watched.insert(inst.touched(), watched);
            }
            insts.push(inst);
            if let Some(why) = class::order_matters(&self.origin.module, i, |r| read.contains(r)) {
                self.kernel.order_matters.get_or_insert_with(|| format!("{why}, line {}", info.line));
            }
            self.kernel.infos.push(info);
        }
        for pc in std::mem::take(&mut self.in_step) {
            let control = insts[pc as usize].scheduled().control;
            if let Some(Control::Barrier(barrier)) = self.controls.get_mut(control as usize) {
                barrier.keeps_step = true;
            }
        }
        let blocks = self.blocks(first_pc);
        // The clock moves when a block begins; what the block has yet to do when it is read is not over.
        for b in &blocks {
            let end = b.first + b.length;
            for pc in (b.first..end).filter(|&pc| class::reads_clock(&function.instructions[pc as usize])) {
                insts[pc as usize].set(Clock { to_come: i64::from(end - pc) });
            }
        }
        let predicates = self.packing.predicates + u32::from(FIRST_PREDICATE);
        Code {
            index: self.index,
            insts,
            blocks,
            controls: self.controls,
            matrices: self.matrices,
            fetches: self.fetches,
            surfaces: self.surfaces,
            constants: self.constants,
            registers: self.packing.slot_of,
            units: self.frame.units,
            predicates,
            local_bytes: self.frame.local_bytes,
            first_pc,
            params: self.frame.params,
            returns: self.frame.returns,
        }
    }

    /// Notes that an instruction cannot be executed.
    fn refuse(&mut self, i: &Instruction, why: &str) {
        self.kernel.unsupported.push(Refused {
            line: self.origin.lines.line(i.span.start),
            instruction: self.origin.text_of(i.span),
            function: self.function.name.clone(),
            why: why.to_owned(),
        });
    }

    fn blocks(&mut self, first_pc: u32) -> Vec<Block> {
        let function = self.function;
        let cfg = Cfg::build(function, CallsEndBlocks::Yes);
        let post = DominatorTree::post_dominators(&cfg);
        let meets = Reconvergence::build(&cfg, &post);
        let count = cfg.blocks().len() as u32;
        let mut blocks = Vec::with_capacity(count as usize + 1);
        for id in cfg.ids() {
            let b = *cfg.block(id);
            let last = &function.instructions[b.end as usize - 1];
            let meet = meets.point(id).map_or(NO_BLOCK, |m| m.0);
            let next = id.0 + 1;
            let exit = self.exit(&cfg, last, next, meet).unwrap_or_else(|why| {
                self.refuse(last, &why);
                Some(Exit::Exit { test: ALWAYS, other: count })
            });
            let end = if exit.is_some() { b.end - 1 } else { b.end };
            let visit = self.visit(first_pc + b.first..first_pc + b.end);
            let exit = exit.unwrap_or(Exit::Jump { to: next });
            blocks.push(Block { first: b.first, end, length: b.end - b.first, exit, visit });
        }
        // Falling off the end returns.
        let n = function.instructions.len() as u32;
        let visit = self.visit(0..0);
        let exit = Exit::Return { test: ALWAYS, other: count };
        blocks.push(Block { first: n, end: n, length: 0, exit, visit });
        blocks
    }

    fn visit(&mut self, pcs: std::ops::Range<u32>) -> u32 {
        let mut classes: ArrayVec<(OpClass, u32), { OpClass::ALL.len() }> = ArrayVec::new();
        for pc in pcs {
            let class = self.kernel.infos[pc as usize].class;
            match classes.iter_mut().find(|c| c.0 == class) {
                Some(c) => c.1 += 1,
                None => classes.push((class, 1)),
            }
        }
        self.kernel.visits.push(VisitInfo { classes });
        self.kernel.visits.len() as u32 - 1
    }

    /// How a block ends, if its last instruction is one that ends it.
    fn exit(&mut self, cfg: &Cfg, last: &Instruction, next: u32, meet: u32) -> Decoded<Option<Exit>> {
        let block_at = |label: LabelId| {
            let at = self.function.labels[label.0 as usize].at;
            if at as usize >= self.function.instructions.len() { cfg.exit().0 } else { cfg.block_of(at).0 }
        };
        let test = self.test(last.guard);
        Ok(Some(match last.op {
            Opcode::Bra => {
                let Some(Operand::Label(label)) = last.operands.first() else {
                    return Err("the target is no label".into());
                };
                let taken = block_at(*label);
                if last.guard.is_none() {
                    Exit::Jump { to: taken }
                } else {
                    Exit::Branch { test, taken, other: next, meet }
                }
            }
            Opcode::Brx => {
                let (Some(index), Some(Operand::List(list))) = (last.operands.first(), last.operands.get(1)) else {
                    return Err("the target list is missing".into());
                };
                let Some(List::Branches(labels)) = self.function.lists.get(*list as usize) else {
                    return Err("the target list is no `.branchtargets`".into());
                };
                let targets = labels.iter().map(|&l| block_at(l)).collect();
                let index = self.source(index, Type::U32)?;
                Exit::Table { test, index, targets, other: next, meet }
            }
            Opcode::Ret => Exit::Return { test, other: next },
            Opcode::Exit => Exit::Exit { test, other: next },
            Opcode::Call => return self.call_exit(last, test, next),
            _ => return Ok(None),
        }))
    }

    /// A call of a function of the kernel; calls of built-in functions are instructions like others.
    fn call_exit(&mut self, call: &Instruction, test: Test, next: u32) -> Decoded<Option<Exit>> {
        let [results, callee, arguments, ..] = &call.operands[..] else {
            return Err("the call is incomplete".into());
        };
        let callee = match callee {
            Operand::Symbol(Symbol::Function(f), _) => {
                let target = &self.origin.module.functions[*f as usize];
                if target.is_declaration {
                    return Ok(None);
                }
                let known = self.kernel.function_table[*f as usize];
                Callee::Known(known.ok_or("the callee is not part of the kernel")?)
            }
            register @ Operand::Register(_) => Callee::Indirect(self.source(register, Type::U64)?),
            _ => return Err("the callee is neither a function nor a register".into()),
        };
        let arguments = self.frame_variables(arguments)?;
        let results = self.frame_variables(results)?;
        Ok(Some(Exit::Call(Box::new(Call { test, callee, arguments, results, next }))))
    }

    fn test(&self, guard: Option<Guard>) -> Test {
        match guard {
            None => ALWAYS,
            Some(g) => Test { predicate: self.predicate(g.register), flip: if g.negated { LaneMask::MAX } else { 0 } },
        }
    }

    /// Decodes one instruction.
    fn instruction(&mut self, i: &Instruction) -> Decoded<Inst> {
        let mut decoded = self.operation(i)?;
        let guard = self.test(i.guard);
        decoded.guard = guard.predicate;
        decoded.guard_flip = guard.flip;
        Ok(decoded)
    }

    fn operation(&mut self, i: &Instruction) -> Decoded<Inst> {
        use Opcode as O;
        if !i.executes {
            return Err("parsed, but not executed".into());
        }
        match i.op {
            O::Bra | O::Brx | O::Ret | O::Exit => Ok(Inst::new(nothing)),
            O::Call => self.built_in(i),
            O::Ld | O::Ldu | O::St | O::Atom | O::Red | O::Cp | O::Prefetch | O::Prefetchu => self.memory(i),
            // Cache policies are hints that nothing here reads.
            O::Createpolicy => {
                let mut decoded = Inst::new(lane_op!(self.vector, |x, i, m| map1(x, i, m, |a: u64| a)));
                decoded.d = self.destination(&i.operands[0], Type::B64)?;
                decoded.a = self.double(0);
                Ok(decoded)
            }
            O::Mov | O::Cvta | O::Selp | O::Slct | O::Isspacep | O::Prmt => self.moves(i),
            O::Wmma | O::Mma | O::Ldmatrix | O::Stmatrix | O::Movmatrix => self.matrix(i),
            O::Tex | O::Tld4 | O::Txq | O::Suq | O::Suld | O::Sust => self.texture(i),
            O::Mbarrier => self.mbarrier(i),
            O::Cvt if small::is_small(i) => self.small_floats(i),
            O::Cvt | O::Szext => self.convert(i),
            O::Bar
            | O::Barrier
            | O::Shfl
            | O::Vote
            | O::Match
            | O::Redux
            | O::Activemask
            | O::Elect
            | O::Membar
            | O::Fence
            | O::Nanosleep
            | O::Pmevent
            | O::Trap
            | O::Brkpt
            | O::Griddepcontrol
            | O::Setmaxnreg
            | O::Discard
            | O::Applypriority => self.control(i),
            O::Vabsdiff
            | O::Vabsdiff2
            | O::Vabsdiff4
            | O::Vadd
            | O::Vadd2
            | O::Vadd4
            | O::Vavrg2
            | O::Vavrg4
            | O::Vmad
            | O::Vmax
            | O::Vmax2
            | O::Vmax4
            | O::Vmin
            | O::Vmin2
            | O::Vmin4
            | O::Vset
            | O::Vset2
            | O::Vset4
            | O::Vshl
            | O::Vshr
            | O::Vsub
            | O::Vsub2
            | O::Vsub4 => self.video(i),
            _ => match i.ty() {
                Some(Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => self.half(i),
                Some(Type::F32 | Type::F64) if i.op != O::Set && i.op != O::Setp => self.float(i),
                Some(Type::F32x2) => self.float_pairs(i),
                Some(_) => self.arithmetic(i),
                None => Err("the instruction has no type".into()),
            },
        }
    }

    // ---- operands ----

    /// Where a register is kept; predicates have their own numbers.
    fn unit(&self, register: RegId) -> Decoded<u32> {
        match self.packing.slot(register) {
            SlotRef::Unit(unit) => Ok(unit),
            SlotRef::Unused => Ok(self.frame.scratch),
            SlotRef::Predicate(_) => Err("a predicate stands where a value is expected".into()),
        }
    }

    fn predicate(&self, register: RegId) -> u16 {
        match self.packing.slot(register) {
            SlotRef::Predicate(p) => p as u16 + FIRST_PREDICATE,
            _ => TRUE_PREDICATE,
        }
    }

    fn register_type(&self, register: RegId) -> Type {
        self.function.registers[register.0 as usize].ty
    }

    /// The slot of a register that holds a `ty`; `misfit` says what is wrong with one of another width.
    fn register(&self, register: RegId, ty: Type, misfit: impl FnOnce(u32, u32) -> Refusal) -> Decoded<Slot> {
        let have = self.register_type(register).bits();
        if units(have) != units(ty.bits()) {
            return Err(misfit(have, ty.bits()));
        }
        self.unit(register).map(Slot::register)
    }

    /// A destination of `ty`; `_` goes to scratch.
    fn destination(&self, operand: &Operand, ty: Type) -> Decoded<Slot> {
        match operand {
            Operand::Register(r) => self.register(*r, ty, |have, bits| {
                format!("a register of {have} bits cannot hold a result of {bits} bits")
            }),
            Operand::Sink => Ok(Slot::register(self.frame.scratch)),
            _ => Err("the destination is no register".into()),
        }
    }

    /// A destination that is a predicate, and is wanted.
    fn predicate_result(&self, operand: &Operand) -> Decoded<u16> {
        self.predicate_destination(operand)?.ok_or_else(|| "the result is dropped".into())
    }

    /// A destination that is a predicate; `_` gives `None`.
    fn predicate_destination(&self, operand: &Operand) -> Decoded<Option<u16>> {
        match operand {
            Operand::Register(r) if self.register_type(*r) == Type::Pred => Ok(Some(self.predicate(*r))),
            Operand::Sink => Ok(None),
            _ => Err("the destination is no predicate".into()),
        }
    }

    /// A predicate source; immediates 0 and 1 count.
    fn predicate_source(&self, operand: &Operand) -> Decoded<Test> {
        match operand {
            Operand::Register(r) => Ok(Test { predicate: self.predicate(*r), flip: 0 }),
            Operand::Not(r) => Ok(Test { predicate: self.predicate(*r), flip: LaneMask::MAX }),
            Operand::Immediate(Immediate::Int(0)) => Ok(NEVER),
            Operand::Immediate(Immediate::Int(_)) => Ok(ALWAYS),
            _ => Err("the operand is no predicate".into()),
        }
    }

    /// A source of `ty`: register, literal or address.
    fn source(&mut self, operand: &Operand, ty: Type) -> Decoded<Slot> {
        match operand {
            Operand::Register(r) => self
                .register(*r, ty, |have, bits| format!("a register of {have} bits stands where {bits} bits are read")),
            Operand::Immediate(value) => Ok(self.literal(*value, ty)),
            Operand::Symbol(symbol, offset) => {
                let address = self.symbol_value(*symbol, *offset)?;
                if self.is_reference(*symbol) {
                    return Ok(self.constant(Constant::Reference(address)));
                }
                Ok(if units(ty.bits()) == 1 { self.word(address as u32) } else { self.double(address) })
            }
            _ => Err("the operand is no value".into()),
        }
    }

    /// True for a texture or surface reference: a variable that holds the handle of what it is bound to.
    fn is_reference(&self, symbol: Symbol) -> bool {
        let variable = match symbol {
            Symbol::Global(v) => &self.origin.module.variables[v as usize],
            Symbol::Local(v) => &self.function.variables[v as usize],
            Symbol::Function(_) | Symbol::Param(_) | Symbol::Return(_) => return false,
        };
        matches!(variable.ty, Type::Texref | Type::Surfref)
    }

    /// A source that is always 32 bits, whatever the instruction's type.
    fn source32(&mut self, operand: &Operand) -> Decoded<Slot> {
        self.source(operand, Type::U32)
    }

    fn literal(&mut self, value: Immediate, ty: Type) -> Slot {
        let bits = literal_bits(value, ty);
        if units(ty.bits()) == 1 { self.word(bits as u32) } else { self.double(bits) }
    }

    fn word(&mut self, value: u32) -> Slot {
        if let Some(&unit) = self.constant_units.get(&(false, u64::from(value))) {
            return Slot::constant(unit);
        }
        let slot = self.constant(Constant::Word(value));
        self.constant_units.insert((false, u64::from(value)), self.next_constant - 1);
        slot
    }

    fn double(&mut self, value: u64) -> Slot {
        if let Some(&unit) = self.constant_units.get(&(true, value)) {
            return Slot::constant(unit);
        }
        let slot = self.constant(Constant::Double(value));
        self.constant_units.insert((true, value), self.next_constant - 2);
        slot
    }

    fn constant(&mut self, constant: Constant) -> Slot {
        let unit = self.next_constant;
        self.next_constant += constant.units();
        self.constants.push(constant);
        Slot::constant(unit)
    }

    /// The value of a symbol used as a number: its address in its own space.
    fn symbol_value(&self, symbol: Symbol, offset: i64) -> Decoded<u64> {
        let base = match symbol {
            Symbol::Global(v) => {
                let variable = &self.origin.module.variables[v as usize];
                if variable.space == StateSpace::Shared {
                    self.layout.module_shared(v).ok_or("the variable has no place in shared memory")?
                } else {
                    self.symbols.address(v).ok_or_else(|| {
                        format!("`{}` is declared `.extern` and defined nowhere in this module", variable.name)
                    })?
                }
            }
            Symbol::Local(v) => {
                let variable = &self.function.variables[v as usize];
                match variable.space {
                    StateSpace::Shared => {
                        self.layout.function_shared(self.index, v).ok_or("the variable has no place")?
                    }
                    StateSpace::Global | StateSpace::Const => {
                        self.symbols.local_address(self.index, v).ok_or("the variable has no place in device memory")?
                    }
                    _ => return Err(format!("the address of `{}` is not a constant", variable.name)),
                }
            }
            Symbol::Function(f) => FUNCTION_WINDOW + u64::from(f),
            Symbol::Param(_) | Symbol::Return(_) => return Err("the address of a parameter is not a constant".into()),
        };
        Ok(base.wrapping_add(offset as u64))
    }

    /// Registers an instruction that the warp's scheduler handles; `own` is what the instruction keeps beside that.
    fn add_control(&mut self, control: Control, own: u32) -> Scheduled {
        self.controls.push(control);
        Scheduled { control: self.controls.len() as u32 - 1, own }
    }

    /// The next index into the touched ranges.
    fn next_touched(&mut self) -> u32 {
        self.kernel.memory_instructions += 1;
        self.kernel.memory_instructions - 1
    }
}

const ALWAYS: Test = Test { predicate: TRUE_PREDICATE, flip: 0 };
const NEVER: Test = Test { predicate: TRUE_PREDICATE, flip: LaneMask::MAX };

/// Units of a value of that many bits.
pub(crate) const fn units(bits: u32) -> u32 {
    match bits {
        0..=32 => 1,
        33..=64 => 2,
        _ => 4,
    }
}

/// Instructions without effect here: hints, and control flow that ends a block.
unsafe fn nothing(_: &mut Exec<'_>, _: &Inst, _: LaneMask) -> Flow {
    Flow::Next
}

/// Stands for an instruction that was refused; a launch never gets this far.
unsafe fn unreachable_instruction(x: &mut Exec<'_>, _: &Inst, _: LaneMask) -> Flow {
    x.fail(crate::fault::Cause::Unsupported { what: "an unsupported instruction was reached".into() })
}

/// The bits of a literal read as a value of `ty`.
pub(crate) fn literal_bits(value: Immediate, ty: Type) -> u64 {
    match (value, ty) {
        (Immediate::Int(v), Type::F32) => u64::from((v as f32).to_bits()),
        (Immediate::Int(v), Type::F64) => (v as f64).to_bits(),
        (Immediate::Int(v), _) => match ty.bits() {
            8 => u64::from(v as u8),
            16 => u64::from(v as u16),
            32 => u64::from(v as u32),
            _ => v as u64,
        },
        (Immediate::F32(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Immediate::F32(bits), _) => u64::from(bits),
        (Immediate::F64(bits), Type::F64 | Type::B64 | Type::U64 | Type::S64) => bits,
        (Immediate::F64(bits), _) => u64::from((f64::from_bits(bits) as f32).to_bits()),
    }
}

/// The instruction's rounding, nearest if none is given.
fn rounding(i: &Instruction) -> crate::semantics::rounding::Rounding {
    use crate::semantics::rounding::Rounding;
    i.words
        .iter()
        .find_map(|w| match w {
            Word::Rz => Some(Rounding::Zero),
            Word::Rm => Some(Rounding::Down),
            Word::Rp => Some(Rounding::Up),
            _ => None,
        })
        .unwrap_or(Rounding::Nearest)
}
