//! A line on the terminal while a program runs: launches and instructions so far, and how fast.

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use strata_lab::Monitor;
use strata_lab::table::{grouped, short};

/// How often the line is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// Begins to show how far a run is; hidden unless standard error is a terminal.
pub(crate) fn show(bar: &ProgressBar, name: &str, monitor: &Arc<Monitor>) {
    let (launches, executed, rate) = (Arc::clone(monitor), Arc::clone(monitor), Arc::clone(monitor));
    let template = "{spinner} {msg}  {launches} launches  {executed} instructions  {rate} per second  {elapsed}";
    // The template is fixed, so it parses; should it ever not, the default line is shown.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    let style = style
        .with_key("launches", move |_: &ProgressState, out: &mut dyn Write| {
            let expected = launches.expected_launches().map(|n| format!(" of {}", grouped(n))).unwrap_or_default();
            let _ = write!(out, "{}{expected}", grouped(launches.launches()));
        })
        .with_key("executed", move |_: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&short(executed.thread_instructions() as f64));
        })
        .with_key("rate", move |state: &ProgressState, out: &mut dyn Write| {
            let seconds = state.elapsed().as_secs_f64().max(1e-3);
            let _ = out.write_str(&short(rate.thread_instructions() as f64 / seconds));
        });
    bar.set_style(style);
    bar.set_message(name.to_owned());
    bar.enable_steady_tick(TICK);
}
