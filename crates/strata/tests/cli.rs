//! Output and error messages of the command line, word for word. `TRYCMD=overwrite cargo test -p strata` rewrites them.

#[test]
fn output_and_messages() {
    let data = tempfile::tempdir().expect("a folder");
    // Results are kept there, not in the store of whoever runs the tests.
    let cases = trycmd::TestCases::new();
    cases.env("XDG_DATA_HOME", data.path().display().to_string());
    cases.case("tests/cmd/*.trycmd");
}

/// `strata workloads | head -1`: whoever has read enough closes the pipe, and nobody complains.
#[test]
fn a_closed_pipe_is_no_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let strata = std::process::Command::new(env!("CARGO_BIN_EXE_strata")).arg("workloads").stdout(writer).output();
    let output = strata.expect("it runs");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
