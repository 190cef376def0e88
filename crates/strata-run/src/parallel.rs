//! Independent jobs on a few threads. Results come in the order of the jobs, whatever the order of their ends: a run on many
//! threads gives what a run on one does.

use crate::monitor::Step;
use crate::outlook::{Cost, Outlook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Threads that this machine runs at once.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does `work` for each job; `begins` hears of each as it is taken up, with its name.
pub fn map<J: Sync, R: Send>(
    jobs: &[J],
    threads: usize,
    name: impl Fn(&J) -> String + Sync,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
    work: impl Fn(&J) -> R + Sync,
) -> Vec<R> {
    let alike = |_: &J| Cost { kind: String::new(), guess: None };
    map_of_costs(jobs, threads, name, alike, begins, work)
}

/// The same for jobs of which some take much longer than others: `begins` hears by their costs how long the rest will take.
pub fn map_of_costs<J: Sync, R: Send>(
    jobs: &[J],
    threads: usize,
    name: impl Fn(&J) -> String + Sync,
    cost: impl Fn(&J) -> Cost,
    begins: &mut (dyn FnMut(Step<'_>) + Send),
    work: impl Fn(&J) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let ended = AtomicUsize::new(0);
    let threads = threads.min(jobs.len()).max(1);
    let began = Instant::now();
    let now = || began.elapsed().as_secs_f64();
    let state = Mutex::new((Outlook::new(jobs.iter().map(cost).collect(), threads), begins));
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        while let Some((k, job, result)) = {
            let k = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(k).zip(results.get(k)).map(|(job, result)| (k, job, result))
        } {
            {
                let (outlook, begins) = &mut *lock(&state);
                outlook.begins(k, now());
                let left = outlook.left(now()).map(Duration::from_secs_f64);
                begins(Step { done: ended.load(Ordering::Relaxed), of: jobs.len(), left, name: &name(job) });
            }
            let done = work(job);
            *lock(result) = Some(done);
            ended.fetch_add(1, Ordering::Relaxed);
            lock(&state).0.ended(k, now());
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            // As it was thrown: somebody may know why.
            worker.join().unwrap_or_else(|thrown| std::panic::resume_unwind(thrown));
        }
    });
    results.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        let mut heard = 0;
        let squares = map(&jobs, 4, u64::to_string, &mut |_| heard += 1, |&job| job * job);
        assert_eq!(squares, jobs.iter().map(|job| job * job).collect::<Vec<_>>());
        assert_eq!(heard, 100);
    }
}
