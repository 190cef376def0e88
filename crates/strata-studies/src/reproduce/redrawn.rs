//! The paper's figures redrawn: every number that it prints as a bar beside ours, after the figure that it belongs to.

use super::verdict::{Row, beside};
use crate::report::{Chart, Figure, Kind, Page, Series};

/// A metric of so many rows has a chart of its own: others may have another scale.
const OWN_CHART: usize = 3;

/// What figures of the page are called: `figure-8` for `Figure 8`.
pub(super) fn id_of(item: &str) -> String {
    item.to_lowercase().replace([' ', '.'], "-")
}

/// True if a figure of the page shows this figure or table of the paper, or a part of it: `figure-7-ratio`, `figure-15a`.
fn shows(figure: &Figure, item: &str) -> bool {
    figure.id.strip_prefix(&id_of(item)).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Puts charts of the paper's values and ours into a page: behind the figures they belong to, or at its end.
pub(super) fn redraw(page: &mut Page, rows: &[Row]) {
    let mut rest: Vec<Row> = rows.iter().filter(|row| row.paper_value.is_some()).cloned().collect();
    let mut figures = Vec::new();
    for figure in std::mem::take(&mut page.figures) {
        let (own, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|row| shows(&figure, row.item));
        rest = others;
        let is_theirs = |series: &Series| series.name.split([' ', ',']).any(|word| word == "paper");
        let has_paper = figure.chart.as_ref().is_some_and(|chart| chart.series.iter().any(is_theirs));
        let id = figure.id.clone();
        let title = format!("{}: the paper and ours", figure.title);
        figures.push(figure);
        if !has_paper {
            figures.extend(charts(&id, &title, &own));
        }
    }
    figures.extend(charts("elsewhere", "What the paper says elsewhere, and ours", &rest));
    page.figures = figures;
}

/// Charts of some rows: one for each metric that has several, one for the rest.
fn charts(id: &str, title: &str, rows: &[Row]) -> Vec<Figure> {
    let mut groups: Vec<(Option<&str>, Vec<Row>)> = Vec::new();
    for row in rows {
        let alike = rows.iter().filter(|other| other.metric == row.metric).count();
        let metric = (alike >= OWN_CHART).then_some(row.metric.as_str());
        match groups.iter_mut().find(|(known, _)| *known == metric) {
            Some((_, list)) => list.push(row.clone()),
            None => groups.push((metric, vec![row.clone()])),
        }
    }
    let chart = |(number, (metric, rows)): (usize, (Option<&str>, Vec<Row>))| {
        let category = |row: &Row| match metric {
            Some(_) => row.workload.clone(),
            None => format!("{}, {}", row.workload, row.metric),
        };
        let series = |name: &str, value: fn(&Row) -> Option<f64>| Series {
            name: name.to_owned(),
            values: rows.iter().map(value).collect(),
        };
        let ending = if number == 0 { String::new() } else { format!("-{}", number + 1) };
        Figure {
            id: format!("{id}-beside{ending}"),
            title: metric.map_or_else(|| title.to_owned(), |metric| format!("{title}, {metric}")),
            note: "What the paper prints, and what we measure of the same.".to_owned(),
            chart: Some(Chart {
                kind: Kind::Bars,
                axis: metric.unwrap_or("as the paper prints it").to_owned(),
                categories: rows.iter().map(category).collect(),
                series: vec![series("paper", |row| row.paper_value), series("ours", |row| row.ours.value)],
                baseline: None,
            }),
            ..beside(&rows)
        }
    };
    groups.into_iter().enumerate().map(chart).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Measured, Paper, Standing};
    use super::*;

    fn row(item: &'static str, workload: &str, metric: &str) -> Row {
        let ours = Measured { value: Some(2.0), programs: None };
        let (workload, metric) = (workload.to_owned(), metric.to_owned());
        Row { paper: Paper::Cmd, item, workload, metric, paper_value: Some(1.0), ours, standing: Standing::Judged }
    }

    #[test]
    fn every_number_of_the_paper_is_drawn_once_behind_its_figure() {
        let plain = |id: &str| Figure { id: id.to_owned(), ..beside(&[]) };
        let mut page = Page {
            title: String::new(),
            introduction: String::new(),
            summary: None,
            figures: ["figure-1", "figure-15a", "inputs"].map(plain).into(),
        };
        let rows = [
            row("Figure 15", "a", "time"),
            row("Figure 15", "b", "time"),
            row("Figure 15", "c", "time"),
            row("Figure 15", "a", "joules"),
            row("Section 6.1", "all", "time"),
            row("Figure 1", "all", "time"),
        ];
        redraw(&mut page, &rows);
        let ids: Vec<&str> = page.figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "figure-1",
                "figure-1-beside",
                "figure-15a",
                "figure-15a-beside",
                "figure-15a-beside-2",
                "inputs",
                "elsewhere-beside"
            ]
        );
        let drawn = |figure: &Figure| figure.chart.as_ref().map_or(0, |chart| chart.categories.len());
        assert_eq!(page.figures.iter().map(drawn).sum::<usize>(), rows.len());
        let time = page.figures[3].chart.as_ref().expect("drawn");
        assert_eq!((time.axis.as_str(), time.categories.join(" ")), ("time", "a b c".to_owned()));
        assert_eq!(time.series[0].values, [Some(1.0); 3]);
    }
}
