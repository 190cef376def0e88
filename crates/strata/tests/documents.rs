//! Commands in the documents do what the documents say: every line of a block marked `sh` that begins with `strata` runs.

use std::path::Path;
use std::process::Command;

/// Documents, and where their commands are run from.
const DOCUMENTS: [&str; 2] = ["docs/tour.md", "docs/memory-bound.md"];

/// The commands of the blocks that are marked as runnable.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut runnable = false;
    for line in text.lines() {
        match line.trim() {
            "```sh" => runnable = true,
            "```" => runnable = false,
            command if runnable && command.starts_with("strata ") => {
                found.push(command.split(" # ").next().unwrap_or_default().trim().to_owned());
            }
            _ => {}
        }
    }
    found
}

#[test]
fn commands_of_the_documents_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project");
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(root.join("examples"), folder.path().join("examples")).expect("a link");
    let mut run = 0;
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(root.join(document)).expect("there");
        for command in commands(&text) {
            let words: Vec<&str> = command.split_whitespace().skip(1).collect();
            let strata = Command::new(env!("CARGO_BIN_EXE_strata")).args(&words).current_dir(folder.path()).output();
            let output = strata.expect("strata runs");
            assert!(output.status.success(), "{document}: {command}\n{}", String::from_utf8_lossy(&output.stderr));
            run += 1;
        }
    }
    assert!(run >= 6, "{run} commands");
}
