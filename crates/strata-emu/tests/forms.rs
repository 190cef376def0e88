//! The instruction table tells the truth: a form decodes if and only if the table says that it executes.

use std::fmt::Write;
use strata_emu::{Capacity, Memory, Program};
use strata_ptx::{SAMPLE_REGISTERS, forms};

#[test]
fn the_table_and_the_decoder_agree() {
    let mut text = String::from(".version 9.0\n.target sm_100a\n.address_size 64\n");
    let mut samples = Vec::new();
    for form in forms() {
        for line in form.spellings() {
            let name = format!("k{}", samples.len());
            let _ = writeln!(text, ".visible .entry {name}() {{\n{SAMPLE_REGISTERS}{line}\nend: ret;\n}}");
            samples.push((form, line, name));
        }
    }
    let parsed = strata_ptx::parse("forms.ptx", &text);
    let module = parsed.module.as_ref().unwrap_or_else(|| panic!("{}", parsed.render(&text, false))).clone();
    let mut memory = Memory::new(Capacity::default()).expect("memory");
    let mut program = Program::load("forms.ptx", &text, module, &mut memory).expect("a program");
    let mut wrong = Vec::new();
    for (form, line, name) in samples {
        let refused = program.unsupported(&name).expect("the kernel is there");
        if refused.is_empty() != form.executes() {
            wrong.push(format!(
                "{line} [{}]: {}",
                form.text(),
                refused.iter().map(|r| r.why.as_str()).collect::<Vec<_>>().join("; ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
}
