//! The names of a function body: registers, variables, labels and lists, by nested block.

use crate::ast::{Function, Label, LabelId, RegId, Register, Span, Symbol, Type};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a name in a body stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entity {
    Register(RegId),
    /// The elements of a vector register are registers in a row.
    VectorRegister {
        first: RegId,
        len: u32,
    },
    Symbol(Symbol),
    /// Index into the lists of the function.
    List(u32),
}

/// `%r<100>`: registers that come into being when they are named.
#[derive(Clone, Copy)]
pub(super) struct Family {
    pub(super) ty: Type,
    pub(super) count: u32,
    pub(super) span: Span,
}

#[derive(Default)]
struct Scope<'a> {
    names: FxHashMap<&'a str, (Entity, Span)>,
    families: FxHashMap<&'a str, Family>,
    /// Some family's prefix ends in a digit, as in `%v4<10>`.
    digit_prefixes: bool,
    /// Labels named so far, defined or not.
    labels: FxHashMap<&'a str, u32>,
}

impl Scope<'_> {
    /// The family of a name whose prefix itself ends in digits (`stem` is the name without any): `%v4<10>` has `%v45`.
    fn family_with_digits(&self, name: &str, stem: usize) -> Option<Family> {
        // No count has more digits than this.
        let shortest = name.len().saturating_sub(10).max(stem + 1);
        (shortest..name.len()).find_map(|at| {
            let (prefix, digits) = name.split_at(at);
            let number: u32 = digits.parse().ok().filter(|_| digits.len() == 1 || !digits.starts_with('0'))?;
            self.families.get(prefix).copied().filter(|family| number < family.count)
        })
    }
}

/// A label that was named; it is defined once its place is known.
struct PendingLabel<'a> {
    name: &'a str,
    /// Where it was named first, or where it stands once defined.
    span: Span,
    at: Option<u32>,
    /// The label of an outer block that it turned out to be.
    same_as: Option<u32>,
}

/// A function while it is parsed.
pub(super) struct Body<'a> {
    pub(super) function: Function,
    scopes: Vec<Scope<'a>>,
    labels: Vec<PendingLabel<'a>>,
    /// Undeclared names that were reported: once is enough.
    undeclared: FxHashSet<&'a str>,
}

impl<'a> Body<'a> {
    pub(super) fn new(function: Function) -> Self {
        Self { function, scopes: vec![Scope::default()], labels: Vec::new(), undeclared: FxHashSet::default() }
    }

    /// How many blocks are open.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    pub(super) fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes a block. A label named in it but not defined there is one of the block around it.
    pub(super) fn close(&mut self) {
        if self.scopes.len() < 2 {
            return;
        }
        let Some(scope) = self.scopes.pop() else { return };
        let Some(outer) = self.scopes.last_mut() else { return };
        for (name, id) in scope.labels {
            if self.labels[id as usize].at.is_none() {
                let target = *outer.labels.entry(name).or_insert(id);
                if target != id {
                    self.labels[id as usize].same_as = Some(target);
                }
            }
        }
    }

    /// Declares a name in the innermost block; gives the earlier declaration if there is one there.
    pub(super) fn declare(&mut self, name: &'a str, entity: Entity, span: Span) -> Option<Span> {
        // `_` stands for no name at all.
        if name == "_" {
            return None;
        }
        let scope = self.scopes.last_mut()?;
        scope.names.insert(name, (entity, span)).map(|(_, first)| first)
    }

    pub(super) fn declare_family(&mut self, prefix: &'a str, family: Family) -> Option<Span> {
        let scope = self.scopes.last_mut()?;
        scope.digit_prefixes |= prefix.ends_with(|c: char| c.is_ascii_digit());
        scope.families.insert(prefix, family).map(|first| first.span)
    }

    pub(super) fn new_register(&mut self, name: &str, ty: Type) -> RegId {
        let id = RegId(self.function.registers.len() as u32);
        self.function.registers.push(Register { name: name.to_owned(), ty });
        id
    }

