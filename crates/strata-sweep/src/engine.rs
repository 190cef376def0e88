//! Carries out the points that a store does not have, on the cores of this machine.

use crate::points::{Point, Points};
use crate::record::Record;
use crate::sharing::{ROOM, Sharing, Way};
use crate::store::Store;
use serde_json::Value;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_run::run::Found;
use strata_run::{Abandoned, LabError, Monitor, RunRequest, RunResult, StopSign, stopwatch};

/// How far a sweep is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Points that ran now and have a result.
    pub done: usize,
    /// Points that had one already.
    pub reused: usize,
    /// Points that have none, or a result that says why the program failed.
    pub failed: usize,
    /// All points.
    pub of: usize,
    /// The point that was begun last.
    pub running: String,
    /// Points that did without the host side of their program what another had done with it.
    pub shared: usize,
    /// CPU time of the points that ran now.
    pub cpu_seconds: f64,
    /// CPU time that it would have been more, had they not shared: what the host took in those that others shared it with.
    pub spared_seconds: f64,
}

impl Progress {
    /// How many times as fast the points were as they would have been alone.
    pub fn factor(&self) -> f64 {
        if self.cpu_seconds > 0.0 { (self.cpu_seconds + self.spared_seconds) / self.cpu_seconds } else { 1.0 }
    }
}

/// A point that failed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The point's number in the plan.
    pub number: usize,
    /// What people call it.
    pub name: String,
    /// Why there is no result, or what is wrong with it.
    pub message: String,
}

