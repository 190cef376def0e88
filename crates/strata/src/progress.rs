//! A line on the terminal while a program runs: how far it is, when it will be done, how fast it goes.

use crate::caller::Caller;
use crate::output;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use strata_lab::table::{grouped, short};
use strata_lab::{Monitor, Step};

/// How often the line is drawn anew.
const TICK: Duration = Duration::from_millis(100);
/// How often a series writes a line where there is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(30);
/// How soon it writes the first one.
const FIRST_LOG: Duration = Duration::from_secs(5);

/// Begins to show how far a run is; hidden unless standard error is a terminal.
pub(crate) fn show(bar: &ProgressBar, name: &str, monitor: &Arc<Monitor>) {
    if let Some(caller) = Caller::here() {
        return caller.watch_run(name, monitor);
    }
    let monitor = Arc::clone(monitor);
    // The template is fixed, so it parses; should it ever not, the default line is shown.
    let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}  {state}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("state", move |_: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&state(&monitor));
        });
    bar.set_style(style);
    // The line must fit a terminal of 80 columns: of a path, the name alone.
    let name = Path::new(name).file_name().unwrap_or_default();
    bar.set_message(name.to_string_lossy().into_owned());
    bar.enable_steady_tick(TICK);
}

/// A line for a series of programs: how many are done, which one runs, and how long the rest will take. Where standard error
/// is no terminal, such as in the log of a batch job, a line of its own every now and then.
pub(crate) struct Series {
    caller: Option<Arc<Caller>>,
    bar: ProgressBar,
    began: Instant,
    told: Instant,
    /// When the last program is expected to end; the line counts down to it.
    end: Arc<Mutex<Option<Instant>>>,
}

impl Series {
    /// Begins to show the line.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let (caller, end) = (Caller::here(), Arc::new(Mutex::new(None)));
        if caller.is_some() {
            return Self { caller, bar: ProgressBar::hidden(), began: now, told: now, end };
        }
        let bar = ProgressBar::new(0);
        let shown = Arc::clone(&end);
        let style = ProgressStyle::with_template("{spinner} {pos} of {len}  {elapsed}  {msg}{left}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("left", move |_: &ProgressState, out: &mut dyn Write| {
            let end: Option<Instant> = *shown.lock().unwrap_or_else(PoisonError::into_inner);
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let _ = out.write_str(&words(left));
        }));
        bar.enable_steady_tick(TICK);
        // The clock of a computer that has just started may not reach back so far.
        let told = now.checked_sub(LOG_INTERVAL.saturating_sub(FIRST_LOG)).unwrap_or(now);
        Self { caller, bar, began: now, told, end }
    }

    /// The program of a step begins.
    pub(crate) fn begins(&mut self, step: &Step<'_>) {
        let Step { done, of, left, name } = *step;
        let now = Instant::now();
        if done == 0 {
            // Another part of the series, with its own pace.
            self.began = now;
        }
        let left = left.or_else(|| remaining(now - self.began, done, of));
        if let Some(caller) = &self.caller {
            let share = (of > 0).then(|| done as f64 / of as f64);
            caller.watch_step(format!("{done} of {of}{}: {name}", words(left)), share);
        } else if !self.bar.is_hidden() {
            *self.end.lock().unwrap_or_else(PoisonError::into_inner) = left.map(|left| now + left);
            self.bar.set_length(of as u64);
            self.bar.set_position(done as u64);
            self.bar.set_message(name.to_owned());
        } else if self.told.elapsed() >= LOG_INTERVAL {
            self.told = now;
            output::message(&format!("{done} of {of}{}: {name}\n", words(left)));
        }
    }
}

/// `, 20 s left`; nothing where nobody knows, or where it should have ended.
fn words(left: Option<Duration>) -> String {
    let left = left.filter(|left| left.as_secs() > 0);
    left.map_or_else(String::new, |left| format!(", {} left", short_time(left)))
}

impl Drop for Series {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How long the rest of a series takes if it goes on as so far.
fn remaining(elapsed: Duration, done: usize, of: usize) -> Option<Duration> {
    let left = of.checked_sub(done)?;
    (done > 0).then(|| elapsed.mul_f64(left as f64 / done as f64))
}

/// A line for files that are read: how much of all, when it will be done, and which file it is.
pub(crate) struct Reading {
    caller: Option<Arc<Caller>>,
    bar: ProgressBar,
}

impl Reading {
    /// Begins to show the line; hidden unless standard error is a terminal.
    pub(crate) fn new() -> Self {
        let caller = Caller::here();
        if caller.is_some() {
            return Self { caller, bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{spinner} {percent} % of {binary_total_bytes}, {eta} left  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(TICK);
        Self { caller, bar }
    }

    /// Of all bytes so many were read, the last of them from this file.
    pub(crate) fn show(&self, done: u64, of: u64, file: &Path) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if let Some(caller) = &self.caller {
            return caller.watch_step(name.into_owned(), (of > 0).then(|| done as f64 / of as f64));
        }
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_length(of);
        self.bar.set_position(done);
        if self.bar.message() != name {
            self.bar.set_message(name.into_owned());
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What the line says of the run.
pub(crate) fn state(monitor: &Monitor) -> String {
    let (launches, seconds) = (monitor.launches(), monitor.launch_seconds());
    if seconds == 0.0 {
        return "preparing inputs".to_owned();
    }
    let rate = short(monitor.thread_instructions() as f64 / seconds.max(1e-3));
    let speed = format!("{rate} instructions per second");
    let Some((expected, share)) = monitor.expected_launches().zip(monitor.share()) else {
        // The program does not know when it will be done.
        let left = monitor.remaining_of_launch().map_or_else(String::new, |d| format!(", {} left", short_time(d)));
        let (share, number) = (monitor.running_share() * 100.0, grouped(launches + 1));
        return format!("{share:.0} % of launch {number} ({}){left}, {speed}", short_name(&monitor.kernel()));
    };
    if launches >= expected {
        return "checking the result".to_owned();
    }
    let left = monitor.remaining().map_or_else(String::new, |d| format!(", {} left", short_time(d)));
    format!("{:.0} %{left}, launch {} of {}, {speed}", share * 100.0, grouped(launches + 1), grouped(expected))
}

/// The line must fit: of a long name its beginning.
fn short_name(name: &str) -> &str {
    const LONGEST: usize = 24;
    name.char_indices().nth(LONGEST).map_or(name, |(end, _)| &name[..end])
}

/// `8 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn short_time(duration: Duration) -> String {
    match duration.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_long_as_they_need_to_be() {
        let shown = |seconds| short_time(Duration::from_secs(seconds));
        assert_eq!([shown(0), shown(59), shown(200), shown(7500)], ["0 s", "59 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn a_series_is_expected_to_go_on_as_it_did() {
        let after = |done, of| remaining(Duration::from_secs(10), done, of).map(|d| d.as_secs());
        assert_eq!([after(0, 5), after(2, 4), after(4, 4), after(5, 4)], [None, Some(10), Some(0), None]);
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(short_name("_Z3add"), "_Z3add");
        assert_eq!(short_name(&"é".repeat(30)), "é".repeat(24));
    }

    #[test]
    fn before_the_first_launch_inputs_are_made() {
        assert_eq!(state(&Monitor::default()), "preparing inputs");
    }
}
