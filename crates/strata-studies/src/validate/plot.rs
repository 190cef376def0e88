//! Our cycles against silicon's, both axes logarithmic, as an SVG picture: a point on the line is right, a point between the dashed
//! lines within a factor of two.

use std::fmt::Write;

/// A point of the plot.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) name: String,
    /// Which colour it has.
    pub(super) series: usize,
    pub(super) silicon: f64,
    pub(super) ours: f64,
}

/// Colours that people with colour-blindness tell apart (Okabe and Ito).
const COLOURS: [&str; 4] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"];
const SIDE: f64 = 420.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 30.0;

/// The powers of ten that all points lie between.
fn decades(points: &[Point]) -> Option<(i32, i32)> {
    let all = points.iter().flat_map(|p| [p.silicon, p.ours]).filter(|v| *v > 0.0);
    let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    (high > 0.0).then(|| {
        let low = low.log10().floor() as i32;
        (low, (high.log10().ceil() as i32).max(low + 1))
    })
}

/// The picture; `None` if there is no point. `names` are those of the series.
pub(super) fn svg(points: &[Point], names: &[&str]) -> Option<String> {
    let (low, high) = decades(points)?;
    let place = |value: f64| (value.log10() - f64::from(low)) / f64::from(high - low) * SIDE;
    let (x, y) = (|v: f64| LEFT + place(v), |v: f64| TOP + SIDE - place(v));
    let (width, height) = (LEFT + SIDE + 20.0, TOP + SIDE + 50.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    // Writing to a string cannot fail.
    let _ = (|| {
        for decade in low..=high {
            let (value, label) = (10f64.powi(decade), format!("10<tspan dy=\"-4\" font-size=\"8\">{decade}</tspan>"));
            let (across, up) = (x(value), y(value));
            let (right, bottom) = (LEFT + SIDE, TOP + SIDE);
            writeln!(
                out,
                "<line x1=\"{across:.1}\" x2=\"{across:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#ddd\"/>"
            )?;
            writeln!(out, "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{up:.1}\" y2=\"{up:.1}\" stroke=\"#ddd\"/>")?;
            writeln!(out, "<text x=\"{across:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>", bottom + 16.0)?;
            writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 6.0, up + 4.0)?;
        }
        let (first, last) = (10f64.powi(low), 10f64.powi(high));
        for (factor, dashes) in [(1.0, ""), (2.0, " stroke-dasharray=\"4 3\""), (0.5, " stroke-dasharray=\"4 3\"")] {
            // The part of the line that lies in the picture.
            let (from, to) = (first.max(first / factor), last.min(last / factor));
            let ends = [x(from), y(from * factor), x(to), y(to * factor)].map(|v| format!("{v:.1}"));
            let [x1, y1, x2, y2] = ends;
            writeln!(out, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#888\"{dashes}/>")?;
        }
        for point in points.iter().filter(|p| p.silicon > 0.0 && p.ours > 0.0) {
            let colour = COLOURS[point.series % COLOURS.len()];
            let (across, up) = (x(point.silicon), y(point.ours));
            let name = point.name.replace('&', "&amp;").replace('<', "&lt;");
            writeln!(
                out,
                "<circle cx=\"{across:.1}\" cy=\"{up:.1}\" r=\"4\" fill=\"{colour}\" fill-opacity=\"0.75\"><title>{name}: {:.0} of {:.0}</title></circle>",
                point.ours, point.silicon
            )?;
        }
        for (k, name) in names.iter().enumerate() {
            let at = LEFT + 8.0 + 200.0 * k as f64;
            writeln!(out, "<circle cx=\"{at}\" cy=\"14\" r=\"4\" fill=\"{}\"/>", COLOURS[k % COLOURS.len()])?;
            writeln!(out, "<text x=\"{}\" y=\"18\">{name}</text>", at + 10.0)?;
        }
        let (middle, below) = (LEFT + SIDE / 2.0, TOP + SIDE + 38.0);
        writeln!(out, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">cycles of the card</text>")?;
        let side = TOP + SIDE / 2.0;
        writeln!(
            out,
            "<text x=\"16\" y=\"{side}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {side})\">our cycles</text>"
        )?;
        std::fmt::Result::Ok(())
    })();
    Some(out + "</svg>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(silicon: f64, ours: f64) -> Point {
        Point { name: "a<b".into(), series: 0, silicon, ours }
    }

    #[test]
    fn whole_decades_hold_all_points() {
        assert_eq!(decades(&[point(5_200.0, 130_000.0)]), Some((3, 6)));
        assert_eq!(decades(&[point(1_000.0, 1_000.0)]), Some((3, 4)));
        assert_eq!(decades(&[]), None);
    }

    #[test]
    fn a_right_value_lies_on_the_diagonal() {
        let picture = svg(&[point(1e4, 1e4), point(1e4, 1e5)], &["kernels"]).expect("two points");
        // One decade of one: the first at the lower left corner, the second straight above it.
        let at = |x: f64, y: f64| format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"");
        assert!(picture.contains(&at(LEFT, TOP + SIDE)) && picture.contains(&at(LEFT, TOP)), "{picture}");
        assert!(picture.contains("a&lt;b: 100000 of 10000"));
        assert_eq!(svg(&[], &[]), None);
    }
}