/// Runs every point of these numbers that has no result, `jobs` at once, and tells how far it is as points begin and end. Points
/// that share work (`sharing.rs`) run one after the other, whatever the order of the numbers. An error of one point
/// stops no other; a store that cannot be written stops the sweep, and so does somebody who gives the sign: then it unwinds.
pub fn local(
    points: &Points<'_>,
    numbers: &[usize],
    store: &Store,
    jobs: usize,
    stop: &StopSign,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Progress, LabError> {
    let (sharing, numbers) = Sharing::of(points, numbers);
    let next = AtomicUsize::new(0);
    let state = Mutex::new((Progress { of: numbers.len(), ..Progress::default() }, tell));
    let stopped: Mutex<Option<LabError>> = Mutex::new(None);
    let change = |what: &dyn Fn(&mut Progress)| {
        let mut state = lock(&state);
        let (progress, tell) = &mut *state;
        what(progress);
        tell(progress);
    };
    let worker = || {
        while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
            if lock(&stopped).is_some() || stop.is_given() {
                return;
            }
            let point = points.point(*number);
            let way = sharing.begins(&point);
            if let Some(record) = store.record(&point.key) {
                let has_failed = record.failure().is_some();
                change(&|progress| *(if has_failed { &mut progress.failed } else { &mut progress.reused }) += 1);
                continue;
            }
            change(&|progress| progress.running = point.name());
            let ran = run(&point, &way, &sharing, store, stop);
            sharing.ended();
            match ran {
                Ok(ended) => change(&|progress| {
                    *(if ended.has_failed { &mut progress.failed } else { &mut progress.done }) += 1;
                    progress.shared += usize::from(ended.shared);
                    progress.cpu_seconds += ended.cpu_seconds;
                    progress.spared_seconds += ended.spared_seconds;
                }),
                Err(error) => {
                    lock(&stopped).get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(numbers.len()).max(1) {
            scope.spawn(worker);
        }
    });
    store.tidy();
    stop.obey();
    match stopped.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(state.into_inner().unwrap_or_else(PoisonError::into_inner).0),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A point that ran.
#[derive(Default)]
struct Ended {
    has_failed: bool,
    /// CPU time that it took, and its host of that.
    cpu_seconds: f64,
    host_seconds: f64,
    /// It shared the work of another's host.
    shared: bool,
    /// CPU time that its host would have taken more alone; less than nothing if sharing was tried in vain.
    spared_seconds: f64,
}

/// Runs a point and keeps its result, or why it has none. An error is about the store.
fn run(point: &Point, way: &Way, sharing: &Sharing, store: &Store, stop: &StopSign) -> Result<Ended, LabError> {
    let mut in_vain = 0.0;
    if let Way::Again(work, seconds) = way {
        let again = |found: Found<'_>, folder: &Path, monitor: &Arc<Monitor>| found.run_again(folder, monitor, work);
        let (ended, took) = stopwatch::timed(|| attempt(point, store, stop, again));
        if let Some(ended) = ended? {
            return Ok(Ended {
                shared: true,
                spared_seconds: seconds.map_or(0.0, |seconds| seconds - ended.host_seconds),
                ..ended
            });
        }
        sharing.differs(point);
        in_vain = took.cpu.as_secs_f64();
    }
    let ended = attempt(point, store, stop, |found, folder, monitor| match way {
        Way::Keep { is_cold } => {
            let (result, work) = found.run_keeping(folder, monitor, ROOM)?;
            sharing.kept(point, work, (!is_cold).then_some(result.host.host_cpu_seconds));
            Ok(Some(result))
        }
        Way::Measure => {
            let result = found.run_in(folder, monitor)?;
            sharing.measured(point, result.host.host_cpu_seconds);
            Ok(Some(result))
        }
        Way::Alone | Way::Again(..) => found.run_in(folder, monitor).map(Some),
    })?;
    let ended = ended.unwrap_or_default();
    Ok(Ended { cpu_seconds: ended.cpu_seconds + in_vain, spared_seconds: -in_vain, ..ended })
}

/// Tries to run a point in a way, and keeps what comes of it; `None` if nothing does, since it cannot be run so.
fn attempt(
    point: &Point,
    store: &Store,
    stop: &StopSign,
    how: impl FnOnce(Found<'_>, &Path, &Arc<Monitor>) -> Result<Option<RunResult>, LabError>,
) -> Result<Option<Ended>, LabError> {
    let folder = store.begin(&point.key)?;
    let monitor = Arc::new(Monitor::default().stopped_by(stop.clone()));
    // A mistake of ours in one point is no reason to lose the others.
    let ran = catch_unwind(AssertUnwindSafe(|| how(Found::new(&point.request)?, folder.path(), &monitor)));
    let message = match ran {
        Ok(Ok(None)) => return Ok(None),
        Ok(Ok(Some(result))) => {
            let record = Record::of(&result);
            store.commit(&point.key, folder, &record, None)?;
            store.note_time(&point.request, record.seconds());
            let (has_failed, host_seconds) = (record.failure().is_some(), result.host.host_cpu_seconds);
            let cpu_seconds = host_seconds + result.host.launch_cpu_seconds;
            return Ok(Some(Ended { has_failed, cpu_seconds, host_seconds, ..Ended::default() }));
        }
        Ok(Err(error)) if is_of_the_disk(&error) => return Err(error),
        Ok(Err(error)) => error.to_string(),
        Err(_) if stop.is_given() => return Ok(Some(Ended { has_failed: true, ..Ended::default() })),
        Err(panic) if panic.is::<Abandoned>() => {
            panic.downcast_ref::<Abandoned>().map(|why| why.0.clone()).unwrap_or_default()
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            format!("the simulator itself failed, which is a mistake in it: {text}")
        }
    };
    store.note_failure(&point.key, &message)?;
    Ok(Some(Ended { has_failed: true, ..Ended::default() }))
}

/// All of the result of a request: from the store if it is there, else by running it now. What mechanisms find out beforehand is
/// kept in the store, too, whatever the request says. An error of the program is a result.
pub fn result(request: RunRequest, store: &Store, stop: &StopSign) -> Result<Value, LabError> {
    let request = RunRequest { out: Some(store.root().to_owned()), ..request };
    let found = Found::new(&request)?;
    let key = found.about().key();
    if let Some(result) = store.result(&key) {
        return Ok(result);
    }
    let folder = store.begin(&key)?;
    let monitor = Arc::new(Monitor::default().stopped_by(stop.clone()));
    let result = found.run_in(folder.path(), &monitor)?;
    let record = Record::of(&result);
    store.commit(&key, folder, &record, Some(&result.to_json()))?;
    store.note_time(&request, record.seconds());
    store.result(&key).ok_or_else(|| {
        LabError::Request(format!("the result of {key} is gone from {}: run it again", store.root().display()))
    })
}

/// True for errors that every point would have.
fn is_of_the_disk(error: &LabError) -> bool {
    let kinds = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::ReadOnlyFilesystem];
    matches!(error, LabError::Io { source, .. } if kinds.contains(&source.kind()))
}

/// The points that failed, in the order of the plan: what their result says, or why they have none.
pub fn failures(points: &Points<'_>, store: &Store) -> Vec<Failure> {
    let failure = |point: Point| {
        let message = match store.record(&point.key) {
            Some(record) => record.failure()?,
            None => store.failure(&point.key).unwrap_or_else(|| "it did not run".to_owned()),
        };
        Some(Failure { number: point.number, name: point.name(), message })
    };
    points.iter().filter_map(failure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanFile;
    use std::collections::BTreeMap;
    use strata_mechanism::Registry;

    /// What a store has of points, without the seconds that they took.
    fn kept(store: &Store, points: &Points<'_>) -> BTreeMap<usize, Value> {
        let record = |number| {
            let text = store.record(&points.key(number)).expect("a result").text();
            let mut record: Value = serde_json::from_str(&text).expect("JSON");
            record.as_object_mut().expect("an object").remove("host").expect("the seconds");
            (number, record)
        };
        (0..points.len()).map(record).collect()
    }

    /// Runs a plan with everything shared that can be, and point by point; how many shared.
    #[track_caller]
    fn check(programs: &str, jobs: usize) -> usize {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plan.toml");
        let settings = "gpu = 'titan-v'\nseeds = [1, 2]\n[grid]\nsm.count = [4, 40]\nl2.latency = [100, 200]\n";
        std::fs::write(&path, format!("programs = {programs}\nsizes = 'tiny'\n{settings}")).expect("written");
        let file = PlanFile::read(&path).expect("a plan");
        let registry = Registry::default();
        let points = Points::of(&file, &registry, folder.path(), &mut |_| {}).expect("points");
        let store = |name| Store::open(&folder.path().join(name)).expect("a store");
        let (together, alone) = (store("together"), store("alone"));
        let numbers: Vec<usize> = (0..points.len()).collect();
        let stop = StopSign::default();
        let shared = local(&points, &numbers, &together, jobs, &stop, &mut |_| {}).expect("it runs");
        assert_eq!((shared.done, shared.failed), (points.len(), 0));
        for number in &numbers {
            let one = local(&points, &[*number], &alone, 1, &stop, &mut |_| {}).expect("it runs");
            assert_eq!((one.done, one.shared), (1, 0));
        }
        assert_eq!(kept(&together, &points), kept(&alone, &points));
        shared.shared
    }

    #[test]
    fn points_that_share_have_the_bytes_of_points_that_do_not() {
        // Four machines for each seed: three of them share what the first has made, but for one more point that is measured.
        assert_eq!(check("['saxpy', 'bfs', 'reduction']", 1), 3 * 2 * 3 - 1);
        check("['saxpy', 'hotspot']", 2);
    }

    #[test]
    fn a_program_whose_sums_depend_on_the_machine_runs_in_each_point() {
        // It adds numbers in the order in which atomics come.
        assert!(check("['pagerank']", 1) < 2 * 3);
    }
}
