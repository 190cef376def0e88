//! The one-line vectors: reading them, and the kernel that each becomes.
//!
//! ```text
//! add.s32 r0, r1, r2 | 7, -3 | 4
//!                    | 0x7fffffff, 1 | 0x80000000
//! ```
//!
//! An instruction (or several, after semicolons), the registers it reads in the order in which they are first read, the
//! registers it writes in the order in which they are first written. Lines that begin with a bar are further rows of the
//! instruction above.
//!
//! Registers: `p0…` predicates, `c0…` 8 bits, `h0…` 16, `r0…` 32, `d0…` 64, `q0…` 128. Each thread has a cell of 32
//! bytes (their contents: [`CELL`]) in each space; registers hold its address: `global shared local` in that space,
//! `shared32 local32` the same in 32 bits, `generic_global generic_shared generic_local` as generic addresses,
//! `constant` and `parameter` one cell for all. `parameter_cell` and `constant_cell` are variables.

use crate::value::{self, Half, Value};
use std::fmt::Write;
use strata_ptx::ast::{Function, Instruction, Module, RegId, Type, Word};

/// What each cell holds at first.
pub(crate) const CELL: [u8; 32] = [
    0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87, 0x78, 0x69, 0x5a, 0x4b, 0x3c, 0x2d, 0x1e, 0x0f, 0x10, 0x21, 0x32,
    0x43, 0x54, 0x65, 0x76, 0x87, 0x98, 0xa9, 0xba, 0xcb, 0xdc, 0xed, 0xfe, 0x7f,
];

/// Bytes of a register in the buffers of a kernel, and of a cell.
pub(crate) const SLOT: usize = 16;
pub(crate) const CELL_BYTES: usize = CELL.len();

/// One row: what is read, what must be written.
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) inputs: Vec<Value>,
    pub(crate) outputs: Vec<Value>,
}

/// One instruction with its rows.
pub(crate) struct Vector {
    pub(crate) text: String,
    pub(crate) rows: Vec<Row>,
}

impl Vector {
    /// Reads a file of vectors.
    pub(crate) fn read(text: &str) -> Result<Vec<Self>, String> {
        let mut vectors: Vec<Self> = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#')) {
            let at = at + 1;
            let bad = |why: String| format!("line {at}: {why}");
            // Bars between spaces separate; an empty list leaves only one space between two of them.
            let line = format!("{} ", line.replace("| |", "|  |"));
            let parts: Vec<&str> = match line.trim_start().strip_prefix('|') {
                Some(rest) => std::iter::once("").chain(rest.split(" | ")).collect(),
                None => line.split(" | ").collect(),
            };
            let [instruction, inputs, outputs] = parts[..] else {
                return Err(bad("expected `instruction | inputs | outputs`".into()));
            };
            if !instruction.trim().is_empty() {
                vectors.push(Self { text: instruction.trim().to_owned(), rows: Vec::new() });
            }
            let row = Row {
                line: at,
                inputs: value::list(inputs).map_err(bad)?,
                outputs: value::list(outputs).map_err(bad)?,
            };
            vectors.last_mut().ok_or_else(|| bad("no instruction above".into()))?.rows.push(row);
        }
        Ok(vectors)
    }

    /// True if lanes see each other: then each row is a warp of its own, else rows are dealt to the lanes.
    pub(crate) fn is_collective(&self) -> bool {
        let varies = |values: &[Value]| values.iter().any(Value::depends_on_lane);
        self.rows.iter().any(|r| varies(&r.inputs) || varies(&r.outputs))
            || ["shfl", "vote", "match", "redux", "activemask", "elect", "mma", "matrix"]
                .iter()
                .any(|op| self.text.contains(op))
    }

    /// True if a guard may be put before each instruction.
    pub(crate) fn can_be_guarded(&self) -> bool {
        !self.is_collective() && !self.text.contains('@')
    }
}

/// A register of a vector: its name and width in bits (1 for predicates).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    pub(crate) name: String,
    pub(crate) width: u32,
}

