//! `strata sweep`.

use crate::args::{Engine, Sweep};
use crate::output::{self, Failure};
use crate::progress::{Series, short_time};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use strata_lab::sweep::{PlanFile, Points, Store, collect, engine, slurm};
use strata_lab::{LabError, Registry, Step, parallel};

/// Failures that are written out; all are in the results.
const MOST_TOLD: usize = 20;

pub(crate) fn sweep(args: &Sweep, registry: &Registry) -> Result<ExitCode, Failure> {
    let file = PlanFile::read(&args.plan)?;
    let root = Store::place(args.store.as_deref())?;
    // A dry run writes nothing.
    let store = if args.dry_run { Store::at(&root) } else { Store::open(&root)? };
    let mut line = Series::new();
    let points =
        Points::of(&file, registry, &root, &mut |step| line.begins(&Step { name: "looking points up", ..step }))?;
    drop(line);
    let left: Vec<usize> = (0..points.len()).filter(|number| store.record(&points.key(*number)).is_none()).collect();
    let jobs = args.jobs.map_or_else(parallel::threads, usize::from);
    if args.dry_run {
        return dry_run(args, &points, &left, &store, jobs);
    }
    if let Some(chunks) = &args.task {
        let keys = slurm::task(chunks)?;
        let mine: Vec<usize> = left.into_iter().filter(|number| keys.contains(&points.key(*number))).collect();
        let ran = run_here(&points, &mine, &store, jobs)?;
        output::message(&shared(&ran));
        return Ok(ExitCode::SUCCESS);
    }
    let folder = store.sweep(&file.name(), &points);
    let ran = match args.engine {
        Engine::Local => run_here(&points, &left, &store, jobs)?,
        Engine::Slurm => run_on_slurm(args, &points, &left, &store, &folder).map(|()| engine::Progress::default())?,
    };
    let results = folder.join("results.parquet");
    strata_lab::write_text(&folder.join("plan.toml"), &file.text)?;
    for target in [Some(&results), args.results.as_ref()].into_iter().flatten() {
        collect::collect(&points, &store, &file.text, target)?;
    }
    let failed = engine::failures(&points, &store);
    let done = points.len() - failed.len();
    if args.json {
        let list: Vec<Value> =
            failed.iter().map(|one| json!({ "point": one.number, "name": one.name, "message": one.message })).collect();
        let mut told = counts(&points, left.len());
        told["done"] = json!(done);
        told["failed"] = json!(list);
        told["shared"] = json!({ "points": ran.shared, "factor": ran.factor() });
        told["results"] = json!(results.display().to_string());
        told["store"] = json!(root.display().to_string());
        output::json(&told)?;
    } else {
        let mut text =
            format!("{} points: {} ran, {} were there\n", points.len(), left.len(), points.len() - left.len());
        text.push_str(&shared(&ran));
        text.push_str(&left_out(&points));
        text.push_str(&listed(&failed));
        text.extend(["strata show ", &results.display().to_string(), "\n"]);
        output::text(&text)?;
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What points had of each other, for people.
fn shared(ran: &engine::Progress) -> String {
    if ran.shared == 0 {
        return String::new();
    }
    format!("{} of them shared inputs and references with others: {:.2} times as fast\n", ran.shared, ran.factor())
}

/// The failures for people, the first of them.
fn listed(failed: &[engine::Failure]) -> String {
    let mut lines = Vec::new();
    if !failed.is_empty() {
        lines.push(format!("{} failed:\n", failed.len()));
    }
    for one in failed.iter().take(MOST_TOLD) {
        let first = one.message.lines().next().unwrap_or_default();
        lines.push(format!("  {} ({}): {first}\n", one.number, one.name));
    }
    if failed.len() > MOST_TOLD {
        lines.push(format!("  … and {} more: column `error` of the results\n", failed.len() - MOST_TOLD));
    }
    lines.concat()
}

/// What became of the combinations of a plan.
fn counts(points: &Points<'_>, left: usize) -> Value {
    json!({
        "points": points.len(),
        "done": points.len() - left,
        "reused": points.len() - left,
        "failed": [],
        "repeated": points.repeated,
        "excluded": points.excluded,
        "invalid": points.invalid,
    })
}

fn left_out(points: &Points<'_>) -> String {
    let parts = [
        (points.repeated, "are the same run as another"),
        (points.excluded, "are excluded by constraints"),
        (points.invalid, "cannot be, and are left out"),
    ];
    let told = parts.iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("{count} combinations {what}\n")).collect::<Vec<_>>().concat()
}

fn dry_run(args: &Sweep, points: &Points<'_>, left: &[usize], store: &Store, jobs: usize) -> Result<ExitCode, Failure> {
    let estimate = store.estimate(left.iter().map(|number| points.point(*number)));
    let seconds = estimate.seconds / jobs as f64;
    if args.json {
        let mut told = counts(points, left.len());
        told["left"] = json!(left.len());
        told["jobs"] = json!(jobs);
        told["estimate"] = json!({ "core_seconds": estimate.seconds, "seconds": seconds, "unknown": estimate.unknown });
        output::json(&told)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = vec![format!("{} points, of which {} have a result\n", points.len(), points.len() - left.len())];
    lines.push(left_out(points));
    let known = left.len() - estimate.unknown;
    if known > 0 {
        let time = short_time(Duration::from_secs_f64(seconds));
        let by = "by those like them that ran before";
        lines.push(format!("about {time} for {known} of the rest, {jobs} at once, {by}\n"));
    }
    if estimate.unknown > 0 {
        lines.push(format!("{} are like none that ran before: no estimate\n", estimate.unknown));
    }
    output::text(&lines.concat())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs points on this machine.
fn run_here(points: &Points<'_>, numbers: &[usize], store: &Store, jobs: usize) -> Result<engine::Progress, LabError> {
    let mut line = Series::new();
    let ran = engine::local(points, numbers, store, jobs, &output::stop_sign(), &mut |progress| {
        let ended = progress.done + progress.reused + progress.failed;
        let failed = if progress.failed > 0 { format!("{} failed, ", progress.failed) } else { String::new() };
        line.begins(&Step { done: ended, of: progress.of, left: None, name: &format!("{failed}{}", progress.running) });
    });
    drop(line);
    ran.map_err(|error| {
        let root = store.root().display();
        LabError::Request(format!(
            "{error}\nThe sweep stopped; what was done is kept in {root}. Make room or choose another place with `--store`, \
             then run the same command again: it goes on from there."
        ))
    })
}

/// Arrays that are submitted one after another for points whose tasks died: of too little memory or time, say.
const MOST_ARRAYS: usize = 3;

/// Runs points as a job array and waits for them; what tasks that died left over goes into another array.
fn run_on_slurm(
    args: &Sweep,
    points: &Points<'_>,
    numbers: &[usize],
    store: &Store,
    folder: &Path,
) -> Result<(), LabError> {
    let mut left = numbers.to_vec();
    for _ in 0..MOST_ARRAYS {
        if left.is_empty() {
            break;
        }
        run_array(args, points, &left, store, folder)?;
        left.retain(|number| {
            let key = points.key(*number);
            store.record(&key).is_none() && store.failure(&key).is_none()
        });
    }
    Ok(())
}

fn run_array(
    args: &Sweep,
    points: &Points<'_>,
    numbers: &[usize],
    store: &Store,
    folder: &Path,
) -> Result<(), LabError> {
    let absolute = |path: &PathBuf| std::path::absolute(path).map_err(|e| LabError::io("find", path, e));
    let mut command = output::this_command()?;
    let words = [Path::new("sweep"), &absolute(&args.plan)?, Path::new("--store"), store.root()];
    command.extend(words.iter().map(|word| word.display().to_string()));
    let options = slurm::Options { task_minutes: args.task_minutes, sbatch: args.slurm.clone(), command };
    let submitted = slurm::submit(points, numbers, store, folder, &options)?;
    output::message(&format!("Slurm job {}: {} tasks for {} points\n", submitted.job, submitted.tasks, numbers.len()));
    let mut line = Series::new();
    slurm::wait(&submitted, points, numbers, store, &mut |ended| {
        line.begins(&Step { done: ended, of: numbers.len(), left: None, name: &format!("job {}", submitted.job) });
    })
}
