//! What can be said of PTX files without running them: errors, what cannot be executed, kernels, registers, loops.

use crate::error::LabError;
use crate::launch_file::{limits, read_text};
use crate::table::{Align, columns, grouped};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use strata_emu::Refused;
use strata_ptx::analysis::{CallsEndBlocks, Cfg, DominatorTree, Liveness, LoopForest, Pressure};
use strata_ptx::ast::{Function, Module};
use strata_ptx::{Diagnostic, LineIndex, Severity};

/// Facts of one kernel of a PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFacts {
    /// Its name, as the module spells it.
    pub name: String,
    /// Line of its `.entry`, from 1.
    pub line: u32,
    /// Estimated hardware registers per thread.
    pub registers: u32,
    /// Natural loops, inner ones included.
    pub loops: usize,
    /// Depth of the deepest loop; 0 without loops.
    pub loop_depth: u32,
    /// PTX instructions of the body.
    pub instructions: usize,
    /// Parameters of its signature.
    pub parameters: usize,
    /// Statically declared shared memory in bytes.
    pub shared_bytes: u64,
}

/// Facts of one PTX file.
#[derive(Clone, Debug)]
pub struct FileFacts {
    /// The path, as the user gave it.
    pub path: String,
    /// Its text, which diagnostics quote.
    text: String,
    /// Errors and warnings of the front end.
    pub diagnostics: Vec<Diagnostic>,
    /// What cannot be executed: the instructions for which a launch would be refused.
    pub unsupported: Vec<Refused>,
    /// Its kernels, in the order of the text.
    pub kernels: Vec<KernelFacts>,
}

/// Parses and analyses one file.
pub fn check_file(path: &Path) -> Result<FileFacts, LabError> {
    if path.extension().is_some_and(|extension| extension == "cu") {
        let name = path.display();
        return Err(LabError::Request(format!(
            "`{name}` is CUDA source, and what is checked is PTX: compile it with `nvcc -ptx -lineinfo {name}`; to run a program, see docs/cuda.md"
        )));
    }
    let text = read_text(path, limits::PTX_BYTES).map_err(|e| LabError::io("read", path, e))?;
    Ok(check_text(&path.display().to_string(), text))
}

/// Parses and analyses the text of a file called `path`.
pub fn check_text(path: &str, text: String) -> FileFacts {
    let parsed = strata_ptx::parse(path, &text);
    let lines = LineIndex::new(&text);
    let module = parsed.module.unwrap_or_default();
    let unsupported = strata_emu::unsupported(path, &text, &module);
    let kernels = module
        .functions
        .iter()
        .filter(|f| f.is_entry && !f.is_declaration)
        .map(|f| facts(&module, f, &lines))
        .collect();
    FileFacts { path: path.to_owned(), text, diagnostics: parsed.diagnostics, unsupported, kernels }
}

fn facts(module: &Module, function: &Function, lines: &LineIndex) -> KernelFacts {
    let cfg = Cfg::build(function, CallsEndBlocks::No);
    let forest = LoopForest::build(&cfg, &DominatorTree::dominators(&cfg));
    let liveness = Liveness::build(function, &cfg);
    let shared = |v: &&strata_ptx::ast::Variable| v.space == strata_ptx::ast::StateSpace::Shared;
    let in_module = module.variables.iter().filter(shared).map(strata_ptx::ast::Variable::bytes);
    let in_body = function.variables.iter().filter(shared).map(strata_ptx::ast::Variable::bytes);
    KernelFacts {
        name: function.name.clone(),
        line: lines.line_of(function.span),
        registers: Pressure::build(function, &cfg, &liveness).registers,
        loops: forest.loops().len(),
        loop_depth: forest.loops().iter().map(|l| l.depth).max().unwrap_or(0),
        instructions: function.instructions.len(),
        parameters: function.params.len(),
        shared_bytes: in_module.chain(in_body).fold(0, u64::saturating_add),
    }
}

impl FileFacts {
    /// How many errors the front end found.
    pub fn errors(&self) -> usize {
        errors_among(&self.diagnostics)
    }

    /// The file's part of what `strata check` prints: kernels, and what cannot be executed.
    pub fn table(&self) -> String {
        let mut out = format!(
            "{}: {}, {}, {}\n",
            self.path,
            plural(self.errors(), "error"),
            plural(self.kernels.len(), "kernel"),
            plural(self.unsupported.len(), "unsupported instruction"),
        );
        if !self.kernels.is_empty() {
            let headings = [
                ("kernel", Align::Left),
                ("line", Align::Right),
                ("instructions", Align::Right),
                ("registers", Align::Right),
                ("loops", Align::Right),
                ("depth", Align::Right),
                ("parameters", Align::Right),
                ("shared bytes", Align::Right),
            ];
            let rows: Vec<_> = self.kernels.iter().map(KernelFacts::row).collect();
            out.push_str(&columns(&headings, &rows));
        }
        for u in &self.unsupported {
            let Refused { line, instruction, function, why } = u;
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}:{line}: `{instruction}` in `{function}` cannot be executed: {why}", self.path);
        }
        out
    }

    /// The diagnostics as a compiler shows them.
    pub fn rendered(&self, colours: bool) -> String {
        strata_ptx::render(&self.path, &self.text, &self.diagnostics, colours)
    }

    /// The file's entry in the JSON that scripts read.
    pub fn to_json(&self) -> Value {
        let unsupported: Vec<_> = self
            .unsupported
            .iter()
            .map(|u| json!({ "line": u.line, "instruction": u.instruction, "function": u.function, "why": u.why }))
            .collect();
        let kernels: Vec<_> = self.kernels.iter().map(KernelFacts::to_json).collect();
        json!({
            "path": self.path,
            "errors": self.errors(),
            "diagnostics": diagnostics_json(&self.text, &self.diagnostics),
            "unsupported": unsupported,
            "kernels": kernels,
        })
    }
}

impl KernelFacts {
    fn row(&self) -> Vec<String> {
        let numbers = [
            u64::from(self.line),
            self.instructions as u64,
            u64::from(self.registers),
            self.loops as u64,
            u64::from(self.loop_depth),
            self.parameters as u64,
            self.shared_bytes,
        ];
        std::iter::once(self.name.clone()).chain(numbers.map(grouped)).collect()
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "line": self.line,
            "registers": self.registers,
            "loops": self.loops,
            "loop_depth": self.loop_depth,
            "instructions": self.instructions,
            "parameters": self.parameters,
            "shared_bytes": self.shared_bytes,
        })
    }
}

/// Findings in `text` as scripts read them.
pub fn diagnostics_json(text: &str, diagnostics: &[Diagnostic]) -> Vec<Value> {
    let lines = LineIndex::new(text);
    let one = |d: &Diagnostic| {
        let (line, column) = lines.line_column(d.span.start);
        let severity = if d.severity == Severity::Error { "error" } else { "warning" };
        json!({ "line": line, "column": column, "severity": severity, "message": d.message, "help": d.help })
    };
    diagnostics.iter().map(one).collect()
}

/// How many errors are among the findings.
pub fn errors_among(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|d| d.severity == Severity::Error).count()
}

/// `1 error`, `2 errors`.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(count as u64)) }
}
