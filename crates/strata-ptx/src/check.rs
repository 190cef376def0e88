//! Operands against the forms of the instruction table: number, kind, and the size of registers.
//!
//! Rules of PTX ISA 6.4 and 9.4.1, on the lenient side: what a compiler emits must never be refused.

use crate::ast::{Base, Operand, RegId, Register, Type};
use crate::isa::{Expect, Form, Pairing, Role, Spec};
use crate::parser::convert;
use crate::print::type_name;
use crate::words::{Opcode, Word};

/// What is wrong with an operand, or with the operands together.
pub(crate) struct Misfit {
    pub(crate) operand: Option<usize>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// The form that the operands fit, with literals converted to the types it asks for.
pub(crate) fn select(
    forms: &[&'static Form],
    words: &[Word],
    operands: &mut [Operand],
    registers: &[Register],
) -> Result<&'static Form, Vec<Misfit>> {
    let mut first_misfits: Option<Vec<Misfit>> = None;
    for form in forms {
        let mut check = Check { form, words, registers, misfits: Vec::new() };
        let Some(specs) = arrange(form, words, operands) else { continue };
        for (at, spec) in specs.iter().enumerate() {
            check.operand(at, spec, &mut operands[at]);
        }
        if check.misfits.is_empty() {
            return Ok(form);
        }
        first_misfits.get_or_insert(check.misfits);
    }
    Err(first_misfits.unwrap_or_else(|| vec![shape_misfit(forms, words, operands)]))
}

/// The spec of each operand, if number and kinds fit the form.
pub(crate) fn arrange(form: &'static Form, words: &[Word], operands: &[Operand]) -> Option<Vec<&'static Spec>> {
    if form.operands.first().is_some_and(|spec| spec.role == Role::Call) {
        return Some(Vec::new());
    }
    let mut out = Vec::with_capacity(operands.len());
    place(&form.operands, operands, form.outputs as usize, words, &mut out).then_some(out)
}

struct Check<'c> {
    form: &'static Form,
    words: &'c [Word],
    registers: &'c [Register],
    misfits: Vec<Misfit>,
}

impl Check<'_> {
    fn operand(&mut self, at: usize, spec: &Spec, operand: &mut Operand) {
        let expected = expected(spec.expect, self.words);
        if spec.role == Role::PerVec && vector_len(self.words).is_none() {
            unwrap_single(operand);
        }
        match operand {
            Operand::Pair(first, second) => {
                self.value(at, spec, expected, first);
                self.value(at, spec, Some(Type::Pred), second);
            }
            Operand::Vector(items) if spec.expect == Expect::Pack => self.pack(at, items),
            Operand::Vector(items) if spec.role != Role::Bracketed => {
                for item in items {
                    self.value(at, spec, expected, item);
                }
            }
            Operand::Address { base: Base::Register(register), .. } => {
                let ty = self.ty(*register);
                if ty.bits() < 32 || ty.is_float() {
                    self.misfit(
                        at,
                        format!("an address cannot be in a `.{}` register", type_name(ty)),
                        "use `.b64` or `.b32`",
                    );
                }
            }
            single => self.value(at, spec, expected, single),
        }
    }

    fn value(&mut self, at: usize, spec: &Spec, expected: Option<Type>, operand: &mut Operand) {
        let Some(expected) = expected else { return };
        match operand {
            Operand::Immediate(value) => *value = convert(*value, expected),
            Operand::Register(register) | Operand::Not(register) | Operand::Selector(register, _) => {
                let found = self.ty(*register);
                if !accepts(self.form.op, expected, found, spec.wider) {
                    let name = &self.registers[register.0 as usize].name;
                    let message = format!(
                        "`{name}` is a `.{}` register, but `{}` takes `.{}` here",
                        type_name(found),
                        self.form.op.name(),
                        type_name(expected)
                    );
                    self.misfit(at, message, "convert it with `cvt` or `mov`, or change the type of the instruction");
                }
            }
            _ => {}
        }
    }

