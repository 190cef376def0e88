//! `strata gpus`.

use crate::args::Gpus;
use crate::output::{self, Failure};
use serde_json::json;
use std::process::ExitCode;
use strata_lab::gpus::{all_gpus, gpu, list_table, table, to_json};

pub(crate) fn show(args: &Gpus) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.name {
        let gpu = gpu(name, &args.set)?;
        if args.json {
            output::json(&json!({ "gpus": [to_json(&gpu, true)] }))?;
        } else if args.toml {
            output::text(&gpu.to_toml())?;
        } else {
            output::text(&table(&gpu))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let gpus = all_gpus()?;
    if args.json {
        let list: Vec<_> = gpus.iter().map(|gpu| to_json(gpu, false)).collect();
        output::json(&json!({ "gpus": list }))?;
    } else {
        output::text(&list_table(&gpus))?;
    }
    Ok(ExitCode::SUCCESS)
}
