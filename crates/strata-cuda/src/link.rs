//! Links PTX modules: what `nvlink` does for programs of several translation units, on the level of text.
//!
//! Each unit declares what it uses of others (`.extern`) and defines what others may use (`.visible`, `.weak`). One module of
//! all is their texts one after the other, under one header, without declarations of what is defined somewhere, and with the
//! first of several weak definitions. What a unit keeps to itself gets another name if the name is taken (the texts of `printf`
//! are called `$str` in every unit). Comments and line information stay as they are.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A statement at the outermost level of a module.
struct Statement<'a> {
    text: &'a str,
    /// The name it declares or defines; `None` for directives.
    name: Option<&'a str>,
    is_external: bool,
    is_weak: bool,
    is_visible: bool,
}

impl<'a> Statement<'a> {
    /// What only its own unit knows.
    fn private(&self) -> Option<&'a str> {
        self.name.filter(|_| !(self.is_external || self.is_weak || self.is_visible))
    }
}

/// Links the PTX of separately compiled units into one module.
pub(crate) fn link<'a>(units: impl Iterator<Item = &'a str>) -> String {
    let units: Vec<Vec<Statement<'_>>> = units.map(statements).collect();
    let defined: BTreeSet<&str> = units.iter().flatten().filter(|s| !s.is_external).filter_map(|s| s.name).collect();
    let mut out = String::new();
    let mut header = BTreeSet::new();
    let mut weak = BTreeSet::new();
    let shared = units.iter().flatten().filter(|s| !s.is_external && s.private().is_none());
    let mut taken: BTreeSet<&str> = shared.filter_map(|s| s.name).collect();
    for (number, unit) in units.iter().enumerate() {
        let private: BTreeSet<&str> = unit.iter().filter_map(Statement::private).collect();
        let renamed: BTreeSet<&str> = private.intersection(&taken).copied().collect();
        taken.extend(private);
        put(unit, &defined, &renamed, number, &mut header, &mut weak, &mut out);
    }
    out
}

/// Appends what is kept of a unit.
fn put<'a>(
    unit: &[Statement<'a>],
    defined: &BTreeSet<&str>,
    renamed: &BTreeSet<&str>,
    number: usize,
    header: &mut BTreeSet<&'static str>,
    weak: &mut BTreeSet<&'a str>,
    out: &mut String,
) {
    for statement in unit {
        let keep = match statement.name {
            Some(name) if statement.is_external => !defined.contains(name) && weak.insert(name),
            Some(name) if statement.is_weak => weak.insert(name),
            Some(_) => true,
            None => {
                HEADER.iter().find(|word| code(statement.text).starts_with(**word)).is_none_or(|w| header.insert(*w))
            }
        };
        if keep {
            out.push_str(&rename(statement.text, renamed, number));
        }
    }
}

/// The text with the names in `names` ending in the number of the unit.
fn rename<'a>(text: &'a str, names: &BTreeSet<&str>, unit: usize) -> Cow<'a, str> {
    if names.is_empty() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_name) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let word = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        out.push_str(word);
        if names.contains(word) {
            // Writing to a string cannot fail.
            let _ = write!(out, "$unit{unit}");
        }
        rest = &rest[word.len()..];
    }
    out.push_str(rest);
    out.into()
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Directives of which a module has one.
const HEADER: [&str; 3] = [".version", ".target", ".address_size"];

/// Splits a module into statements: up to a `;` or `}` outside all braces, or to the end of the line of a directive.
fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut list = Vec::new();
    let bytes = text.as_bytes();
    let (mut start, mut at, mut depth) = (0, 0, 0usize);
    while at < bytes.len() {
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            continue;
        }
        let mut end = None;
        match bytes[at] {
            b'"' => at += 1 + rest[1..].find('"').unwrap_or(rest.len() - 1),
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                // The braces of an initial value are followed by a semicolon.
                let then = rest[1..].trim_start();
                end = (depth == 0 && !then.starts_with(';')).then_some(at + 1);
            }
            b';' if depth == 0 => end = Some(at + 1),
            b'\n' if depth == 0 && is_directive(&text[start..at]) => end = Some(at + 1),
            _ => {}
        }
        at += 1;
        // A character of several bytes is never one of those above.
        while at < text.len() && !text.is_char_boundary(at) {
            at += 1;
        }
        if let Some(end) = end {
            list.push(statement(&text[start..end]));
            start = end;
        }
    }
    if start < text.len() {
        list.push(statement(&text[start..]));
    }
    list
}

