//! Settings of a mechanism: a table of keys, each with its default, what it may be, its meaning and its source.
//!
//! A mechanism declares the table beside the code that uses it; reading overrides, refusing what is wrong and the reference
//! for people are all made from it.
//!
//! ```
//! use strata_core::settings::{Allowed, Setting, Settings};
//! const TABLE: &[Setting] = &[Setting {
//!     key: "cache",
//!     default: "64 KiB",
//!     allowed: Allowed::Size(1024, 1 << 30),
//!     meaning: "bytes of the cache",
//!     source: "an example",
//! }];
//! let settings = Settings::read("demo", TABLE, &["demo.cache=8KiB"]).expect("good values");
//! assert_eq!(settings.size("cache").0, 8192);
//! let errors = Settings::read("demo", TABLE, &["demo.cash=8KiB"]).expect_err("a wrong name");
//! assert_eq!(errors, ["`demo` has no setting `cash`; did you mean `cache`?"]);
//! ```

use crate::Bytes;
use crate::config::{format_size, parse_size};
use crate::nearest::suggestion;

/// What a setting may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed {
    /// A whole number between two bounds, both included.
    Whole(u64, u64),
    /// A number between two bounds, both included.
    Real(f64, f64),
    /// A size in bytes, with a unit, between two bounds, both included.
    Size(u64, u64),
    /// One of these names.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
}

impl Allowed {
    /// Why a value is refused.
    fn refuses(self, value: &str) -> Option<String> {
        let out_of = |low: String, high: String| Some(format!("allowed are {low} to {high}"));
        match self {
            Self::Whole(low, high) => match value.parse::<u64>() {
                Ok(n) if (low..=high).contains(&n) => None,
                _ => out_of(low.to_string(), high.to_string()),
            },
            Self::Real(low, high) => match value.parse::<f64>() {
                Ok(x) if (low..=high).contains(&x) => None,
                _ => out_of(low.to_string(), high.to_string()),
            },
            Self::Size(low, high) => match parse_size(value) {
                Ok(size) if (low..=high).contains(&size.0) => None,
                Ok(_) => out_of(format_size(Bytes(low)), format_size(Bytes(high))),
                Err(reason) => Some(reason),
            },
            Self::Choice(names) if names.contains(&value) => None,
            Self::Choice(names) => Some(suggestion(value, names.iter().copied())),
            Self::Text => None,
        }
    }

    /// In words, for the reference.
    pub fn describe(self) -> String {
        match self {
            Self::Whole(low, high) => format!("whole number, {low} to {high}"),
            Self::Real(low, high) => format!("number, {low} to {high}"),
            Self::Size(low, high) => format!("size, {} to {}", format_size(Bytes(low)), format_size(Bytes(high))),
            Self::Choice(names) => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" or "),
            Self::Text => "text".to_owned(),
        }
    }
}

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Its name, without the mechanism's.
    pub key: &'static str,
    /// Its value unless somebody gives another.
    pub default: &'static str,
    /// What it may be.
    pub allowed: Allowed,
    /// What it means.
    pub meaning: &'static str,
    /// Where the default comes from; "choice: " and the reason where nobody says.
    pub source: &'static str,
}

/// The settings of one mechanism, all of them allowed values.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    values: Vec<(Setting, String)>,
}

