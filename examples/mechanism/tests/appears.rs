//! The mechanism appears like those of the house: in lists, in `--with` and `--set`, in comparisons, in results.

use std::process::Command;

/// What the program prints, and whether it was content; results go to a folder of their own.
fn strata(arguments: &[&str]) -> (String, bool) {
    let folder = std::env::temp_dir().join(format!("my-strata-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_my-strata"));
    let output = command.args(arguments).current_dir(&folder).output().expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).expect("text"), output.status.success())
}

#[test]
fn it_is_listed_with_its_settings() {
    let (text, _) = strata(&["mechanisms"]);
    assert!(text.contains("victim-cache") && text.contains("buddy"), "{text}");
    let (text, _) = strata(&["mechanisms", "victim-cache"]);
    assert!(text.contains("victim-cache.lines = 16"), "{text}");
}

/// A program on a machine whose L2 is so small that lines leave it.
fn small_l2(command: &str) -> Vec<&str> {
    let machine = ["bfs", "--size", "tiny", "--gpu", "titan-v", "--set", "l2.sets=1", "--set", "l2.ways=2"];
    [&[command][..], &machine].concat()
}

#[test]
fn a_run_counts_what_it_does() {
    let run = [small_l2("run"), vec!["--with", "victim-cache", "--check-data"]].concat();
    let (text, passed) = strata(&run);
    assert!(passed && text.contains("victim-cache.hits"), "{text}");
    let (text, _) = strata(&[&run[..], &["--json"]].concat());
    assert!(text.contains("\"gpu.victim-cache.hits\""), "{text}");
    let (text, passed) = strata(&[&run[..], &["--set", "victim-cache.line=4"]].concat());
    assert!(!passed && text.contains("did you mean `lines`?"), "{text}");
}

#[test]
fn it_is_compared_alone_and_with_others() {
    let (text, passed) = strata(&[small_l2("compare"), vec!["--with", "victim-cache,bpc,victim-cache+bpc"]].concat());
    assert!(passed && text.contains("bpc+victim-cache"), "{text}");
    let (text, passed) = strata(&[small_l2("run"), vec!["--with", "cmd+victim-cache"]].concat());
    assert!(!passed && text.contains("each L2 slice has one victim buffer"), "{text}");
}
