//! The kinds of values a configuration holds: how each is read, checked and written.

use super::{SchedulerPolicy, SliceLocation, WriteMiss, WritePolicy};
use crate::time::Clock;
use strata_core::Bytes;
use strata_core::config::{Reader, format_size};
use toml::Spanned;
use toml::de::DeValue;

/// How a value is written in TOML. `write` gives what `read` reads back exactly.
pub(super) trait Kind {
    type Value;

    /// The value, or errors in the reader.
    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<Self::Value>;

    /// The value as TOML.
    fn write(&self, value: &Self::Value) -> String;

    /// Stands in for a value that could not be read, so that the rest can be checked. Never reaches a caller.
    fn stand_in(&self) -> Self::Value;

    /// What is allowed, for the reference.
    fn describe(&self) -> String;
}

/// A whole number between two bounds, both included.
pub(super) struct Whole(pub u32, pub u32);

impl Kind for Whole {
    type Value = u32;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<u32> {
        reader.integer(value, i128::from(self.0), i128::from(self.1)).map(|n| n as u32)
    }

    fn write(&self, value: &u32) -> String {
        value.to_string()
    }

    fn stand_in(&self) -> u32 {
        self.0
    }

    fn describe(&self) -> String {
        format!("whole number, {} to {}", self.0, self.1)
    }
}

/// A number between two bounds, both included.
pub(super) struct Real(pub f64, pub f64);

impl Kind for Real {
    type Value = f64;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let number = reader.real(value)?;
        // Not a comparison of bounds alone: NaN is in no range.
        if (self.0..=self.1).contains(&number) {
            return Some(number);
        }
        reader.error(value.span(), "the number is out of range", Some(format!("allowed are {} to {}", self.0, self.1)));
        None
    }

    fn write(&self, value: &f64) -> String {
        value.to_string()
    }

    fn stand_in(&self) -> f64 {
        self.0
    }

    fn describe(&self) -> String {
        format!("number, {} to {}", self.0, self.1)
    }
}

/// A switch: `true` or `false`.
pub(super) struct Flag;

impl Kind for Flag {
    type Value = bool;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<bool> {
        reader.boolean(value)
    }

    fn write(&self, value: &bool) -> String {
        value.to_string()
    }

    fn stand_in(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "`true` or `false`".into()
    }
}

/// One line of text.
pub(super) struct Text;

impl Kind for Text {
    type Value = String;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<String> {
        reader.string(value).map(str::to_owned)
    }

    fn write(&self, value: &String) -> String {
        quoted(value)
    }

    fn stand_in(&self) -> String {
        String::new()
    }

    fn describe(&self) -> String {
        "text".into()
    }
}

/// Text as a TOML string.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// The capacity of a memory between two bounds, both included.
pub(super) struct Size(pub u64, pub u64);

impl Kind for Size {
    type Value = Bytes;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<Bytes> {
        let size = reader.size(value)?;
        if (self.0..=self.1).contains(&size.0) {
            return Some(size);
        }
        let help = format!("allowed are {} to {}", format_size(Bytes(self.0)), format_size(Bytes(self.1)));
        reader.error(value.span(), "the size is out of range", Some(help));
        None
    }

    fn write(&self, value: &Bytes) -> String {
        quoted(&format_size(*value))
    }

    fn stand_in(&self) -> Bytes {
        Bytes(self.0)
    }

    fn describe(&self) -> String {
        format!("size, `\"{}\"` to `\"{}\"`", format_size(Bytes(self.0)), format_size(Bytes(self.1)))
    }
}

/// A number and its unit; the value is held in the first unit.
pub(super) struct Quantity {
    /// Units and how many of the first each is.
    pub units: &'static [(&'static str, f64)],
    pub low: f64,
    pub high: f64,
}