    /// What a name stands for, innermost block first; brings a register of a family into being.
    pub(super) fn find(&mut self, name: &'a str) -> Option<Entity> {
        let mut split = None;
        for at in (0..self.scopes.len()).rev() {
            let scope = &self.scopes[at];
            if let Some(&(entity, _)) = scope.names.get(name) {
                return Some(entity);
            }
            if scope.families.is_empty() {
                continue;
            }
            let (prefix, number) = *split.get_or_insert_with(|| numbered(name));
            let Some(number) = number else { continue };
            let family = match scope.families.get(prefix) {
                Some(&family) if number < family.count => Some(family),
                _ if scope.digit_prefixes => scope.family_with_digits(name, prefix.len()),
                _ => None,
            };
            if let Some(family) = family {
                let id = self.new_register(name, family.ty);
                self.scopes[at].names.insert(name, (Entity::Register(id), family.span));
                return Some(Entity::Register(id));
            }
        }
        None
    }

    /// The variable or parameter of that name.
    pub(super) fn symbol(&self, name: &str) -> Option<Symbol> {
        self.scopes.iter().rev().find_map(|scope| match scope.names.get(name) {
            Some((Entity::Symbol(symbol), _)) => Some(*symbol),
            _ => None,
        })
    }

    /// True the first time a name turns out to be undeclared.
    pub(super) fn first_undeclared(&mut self, name: &'a str) -> bool {
        self.undeclared.insert(name)
    }

    /// The family a name would belong to if it counted further.
    pub(super) fn family_of(&self, name: &'a str) -> Option<(&'a str, Family)> {
        let (prefix, number) = numbered(name);
        number?;
        self.scopes.iter().rev().find_map(|scope| scope.families.get(prefix)).map(|family| (prefix, *family))
    }

    /// Every name in sight, for suggestions.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.scopes.iter().flat_map(|scope| scope.names.keys().copied())
    }

    /// The label of that name as seen from the innermost block.
    pub(super) fn label(&mut self, name: &'a str, span: Span) -> LabelId {
        let next = self.labels.len() as u32;
        let Some(scope) = self.scopes.last_mut() else { return LabelId(0) };
        let id = *scope.labels.entry(name).or_insert(next);
        if id == next {
            self.labels.push(PendingLabel { name, span, at: None, same_as: None });
        }
        LabelId(id)
    }

    /// Places a label before the next instruction; gives its earlier place if it has one in this block.
    pub(super) fn define_label(&mut self, name: &'a str, span: Span) -> Option<Span> {
        let id = self.label(name, span);
        let at = self.function.instructions.len() as u32;
        let label = &mut self.labels[id.0 as usize];
        if label.at.is_some() {
            return Some(label.span);
        }
        label.at = Some(at);
        label.span = span;
        None
    }

    /// Ends the body: the labels by position, and for each id given out its place among them. Labels that were never
    /// defined come second.
    pub(super) fn finish_labels(&mut self) -> (Vec<LabelId>, Vec<(&'a str, Span)>) {
        let mut order: Vec<u32> =
            (0..self.labels.len() as u32).filter(|&id| self.labels[id as usize].at.is_some()).collect();
        order.sort_by_key(|&id| self.labels[id as usize].at);
        let mut places = vec![LabelId(0); self.labels.len()];
        for (place, &id) in order.iter().enumerate() {
            let label = &self.labels[id as usize];
            places[id as usize] = LabelId(place as u32);
            self.function.labels.push(Label {
                name: label.name.to_owned(),
                at: label.at.unwrap_or_default(),
                span: label.span,
            });
        }
        let mut missing = Vec::new();
        // A label is the same as one of an outer block, never the other way round, so following them ends.
        for id in 0..self.labels.len() {
            let mut target = id;
            while let Some(outer) = self.labels[target].same_as {
                target = outer as usize;
            }
            if self.labels[target].at.is_none() {
                missing.push((self.labels[id].name, self.labels[id].span));
            }
            places[id] = places[target];
            self.labels[id].same_as = (target != id).then_some(target as u32);
        }
        (places, missing)
    }

    /// Names of the labels that are defined, for suggestions.
    pub(super) fn defined_labels(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.labels.iter().filter(|label| label.at.is_some()).map(|label| label.name)
    }
}

/// `%r12` as `%r` and 12; no number if it has no digits, one past every family if they are not a plain number.
fn numbered(name: &str) -> (&str, Option<u32>) {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[prefix.len()..];
    let number = match digits.len() {
        0 => None,
        1 => digits.parse().ok(),
        _ if digits.starts_with('0') => Some(u32::MAX),
        _ => Some(digits.parse().unwrap_or(u32::MAX)),
    };
    (prefix, number)
}
