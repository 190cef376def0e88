//! One value at a time: what it should be, or an error.

use super::size::parse_size;
use super::{Diagnostic, MOST_ERRORS};
use crate::Bytes;
use crate::nearest::suggestion;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Collects errors while values are read.
#[derive(Default)]
pub struct Reader {
    /// What was wrong so far.
    pub errors: Vec<Diagnostic>,
}

/// A table whose unknown keys have been reported.
pub struct Fields<'a> {
    table: &'a DeTable<'a>,
    known: Vec<String>,
    /// Some key is not known: what seems to be missing may only be misspelt.
    has_unknown: bool,
    /// Where to point when something is missing.
    pub span: Range<usize>,
}

impl<'a> Fields<'a> {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }
}

impl Reader {
    /// Adds an error.
    pub fn error(&mut self, span: Range<usize>, message: impl Into<String>, help: Option<String>) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(Diagnostic { span, message: message.into(), help });
        }
    }

    /// An unknown name, with the nearest known one.
    pub fn unknown<'a>(
        &mut self,
        span: Range<usize>,
        message: String,
        name: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) {
        if self.errors.len() < MOST_ERRORS {
            self.error(span, message, Some(suggestion(name, known)));
        }
    }

    /// A value's kind, for messages.
    pub fn kind(value: &DeValue<'_>) -> &'static str {
        match value {
            DeValue::String(_) => "text",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }
    }

    /// A value of the wrong kind.
    pub fn mismatch(&mut self, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let message = format!("expected {wanted}, found {}", Self::kind(value.get_ref()));
        self.error(value.span(), message, None);
    }

    /// Opens a table; keys that are not `known` are errors.
    pub fn fields<'a>(&mut self, table: &'a DeTable<'a>, span: Range<usize>, what: &str, known: &[&str]) -> Fields<'a> {
        let mut has_unknown = false;
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                has_unknown = true;
                self.unknown(key.span(), format!("{what} has no key `{name}`"), name, known.iter().copied());
            }
        }
        Fields { table, known: known.iter().map(|&k| k.to_owned()).collect(), has_unknown, span }
    }

    /// The one known key that is there; none or several are an error.
    pub fn only_one<'a, 'f>(
        &mut self,
        fields: &'f Fields<'a>,
        message: &str,
        help: &str,
    ) -> Option<(&'f str, &'a Spanned<DeValue<'a>>)> {
        let mut present = fields.known.iter().filter_map(|key| fields.get(key).map(|value| (key.as_str(), value)));
        match (present.next(), present.next()) {
            (Some(one), None) => Some(one),
            (None, _) if fields.has_unknown => None,
            _ => {
                self.error(fields.span.clone(), message, Some(help.to_owned()));
                None
            }
        }
    }

    /// The value of a key that must be there.
    pub fn required<'a>(&mut self, fields: &Fields<'a>, key: &str, example: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        let value = fields.get(key);
        if value.is_none() {
            self.error(fields.span.clone(), format!("`{key}` is missing"), Some(format!("add `{example}`")));
        }
        value
    }

    /// The value as a table; anything else is an error.
    pub fn table<'a>(&mut self, value: &'a Spanned<DeValue<'a>>) -> Option<&'a DeTable<'a>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(table);
        }
        self.mismatch(value, "a table");
        None
    }

    /// A list; `form` shows how to write it.
    pub fn array<'a>(&mut self, value: &'a Spanned<DeValue<'a>>, form: &str) -> Option<&'a DeArray<'a>> {
        if let DeValue::Array(list) = value.get_ref() {
            return Some(list);
        }
        self.mismatch(value, &format!("a list: `{form}`"));
        None
    }

    /// The value as text; anything else is an error.
    pub fn string<'a>(&mut self, value: &'a Spanned<DeValue<'_>>) -> Option<&'a str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.mismatch(value, "text in quotes");
        }
        text
    }

    /// The value as a truth value; anything else is an error.
    pub fn boolean(&mut self, value: &Spanned<DeValue<'_>>) -> Option<bool> {
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.mismatch(value, "true or false");
        }
        flag
    }

    /// An integer between two bounds, both included.
    pub fn integer(&mut self, value: &Spanned<DeValue<'_>>, low: i128, high: i128) -> Option<i128> {
        let DeValue::Integer(integer) = value.get_ref() else {
            self.mismatch(value, "an integer");
            return None;
        };
        let number = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
        if !number.is_some_and(|n| (low..=high).contains(&n)) {
            let help = format!("allowed are {low} to {high}");
            self.error(value.span(), "the number is out of range", Some(help));
            return None;
        }
        number
    }

    /// A real number; integers are welcome, and so are `nan` and `inf`.
    pub fn real(&mut self, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::Integer(i) => i128::from_str_radix(i.as_str(), i.radix()).ok().map(|n| n as f64),
            DeValue::Float(x) => x.as_str().parse().ok(),
            _ => {
                self.mismatch(value, "a number");
                return None;
            }
        };
        if number.is_none() {
            self.error(value.span(), "the number is out of range", None);
        }
        number
    }

    /// A size in bytes: an integer, or text with a unit.
    pub fn size(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Bytes> {
        match value.get_ref() {
            DeValue::String(text) => match parse_size(text) {
                Ok(size) => Some(size),
                Err(reason) => {
                    self.error(value.span(), reason, None);
                    None
                }
            },
            DeValue::Integer(_) => self.integer(value, 0, i128::from(u64::MAX)).map(|n| Bytes(n as u64)),
            _ => {
                self.mismatch(value, "a size such as 4096 or \"4MiB\"");
                None
            }
        }
    }
}
