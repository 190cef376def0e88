//! `strata prefetch`.

use super::run::monitor;
use crate::args::{Prefetch, PrefetchCommand, PrefetchEval, PrefetchTrace, PrefetchTrain, Training};
use crate::output::{self, Failure};
use crate::progress::{self, Series};
use indicatif::ProgressBar;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use strata_lab::prefetch::{self, Cluster, Feature, Fitting, Kind, Precision, Protocol, Study, Unit, named};
use strata_lab::table::grouped;
use strata_lab::{LabError, RunRequest, What};

pub(crate) fn prefetch(args: Prefetch) -> Result<ExitCode, Failure> {
    match args.command {
        PrefetchCommand::Trace(trace) => self::trace(trace),
        PrefetchCommand::Train(train) => self::train(&train),
        PrefetchCommand::Eval(eval) => self::eval(&eval),
    }
}

fn trace(args: PrefetchTrace) -> Result<ExitCode, Failure> {
    let request = RunRequest {
        size: args.size,
        seed: args.seed,
        gpu: Some(args.gpu),
        set: args.set,
        out: args.out,
        ..RunRequest::new(What::named(&args.what)?)
    };
    let bar = ProgressBar::new_spinner();
    let monitor = Arc::new(monitor(bar.clone(), args.json));
    progress::show(&bar, &args.what, &monitor);
    let traced = prefetch::record(request, &args.output, &monitor);
    bar.finish_and_clear();
    let traced = traced?;
    if args.json {
        output::json(&traced.to_json())?;
    } else {
        let (requests, rate) = (grouped(traced.requests as u64), traced.hit_rate);
        output::text(&format!("{requests} requests to the GMMU, page hit rate {rate:.4}\n"))?;
    }
    output::message(&format!("recorded in {}\n", traced.path.display()));
    Ok(if traced.result.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What to train, of a kind.
fn fitting(kind: &str, args: &Training, unit: Unit) -> Result<Fitting, LabError> {
    let unit = args.unit.as_deref().map_or(Ok(unit), |name| named("unit", name, &Unit::ALL, Unit::name))?;
    let mut fitting = Fitting::new(named("model", kind, &Kind::ALL, Kind::name)?).of_unit(unit);
    let cluster = args.cluster.as_deref().map(|name| named("cluster", name, &Cluster::ALL, Cluster::name));
    let features = args.features.iter().map(|name| named("feature", name, &Feature::ALL, Feature::name));
    let features = features.collect::<Result<Vec<_>, _>>()?;
    fitting.cluster = cluster.transpose()?.or(fitting.cluster);
    fitting.features = Some(features).filter(|features| !features.is_empty()).or(fitting.features);
    fitting.distance = usize::from(args.distance);
    fitting.least = args.least_history.map_or(fitting.least, usize::from);
    fitting.sequences = args.sequences as usize;
    fitting.epochs = args.epochs.map_or(fitting.epochs, |epochs| epochs as usize);
    fitting.rate = args.rate.unwrap_or(fitting.rate);
    fitting.seed = args.seed;
    fitting.bypass = match args.bypass.as_str() {
        "always" => Some(true),
        "never" => Some(false),
        _ => None,
    };
    fitting.hashed = args.attention.as_deref().map(|kind| kind == "hashed");
    fitting.hlsh.literal = args.literal_hlsh;
    fitting.shuffled = args.shuffle;
    fitting.threads = args.threads.map_or(fitting.threads, |threads| threads as usize);
    Ok(fitting)
}

fn train(args: &PrefetchTrain) -> Result<ExitCode, Failure> {
    let mut fitting = fitting(&args.model, &args.training, Unit::Root)?;
    fitting.precision = named("precision", &args.precision, &Precision::ALL, Precision::name)?;
    fitting.protocol = named("protocol", &args.protocol, &Protocol::ALL, Protocol::name)?;
    fitting.share = args.share;
    fitting.room = Some(args.room as usize);
    fitting.enough = args.enough;
    let mut line = Series::new();
    let mut begins = |step: strata_lab::Step<'_>| line.begins(&step);
    let trained = prefetch::train(&args.traces, &fitting, &args.output, args.resume, &mut begins);
    drop(line);
    let (row, curve) = trained?;
    if args.json {
        let mut all = prefetch::to_json(std::slice::from_ref(&row));
        all["checkpoint"] = json!(args.output.display().to_string());
        all["curve"] = json!(curve);
        output::json(&all)?;
    } else {
        output::text(&prefetch::table(std::slice::from_ref(&row)))?;
    }
    output::message(&format!("saved in {}\n", args.output.display()));
    Ok(ExitCode::SUCCESS)
}

fn eval(args: &PrefetchEval) -> Result<ExitCode, Failure> {
    let all = |names: &[String], one: &dyn Fn(&str) -> Result<Fitting, LabError>| {
        names.iter().map(|name| one(name)).collect::<Result<Vec<_>, _>>()
    };
    let protocol = |name: &String| named("protocol", name, &Protocol::ALL, Protocol::name);
    let precision = |name: &String| named("precision", name, &Precision::ALL, Precision::name);
    let study = Study {
        models: all(&args.models, &|name| fitting(name, &args.training, Unit::Page))?,
        protocols: args.protocols.iter().map(protocol).collect::<Result<_, _>>()?,
        precisions: args.precisions.iter().map(precision).collect::<Result<_, _>>()?,
        checkpoint: args.checkpoint.clone(),
    };
    let mut line = Series::new();
    let mut begins = |step: strata_lab::Step<'_>| line.begins(&step);
    let rows = prefetch::study(&args.traces, &study, &mut begins);
    drop(line);
    let rows = rows?;
    if args.json {
        output::json(&prefetch::to_json(&rows))?;
    } else {
        output::text(&prefetch::table(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}
