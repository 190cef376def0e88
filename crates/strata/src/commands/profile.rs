//! `strata profile`.

use crate::args::Profile;
use crate::output::{self, Failure};
use crate::progress;
use indicatif::ProgressBar;
use std::process::ExitCode;
use std::sync::Arc;
use strata_lab::profile::{ProfileRequest, profile as observe};
use strata_lab::{RunRequest, What};

pub(crate) fn profile(args: Profile) -> Result<ExitCode, Failure> {
    let rule = args.rule()?;
    let run = RunRequest { size: args.size, seed: args.seed, ..RunRequest::new(What::named(&args.what)?) };
    let request = ProfileRequest {
        run,
        design: args.design.into(),
        rule,
        snapshots: args.snapshots,
        gpu: args.gpu,
        set: args.set,
        cached: args.cached,
    };
    let bar = ProgressBar::new_spinner();
    let monitor = Arc::new(super::run::monitor(bar.clone(), args.json));
    progress::show(&bar, &args.what, &monitor);
    let profiled = observe(&request, &monitor);
    bar.finish_and_clear();
    let profiled = profiled?;
    if args.json {
        output::json(&profiled.to_json())?;
    } else {
        output::text(&profiled.table())?;
    }
    if let Some(path) = &args.output {
        profiled.save(path)?;
        output::message(&format!("targets are in {0}: `--with buddy --set buddy.targets={0}`\n", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
