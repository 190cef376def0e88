//! What a study measured: a number and, of a mean, how many of the programs it covers.

/// A measured number.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Measured {
    /// The number; none if nothing was measured.
    pub value: Option<f64>,
    /// Of a mean: programs that have a value, and programs that it should cover.
    pub programs: Option<(usize, usize)>,
}

impl Measured {
    /// The same of another number that follows from this one.
    pub(super) fn map(self, then: impl FnOnce(f64) -> f64) -> Self {
        Self { value: self.value.map(then), ..self }
    }

    /// A number that follows from two, which cover as many programs as the one that covers less.
    pub(super) fn with(self, other: Self, then: impl FnOnce(f64, f64) -> f64) -> Self {
        let fewer = |(a, b): ((usize, usize), (usize, usize))| if b.0 < a.0 { b } else { a };
        let programs = self.programs.zip(other.programs).map(fewer).or(self.programs).or(other.programs);
        Self { value: self.value.zip(other.value).map(|(a, b)| then(a, b)), programs }
    }

    /// `9 of 13`; nothing if it is no mean.
    pub(super) fn coverage(&self) -> String {
        self.programs.map_or_else(String::new, |(n, of)| format!("{n} of {of}"))
    }

    fn of_mean(values: impl IntoIterator<Item = Option<f64>>, mean: impl FnOnce(&[f64]) -> f64) -> Self {
        let values: Vec<Option<f64>> = values.into_iter().collect();
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let value = (!known.is_empty()).then(|| mean(&known));
        Self { value, programs: Some((known.len(), values.len())) }
    }
}

impl From<Option<f64>> for Measured {
    fn from(value: Option<f64>) -> Self {
        Self { value, programs: None }
    }
}

/// The geometric mean of what programs have, positive numbers all: one item for each program.
pub(super) fn geometric_mean(values: impl IntoIterator<Item = Option<f64>>) -> Measured {
    Measured::of_mean(values, |known| (known.iter().map(|v| v.ln()).sum::<f64>() / known.len() as f64).exp())
}

/// The arithmetic mean of what programs have: one item for each program.
pub(super) fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Measured {
    Measured::of_mean(values, |known| known.iter().sum::<f64>() / known.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_says_how_many_it_covers() {
        let of = |value: f64, n, of| Measured { value: Some(value), programs: Some((n, of)) };
        assert_eq!(mean([Some(1.0), None, Some(2.0)]), of(1.5, 2, 3));
        assert_eq!(geometric_mean([Some(2.0), Some(8.0)]), of(4.0, 2, 2));
        assert_eq!(mean([None]).value, None);
        assert_eq!(mean([None, Some(1.0)]).coverage(), "1 of 2");
    }

    #[test]
    fn what_follows_from_two_covers_what_both_do() {
        let (few, all) = (mean([Some(3.0), None]), mean([Some(1.0), Some(2.0)]));
        assert_eq!(few.with(all, |a, b| a / b), Measured { value: Some(2.0), programs: Some((1, 2)) });
        assert_eq!(all.map(|v| v - 1.0).programs, Some((2, 2)));
    }
}
