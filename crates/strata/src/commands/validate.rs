//! `strata validate`.

use crate::args::Validate;
use crate::output::{self, Failure};
use crate::progress::Series;
use std::path::Path;
use std::process::ExitCode;
use strata_lab::LabError;
use strata_lab::silicon::Microbenchmarks;
use strata_lab::validate::{CardProgram, ValidateRequest, validate as compare};

pub(crate) fn validate(args: Validate) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.emit_cuda {
        return emit(folder);
    }
    let measured = args.silicon.as_deref().zip(args.gpu.as_deref());
    let silicon = measured.map(|(file, gpu)| read_silicon(file, gpu)).transpose()?;
    let mut line = Series::new();
    let request = ValidateRequest { gpu: args.gpu, set: args.set, silicon };
    let validation = compare(&request, &mut |step| line.begins(&step))?;
    drop(line);
    if let Some(folder) = &args.out {
        validation.save_page(folder)?;
    }
    if args.json {
        output::json(&validation.to_json())?;
    } else {
        output::text(&validation.table())?;
    }
    for failure in &validation.failures {
        output::message(&format!("error: {failure}\n"));
    }
    Ok(if validation.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads what the microbenchmarks printed on a card that `gpu` stands for.
pub(super) fn read_silicon(path: &Path, gpu: &str) -> Result<Microbenchmarks, LabError> {
    let wrong = |why: String| LabError::Request(format!("`{}`: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| LabError::io("read", path, error))?;
    Microbenchmarks::printed(&text, gpu).map_err(wrong)
}

/// Writes the microbenchmarks for a machine with a card.
fn emit(folder: &Path) -> Result<ExitCode, Failure> {
    let written = CardProgram::default().write(folder);
    let files = written.map_err(|error| LabError::io("write", folder, error))?;
    let mut lines: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let next =
        "on the machine with the card: ./collect > card.toml; then: strata validate --silicon card.toml --gpu NAME";
    lines.push(next.to_owned());
    output::text(&(lines.join("\n") + "\n"))?;
    Ok(ExitCode::SUCCESS)
}
