//! What a run tells while it runs: how far it is, what the device program prints, what looks suspicious.

use crate::ptx_check::plural;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use strata_host::{Around, Engine, HostError, HostEvent, Launch, LaunchReport};

/// A loop can find the same fault in every round; nobody reads more warnings than this.
const MOST_WARNINGS: usize = 200;

/// Below this share of the work its duration cannot be estimated.
const LEAST_SHARE: f64 = 0.01;

/// Where the device program's output goes.
type Printed = dyn Fn(&[u8]) + Send + Sync;

/// A way to end what runs before its end. Whoever has a clone may ask for it; what runs leaves when it next says how far it is.
///
/// It leaves by unwinding, as after a panic but without a message: there is no result, folders that were begun go, and whoever gave
/// the sign catches it. A run has many places at which it could end, and no other reason to tell each of them.
#[derive(Clone, Debug, Default)]
pub struct StopSign(Arc<AtomicBool>);

impl StopSign {
    /// Asks everything that has a clone of this to end.
    pub fn give(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once somebody asked.
    pub fn is_given(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For what runs: ends it if somebody asked.
    pub fn obey(&self) {
        if self.is_given() {
            resume_unwind(Box::new(Abandoned("it was stopped".to_owned())));
        }
    }
}

/// What a run unwinds with that ends before its end: because it was stopped, or because a part of its machine that is not ours gave
/// up. The text says why.
pub struct Abandoned(pub String);

/// The line from the engine to whoever watches. Its counters are for progress bars and no part of any result.
pub struct Monitor {
    launches: AtomicU64,
    expected: AtomicU64,
    finished: AtomicU64,
    running: AtomicU64,
    share: AtomicU64,
    /// Inside launches that have ended.
    nanoseconds: AtomicU64,
    /// When the running launch began, in nanoseconds after `made`; 0 if none runs.
    began: AtomicU64,
    made: Instant,
    /// The kernel of the running launch, or of the last.
    kernel: Mutex<String>,
    warnings: Mutex<Vec<String>>,
    /// Reads outside every allocation that were let through, with how many there were.
    forgiven: Mutex<BTreeMap<String, u64>>,
    printed: Box<Printed>,
    stop: StopSign,
}

/// A monitor that drops what the device program prints.
impl Default for Monitor {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl Monitor {
    /// A monitor that hands what the device program prints to `printed`.
    pub fn new(printed: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self {
            launches: AtomicU64::new(0),
            expected: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            running: AtomicU64::new(0),
            share: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
            began: AtomicU64::new(0),
            made: Instant::now(),
            kernel: Mutex::default(),
            warnings: Mutex::default(),
            forgiven: Mutex::default(),
            printed: Box::new(printed),
            stop: StopSign::default(),
        }
    }

    /// The same, of a run that can be stopped.
    #[must_use]
    pub fn stopped_by(self, stop: StopSign) -> Self {
        Self { stop, ..self }
    }

    /// For engines: the device program printed `bytes`, which need not be UTF-8.
    pub fn print(&self, bytes: &[u8]) {
        (self.printed)(bytes);
    }

    /// For engines: something looks wrong but does not stop the program.
    pub fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.len() < MOST_WARNINGS && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// For engines: an instruction has read outside every allocation so often, and was let through; `read` is the first time.
    pub fn forgive(&self, read: &str, count: u64) {
        let mut forgiven = self.forgiven.lock().unwrap_or_else(PoisonError::into_inner);
        if forgiven.len() < MOST_WARNINGS || forgiven.contains_key(read) {
            forgiven.insert(read.to_owned(), count);
        }
    }

    /// The warnings so far, each once.
    pub fn warnings(&self) -> Vec<String> {
        let forgiven = self.forgiven.lock().unwrap_or_else(PoisonError::into_inner);
        let told = forgiven.iter().map(|(read, count)| {
            let reads = plural(*count as usize, "read");
            format!("{read}\n   = {reads} of this instruction outside every allocation got what lies there (--lenient)")
        });
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().chain(told).collect()
    }

    /// What was warned of so far is about an execution that prepared the run: a run whose mechanisms find what an earlier one kept does
    /// not make it, and has the same result.
    pub(crate) fn forget_warnings(&self) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.forgiven.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Launches that came to their end.
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }

    /// Launches there will be, if the program says so beforehand.
    pub fn expected_launches(&self) -> Option<u64> {
        Some(self.expected.load(Ordering::Relaxed)).filter(|&n| n > 0)
    }

    /// The share of the program that is done, 0 to 1, counting every launch alike; `None` if the program did not say how
    /// many launches there will be.
    pub fn share(&self) -> Option<f64> {
        let expected = self.expected_launches()? as f64;
        Some(((self.launches() as f64 + self.running_share()) / expected).min(1.0))
    }

    /// How long the launches that are left will take if they go on as those so far; `None` as long as that is a guess.
    pub fn remaining(&self) -> Option<Duration> {
        let share = self.share().filter(|share| *share >= LEAST_SHARE)?;
        Duration::try_from_secs_f64(self.launch_seconds() * (1.0 - share) / share).ok()
    }

    pub(crate) fn expect_launches(&self, count: u64) {
        self.expected.store(count, Ordering::Relaxed);
    }

    /// Thread instructions so far: those of finished launches, and what the engine told of the one that runs.
    pub fn thread_instructions(&self) -> u64 {
        self.finished.load(Ordering::Relaxed) + self.running.load(Ordering::Relaxed)
    }

    /// For engines: the launch that runs has executed `count` thread instructions, and `share` of it (0 to 1) is done. Does not
    /// return if the run is to stop.
    pub fn set_running(&self, count: u64, share: f64) {
        self.stop.obey();
        self.running.store(count, Ordering::Relaxed);
        self.share.store(share.to_bits(), Ordering::Relaxed);
    }

    /// The share of the running launch that is done, 0 to 1.
    pub fn running_share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }

    /// Wall-clock time inside launches so far.
    pub fn launch_seconds(&self) -> f64 {
        let running = match self.began.load(Ordering::Relaxed) {
            0 => 0,
            began => self.now().saturating_sub(began),
        };
        (self.nanoseconds.load(Ordering::Relaxed) + running) as f64 / 1e9
    }

    /// Nanoseconds since the monitor was made, never 0.
    fn now(&self) -> u64 {
        self.made.elapsed().as_nanos() as u64 | 1
    }

    /// The kernel of the running launch, or of the last.
    pub fn kernel(&self) -> String {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How long the running launch will take if it goes on as so far; `None` as long as that is a guess.
    pub fn remaining_of_launch(&self) -> Option<Duration> {
        let (share, began) = (self.running_share(), self.began.load(Ordering::Relaxed));
        let spent = Duration::from_nanos(self.now().saturating_sub(began)).as_secs_f64();
        let known = share >= LEAST_SHARE && began > 0;
        known.then(|| Duration::try_from_secs_f64(spent * (1.0 - share) / share).ok())?
    }

    pub(crate) fn launch_began(&self, kernel: &str) {
        self.stop.obey();
        kernel.clone_into(&mut self.kernel.lock().unwrap_or_else(PoisonError::into_inner));
        self.began.store(self.now(), Ordering::Relaxed);
    }

    pub(crate) fn launch_ended(&self) {
        let began = self.began.swap(0, Ordering::Relaxed);
        self.nanoseconds.fetch_add(self.now().saturating_sub(began), Ordering::Relaxed);
        self.set_running(0, 0.0);
    }

    pub(crate) fn count_launch(&self, thread_instructions: u64) {
        self.finished.fetch_add(thread_instructions, Ordering::Relaxed);
        self.launches.fetch_add(1, Ordering::Relaxed);
    }
}

/// How far a series of programs is: `name` begins, after `done` of `of`.
pub struct Step<'a> {
    /// Programs that have ended.
    pub done: usize,
    /// Programs in the series.
    pub of: usize,
    /// How long the rest will take, if that is told by more than their number.
    pub left: Option<std::time::Duration>,
    /// Name of the program that begins now.
    pub name: &'a str,
}

/// An engine that moves the monitor's counters at the end of each launch.
pub struct Monitored {
    /// The engine that executes.
    pub engine: Box<dyn Engine>,
    /// The monitor whose counters are moved.
    pub monitor: Arc<Monitor>,
}

impl Around for Monitored {
    fn inside(&self) -> &dyn Engine {
        &*self.engine
    }

