//! What launch files read beyond the common kinds of values: numbers of an element type, tables in the order of the file.

use super::program::At;
use crate::element::{Element, Number};
use std::ops::{Deref, DerefMut};
use strata_core::Bytes;
use strata_core::config;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Collects errors while a launch file is read.
#[derive(Default)]
pub(super) struct Reader(config::Reader);

impl Deref for Reader {
    type Target = config::Reader;
    fn deref(&self) -> &config::Reader {
        &self.0
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut config::Reader {
        &mut self.0
    }
}

/// A table's entries: the names with their places, and the values.
type Entries<'a> = Vec<(At<String>, &'a Spanned<DeValue<'a>>)>;

impl Reader {
    /// All errors, each with the bytes of the text that it is about.
    pub(super) fn into_errors(self) -> Vec<config::Diagnostic> {
        self.0.errors
    }

    /// The entries of a table in the order of the file.
    pub(super) fn in_file_order<'a>(table: &'a DeTable<'a>) -> Entries<'a> {
        let mut entries: Entries<'a> =
            table.iter().map(|(key, value)| (At::new(key.get_ref().clone().into_owned(), key.span()), value)).collect();
        entries.sort_by_key(|(name, _)| name.span.start);
        entries
    }

    /// A size in bytes: an integer, or text with a unit.
    pub(super) fn size(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Bytes> {
        self.0.size(value)
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
}
