//! `strata workloads`.

use crate::args::Workloads;
use crate::output::{self, Failure};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::ExitCode;
use strata_lab::table::{Align, columns};
use strata_lab::{Info, Size, Workload, workload, workloads};

pub(crate) fn list(args: &Workloads) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.name {
        return describe(workload(name)?, args.json);
    }
    let infos: Vec<_> = workloads().collect();
    if args.json {
        output::json(&json!({ "workloads": infos.iter().map(|info| about(info)).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let headings = [
        ("name", Align::Left),
        ("suite", Align::Left),
        ("papers", Align::Left),
        ("sizes", Align::Left),
        ("description", Align::Left),
    ];
    let rows: Vec<_> = infos
        .iter()
        .map(|w| {
            let sizes: Vec<_> = w.sizes.iter().map(|s| s.name()).collect();
            vec![w.name.into(), w.suite.into(), w.papers.join(" "), sizes.join(" "), w.description.into()]
        })
        .collect();
    output::text(&columns(&headings, &rows))?;
    Ok(ExitCode::SUCCESS)
}

/// What a program is, for scripts.
fn about(info: &Info) -> Value {
    let sizes: Vec<_> = info.sizes.iter().map(|s| s.name()).collect();
    json!({
        "name": info.name,
        "suite": info.suite,
        "papers": info.papers,
        "sizes": sizes,
        "description": info.description,
    })
}

/// One program.
fn describe(program: &dyn Workload, json: bool) -> Result<ExitCode, Failure> {
    let info = program.info();
    let kernels: Vec<_> = program.modules().iter().flat_map(strata_lab::Module::resources).collect();
    if json {
        let mut all = about(info);
        all["aliases"] = json!(info.aliases);
        let kernel = |(name, of): &(String, strata_lab::Resources)| json!({ "name": name, "registers": of.registers, "shared_bytes": of.shared_bytes });
        all["kernels"] = kernels.iter().map(kernel).collect();
        output::json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let kernel = |(name, of): &(String, strata_lab::Resources)| {
        let shared = if of.shared_bytes > 0 { format!(", {} B shared", of.shared_bytes) } else { String::new() };
        format!("{name} ({} registers{shared})", of.registers)
    };
    let folder =
        program.modules().first().and_then(|module| module.path.rsplit_once('/')).map_or("", |(folder, _)| folder);
    let graphs = if program.takes_graphs() { "--input FILE (.mtx, .gr, .col)" } else { "" };
    let mut text = format!("{}: {}\n\n", info.name, info.description);
    for (name, values) in [
        ("suite", info.suite.to_owned()),
        ("papers", info.papers.join(", ")),
        ("aliases", info.aliases.join(", ")),
        ("sizes", info.sizes.iter().map(|&size| named(info, size)).collect::<Vec<_>>().join(", ")),
        ("shapes", program.instances().iter().map(|instance| instance.label).collect::<Vec<_>>().join(", ")),
        ("kernels", kernels.iter().map(kernel).collect::<Vec<_>>().join(", ")),
        ("graphs", graphs.to_owned()),
        ("source", folder.to_owned()),
    ] {
        if !values.is_empty() {
            let _ = writeln!(text, "{name:<8} {values}");
        }
    }
    let _ = writeln!(text, "\nstrata run {} --size small", info.name);
    output::text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A size, and what else the papers' one is called.
fn named(info: &Info, size: Size) -> String {
    let others = Size::ALL.into_iter().filter(|&other| other != size && info.size_for(other) == Some(size));
    let others: Vec<_> = others.map(Size::name).collect();
    if others.is_empty() { size.name().to_owned() } else { format!("{} (or {})", size.name(), others.join(", ")) }
}
