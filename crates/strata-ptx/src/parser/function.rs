//! Functions: headers, bodies and the statements in them.

use super::module::state_space;
use super::scope::{Body, Entity, Family};
use super::{DEEPEST, Parser, Result};
use crate::analysis::liveness::too_large;
use crate::ast::{Function, Linkage, List, Operand, RegId, SourceLine, Span, StateSpace, Symbol, Type, Variable};
use crate::diagnostic::Diagnostic;
use crate::lexer::Kind;
use strata_core::nearest::nearest;

/// Parameters or returns, each with the register it is if it is one.
#[derive(Default)]
struct Slots<'a> {
    variables: Vec<Variable>,
    names: Vec<(&'a str, Span)>,
    in_registers: Vec<bool>,
}

impl<'a> Parser<'a> {
    /// A `.func` or `.entry`, declared or defined.
    pub(super) fn function(&mut self, linkage: Linkage, start: Span) -> Result<()> {
        let is_entry = self.word() == ".entry";
        self.bump();
        let mut body = Body::new(Function { is_entry, linkage, ..Function::default() });
        let named = self.header(&mut body);
        if named.is_err() {
            self.skip_to_body();
        }
        body.function.span = self.since(start);
        if self.kind() == Kind::LBrace {
            self.body(&mut body)?;
        } else {
            body.function.is_declaration = true;
            if named.is_ok() {
                self.expect(Kind::Semicolon, "`{` or `;`")?;
            } else {
                self.eat(Kind::Semicolon);
            }
        }
        if let Ok((name, span)) = named {
            self.store(body.function, name, span);
        }
        Ok(())
    }

    /// Everything before the body.
    fn header(&mut self, body: &mut Body<'a>) -> Result<(&'a str, Span)> {
        self.skip_attributes();
        if self.kind() == Kind::LParen {
            let slots = self.slots()?;
            body.function.return_registers = self.bind(body, &slots, Symbol::Return);
            body.function.returns = slots.variables;
        }
        let (name, span) = self.name("the name of the function")?;
        name.clone_into(&mut body.function.name);
        if self.kind() == Kind::LParen {
            let slots = self.slots()?;
            body.function.param_registers = self.bind(body, &slots, Symbol::Param);
            body.function.params = slots.variables;
        }
        while self.kind() == Kind::Directive {
            self.tuning(&mut body.function)?;
        }
        Ok((name, span))
    }

    /// Declares parameters or returns in the outermost block of the body.
    fn bind(&mut self, body: &mut Body<'a>, slots: &Slots<'a>, symbol: fn(u32) -> Symbol) -> Vec<Option<RegId>> {
        let mut registers = Vec::with_capacity(slots.names.len());
        for (at, &(name, span)) in slots.names.iter().enumerate() {
            let register = slots.in_registers[at].then(|| body.new_register(name, slots.variables[at].ty));
            let entity = register.map_or(Entity::Symbol(symbol(at as u32)), Entity::Register);
            if let Some(first) = body.declare(name, entity, span) {
                self.duplicate(name, span, Some(first));
            }
            registers.push(register);
        }
        registers
    }

