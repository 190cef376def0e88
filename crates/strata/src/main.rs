//! `strata`: the command line with the mechanisms of the house.

use std::process::ExitCode;

fn main() -> ExitCode {
    strata::main(strata_lab::mechanisms::registry())
}
