//! Commands in the documents do what the documents say: every block of README and of the book that is marked `sh` and has a
//! command of ours is a script that runs, its blocks one after another in one folder. Blocks that need a CUDA compiler, a card, a
//! cluster, or more time than a test may take are marked as something else, and so are those that install or test the project.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// All documents together, on one core: so that they stay a test. The suite of a machine under load takes several times as long.
const BUDGET: Duration = Duration::from_secs(60);

/// Each block of a document that is marked as runnable and has a command of ours, as a script.
fn scripts(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (line.trim(), &mut block) {
            ("```sh", None) => block = Some(String::new()),
            ("```", Some(_)) => found.extend(block.take()),
            (command, Some(lines)) => {
                lines.push_str(command);
                lines.push('\n');
            }
            _ => {}
        }
    }
    found.retain(|script| script.lines().any(|line| line.starts_with("strata ")));
    found
}

/// README and the pages of the book.
fn documents(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join("docs")).expect("the book");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

#[test]
fn commands_of_the_documents_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project");
    let strata = Path::new(env!("CARGO_BIN_EXE_strata"));
    let path = format!("{}:{}", strata.parent().expect("a folder").display(), std::env::var("PATH").expect("a path"));
    let (mut run, mut of) = (0, Vec::new());
    let began = Instant::now();
    for document in documents(&root) {
        let scripts = scripts(&std::fs::read_to_string(&document).expect("there"));
        if scripts.is_empty() {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(root.join("examples"), folder.path().join("examples")).expect("a link");
        let start = Instant::now();
        for script in &scripts {
            let bash = Command::new("bash")
                .args(["-euo", "pipefail", "-c", script])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("XDG_DATA_HOME", folder.path().join("data"))
                .stdin(Stdio::null())
                .output();
            let output = bash.expect("bash runs");
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}:\n{script}\n{told}", document.display());
            run += 1;
        }
        let name = document.file_name().unwrap_or_default().to_string_lossy().into_owned();
        of.push(format!("{name} {:.1} s", start.elapsed().as_secs_f64()));
    }
    println!("{run} blocks: {}", of.join(", "));
    assert!(run >= 14 && of.len() >= 10, "{run} blocks of {} documents", of.len());
    assert!(began.elapsed() < 5 * BUDGET, "documents take {:?}: {}", began.elapsed(), of.join(", "));
}
