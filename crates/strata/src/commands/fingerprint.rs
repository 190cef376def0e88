//! `strata fingerprint`.

use crate::args::Fingerprint;
use crate::output::{self, Failure};
use crate::progress::Series;
use std::process::ExitCode;
use strata_lab::Registry;
use strata_lab::fingerprint::{FingerprintRequest, fingerprint as make};

pub(crate) fn fingerprint(args: &Fingerprint, registry: &Registry) -> Result<ExitCode, Failure> {
    let schemes = args.with.iter().flat_map(|with| with.split(','));
    let request = FingerprintRequest {
        programs: args.programs.clone(),
        gpus: args.gpu.clone(),
        schemes: schemes.map(|with| registry.combination(with)).collect::<Result<_, _>>()?,
    };
    let mut line = Series::new();
    let fingerprint = make(&request, &mut |step| line.begins(&step))?;
    drop(line);
    if let Some(path) = &args.write {
        fingerprint.write(path)?;
    }
    if args.json {
        output::json(&fingerprint.to_json())?;
    } else {
        output::text(&fingerprint.table())?;
    }
    Ok(if fingerprint.moved.is_empty() || args.write.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
