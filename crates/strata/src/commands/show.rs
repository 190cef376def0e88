//! `strata show`.

use crate::args::Show;
use crate::output::{self, Failure};
use std::process::ExitCode;
use strata_lab::sweep::Store;
use strata_lab::sweep::show::{Goal, Results, find, sensitivity_json, sensitivity_table};

pub(crate) fn show(args: Show) -> Result<ExitCode, Failure> {
    let place = args.what.map_or_else(Store::default_place, Ok)?;
    let results = Results::read(&find(&place)?)?;
    if let Some(metric) = &args.sensitivity {
        let rows = results.sensitivity(metric)?;
        if args.json {
            output::json(&sensitivity_json(&rows))?;
        } else {
            output::text(&sensitivity_table(&rows, metric))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let goals: Vec<Goal> = args.pareto.iter().map(|text| Goal::parse(text)).collect();
    let rows = if goals.is_empty() { results.all() } else { results.pareto(&goals)? };
    let mut columns = args.columns;
    if columns.is_empty() {
        columns = goals.into_iter().map(|goal| goal.metric).collect();
    }
    if args.json {
        output::json(&results.to_json(&rows, &columns)?)?;
    } else {
        output::text(&results.table(&rows, &columns)?)?;
    }
    Ok(ExitCode::SUCCESS)
}
