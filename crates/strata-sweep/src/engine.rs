//! Carries out the points that a store does not have, on the cores of this machine.

use crate::points::{Point, Points};
use crate::record::Record;
use crate::store::Store;
use serde_json::Value;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use strata_run::run::Found;
use strata_run::{Abandoned, LabError, Monitor, RunRequest, StopSign};

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

/// Runs every point of these numbers that has no result, `jobs` at once, and tells how far it is as points begin and end. An error of one point
/// stops no other; a store that cannot be written stops the sweep, and so does somebody who gives the sign: then it unwinds.
pub fn local(
    points: &Points<'_>,
    numbers: &[usize],
    store: &Store,
    jobs: usize,
    stop: &StopSign,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Progress, LabError> {
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
            let known = store.record(&point.key);
            let ended = if let Some(record) = &known {
                Ok(record.failure().is_some())
            } else {
                change(&|progress| progress.running = point.name());
                run(&point, store, stop)
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

/// Runs a point and keeps its result, or why it has none; true if it failed. An error is about the store.
fn run(point: &Point, store: &Store, stop: &StopSign) -> Result<bool, LabError> {
    let folder = store.begin(&point.key)?;
    let monitor = Arc::new(Monitor::default().stopped_by(stop.clone()));
    // A mistake of ours in one point is no reason to lose the others.
    let ran = catch_unwind(AssertUnwindSafe(|| Found::new(&point.request)?.run_in(folder.path(), &monitor)));
    let message = match ran {
        Ok(Ok(result)) => {
            let record = Record::of(&result);
            store.commit(&point.key, folder, &record, None)?;
            store.note_time(&point.request, record.seconds());
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
