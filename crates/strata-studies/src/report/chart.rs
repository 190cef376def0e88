//! Charts as SVG: bars in groups, or lines. Everything is drawn from the data; nothing is tuned to one of them.

use super::document::{Plot, PlotKind, PlotSeries};
use std::fmt::Write;

/// How values are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A group of bars for each category.
    Bars,
    /// A line for each series, categories in equal steps.
    Lines,
}

/// Values of one colour.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// A value for each category; none where there is none.
    pub values: Vec<Option<f64>>,
}

impl Series {
    /// True for numbers of a paper, which are drawn apart from what was measured here.
    fn is_theirs(&self) -> bool {
        self.name == "paper" || self.name.starts_with("paper ") || self.name.ends_with(", paper")
    }
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Bars or lines.
    pub kind: Kind,
    /// What the values are.
    pub axis: String,
    /// What stands below.
    pub categories: Vec<String>,
    /// The values.
    pub series: Vec<Series>,
    /// A line across at this value, such as 1 for ratios.
    pub baseline: Option<f64>,
}

/// Those of the page's script: colours that people with colour-blindness tell apart (Okabe and Ito), and more for long legends.
const COLOURS: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7f7f7f", "#5e3c99", "#8c510a",
    "#35978f", "#c51b7d",
];
/// What somebody else printed.
const THEIRS: &str = "#9aa0a6";

const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 34.0;
const BELOW: f64 = 96.0;
/// Of one bar.
const BAR: f64 = 11.0;

impl Chart {
    /// The chart as the page's script draws it; `below` is what the categories are.
    pub fn plot(&self, title: &str, below: &str) -> Plot {
        let series = |series: &Series| PlotSeries {
            theirs: series.is_theirs(),
            ..PlotSeries::new(series.name.clone(), series.values.clone())
        };
        Plot {
            kind: if self.kind == Kind::Bars { PlotKind::Bars } else { PlotKind::Lines },
            title: title.to_owned(),
            x: below.to_owned(),
            y: self.axis.clone(),
            categories: self.categories.clone(),
            series: self.series.iter().map(series).collect(),
            baseline: self.baseline,
            log: false,
        }
    }

    /// The chart as an SVG picture.
    pub fn svg(&self) -> String {
        let group = match self.kind {
            Kind::Bars => (self.series.len() as f64 * BAR + 14.0).max(34.0),
            Kind::Lines => 64.0,
        };
        let width = LEFT + group * self.categories.len() as f64 + 20.0;
        let width = width.max(LEFT + 24.0 + self.legend_width());
        let (low, high, step) = self.range();
        let y = |value: f64| TOP + HEIGHT * (1.0 - (value - low) / (high - low));
        let x = |k: usize| LEFT + group * (k as f64 + 0.5);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n",
            TOP + HEIGHT + BELOW
        );
        // Writing to a string cannot fail.
        let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>");
        let mut tick = low;
        while tick <= high + step / 2.0 {
            let at = y(tick);
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>",
                width - 10.0
            );
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 5.0,
                at + 4.0,
                number(tick, step)
            );
            tick += step;
        }
        let middle = TOP + HEIGHT / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"13\" y=\"{middle:.1}\" transform=\"rotate(-90 13 {middle:.1})\" text-anchor=\"middle\">{}</text>",
            escaped(&self.axis)
        );
        for ((s, series), colour) in self.series.iter().enumerate().zip(self.colours()) {
            match self.kind {
                Kind::Bars => {
                    let first = -(self.series.len() as f64) / 2.0;
                    for (k, value) in series.values.iter().enumerate() {
                        let Some(value) = value.filter(|v| v.is_finite()) else { continue };
                        let (top, bottom) = (y(value.clamp(low, high)), y(low.max(0.0f64.min(high))));
                        let left = x(k) + (first + s as f64) * BAR;
                        let _ = writeln!(
                            out,
                            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{}: {value:.4}</title></rect>",
                            top.min(bottom),
                            BAR - 1.0,
                            (bottom - top).abs().max(0.5),
                            escaped(&series.name)
                        );
                    }
                }
                Kind::Lines => {
                    let points: Vec<_> = series
                        .values
                        .iter()
                        .enumerate()
                        .filter_map(|(k, v)| v.map(|v| format!("{:.1},{:.1}", x(k), y(v.clamp(low, high)))))
                        .collect();
                    let _ = writeln!(
                        out,
                        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"><title>{}</title></polyline>",
                        points.join(" "),
                        escaped(&series.name)
                    );
                }
            }
        }
        if let Some(value) = self.baseline.filter(|v| (low..=high).contains(v)) {
            let at = y(value);
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"black\" stroke-dasharray=\"4 3\"/>",
                width - 10.0
            );
        }
        for (k, category) in self.categories.iter().enumerate() {
            let (at, below) = (x(k) + 4.0, TOP + HEIGHT + 12.0);
            let _ = writeln!(
                out,
                "<text x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"end\" transform=\"rotate(-45 {at:.1} {below:.1})\">{}</text>",
                escaped(category)
            );
        }
        self.legend(&mut out);
        out + "</svg>\n"
    }

    /// The colour of each series, as on a page.
    fn colours(&self) -> Vec<&'static str> {
        let mut own = COLOURS.iter().cycle();
        self.series.iter().map(|s| if s.is_theirs() { THEIRS } else { own.next().copied().unwrap_or(THEIRS) }).collect()
    }

    fn legend_width(&self) -> f64 {
        self.series.iter().map(|s| 26.0 + 6.5 * s.name.chars().count() as f64).sum()
    }

    fn legend(&self, out: &mut String) {
        let mut at = LEFT;
        for (series, colour) in self.series.iter().zip(self.colours()) {
            let _ = writeln!(out, "<rect x=\"{at:.1}\" y=\"10\" width=\"10\" height=\"10\" fill=\"{colour}\"/>");
            let _ = writeln!(out, "<text x=\"{:.1}\" y=\"19\">{}</text>", at + 14.0, escaped(&series.name));
            at += 26.0 + 6.5 * series.name.chars().count() as f64;
        }
    }

    /// The lowest and highest value on the axis, and the step between ticks: round numbers around the data. Bars begin at
    /// zero, and so do lines unless they go below.
    fn range(&self) -> (f64, f64, f64) {
        let values = || self.series.iter().flat_map(|s| s.values.iter().flatten().copied()).filter(|v| v.is_finite());
        let high = values().chain(self.baseline).fold(0.0, f64::max);
        let low = values().fold(0.0, f64::min);
        let span = if high > low { high - low } else { 1.0 };
        let magnitude = 10f64.powf((span / 5.0).log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|n| n * magnitude).into_iter().find(|step| span / step <= 6.0);
        let step = step.unwrap_or(10.0 * magnitude);
        let up = |value: f64| (value / step - 1e-9).ceil() * step;
        ((low / step).floor() * step, up(low + span), step)
    }
}