    /// `{a, b}` moved as one: the elements together have the size of the type.
    fn pack(&mut self, at: usize, items: &mut [Operand]) {
        let Some(whole) = expected(Expect::Nth(0), self.words) else { return };
        let mut bits = 0;
        for item in items.iter() {
            match item {
                Operand::Register(register) if self.ty(*register) != Type::Pred => bits += self.ty(*register).bits(),
                // The size of `_` or of a literal follows from the others.
                _ => return,
            }
        }
        if bits != whole.bits() {
            let message = format!(
                "these elements have {bits} bits together, not the {} of `.{}`",
                whole.bits(),
                type_name(whole)
            );
            self.misfit(at, message, "the elements and the type must have the same size");
        }
    }

    fn ty(&self, register: RegId) -> Type {
        self.registers[register.0 as usize].ty
    }

    fn misfit(&mut self, operand: usize, message: String, help: &str) {
        self.misfits.push(Misfit { operand: Some(operand), message, help: Some(help.to_owned()) });
    }
}

/// Gives each operand a spec in order, leaving out optional ones; depth is bounded by the operands of a form.
fn place(
    specs: &'static [Spec],
    operands: &[Operand],
    outputs: usize,
    words: &[Word],
    out: &mut Vec<&'static Spec>,
) -> bool {
    let Some((operand, rest)) = operands.split_first() else {
        return specs.iter().all(|spec| spec.optional);
    };
    let Some((spec, later)) = specs.split_first() else { return false };
    if spec.role == Role::Rest {
        out.extend(operands.iter().map(|_| spec));
        return true;
    }
    if fits(spec, operand, outputs > 0, words) {
        out.push(spec);
        if place(later, rest, outputs.saturating_sub(1), words, out) {
            return true;
        }
        out.pop();
    }
    spec.optional && place(later, operands, outputs.saturating_sub(1), words, out)
}

/// Whether the kind of an operand fits a place.
fn fits(spec: &Spec, operand: &Operand, written: bool, words: &[Word]) -> bool {
    if let (Some(elements), Operand::Vector(items)) = (spec.elements, operand) {
        // Of a bracketed list, the coordinates count; a single one may stand without braces.
        let counted = match (spec.role, items.last()) {
            (Role::Bracketed, Some(Operand::Vector(coordinates))) => coordinates.len(),
            (Role::Bracketed, _) => 1,
            _ => items.len(),
        };
        if counted != usize::from(elements) {
            return false;
        }
    }
    if let Operand::Pair(first, second) = operand {
        return spec.pairing != Pairing::Never
            && kind_fits(spec.role, first, written, words)
            && matches!(**second, Operand::Register(_) | Operand::Sink);
    }
    if let Operand::Not(_) = operand
        && !written
        && matches!(spec.role, Role::Value | Role::MaybeNot)
    {
        return matches!(expected(spec.expect, words), None | Some(Type::Pred));
    }
    spec.pairing != Pairing::Always && kind_fits(spec.role, operand, written, words)
}

fn kind_fits(role: Role, operand: &Operand, written: bool, words: &[Word]) -> bool {
    let is_value = match operand {
        Operand::Register(_) => true,
        Operand::Sink => written,
        Operand::Immediate(_) | Operand::Special(_) | Operand::Symbol(..) => !written,
        _ => false,
    };
    match role {
        Role::Value | Role::MaybeNot => is_value,
        Role::Selected => is_value || matches!(operand, Operand::Selector(..)),
        Role::Vector | Role::Bracketed => matches!(operand, Operand::Vector(_)),
        Role::PerVec => match (vector_len(words), operand) {
            (Some(len), Operand::Vector(items)) => items.len() == len,
            (Some(_), _) => false,
            (None, Operand::Vector(items)) => {
                matches!(&items[..], [item] if kind_fits(Role::Value, item, written, words))
            }
            (None, _) => is_value,
        },
        Role::Address => matches!(operand, Operand::Address { .. }),
        Role::Literal => matches!(operand, Operand::Immediate(_)),
        Role::Label => matches!(operand, Operand::Label(_)),
        Role::List => matches!(operand, Operand::List(_)),
        Role::Call | Role::Rest => true,
    }
}

