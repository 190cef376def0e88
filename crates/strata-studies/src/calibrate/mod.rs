//! A preset fitted to what a card measured: one parameter after another, each by the microbenchmark that shows it.
//!
//! Nothing is weighed against anything: a parameter has its row, is changed until the machine measures what the card did, and
//! stays within what hardware can have. Rows that no parameter stands for are shown with their error before and after, so that one
//! sees what the fit did not touch.

mod parameters;
mod report;

pub use parameters::{PARAMETERS, Parameter};

use crate::silicon::{MicroRow, Microbenchmarks};
use crate::validate::{Row, measure_microbenchmarks};
use std::fmt::Write;
use strata_run::{LabError, Step, gpus};

/// What to fit.
#[derive(Clone, Debug)]
pub struct CalibrateRequest {
    /// What the card measured.
    pub silicon: Microbenchmarks,
    /// The preset or file to begin with.
    pub gpu: String,
    /// Changes to it, `key=value`: what is known of the card.
    pub set: Vec<String>,
    /// The parameters that may change, by name; all if there are none.
    pub only: Vec<String>,
}

/// A parameter that was fitted.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    /// Which.
    pub parameter: Parameter,
    /// Its value in the preset.
    pub before: f64,
    /// Its value now.
    pub after: f64,
    /// Its row with the value before.
    pub row_before: Row,
    /// Its row with the value now.
    pub row_after: Row,
    /// It came to one of its bounds: the row wants what hardware cannot have, or something else is wrong.
    pub at_bound: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The card.
    pub card: String,
    /// The preset that it began with.
    pub gpu: String,
    /// What was fitted.
    pub parameters: Vec<Fitted>,
    /// Rows that no parameter stands for.
    pub others: Vec<Row>,
    /// Microbenchmarks that failed, with the reason.
    pub failures: Vec<String>,
    /// A GPU file with the values found and their sources.
    pub preset: String,
}

/// The machine measures the row within this share of the card: it is fitted.
const CLOSE: f64 = 0.002;
/// Measurements that a parameter gets.
const TRIES: usize = 6;

