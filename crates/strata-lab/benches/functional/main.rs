//! How fast programs run functionally, on one core.
//!
//!     cargo bench -p strata-lab --bench functional                    the four programs that have a target, at size medium
//!     cargo bench -p strata-lab --bench functional -- --all           every program
//!     cargo bench -p strata-lab --bench functional -- nw bfs          these programs
//!     cargo bench -p strata-lab --bench functional -- --instructions  single instructions instead of programs
//!     … --repeat 7 --size small                                       how often (three times), how big
//!
//! Nothing is averaged: programs are deterministic, so the fastest repetition is the one that others disturbed least. CPU
//! time is told beside wall-clock time, and speed is judged by CPU time: on an idle machine both agree, on a busy one only
//! the first says something about the program. Neither knows what a neighbour does to caches and memory.

mod instructions;
mod programs;

use strata_workloads::Size;

struct Options {
    size: Size,
    repeat: usize,
    instructions: bool,
    names: Vec<String>,
}

fn options() -> Result<Options, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Without `--bench` this is `cargo test --benches`, which wants to know whether it works, not how fast.
    let measuring = arguments.iter().any(|a| a == "--bench");
    let size = if measuring { Size::Medium } else { Size::Tiny };
    let mut options = Options {
        size,
        repeat: if measuring { 3 } else { 1 },
        instructions: false,
        names: programs::TARGETS.map(|(name, _)| name.to_owned()).to_vec(),
    };
    let mut named = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("`{argument}` needs a value"));
        match argument.as_str() {
            "--bench" => {}
            "--instructions" => options.instructions = true,
            "--all" => named.extend(strata_workloads::all().iter().map(|w| w.info().name.to_owned())),
            "--size" => options.size = value()?.parse().map_err(|e| format!("{e}"))?,
            "--repeat" => {
                let text = value()?;
                let parsed = text.parse().ok().filter(|&n| n > 0);
                options.repeat = parsed.ok_or_else(|| format!("`{text}` is not a number of repetitions"))?;
            }
            name if name.starts_with('-') => return Err(format!("there is no option `{name}`")),
            name => named.push(name.to_owned()),
        }
    }
    if !named.is_empty() {
        options.names = named;
    }
    Ok(options)
}

fn main() -> std::process::ExitCode {
    let done = options().and_then(|o| {
        if o.instructions { instructions::run(o.repeat) } else { programs::run(&o.names, o.size, o.repeat) }
    });
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            std::process::ExitCode::FAILURE
        }
    }
}