/// What a vector reads and writes, learnt from the parsed instruction.
pub(crate) struct Shape {
    pub(crate) inputs: Vec<Register>,
    pub(crate) outputs: Vec<Register>,
    pub(crate) half: Half,
    pub(crate) instructions: Vec<Instruction>,
}

/// Declarations of all registers of vectors.
const REGISTERS: &str = ".reg .pred p<10>; .reg .b8 c<10>; .reg .b16 h<10>; .reg .b32 r<40>; .reg .b64 d<20>; \
    .reg .b128 q<10>;\n.reg .b64 global, shared, local, constant, parameter, generic_global, generic_shared, \
    generic_local;\n.reg .b32 shared32, local32;\n.reg .pred guard; .reg .b32 thread, index, flag; \
    .reg .b64 in, out, cells, wide, moved;\n\
    .shared .align 16 .b8 shared_cells[1024]; .local .align 16 .b8 local_cell[32];\n";

/// The head of a module of vectors.
pub(crate) fn module_head() -> String {
    let bytes = CELL.map(|b| b.to_string()).join(", ");
    format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.const .align 16 .b8 constant_cell[32] = {{ {bytes} }};\n"
    )
}

/// Registers that the harness sets, none of the vector's own.
const OWN: [&str; 10] = [
    "global",
    "shared",
    "local",
    "constant",
    "parameter",
    "generic_global",
    "generic_shared",
    "generic_local",
    "shared32",
    "local32",
];

impl Vector {
    /// The instructions, guarded or not, each on its line.
    fn body(&self, guarded: bool) -> String {
        let guard = if guarded { "@guard " } else { "" };
        self.text.split(';').fold(String::new(), |mut out, one| {
            let _ = writeln!(out, "{guard}{};", one.trim());
            out
        })
    }

    /// A kernel that only names the instructions, to learn their shape.
    pub(crate) fn bare_kernel(&self, name: &str) -> String {
        let parameters = ".param .align 16 .b8 parameter_cell[32]";
        format!(".visible .entry {name}({parameters}) {{\n{REGISTERS}{}ret;\n}}\n", self.body(false))
    }

    /// The kernel that loads the inputs, executes, and stores the outputs.
    pub(crate) fn kernel(&self, name: &str, shape: &Shape, threads: usize, guarded: bool) -> String {
        let mut k = format!(
            ".visible .entry {name}(.param .u64 p_in, .param .u64 p_out, .param .u64 p_cells, \
             .param .align 16 .b8 parameter_cell[32]) {{\n{REGISTERS}\
             ld.param.u64 in, [p_in];\nld.param.u64 out, [p_out];\nld.param.u64 cells, [p_cells];\n\
             mov.u32 thread, %tid.x;\nmov.u32 index, %ctaid.x;\nmad.lo.u32 index, index, 32, thread;\n\
             mul.wide.u32 wide, index, {SLOT};\nadd.u64 in, in, wide;\nadd.u64 out, out, wide;\n\
             mul.wide.u32 wide, index, {CELL_BYTES};\nadd.u64 global, cells, wide;\n"
        );
        self.addresses(&mut k);
        let stride = threads * SLOT;
        k += "ld.global.u32 flag, [in];\nsetp.ne.u32 guard, flag, 0;\n";
        for (slot, register) in shape.inputs.iter().chain(&shape.outputs).enumerate() {
            let at = (slot + 1) * stride;
            let Register { name, width } = register;
            let _ = match width {
                1 => writeln!(k, "ld.global.u32 flag, [in+{at}];\nsetp.ne.u32 {name}, flag, 0;"),
                _ => writeln!(k, "ld.global.b{width} {name}, [in+{at}];"),
            };
        }
        k += &self.body(guarded);
        for (slot, Register { name, width }) in shape.outputs.iter().enumerate() {
            let at = slot * stride;
            let _ = match width {
                1 => writeln!(k, "selp.b32 flag, 1, 0, {name};\nst.global.u32 [out+{at}], flag;"),
                _ => writeln!(k, "st.global.b{width} [out+{at}], {name};"),
            };
        }
        k += "ret;\n}\n";
        k
    }

