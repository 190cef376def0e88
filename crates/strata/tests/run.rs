//! `strata run` from the command line to the files it leaves behind.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `strata run WHAT --json`, with results below `folder`.
fn run(what: &str, folder: &Path) -> (Output, Value) {
    run_with(what, folder, &[])
}

/// The same with further options.
fn run_with(what: &str, folder: &Path, options: &[&str]) -> (Output, Value) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let strata = Command::new(env!("CARGO_BIN_EXE_strata"))
        .args(["run", what, "--json", "--out"])
        .arg(folder)
        .args(options)
        .current_dir(root)
        .output()
        .expect("it runs");
    let json = serde_json::from_slice(&strata.stdout).expect("standard output is one JSON object");
    (strata, json)
}

fn saved(json: &Value, name: &str) -> Vec<u8> {
    let directory = json["host"]["directory"].as_str().expect("a path");
    fs::read(Path::new(directory).join(name)).expect("saved")
}

#[test]
fn the_example_passes_and_leaves_its_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let (strata, json) = run("examples/vecadd.toml", folder.path());
    assert_eq!(strata.status.code(), Some(0), "{}", String::from_utf8_lossy(&strata.stderr));
    assert_eq!(json["passed"], true);
    assert_eq!(json["kernels"][0]["name"], "vecadd");
    // 1024 threads execute seven instructions and `ret`, 1000 of them the fourteen or so in between.
    let instructions = json["thread_instructions"].as_u64().expect("a number");
    assert!((20_000..24_000).contains(&instructions), "{instructions}");
    assert_eq!(json["stats"]["gpu.bytes_written"]["value"], 4000);
    let sums = saved(&json, "c.npy");
    let last: [u8; 4] = sums[sums.len() - 4..].try_into().expect("four bytes");
    assert_eq!(f32::from_le_bytes(last), 999.0 + 0.5 + 2.0 * 999.0);
    assert_eq!(serde_json::from_slice::<Value>(&saved(&json, "result.json")).expect("JSON"), json);
}

#[test]
fn two_runs_differ_in_host_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = [(); 2].map(|()| {
        let mut json = run("examples/vecadd.toml", folder.path()).1;
        json.as_object_mut().expect("an object").remove("host");
        json.to_string()
    });
    assert_eq!(first, second);
}

#[test]
fn a_wrong_result_and_a_failing_program_exit_with_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["vecadd.ptx", "vecadd.expected.npy"] {
        fs::copy(examples.join(name), folder.path().join(name)).expect("copied");
    }
    let text = fs::read_to_string(examples.join("vecadd.toml")).expect("there");
    let changed = |name: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        let path = folder.path().join(name);
        fs::write(&path, text.replace(from, to)).expect("written");
        run(&path.display().to_string(), folder.path())
    };

    let (strata, json) = changed("wrong.toml", "step = 2", "step = 3");
    assert_eq!(strata.status.code(), Some(1));
    assert_eq!((&json["passed"], &json["error"]), (&false.into(), &Value::Null));
    assert_eq!(json["after"][1]["first"]["index"], 1);

    let (strata, json) = changed("beyond.toml", "{ u32 = 1000 }", "{ u32 = 1024 }");
    assert_eq!(strata.status.code(), Some(1));
    let error = json["error"].as_str().expect("why it stopped");
    for part in ["out of bounds", "vecadd.ptx:", "block (7,0,0)"] {
        assert!(error.contains(part), "`{part}` is not in: {error}");
    }
}

/// Each thread reads a word of shared memory; only the first warp wrote its own.
const UNWRITTEN: &str = "
.version 8.0
.target sm_75
.address_size 64
.visible .entry unwritten()
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .shared .align 4 .b8 tile[256];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mad.lo.s32 %r2, %r1, 4, %r2;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 st.shared.u32 [%r2], %r1;
    ld.shared.u32 %r3, [%r2];
    ret;
}";

