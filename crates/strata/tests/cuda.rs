//! Unmodified CUDA programs, compiled by NVIDIA's compiler and run by `strata run --`.
//!
//! The compiler is the one that `workloads/regenerate --install` installs below `target`, or the one in `STRATA_CUDA_BIN`.
//! Where there is none, these tests say so and pass.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const STRATA: &str = env!("CARGO_BIN_EXE_strata");

/// The folder that holds `nvcc`.
fn compiler() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("STRATA_CUDA_BIN") {
        return Some(folder.into());
    }
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    entries(target.to_owned())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda-")))
        .flat_map(|toolchain| entries(toolchain.join("lib")))
        .map(|python| python.join("site-packages/nvidia/cu13/bin"))
        .find(|folder| folder.join("nvcc").is_file())
}

/// The program made of `sources`, by whichever test wants it first; `None` if there is no compiler.
fn build(program: &str, sources: &[&str], arguments: &[&str]) -> Option<PathBuf> {
    static BUILT: Mutex<BTreeMap<String, Arc<OnceLock<Option<PathBuf>>>>> = Mutex::new(BTreeMap::new());
    let built = Arc::clone(BUILT.lock().expect("no test failed here").entry(program.to_owned()).or_default());
    built.get_or_init(|| compile(program, sources, arguments)).clone()
}

/// Compiles `sources` with `strata cuda build`, unless an earlier test run has.
fn compile(program: &str, sources: &[&str], arguments: &[&str]) -> Option<PathBuf> {
    let Some(folder) = compiler() else {
        eprintln!("skipped: no CUDA compiler; `workloads/regenerate --install` installs one");
        return None;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cuda-{program}"));
    let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let newest = sources.iter().chain(&["check.h"]).filter_map(|source| changed(&here.join(source))).max();
    if changed(&output) <= newest {
        let mut command = Command::new(STRATA);
        command.env("STRATA_CUDA_BIN", folder).current_dir(&here).args(["cuda", "build", "-o"]).arg(&output);
        let built = command.args(sources).arg("--").args(arguments).output().expect("strata runs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }
    Some(output)
}

/// A program in a folder of its own.
struct Run {
    folder: TempDir,
    program: PathBuf,
}

struct Ended {
    status: Option<i32>,
    out: String,
    err: String,
    json: Value,
}

impl Run {
    fn new(program: PathBuf) -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), program }
    }

    fn command(&self, options: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new(STRATA);
        command.current_dir(self.folder.path()).args(["run", "--json=result.json"]).args(options);
        command.arg("--").arg(&self.program).args(arguments);
        command
    }

    fn end(&self, options: &[&str], arguments: &[&str]) -> Ended {
        let Output { status, stdout, stderr } = self.command(options, arguments).output().expect("strata runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let json = fs::read(self.folder.path().join("result.json")).unwrap_or_default();
        let json = serde_json::from_slice(&json).unwrap_or(Value::Null);
        // What was found out and where it is stands at the end of every run; tests look at the rest.
        let is_answer = |line: &&str| line.starts_with("strata: saved in ") || line.contains(" core cycles (");
        let stderr = text(stderr);
        let err = stderr.split_inclusive('\n').filter(|line| !is_answer(line)).collect();
        Ended { status: status.code(), out: text(stdout), err, json }
    }

    /// The folder of the saved result.
    fn saved(&self) -> PathBuf {
        let out = self.folder.path().join("strata-out");
        let mut entries = fs::read_dir(out).expect("results").flatten();
        entries.next().expect("a result").path()
    }
}

/// Runs a program that checks itself.
fn check(program: &str, sources: &[&str], arguments: &[&str], expected: &str, kernels: usize) {
    let Some(binary) = build(program, sources, arguments) else { return };
    let ended = Run::new(binary).end(&[], &[]);
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (Some(0), expected, ""), "{}", ended.err);
    assert_eq!(ended.json["kernels"].as_array().map(Vec::len), Some(kernels));
}

