//! The blocks of PTX files that are worth offloading to a memory stack: TOM's candidates, beside the lines they stand on.
//!
//! The search is `strata-tom`'s; here files are read and results are put into words (`report`).

mod report;

pub use report::assumptions_json;

use std::path::Path;
use strata_ptx::{Diagnostic, LineIndex};
use strata_run::LabError;
use strata_run::launch_file::{limits, read_text};
use strata_run::ptx_check::errors_among;
pub use strata_tom::candidate::Assumptions;
use strata_tom::candidate::{Candidate, Condition, Found, Refusal, find};

/// A row of the table: a candidate with names and lines instead of numbers.
#[derive(Clone, Debug)]
pub struct Row {
    /// The kernel or function, as the module spells it.
    pub kernel: String,
    /// The candidate.
    pub candidate: Candidate,
    /// Its first and its last line in the PTX file.
    pub lines: (u32, u32),
    /// Its file, first and last line in the source program, if the module tells (`.loc`).
    pub source: Option<(String, u32, u32)>,
    /// Names of the registers that it needs.
    pub live_in: Vec<String>,
    /// Names of the registers that it leaves.
    pub live_out: Vec<String>,
    /// When to offload it, in names of registers.
    pub condition: Option<String>,
}

/// A loop that is in no candidate.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The kernel or function, as the module spells it.
    pub kernel: String,
    /// The line of the PTX file on which the loop begins.
    pub line: u32,
    /// Why, in words.
    pub reason: String,
}

/// What was found in one file.
#[derive(Clone, Debug)]
pub struct FileCandidates {
    /// The path as given.
    pub path: String,
    text: String,
    /// Errors and warnings of the front end; a file with errors has no candidates.
    pub diagnostics: Vec<Diagnostic>,
    /// Kernels and functions that were searched.
    pub kernels: usize,
    /// Blocks that were weighed.
    pub examined: usize,
    /// The candidates, in the order of the file.
    pub rows: Vec<Row>,
    /// The loops without a candidate, in the order of the file.
    pub refused: Vec<Refused>,
    /// Kernels whose table was too small, and how many candidates each lost.
    pub dropped: Vec<(String, usize)>,
}

/// Reads a file and searches it.
pub fn search_file(path: &Path, assumptions: &Assumptions) -> Result<FileCandidates, LabError> {
    let text = read_text(path, limits::PTX_BYTES).map_err(|e| LabError::io("read", path, e))?;
    if path.extension().is_some_and(|extension| extension == "cu" || extension == "cuh") {
        let (source, ptx) = (path.display(), path.with_extension("ptx"));
        let ptx = ptx.display();
        let compile = if path.with_extension("ptx").exists() {
            format!("`{ptx}` lies beside it: `strata offload {ptx}`, or, if that is old, first")
        } else {
            "compile it with".to_owned()
        };
        return Err(LabError::Request(format!(
            "`{source}` is CUDA source, and what is searched is PTX: {compile} `nvcc -ptx -lineinfo -arch=compute_75 \
             {source} -o {ptx}`, then `strata offload {ptx}`; `-lineinfo` lets the table name lines of the source"
        )));
    }
    Ok(search_text(&path.display().to_string(), text, assumptions))
}

/// Searches the text of a file called `path`.
pub fn search_text(path: &str, text: String, assumptions: &Assumptions) -> FileCandidates {
    let parsed = strata_ptx::parse(path, &text);
    let module = parsed.module.unwrap_or_default();
    let found = find(&module, assumptions);
    let lines = LineIndex::new(&text);
    let mut file = FileCandidates {
        path: path.to_owned(),
        diagnostics: parsed.diagnostics,
        kernels: found.len(),
        examined: found.iter().map(|f| f.examined).sum(),
        rows: Vec::new(),
        refused: Vec::new(),
        dropped: Vec::new(),
        text,
    };
    for Found { function, candidates, dropped, refused, .. } in found {
        let view = View { module: &module, function: &module.functions[function], lines: &lines };
        let kernel = &view.function.name;
        file.rows.extend(candidates.into_iter().map(|candidate| view.row(candidate)));
        file.refused.extend(refused.iter().map(|loop_| Refused {
            kernel: kernel.clone(),
            line: view.line(loop_.begin),
            reason: view.reason(loop_.refusal),
        }));
        if dropped > 0 {
            file.dropped.push((kernel.clone(), dropped));
        }
    }
    file
}

impl FileCandidates {
    /// How many errors the front end found.
    pub fn errors(&self) -> usize {
        errors_among(&self.diagnostics)
    }

