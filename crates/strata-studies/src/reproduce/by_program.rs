//! The figure that most papers print: a bar for each program and scheme, and means over groups of programs.

use super::{geometric_mean, mean};
use crate::report::{Cell, Chart, Figure, Kind, Series};

/// The group of all programs.
pub(super) const ALL: &str = "all";

/// One program of a study, with all that was measured of it.
pub(super) trait Subject: Sized {
    /// Groups of programs that get means of their own.
    const GROUPS: &'static [&'static str] = &[ALL];

    /// The program.
    fn name(&self) -> &'static str;

    /// True if it is part of this one of the groups.
    fn is_in(&self, group: &str) -> bool {
        group == ALL
    }

    /// It fits into the machine's caches: what depends on these is shown and marked, and is no part of means.
    fn is_cache_resident(&self) -> bool {
        false
    }
}

/// What a program has in a column.
type Value<'a, S> = Box<dyn Fn(&S) -> Option<f64> + 'a>;

/// A column of a figure.
pub(super) struct Column<'a, S> {
    heading: String,
    decimals: usize,
    value: Value<'a, S>,
}

impl<'a, S> Column<'a, S> {
    /// With a value for each program.
    pub(super) fn new(heading: impl Into<String>, decimals: usize, value: impl Fn(&S) -> Option<f64> + 'a) -> Self {
        Self { heading: heading.into(), decimals, value: Box::new(value) }
    }
}

/// Which mean stands below a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mean {
    Geometric,
    Arithmetic,
}

/// What a figure is, besides its columns.
pub(super) struct Frame {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) note: String,
    pub(super) axis: &'static str,
    pub(super) mean: Mean,
    pub(super) baseline: Option<f64>,
    /// Values depend on caches: see [`Subject::is_cache_resident`].
    pub(super) timed: bool,
}

/// A figure with a row for each program and the means of its groups.
pub(super) fn by_program<S: Subject>(subjects: &[S], frame: Frame, columns: &[Column<'_, S>]) -> Figure {
    let left_out = |s: &S| frame.timed && s.is_cache_resident();
    let mut rows: Vec<Vec<Cell>> = subjects
        .iter()
        .map(|s| {
            let values = columns.iter().map(|column| Cell::number((column.value)(s), column.decimals));
            let name = if left_out(s) { format!("{} (cache-resident)", s.name()) } else { s.name().to_owned() };
            [Cell::Text(name)].into_iter().chain(values).collect()
        })
        .collect();
    let kind = if frame.mean == Mean::Geometric { "geometric mean" } else { "mean" };
    for group in S::GROUPS {
        let of = |column: &Column<'_, S>| {
            let values: Vec<f64> =
                subjects.iter().filter(|s| s.is_in(group) && !left_out(s)).filter_map(&column.value).collect();
            match frame.mean {
                Mean::Geometric => geometric_mean(values),
                Mean::Arithmetic => mean(values),
            }
        };
        let means = columns.iter().map(|column| Cell::number(of(column), column.decimals));
        rows.push([Cell::Text(format!("{group}, {kind}"))].into_iter().chain(means).collect());
    }
    let series = columns
        .iter()
        .map(|column| Series {
            name: column.heading.clone(),
            values: subjects.iter().map(|s| (column.value)(s)).collect(),
        })
        .collect();
    let chart = Chart {
        kind: Kind::Bars,
        axis: frame.axis.to_owned(),
        categories: subjects.iter().map(|s| s.name().to_owned()).collect(),
        series,
        baseline: frame.baseline,
    };
    Figure {
        id: frame.id.to_owned(),
        title: frame.title.to_owned(),
        note: frame.note,
        headings: ["program".to_owned()].into_iter().chain(columns.iter().map(|c| c.heading.clone())).collect(),
        rows,
        chart: Some(chart),
        pictures: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Program(&'static str, f64, bool);

    impl Subject for Program {
        const GROUPS: &'static [&'static str] = &["all", "a"];

        fn name(&self) -> &'static str {
            self.0
        }

        fn is_in(&self, group: &str) -> bool {
            group == "all" || group == self.0
        }

        fn is_cache_resident(&self) -> bool {
            self.2
        }
    }

    #[test]
    fn programs_in_caches_are_shown_and_no_part_of_means() {
        let subjects = [Program("a", 1.0, false), Program("b", 4.0, false), Program("c", 100.0, true)];
        let columns = [Column::new("x", 1, |p: &Program| Some(p.1))];
        let shown = |timed, mean| {
            let frame = Frame { id: "i", title: "t", note: String::new(), axis: "x", mean, baseline: None, timed };
            let text = by_program(&subjects, frame, &columns).text();
            text.lines().skip(4).map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        let timed = shown(true, Mean::Geometric);
        assert_eq!(
            timed,
            ["a 1.0", "b 4.0", "c (cache-resident) 100.0", "all, geometric mean 2.0", "a, geometric mean 1.0"]
        );
        assert_eq!(shown(false, Mean::Arithmetic)[2..4], ["c 100.0", "all, mean 35.0"]);
    }
}
