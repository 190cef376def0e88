//! Parses PTX files and prints what is wrong with them, or what they cost to parse: `parse FILE…`.

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut failed = 0;
    let mut files = 0;
    for path in std::env::args().skip(1) {
        files += 1;
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                eprintln!("{path}: {error}");
                failed += 1;
                continue;
            }
        };
        let start = Instant::now();
        let parsed = strata_ptx::parse(&path, &text);
        let seconds = start.elapsed().as_secs_f64();
        print!("{}", parsed.render(&text, false));
        match parsed.module {
            Some(module) => {
                let instructions: usize = module.functions.iter().map(|f| f.instructions.len()).sum();
                let rate = text.len() as f64 / 1e6 / seconds;
                println!("{path}: {} functions, {instructions} instructions, {rate:.0} MB/s", module.functions.len());
            }
            None => failed += 1,
        }
    }
    println!("{files} files, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