    /// The diagnostics as a compiler shows them.
    pub fn rendered(&self, colours: bool) -> String {
        strata_ptx::render(&self.path, &self.text, &self.diagnostics, colours)
    }
}

/// A function with what is needed to speak of it as its author does.
struct View<'a> {
    module: &'a strata_ptx::ast::Module,
    function: &'a strata_ptx::ast::Function,
    lines: &'a LineIndex,
}

impl View<'_> {
    fn line(&self, pc: u32) -> u32 {
        self.function.instructions.get(pc as usize).map_or(0, |i| self.lines.line_of(i.span))
    }

    fn register(&self, id: strata_ptx::ast::RegId) -> String {
        self.function.registers.get(id.0 as usize).map_or_else(String::new, |r| r.name.clone())
    }

    fn row(&self, candidate: Candidate) -> Row {
        let names = |ids: &[_]| ids.iter().map(|&id| self.register(id)).collect::<Vec<_>>();
        let specials = candidate.live_in_specials.iter().map(|special| format!("%{}", special.name()));
        Row {
            kernel: self.function.name.clone(),
            lines: (self.line(candidate.begin), self.line(candidate.end)),
            source: self.source(&candidate),
            live_in: names(&candidate.live_in).into_iter().chain(specials).collect(),
            live_out: names(&candidate.live_out),
            condition: candidate.condition.map(|condition| self.condition(condition)),
            candidate,
        }
    }

    /// The lines of the source file in which the candidate begins; what is inlined from others is left out.
    fn source(&self, candidate: &Candidate) -> Option<(String, u32, u32)> {
        let instructions = self.function.instructions.get(candidate.begin as usize..=candidate.end as usize)?;
        // What the compiler made of many lines says that it is of line 0.
        let known = || instructions.iter().filter_map(|i| i.loc).filter(|loc| loc.line > 0);
        let file = known().next()?.file;
        let lines = || known().filter(|loc| loc.file == file).map(|loc| loc.line);
        let path = self.module.files.iter().find(|(number, _)| *number == file).map(|(_, path)| path)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        Some((name.to_owned(), lines().min()?, lines().max()?))
    }

    fn condition(&self, condition: Condition) -> String {
        let minus = condition.minus.map_or_else(String::new, |r| format!(" - {}", self.register(r)));
        let sign = if condition.at_most { "<=" } else { ">=" };
        let stride = condition.stride.map_or_else(String::new, |(r, n)| format!(" + {n} * {}", self.register(r)));
        format!("{}{minus} {sign} {}{stride}", self.register(condition.register), condition.threshold)
    }

    fn reason(&self, refusal: Refusal) -> String {
        match refusal {
            Refusal::Contains(pc, limit) => format!("contains {} (line {})", limit.words(), self.line(pc)),
            Refusal::Leaves(pc) => {
                format!("the branch on line {} leads elsewhere than its other ways out", self.line(pc))
            }
            Refusal::Scattered => "its blocks do not stand together, or are too many".to_owned(),
            Refusal::Endless => "nothing leads out of it".to_owned(),
            Refusal::Costs(words) => {
                format!("costs {} words more than it can be counted on to save", report::number(words))
            }
            Refusal::NoRoom => "the table is full of blocks that save more".to_owned(),
            Refusal::Outdone => "what overlaps it saves more".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `workloads/regenerate` compiles with `-lineinfo`: people look for a block in the source.
    #[test]
    fn every_candidate_of_our_programs_names_its_source() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
        for name in ["backprop", "bfs", "kmeans", "cfd", "heartwall", "libor", "ray", "fwt", "scalarprod", "reduction"]
        {
            let file = search_file(&folder.join(name).join(format!("{name}.ptx")), &Assumptions::default());
            let file = file.expect("it is there");
            assert!(!file.rows.is_empty(), "{name}");
            let text = std::fs::read_to_string(folder.join(name).join(format!("{name}.cu"))).expect("its source");
            for row in &file.rows {
                let (source, first, last) = row.source.as_ref().expect("its lines");
                assert_eq!(*source, format!("{name}.cu"), "{}", row.kernel);
                assert!(1 <= *first && first <= last && *last <= text.lines().count() as u32, "{name}: {first}-{last}");
            }
        }
    }

    #[test]
    fn source_with_its_ptx_beside_it_is_told_of_that() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/kmeans");
        match search_file(&folder.join("kmeans.cu"), &Assumptions::default()) {
            Err(error) => assert!(error.to_string().contains("kmeans.ptx` lies beside it"), "{error}"),
            Ok(_) => panic!("CUDA source was searched"),
        }
    }
}