#[test]
fn reads_of_unwritten_memory_are_warnings_if_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("unwritten.ptx"), UNWRITTEN).expect("written");
    let file = folder.path().join("unwritten.toml");
    let text = "ptx = \"unwritten.ptx\"\n[[launch]]\nkernel = \"unwritten\"\ngrid = 2\nblock = 64\nrepeat = 3\n";
    fs::write(&file, text).expect("written");
    let what = file.display().to_string();

    let (strata, json) = run_with(&what, folder.path(), &["--check"]);
    assert_eq!(strata.status.code(), Some(0), "a warning does not fail a run");
    let warnings = json["warnings"].as_array().expect("a list");
    assert_eq!(warnings.len(), 1, "once, not in each of three launches: {warnings:?}");
    let warning = warnings[0].as_str().expect("a text");
    for part in ["uninitialised", "shared address 0x80", "unwritten.ptx:15", "block (0,0,0)", "thread (32,0,0)"] {
        assert!(warning.contains(part), "`{part}` is not in: {warning}");
    }
    assert!(String::from_utf8_lossy(&strata.stderr).contains("warning: uninitialised"));

    let (strata, json) = run(&what, folder.path());
    assert_eq!(json["warnings"], Value::Array(Vec::new()));
    assert!(!String::from_utf8_lossy(&strata.stderr).contains("warning"));
}

#[test]
fn a_machine_gives_cycles_in_json_and_in_the_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, json) = run_with("saxpy", folder.path(), &["--size", "tiny", "--gpu", "titan-v"]);
    let cycles = json["cycles"].as_u64().expect("a clock");
    assert_eq!(json["kernels"][0]["cycles"], cycles);
    assert_eq!(json["passed"], true);
    let table = Command::new(env!("CARGO_BIN_EXE_strata"))
        .args(["run", "saxpy", "--size", "tiny", "--gpu", "titan-v", "--out"])
        .arg(folder.path())
        .output()
        .expect("it runs");
    let table = String::from_utf8_lossy(&table.stdout);
    assert!(
        table.lines().nth(3).is_some_and(|line| line.contains(" core cycles (")),
        "the answer comes first: {table}"
    );
    let heading = table.lines().find(|line| line.starts_with("timed")).expect("a table of what the machine counted");
    for column in ["core cycles", "IPC", "L1 hits", "L2 hits", "from DRAM", "to DRAM", "buses"] {
        assert!(heading.contains(column), "{heading}");
    }
}

/// Counts of the launches sum to those of the run; rates are divided anew.
#[test]
fn the_statistics_of_a_timed_run_add_up_over_its_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, json) = run_with("backprop", folder.path(), &["--size", "tiny", "--gpu", "titan-x-pascal"]);
    let kernels = json["kernels"].as_array().expect("a list");
    assert!(kernels.len() > 1);
    let sum = |path: &str| kernels.iter().filter_map(|k| k["stats"][path]["value"].as_u64()).sum::<u64>();
    let total = |path: &str| &json["stats"][path]["value"];
    let paths = kernels[0]["stats"].as_object().expect("an object").iter();
    let counters: Vec<_> = paths.filter(|(_, stat)| stat["value"].is_u64()).map(|(path, _)| path).collect();
    for known in ["gpu.cycles", "gpu.l1.read_hits", "gpu.l2.read_hits", "gpu.dram.reads", "gpu.requests"] {
        assert!(counters.iter().any(|path| *path == known), "{known}");
    }
    for path in counters {
        assert_eq!(*total(path), sum(path), "{path}");
    }
    assert!(sum("gpu.l2.reads") > 0);
    let rate = sum("gpu.l2.read_hits") as f64 / sum("gpu.l2.reads") as f64;
    assert_eq!(*total("gpu.l2.read_hit_rate"), rate);
    assert_eq!(json["ipc"], *total("gpu.ipc"));
    assert_eq!(saved(&json, "stats.parquet")[..4], *b"PAR1");
}

#[test]
fn a_graph_from_a_file_is_part_of_the_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let square = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/graph.in/square.gr");
    let path = folder.path().join("square.gr");
    let directory = |text: &str| {
        fs::write(&path, text).expect("written");
        let (strata, json) = run_with("sssp", folder.path(), &["--input", &path.display().to_string()]);
        assert_eq!(strata.status.code(), Some(0), "{}", String::from_utf8_lossy(&strata.stderr));
        assert_eq!((&json["passed"], &json["size"]), (&true.into(), &Value::Null));
        json["host"]["directory"].as_str().map(str::to_owned)
    };
    let text = fs::read_to_string(square).expect("there");
    let first = directory(&text);
    assert_eq!(first, directory(&text));
    assert_ne!(first, directory(&text.replace("a 1 2 3", "a 1 2 8")));
}
