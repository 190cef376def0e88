//! Sweeps on a cluster: points in chunks, a chunk to a task of a Slurm job array.
//!
//! A task is this command line again, on one chunk of the same plan and the same store, which lies on a file system that all
//! nodes share. Points are there whole or not at all, so a task that is killed and requeued goes on where it stopped.

use crate::points::Points;
use crate::store::{Estimate, Store};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use strata_core::files;
use strata_run::LabError;

/// A point like none that ran before is expected to take so long.
const UNKNOWN_SECONDS: f64 = 10.0;
/// Slurm's own default is 1001 tasks in an array.
const MOST_TASKS: usize = 1000;
/// How often the queue is asked; it is shared by everybody on the cluster.
const ASK_EVERY: Duration = Duration::from_secs(2);

/// How a sweep is put on a cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a task should last.
    pub task_minutes: f64,
    /// Options of the site, as `sbatch` takes them: `--partition=long`.
    pub sbatch: Vec<String>,
    /// The command that a task runs, to which the task's arguments are added.
    pub command: Vec<String>,
}

/// An array that was submitted.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// Slurm's number of the job.
    pub job: String,
    /// Tasks in the array.
    pub tasks: usize,
    chunks: PathBuf,
}

/// Cuts points into tasks of about the wanted length.
pub fn chunks(points: &[usize], estimate: Estimate, task_minutes: f64) -> Vec<Vec<usize>> {
    let seconds = estimate.seconds + estimate.unknown as f64 * UNKNOWN_SECONDS;
    let wanted = (seconds / (task_minutes * 60.0).max(1.0)).ceil() as usize;
    let count = wanted.clamp(1, MOST_TASKS).min(points.len().max(1));
    // Neighbours in a plan are alike: dealt out like cards, long points meet in no task.
    (0..count).map(|task| points.iter().skip(task).step_by(count).copied().collect()).collect()
}

/// Submits tasks for the points of these numbers.
pub fn submit(
    points: &Points<'_>,
    numbers: &[usize],
    store: &Store,
    folder: &Path,
    options: &Options,
) -> Result<Submitted, LabError> {
    let estimate = store.estimate(numbers.iter().map(|number| points.point(*number)));
    let chunks = chunks(numbers, estimate, options.task_minutes);
    let keys_of = |chunk: &Vec<usize>| chunk.iter().map(|number| points.key(*number)).collect();
    let keys: Vec<Vec<String>> = chunks.iter().map(keys_of).collect();
    let place = absolute(&folder.join(format!("tasks-{}.json", std::process::id())))?;
    files::write_text(&place, &format!("{}\n", json!(keys))).map_err(|e| LabError::io("write", &place, e))?;
    let mut command = options.command.clone();
    command.extend(["--task".into(), place.display().to_string()]);
    let quoted: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let script = format!("#!/bin/sh\nexec {} --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\"\n", quoted.join(" "));
    let script_place = folder.join("task.sh");
    files::write_text(&script_place, &script).map_err(|e| LabError::io("write", &script_place, e))?;
    let log = absolute(&folder.join("slurm-%A_%a.log"))?;
    let output = Command::new("sbatch")
        .args(["--parsable", "--requeue", "--job-name=strata-sweep"])
        .arg(format!("--array=0-{}", chunks.len() - 1))
        .arg(format!("--output={}", log.display()))
        .args(&options.sbatch)
        .arg(&script_place)
        .output()
        .map_err(|e| not_there("sbatch", e))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(LabError::Request(format!("Slurm refuses the job: {}", reason.trim())));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let job = printed.trim().split(';').next().unwrap_or_default().to_owned();
    Ok(Submitted { job, tasks: chunks.len(), chunks: place })
}

/// Waits until no task of the array is left, and tells now and then how many points have a result or failed.
pub fn wait(
    submitted: &Submitted,
    points: &Points<'_>,
    numbers: &[usize],
    store: &Store,
    tell: &mut dyn FnMut(usize),
) -> Result<(), LabError> {
    loop {
        std::thread::sleep(ASK_EVERY);
        let is_ended = |key: &String| store.record(key).is_some() || store.failure(key).is_some();
        tell(numbers.iter().map(|number| points.key(*number)).filter(is_ended).count());
        let queue = Command::new("squeue").args(["--noheader", "--jobs", &submitted.job]).output();
        let queue = queue.map_err(|e| not_there("squeue", e))?;
        let told = String::from_utf8_lossy(&queue.stderr);
        // A job that ended is forgotten after some minutes; a controller that does not answer knows as much as before.
        if queue.status.success() && queue.stdout.trim_ascii().is_empty() || told.contains("Invalid job id") {
            let _ = std::fs::remove_file(&submitted.chunks);
            return Ok(());
        }
    }
}

/// The keys of a task's points; which task it is, Slurm says in the environment.
pub fn task(chunks: &Path) -> Result<Vec<String>, LabError> {
    let text = std::fs::read(chunks).map_err(|e| LabError::io("read", chunks, e))?;
    let number = std::env::var("SLURM_ARRAY_TASK_ID").ok().and_then(|text| text.parse::<usize>().ok());
    let number = number.ok_or_else(|| LabError::Request("`--task` is for tasks of a Slurm job array".into()))?;
    let value: Value = serde_json::from_slice(&text).map_err(|e| LabError::io("read", chunks, e.into()))?;
    let keys = value[number].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(keys.map(str::to_owned).collect())
}

fn absolute(path: &Path) -> Result<PathBuf, LabError> {
    std::path::absolute(path).map_err(|e| LabError::io("find", path, e))
}

fn not_there(program: &'static str, error: std::io::Error) -> LabError {
    if error.kind() == ErrorKind::NotFound {
        let reason =
            format!("there is no `{program}` here: `--engine slurm` is for a machine from which jobs are submitted");
        return LabError::Request(reason);
    }
    LabError::io("run", Path::new(program), error)
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_last_about_as_long_as_wanted() {
        let points: Vec<usize> = (0..100).collect();
        let cut = |seconds, unknown| chunks(&points, Estimate { seconds, unknown }, 5.0);
        assert_eq!(cut(0.0, 100).iter().map(Vec::len).collect::<Vec<_>>(), [25, 25, 25, 25]);
        assert_eq!(cut(10.0, 0).len(), 1);
        assert_eq!(cut(1e9, 0).len(), 100);
        let mut all: Vec<usize> = cut(0.0, 100).concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