/// The statement's own words, without comments before it.
fn code(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]).trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]).trim_start();
        } else {
            return rest;
        }
    }
}

/// Directives that end with their line.
fn is_directive(text: &str) -> bool {
    let word = code(text).split_whitespace().next().unwrap_or_default();
    HEADER.contains(&word) || matches!(word, ".file" | ".loc")
}

fn statement(text: &str) -> Statement<'_> {
    let code = code(text);
    let head = code.find(['{', ';', '=']).map_or(code, |end| &code[..end]);
    let directive = is_directive(text) || code.starts_with(".section");
    let words = head.split_whitespace();
    let has = |wanted: &[&str]| words.clone().any(|word| wanted.contains(&word));
    let (is_external, is_weak, is_visible) = (has(&[".extern"]), has(&[".weak"]), has(&[".visible", ".common"]));
    Statement { text, name: if directive { None } else { name(head) }, is_external, is_weak, is_visible }
}

/// The name that a declaration is about: behind the returned parameters of a function, or the last word of a variable.
fn name(head: &str) -> Option<&str> {
    let function = [".func", ".entry"].iter().find_map(|word| head.find(word).map(|at| &head[at + word.len()..]));
    let place = match function {
        Some(rest) => {
            let rest = rest.trim_start();
            let rest = if rest.starts_with('(') { &rest[rest.find(')')? + 1..] } else { rest };
            rest.trim_start()
        }
        None => head.split('[').next()?.trim_end().rsplit(|c: char| !is_name(c)).next()?,
    };
    let end = place.find(|c| !is_name(c)).unwrap_or(place.len());
    Some(&place[..end]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: &str = "// one\n.version 8.0\n.target sm_75\n.address_size 64\n\
        .extern .func (.param .b32 r) twice\n(\n .param .b32 a\n)\n;\n\
        .extern .global .align 4 .u32 count;\n.extern .shared .align 16 .b8 dynamic[];\n\
        .weak .func shared_code() { ret; }\n\
        .visible .entry k(.param .u64 p) { /* } */ ret; }\n";
    const CALLEE: &str = "// two\n.version 8.0\n.target sm_75\n.address_size 64\n\
        .visible .global .align 4 .u32 count = 7;\n.global .align 1 .b8 text[3] = {104, 105, 0};\n\
        .weak .func shared_code() { ret; }\n.extern .shared .align 16 .b8 dynamic[];\n\
        .visible .func (.param .b32 r) twice(.param .b32 a) { ret; }\n";

    #[test]
    fn declarations_meet_their_definitions() {
        let text = link([CALLER, CALLEE].into_iter());
        let count = |what: &str| text.matches(what).count();
        assert_eq!((count(".version"), count(".target"), count(".address_size")), (1, 1, 1), "{text}");
        assert_eq!(
            (count("twice"), count("u32 count"), count("shared_code"), count("dynamic[]")),
            (1, 1, 1, 1),
            "{text}"
        );
        assert!(text.contains("{104, 105, 0};") && text.contains("/* } */ ret; }"), "{text}");
        let parsed = strata_ptx::parse("linked.ptx", &text);
        assert!(parsed.module.is_some(), "{}", parsed.render(&text, false));
    }

    #[test]
    fn what_units_keep_to_themselves_does_not_meet() {
        let unit = |text: &str, kernel: &str| {
            format!(
                ".version 8.0\n.target sm_75\n.address_size 64\n.global .align 1 .b8 $str[2] = {{{text}, 0}};\n\
                 .visible .entry {kernel}() {{\n .reg .b64 %rd;\n mov.u64 %rd, $str;\n ret;\n}}\n"
            )
        };
        let (first, second) = (unit("104", "a"), unit("105", "b"));
        let text = link([first.as_str(), second.as_str()].into_iter());
        assert!(text.contains("$str$unit1[2] = {105, 0}") && text.contains("mov.u64 %rd, $str$unit1;"), "{text}");
        assert!(text.contains("$str[2] = {104, 0}") && text.contains("mov.u64 %rd, $str;"), "{text}");
        let parsed = strata_ptx::parse("linked.ptx", &text);
        assert!(parsed.module.is_some(), "{}", parsed.render(&text, false));
    }

    #[test]
    fn one_unit_stays_as_it_is() {
        assert_eq!(link([CALLEE].into_iter()), CALLEE);
        for odd in ["", "{", "}}", "\"", "/*", ".extern", ".func (", "é;{é"] {
            assert_eq!(link([odd].into_iter()), odd, "{odd}");
        }
    }
}
