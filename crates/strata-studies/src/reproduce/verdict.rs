//! The paper's numbers beside ours, and what is to be said of each.

use super::Paper;
use super::measured::Measured;
use crate::report::{Cell, Figure};
use serde_json::{Value, json};

/// How far from the paper's value ours may be and still be called close.
const CLOSE: f64 = 0.25;

/// A number of the paper beside ours.
#[derive(Clone, Debug)]
pub struct Row {
    /// The paper.
    pub paper: Paper,
    /// Figure, table or section.
    pub item: &'static str,
    /// The program, or the set of programs a mean is over.
    pub workload: String,
    /// What is measured.
    pub metric: String,
    /// What the paper prints, where it prints something.
    pub paper_value: Option<f64>,
    /// What we measure.
    pub ours: Measured,
    /// Whether it says something about the paper that no other row does.
    pub standing: Standing,
}

/// Whether a row is counted among those that judge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It judges.
    Judged,
    /// Something was chosen by what the paper prints here, so that agreement says nothing.
    Fitted,
    /// The same quantity is judged at another place of the paper.
    Repeats(&'static str),
}

impl Standing {
    /// Why a row is not counted.
    fn reason(self) -> Option<String> {
        match self {
            Self::Judged => None,
            Self::Fitted => Some("fitted to the paper".to_owned()),
            Self::Repeats(item) => Some(format!("the same as in {item}")),
        }
    }
}

/// What is to be said of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Within a quarter of the paper's value.
    Close,
    /// More than that above it.
    Higher,
    /// More than that below it.
    Lower,
    /// A gain where the paper has a loss, or the other way round.
    OppositeSign,
    /// We have no number.
    NotMeasured,
    /// The paper has none.
    NotInThePaper,
}

impl Verdict {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::OppositeSign => "opposite sign",
            Self::NotMeasured => "not measured",
            Self::NotInThePaper => "not in the paper",
        }
    }
}

impl Row {
    /// The verdict, by the difference relative to the paper's value: there is no allowance for small values.
    pub fn verdict(&self) -> Verdict {
        match (self.paper_value, self.ours.value) {
            (_, None) => Verdict::NotMeasured,
            (None, Some(_)) => Verdict::NotInThePaper,
            (Some(paper), Some(ours)) if (ours - paper).abs() <= CLOSE * paper.abs() => Verdict::Close,
            (Some(paper), Some(ours)) if paper * ours < 0.0 => Verdict::OppositeSign,
            (Some(paper), Some(ours)) if ours > paper => Verdict::Higher,
            _ => Verdict::Lower,
        }
    }

    /// How far ours is from the paper's value, relative to that; none where one is missing or the paper's is zero.
    pub fn difference(&self) -> Option<f64> {
        let (paper, ours) = (self.paper_value.filter(|&paper| paper != 0.0)?, self.ours.value?);
        Some((ours - paper) / paper.abs())
    }
}

/// What all rows come to, in words.
pub fn summary(rows: &[Row]) -> String {
    use Verdict::{Close, Higher, Lower, NotInThePaper, NotMeasured, OppositeSign};
    let of =
        |verdict: Verdict| rows.iter().filter(|r| r.standing == Standing::Judged && r.verdict() == verdict).count();
    let judged = [Close, Higher, Lower, OppositeSign].map(of);
    let fitted = rows.iter().filter(|row| row.standing == Standing::Fitted).count();
    let repeated = rows.iter().filter(|row| matches!(row.standing, Standing::Repeats(_))).count();
    let rest = [
        (fitted, "fitted to the paper"),
        (repeated, "that repeat another"),
        (of(NotMeasured), "not measured"),
        (of(NotInThePaper), "that the paper does not print"),
    ];
    let rest: Vec<String> = rest.into_iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
    let rest = if rest.is_empty() { String::new() } else { format!(" Not counted: {}.", rest.join(", ")) };
    format!(
        "Of {} numbers of the paper that were measured, {} are close (within a quarter), {} higher, {} lower, {} of the opposite \
         sign.{rest}",
        judged.iter().sum::<usize>(),
        judged[0],
        judged[1],
        judged[2],
        judged[3],
    )
}

