//! Module scope: the directives of a file, its variables and functions.

use super::{Parser, Result};
use crate::ast::{Function, Linkage, StateSpace, Symbol};
use crate::diagnostic::Diagnostic;
use crate::lexer::Kind;
use strata_core::nearest::nearest;

/// Directives that open a statement at module scope.
const OPENERS: &[&str] = &[
    ".version",
    ".target",
    ".address_size",
    ".file",
    ".section",
    ".pragma",
    ".alias",
    ".extern",
    ".visible",
    ".weak",
    ".common",
    ".func",
    ".entry",
    ".global",
    ".const",
    ".shared",
    ".local",
    ".param",
    ".tex",
    ".reg",
    ".loc",
];

impl<'a> Parser<'a> {
    /// Finds every function and alias name before parsing, in order of appearance.
    pub(super) fn scan_functions(&mut self) {
        let mut depth = 0u32;
        let mut aliases = Vec::new();
        while self.kind() != Kind::End {
            match self.kind() {
                Kind::LBrace => depth += 1,
                Kind::RBrace => depth = depth.saturating_sub(1),
                Kind::Directive if depth == 0 => match self.word() {
                    ".func" | ".entry" => {
                        self.bump();
                        self.skip_attributes();
                        self.skip_parentheses();
                        if self.kind() == Kind::Name {
                            let name = self.word();
                            let next = self.functions.len() as u32;
                            if *self.function_ids.entry(name).or_insert(next) == next {
                                self.functions.push(None);
                                self.names.insert(name, Symbol::Function(next));
                            }
                        }
                        continue;
                    }
                    ".alias" if self.ahead(1) == Kind::Name && self.ahead(3) == Kind::Name => {
                        let alias = self.slice(self.tokens[self.at + 1].span);
                        aliases.push((alias, self.slice(self.tokens[self.at + 3].span)));
                    }
                    _ => {}
                },
                _ => {}
            }
            self.bump();
        }
        for (alias, target) in aliases {
            if let Some(&id) = self.function_ids.get(target) {
                self.names.insert(alias, Symbol::Function(id));
            }
        }
        self.at = 0;
    }

    /// `.attribute(…)`, any number of times.
    pub(super) fn skip_attributes(&mut self) {
        while self.eat_directive(".attribute") {
            self.skip_parentheses();
        }
    }