    /// `( .param .b32 a, .reg .b64 %b, … )`.
    fn slots(&mut self) -> Result<Slots<'a>> {
        self.expect(Kind::LParen, "`(`")?;
        let mut slots = Slots::default();
        while self.kind() != Kind::RParen {
            let in_register = self.eat_directive(".reg");
            if !in_register && !self.eat_directive(".param") {
                return Err(self.expected("`.param` or `.reg`"));
            }
            let shape = self.shape()?;
            let (name, span) = if self.kind() == Kind::Name { self.name("a name")? } else { ("_", self.span()) };
            slots.variables.push(self.declarator(StateSpace::Param, &shape, name, span)?);
            slots.names.push((name, span));
            slots.in_registers.push(in_register);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RParen, "`,` or `)`")?;
        Ok(slots)
    }

    /// One directive between the parameters and the body.
    fn tuning(&mut self, function: &mut Function) -> Result<()> {
        let name = self.word();
        let span = self.span();
        let known = [
            ".maxntid",
            ".reqntid",
            ".minnctapersm",
            ".maxnctapersm",
            ".maxnreg",
            ".noreturn",
            ".explicitcluster",
            ".reqnctapercluster",
            ".maxclusterrank",
            ".blocksareclusters",
            ".abi_preserve",
            ".abi_preserve_control",
            ".pragma",
            ".unique_identifier",
            ".retain_signature",
        ];
        if !known.contains(&name) {
            let help = nearest(name, known).map(|known| format!("did you mean `{known}`?"));
            return Err(
                self.report(Diagnostic::error(format!("`{name}` cannot stand before a body"), span).with_help(help))
            );
        }
        self.bump();
        let tuning = &mut function.tuning;
        match name {
            ".maxntid" | ".reqntid" => {
                tuning.exact_threads = name == ".reqntid";
                let [x, y, z] = self.triple()?;
                function.tuning.max_threads = Some([x, y, z]);
            }
            ".minnctapersm" => function.tuning.min_ctas = Some(self.integer("a number of CTAs")?),
            ".maxnreg" => function.tuning.max_registers = Some(self.integer("a number of registers")?),
            ".reqnctapercluster" => {
                self.triple()?;
            }
            ".maxnctapersm" | ".maxclusterrank" | ".abi_preserve" | ".abi_preserve_control" => {
                self.integer("a number")?;
            }
            ".pragma" => {
                self.expect(Kind::Str, "a string")?;
                self.eat(Kind::Semicolon);
            }
            _ => {}
        }
        Ok(())
    }

    /// One to three numbers; what is missing is 1.
    fn triple(&mut self) -> Result<[u32; 3]> {
        let mut out = [1; 3];
        for (at, extent) in out.iter_mut().enumerate() {
            if at > 0 && !self.eat(Kind::Comma) {
                break;
            }
            *extent = self.integer("an extent")?;
        }
        Ok(out)
    }

    /// After a header that failed: up to its body or its `;`.
    fn skip_to_body(&mut self) {
        while !matches!(self.kind(), Kind::LBrace | Kind::Semicolon | Kind::End) {
            self.bump();
        }
    }

    /// `{ … }` and everything in it.
    fn body(&mut self, body: &mut Body<'a>) -> Result<()> {
        let open = self.expect(Kind::LBrace, "`{`")?;
        let mut loc = None;
        loop {
            match self.kind() {
                Kind::RBrace => {
                    self.bump();
                    if body.depth() == 1 {
                        break;
                    }
                    body.close();
                }
                Kind::LBrace => {
                    if body.depth() > DEEPEST {
                        let span = self.span();
                        self.skip_block();
                        self.error("blocks nest too deep", span);
                        continue;
                    }
                    self.bump();
                    body.open();
                }
                Kind::End => {
                    let end = self.span();
                    let unclosed = Diagnostic::error("the body of this function is never closed", end);
                    return Err(self.report(unclosed.with_label(open, "opened here")));
                }
                _ => {
                    let start = self.at;
                    if self.statement(body, &mut loc).is_err() {
                        self.skip_statement(start);
                    }
                }
            }
        }
        body.function.span = self.since(body.function.span);
        self.finish_labels(body);
        if let Some((blocks, registers)) = too_large(&body.function) {
            let message = format!(
                "function `{}` is too large: {registers} registers live across {blocks} blocks",
                body.function.name
            );
            let help = "split it: every analysis of what is live would need gigabytes".to_owned();
            self.report(Diagnostic::error(message, open).with_help(help));
        }
        Ok(())
    }

    /// A balanced `{ … }`.
    fn skip_block(&mut self) {
        let mut depth = 0u32;
        loop {
            match self.kind() {
                Kind::LBrace => depth += 1,
                Kind::RBrace => depth -= 1,
                Kind::End => return,
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    /// Resolves labels to their places and reports those that have none.
    fn finish_labels(&mut self, body: &mut Body<'a>) {
        let (places, missing) = body.finish_labels();
        for (name, span) in missing {
            let help = self.may_suggest().then(|| nearest(name, body.defined_labels())).flatten();
            let help = help.map(|label| format!("did you mean `{label}`?"));
            self.report(Diagnostic::error(format!("branch to `{name}`, which is no label here"), span).with_help(help));
        }
        for instruction in &mut body.function.instructions {
            for operand in &mut instruction.operands {
                if let Operand::Label(label) = operand {
                    *label = places[label.0 as usize];
                }
            }
        }
        for list in &mut body.function.lists {
            if let List::Branches(labels) = list {
                for label in labels {
                    *label = places[label.0 as usize];
                }
            }
        }
    }

    fn statement(&mut self, body: &mut Body<'a>, loc: &mut Option<SourceLine>) -> Result<()> {
        match self.kind() {
            Kind::Semicolon => {
                self.bump();
                Ok(())
            }
            Kind::Name if self.ahead(1) == Kind::Colon => self.label(body),
            Kind::Name | Kind::At => self.instruction(body, *loc),
            Kind::Directive => match self.word() {
                ".reg" => self.registers(body),
                ".loc" => {
                    *loc = Some(self.loc()?);
                    Ok(())
                }
                ".pragma" => {
                    if self.text_ahead(1) == "\"nounroll\"" {
                        body.function.rolled.push(body.function.instructions.len() as u32);
                    }
                    self.pragma()
                }
                word if state_space(word).is_some() => self.local_variables(body, Linkage::Internal),
                ".extern" => {
                    self.bump();
                    self.local_variables(body, Linkage::Extern)
                }
                word => {
                    let known = [".reg", ".loc", ".pragma", ".local", ".shared", ".param", ".global", ".const"];
                    let help = nearest(word, known).map(|name| format!("did you mean `{name}`?"));
                    let message = format!("`{word}` opens no statement in a function");
                    Err(self.report(Diagnostic::error(message, self.span()).with_help(help)))
                }
            },
            _ => Err(self.expected("an instruction")),
        }
    }

    /// `name:`, or a list that carries a label's name.
    fn label(&mut self, body: &mut Body<'a>) -> Result<()> {
        let (name, span) = self.name("a label")?;
        self.expect(Kind::Colon, "`:`")?;
        let list = match (self.kind(), self.word()) {
            (Kind::Directive, ".branchtargets") => {
                self.bump();
                List::Branches(self.separated(|parser| {
                    let (name, span) = parser.name("a label")?;
                    Ok(body.label(name, span))
                })?)
            }
            (Kind::Directive, ".calltargets") => {
                self.bump();
                List::Calls(self.separated(|parser| {
                    let (name, span) = parser.name("a function")?;
                    match parser.names.get(name) {
                        Some(&Symbol::Function(id)) => Ok(id),
                        _ => Err(parser.undeclared(name, span, None)),
                    }
                })?)
            }
            (Kind::Directive, ".callprototype") => {
                self.bump();
                self.prototype()?
            }
            _ => {
                if let Some(first) = body.define_label(name, span) {
                    self.duplicate(name, span, Some(first));
                }
                return Ok(());
            }
        };
        self.expect(Kind::Semicolon, "`;`")?;
        let id = body.function.lists.len() as u32;
        body.function.lists.push(list);
        if let Some(first) = body.declare(name, Entity::List(id), span) {
            self.duplicate(name, span, Some(first));
        }
        Ok(())
    }

    /// `(.param .b32 _) _ (.param .b64 _, …)` with what may follow.
    fn prototype(&mut self) -> Result<List> {
        let returns = if self.kind() == Kind::LParen { self.slots()?.variables } else { Vec::new() };
        self.name("`_`")?;
        let params = if self.kind() == Kind::LParen { self.slots()?.variables } else { Vec::new() };
        while self.kind() == Kind::Directive {
            self.tuning(&mut Function::default())?;
        }
        Ok(List::Prototype { returns, params })
    }

    /// Items between commas.
    fn separated<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut out = vec![item(self)?];
        while self.eat(Kind::Comma) {
            out.push(item(self)?);
        }
        Ok(out)
    }

    /// `.loc file line column`, with `, function_name label+offset, inlined_at file line column` at times.
    pub(super) fn loc(&mut self) -> Result<SourceLine> {
        self.bump();
        let file = self.integer("a file number")?;
        let line = self.integer("a line number")?;
        self.integer("a column")?;
        while self.eat(Kind::Comma) {
            let (word, _) = self.name("`function_name` or `inlined_at`")?;
            if word == "function_name" {
                self.name("a label")?;
                self.offset()?;
            } else {
                for _ in 0..3 {
                    self.integer("a file, a line and a column")?;
                }
            }
        }
        Ok(SourceLine { file, line })
    }

    /// `.reg .b32 %r<100>, %a;`.
    fn registers(&mut self, body: &mut Body<'a>) -> Result<()> {
        self.bump();
        let shape = self.shape()?;
        loop {
            let (name, span) = self.name("a register")?;
            let first = if self.eat(Kind::Less) {
                let count = self.register_count()?;
                self.expect(Kind::Greater, "`>`")?;
                body.declare_family(name, Family { ty: shape.ty, count, span })
            } else {
                let entity = declare_register(body, name, shape.ty, shape.vector);
                body.declare(name, entity, span)
            };
            if let Some(first) = first {
                self.duplicate(name, span, Some(first));
            }
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::Semicolon, "`;`").map(|_| ())
    }

    fn local_variables(&mut self, body: &mut Body<'a>, linkage: Linkage) -> Result<()> {
        for (variable, name) in self.variables(linkage, Some(body))? {
            let id = body.function.variables.len() as u32;
            let span = variable.span;
            body.function.variables.push(variable);
            if let Some(first) = body.declare(name, Entity::Symbol(Symbol::Local(id)), span) {
                self.duplicate(name, span, Some(first));
            }
        }
        Ok(())
    }
}

/// A register, or one for each element of a vector register.
fn declare_register(body: &mut Body<'_>, name: &str, ty: Type, vector: u32) -> Entity {
    if vector == 1 {
        return Entity::Register(body.new_register(name, ty));
    }
    let first = RegId(body.function.registers.len() as u32);
    for element in 0..vector {
        body.new_register(&format!("{name}.{}", element_name(element)), ty);
    }
    Entity::VectorRegister { first, len: vector }
}

/// `x`, `y`, `z`, `w`, then numbers.
fn element_name(element: u32) -> String {
    ["x", "y", "z", "w"].get(element as usize).map_or_else(|| element.to_string(), |name| (*name).to_owned())
}