    fn inside_mut(&mut self) -> &mut dyn Engine {
        &mut *self.engine
    }

    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
        self.monitor.launch_began(&launch.kernel);
        let report = self.engine.launch(launch);
        self.monitor.launch_ended();
        if let Ok(report) = &report {
            self.monitor.count_launch(report.counts.thread_instructions());
        }
        report
    }

    fn hear(&mut self, event: &HostEvent) {
        if let HostEvent::Announce { launches } = event {
            self.monitor.expect_launches(*launches);
        }
        self.engine.hear(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_kept_once_each_and_not_without_end() {
        let monitor = Monitor::default();
        for round in 0..MOST_WARNINGS * 2 {
            monitor.warn(format!("line {}", round / 2));
        }
        monitor.warn("one more".into());
        assert_eq!(monitor.warnings().len(), MOST_WARNINGS);
        assert_eq!(monitor.warnings()[1], "line 1");
    }

    #[test]
    fn a_run_that_is_to_stop_unwinds_where_it_tells_how_far_it_is() {
        let stop = StopSign::default();
        let monitor = Monitor::default().stopped_by(stop.clone());
        monitor.set_running(10, 0.5);
        stop.give();
        let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| monitor.set_running(20, 0.6)));
        assert!(left.is_err_and(|why| why.is::<Abandoned>()));
        assert_eq!(monitor.thread_instructions(), 10);
    }

    #[test]
    fn the_share_counts_launches_and_the_part_of_the_running_one() {
        let monitor = Monitor::default();
        monitor.set_running(10, 0.5);
        assert_eq!((monitor.share(), monitor.remaining()), (None, None));
        monitor.expect_launches(4);
        assert_eq!(monitor.share(), Some(0.125));
        monitor.launch_began("k");
        assert_eq!((monitor.kernel().as_str(), monitor.remaining_of_launch().is_some()), ("k", true));
        monitor.launch_ended();
        monitor.count_launch(20);
        monitor.set_running(10, 0.5);
        assert_eq!((monitor.share(), monitor.thread_instructions()), (Some(0.375), 30));
        let (spent, left) = (monitor.launch_seconds(), monitor.remaining().map(|d| d.as_secs_f64()));
        assert!(left.is_some_and(|left| (left - spent * 5.0 / 3.0).abs() < 1e-6), "{spent} {left:?}");
    }
}
