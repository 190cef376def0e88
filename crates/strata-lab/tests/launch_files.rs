//! Launch files from reading to saved results, on an engine that doubles bytes.

mod common;

use common::{Record, RecordingEngine};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use strata_lab::launch_file::{Loaded, parse};
use strata_lab::{LabError, Monitor, RunRequest, RunResult, What, run_on};

/// Writes `files` to a folder, runs `prog.toml` of it, and hands folder and outcome to `look`.
fn run(files: &[(&str, &[u8])], look: impl FnOnce(&Path, Result<RunResult, LabError>, &Mutex<Record>)) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("k.ptx"), ".version 8.0").expect("written");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("written");
    }
    let request = RunRequest {
        out: Some(folder.path().join("out")),
        ..RunRequest::new(What::LaunchFile(folder.path().join("prog.toml")))
    };
    let (engine, record) = RecordingEngine::new();
    let outcome = run_on(&request, &Arc::new(Monitor::default()), Box::new(engine));
    look(folder.path(), outcome, &record);
}

#[track_caller]
fn check_error(files: &[(&str, &[u8])], expected: &[&str]) {
    run(files, |_, outcome, record| {
        let message = outcome.expect_err("an error").to_string();
        for part in expected {
            assert!(message.contains(part), "`{part}` is not in:\n{message}");
        }
        assert!(record.lock().expect("one thread").launches.is_empty(), "nothing runs before all is checked");
    });
}

const DOUBLE: &str = r#"
ptx = "k.ptx"
[buffers.a]
type = "u8"
count = 6
init = "iota"
[buffers.z]
size = 2
managed = true
[symbols]
table = { u16 = [1, 2] }
[[launch]]
kernel = "double"
grid = 2
block = 32
args = [{ buffer = "a", offset = 1 }, { u32 = 4 }]
repeat = 2
"#;

#[test]
fn a_program_runs_and_its_results_are_saved() {
    let text = format!(
        "{DOUBLE}[[after]]\nbuffer = 'a'\nwrite = 'a.npy'\nchecksum = true\ncompare = 'a.bin'\n\
         [[after]]\nbuffer = 'z'\nwrite = 'z.bin'\n"
    );
    run(&[("prog.toml", text.as_bytes()), ("a.bin", &[0, 4, 8, 12, 16, 5])], |_, outcome, record| {
        let result = outcome.expect("a sound file");
        assert_eq!(result.passed, Some(true), "{:?}", result.findings);
        assert!(result.is_success());
        assert_eq!(result.kernels.len(), 2);
        assert_eq!(result.counts().thread_instructions(), 2 * 64);
        let record = record.lock().expect("one thread");
        assert_eq!(record.launches[0].params[8..], [4, 0, 0, 0]);
        assert_eq!(record.allocations.iter().map(|a| a.flags.managed).collect::<Vec<_>>(), [false, true]);
        let saved = &result.host.directory;
        let npy = fs::read(saved.join("a.npy")).expect("written");
        assert_eq!(npy[npy.len() - 6..], [0, 4, 8, 12, 16, 5]);
        assert_eq!(fs::read(saved.join("z.bin")).expect("written"), [0, 0]);
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(saved.join("result.json")).expect("written")).expect("JSON");
        // Wall-clock values lose their last digit when they are read back.
        let without_host = |mut value: serde_json::Value| {
            value.as_object_mut().expect("an object").remove("host").expect("times of the host");
            value
        };
        assert_eq!(without_host(json.clone()), without_host(result.to_json()));
        assert_eq!(json["after"][2]["fnv1a64"], "828f3f92d29bdb9e");
        let request = fs::read_to_string(saved.join("request.json")).expect("written");
        assert!(request.contains("k.ptx") && !request.contains(&*std::env::temp_dir().to_string_lossy()));
    });
}