/// A tick's number, with the digits that its step needs.
fn number(value: f64, step: f64) -> String {
    let digits = (0..6).find(|&d| (step * 10f64.powi(d)).fract() < 1e-9).unwrap_or(6) as usize;
    format!("{value:.digits$}")
}

/// Text inside a document.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64]) -> Chart {
        Chart {
            kind: Kind::Bars,
            axis: "ratio".into(),
            categories: values.iter().map(|v| format!("<{v}>")).collect(),
            series: vec![Series { name: "a & b".into(), values: values.iter().map(|v| Some(*v)).collect() }],
            baseline: Some(1.0),
        }
    }

    #[track_caller]
    fn check(values: &[f64], low: f64, high: f64, step: f64) {
        let (l, h, s) = chart(values).range();
        assert!((l - low).abs() < 1e-9 && (h - high).abs() < 1e-9 && (s - step).abs() < 1e-9, "{l} {h} {s}");
    }

    #[test]
    fn axes_are_round_and_hold_all_values() {
        check(&[0.5, 1.0, 2.4], 0.0, 2.5, 0.5);
        check(&[0.012], 0.0, 1.0, 0.2);
        check(&[-3.0, 7.0], -4.0, 8.0, 2.0);
        check(&[], 0.0, 1.0, 0.2);
    }

    #[test]
    fn a_file_has_the_colours_of_the_page() {
        let script = include_str!("assets/report.js");
        assert!(COLOURS.iter().chain([&THEIRS]).all(|colour| script.contains(&format!("\"{colour}\""))));
        let series = |name: &str| Series { name: name.to_owned(), values: vec![Some(1.0)] };
        let chart = Chart { series: vec![series("cmd, paper"), series("cmd"), series("esd")], ..chart(&[1.0]) };
        assert_eq!(chart.colours(), [THEIRS, COLOURS[0], COLOURS[1]]);
    }

    #[test]
    fn names_are_text_and_nothing_else() {
        let svg = chart(&[1.0, f64::NAN]).svg();
        assert!(svg.contains("a &amp; b") && svg.contains("&lt;1&gt;") && !svg.contains("<1>"));
        assert!(!svg.contains("height=\"NaN\""));
    }
}
