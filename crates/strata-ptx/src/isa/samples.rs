//! Every form of the table, with every word of every modifier, spelled out: what tests parse, print and decode.

use super::table::{Expect, Form, Pairing, Role, Spec};
use crate::ast::Type;
use crate::words::{Opcode, Word};

/// Declarations of all that [`Form::spellings`] names; the label `end` has to follow.
pub const SAMPLE_REGISTERS: &str = ".reg .pred %p<4>; .reg .b8 %b<4>; .reg .b16 %h<4>; .reg .b32 %r<4>; \
     .reg .b64 %d<4>; .reg .b128 %q<4>; .param .align 16 .b8 slot[64];\ntargets: .branchtargets end;\nproto: .callprototype _ (.param .b32 _);\n";

/// The modifiers of a form: the required ones, with `word` in slot `at` if given.
fn modifiers(form: &Form, chosen: Option<(usize, Word)>) -> Vec<Word> {
    let pick = |at: usize| match chosen {
        Some((slot, word)) if slot == at => Some(word),
        _ => (!form.slots[at].optional).then(|| form.slots[at].words[0]),
    };
    (0..form.slots.len()).filter_map(pick).collect()
}

/// A register of the size a type asks for.
fn register(ty: Option<Type>) -> &'static str {
    match ty.map(Type::bits) {
        Some(1) => "%p1",
        Some(8 | 16) => "%h1",
        Some(64) => "%d1",
        Some(128) => "%q1",
        _ => "%r1",
    }
}

fn operand(form: &Form, spec: &Spec, words: &[Word]) -> String {
    let types: Vec<Type> = words.iter().filter_map(|word| word.as_type()).collect();
    let ty = match spec.expect {
        Expect::Nth(n) => types.get(n as usize).copied(),
        Expect::Wide => Some(if types[0].bits() == 16 { Type::B32 } else { Type::B64 }),
        Expect::Fixed(ty) => Some(ty),
        Expect::Pack | Expect::Any => None,
    };
    let ty = ty.filter(|ty| *ty != Type::Opaque);
    let value = register(ty);
    let elements = words.iter().find_map(|word| match word {
        Word::V2 => Some(2),
        Word::V4 => Some(4),
        Word::V8 => Some(8),
        _ => None,
    });
    let text = match (spec.role, elements) {
        (Role::Vector, _) if spec.expect == Expect::Pack => match types[0].bits() {
            16 => "{%b1, %b2}".to_owned(),
            32 => "{%h1, %h2}".to_owned(),
            64 => "{%r1, %r2}".to_owned(),
            _ => "{%d1, %d2}".to_owned(),
        },
        (Role::Vector, _) => format!("{{{}}}", vec![value; spec.elements.map_or(2, usize::from)].join(", ")),
        (Role::PerVec, Some(n)) => format!("{{{}}}", vec![value; n].join(", ")),
        (Role::Value, _) if spec.expect == Expect::Any => "%d1".to_owned(),
        (Role::Value | Role::PerVec, _) => value.to_owned(),
        (Role::MaybeNot, _) => "!%p2".to_owned(),
        (Role::Selected, _) if form.op.name().ends_with('2') => format!("{value}.h10"),
        (Role::Selected, _) if form.op.name().ends_with('4') => format!("{value}.b3210"),
        (Role::Selected, _) => format!("{value}.b0"),
        (Role::Address, _)
            if form.op == Opcode::St && words.iter().any(|w| matches!(w, Word::Param | Word::ParamFunc)) =>
        {
            "[slot+8]".to_owned()
        }
        (Role::Address, _) => "[%d1+8]".to_owned(),
        (Role::Bracketed, _) => format!("[%d1, {{{}}}]", vec!["%r1"; spec.elements.map_or(2, usize::from)].join(", ")),
        (Role::Literal, _) => "4".to_owned(),
        (Role::Label, _) => "end".to_owned(),
        (Role::List, _) => "targets".to_owned(),
        (Role::Call, _) => "(), %d1, (%r1), proto".to_owned(),
        (Role::Rest, _) => "{%r1}, [%d1], %r2".to_owned(),
    };
    if spec.pairing == Pairing::Never { text } else { format!("{text}|%p2") }
}

impl Form {
    /// The form as instructions: with each word of each modifier, without and with its optional operands.
    pub fn spellings(&self) -> Vec<String> {
        let chosen = std::iter::once(None).chain(self.choices().map(Some));
        chosen.flat_map(|choice| spelled(self, &modifiers(self, choice))).collect()
    }
}

/// The form with those modifiers, without and with its optional operands.
fn spelled(form: &Form, words: &[Word]) -> Vec<String> {
    let mut head = form.op.name().to_owned();
    for word in words {
        head.push('.');
        head.push_str(word.name());
    }
    let with = |optional: bool| {
        let operands: Vec<String> = form
            .operands
            .iter()
            .filter(|spec| optional || !spec.optional)
            .map(|spec| operand(form, spec, words))
            .collect();
        format!("{head} {};", operands.join(", "))
    };
    if form.operands.iter().any(|spec| spec.optional) { vec![with(false), with(true)] } else { vec![with(false)] }
}

#[cfg(test)]
mod tests {
    use super::super::table::{Form, forms};
    use super::SAMPLE_REGISTERS;

    /// A module with an instruction for each word of each modifier of each form, and the forms in the same order.
    fn every_form() -> (String, Vec<&'static Form>) {
        let mut text =
            format!(".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() {{\n{SAMPLE_REGISTERS}");
        let mut order = Vec::new();
        for form in forms() {
            for line in form.spellings() {
                text.push_str(&line);
                text.push('\n');
                order.push(form);
            }
        }
        text.push_str("end: ret;\n}\n");
        (text, order)
    }

    #[test]
    fn every_form_parses_and_prints_back() {
        let (text, order) = every_form();
        let parsed = crate::parse("forms.ptx", &text);
        assert!(
            parsed.diagnostics.is_empty(),
            "{}",
            crate::render("forms.ptx", &text, &parsed.diagnostics[..parsed.diagnostics.len().min(20)], false)
        );
        let module = parsed.module.expect("no diagnostics, so a module");
        let instructions = &module.functions[0].instructions;
        assert_eq!(instructions.len(), order.len() + 1);
        for (instruction, form) in instructions.iter().zip(order) {
            assert_eq!(instruction.op, form.op, "{instruction} against `{}`", form.text);
            assert_eq!(instruction.form, form.id, "{instruction} against `{}`", form.text);
            assert_eq!(instruction.executes, form.executes, "{instruction} against `{}`", form.text);
            let places = form.places(&instruction.words).expect("the form fits");
            let fits = |(&at, &word): (&usize, &crate::words::Word)| form.choices().any(|c| c == (at, word));
            assert!(places.iter().zip(&instruction.words).all(fits), "{instruction} against `{}`", form.text);
        }
        let printed = module.to_string();
        let again = crate::parse("printed.ptx", &printed);
        assert!(again.diagnostics.is_empty(), "{}", again.render(&printed, false));
        let again = again.module.expect("no diagnostics, so a module");
        assert_eq!(again.functions[0].instructions.len(), instructions.len());
        assert_eq!(again.to_string(), printed);
    }
}
