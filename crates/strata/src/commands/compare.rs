//! `strata compare`.

use crate::args::Compare;
use crate::output::{self, Failure};
use crate::progress::Series;
use std::process::ExitCode;
use strata_lab::compare::{CompareRequest, compare as run, table, to_json};
use strata_lab::{Registry, What};

pub(crate) fn compare(args: Compare, registry: &Registry) -> Result<ExitCode, Failure> {
    let request = CompareRequest {
        programs: args.what.iter().map(|what| What::named(what)).collect::<Result<_, _>>()?,
        size: args.size,
        gpu: args.gpu,
        schemes: args.with.split(',').map(|with| registry.combination(with)).collect::<Result<_, _>>()?,
        set: args.set,
        out: args.out,
    };
    let mut line = Series::new();
    let rows = run(&request, &mut |step| line.begins(step.done, step.of, step.name))?;
    drop(line);
    if args.json {
        output::json(&to_json(&rows))?;
    } else {
        output::text(&table(&rows))?;
    }
    let failed = rows.iter().any(|row| row.run.as_ref().map_or(true, |run| run.passed == Some(false)));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