/// Fits a preset to what a card measured; `progress` is told before each parameter.
pub fn calibrate(request: &CalibrateRequest, progress: &mut dyn FnMut(Step<'_>)) -> Result<Calibration, LabError> {
    let unknown = request.only.iter().find(|name| !PARAMETERS.iter().any(|p| p.name == **name));
    if let Some(name) = unknown {
        let known: Vec<_> = PARAMETERS.iter().map(|p| p.name).collect();
        return Err(LabError::Request(format!("`{name}` is no parameter that can be fitted: {}", known.join(", "))));
    }
    let chosen = |p: &&Parameter| request.only.is_empty() || request.only.iter().any(|name| name == p.name);
    let row_of = |p: &Parameter| request.silicon.rows.iter().find(|row| row.micro == p.row).cloned();
    let jobs: Vec<_> = PARAMETERS.iter().filter(chosen).filter_map(|p| Some((*p, row_of(p)?))).collect();
    let mut set = request.set.clone();
    let mut failures = Vec::new();
    let mut fitted = Vec::new();
    for (done, (parameter, row)) in jobs.iter().enumerate() {
        progress(Step { done, of: jobs.len() + 1, left: None, name: parameter.name });
        let measure = |set: &[String], failures: &mut Vec<String>| one_row(request, set, row, failures);
        if let Some(found) = fit(&request.gpu, parameter, &mut set, &measure, &mut failures)? {
            fitted.push(found);
        }
    }
    progress(Step { done: jobs.len(), of: jobs.len() + 1, left: None, name: "rows that no parameter stands for" });
    let is_other = |row: &&MicroRow| !fitted.iter().any(|f: &Fitted| f.parameter.row == row.micro);
    let mut others = Vec::new();
    for row in request.silicon.rows.iter().filter(is_other) {
        others.extend(one_row(request, &set, row, &mut failures)?);
    }
    let preset = preset(request, &fitted);
    let (card, gpu) = (request.silicon.card.clone(), request.gpu.clone());
    Ok(Calibration { card, gpu, parameters: fitted, others, failures, preset })
}

/// One row of the card beside the machine with these changes.
fn one_row(
    request: &CalibrateRequest,
    set: &[String],
    row: &MicroRow,
    failures: &mut Vec<String>,
) -> Result<Option<Row>, LabError> {
    let table = Microbenchmarks { rows: vec![row.clone()], ..request.silicon.clone() };
    let gpu = gpus::gpu(&request.gpu, set)?.config;
    Ok(measure_microbenchmarks(gpu, &table, failures).pop())
}

type Measure<'a> = dyn Fn(&[String], &mut Vec<String>) -> Result<Option<Row>, LabError> + 'a;

/// Changes one parameter until its row is what the card measured; the last change stands in `set` then.
///
/// By secants: latencies answer a change one to one and rates nearly so, and one step after another is shortened by what the last
/// one did. The value whose row is closest wins.
fn fit(
    gpu: &str,
    parameter: &Parameter,
    set: &mut Vec<String>,
    measure: &Measure<'_>,
    failures: &mut Vec<String>,
) -> Result<Option<Fitted>, LabError> {
    let before = value_of(gpu, set, parameter.name)?;
    let with = |value: f64| [set.as_slice(), &[format!("{}={value}", parameter.name)]].concat();
    let Some(row_before) = measure(set, failures)? else { return Ok(None) };
    let Some(start) = row_before.ours else { return Ok(None) };
    let target = row_before.silicon;
    let mut tried = vec![(before, start)];
    let mut best = (before, row_before.clone());
    let off = |row: &Row| row.error().map_or(f64::INFINITY, f64::abs);
    while tried.len() < TRIES && off(&best.1) > CLOSE {
        let next = parameter.rounded(step(&tried, target));
        if tried.iter().any(|(value, _)| (value - next).abs() < 1e-9) {
            break;
        }
        let Some(row) = measure(&with(next), failures)? else { break };
        let Some(ours) = row.ours else { break };
        tried.push((next, ours));
        if off(&row) < off(&best.1) {
            best = (next, row);
        }
    }
    let (after, row_after) = best;
    if (after - before).abs() > 1e-9 {
        set.push(format!("{}={after}", parameter.name));
    }
    let at_bound = off(&row_after) > 0.05 && (after <= parameter.bounds.0 || after >= parameter.bounds.1);
    Ok(Some(Fitted { parameter: *parameter, before, after, row_before, row_after, at_bound }))
}

/// The next value to try: by the line through the last two values, at first by proportion.
fn step(tried: &[(f64, f64)], target: f64) -> f64 {
    match tried {
        [.., (x0, y0), (x1, y1)] if (y1 - y0).abs() > 1e-12 => x1 + (target - y1) * (x1 - x0) / (y1 - y0),
        [.., (x, y)] if *x == 0.0 || *y == 0.0 => x + target - y,
        // A row that grows with its parameter and one that shrinks both answer: the second step knows which it is.
        [.., (x, y)] => x + (target - y).clamp(-0.5 * x, *x),
        [] => target,
    }
}

impl Parameter {
    /// A value that it can have.
    fn rounded(&self, value: f64) -> f64 {
        let value = value.clamp(self.bounds.0, self.bounds.1);
        if self.whole { value.round() } else { (value * 100.0).round() / 100.0 }
    }
}

/// The value of a key of a machine.
fn value_of(gpu: &str, set: &[String], key: &str) -> Result<f64, LabError> {
    let text = gpus::gpu(gpu, set)?.config.to_toml();
    let table: toml::Table = text.parse().map_err(|e| LabError::Request(format!("{gpu}: {e}")))?;
    let mut at = &toml::Value::Table(table);
    for part in key.split('.') {
        let missing = || LabError::Request(format!("{gpu} has no `{key}`"));
        at = at.get(part).ok_or_else(missing)?;
    }
    let number = at.as_float().or_else(|| at.as_integer().map(|n| n as f64));
    number.ok_or_else(|| LabError::Request(format!("`{key}` of {gpu} is no number")))
}

/// A measured value without digits that mean nothing.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A GPU file that builds on the preset.
fn preset(request: &CalibrateRequest, fitted: &[Fitted]) -> String {
    let changed: Vec<_> = fitted.iter().filter(|f| (f.after - f.before).abs() > 1e-9).collect();
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = (|| {
        writeln!(out, "name = {}", quoted(&format!("{}-calibrated", request.gpu_name())))?;
        writeln!(out, "description = {}", quoted(&format!("{}, fitted by strata calibrate", request.silicon.card)))?;
        writeln!(out, "base = {}", quoted(&request.gpu))?;
        for change in &request.set {
            let (key, value) = change.split_once('=').unwrap_or((change, ""));
            let plain = value.parse::<f64>().is_ok() || matches!(value, "true" | "false") || value.starts_with('"');
            writeln!(out, "{} = {}", key.trim(), if plain { value.to_owned() } else { quoted(value) })?;
        }
        for f in &changed {
            writeln!(out, "{} = {}", f.parameter.name, f.after)?;
        }
        if !(changed.is_empty() && request.set.is_empty()) {
            writeln!(out, "\n[sources]")?;
        }
        for change in &request.set {
            let key = change.split('=').next().unwrap_or(change).trim();
            writeln!(out, "{} = \"given with --set\"", quoted(key))?;
        }
        for f in &changed {
            let Row { silicon, ours, .. } = &f.row_after;
            let says = format!(
                "{}: {} {} on {}; {} with this value ({})",
                f.parameter.row,
                hundredths(*silicon),
                f.row_after.unit,
                request.silicon.card,
                hundredths(ours.unwrap_or(f64::NAN)),
                request.silicon.source,
            );
            writeln!(out, "{} = {}", quoted(f.parameter.name), quoted(&says))?;
        }
        std::fmt::Result::Ok(())
    })();
    out
}

impl CalibrateRequest {
    /// The name of the machine without folders and ending.
    fn gpu_name(&self) -> &str {
        let file = self.gpu.rsplit('/').next().unwrap_or(&self.gpu);
        file.strip_suffix(".toml").unwrap_or(file)
    }
}

#[cfg(test)]
mod tests;
