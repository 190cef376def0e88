//! The figure that most papers print: a bar for each program and scheme, and means over groups of programs.

use super::measured::{Measured, geometric_mean, mean};
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

    /// It fits into the machine's caches: what depends on these is marked, and a second mean leaves it out.
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
        let of = |among: &[&S]| {
            let mean_of = |column: &Column<'_, S>| {
                let values = among.iter().map(|s| (column.value)(s));
                match frame.mean {
                    Mean::Geometric => geometric_mean(values),
                    Mean::Arithmetic => mean(values),
                }
            };
            columns.iter().map(mean_of).collect::<Vec<_>>()
        };
        let cells = |name: String, means: &[Measured], of: usize| {
            let label = Cell::Text(format!("{name}, {kind} of {}", covered(means, of)));
            let means = means.iter().zip(columns).map(|(mean, column)| Cell::number(mean.value, column.decimals));
            [label].into_iter().chain(means).collect::<Vec<_>>()
        };
        // All of the group first; who leaves some out says so beside it.
        let all: Vec<&S> = subjects.iter().filter(|s| s.is_in(group)).collect();
        rows.push(cells((*group).to_owned(), &of(&all), all.len()));
        let rest: Vec<&S> = all.iter().copied().filter(|s| !left_out(s)).collect();
        if rest.len() < all.len() {
            rows.push(cells(format!("{group}, not cache-resident"), &of(&rest), all.len()));
        }
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

/// How many of so many programs the means of a row cover: `9 of 13`, or `7 to 9 of 13` where columns differ.
fn covered(means: &[Measured], of: usize) -> String {
    let counts = || means.iter().filter_map(|mean| mean.programs.map(|(n, _)| n));
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} of {of}"),
        (_, most) => format!("{} of {of}", most.unwrap_or(0)),
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
    fn means_are_of_all_first_and_say_whom_they_leave_out() {
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
            [
                "a 1.0",
                "b 4.0",
                "c (cache-resident) 100.0",
                "all, geometric mean of 3 of 3 7.4",
                "all, not cache-resident, geometric mean of 2 of 3 2.0",
                "a, geometric mean of 1 of 1 1.0"
            ]
        );
        assert_eq!(shown(false, Mean::Arithmetic)[2..4], ["c 100.0", "all, mean of 3 of 3 35.0"]);
    }

    #[test]
    fn a_mean_of_few_says_so() {
        let subjects = [Program("a", 1.0, false), Program("b", 4.0, false)];
        let columns = [
            Column::new("x", 1, |p: &Program| Some(p.1)),
            Column::new("y", 1, |p: &Program| (p.0 == "a").then_some(p.1)),
        ];
        let frame = Frame {
            id: "i",
            title: "t",
            note: String::new(),
            axis: "x",
            mean: Mean::Arithmetic,
            baseline: None,
            timed: false,
        };
        assert!(by_program(&subjects, frame, &columns).text().contains("all, mean of 1 to 2 of 2"));
    }
}
