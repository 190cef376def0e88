//! The values of a setting: a list, or a range of numbers.

use super::Word;

/// Values of one key that are written down.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) key: Word,
    pub(crate) values: Vec<String>,
}

/// What a value is drawn from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spread {
    List(Vec<String>),
    Range(Range),
}

/// Numbers from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) step: Option<f64>,
    /// Whole numbers only: both ends are.
    pub(crate) whole: bool,
    /// Equal ratios in place of equal differences.
    pub(crate) log: bool,
}

/// More values than this are a mistake.
pub(crate) const MOST_VALUES: usize = 100_000;

impl Range {
    /// A number as it is written in a setting.
    fn text(&self, number: f64) -> String {
        if self.whole { format!("{:.0}", number.round()) } else { format!("{number}") }
    }

    /// Steps that fit, without the first value.
    fn steps(&self, step: f64) -> f64 {
        // A step of a tenth fits ten times into one, whatever floating point says.
        ((self.to - self.from) / step + 1e-9).floor()
    }

    /// Every value, a step apart.
    pub(crate) fn stepped(&self, step: f64) -> Option<Vec<String>> {
        let steps = self.steps(step);
        (steps < MOST_VALUES as f64)
            .then(|| (0..=steps as usize).map(|k| self.text(self.from + k as f64 * step)).collect())
    }

    /// So many values, both ends among them.
    pub(crate) fn spaced(&self, count: usize) -> Vec<String> {
        let last = count.saturating_sub(1).max(1) as f64;
        let mut values: Vec<String> = (0..count).map(|k| self.text(self.between(k as f64 / last))).collect();
        values.dedup();
        values
    }

    fn between(&self, share: f64) -> f64 {
        if self.log { self.from * (self.to / self.from).powf(share) } else { self.from + share * (self.to - self.from) }
    }

    /// The value at a share of the range, 0 to less than 1: each whole number, or each step, has the same part of it.
    fn drawn(&self, share: f64) -> String {
        match self.step {
            Some(step) => self.text(self.from + (share * (self.steps(step) + 1.0)).floor() * step),
            None if self.whole && !self.log => self.text((self.from + share * (self.to - self.from + 1.0)).floor()),
            None => self.text(self.between(share)),
        }
    }
}

impl Spread {
    /// The value at a share of it, 0 to less than 1.
    pub(crate) fn drawn(&self, share: f64) -> String {
        match self {
            Self::List(values) => values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone(),
            Self::Range(range) => range.drawn(share),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Range = Range { from: 2.0, to: 8.0, step: None, whole: true, log: false };

    #[test]
    fn ranges_have_both_ends() {
        assert_eq!(WHOLE.stepped(2.0).expect("few"), ["2", "4", "6", "8"]);
        assert_eq!(WHOLE.stepped(5.0).expect("few"), ["2", "7"]);
        assert_eq!(WHOLE.stepped(1e-9), None);
        assert_eq!(Range { log: true, ..WHOLE }.spaced(3), ["2", "4", "8"]);
        assert_eq!(WHOLE.spaced(4), ["2", "4", "6", "8"]);
        let tenths = Range { from: 0.0, to: 1.0, step: None, whole: false, log: false };
        assert_eq!(tenths.stepped(0.1).expect("few").len(), 11);
    }

    #[test]
    fn every_value_has_its_share() {
        let drawn: Vec<_> = (0..7).map(|k| WHOLE.drawn(f64::from(k) / 7.0 + 0.01)).collect();
        assert_eq!(drawn, ["2", "3", "4", "5", "6", "7", "8"]);
        let stepped = Range { step: Some(3.0), ..WHOLE };
        assert_eq!([0.0, 0.34, 0.67, 0.99].map(|share| stepped.drawn(share)), ["2", "5", "8", "8"]);
        let list = Spread::List(vec!["a".into(), "b".into()]);
        assert_eq!([0.0, 0.49, 0.5, 0.99].map(|share| list.drawn(share)), ["a", "a", "b", "b"]);
    }
}