#[test]
fn a_vector_is_added_and_the_programs_output_and_status_are_its_own() {
    let Some(binary) = build("vecadd", &["vecadd.cu"], &[]) else { return };
    let run = Run::new(binary);
    let ended = run.end(&[], &["5000", "17"]);
    assert_eq!((ended.status, ended.out.as_str()), (Some(17), "vecadd: 5000 sums are right\n"), "{}", ended.err);
    let kernel = &ended.json["kernels"][0];
    assert_eq!((kernel["grid"][0].as_u64(), kernel["block"][0].as_u64()), (Some(20), Some(256)));
    assert_eq!(ended.json["thread_instructions"].as_u64().map(|n| n > 5000), Some(true));
    assert!(ended.json["cycles"].is_null());
    let saved: Value =
        serde_json::from_slice(&fs::read(run.saved().join("result.json")).expect("saved")).expect("JSON");
    assert_eq!(saved["kernels"], ended.json["kernels"]);
}

#[test]
fn a_program_is_timed_on_a_machine_with_mechanisms() {
    let Some(binary) = build("vecadd", &["vecadd.cu"], &[]) else { return };
    let run = Run::new(binary);
    let (plain, again) = (run.end(&["--gpu", "v100"], &[]), run.end(&["--gpu", "v100"], &[]));
    assert_eq!(plain.status, Some(0), "{}", plain.err);
    assert_eq!(plain.json["cycles"].as_u64().map(|cycles| cycles > 1000), Some(true));
    assert_eq!(plain.json["stats"], again.json["stats"]);
    let compressed = run.end(&["--gpu", "v100", "--with", "bpc", "--check-data"], &[]);
    assert_eq!((compressed.status, compressed.out), (Some(0), plain.out), "{}", compressed.err);
}

#[test]
fn kernels_find_their_symbols_structures_templates_shared_memory_and_printf() {
    let printed = "before\nblock 0 of 2 says hello 1.50\nblock 1 of 2 says hello 1.50\nafter\n";
    check("kernels", &["kernels.cu"], &[], printed, 4);
}

#[test]
fn streams_events_pinned_memory_and_graphs() {
    check("streams", &["streams.cu"], &[], "streams: all is right\n", 11);
}

#[test]
fn managed_memory_and_copies_in_several_dimensions() {
    check("memory", &["memory.cu"], &[], "memory: all is right\n", 2);
}

#[test]
fn two_translation_units_linked_on_the_device() {
    check("units", &["unit_main.cu", "unit_other.cu"], &["-rdc=true"], "here\nthere\nunits: all is right\n", 2);
}

#[test]
fn texture_objects_of_arrays_pitched_and_linear_memory() {
    check("textures", &["textures.cu"], &[], "textures: all is right\n", 7);
}

#[test]
fn texture_and_surface_references_bound_by_the_calls_of_old() {
    check("references", &["references.cu"], &[], "references: all is right\n", 2);
}

#[test]
fn surface_objects_in_two_and_three_dimensions() {
    check("surfaces", &["surfaces.cu"], &[], "surfaces: all is right\n", 2);
}

#[test]
fn cooperative_groups_and_a_grid_that_waits_for_itself() {
    check("groups", &["groups.cu"], &[], "groups: all is right\n", 2);
}

#[test]
fn atomics_of_all_kinds() {
    check("atomics", &["atomics.cu"], &[], "atomics: all is right\n", 1);
}

#[test]
fn products_of_matrices_by_warps() {
    check("wmma", &["wmma.cu"], &[], "wmma: all is right\n", 1);
}

#[test]
fn thrust_and_cub_sort_scan_and_reduce() {
    check("libraries", &["libraries.cu"], &[], "libraries: all is right\n", 9);
}

#[test]
fn memory_in_the_order_of_streams_and_memory_that_kernels_allocate() {
    check("pools", &["pools.cu"], &[], "pools: all is right\n", 3);
}

