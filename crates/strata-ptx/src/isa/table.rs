//! Reading the table.

use crate::ast::Type;
use crate::words::{Opcode, Word};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// The table as text; its notation is explained at its top.
const TEXT: &str = include_str!("instructions.isa");

/// What kind of operand a place takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A register, `_` if written, any value if read.
    Value,
    /// A value, or `!%p`.
    MaybeNot,
    /// A value, or a register with a byte or half selector.
    Selected,
    /// `{a, b, …}`.
    Vector,
    /// A vector if `.v2`, `.v4` or `.v8` is among the modifiers, else a value.
    PerVec,
    /// `[a]`.
    Address,
    /// `[a, …]`.
    Bracketed,
    /// A literal.
    Literal,
    /// A branch target.
    Label,
    /// A `.branchtargets` list.
    List,
    /// The four normalised operands of `call`.
    Call,
    /// Any number of operands of any kind.
    Rest,
}

/// What type an operand must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expect {
    /// The n-th type among the modifiers, counted from 0.
    Nth(u8),
    /// Twice as wide as the first type.
    Wide,
    /// This one.
    Fixed(Type),
    /// The elements of the vector together have the size of the first type.
    Pack,
    /// Unchecked.
    Any,
}

/// Whether a place has a second half after `|`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pairing {
    Never,
    Maybe,
    Always,
}

/// One operand of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spec {
    pub(crate) role: Role,
    pub(crate) expect: Expect,
    /// The register may be wider than the type.
    pub(crate) wider: bool,
    pub(crate) pairing: Pairing,
    pub(crate) optional: bool,
    /// The elements that a vector must have, if the table says so.
    pub(crate) elements: Option<u8>,
}

/// One modifier of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    /// The word, or the name of the choice.
    pub(crate) name: &'static str,
    pub(crate) optional: bool,
    pub(crate) words: Vec<Word>,
    /// All its words name types, so it keeps its place among the other types.
    pub(crate) is_type: bool,
}

/// The number of a form: its place in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FormId(pub u16);

/// One form of an instruction: a line of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    pub(crate) id: FormId,
    pub(crate) op: Opcode,
    pub(crate) slots: Vec<Slot>,
    pub(crate) operands: Vec<Spec>,
    /// How many leading operands are written.
    pub(crate) outputs: u8,
    pub(crate) executes: bool,
    /// As the table spells it, for messages and the coverage table.
    pub(crate) text: &'static str,
    /// The heading of its section.
    pub(crate) section: &'static str,
}

impl Form {
    /// Its number, which [`Instruction::form`](crate::ast::Instruction::form) names.
    pub fn id(&self) -> FormId {
        self.id
    }

    /// Opcode, modifiers and operands as the table spells them.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// True if the emulator executes it.
    pub fn executes(&self) -> bool {
        self.executes
    }

    /// Every modifier that may stand in one of its places: the number of the place, and the word.
    pub fn choices(&self) -> impl Iterator<Item = (usize, Word)> {
        self.slots.iter().enumerate().flat_map(|(at, slot)| slot.words.iter().map(move |&word| (at, word)))
    }
}

struct Table {
    forms: Vec<Form>,
    by_opcode: Vec<Vec<usize>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let (forms, faults) = read(TEXT);
    debug_assert!(faults.is_empty(), "instructions.isa: {faults:#?}");
    let mut by_opcode = vec![Vec::new(); Opcode::ALL.len()];
    for (at, form) in forms.iter().enumerate() {
        by_opcode[form.op as usize].push(at);
    }
    Table { forms, by_opcode }
});

/// Every form of every instruction, in the order of the table.
pub fn forms() -> &'static [Form] {
    &TABLE.forms
}

/// The forms of one opcode.
pub(crate) fn forms_of(op: Opcode) -> impl Iterator<Item = &'static Form> {
    let table = &*TABLE;
    table.by_opcode[op as usize].iter().map(|&at| &table.forms[at])
}

type Choices = FxHashMap<&'static str, Vec<Word>>;

