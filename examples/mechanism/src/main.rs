//! StrataSim's command line with one mechanism more.

mod victim_cache;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut registry = strata_lab::mechanisms::registry().clone();
    if let Err(taken) = registry.register(victim_cache::VictimCache) {
        eprintln!("error: {taken}");
        return ExitCode::from(2);
    }
    strata::main(&registry)
}
