//! `strata compress`.

use crate::args::Compress;
use crate::output::{self, Failure};
use crate::progress::Reading;
use std::process::ExitCode;
use strata_lab::compress::{Codec, CompressRequest, Rule, compress as measure};

pub(crate) fn compress(args: Compress) -> Result<ExitCode, Failure> {
    // Named twice, a codec is shown once; in the order of all tables, whatever the order of names.
    let asked = |codec: &Codec| args.codec.is_empty() || args.codec.contains(codec);
    let request = CompressRequest {
        codecs: Codec::ALL.into_iter().filter(asked).collect(),
        files: args.files,
        heat_maps: args.heat_map,
        rule: Rule { threshold: args.threshold, ..Rule::default() },
        cached: args.cached,
    };
    let line = Reading::new();
    let compression = measure(&request, &mut |progress| line.show(progress.done, progress.of, progress.file));
    drop(line);
    let compression = compression?;
    if args.json {
        output::json(&compression.to_json())?;
    } else {
        output::text(&compression.table())?;
    }
    Ok(ExitCode::SUCCESS)
}
