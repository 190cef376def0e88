//! `strata calibrate`.

use super::validate::read_silicon;
use crate::args::Calibrate;
use crate::output::{self, Failure};
use crate::progress::Series;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strata_lab::LabError;
use strata_lab::calibrate::{CalibrateRequest, calibrate as fit};

pub(crate) fn calibrate(args: Calibrate) -> Result<ExitCode, Failure> {
    let silicon = read_silicon(&args.silicon, &args.gpu)?;
    let request = CalibrateRequest { silicon, gpu: args.gpu, set: args.set, only: args.only };
    let mut line = Series::new();
    let calibration = fit(&request, &mut |step| line.begins(&step))?;
    drop(line);
    let path = args.out.unwrap_or_else(|| default_name(&request.gpu));
    std::fs::write(&path, &calibration.preset).map_err(|error| LabError::io("write", &path, error))?;
    if args.json {
        output::json(&calibration.to_json(&path))?;
    } else {
        output::text(&format!("{}\nwritten: {}\n", calibration.table(), path.display()))?;
    }
    for failure in &calibration.failures {
        output::message(&format!("error: {failure}\n"));
    }
    Ok(if calibration.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// In the folder at hand, after the preset that it begins with.
fn default_name(gpu: &str) -> PathBuf {
    let stem = Path::new(gpu).file_stem().map_or_else(|| gpu.into(), |stem| stem.to_string_lossy());
    PathBuf::from(format!("{stem}-calibrated.toml"))
}