#[test]
fn managed_memory_moves_with_unified_memory() {
    let Some(binary) = build("memory", &["memory.cu"], &[]) else { return };
    let run = Run::new(binary);
    for model in ["uvm.model=uvmsmart", "uvm.model=driver"] {
        let ended = run.end(&["--gpu", "gtx1080ti", "--with", "uvm", "--set", model], &[]);
        assert_eq!((ended.status, ended.out.as_str()), (Some(0), "memory: all is right\n"), "{}", ended.err);
        let heat: Value =
            serde_json::from_slice(&fs::read(run.saved().join("uvm.json")).expect("saved")).expect("JSON");
        let names: Vec<_> =
            heat["allocations"].as_array().expect("a list").iter().filter_map(|a| a["name"].as_str()).collect();
        assert!(["counter", "field", "managed0"].iter().all(|name| names.contains(name)), "{names:?}");
        assert_eq!(ended.json["stats"]["allocation[managed0].bytes"]["value"].as_u64(), Some(400_000));
        fs::remove_dir_all(run.folder.path().join("strata-out")).expect("removed");
    }
}

#[test]
fn only_the_launches_that_are_wanted_are_timed() {
    let Some(binary) = build("kernels", &["kernels.cu"], &[]) else { return };
    let run = Run::new(binary);
    let timed = |options: &[&str]| -> Vec<usize> {
        let options: Vec<_> = ["--gpu", "v100"].iter().chain(options).copied().collect();
        let ended = run.end(&options, &[]);
        assert_eq!(ended.status, Some(0), "{}{}", ended.out, ended.err);
        let kernels = ended.json["kernels"].as_array().expect("kernels").clone();
        assert_eq!(kernels.len(), 4);
        let sum: u64 = kernels.iter().filter_map(|kernel| kernel["cycles"].as_u64()).sum();
        assert_eq!(ended.json["cycles"].as_u64(), Some(sum));
        (1..).zip(&kernels).filter(|(_, kernel)| !kernel["cycles"].is_null()).map(|(number, _)| number).collect()
    };
    assert_eq!(timed(&["--kernels", "1-3/2,speak"]), [1, 3, 4]);
    assert_eq!(timed(&["--fast-forward", "2"]), [3, 4]);
    assert_eq!(timed(&["--fast-forward", "1", "--kernels", "1-3", "--max-instructions", "1000000"]), [2, 3]);
}

#[test]
fn a_launch_that_runs_away_is_stopped_and_the_program_is_told() {
    let Some(binary) = build("faults", &["faults.cu"], &["-lineinfo"]) else { return };
    let run = Run::new(binary);
    for options in [&["--max-instructions", "5000"][..], &["--gpu", "v100", "--max-instructions", "5000"]] {
        let ended = run.end(options, &["slow"]);
        assert_eq!(ended.status, Some(1), "{}", ended.out);
        assert!(ended.out.contains("the launch timed out and was terminated"), "{}", ended.out);
        assert!(ended.err.contains("strata: instruction limit: the launch has executed 5000"), "{}", ended.err);
    }
}

#[test]
fn an_out_of_bounds_store_is_told_with_kernel_place_and_source() {
    let Some(binary) = build("faults", &["faults.cu"], &["-lineinfo"]) else { return };
    let ended = Run::new(binary).end(&[], &["store"]);
    let expected = "cudaErrorIllegalAddress, an illegal memory access was encountered\n";
    assert_eq!((ended.status, ended.out.as_str()), (Some(3), expected), "{}", ended.err);
    for part in [
        "strata: out of bounds: 4 bytes at global address 0x2",
        "just past the end of `device0` (1.0 KiB at 0x2",
        "st.global.u32",
        "= source: ",
        "faults.cu:9",
        "block (2,0,0), thread (0,0,0)",
    ] {
        assert!(ended.err.contains(part), "no `{part}` in:\n{}", ended.err);
    }
    assert!(ended.json["error"].as_str().is_some_and(|error| error.starts_with("out of bounds")));
}

#[test]
fn graphs_node_by_node_and_memory_that_the_program_registers() {
    check("nodes", &["nodes.cu"], &[], "nodes: all is right\n", 9);
}

#[test]
fn old_programs_compile_and_run() {
    check("old", &["old.cu"], &[], "cudaSuccess 42\n", 2);
}

#[test]
fn a_program_that_ends_before_its_first_call_is_not_told_to_link_otherwise() {
    let Some(binary) = build("old", &["old.cu"], &[]) else { return };
    let ended = Run::new(binary).end(&[], &["crash"]);
    let expected = "strata: warning: the program loads the CUDA runtime, but ended before its first CUDA call (signal: 6 (SIGABRT)";
    assert!(ended.err.contains(expected), "{}", ended.err);
}

