//! A module back to PTX.
//!
//! What is printed parses to the same module but for spans, the names of registers, variables and labels that several
//! blocks of a function share (they get a number), and hints that the module does not keep.

use crate::ast::{
    Base, Function, Immediate, Initial, Instruction, Linkage, List, Module, Operand, Register, StateSpace, Symbol,
    Type, Variable,
};
use crate::check;
use crate::isa::{Role, matching};
use crate::words::Opcode;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::{self, Formatter, Write};

/// The type as a directive names it, without the dot.
pub(crate) fn type_name(ty: Type) -> String {
    format!("{ty:?}").to_lowercase()
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".version {}.{}", self.version.0, self.version.1)?;
        if !self.targets.is_empty() {
            writeln!(f, ".target {}", self.targets.join(", "))?;
        }
        writeln!(f, ".address_size {}", self.address_size)?;
        for (number, name) in &self.files {
            writeln!(f, ".file {number} \"{name}\"")?;
        }
        // Initial values may name any function and any earlier variable.
        for function in &self.functions {
            Printer { module: self, function, names: Names::new(function) }.header(f)?;
            writeln!(f, ";")?;
        }
        for variable in &self.variables {
            let empty = Function::default();
            let printer = Printer { module: self, function: &empty, names: Names::new(&empty) };
            printer.variable(f, variable, &variable.name)?;
            writeln!(f, ";")?;
        }
        for (alias, target) in &self.aliases {
            writeln!(f, ".alias {alias}, {};", self.functions[*target as usize].name)?;
        }
        for function in self.functions.iter().filter(|function| !function.is_declaration) {
            Printer { module: self, function, names: Names::new(function) }.whole(f)?;
        }
        Ok(())
    }
}

/// A name for each register, variable and label of a function, none twice.
struct Names {
    registers: Vec<String>,
    variables: Vec<String>,
    labels: Vec<String>,
}

impl Names {
    fn new(function: &Function) -> Self {
        // Each name taken, with the number its next namesake gets.
        let mut taken: FxHashMap<String, u32> = FxHashMap::default();
        for variable in function.params.iter().chain(&function.returns) {
            taken.insert(variable.name.clone(), 1);
        }
        let slots: FxHashSet<usize> = function
            .param_registers
            .iter()
            .chain(&function.return_registers)
            .flatten()
            .map(|id| id.0 as usize)
            .collect();
        let mut unique = |name: &str| {
            // The elements of a vector register carry a dot, which no declared name may.
            let base = name.replace('.', "_");
            let mut candidate = base.clone();
            while let Some(next) = taken.get_mut(&candidate) {
                *next += 1;
                candidate = format!("{base}_{next}");
                if !taken.contains_key(&candidate) {
                    break;
                }
                candidate.clone_from(&base);
            }
            taken.insert(candidate.clone(), 1);
            candidate
        };
        let register = |(at, register): (usize, &Register)| {
            if slots.contains(&at) { register.name.clone() } else { unique(&register.name) }
        };
        Self {
            registers: function.registers.iter().enumerate().map(register).collect(),
            variables: function.variables.iter().map(|variable| unique(&variable.name)).collect(),
            labels: function.labels.iter().map(|label| unique(&label.name)).collect(),
        }
    }
}

/// What keeps the loop at its place from being unrolled.
const NO_UNROLL: &str = ".pragma \"nounroll\"";

struct Printer<'m> {
    module: &'m Module,
    function: &'m Function,
    names: Names,
}

