//! The reader through one function: a launch file in, its errors out.

use super::parse;
use crate::diagnostics::Diagnostics;
use crate::element::{Element, Number};
use crate::launch_file::{Action, ArgValue, Contents, Program};

/// Reads `text` and compares its errors, written `line: message`, with `expected`.
#[track_caller]
fn check(text: &str, expected: &[&str]) -> Program {
    let (program, errors) = parse(text);
    let diagnostics = Diagnostics::new("test.toml", text, errors);
    let found: Vec<_> =
        diagnostics.list().iter().map(|d| format!("{}: {}", diagnostics.line(&d.span), d.message)).collect();
    assert_eq!(found, expected, "{diagnostics}");
    program
}

/// `check` for the help of a single error.
#[track_caller]
fn check_help(text: &str, expected: &str) {
    let (_, errors) = parse(text);
    let helps: Vec<_> = errors.iter().filter_map(|e| e.help.as_deref()).collect();
    assert_eq!(helps, [expected], "{errors:?}");
}

const SOUND: &str = r#"
ptx = ["a.ptx", "b.ptx"]
seed = 7

[buffers.z]
type = "f32"
count = 1024

[buffers.a]
size = "1.5MiB"
managed = true

[buffers.c]
type = "i16"
count = 3
init = { constant = -2 }

[buffers.i]
type = "f64"
count = 3
init = { iota = { start = 1, step = 0.5 } }

[buffers.r]
type = "u8"
size = 16
init = { random = [0, 9] }

[buffers.f]
init = { file = "data.npy" }

[symbols]
table = { f32 = [1.0, 2] }
blob = { bytes = "00 Ff_10" }

[[launch]]
kernel = "k"
grid = [4, 2]
block = 256
shared = "1KiB"
args = ["z", { buffer = "a", offset = 512 }, { i32 = -5 }, { f64 = nan }, { bytes = "0102" }]
repeat = 3

[[after]]
buffer = "z"
write = "z.npy"
compare = "expected.npy"
abs = 1e-6
checksum = true
"#;

#[test]
fn everything_a_sound_file_says_arrives() {
    let program = check(SOUND, &[]);
    assert_eq!(program.seed, 7);
    let names: Vec<_> = program.buffers.iter().map(|b| b.name.value.as_str()).collect();
    assert_eq!(names, ["z", "a", "c", "i", "r", "f"], "buffers keep the order of the file");
    let sizes: Vec<_> = program.buffers.iter().map(|b| b.size.as_ref().map(|s| s.value.0)).collect();
    assert_eq!(sizes, [Some(4096), Some(3 << 19), Some(6), Some(24), Some(16), None]);
    assert_eq!((program.buffers[1].managed, program.buffers[0].managed), (Some(true), None));
    assert_eq!(program.buffers[2].contents, Contents::Constant(Element::I16, Number::Int(-2)));
    assert_eq!(program.buffers[3].contents, Contents::Iota(Element::F64, Number::Real(1.0), Number::Real(0.5)));
    assert_eq!(program.buffers[4].contents, Contents::Random(Element::U8, Number::Int(0), Number::Int(9)));
    assert_eq!(program.symbols[0].bytes, [1.0f32, 2.0].map(f32::to_le_bytes).concat());
    assert_eq!(program.symbols[1].bytes, [0, 0xff, 0x10]);
    let launch = &program.launches[0];
    assert_eq!((launch.grid.count(), launch.block.x, launch.shared, launch.repeat), (8, 256, 1024, 3));
    let args: Vec<_> = launch.args.value.iter().map(|a| a.value.clone()).collect();
    assert_eq!(args[..2], [ArgValue::Buffer(0, 0), ArgValue::Buffer(1, 512)]);
    assert_eq!(args[2], ArgValue::Bytes((-5i32).to_le_bytes().to_vec()));
    assert_eq!(program.after.len(), 3);
    let compare = Action::Compare { file: "expected.npy".into(), abs: 1e-6, rel: 0.0 };
    assert_eq!(program.after[1].action.value, compare);
}

#[test]
fn all_errors_are_reported_at_once() {
    check(
        "ptx = 5\nsede = 1\n\n[buffers.a]\ntype = \"f33\"\ncount = -1\n\n[buffers.b]\nsize = \"4 parsecs\"\n\n\
         [[launch]]\nkernel = \"k\"\ngrid = 0\nblock = [32, 64]\nargs = [\"c\", 5]\n\n[[after]]\nbuffer = \"a\"\n",
        &[
            "1: expected text in quotes, found an integer",
            "2: a launch file has no key `sede`",
            "5: `f33` is no element type",
            "6: the number is out of range",
            "9: `parsecs` is no unit of size; write B, KB, MB, GB, KiB, MiB or GiB",
            "13: the number is out of range",
            "14: 2048 threads are more than a block can have",
            "15: there is no buffer `c`",
            "15: an integer has no type of its own",
            "17: nothing is to be done with the buffer",
        ],
    );
}

#[test]
fn an_empty_file_says_what_is_needed() {
    check("", &["1: no PTX is named", "1: nothing is launched"]);
}

#[test]
fn several_syntax_errors_are_reported_together() {
    let (_, errors) = parse("ptx = \n[buffers.a\nsize = 1\n[[launch]]\ngrid = [1,\n");
    assert!(errors.len() >= 2, "{errors:?}");
}