/// Reads the whole table; the second part lists what is wrong with it.
fn read(text: &'static str) -> (Vec<Form>, Vec<String>) {
    let mut faults = Vec::new();
    let mut shared = Choices::default();
    let mut forms = Vec::new();
    for section in sections(text) {
        let mut own = Choices::default();
        for line in section.iter().filter(|line| line.starts_with(' ')) {
            match choice(line) {
                Ok((name, words)) => {
                    own.insert(name, words);
                }
                Err(fault) => faults.push(format!("{line}: {fault}")),
            }
        }
        let heading = section.first().map_or("", |line| line.trim_start_matches(['#', ' ']));
        let mut has_forms = false;
        for line in section.iter().filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic())) {
            has_forms = true;
            match form(line, heading, &own, &shared) {
                Ok(form) => forms.push(Form { id: FormId(forms.len() as u16), ..form }),
                Err(fault) => faults.push(format!("{line}: {fault}")),
            }
        }
        if !has_forms {
            shared.extend(own);
        }
    }
    (forms, faults)
}

fn sections(text: &'static str) -> Vec<Vec<&'static str>> {
    let mut out: Vec<Vec<&'static str>> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with('#') || out.is_empty() {
            out.push(Vec::new());
        }
        if let Some(section) = out.last_mut() {
            section.push(line);
        }
    }
    out
}

/// `.name = { .a, .b* }`.
fn choice(line: &'static str) -> Result<(&'static str, Vec<Word>), String> {
    let (name, set) = line.split_once('=').ok_or("expected `=`")?;
    let name = name.trim().strip_prefix('.').ok_or("a choice starts with a dot")?;
    let set = set.trim().strip_prefix('{').and_then(|s| s.strip_suffix('}')).ok_or("expected `{ … }`")?;
    let mut words = Vec::new();
    for item in set.split(',') {
        let item = item.trim().strip_prefix('.').ok_or_else(|| format!("`{item}` has no dot"))?;
        match item.strip_suffix('*') {
            Some(start) => words.extend(Word::ALL.iter().filter(|word| word.name().starts_with(start))),
            None => words.push(Word::parse(item).ok_or_else(|| format!("`.{item}` is not in the vocabulary"))?),
        }
    }
    Ok((name, words))
}

fn form(line: &'static str, section: &'static str, own: &Choices, shared: &Choices) -> Result<Form, String> {
    let (text, mark) = line.split_once("--").unwrap_or((line, ""));
    let executes = match mark.trim() {
        "" => true,
        "parses only" => false,
        other => return Err(format!("`{other}` is no mark")),
    };
    let text = text.trim();
    let (spelling, operands) = text.split_once(' ').unwrap_or((text, ""));
    let name_end = spelling.find(['.', '{']).unwrap_or(spelling.len());
    let op = Opcode::parse(&spelling[..name_end]).ok_or("unknown opcode")?;
    let slots = slots(&spelling[name_end..], own, shared)?;
    let (operands, outputs) = specs(operands)?;
    Ok(Form { id: FormId::default(), op, slots, operands, outputs, executes, text, section })
}

fn slots(mut text: &'static str, own: &Choices, shared: &Choices) -> Result<Vec<Slot>, String> {
    let mut out = Vec::new();
    while !text.is_empty() {
        let optional = text.starts_with('{');
        let body = text.strip_prefix('{').unwrap_or(text).strip_prefix('.').ok_or("expected a dot")?;
        let end = body.find(['.', '{', '}']).unwrap_or(body.len());
        let name = &body[..end];
        text = &body[end..];
        if optional {
            text = text.strip_prefix('}').ok_or("expected `}`")?;
        }
        let words = match own.get(name).or_else(|| shared.get(name)) {
            Some(words) => words.clone(),
            None => vec![Word::parse(name).ok_or_else(|| format!("`.{name}` is neither a choice nor a word"))?],
        };
        let is_type = words.iter().all(|word| word.as_type().is_some());
        out.push(Slot { name, optional, words, is_type });
    }
    Ok(out)
}

