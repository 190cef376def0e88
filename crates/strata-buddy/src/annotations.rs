//! Targets by the names of allocations, and the file in which they travel from the profiler to the program's next run.
//!
//! ```toml
//! # How it was made.
//!
//! [targets]
//! weights = "4/3"
//! "layer 1/activations" = "2"
//! ```

use crate::Target;
use std::collections::BTreeMap;
use strata_core::config::{Diagnostic, Reader};
use toml::de::DeTable;

/// The target of every allocation; 1 for those that are not named.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Targets {
    by_name: BTreeMap<String, Target>,
}

impl Targets {
    /// The target of the allocations of a name.
    pub fn get(&self, name: &str) -> Target {
        self.by_name.get(name).copied().unwrap_or_default()
    }

    /// Gives them another.
    pub fn set(&mut self, name: &str, target: Target) {
        self.by_name.insert(name.to_owned(), target);
    }

    /// All that are named, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Target)> {
        self.by_name.iter().map(|(name, target)| (name.as_str(), *target))
    }

    /// The annotation file; `origin` is how it was made, in as many lines as that takes.
    pub fn to_toml(&self, origin: &str) -> String {
        // A comment must not hold control characters, nor end early.
        let comment = |line: &str| format!("# {}\n", line.replace(char::is_control, " "));
        let head: String = origin.lines().map(comment).collect();
        let targets: toml::Table = self.iter().map(|(name, target)| (name.to_owned(), target.name().into())).collect();
        let file = toml::Table::from_iter([("targets".to_owned(), toml::Value::Table(targets))]);
        format!("{head}\n{file}")
    }

    /// Reads an annotation file, or says everything that is wrong with it.
    pub fn from_toml(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let (document, syntax) = DeTable::parse_recoverable(text);
        let mut reader = Reader::default();
        for error in &syntax {
            reader.error(error.span().unwrap_or(0..0), error.message(), None);
        }
        let mut targets = Self::default();
        // A half-read document would draw complaints about what the syntax error hid.
        if syntax.is_empty() {
            let fields = reader.fields(document.get_ref(), document.span(), "an annotation file", &["targets"]);
            let table = reader.required(&fields, "targets", "[targets]").and_then(|value| reader.table(value));
            for (name, value) in table.into_iter().flatten() {
                let Some(written) = reader.string(value) else { continue };
                if let Ok(target) = written.parse() {
                    targets.set(name.get_ref(), target);
                } else {
                    let message = format!("`{written}` is no target ratio");
                    reader.unknown(value.span(), message, written, Target::ALL.map(Target::name));
                }
            }
        }
        if reader.errors.is_empty() { Ok(targets) } else { Err(reader.errors) }
    }
}

impl FromIterator<(String, Target)> for Targets {
    fn from_iter<I: IntoIterator<Item = (String, Target)>>(targets: I) -> Self {
        Self { by_name: targets.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_file_says_how_it_was_made() {
        let targets: Targets =
            [("w.0".to_owned(), Target::X4Over3), ("act".to_owned(), Target::X2)].into_iter().collect();
        let text = targets.to_toml("Buddy Threshold 0.3\nof two snapshots");
        assert_eq!(text, "# Buddy Threshold 0.3\n# of two snapshots\n\n[targets]\nact = \"2\"\n\"w.0\" = \"4/3\"\n");
        let read = Targets::from_toml(&text).expect("sound");
        assert_eq!(read, targets);
        assert_eq!(read.get("not named"), Target::X1);
    }

    #[track_caller]
    fn check(text: &str, errors: &[(&str, Option<&str>)]) {
        let found = Targets::from_toml(text).expect_err("it is wrong");
        let found: Vec<_> = found.iter().map(|d| (d.message.as_str(), d.help.as_deref())).collect();
        assert_eq!(found, errors);
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let known = Some("known here: `1`, `4/3`, `2`, `4`, `16`");
        check(
            "[targets]\na = '3'\nb = 2\nc = '4/2'\n[target]\n",
            &[
                ("an annotation file has no key `target`", Some("did you mean `targets`?")),
                ("`3` is no target ratio", known),
                ("expected text in quotes, found an integer", None),
                ("`4/2` is no target ratio", Some("did you mean `4/3`?")),
            ],
        );
        check("", &[("`targets` is missing", Some("add `[targets]`"))]);
        check("targets = 1", &[("expected a table, found an integer", None)]);
    }

    #[test]
    fn an_error_knows_its_place() {
        let text = "[targets]\na = '3'\n";
        let errors = Targets::from_toml(text).expect_err("3 is no target");
        assert_eq!(&text[errors[0].span.clone()], "'3'");
        assert!(Targets::from_toml("[targets]\na = '1'\na = '2'\n").is_err(), "a name stands once");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(names in proptest::collection::vec(any::<String>(), 0..6), origin: String) {
            let targets: Targets = names.into_iter().zip(Target::ALL.into_iter().cycle()).collect();
            prop_assert_eq!(Targets::from_toml(&targets.to_toml(&origin)), Ok(targets));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = Targets::from_toml(&text);
        }
    }
}
