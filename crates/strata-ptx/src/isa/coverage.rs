//! The published coverage table, generated from the instruction table.

use super::table::forms;
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
    out.push_str("| opcode | form | PTX ISA | parses | executes |\n| --- | --- | --- | --- | --- |\n");
    for (name, form) in rows {
        let spelled = form.text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let executes = if form.executes { "yes" } else { "no" };
        let _ = writeln!(out, "| {name} | `{spelled}` | {} | yes | {executes} |", form.section);
    }
    out
}