#[test]
fn reads_past_the_end_are_forgiven_if_asked() {
    let Some(binary) = build("old", &["old.cu"], &[]) else { return };
    let strict = Run::new(binary.clone()).end(&[], &["past"]);
    assert!(strict.status != Some(0) && strict.err.contains("out of bounds: 4 bytes"), "{}", strict.err);
    let ended = Run::new(binary).end(&["--lenient"], &["past"]);
    assert_eq!((ended.status, ended.out.as_str()), (Some(0), "cudaSuccess 269488144\n"), "{}", ended.err);
    assert!(ended.err.contains("outside every allocation got what lies there (--lenient)"), "{}", ended.err);
}

#[test]
fn a_forgotten_barrier_is_told_if_asked() {
    let Some(binary) = build("old", &["old.cu"], &[]) else { return };
    let quiet = Run::new(binary.clone()).end(&[], &["race"]);
    assert_eq!((quiet.status, quiet.err.as_str()), (Some(0), ""));
    let ended = Run::new(binary).end(&["--check-races"], &["race"]);
    assert!(ended.err.contains("strata: warning: race: 4 bytes are"), "{}", ended.err);
    assert!(ended.err.contains("no barrier and no atomic orders the two"), "{}", ended.err);
}

/// 31 kernels of a tree and 16 leaves, 4 whose order matters, and 11 of a graph that is launched twice.
#[test]
fn kernels_launch_kernels_and_set_the_conditions_of_graphs() {
    check("nested", &["nested.cu"], &["-rdc=true"], "nested: all is right\n", 31 + 16 + 4 + 22);
}

#[test]
fn what_is_not_supported_says_so_once() {
    let Some(binary) = build("faults", &["faults.cu"], &["-lineinfo"]) else { return };
    let ended = Run::new(binary).end(&[], &["unsupported"]);
    let expected = "strata: cudaIpcGetMemHandle is not supported; the call answers cudaErrorNotSupported\n";
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), expected));
}