/// Makes `{%r1}` `%r1`: compilers may write braces around a single element.
fn unwrap_single(operand: &mut Operand) {
    if let Operand::Vector(items) = operand
        && items.len() == 1
        && let Some(item) = items.pop()
    {
        *operand = item;
    }
}

fn vector_len(words: &[Word]) -> Option<usize> {
    words.iter().find_map(|word| match word {
        Word::V2 => Some(2),
        Word::V4 => Some(4),
        Word::V8 => Some(8),
        _ => None,
    })
}

/// The type a place asks for, if it asks for one.
fn expected(expect: Expect, words: &[Word]) -> Option<Type> {
    let nth = |n: u8| words.iter().filter_map(|word| word.as_type()).nth(n as usize);
    match expect {
        Expect::Nth(n) => nth(n),
        Expect::Wide => nth(0).map(|ty| match ty {
            Type::U16 => Type::U32,
            Type::S16 => Type::S32,
            Type::S32 => Type::S64,
            _ => Type::U64,
        }),
        Expect::Fixed(ty) => Some(ty),
        Expect::Pack | Expect::Any => None,
    }
}

/// Whether a register of type `found` may stand where `expected` is asked for.
fn accepts(op: Opcode, expected: Type, found: Type, wider: bool) -> bool {
    if expected == Type::Opaque || found == Type::Opaque {
        return true;
    }
    if (expected == Type::Pred) != (found == Type::Pred) {
        return false;
    }
    if wider {
        return found.bits() >= expected.bits();
    }
    // Half types live in any 16- or 32-bit register; only single and double precision keep apart from integers.
    let single = |ty| matches!(ty, Type::F32 | Type::F64);
    let clash = single(expected) && found.is_integer() || single(found) && expected.is_integer();
    found.bits() == expected.bits() && (!clash || op == Opcode::Mov)
}

/// What to say when no form takes operands of these kinds.
fn shape_misfit(forms: &[&'static Form], words: &[Word], operands: &[Operand]) -> Misfit {
    let Some(form) = forms.iter().min_by_key(|form| form.operands.len().abs_diff(operands.len())) else {
        return Misfit { operand: None, message: "this instruction has no form".to_owned(), help: None };
    };
    let most =
        if form.operands.last().is_some_and(|spec| spec.role == Role::Rest) { usize::MAX } else { form.operands.len() };
    let least = form.operands.iter().filter(|spec| !spec.optional).count();
    let help = Some(format!("the form is `{}`", form.text.split_whitespace().collect::<Vec<_>>().join(" ")));
    let name = form.op.name();
    if operands.len() < least || operands.len() > most {
        let wanted = match most {
            usize::MAX => format!("at least {least}"),
            most if most == least => most.to_string(),
            most => format!("{least} to {most}"),
        };
        let message = format!("`{name}` takes {wanted} operands, not {}", operands.len());
        return Misfit { operand: None, message, help };
    }
    // The first operand that fits no form in its place.
    let at = (0..operands.len()).find(|&at| {
        !forms.iter().any(|form| {
            form.operands.get(at).is_some_and(|spec| fits(spec, &operands[at], at < form.outputs as usize, words))
        })
    });
    let message = match at {
        Some(at) => {
            format!("operand {} of `{name}` is {}, which it does not take there", at + 1, describe(&operands[at]))
        }
        None => format!("`{name}` does not take these operands together"),
    };
    Misfit { operand: at, message, help }
}

fn describe(operand: &Operand) -> &'static str {
    match operand {
        Operand::Register(_) => "a register",
        Operand::Not(_) => "a negated predicate",
        Operand::Immediate(_) => "a literal",
        Operand::Special(_) => "a special register",
        Operand::Symbol(..) => "a name",
        Operand::Address { .. } => "an address",
        Operand::Vector(_) => "a vector",
        Operand::Pair(..) => "a pair",
        Operand::Label(_) => "a label",
        Operand::List(_) => "a list",
        Operand::Selector(..) => "a part of a register",
        Operand::Sink => "`_`",
    }
}
