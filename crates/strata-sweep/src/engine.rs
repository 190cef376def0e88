//! Carries out the points that a store does not have, on the cores of this machine.

use crate::points::Point;
use crate::record::Record;
use crate::store::Store;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_run::run::Found;
use strata_run::{Abandoned, LabError, Monitor, StopSign};

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

/// Runs every point that has no result, `jobs` at once, and tells how far it is as points begin and end. An error of one point
/// stops no other; a store that cannot be written stops the sweep, and so does somebody who gives the sign: then it unwinds.
pub fn local(
    points: &[&Point],
    store: &Store,
    jobs: usize,
    stop: &StopSign,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Progress, LabError> {
    let next = AtomicUsize::new(0);
    let state = Mutex::new((Progress { of: points.len(), ..Progress::default() }, tell));
    let stopped: Mutex<Option<LabError>> = Mutex::new(None);
    let change = |what: &dyn Fn(&mut Progress)| {
        let mut state = lock(&state);
        let (progress, tell) = &mut *state;
        what(progress);
        tell(progress);
    };
    let worker = || {
        while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            if lock(&stopped).is_some() || stop.is_given() {
                return;
            }
            let known = store.record(&point.key);
            let ended = if let Some(record) = &known {
                Ok(record.failure().is_some())
            } else {
                change(&|progress| progress.running = point.name());
                run(point, store, stop)
            };
            match ended {
                Ok(true) => change(&|progress| progress.failed += 1),
                Ok(false) if known.is_some() => change(&|progress| progress.reused += 1),
                Ok(false) => change(&|progress| progress.done += 1),
                Err(error) => {
                    lock(&stopped).get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(points.len()).max(1) {
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

/// Runs a point and keeps its result, or why it has none; true if it failed. An error is about the store.
fn run(point: &Point, store: &Store, stop: &StopSign) -> Result<bool, LabError> {
    let folder = store.begin(&point.key)?;
    let monitor = Arc::new(Monitor::default().stopped_by(stop.clone()));
    // A mistake of ours in one point is no reason to lose the others.
    let ran = catch_unwind(AssertUnwindSafe(|| Found::new(&point.request)?.run_in(folder.path(), &monitor)));
    let message = match ran {
        Ok(Ok(result)) => {
            let record = Record::of(&result);
            store.commit(&point.key, folder, &record)?;
            store.note_time(point, record.seconds());
            return Ok(record.failure().is_some());
        }
        Ok(Err(error)) if is_of_the_disk(&error) => return Err(error),
        Ok(Err(error)) => error.to_string(),
        Err(_) if stop.is_given() => return Ok(true),
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
    Ok(true)
}

/// True for errors that every point would have.
fn is_of_the_disk(error: &LabError) -> bool {
    let kinds = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::ReadOnlyFilesystem];
    matches!(error, LabError::Io { source, .. } if kinds.contains(&source.kind()))
}

/// The points that failed, in the order of the plan: what their result says, or why they have none.
pub fn failures(points: &[Point], store: &Store) -> Vec<Failure> {
    let failure = |point: &Point| {
        let message = match store.record(&point.key) {
            Some(record) => record.failure()?,
            None => store.failure(&point.key).unwrap_or_else(|| "it did not run".to_owned()),
        };
        Some(Failure { number: point.number, name: point.name(), message })
    };
    points.iter().filter_map(failure).collect()
}