/// The numbers side by side.
pub(super) fn beside(rows: &[Row]) -> Figure {
    let cells = |row: &Row| {
        let number = |value: Option<f64>| Cell::number(value, 4);
        let texts = [row.item, &row.workload, &row.metric].map(Cell::from);
        let percent = row.difference().map_or(Cell::None, |d| Cell::Text(format!("{:+.0} %", 100.0 * d)));
        let why = row.standing.reason().map_or_else(String::new, |why| format!(" ({why})"));
        let verdict = Cell::Verdict(row.verdict().name(), why);
        let programs = Cell::Text(row.ours.coverage());
        texts.into_iter().chain([number(row.paper_value), number(row.ours.value), percent, programs, verdict]).collect()
    };
    let headings = ["item", "programs", "metric", "paper", "ours", "difference", "mean of", "verdict"];
    Figure {
        id: "beside-the-paper".into(),
        title: "The paper's numbers and ours".into(),
        note: summary(rows),
        headings: headings.map(str::to_owned).into(),
        rows: rows.iter().map(cells).collect(),
        chart: None,
        pictures: Vec::new(),
    }
}

/// The numbers side by side as JSON.
pub fn to_json(rows: &[Row]) -> Value {
    let listed: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "paper": row.paper.name(),
                "item": row.item,
                "workload": row.workload,
                "metric": row.metric,
                "paper_value": row.paper_value,
                "ours": row.ours.value,
                "difference": row.difference(),
                "programs": row.ours.programs.map(|(n, of)| json!({ "measured": n, "of": of })),
                "verdict": row.verdict().name(),
                "counted": row.standing == Standing::Judged,
                "why_not_counted": row.standing.reason(),
            })
        })
        .collect();
    json!({ "rows": listed, "summary": summary(rows) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(paper_value: Option<f64>, ours: Option<f64>, standing: Standing) -> Row {
        let (workload, metric) = (String::new(), String::new());
        Row { paper: Paper::Buddy, item: "", workload, metric, paper_value, ours: ours.into(), standing }
    }

    #[test]
    fn verdicts_are_relative_to_the_paper() {
        let verdict = |paper, ours| row(paper, ours, Standing::Judged).verdict().name();
        assert_eq!(verdict(Some(2.0), Some(2.4)), "close");
        assert_eq!(verdict(Some(2.0), Some(2.6)), "higher");
        assert_eq!(verdict(Some(2.0), Some(1.4)), "lower");
        assert_eq!(verdict(Some(0.0008), Some(0.009)), "higher", "small values have no allowance of their own");
        assert_eq!(verdict(Some(0.0090), Some(0.0008)), "lower");
        assert_eq!(verdict(Some(0.055), Some(-0.048)), "opposite sign");
        assert_eq!(verdict(Some(-0.1), Some(-0.11)), "close");
        assert_eq!((verdict(None, Some(1.0)), verdict(Some(1.0), None)), ("not in the paper", "not measured"));
    }

    #[test]
    fn differences_have_a_sign() {
        let difference = |paper, ours| row(Some(paper), Some(ours), Standing::Judged).difference();
        assert_eq!((difference(2.0, 1.0), difference(-2.0, -1.0)), (Some(-0.5), Some(0.5)));
        assert_eq!(difference(0.0, 1.0), None);
    }

    #[test]
    fn what_was_fitted_or_repeats_is_not_counted() {
        let rows = [
            row(Some(1.0), Some(1.0), Standing::Judged),
            row(Some(1.0), Some(1.0), Standing::Fitted),
            row(Some(1.0), Some(2.0), Standing::Repeats("Table 10")),
            row(Some(1.0), None, Standing::Judged),
        ];
        assert_eq!(
            summary(&rows),
            "Of 1 numbers of the paper that were measured, 1 are close (within a quarter), 0 higher, 0 lower, 0 of the opposite \
             sign. Not counted: 1 fitted to the paper, 1 that repeat another, 1 not measured."
        );
        let json = to_json(&rows);
        assert_eq!(
            (&json["rows"][1]["counted"], &json["rows"][2]["why_not_counted"]),
            (&json!(false), &json!("the same as in Table 10"))
        );
    }
}
