//! TOML values to Rust values, with an error for everything that does not fit.

use super::limits;
use super::program::At;
use super::size::parse_size;
use crate::diagnostics::Diagnostic;
use crate::element::{Element, Number};
use std::ops::Range;
use strata_core::Bytes;
use strata_core::nearest::suggestion;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Collects errors while values are read.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) errors: Vec<Diagnostic>,
}

/// A table whose unknown keys have been reported.
pub(super) struct Fields<'a> {
    table: &'a DeTable<'a>,
    known: Vec<String>,
    /// Some key is not known: what seems to be missing may only be misspelt.
    has_unknown: bool,
    /// Where to point when something is missing.
    pub(super) span: Range<usize>,
}

impl<'a> Fields<'a> {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }
}

impl Reader {
    pub(super) fn error(&mut self, span: Range<usize>, message: impl Into<String>, help: Option<String>) {
        if self.errors.len() < limits::ERRORS {
            self.errors.push(Diagnostic { span, message: message.into(), help });
        }
    }

    /// An unknown name, with the nearest known one.
    pub(super) fn unknown<'a>(
        &mut self,
        span: Range<usize>,
        message: String,
        name: &str,
        known: impl IntoIterator<Item = &'a str> + Clone,
    ) {
        if self.errors.len() < limits::ERRORS {
            self.error(span, message, Some(suggestion(name, known)));
        }
    }

    /// A value's kind, for messages.
    pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
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

    fn mismatch(&mut self, value: &Spanned<DeValue<'_>>, wanted: &str) {
        let message = format!("expected {wanted}, found {}", Self::kind(value.get_ref()));
        self.error(value.span(), message, None);
    }

    /// Opens a table; keys that are not `known` are errors.
    pub(super) fn fields<'a>(
        &mut self,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        what: &str,
        known: &[&str],
    ) -> Fields<'a> {
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
    pub(super) fn only_one<'a, 'f>(
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
    pub(super) fn required<'a>(
        &mut self,
        fields: &Fields<'a>,
        key: &str,
        example: &str,
    ) -> Option<&'a Spanned<DeValue<'a>>> {
        let value = fields.get(key);
        if value.is_none() {
            self.error(fields.span.clone(), format!("`{key}` is missing"), Some(format!("add `{example}`")));
        }
        value
    }

    /// The entries of a table in the order of the file.
    pub(super) fn in_file_order<'a>(table: &'a DeTable<'a>) -> Vec<(At<String>, &'a Spanned<DeValue<'a>>)> {
        let mut entries: Vec<_> =
            table.iter().map(|(key, value)| (At::new(key.get_ref().clone().into_owned(), key.span()), value)).collect();
        entries.sort_by_key(|(name, _)| name.span.start);
        entries
    }

    pub(super) fn table<'a>(&mut self, value: &'a Spanned<DeValue<'a>>) -> Option<&'a DeTable<'a>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(table);
        }
        self.mismatch(value, "a table");
        None
    }

    pub(super) fn array<'a>(&mut self, value: &'a Spanned<DeValue<'a>>, form: &str) -> Option<&'a DeArray<'a>> {
        if let DeValue::Array(list) = value.get_ref() {
            return Some(list);
        }
        self.mismatch(value, &format!("a list: `{form}`"));
        None
    }

    pub(super) fn string<'a>(&mut self, value: &'a Spanned<DeValue<'_>>) -> Option<&'a str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.mismatch(value, "text in quotes");
        }
        text
    }

    pub(super) fn boolean(&mut self, value: &Spanned<DeValue<'_>>) -> Option<bool> {
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.mismatch(value, "true or false");
        }
        flag
    }

    /// An integer between two bounds, both included.
    pub(super) fn integer(&mut self, value: &Spanned<DeValue<'_>>, low: i128, high: i128) -> Option<i128> {
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
    pub(super) fn real(&mut self, value: &Spanned<DeValue<'_>>) -> Option<f64> {
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

    /// A number that the element type can hold.
    pub(super) fn number_of(&mut self, value: &Spanned<DeValue<'_>>, element: Element) -> Option<Number> {
        if let Some((low, high)) = element.integer_range() {
            if matches!(value.get_ref(), DeValue::Float(_)) {
                self.error(
                    value.span(),
                    format!("`{element}` is an integer type"),
                    Some("write a whole number".into()),
                );
                return None;
            }
            return self.integer(value, low, high).map(Number::Int);
        }
        self.real(value).map(Number::Real)
    }

    /// The same, without NaN and infinities.
    pub(super) fn finite_of(&mut self, value: &Spanned<DeValue<'_>>, element: Element) -> Option<Number> {
        let number = self.number_of(value, element)?;
        if !number.as_f64().is_finite() {
            self.error(value.span(), "a finite number is needed here", None);
            return None;
        }
        Some(number)
    }

    /// A size in bytes: an integer, or text with a unit.
    pub(super) fn size(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Bytes> {
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
