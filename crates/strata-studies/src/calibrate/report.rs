//! A calibration as text for people and as JSON for scripts.

use super::{Calibration, Fitted};
use crate::validate::Row;
use serde_json::{Value, json};
use std::path::Path;
use strata_run::table::{Align, columns};

fn digits(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{}", (value * 100.0).round() / 100.0))
}

fn percent(row: &Row) -> String {
    row.error().map_or_else(|| "-".to_owned(), |error| format!("{:+.1} %", 100.0 * error))
}

fn row_json(row: &Row) -> Value {
    json!({ "name": row.name, "unit": row.unit, "silicon": row.silicon, "ours": row.ours, "error": row.error() })
}

impl Calibration {
    /// Everything, as `strata calibrate` prints it.
    pub fn table(&self) -> String {
        let headings = [
            ("parameter", Align::Left),
            ("before", Align::Right),
            ("after", Align::Right),
            ("row", Align::Left),
            ("unit", Align::Left),
            ("silicon", Align::Right),
            ("error before", Align::Right),
            ("after", Align::Right),
            ("", Align::Left),
        ];
        let line = |f: &Fitted| {
            vec![
                f.parameter.name.to_owned(),
                digits(Some(f.before)),
                digits(Some(f.after)),
                f.parameter.row.to_owned(),
                f.row_after.unit.to_owned(),
                digits(Some(f.row_after.silicon)),
                percent(&f.row_before),
                percent(&f.row_after),
                if f.at_bound { "at its bound" } else { "" }.to_owned(),
            ]
        };
        let fitted = columns(&headings, &self.parameters.iter().map(line).collect::<Vec<_>>());
        let headings = [
            ("rows that no parameter stands for", Align::Left),
            ("unit", Align::Left),
            ("silicon", Align::Right),
            ("ours", Align::Right),
            ("error", Align::Right),
        ];
        let line = |row: &Row| {
            vec![row.name.clone(), row.unit.to_owned(), digits(Some(row.silicon)), digits(row.ours), percent(row)]
        };
        let others = columns(&headings, &self.others.iter().map(line).collect::<Vec<_>>());
        format!("{} fitted to {}\n\n{fitted}\n{others}", self.gpu, self.card)
    }

    /// Everything for scripts; `preset`: where the GPU file was written.
    pub fn to_json(&self, preset: &Path) -> Value {
        let parameter = |f: &Fitted| {
            json!({
                "name": f.parameter.name,
                "before": f.before,
                "after": f.after,
                "bounds": [f.parameter.bounds.0, f.parameter.bounds.1],
                "at_bound": f.at_bound,
                "rows": [{ "before": row_json(&f.row_before), "after": row_json(&f.row_after) }],
            })
        };
        json!({
            "card": self.card,
            "gpu": self.gpu,
            "parameters": self.parameters.iter().map(parameter).collect::<Vec<_>>(),
            "others": self.others.iter().map(row_json).collect::<Vec<_>>(),
            "failures": self.failures,
            "preset": preset.display().to_string(),
        })
    }
}
