//! `strata reproduce`.

use crate::args::Reproduce;
use crate::output::{self, Failure};
use crate::progress::Series;
use std::process::ExitCode;
use strata_lab::reproduce::{Effort, ReproduceRequest, Selection, Study, reproduce as run, to_json};
use strata_lab::sweep::Store;

pub(crate) fn reproduce(args: &Reproduce) -> Result<ExitCode, Failure> {
    let effort = match (args.quick, args.full) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Full,
        _ => Effort::Standard,
    };
    super::interrupt::leave_nothing_in(&Store::place(args.store.as_deref())?);
    let mut rows = Vec::new();
    for study in Study::named(&args.paper)? {
        let mut line = Series::new();
        let selection = Selection { programs: args.program.clone(), figure: args.figure.clone() };
        let request = ReproduceRequest {
            study,
            effort,
            part: args.part.clone(),
            selection,
            out: args.out.clone(),
            store: args.store.clone(),
        };
        let reproduction = run(&request, &mut |step| line.begins(&step))?;
        drop(line);
        if !args.json {
            let text =
                if args.verbose { reproduction.page.text() } else { reproduction.page.brief(&reproduction.headline) };
            output::text(&text)?;
        }
        output::message(&format!("figures are in {}\n", reproduction.directory.join("index.html").display()));
        rows.extend(reproduction.rows);
    }
    if args.json {
        output::json(&to_json(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}
