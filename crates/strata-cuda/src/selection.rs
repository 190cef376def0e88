//! Which launches of a program are timed. The others are executed, since those that follow need their results.

use std::ops::RangeInclusive;
use strata_run::LabError;
use strata_run::RunRequest;

/// What `--kernels` and `--fast-forward` choose.
///
/// The list has launches, counted from 1 (`3`), ranges of them (`10-20`), every so-manieth of a range (`50-90/10`), and parts
/// of kernels' names (`matmul`). A launch is timed if one of them fits, and if it is not among the first that are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    ranges: Vec<(RangeInclusive<u64>, u64)>,
    names: Vec<String>,
    skipped: u64,
}

impl Selection {
    /// The launches that a request selects; an error if its list cannot be read.
    pub fn of(request: &RunRequest) -> Result<Self, LabError> {
        let mut selection = Self { skipped: request.fast_forward, ..Self::default() };
        for item in request.kernels.iter().flat_map(|list| list.split(',')).map(str::trim) {
            match range(item) {
                Some(range) => selection.ranges.push(range),
                None if item.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                    selection.names.push(item.to_owned());
                }
                None => {
                    return Err(LabError::Request(format!(
                        "`--kernels`: `{item}` is no launch (`3`), no range (`10-20`, `10-90/10`) and no part of a kernel's name"
                    )));
                }
            }
        }
        if selection != Self::default() && request.gpu.is_none() {
            let reason = "`--kernels` and `--fast-forward` choose what is timed: name a machine with `--gpu`";
            return Err(LabError::Request(reason.into()));
        }
        Ok(selection)
    }

    /// True if launch `number`, counted from 1, is timed.
    pub fn includes(&self, number: u64, kernel: &str) -> bool {
        let everything = self.ranges.is_empty() && self.names.is_empty();
        let fits = |(range, step): &(RangeInclusive<u64>, u64)| {
            range.contains(&number) && (number - range.start()).is_multiple_of(*step)
        };
        number > self.skipped
            && (everything || self.ranges.iter().any(fits) || self.names.iter().any(|name| kernel.contains(name)))
    }

    /// True if not every launch is timed.
    pub fn leaves_out(&self) -> bool {
        *self != Self::default()
    }
}

/// `3`, `10-20` or `10-90/10`.
fn range(item: &str) -> Option<(RangeInclusive<u64>, u64)> {
    let (range, step) = item.split_once('/').unwrap_or((item, "1"));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last, step): (u64, u64, u64) = (first.parse().ok()?, last.parse().ok()?, step.parse().ok()?);
    (first > 0 && first <= last && step > 0).then_some((first..=last, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_run::What;

    fn timed(kernels: Option<&str>, fast_forward: u64) -> Result<Vec<u64>, String> {
        let request = RunRequest {
            kernels: kernels.map(str::to_owned),
            fast_forward,
            gpu: Some("v100".into()),
            ..RunRequest::new(What::Program(Vec::new()))
        };
        let selection = Selection::of(&request).map_err(|e| e.to_string())?;
        let name = |number: u64| if number == 8 { "_Z6matmulPf" } else { "_Z3addPf" };
        Ok((1..=10).filter(|&number| selection.includes(number, name(number))).collect())
    }

    #[test]
    fn launches_are_chosen_by_number_range_step_and_name() {
        let check = |kernels, fast_forward, expected: &[u64]| {
            assert_eq!(timed(kernels, fast_forward).expect("a good list"), expected, "{kernels:?} {fast_forward}");
        };
        check(None, 0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        check(None, 7, &[8, 9, 10]);
        check(Some("2, 4-6"), 0, &[2, 4, 5, 6]);
        check(Some("1-9/3,matmul"), 0, &[1, 4, 7, 8]);
        check(Some("1-9/3,matmul"), 4, &[7, 8]);
    }

    #[test]
    fn what_is_no_launch_and_no_name_is_refused() {
        for bad in ["", "0", "5-3", "1-9/0", "-3", "1,,2"] {
            assert!(timed(Some(bad), 0).is_err_and(|e| e.contains("no part of a kernel's name")), "{bad}");
        }
        let request = RunRequest { fast_forward: 1, ..RunRequest::new(What::Program(Vec::new())) };
        assert!(Selection::of(&request).is_err_and(|e| e.to_string().contains("--gpu")));
    }
}
