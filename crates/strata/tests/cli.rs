//! Output and error messages of the command line, word for word. `TRYCMD=overwrite cargo test -p strata` rewrites them.

#[test]
fn output_and_messages() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