#[test]
fn a_wrong_result_fails_and_names_the_first_element() {
    let text = format!("{DOUBLE}[[after]]\nbuffer = 'a'\ncompare = 'a.bin'\nabs = 1\n");
    run(&[("prog.toml", text.as_bytes()), ("a.bin", &[1, 4, 10, 12, 16, 50])], |_, outcome, _| {
        let result = outcome.expect("a sound file");
        assert_eq!(result.passed, Some(false));
        let found = result.to_json()["after"][0].clone();
        assert_eq!((&found["mismatches"], &found["first"]["index"]), (&2.into(), &2.into()));
    });
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let text = format!(
        "{DOUBLE}[buffers.r]\ntype = 'f32'\ncount = 100\ninit = {{ random = [0, 1] }}\n[[after]]\nbuffer = 'r'\nchecksum = true\n"
    );
    let mut seen = Vec::new();
    for _ in 0..2 {
        run(&[("prog.toml", text.as_bytes())], |_, outcome, _| {
            let result = outcome.expect("a sound file");
            let mut json = result.to_json();
            json.as_object_mut().expect("an object").remove("host");
            seen.push((json.to_string(), result.host.directory.file_name().map(ToOwned::to_owned)));
        });
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_program_that_fails_on_the_device_is_a_result() {
    let text = b"ptx = 'k.ptx'\n[[launch]]\nkernel = 'crash'\ngrid = 1\nblock = 1\n";
    run(&[("prog.toml", text)], |_, outcome, _| {
        let result = outcome.expect("a sound file");
        assert_eq!(result.passed, Some(false));
        assert!(result.error.expect("why").contains("line 7"));
    });
}

#[test]
fn launches_are_checked_against_their_kernels_before_anything_runs() {
    let text = format!(
        "{DOUBLE}[[launch]]\nkernel = 'duoble'\ngrid = 1\nblock = 1\n\
         [[launch]]\nkernel = 'double'\ngrid = 1\nblock = 1\nargs = ['a']\n\
         [[launch]]\nkernel = 'double'\ngrid = 1\nblock = 1\nargs = ['a', {{ u64 = 4 }}]\n"
    );
    check_error(
        &[("prog.toml", text.as_bytes())],
        &["no kernel `duoble`", "takes 2 arguments, 1 were given", "has 8 bytes, the kernel declares 4", "3 errors"],
    );
}

#[test]
fn symbols_are_checked() {
    let text = DOUBLE.replace("[1, 2]", "[1, 2, 3, 4, 5]").replace("table =", "tabel = { u8 = 1 }\ntable =");
    check_error(&[("prog.toml", text.as_bytes())], &["no variable `tabel`", "`table` has 8 bytes, 10 are given"]);
}

#[test]
fn files_are_measured_before_anything_is_allocated() {
    let text = DOUBLE.replace("k.ptx", "missing.ptx").replace("init = \"iota\"", "init = { file = 'long.bin' }")
        + "[buffers.n]\ninit = { file = 'bad.npy' }\n[buffers.d]\ninit = { file = '.' }\n\
           [[after]]\nbuffer = 'a'\ncompare = 'long.bin'\n";
    check_error(
        &[("prog.toml", text.as_bytes()), ("long.bin", &[0; 7]), ("bad.npy", b"\x93NUMPY\x01\x00\xff\xff{'descr'")],
        &[
            "cannot read `missing.ptx`",
            "the file holds 7 bytes, the buffer 6",
            "cannot read `bad.npy`: the file ends inside its header",
            "cannot read `.`: it is not a regular file",
            "5 errors",
        ],
    );
}

#[test]
fn offsets_stay_inside_their_buffers() {
    let text = DOUBLE.replace("offset = 1 ", "offset = 7 ");
    check_error(&[("prog.toml", text.as_bytes())], &["the offset is 7, the buffer has 6 bytes"]);
}

#[test]
fn buffers_together_must_fit_the_device() {
    let text = format!("{DOUBLE}[buffers.x]\nsize = '9GiB'\n[buffers.y]\nsize = '9GiB'\n");
    check_error(&[("prog.toml", text.as_bytes())], &["up to here the buffers take 18.0 GiB, the device has 16.0 GiB"]);
}

#[test]
fn modules_that_do_not_parse_are_shown() {
    check_error(&[("prog.toml", DOUBLE.as_bytes()), ("k.ptx", b"syntax error")], &["k.ptx does not parse"]);
}

#[test]
fn a_launch_file_that_is_no_text_is_refused() {
    check_error(&[("prog.toml", &[b'\n', 0xff])], &["not UTF-8 text (line 2)"]);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_example_is_sound() {
    let loaded = Loaded::read(&root().join("examples/vecadd.toml")).expect("sound");
    assert_eq!(loaded.sizes.iter().map(|s| s.0).sum::<u64>(), 3 * 4000);
}

/// The blocks of the reference make one sound file together.
#[test]
fn the_reference_is_sound() {
    let text = fs::read_to_string(root().join("docs/launch-files.md")).expect("there");
    let blocks: Vec<_> = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 2);
    let (_, errors) = parse(&blocks.concat());
    assert_eq!(errors, []);
}

/// What somebody is told who tries to run a bare PTX file must itself work.
#[test]
fn the_advice_for_ptx_files_is_sound() {
    let advice = What::named("some.ptx").expect_err("no program").to_string();
    let file: Vec<_> = advice.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let (program, errors) = parse(&file.join("\n"));
    assert_eq!(errors, []);
    assert_eq!((program.buffers.len(), program.launches.len(), program.after.len()), (1, 1, 1));
}