    /// Sets the address registers that the vector names, and fills its cells.
    fn addresses(&self, k: &mut String) {
        let names = |word: &str| {
            self.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').any(|token| token == word)
        };
        if names("shared") || names("shared32") || names("generic_shared") {
            *k += "mov.u32 shared32, shared_cells;\nmad.lo.u32 shared32, thread, 32, shared32;\n\
                   cvt.u64.u32 shared, shared32;\ncvta.shared.u64 generic_shared, shared;\n";
            Self::fill(k, "shared");
        }
        if names("local") || names("local32") || names("generic_local") {
            *k += "mov.u64 local, local_cell;\ncvt.u32.u64 local32, local;\ncvta.local.u64 generic_local, local;\n";
            Self::fill(k, "local");
        }
        *k += "mov.u64 constant, constant_cell;\nmov.u64 generic_global, global;\nmov.b64 parameter, parameter_cell;\n";
    }

    fn fill(k: &mut String, space: &str) {
        for at in (0..CELL_BYTES).step_by(8) {
            let _ = writeln!(k, "ld.global.b64 moved, [global+{at}];\nst.{space}.b64 [{space}+{at}], moved;");
        }
    }
}

impl Shape {
    /// Reads and writes of the instructions of [`Vector::bare_kernel`].
    pub(crate) fn of(function: &Function) -> Self {
        let mut shape = Self { inputs: Vec::new(), outputs: Vec::new(), half: Half::F16, instructions: Vec::new() };
        let (mut bf16, mut f16) = (false, false);
        let count = function.instructions.len() - 1;
        for i in &function.instructions[..count] {
            let register = |id: RegId| {
                let r = &function.registers[id.0 as usize];
                Register { name: r.name.clone(), width: if r.ty == Type::Pred { 1 } else { r.ty.bits() } }
            };
            i.each_read(|id| {
                let r = register(id);
                let known = OWN.contains(&&*r.name) || shape.inputs.contains(&r) || shape.outputs.contains(&r);
                if !known {
                    shape.inputs.push(r);
                }
            });
            i.each_written(|id| {
                let r = register(id);
                if !shape.outputs.contains(&r) {
                    shape.outputs.push(r);
                }
            });
            bf16 |= i.words.iter().any(|w| matches!(w, Word::Bf16 | Word::Bf16x2));
            f16 |= i.words.iter().any(|w| matches!(w, Word::F16 | Word::F16x2));
            shape.instructions.push(i.clone());
        }
        if bf16 && !f16 {
            shape.half = Half::Bf16;
        }
        shape
    }
}

/// The vectors of a file with their shapes; what is wrong with it otherwise.
pub(crate) fn shaped(file: &str, text: &str) -> Result<Vec<(Vector, Shape)>, String> {
    let vectors = Vector::read(text).map_err(|why| format!("{file}: {why}"))?;
    let mut source = module_head();
    for (k, vector) in vectors.iter().enumerate() {
        source += &vector.bare_kernel(&format!("k{k}"));
    }
    let module = parse(file, &source)?;
    let mut out = Vec::new();
    for (vector, function) in vectors.into_iter().zip(&module.functions) {
        let shape = Shape::of(function);
        for row in &vector.rows {
            let found = (row.inputs.len(), row.outputs.len());
            let wanted = (shape.inputs.len(), shape.outputs.len());
            if found != wanted {
                let (i, o) = wanted;
                return Err(format!("{file}:{}: `{}` has {i} inputs and {o} outputs", row.line, vector.text));
            }
        }
        out.push((vector, shape));
    }
    Ok(out)
}

/// Parses generated PTX.
pub(crate) fn parse(file: &str, source: &str) -> Result<Module, String> {
    let parsed = strata_ptx::parse(file, source);
    match parsed.module {
        Some(module) => Ok(module),
        None => Err(strata_ptx::render(file, source, &parsed.diagnostics, false)),
    }
}
