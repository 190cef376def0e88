//! Commands that another program calls: what it hears, what an error is, and how it stops one.

use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strata::{Caller, Ended};
use strata_lab::mechanisms::registry;

fn call(caller: &Arc<Caller>, words: &[&str]) -> Result<Ended, String> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    strata::call(&words, vec!["strata".into()], registry(), caller)
}

#[test]
fn a_caller_hears_what_the_command_would_print() {
    let (folder, caller) = (tempfile::tempdir().expect("a folder"), Arc::new(Caller::default()));
    let out = folder.path().display().to_string();
    let ended = call(&caller, &["run", "saxpy", "--size", "tiny", "--json", "--out", &out]);
    assert_eq!(ended, Ok(Ended::Well));
    let result: Value = serde_json::from_str(&caller.result()).expect("one JSON object");
    assert_eq!((&result["name"], &result["passed"]), (&"saxpy".into(), &true.into()));
    assert!(caller.messages().contains("saved in"));
    assert!(caller.progress().is_some_and(|(text, _)| text.starts_with("saxpy")));
}

#[test]
fn errors_are_the_texts_of_the_command_line() {
    let told = |words: &[&str]| call(&Arc::default(), words).expect_err("an error");
    assert_eq!(told(&["run", "saxpi"]), "there is no workload `saxpi`; did you mean `saxpy`?");
    assert!(told(&["run", "saxpy", "--sise", "tiny"]).starts_with("unexpected argument '--sise' found"));
}

#[test]
fn a_run_ends_soon_after_the_sign_and_leaves_nothing() {
    let (folder, caller) = (tempfile::tempdir().expect("a folder"), Arc::new(Caller::default()));
    let out = folder.path().display().to_string();
    let heard = Arc::clone(&caller);
    let run = std::thread::spawn(move || {
        call(&heard, &["run", "bfs", "--size", "medium", "--gpu", "titan-v", "--json", "--out", &out])
    });
    let began = Instant::now();
    while caller.progress().is_none() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    caller.stop().give();
    assert_eq!(run.join().expect("no panic"), Ok(Ended::Stopped));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
    assert_eq!(caller.result(), "");
}