impl Printer<'_> {
    fn whole(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.header(f)?;
        writeln!(f, "\n{{")?;
        let slots: Vec<_> =
            self.function.param_registers.iter().chain(&self.function.return_registers).flatten().collect();
        for (at, register) in self.function.registers.iter().enumerate() {
            if !slots.iter().any(|id| id.0 as usize == at) {
                writeln!(f, "\t.reg .{} {};", type_name(register.ty), self.names.registers[at])?;
            }
        }
        for (at, variable) in self.function.variables.iter().enumerate() {
            f.write_char('\t')?;
            self.variable(f, variable, &self.names.variables[at])?;
            writeln!(f, ";")?;
        }
        for (at, list) in self.function.lists.iter().enumerate() {
            self.list(f, at, list)?;
        }
        let mut labels = self.function.labels.iter().zip(&self.names.labels).peekable();
        let mut rolled = self.function.rolled.iter().peekable();
        let mut loc = None;
        for (at, instruction) in self.function.instructions.iter().enumerate() {
            while let Some((_, name)) = labels.next_if(|(label, _)| label.at as usize <= at) {
                writeln!(f, "{name}:")?;
            }
            while rolled.next_if(|&&place| place as usize <= at).is_some() {
                writeln!(f, "\t{NO_UNROLL};")?;
            }
            if instruction.loc != loc {
                loc = instruction.loc;
                if let Some(line) = loc {
                    writeln!(f, "\t.loc {} {} 0", line.file, line.line)?;
                }
            }
            self.instruction(f, instruction)?;
        }
        for (_, name) in labels {
            writeln!(f, "{name}:")?;
        }
        for _ in rolled {
            writeln!(f, "\t{NO_UNROLL};")?;
        }
        writeln!(f, "}}")
    }

    fn header(&self, f: &mut Formatter<'_>) -> fmt::Result {
        linkage(f, self.function.linkage)?;
        f.write_str(if self.function.is_entry { ".entry " } else { ".func " })?;
        if !self.function.returns.is_empty() {
            self.slots(f, &self.function.returns, &self.function.return_registers)?;
        }
        write!(f, "{} ", self.function.name)?;
        self.slots(f, &self.function.params, &self.function.param_registers)?;
        let tuning = self.function.tuning;
        if let Some([x, y, z]) = tuning.max_threads {
            write!(f, " {} {x}, {y}, {z}", if tuning.exact_threads { ".reqntid" } else { ".maxntid" })?;
        }
        if let Some(ctas) = tuning.min_ctas {
            write!(f, " .minnctapersm {ctas}")?;
        }
        if let Some(registers) = tuning.max_registers {
            write!(f, " .maxnreg {registers}")?;
        }
        Ok(())
    }

    fn slots(&self, f: &mut Formatter<'_>, slots: &[Variable], registers: &[Option<crate::ast::RegId>]) -> fmt::Result {
        f.write_char('(')?;
        for (at, slot) in slots.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match registers.get(at) {
                Some(Some(id)) => {
                    write!(f, ".reg .{} {}", type_name(slot.ty), self.names.registers[id.0 as usize])?;
                }
                _ => self.variable(f, slot, &slot.name)?,
            }
        }
        f.write_str(") ")
    }

    fn variable(&self, f: &mut Formatter<'_>, variable: &Variable, name: &str) -> fmt::Result {
        linkage(f, variable.linkage)?;
        f.write_str(match variable.space {
            StateSpace::Global => ".global",
            StateSpace::Const => ".const",
            StateSpace::Shared => ".shared",
            StateSpace::Local => ".local",
            StateSpace::Param => ".param",
            StateSpace::Tex => ".tex",
        })?;
        if variable.managed {
            f.write_str(" .attribute(.managed)")?;
        }
        write!(f, " .align {}", variable.align)?;
        if variable.vector > 1 {
            write!(f, " .v{}", variable.vector)?;
        }
        write!(f, " .{} {name}", type_name(variable.ty))?;
        for &extent in &variable.extents {
            if extent == 0 { f.write_str("[]")? } else { write!(f, "[{extent}]")? }
        }
        if variable.initial.is_empty() {
            return Ok(());
        }
        let braced = !variable.extents.is_empty() || variable.vector > 1;
        f.write_str(if braced { " = {" } else { " = " })?;
        for (at, value) in variable.initial.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            self.initial(f, value)?;
        }
        f.write_str(if braced { "}" } else { "" })
    }

    fn initial(&self, f: &mut Formatter<'_>, value: &Initial) -> fmt::Result {
        match value {
            Initial::Value(value) => immediate(f, *value),
            Initial::Address { symbol, offset, generic, byte } => {
                if let Some(byte) = byte {
                    write!(f, "{:#x}(", 0xFFu64 << (8 * u32::from(*byte)))?;
                }
                let name = self.symbol(*symbol);
                if *generic {
                    write!(f, "generic({name})")?;
                } else {
                    f.write_str(name)?;
                }
                write_offset(f, *offset)?;
                f.write_str(if byte.is_some() { ")" } else { "" })
            }
        }
    }

    fn symbol(&self, symbol: Symbol) -> &str {
        match symbol {
            Symbol::Global(id) => &self.module.variables[id as usize].name,
            Symbol::Local(id) => &self.names.variables[id as usize],
            Symbol::Param(id) => &self.function.params[id as usize].name,
            Symbol::Return(id) => &self.function.returns[id as usize].name,
            Symbol::Function(id) => &self.module.functions[id as usize].name,
        }
    }

    fn list(&self, f: &mut Formatter<'_>, at: usize, list: &List) -> fmt::Result {
        write!(f, "list_{at}: ")?;
        match list {
            List::Branches(labels) => {
                let names: Vec<&str> = labels.iter().map(|id| &*self.names.labels[id.0 as usize]).collect();
                writeln!(f, ".branchtargets {};", names.join(", "))
            }
            List::Calls(functions) => {
                let names: Vec<&str> = functions.iter().map(|&id| &*self.module.functions[id as usize].name).collect();
                writeln!(f, ".calltargets {};", names.join(", "))
            }
            List::Prototype { returns, params } => {
                f.write_str(".callprototype ")?;
                if !returns.is_empty() {
                    self.slots(f, returns, &[])?;
                }
                f.write_str("_ ")?;
                self.slots(f, params, &[])?;
                writeln!(f, ";")
            }
        }
    }

    fn instruction(&self, f: &mut Formatter<'_>, instruction: &Instruction) -> fmt::Result {
        f.write_char('\t')?;
        if let Some(guard) = instruction.guard {
            let name = &self.names.registers[guard.register.0 as usize];
            write!(f, "@{}{name} ", if guard.negated { "!" } else { "" })?;
        }
        write!(f, "{instruction} ")?;
        let operands = &instruction.operands;
        if let (Opcode::Call, [returns, callee, arguments, list]) = (instruction.op, &operands[..]) {
            if *returns != Operand::Vector(Vec::new()) {
                self.operand(f, returns, ['(', ')'])?;
                f.write_str(", ")?;
            }
            self.operand(f, callee, ['{', '}'])?;
            f.write_str(", ")?;
            self.operand(f, arguments, ['(', ')'])?;
            if *list != Operand::Sink {
                f.write_str(", ")?;
                self.operand(f, list, ['{', '}'])?;
            }
            return writeln!(f, ";");
        }
        let forms = matching(instruction.op, &instruction.words);
        let specs =
            forms.iter().find_map(|form| check::arrange(form, &instruction.words, operands)).unwrap_or_default();
        for (at, operand) in operands.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            let in_brackets = specs.get(at).is_some_and(|spec| spec.role == Role::Bracketed);
            self.operand(f, operand, if in_brackets { ['[', ']'] } else { ['{', '}'] })?;
        }
        writeln!(f, ";")
    }

    /// `around` is what a vector stands in.
    fn operand(&self, f: &mut Formatter<'_>, operand: &Operand, around: [char; 2]) -> fmt::Result {
        let register = |id: &crate::ast::RegId| &*self.names.registers[id.0 as usize];
        match operand {
            Operand::Register(id) => f.write_str(register(id)),
            Operand::Not(id) => write!(f, "!{}", register(id)),
            Operand::Immediate(value) => immediate(f, *value),
            Operand::Special(special) => write!(f, "%{}", special.name()),
            Operand::Symbol(symbol, offset) => {
                f.write_str(self.symbol(*symbol))?;
                write_offset(f, *offset)
            }
            Operand::Address { base, offset } => {
                f.write_char('[')?;
                match base {
                    Base::Register(id) => f.write_str(register(id))?,
                    Base::Symbol(symbol) => f.write_str(self.symbol(*symbol))?,
                    Base::Absolute => return write!(f, "{offset}]"),
                }
                write_offset(f, *offset)?;
                f.write_char(']')
            }
            Operand::Vector(items) => {
                f.write_char(around[0])?;
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        f.write_str(", ")?;
                    }
                    self.operand(f, item, ['{', '}'])?;
                }
                f.write_char(around[1])
            }
            Operand::Pair(first, second) => {
                self.operand(f, first, around)?;
                f.write_char('|')?;
                self.operand(f, second, around)
            }
            Operand::Label(id) => f.write_str(&self.names.labels[id.0 as usize]),
            Operand::List(id) => write!(f, "list_{id}"),
            Operand::Selector(id, word) => write!(f, "{}.{}", register(id), word.name()),
            Operand::Sink => f.write_char('_'),
        }
    }
}

fn write_offset(f: &mut Formatter<'_>, offset: i64) -> fmt::Result {
    if offset == 0 { Ok(()) } else { write!(f, "{offset:+}") }
}

fn linkage(f: &mut Formatter<'_>, linkage: Linkage) -> fmt::Result {
    f.write_str(match linkage {
        Linkage::Internal => "",
        Linkage::Extern => ".extern ",
        Linkage::Visible => ".visible ",
        Linkage::Weak => ".weak ",
        Linkage::Common => ".common ",
    })
}

fn immediate(f: &mut Formatter<'_>, value: Immediate) -> fmt::Result {
    match value {
        Immediate::Int(n) => write!(f, "{n}"),
        Immediate::F32(bits) => write!(f, "0f{bits:08X}"),
        Immediate::F64(bits) => write!(f, "0d{bits:016X}"),
    }
}
