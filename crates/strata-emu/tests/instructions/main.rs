//! One-line vectors for every instruction form that executes; the files are in `tests/vectors`.
//!
//! Expected values are worked out from the PTX ISA manual and IEEE 754, by hand or by `reference.py` beside the files,
//! which shares nothing with the emulator. Each line runs in all lanes of a warp, in some of them (the others must keep
//! what they had), and without vector units.

mod kernels;
mod lines;
mod objects;
mod run;
mod value;

use std::collections::HashSet;
use std::path::PathBuf;
use strata_ptx::ast::Instruction;
use strata_ptx::forms;

/// The file of hand-written kernels; all others hold one-line vectors.
const KERNELS: &str = "control.txt";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// Names and texts of all files of vectors.
fn files() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).expect("tests/vectors");
    let paths = entries.map(|e| e.expect("an entry").path()).filter(|path| path.extension() == Some("txt".as_ref()));
    let name = |path: PathBuf| path.file_name().and_then(|n| n.to_str()).expect("a name").to_owned();
    let mut names: Vec<String> = paths.map(name).collect();
    names.sort();
    let text = |name: &String| std::fs::read_to_string(folder().join(name)).expect("a file of vectors");
    names.iter().map(|name| (name.clone(), text(name))).collect()
}

/// One test for each file.
macro_rules! chapters {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let file = concat!(stringify!($name), ".txt");
            let text = std::fs::read_to_string(folder().join(file)).expect("a file of vectors");
            let wrong = if file == KERNELS { kernels::run(file, &text) } else { run::run(file, &text) };
            assert!(wrong.is_empty(), "{} failures:\n{}", wrong.len(), wrong.join("\n"));
        })*

        #[test]
        fn every_file_is_run() {
            let run = [$(concat!(stringify!($name), ".txt")),*];
            let missing: Vec<String> = files().into_iter().map(|f| f.0).filter(|f| !run.contains(&f.as_str())).collect();
            assert!(missing.is_empty(), "not run: {missing:?}");
        }
    };
}

chapters! {
    approx atomic bits carry collective compare control convert copy float half hints integer matrix mbarrier memory minmax moves small texture video
}

/// The instructions that vectors show.
fn shown() -> Vec<Instruction> {
    let mut shown = Vec::new();
    for (name, text) in files() {
        if name == KERNELS {
            shown.extend(kernels::instructions(&name, &text).unwrap_or_else(|why| panic!("{why}")));
        } else {
            let vectors = lines::shaped(&name, &text).unwrap_or_else(|why| panic!("{why}"));
            shown.extend(vectors.into_iter().flat_map(|(_, shape)| shape.instructions));
        }
    }
    shown
}

#[test]
fn every_executing_form_has_a_vector_for_each_of_its_words() {
    let mut seen = HashSet::new();
    for i in shown() {
        let form = &forms()[usize::from(i.form.0)];
        let places = form.places(&i.words).unwrap_or_else(|| panic!("`{i}` is no `{}`", form.text()));
        seen.insert((form.id(), None));
        seen.extend(places.iter().zip(&i.words).map(|(&at, &word)| (form.id(), Some((at, word)))));
    }
    let mut missing = Vec::new();
    for form in forms().iter().filter(|form| form.executes()) {
        if !seen.contains(&(form.id(), None)) {
            missing.push(format!("{}: no vector at all", form.text()));
            continue;
        }
        let unseen = form.choices().filter(|&choice| !seen.contains(&(form.id(), Some(choice))));
        let names: Vec<String> = unseen.map(|(_, word)| format!(".{}", word.name())).collect();
        if !names.is_empty() {
            missing.push(format!("{}: none with {}", form.text(), names.join(" ")));
        }
    }
    assert!(missing.is_empty(), "{} forms lack vectors:\n{}", missing.len(), missing.join("\n"));
}
