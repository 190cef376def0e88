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

/// README's first command, which builds the project and compares every mechanism: what it says it prints is what is printed.
/// `UPDATE_DOCS=1` writes that anew.
#[test]
fn command_one_prints_what_readme_shows() {
    let readme = root().join("README.md");
    let published = std::fs::read_to_string(&readme).expect("there");
    assert!(
        published.contains("```sh\ncargo run --release -- compare\n```\n\n```text\n"),
        "command one and its output"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let strata = Command::new(env!("CARGO_BIN_EXE_strata"))
        .args(["compare", "--store", "store"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output();
    let output = strata.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (before, rest) = published.split_once("```text\n").expect("its output");
    let (_, after) = rest.split_once("```").expect("an end");
    let current = format!("{before}```text\n{}```{after}", shortened(&String::from_utf8_lossy(&output.stdout)));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&readme, &current).expect("it can be written");
    } else {
        assert!(published == current, "README.md is stale: run this test once with UPDATE_DOCS=1\n{current}");
    }
}

/// Of the output of a comparison the table, and two of its sentences.
fn shortened(output: &str) -> String {
    let (table, sentences) = output.split_once("\n\n").expect("sentences follow the table");
    let mut shown = format!("{table}\n\n");
    let mut is_shown = false;
    for line in sentences.lines() {
        // A sentence begins with the machine's name and goes on in further lines.
        let is_first = line.split_once(": ").is_some_and(|(name, _)| table.contains(&format!("\n  {name} ")));
        if is_first {
            is_shown = line.starts_with("cmd: ") || line.starts_with("tom: ");
            shown += if is_shown { "…\n" } else { "" };
        }
        if is_shown {
            shown += line;
            shown.push('\n');
        }
    }
    shown
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project")
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
    let root = root();
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