/// Operands, and how many of them are written.
fn specs(text: &str) -> Result<(Vec<Spec>, u8), String> {
    let mut rest = text.trim();
    let mut out = Vec::new();
    let mut outputs = 0;
    let mut leading = true;
    while !rest.is_empty() {
        let optional = rest.starts_with("{,");
        rest = rest.strip_prefix("{,").or_else(|| rest.strip_prefix(',')).unwrap_or(rest).trim_start();
        let (mut spec, written, after) = spec(rest)?;
        rest = after;
        if optional {
            rest = rest.strip_prefix('}').ok_or("expected `}` after an optional operand")?;
        }
        rest = rest.trim_start();
        spec.optional = optional || spec.role == Role::Rest;
        leading &= written;
        outputs += u8::from(leading);
        out.push(spec);
    }
    Ok((out, outputs))
}

/// One operand, whether it is a destination if it leads, and the text after it.
fn spec(text: &str) -> Result<(Spec, bool, &str), String> {
    let (role, inner, rest) = match text.as_bytes().first() {
        Some(b'[') => {
            let (inner, rest) = enclosed(text, ']')?;
            (if inner.contains(',') { Role::Bracketed } else { Role::Address }, inner, rest)
        }
        Some(b'<') => {
            let (inner, rest) = enclosed(text, '>')?;
            (Role::PerVec, inner, rest)
        }
        Some(b'{') if text.starts_with("{!}") => {
            let body = &text[3..];
            let end = body.find([',', '{', '}']).unwrap_or(body.len());
            (Role::MaybeNot, body[..end].trim(), &body[end..])
        }
        Some(b'{') => {
            let (inner, rest) = enclosed(text, '}')?;
            (Role::Vector, inner, rest)
        }
        _ => {
            let end = text.find([',', '{', '}', '|', ' ']).unwrap_or(text.len());
            (Role::Value, &text[..end], &text[end..])
        }
    };
    let (name, ty) = inner.split_once(':').unwrap_or((inner, ""));
    let (name, elements) = match name.split_once('*') {
        Some((name, count)) => (name, Some(count.parse().map_err(|_| "bad number of elements")?)),
        None => (name, None),
    };
    let role = match name.split('.').next() {
        _ if role != Role::Value => role,
        Some("label") => Role::Label,
        Some("list") => Role::List,
        Some("call") => Role::Call,
        Some("") if name == "..." => Role::Rest,
        Some(name) if name.starts_with("imm") => Role::Literal,
        _ if name.strip_suffix(".sel").is_some() => Role::Selected,
        _ => Role::Value,
    };
    let (ty, wider) = ty.strip_suffix('+').map_or((ty, false), |ty| (ty, true));
    let expect = match ty {
        "" if role == Role::Rest => Expect::Any,
        "" if role == Role::MaybeNot || matches!(name, "p" | "q") => Expect::Fixed(Type::Pred),
        "" => Expect::Nth(0),
        "wide" => Expect::Wide,
        "pack" => Expect::Pack,
        "any" => Expect::Any,
        digit if digit.len() == 1 => {
            Expect::Nth(digit.parse::<u8>().map_err(|_| "bad type number")?.checked_sub(1).ok_or("types count from 1")?)
        }
        name => Expect::Fixed(Word::parse(name).and_then(Word::as_type).ok_or_else(|| format!("`{name}` is no type"))?),
    };
    let (pairing, rest) = if let Some(rest) = rest.strip_prefix("{|p}").or_else(|| rest.strip_prefix("{|q}")) {
        (Pairing::Maybe, rest)
    } else if let Some(rest) = rest.strip_prefix("|p").or_else(|| rest.strip_prefix("|q")) {
        (Pairing::Always, rest)
    } else {
        (Pairing::Never, rest)
    };
    let written = !matches!(role, Role::Address | Role::Bracketed) && (matches!(name, "d" | "d.sel") || name == "p");
    Ok((Spec { role, expect, wider, pairing, optional: false, elements }, written, rest))
}

fn enclosed(text: &str, close: char) -> Result<(&str, &str), String> {
    let end = text.find(close).ok_or_else(|| format!("expected `{close}`"))?;
    Ok((&text[1..end], &text[end + close.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_well_formed() {
        let (forms, faults) = super::read(super::TEXT);
        assert_eq!(faults, Vec::<String>::new());
        assert!(forms.len() > 200, "only {} forms", forms.len());
    }
}