#[test]
fn nothing_is_lost_when_the_program_is_killed_and_nothing_looks_whole_when_we_are() {
    let Some(binary) = build("faults", &["faults.cu"], &["-lineinfo"]) else { return };
    for kill_program in [true, false] {
        let run = Run::new(binary.clone());
        let mut command = run.command(&[], &["slow"]);
        let mut strata = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("strata runs");
        let mut lines = BufReader::new(strata.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("a line").expect("text");
        let program = line.strip_prefix("running ").expect("the program's number").to_owned();
        let victim = if kill_program { program } else { strata.id().to_string() };
        assert!(Command::new("kill").args(["-KILL", &victim]).status().expect("kill runs").success());
        let status = strata.wait().expect("it ends");
        let result = run.saved().join("result.json");
        if kill_program {
            assert_eq!(status.code(), Some(128 + 9));
            let json: Value = serde_json::from_slice(&fs::read(&result).expect("saved")).expect("whole");
            assert!(json["kernels"].as_array().is_some_and(|kernels| !kernels.is_empty()));
            assert!(!result.with_file_name("result.partial.json").exists());
        } else {
            assert!(!result.exists());
        }
    }
}

#[test]
fn a_program_that_crashes_leaves_what_ran_and_its_own_status() {
    let Some(binary) = build("faults", &["faults.cu"], &["-lineinfo"]) else { return };
    let run = Run::new(binary);
    let ended = run.end(&[], &["crash"]);
    assert_eq!(ended.status, Some(128 + 11), "{}", ended.err);
    assert!(!ended.err.contains("-cudart shared"), "{}", ended.err);
    assert_eq!(ended.json["kernels"].as_array().map(Vec::len), Some(1));
    let saved = run.saved();
    let json: Value = serde_json::from_slice(&fs::read(saved.join("result.json")).expect("saved")).expect("whole");
    assert_eq!(json["kernels"], ended.json["kernels"]);
    assert!(fs::read(saved.join("stats.parquet")).expect("saved").ends_with(b"PAR1"));
    assert!(!saved.join("result.partial.json").exists());
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_nothing_half_written() {
    const SEED: u64 = 9;
    let Some(binary) = build("faults", &["faults.cu"], &["-lineinfo"]) else { return };
    let mut state = SEED;
    // Numbers below 2^bits (Knuth's MMIX constants).
    let mut draw = |bits: u32| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> (64 - bits)
    };
    for signal in ["-KILL", "-TERM"] {
        // Short times as often as long ones: the program starts and loads in the first milliseconds, and the first partial result
        // is saved after a second.
        for scale in [3, 5, 6, 7, 9, 11] {
            let delay = draw(scale);
            let run = Run::new(binary.clone());
            let mut strata = run.command(&[], &["slow"]);
            let mut strata = strata.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("strata runs");
            thread::sleep(Duration::from_millis(delay));
            assert!(Command::new("kill").args([signal, &strata.id().to_string()]).status().expect("kill").success());
            strata.wait().expect("it ends");
            for folder in fs::read_dir(run.folder.path().join("strata-out")).into_iter().flatten().flatten() {
                for file in fs::read_dir(folder.path()).expect("a folder").flatten() {
                    let (name, bytes) =
                        (file.file_name().into_string().expect("text"), fs::read(file.path()).expect("read"));
                    let whole = match name.rsplit_once('.') {
                        Some((_, "json")) => serde_json::from_slice::<Value>(&bytes).is_ok(),
                        Some((_, "parquet")) => bytes.ends_with(b"PAR1"),
                        _ => true,
                    };
                    assert!(whole, "{signal} after {delay} ms (seed {SEED}): {name} is half written");
                    assert!(signal != "-KILL" || name != "result.json", "nobody was there to end the run");
                }
            }
        }
    }
}

#[test]
fn failures_of_the_simulator_have_a_status_of_their_own() {
    let check = |arguments: &[&str], expected: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let ended = Command::new(STRATA).current_dir(folder.path()).args(arguments).output().expect("strata runs");
        let err = String::from_utf8(ended.stderr).expect("text");
        assert_eq!(ended.status.code(), Some(125), "{err}");
        assert!(err.contains(expected), "{err}");
    };
    check(&["run", "--", "./no-such-program"], "cannot read `./no-such-program`");
    check(&["run", "--", "no-such-program"], "there is no program `no-such-program` on the path");
    check(&["run", "--gpu", "v101", "--", "true"], "did you mean `v100`?");
    check(&["run", "--json", "--", "true"], "`--json=FILE`");
    check(&["run", "--kernels", "3", "--", "true"], "name a machine with `--gpu`");
    check(&["run", "--gpu", "v100", "--kernels", "3-1", "--", "true"], "`3-1` is no launch");
    check(&["run", "--with", "buddy", "--gpu", "p100-buddy", "--", "true"], "--set buddy.targets=FILE");
}

#[test]
fn a_program_that_is_no_cuda_program_runs_and_is_told_of_the_shared_library() {
    let run = Run::new("sh".into());
    let ended = run.end(&[], &["-c", "echo out; exit 4"]);
    assert_eq!((ended.status, ended.out.as_str()), (Some(4), "out\n"));
    assert!(ended.err.contains("-cudart shared"), "{}", ended.err);
    assert_eq!(ended.json["kernels"].as_array().map(Vec::len), Some(0));
}