impl Quantity {
    fn number(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let (unit, _) = self.units[0];
        let example = format!("write a number and a unit, as in \"150 {unit}\"");
        let Some(text) = value.get_ref().as_str() else {
            let message = format!("a unit is missing: expected text, found {}", Reader::kind(value.get_ref()));
            reader.error(value.span(), message, Some(example));
            return None;
        };
        // Digits, point, sign and exponent; the exponent's letter only if a digit or sign follows it.
        let text = text.trim();
        let end = text
            .char_indices()
            .find(|&(at, c)| {
                let exponent = matches!(c, 'e' | 'E')
                    && text[at + 1..].starts_with(|next: char| next.is_ascii_digit() || matches!(next, '-' | '+'));
                !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+') || exponent)
            })
            .map_or(text.len(), |(at, _)| at);
        let (digits, given) = (&text[..end], text[end..].trim());
        let Ok(number) = digits.parse::<f64>() else {
            reader.error(value.span(), format!("`{text}` does not begin with a number"), Some(example));
            return None;
        };
        if given.is_empty() {
            reader.error(value.span(), format!("`{text}` has no unit"), Some(example));
            return None;
        }
        let Some((_, scale)) = self.units.iter().find(|(name, _)| name.eq_ignore_ascii_case(given)) else {
            let units: Vec<_> = self.units.iter().map(|(name, _)| format!("`{name}`")).collect();
            let help = format!("units are {}", units.join(", "));
            reader.error(value.span(), format!("`{given}` is no unit of this quantity"), Some(help));
            return None;
        };
        let number = number * scale;
        if !(self.low..=self.high).contains(&number) {
            let help = format!("allowed are {} to {} {unit}", self.low, self.high);
            reader.error(value.span(), "the number is out of range", Some(help));
            return None;
        }
        Some(number)
    }
}

impl Kind for Quantity {
    type Value = f64;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        self.number(reader, value)
    }

    fn write(&self, value: &f64) -> String {
        quoted(&format!("{value} {}", self.units[0].0))
    }

    fn stand_in(&self) -> f64 {
        self.low
    }

    fn describe(&self) -> String {
        let (unit, _) = self.units[0];
        format!("`\"{} {unit}\"` to `\"{} {unit}\"`", self.low, self.high)
    }
}

/// A frequency.
pub(super) struct Frequency;

impl Frequency {
    const MHZ: Quantity = Quantity { units: &[("MHz", 1.0), ("GHz", 1e3), ("kHz", 1e-3)], low: 1.0, high: 100_000.0 };
}

impl Kind for Frequency {
    type Value = Clock;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<Clock> {
        let khz = Self::MHZ.number(reader, value)? * 1e3;
        if (khz - khz.round()).abs() > 1e-6 * khz {
            let help = "a clock is a whole number of kilohertz";
            reader.error(value.span(), "the frequency is given too finely", Some(help.into()));
            return None;
        }
        Some(Clock::from_khz(khz.round() as u64))
    }

    fn write(&self, value: &Clock) -> String {
        quoted(&format!("{} MHz", value.khz() as f64 / 1e3))
    }

    fn stand_in(&self) -> Clock {
        Clock::from_khz(1000)
    }

    fn describe(&self) -> String {
        Self::MHZ.describe()
    }
}

/// One of a few names.
pub(super) struct Choice<T: 'static>(pub &'static [(&'static str, T)]);

/// Which warp a scheduler prefers.
pub(super) const SCHEDULERS: Choice<SchedulerPolicy> = Choice(&[
    ("greedy-then-oldest", SchedulerPolicy::GreedyThenOldest),
    ("loose-round-robin", SchedulerPolicy::LooseRoundRobin),
]);

/// Where L2 slices sit.
pub(super) const LOCATIONS: Choice<SliceLocation> =
    Choice(&[("partition", SliceLocation::Partition), ("crossbar", SliceLocation::Crossbar)]);

/// What a cache does with writes.
pub(super) const WRITES: Choice<WritePolicy> =
    Choice(&[("back", WritePolicy::Back), ("through", WritePolicy::Through)]);

/// What a cache does with writes to lines that it does not have.
pub(super) const WRITE_MISSES: Choice<WriteMiss> = Choice(&[("keep", WriteMiss::Keep), ("fetch", WriteMiss::Fetch)]);

impl<T: Copy + PartialEq> Kind for Choice<T> {
    type Value = T;

    fn read(&self, reader: &mut Reader, value: &Spanned<DeValue<'_>>) -> Option<T> {
        let name = reader.string(value)?;
        let found = self.0.iter().find(|(known, _)| *known == name).map(|&(_, choice)| choice);
        if found.is_none() {
            let names: Vec<_> = self.0.iter().map(|&(known, _)| known).collect();
            reader.unknown(value.span(), format!("`{name}` is not known here"), name, names);
        }
        found
    }

    fn write(&self, value: &T) -> String {
        // Every value of the type stands in the list; the schema's round-trip test holds this.
        quoted(self.0.iter().find(|(_, choice)| choice == value).map_or("", |&(name, _)| name))
    }

    fn stand_in(&self) -> T {
        self.0[0].1
    }

    fn describe(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
        names.join(" or ")
    }
}
