//! Functions to test analyses on: a small builder, and random control flow.

use crate::ast::{
    Base, Function, Guard, Instruction, Label, LabelId, Linkage, List, Opcode, Operand, RegId, Register, Span, Tuning,
    Type,
};
use proptest::prelude::*;

/// Builds the body of a function, instruction by instruction.
pub(super) struct Body {
    function: Function,
}

impl Body {
    pub(super) fn new() -> Self {
        Self {
            function: Function {
                name: "test".into(),
                is_entry: true,
                is_declaration: false,
                linkage: Linkage::Visible,
                returns: Vec::new(),
                params: Vec::new(),
                param_registers: Vec::new(),
                return_registers: Vec::new(),
                tuning: Tuning::default(),
                registers: Vec::new(),
                variables: Vec::new(),
                instructions: Vec::new(),
                labels: Vec::new(),
                rolled: Vec::new(),
                lists: Vec::new(),
                span: Span::default(),
            },
        }
    }

    pub(super) fn register(&mut self, ty: Type) -> RegId {
        let id = self.function.registers.len() as u32;
        self.function.registers.push(Register { name: format!("%x{id}"), ty });
        RegId(id)
    }

    /// A label that stands nowhere yet, that is, at the end of whatever is built.
    pub(super) fn label(&mut self) -> LabelId {
        let id = self.function.labels.len() as u32;
        self.function.labels.push(Label { name: format!("$L{id}"), at: u32::MAX, span: Span::default() });
        LabelId(id)
    }

    /// Puts `label` before the next instruction.
    pub(super) fn place(&mut self, label: LabelId) {
        self.function.labels[label.0 as usize].at = self.function.instructions.len() as u32;
    }

    pub(super) fn instruction(&mut self, op: Opcode, outputs: Vec<Operand>, inputs: Vec<Operand>) {
        let count = outputs.len() as u8;
        let operands = outputs.into_iter().chain(inputs).collect();
        self.function.instructions.push(Instruction {
            op,
            words: Vec::new(),
            operands,
            outputs: count,
            guard: None,
            form: crate::ast::FormId::default(),
            executes: true,
            span: Span::default(),
            loc: None,
        });
    }

    /// Guards the instruction last added.
    pub(super) fn guard(&mut self, register: RegId, negated: bool) {
        if let Some(last) = self.function.instructions.last_mut() {
            last.guard = Some(Guard { register, negated });
        }
    }

    /// A lane-wise computation, with a vector as destination if there are several.
    pub(super) fn compute(&mut self, outputs: &[RegId], inputs: &[RegId]) {
        self.define(Opcode::Lop3, outputs, inputs);
    }

    /// A load: its destinations must not share storage with its address.
    pub(super) fn load(&mut self, outputs: &[RegId], address: RegId) {
        self.define(Opcode::Ld, outputs, &[]);
        if let Some(last) = self.function.instructions.last_mut() {
            last.operands.push(Operand::Address { base: Base::Register(address), offset: 0 });
        }
    }

    fn define(&mut self, op: Opcode, outputs: &[RegId], inputs: &[RegId]) {
        let output = match outputs {
            [one] => Operand::Register(*one),
            [a, b] => Operand::Pair(Operand::Register(*a).into(), Operand::Register(*b).into()),
            many => Operand::Vector(many.iter().copied().map(Operand::Register).collect()),
        };
        self.instruction(op, vec![output], inputs.iter().copied().map(Operand::Register).collect());
    }

    /// Reads registers and writes none.
    pub(super) fn store(&mut self, inputs: &[RegId]) {
        self.instruction(Opcode::St, Vec::new(), inputs.iter().copied().map(Operand::Register).collect());
    }

    pub(super) fn bra(&mut self, target: LabelId) {
        self.instruction(Opcode::Bra, Vec::new(), vec![Operand::Label(target)]);
    }

    pub(super) fn bra_if(&mut self, guard: RegId, target: LabelId) {
        self.bra(target);
        self.guard(guard, false);
    }

    pub(super) fn brx(&mut self, index: RegId, targets: Vec<LabelId>) {
        let list = self.function.lists.len() as u32;
        self.function.lists.push(List::Branches(targets));
        self.instruction(Opcode::Brx, Vec::new(), vec![Operand::Register(index), Operand::List(list)]);
    }

    pub(super) fn ret(&mut self) {
        self.instruction(Opcode::Ret, Vec::new(), Vec::new());
    }

    pub(super) fn finish(mut self) -> Function {
        let end = self.function.instructions.len() as u32;
        for label in &mut self.function.labels {
            label.at = label.at.min(end);
        }
        self.function
    }
}

/// Registers of each kind in a random function.
const EACH: u32 = 5;

/// How a random block computes: kind, outputs, inputs, guard; all taken modulo what there is.
type Step = (u8, Vec<u32>, Vec<u32>, Option<(u32, bool)>);

/// How a random block ends: kind, targets, guard.
type End = (u8, Vec<usize>, u32);

/// A function of up to ten blocks with arbitrary jumps among them: endless loops, irreducible regions and unreachable
/// blocks included.
pub(super) fn any_function() -> impl Strategy<Value = Function> {
    let guard = proptest::option::of((0..EACH, any::<bool>()));
    let registers = || proptest::collection::vec(0..EACH * 4, 0..4);
    let step = (any::<u8>(), registers(), registers(), guard);
    let end = (any::<u8>(), proptest::collection::vec(0_usize..12, 1..4), 0..EACH);
    let block = (proptest::collection::vec(step, 0..5), end);
    (proptest::collection::vec(block, 1..10), proptest::collection::vec(0..EACH * 4, 0..3))
        .prop_map(|(blocks, returned)| random_function(&blocks, &returned))
}

fn random_function(blocks: &[(Vec<Step>, End)], returned: &[u32]) -> Function {
    let mut body = Body::new();
    for ty in [Type::Pred, Type::F32, Type::B64, Type::B16] {
        for _ in 0..EACH {
            body.register(ty);
        }
    }
    let labels: Vec<_> = blocks.iter().map(|_| body.label()).collect();
    let end = body.label();
    for (i, (steps, (kind, targets, guard))) in blocks.iter().enumerate() {
        body.place(labels[i]);
        for (kind, outputs, inputs, guard) in steps {
            let outputs: Vec<_> = outputs.iter().copied().map(RegId).collect();
            let inputs: Vec<_> = inputs.iter().copied().map(RegId).collect();
            match (kind % 4, inputs.first()) {
                (0, Some(&address)) => body.load(&outputs, address),
                (1, _) => body.store(&inputs),
                _ => body.compute(&outputs, &inputs),
            }
            if let Some((guard, negated)) = guard {
                body.guard(RegId(*guard), *negated);
            }
        }
        let targets: Vec<_> = targets.iter().map(|&t| labels.get(t).copied().unwrap_or(end)).collect();
        let guard = RegId(*guard);
        match kind % 8 {
            0 | 1 => {}
            2 | 3 => body.bra_if(guard, targets[0]),
            4 => body.bra(targets[0]),
            5 => body.brx(RegId(EACH), targets),
            6 => body.ret(),
            _ => {
                body.ret();
                body.guard(guard, true);
            }
        }
    }
    let mut function = body.finish();
    function.return_registers = returned.iter().map(|&r| Some(RegId(r))).collect();
    function
}