/// The figures of docs/cuda.md: `cargo test --release -p strata --test cuda -- --ignored --nocapture figures`.
#[test]
#[ignore = "measures time, which tests that run beside it take"]
fn figures_of_start_up_and_speed() {
    const ROUNDS: usize = 7;
    let Some(program) = build("speed", &["speed.cu"], &[]) else { return };
    let Some(ptx) = build("speed.ptx", &["speed.cu"], &["-ptx"]) else { return };
    let Some(small) = build("vecadd", &["vecadd.cu"], &[]) else { return };
    let run = Run::new(program);
    let launch = "[[launch]]\nkernel = \"mix\"\ngrid = 256\nblock = 256\nargs = [\"data\", { i32 = 1000 }]\n";
    let buffer = "[buffers.data]\ntype = \"i32\"\ncount = 65536\n";
    let text = format!("ptx = \"speed.ptx\"\n{buffer}{}", launch.repeat(4));
    fs::copy(ptx, run.folder.path().join("speed.ptx")).expect("copied");
    fs::write(run.folder.path().join("speed.toml"), text).expect("written");
    let rate = |json: &Value| json["host"]["thread_instructions_per_second"].as_f64().expect("a rate");
    let from_file = || {
        let mut command = Command::new(STRATA);
        let command = command.current_dir(run.folder.path()).args(["run", "speed.toml", "--json"]);
        let output = command.output().expect("strata runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        rate(&serde_json::from_slice(&output.stdout).expect("JSON"))
    };
    let best = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let file = best(&mut (0..ROUNDS).map(|_| from_file()));
    let runtime = best(&mut (0..ROUNDS).map(|_| rate(&run.end(&[], &[]).json)));
    let start = Run::new(small);
    let once = || {
        let began = Instant::now();
        assert_eq!(start.end(&[], &["10"]).status, Some(0));
        began.elapsed().as_secs_f64()
    };
    let seconds = (0..3 * ROUNDS).map(|_| once()).fold(f64::INFINITY, f64::min);
    println!("start to end of a program with one small kernel: {:.1} ms", seconds * 1e3);
    println!("thread instructions per second: {file:.3e} from a launch file, {runtime:.3e} through the runtime");
    assert!(seconds < 0.05 && runtime > 0.95 * file);
}

/// Runs the command line in a folder: what it prints.
fn strata_in(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(STRATA);
    if let Some(compiler) = compiler() {
        command.env("STRATA_CUDA_BIN", compiler);
    }
    let done = command.current_dir(folder).args(arguments).output().expect("strata runs");
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

#[test]
fn microbenchmarks_for_cards_tell_the_parameters_of_a_machine() {
    const ROWS: [&str; 5] = ["sfu-latency", "l1-latency", "shared-latency", "l2-latency", "atomic-latency"];
    const CARD: [(&str, f64); 5] = [
        ("isa.rows.special.latency", 30.0),
        ("l1.latency", 41.0),
        ("shared.latency", 22.0),
        ("l2.latency", 150.0),
        ("l2.atomic_cycles", 60.0),
    ];
    if compiler().is_none() {
        eprintln!("skipped: no CUDA compiler; `workloads/regenerate --install` installs one");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    strata_in(folder, &["validate", "--emit-cuda", "micro"]);
    strata_in(folder, &["cuda", "build", "-o", "program", "micro/microbenchmarks.cu"]);
    let measure = |file: &str, changes: &[&str]| {
        let begin = ["run", "--gpu", "titan-v"].iter().chain(changes);
        let all: Vec<_> = begin.chain(&["--", "./program"]).chain(&ROWS).copied().collect();
        fs::write(folder.join(file), strata_in(folder, &all)).expect("written");
    };
    measure("preset.toml", &[]);
    let shown: Value = serde_json::from_str(&strata_in(
        folder,
        &["validate", "--silicon", "preset.toml", "--gpu", "titan-v", "--json"],
    ))
    .expect("JSON");
    let rows = shown["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), ROWS.len());
    for row in rows {
        assert!(row["error"].as_f64().is_some_and(|error| error.abs() < 0.01), "{row}");
    }
    let changes: Vec<_> = CARD.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]).collect();
    measure("card.toml", &changes.iter().map(String::as_str).collect::<Vec<_>>());
    let fitted: Value = serde_json::from_str(&strata_in(
        folder,
        &["calibrate", "card.toml", "--gpu", "titan-v", "--out", "fitted.toml", "--json"],
    ))
    .expect("JSON");
    for (key, value) in CARD {
        let found = fitted["parameters"].as_array().into_iter().flatten().find(|p| p["name"] == key).expect("fitted");
        let after = found["after"].as_f64().expect("a value");
        assert!((after - value).abs() <= 0.03 * value, "{key}: {after} instead of {value}");
    }
    let again: Value = serde_json::from_str(&strata_in(
        folder,
        &["validate", "--silicon", "card.toml", "--gpu", "fitted.toml", "--json"],
    ))
    .expect("JSON");
    for row in again["rows"].as_array().expect("rows") {
        assert!(row["error"].as_f64().is_some_and(|error| error.abs() < 0.03), "{row}");
    }
}