#[test]
fn misspelt_names_draw_the_nearest() {
    let launch = "[[launch]]\nkernel = 'k'\ngrid = 1\nblock = 1\n";
    check_help(&format!("ptx = 'a'\n[buffer.a]\nsize = 4\n{launch}"), "did you mean `buffers`?");
    check_help(&format!("ptx = 'a'\n{launch}shraed = 4\n"), "did you mean `shared`?");
    check_help(&format!("ptx = 'a'\n[buffers.input]\nsize = 4\n{launch}args = ['inptu']\n"), "did you mean `input`?");
    check_help(&format!("ptx = 'a'\n[symbols]\nx = {{ f23 = 1 }}\n{launch}"), "did you mean `f32`?");
}

/// A file that is sound but for `buffer`, the body of one buffer.
#[track_caller]
fn check_buffer(buffer: &str, expected: &[&str]) {
    check(&format!("ptx = 'a'\nlaunch = []\nbuffers.b = {{ {buffer} }}\n"), expected);
}

#[test]
fn hostile_buffers_are_refused() {
    check_buffer("size = 0", &["3: a buffer has at least one byte"]);
    check_buffer("size = -1", &["3: the number is out of range"]);
    check_buffer("size = 99999999999999999999999999999999999999999999999", &["3: the number is out of range"]);
    check_buffer("size = '17GiB'", &["3: 17.0 GiB is more than the device's memory of 16.0 GiB"]);
    check_buffer("type = 'f64', count = 17179869184", &["3: 128.0 GiB is more than the device's memory of 16.0 GiB"]);
    check_buffer("type = 'f64', count = 9223372036854775807", &["3: the number is out of range"]);
    check_buffer("size = nan", &["3: expected a size such as 4096 or \"4MiB\", found a number with a fraction"]);
    check_buffer("count = 4", &["3: `count` needs the type of the elements"]);
    check_buffer("size = 4, count = 4, type = 'i8'", &["3: both `size` and `count` are given"]);
    check_buffer("type = 'f64', size = 12", &["3: 12 bytes are not a whole number of `f64`"]);
    check_buffer("type = 'u8', count = 1, init = { constant = 256 }", &["3: the number is out of range"]);
    check_buffer("type = 'u8', count = 1, init = { constant = 1.5 }", &["3: `u8` is an integer type"]);
    check_buffer("size = 8, init = 'iota'", &["3: these contents need the type of the elements"]);
    check_buffer("type = 'f32', count = 1, init = { random = [0, inf] }", &["3: a finite number is needed here"]);
    check_buffer("type = 'f32', count = 1, init = { random = [1, 0] }", &["3: 1 is above 0"]);
    check_buffer("type = 'f32', count = 1, init = { random = [1] }", &["3: random contents need two bounds"]);
    check_buffer(
        "type = 'f32', count = 1, init = { constant = 1, file = 'x.bin' }",
        &["3: exactly one way to fill the buffer is needed"],
    );
    check_buffer("size = 8, init = { file = '' }", &["3: this is no path of a file"]);
    check_buffer("size = 1979-05-27", &["3: expected a size such as 4096 or \"4MiB\", found a date"]);
}

#[test]
fn results_cannot_leave_their_directory() {
    for path in ["../x.bin", "/tmp/x.bin", "a/../../x.bin"] {
        check(
            &format!("ptx = 'a'\nlaunch = []\nbuffers.b = {{ size = 4 }}\n[[after]]\nbuffer = 'b'\nwrite = '{path}'\n"),
            &["6: the file would lie outside the result directory"],
        );
    }
}

#[test]
fn tolerances_and_types_of_after_are_checked() {
    let file =
        |after: &str| format!("ptx = 'a'\nlaunch = []\nbuffers.b = {{ size = 4 }}\n[[after]]\nbuffer = 'b'\n{after}\n");
    check(&file("abs = 1"), &["4: nothing is to be done with the buffer", "6: `abs` without `compare`"]);
    check(&file("compare = 'x.npy'\nrel = nan"), &["7: a tolerance is a number of 0 or more"]);
    check(&file("write = 'x.npy'"), &["6: a `.npy` file needs the type of the elements"]);
    check(&file("write = 'x.npy'\ntype = 'bf16'"), &["6: `.npy` files have no type `bf16`"]);
    check(&file("write = 'x.png'"), &["6: the file's kind is not known"]);
}

#[test]
fn too_many_launches_are_refused() {
    let launch = "[[launch]]\nkernel = 'k'\ngrid = 1\nblock = 1\nrepeat = 60000\n";
    check(&format!("ptx = 'a'\n{launch}{launch}"), &["8: 120000 launches in all are more than one run keeps"]);
}

#[test]
fn deep_nesting_and_floods_end_quickly() {
    let (_, errors) = parse(&format!("ptx = {}", "[".repeat(100_000)));
    assert!(!errors.is_empty());
    let (_, errors) = parse(&format!("ptx = {}", "{a=".repeat(100_000)));
    assert!(!errors.is_empty());
    let misspelt: Vec<_> = (0..200_000).map(|i| format!("ptxx{i} = 1")).collect();
    let (_, errors) = parse(&misspelt.join("\n"));
    assert_eq!(errors.len(), strata_core::config::MOST_ERRORS);
}

/// A sound file with any one character replaced, doubled or left out, or cut off anywhere, is read without a panic and
/// its errors can be shown.
#[test]
fn no_slip_of_the_keyboard_panics() {
    for at in 0..SOUND.len() {
        let (before, after) = (&SOUND[..at], &SOUND[at + 1..]);
        for between in ["", "\"", "[", "9", "é", "-"] {
            let text = format!("{before}{between}{after}");
            let (_, errors) = parse(&text);
            Diagnostics::new("test.toml", &text, errors).render(true);
        }
        parse(before);
    }
}
