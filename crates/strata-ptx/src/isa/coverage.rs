//! The published coverage table, generated from the instruction table.

use super::table::{Form, forms};
use std::fmt::Write;

/// Markdown: every form, by opcode, with what parses and what executes.
pub fn coverage_table() -> String {
    let mut rows: Vec<_> = forms().iter().map(|form| (form.op.name(), form)).collect();
    rows.sort_by_key(|(name, _)| *name);
    let executing = rows.iter().filter(|(_, form)| form.executes).count();
    let mut opcodes: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    opcodes.dedup();
    let mut out = String::from("# PTX coverage\n\n");
    out.push_str("Generated from `crates/strata-ptx/src/isa/instructions.isa` (the notation is explained there); a test keeps it so.\n\n");
    let _ = writeln!(out, "{} opcodes, {} forms, of which {executing} execute.\n", opcodes.len(), rows.len());
    out.push_str("| opcode | form | where | PTX ISA | parses | executes |\n| --- | --- | --- | --- | --- | --- |\n");
    for (name, form) in rows {
        let spelled = form.text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let executes = if form.executes { "yes" } else { "no" };
        let _ = writeln!(out, "| {name} | `{spelled}` | {} | {} | yes | {executes} |", choices(form), form.section);
    }
    out
}

/// What the choices in a form stand for.
fn choices(form: &Form) -> String {
    /// Longer choices are cut: the shapes of `wgmma` alone are 128.
    const SHOWN: usize = 20;
    let mut out: Vec<String> = Vec::new();
    for slot in form.slots.iter().filter(|slot| slot.words.len() > 1) {
        let mut names: Vec<&str> = slot.words.iter().take(SHOWN).map(|word| word.name()).collect();
        if slot.words.len() > SHOWN {
            names.push("…");
        }
        let line = format!("{}: {}", slot.name, names.join(" "));
        if !out.contains(&line) {
            out.push(line);
        }
    }
    out.join("; ")
}
