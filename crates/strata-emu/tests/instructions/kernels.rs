//! Hand-written kernels for what one line cannot say: branches, calls, barriers, traps.
//!
//! ```text
//! == name, threads 64
//! functions and variables
//! body:
//! instructions; the register `thread` holds the thread's number in its block
//! expect r0 = thread*2, d1 = 7
//! ```
//!
//! or `expect fault: text of the message`.

use crate::lines::parse;
use crate::value::{Half, Value, list};
use std::fmt::Write;
use strata_core::{Bytes, Dim3};
use strata_emu::{Capacity, LaunchConfig, Memory, Output, Program};
use strata_ptx::ast::Instruction;

enum Expected {
    Registers(Vec<(String, Value)>),
    Fault(String),
}

struct Case {
    name: String,
    line: usize,
    threads: usize,
    globals: String,
    body: String,
    expected: Expected,
}

fn read(file: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut in_body = false;
    for (at, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#')) {
        let bad = |why: String| format!("{file}:{}: {why}", at + 1);
        if let Some(title) = line.strip_prefix("== ") {
            let (name, threads) = title.split_once(", threads ").unwrap_or((title, "32"));
            let threads = threads.trim().parse().map_err(|_| bad("bad number of threads".into()))?;
            let expected = Expected::Registers(Vec::new());
            let (globals, body) = (String::new(), String::new());
            cases.push(Case { name: name.trim().into(), line: at + 1, threads, globals, body, expected });
            in_body = false;
            continue;
        }
        let case = cases.last_mut().ok_or_else(|| bad("no `== name` above".into()))?;
        if line.trim() == "body:" {
            in_body = true;
        } else if let Some(message) = line.strip_prefix("expect fault: ") {
            case.expected = Expected::Fault(message.trim().into());
        } else if let Some(list_text) = line.strip_prefix("expect ") {
            let mut registers = Vec::new();
            for one in list_text.split(", ") {
                let (name, value) = one.split_once('=').ok_or_else(|| bad("expected `register = value`".into()))?;
                let value = list(value).map_err(bad)?.pop().ok_or_else(|| bad("no value".into()))?;
                registers.push((name.trim().to_owned(), value));
            }
            case.expected = Expected::Registers(registers);
        } else {
            let part = if in_body { &mut case.body } else { &mut case.globals };
            *part += line;
            part.push('\n');
        }
    }
    Ok(cases)
}

/// The width of a register, from the letter its name begins with.
fn width(register: &str) -> u32 {
    match register.as_bytes().first() {
        Some(b'p') => 1,
        Some(b'h') => 16,
        Some(b'd') => 64,
        _ => 32,
    }
}

/// Bytes of a result in the output buffer.
const SLOT: usize = 8;

fn source(case: &Case) -> String {
    let mut k = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n{}.visible .entry k(.param .u64 p_out) {{\n\
         .reg .pred p<10>; .reg .b16 h<10>; .reg .b32 r<10>; .reg .b64 d<10>; .reg .b32 thread, flag; \
         .reg .b64 out, wide;\nmov.u32 thread, %tid.x;\n// vector\n{}// end\n\
         ld.param.u64 out, [p_out];\nmul.wide.u32 wide, thread, {SLOT};\nadd.u64 out, out, wide;\n",
        case.globals, case.body
    );
    if let Expected::Registers(registers) = &case.expected {
        for (slot, (name, _)) in registers.iter().enumerate() {
            let at = slot * case.threads * SLOT;
            let _ = match width(name) {
                1 => writeln!(k, "selp.b32 flag, 1, 0, {name};\nst.global.u32 [out+{at}], flag;"),
                width => writeln!(k, "st.global.b{width} [out+{at}], {name};"),
            };
        }
    }
    k += "ret;\n}\n";
    k
}

/// The instructions that the kernels of a file show, for coverage.
pub(crate) fn instructions(file: &str, text: &str) -> Result<Vec<Instruction>, String> {
    let mut out = Vec::new();
    for case in read(file, text)? {
        let source = source(&case);
        let module = parse(file, &source)?;
        let start = source.find("// vector").unwrap_or(0) as u32;
        let end = source.find("// end").unwrap_or(0) as u32;
        for function in module.functions {
            let shown = function.instructions.into_iter();
            out.extend(shown.filter(|i| !function.is_entry || (start..end).contains(&i.span.start)));
        }
    }
    Ok(out)
}

/// Runs the kernels of a file; gives what is wrong.
pub(crate) fn run(file: &str, text: &str) -> Vec<String> {
    let cases = match read(file, text) {
        Ok(cases) => cases,
        Err(why) => return vec![why],
    };
    let mut wrong = Vec::new();
    for case in &cases {
        for plain in [false, true] {
            if let Err(why) = run_case(file, case, plain) {
                wrong.push(format!("{file}:{}: {}: {why}", case.line, case.name));
            }
        }
    }
    wrong
}

fn run_case(file: &str, case: &Case, plain: bool) -> Result<(), String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let source = source(case);
    let module = parse(file, &source)?;
    let mut memory = Memory::new(Capacity::default()).map_err(|e| text(&e))?;
    let mut program = Program::load(file, &source, module, &mut memory).map_err(|e| text(&e))?;
    if plain {
        program = program.without_vector_units();
    }
    let slots = if let Expected::Registers(registers) = &case.expected { registers.len() } else { 0 };
    let mut out = vec![0; slots * case.threads * SLOT];
    let at = memory.alloc(Bytes(out.len().max(1) as u64), false, "outputs").map_err(|e| text(&e))?.start;
    memory.write(at, &out).map_err(|e| text(&e))?;
    let params = at.0.to_le_bytes().to_vec();
    let config = LaunchConfig { params, ..LaunchConfig::new(Dim3::from(1), Dim3::from(case.threads as u32)) };
    let result = program.launch("k", &config, &mut memory, 1, &Output::default(), &|_| {});
    let registers = match (&case.expected, result) {
        (Expected::Registers(registers), Ok(_)) => registers,
        (Expected::Registers(_), Err(e)) => return Err(text(&e)),
        (Expected::Fault(message), Ok(_)) => return Err(format!("no fault, but `{message}` was expected")),
        (Expected::Fault(message), Err(e)) => {
            let found = text(&e);
            return if found.contains(message.as_str()) { Ok(()) } else { Err(found) };
        }
    };
    memory.read(at, &mut out).map_err(|e| text(&e))?;
    for (slot, (name, value)) in registers.iter().enumerate() {
        for thread in 0..case.threads {
            let from = (slot * case.threads + thread) * SLOT;
            let got = u64::from_le_bytes(out[from..from + SLOT].try_into().expect("a slot"));
            let wanted = value.bits(width(name), Half::F16, thread as u32, 0);
            if !value.accepts(got.into(), width(name), Half::F16, thread as u32, 0) {
                return Err(format!("thread {thread}: {name} is {got:#x}, not {wanted:#x}"));
            }
        }
    }
    Ok(())
}