impl Settings {
    /// The defaults of a table, changed by `overrides` (`mechanism.key=value`); or everything that is wrong with these.
    pub fn read(mechanism: &str, table: &[Setting], overrides: &[impl AsRef<str>]) -> Result<Self, Vec<String>> {
        let mut values: Vec<_> = table.iter().map(|setting| (*setting, setting.default.to_owned())).collect();
        let mut errors = Vec::new();
        for one in overrides.iter().map(AsRef::as_ref) {
            let (path, value) = one.split_once('=').unwrap_or((one, ""));
            let path = path.trim();
            let key = path.strip_prefix(mechanism).and_then(|rest| rest.strip_prefix('.')).unwrap_or(path);
            let value = value.trim().trim_matches('"');
            match values.iter_mut().find(|(setting, _)| setting.key == key) {
                None => {
                    let hint = suggestion(key, table.iter().map(|setting| setting.key));
                    errors.push(format!("`{mechanism}` has no setting `{key}`; {hint}"));
                }
                Some((setting, held)) => match setting.allowed.refuses(value) {
                    Some(reason) => errors.push(format!("`{mechanism}.{key}` cannot be `{value}`: {reason}")),
                    None => value.clone_into(held),
                },
            }
        }
        if errors.is_empty() { Ok(Self { values }) } else { Err(errors) }
    }

    /// The value of a key as text. One that is not in the table is a mistake of the mechanism's author, and panics; as does
    /// a value of another kind in the functions below.
    pub fn text(&self, key: &str) -> &str {
        let found = self.values.iter().find(|(setting, _)| setting.key == key);
        &found.unwrap_or_else(|| panic!("no setting `{key}` was declared")).1
    }

    /// As a whole number.
    pub fn whole(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or_else(|_| panic!("`{key}` was not declared as a whole number"))
    }

    /// As a number.
    pub fn real(&self, key: &str) -> f64 {
        self.text(key).parse().unwrap_or_else(|_| panic!("`{key}` was not declared as a number"))
    }

    /// As a size.
    pub fn size(&self, key: &str) -> Bytes {
        parse_size(self.text(key)).unwrap_or_else(|_| panic!("`{key}` was not declared as a size"))
    }

    /// Keys and values, in the order of the table: what is saved beside results.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(setting, value)| (setting.key, value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Setting] = &[
        Setting { key: "cache", default: "64 KiB", allowed: Allowed::Size(1024, 1 << 20), meaning: "", source: "" },
        Setting { key: "ways", default: "4", allowed: Allowed::Whole(1, 16), meaning: "", source: "" },
        Setting { key: "share", default: "0.3", allowed: Allowed::Real(0.0, 1.0), meaning: "", source: "" },
        Setting {
            key: "mode",
            default: "free",
            allowed: Allowed::Choice(&["free", "cached"]),
            meaning: "",
            source: "",
        },
        Setting { key: "file", default: "", allowed: Allowed::Text, meaning: "", source: "" },
    ];

    #[track_caller]
    fn check(overrides: &[&str], errors: &[&str]) {
        let found = Settings::read("demo", TABLE, overrides).err().unwrap_or_default();
        assert_eq!(found, errors);
    }

    #[test]
    fn defaults_hold_until_somebody_says_otherwise() {
        let settings = Settings::read("demo", TABLE, &["demo.ways=8", "demo.file=\"a b\""]).expect("good values");
        assert_eq!((settings.size("cache"), settings.whole("ways"), settings.real("share")), (Bytes(65536), 8, 0.3));
        assert_eq!((settings.text("mode"), settings.text("file")), ("free", "a b"));
        assert_eq!(settings.pairs().next(), Some(("cache", "64 KiB")));
    }

    #[test]
    fn defaults_are_allowed() {
        for setting in TABLE {
            assert_eq!(setting.allowed.refuses(setting.default), None, "{}", setting.key);
        }
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let wrong = ["demo.way=3", "demo.ways=17", "demo.share=NaN", "demo.mode=fre", "demo.cache=1 PB"];
        let errors = [
            "`demo` has no setting `way`; did you mean `ways`?",
            "`demo.ways` cannot be `17`: allowed are 1 to 16",
            "`demo.share` cannot be `NaN`: allowed are 0 to 1",
            "`demo.mode` cannot be `fre`: did you mean `free`?",
        ];
        check(&wrong[..4], &errors);
        assert_eq!(Settings::read("demo", TABLE, &wrong).err().map(|list| list.len()), Some(5));
        check(&["demo.ways"], &["`demo.ways` cannot be ``: allowed are 1 to 16"]);
    }
}