    /// A balanced `( … )` if one stands here.
    pub(super) fn skip_parentheses(&mut self) {
        if self.kind() != Kind::LParen {
            return;
        }
        let mut depth = 0u32;
        loop {
            match self.kind() {
                Kind::LParen => depth += 1,
                Kind::RParen => depth -= 1,
                Kind::End | Kind::LBrace | Kind::RBrace | Kind::Semicolon => return,
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    /// The whole file.
    pub(super) fn module(&mut self) {
        while self.kind() != Kind::End {
            let start = self.at;
            if self.module_statement().is_err() {
                self.skip_module_statement(start);
            }
        }
        self.finish();
    }

    /// Skips a statement that failed: past a `;` or a closing `}` at depth 0, or up to the next opener.
    fn skip_module_statement(&mut self, start: usize) {
        let failed_at = self.at;
        self.at = start;
        let mut braces = 0u32;
        let mut parens = 0u32;
        loop {
            let beyond = self.at > start && self.at >= failed_at;
            match self.kind() {
                Kind::End => return,
                Kind::LBrace => braces += 1,
                Kind::RBrace => {
                    braces = braces.saturating_sub(1);
                    if braces == 0 && beyond {
                        self.bump();
                        self.eat(Kind::Semicolon);
                        return;
                    }
                }
                Kind::LParen => parens += 1,
                Kind::RParen => parens = parens.saturating_sub(1),
                Kind::Semicolon if braces == 0 && beyond => {
                    self.bump();
                    return;
                }
                Kind::Directive if beyond && braces == 0 && parens == 0 && OPENERS.contains(&self.word()) => return,
                _ => {}
            }
            self.bump();
        }
    }

    fn module_statement(&mut self) -> Result<()> {
        let start = self.span();
        if self.eat(Kind::Semicolon) {
            return Ok(());
        }
        if self.kind() != Kind::Directive {
            return Err(self.expected("a directive such as `.entry`, `.func` or `.global`"));
        }
        match self.word() {
            ".version" => self.version(),
            ".target" => self.target(),
            ".address_size" => {
                self.bump();
                let span = self.span();
                self.module.address_size = self.integer("an address size")?;
                if !matches!(self.module.address_size, 32 | 64) {
                    self.error("the address size is 32 or 64", span);
                }
                Ok(())
            }
            ".file" => self.file(),
            ".loc" => self.loc().map(|_| ()),
            ".section" => self.section(),
            ".pragma" => self.pragma(),
            ".alias" => self.alias(),
            _ => {
                let linkage = self.linkage();
                match (self.kind(), self.word()) {
                    (Kind::Directive, ".func" | ".entry") => self.function(linkage, start),
                    (Kind::Directive, word) if state_space(word).is_some() => self.module_variables(linkage),
                    (Kind::Directive, word) => {
                        let help = nearest(word, OPENERS.iter().copied()).map(|name| format!("did you mean `{name}`?"));
                        let message = format!("`{word}` opens no statement at module scope");
                        Err(self.report(Diagnostic::error(message, self.span()).with_help(help)))
                    }
                    _ => Err(self.expected("`.func`, `.entry` or a state space")),
                }
            }
        }
    }

    fn linkage(&mut self) -> Linkage {
        let mut linkage = Linkage::Internal;
        while self.kind() == Kind::Directive {
            linkage = match self.word() {
                ".extern" => Linkage::Extern,
                ".visible" => Linkage::Visible,
                ".weak" => Linkage::Weak,
                ".common" => Linkage::Common,
                _ => break,
            };
            self.bump();
        }
        linkage
    }

    fn version(&mut self) -> Result<()> {
        self.bump();
        let text = self.word();
        let parsed = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match (self.kind(), parsed) {
            (Kind::Float, Some(version)) => {
                self.bump();
                self.module.version = version;
                Ok(())
            }
            _ => Err(self.expected("a version such as `8.0`")),
        }
    }

    fn target(&mut self) -> Result<()> {
        self.bump();
        loop {
            let (name, _) = self.name("a target such as `sm_75`")?;
            self.module.targets.push(name.to_owned());
            if !self.eat(Kind::Comma) {
                return Ok(());
            }
        }
    }

    /// `.file 1 "name"`, with `, time, size` at times.
    fn file(&mut self) -> Result<()> {
        self.bump();
        let number = self.integer("a file number")?;
        let span = self.expect(Kind::Str, "a file name")?;
        self.module.files.push((number, self.slice(span).trim_matches('"').to_owned()));
        while self.eat(Kind::Comma) {
            self.constant("a time or a size")?;
        }
        Ok(())
    }

    /// Debug sections hold DWARF as bytes; nothing here reads it.
    fn section(&mut self) -> Result<()> {
        self.bump();
        while matches!(self.kind(), Kind::Directive | Kind::Name) {
            self.bump();
        }
        self.expect(Kind::LBrace, "`{`")?;
        while !matches!(self.kind(), Kind::RBrace | Kind::End) {
            self.bump();
        }
        self.expect(Kind::RBrace, "`}`").map(|_| ())
    }

    pub(super) fn pragma(&mut self) -> Result<()> {
        self.bump();
        loop {
            self.expect(Kind::Str, "a string")?;
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::Semicolon, "`;`").map(|_| ())
    }

    fn alias(&mut self) -> Result<()> {
        self.bump();
        let (alias, _) = self.name("the alias")?;
        self.expect(Kind::Comma, "`,`")?;
        let (target, span) = self.name("the function it stands for")?;
        let Some(&id) = self.function_ids.get(target) else {
            return Err(self.undeclared(target, span, None));
        };
        self.module.aliases.push((alias.to_owned(), id));
        self.expect(Kind::Semicolon, "`;`").map(|_| ())
    }

    fn module_variables(&mut self, linkage: Linkage) -> Result<()> {
        for variable in self.variables(linkage, None)? {
            let (variable, name) = variable;
            let id = self.module.variables.len() as u32;
            match self.names.get(name) {
                None => {
                    self.names.insert(name, Symbol::Global(id));
                    self.module.variables.push(variable);
                }
                // A declaration and its definition are one variable, whichever comes first.
                Some(&Symbol::Global(_)) if variable.linkage == Linkage::Extern => {}
                Some(&Symbol::Global(old)) if self.module.variables[old as usize].linkage == Linkage::Extern => {
                    self.module.variables[old as usize] = variable;
                }
                Some(&symbol) => {
                    let first = match symbol {
                        Symbol::Global(old) => Some(self.module.variables[old as usize].span),
                        _ => None,
                    };
                    self.duplicate(name, variable.span, first);
                }
            }
        }
        Ok(())
    }

    /// Reports a second definition.
    pub(super) fn duplicate(&mut self, name: &str, span: crate::ast::Span, first: Option<crate::ast::Span>) {
        let mut diagnostic = Diagnostic::error(format!("`{name}` is defined more than once"), span)
            .with_help("rename one of them or remove it".to_owned());
        if let Some(first) = first {
            diagnostic = diagnostic.with_label(first, "first defined here");
        }
        self.report(diagnostic);
    }

    /// Moves the functions into the module. One that is missing was named in a statement that failed.
    fn finish(&mut self) {
        self.module.functions = self.functions.drain(..).map(Option::unwrap_or_default).collect();
        if self.module.version == (0, 0) {
            let span = self.tokens[0].span;
            self.report(
                Diagnostic::error("the file has no `.version`", span)
                    .with_help("a PTX module starts with `.version`, `.target` and `.address_size`".to_owned()),
            );
        }
    }

    /// Stores a function under the number its name has.
    pub(super) fn store(&mut self, function: Function, name: &'a str, name_span: crate::ast::Span) {
        let Some(&id) = self.function_ids.get(name) else { return };
        let slot = &mut self.functions[id as usize];
        match slot {
            Some(old) if !old.is_declaration && !function.is_declaration => {
                let first = old.span;
                self.duplicate(name, name_span, Some(first));
            }
            Some(old) if !old.is_declaration => {}
            _ => *slot = Some(function),
        }
    }
}

/// The state space a directive names.
pub(super) fn state_space(directive: &str) -> Option<StateSpace> {
    Some(match directive {
        ".global" => StateSpace::Global,
        ".const" => StateSpace::Const,
        ".shared" | ".shared::cta" => StateSpace::Shared,
        ".local" => StateSpace::Local,
        ".param" => StateSpace::Param,
        ".tex" => StateSpace::Tex,
        _ => return None,
    })
}
