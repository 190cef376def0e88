//! Runs that do not come to their end leave nothing behind, and two that do not know of each other leave one result.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn strata(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.args(arguments).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn ctrl_c_leaves_no_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let run = strata(folder.path(), &["run", "bfs", "--size", "medium", "--gpu", "titan-v", "--out", "out"]).spawn();
    let run = run.expect("strata runs");
    let began = Instant::now();
    while names(&out).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "the folder is begun first of all");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let ended = run.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(130), "as shells say it");
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "stopped: nothing of this run was saved\n");
    assert_eq!(names(&out), Vec::<String>::new());
}

#[test]
fn two_runs_into_one_folder_make_one_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "saxpy", "--size", "tiny", "--gpu", "titan-v", "--out", "out"];
    let both = [0, 1].map(|_| strata(folder.path(), &arguments).spawn().expect("strata runs"));
    for run in both {
        assert!(run.wait_with_output().expect("it ends").status.success());
    }
    let made = names(&folder.path().join("out"));
    assert!(made.len() == 1 && made[0].starts_with("saxpy-"), "{made:?}");
    assert!(folder.path().join("out").join(&made[0]).join("result.json").is_file());
}
