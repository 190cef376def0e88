//! Runs the vectors of a file: every lane, some lanes, with and without vector units; all must agree with the file.

use crate::lines::{CELL, CELL_BYTES, Register, Row, SLOT, Shape, Vector, module_head, parse, shaped};
use crate::objects;
use strata_core::{Addr, Bytes, Dim3};
use strata_emu::{Capacity, LaunchConfig, Memory, Output, Program};

const LANES: usize = 32;

/// Lanes that execute when a guard is put before the instructions: runs, gaps and both ends.
const GUARD: u32 = 0x9e37_79b1;

/// A vector and what it takes to run it.
struct Case<'v> {
    vector: &'v Vector,
    shape: &'v Shape,
    threads: usize,
}

impl Case<'_> {
    /// The row and the lane that thread `t` has.
    fn row(&self, t: usize) -> (&Row, u32) {
        let rows = &self.vector.rows;
        let row = if self.vector.is_collective() { t / LANES } else { t % rows.len() };
        (&rows[row], (t % LANES) as u32)
    }

    /// What a destination holds before.
    fn old(register: &Register, t: usize) -> u128 {
        const PATTERN: u128 = 0xa5c3_9617_5ae1_78d2_4bb4_2d1e_8769_f00f;
        if register.width == 1 { (t & 1) as u128 } else { PATTERN & (u128::MAX >> (128 - register.width)) }
    }

    fn executes(t: usize, guarded: bool) -> bool {
        !guarded || GUARD >> (t % LANES) & 1 != 0
    }

    /// The input buffer: the guard, the inputs, the old values of the outputs.
    fn input(&self, guarded: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut push = |bits: u128| bytes.extend(bits.to_le_bytes());
        for t in 0..self.threads {
            push(Self::executes(t, guarded).into());
        }
        for (k, r) in self.shape.inputs.iter().enumerate() {
            for t in 0..self.threads {
                let (row, lane) = self.row(t);
                push(row.inputs[k].bits(r.width, self.shape.half, lane, 0));
            }
        }
        for r in &self.shape.outputs {
            for t in 0..self.threads {
                push(Self::old(r, t));
            }
        }
        bytes
    }

    /// Compares the output buffer with the rows; the first difference of each row is enough.
    fn check(&self, out: &[u8], guarded: bool, mode: &str, file: &str, wrong: &mut Vec<String>) {
        let mut last_line = 0;
        for t in 0..self.threads {
            let (row, lane) = self.row(t);
            for (k, r) in self.shape.outputs.iter().enumerate() {
                let at = (k * self.threads + t) * SLOT;
                let raw = u128::from_le_bytes(out[at..at + SLOT].try_into().expect("a slot"));
                let got = raw & (u128::MAX >> (128 - r.width));
                let old = Self::old(r, t);
                let ok = if Self::executes(t, guarded) {
                    row.outputs[k].accepts(got, r.width, self.shape.half, lane, old)
                } else {
                    got == old
                };
                if !ok && last_line != row.line {
                    last_line = row.line;
                    let wanted = if Self::executes(t, guarded) {
                        row.outputs[k].bits(r.width, self.shape.half, lane, old)
                    } else {
                        old
                    };
                    let Register { name, .. } = r;
                    let text = &self.vector.text;
                    wrong.push(format!(
                        "{file}:{}: `{text}`, lane {lane}, {mode}: {name} is {got:#x}, not {wanted:#x}",
                        row.line
                    ));
                }
            }
        }
    }
}

/// Runs every vector of a file; gives what is wrong.
pub(crate) fn run(file: &str, text: &str) -> Vec<String> {
    let vectors = match shaped(file, text) {
        Ok(vectors) => vectors,
        Err(why) => return vec![why],
    };
    let mut source = module_head();
    let mut cases = Vec::new();
    for (k, (vector, shape)) in vectors.iter().enumerate() {
        let warps = if vector.is_collective() { vector.rows.len() } else { vector.rows.len().div_ceil(LANES) };
        let threads = warps * LANES;
        source += &vector.kernel(&format!("k{k}"), shape, threads, false);
        if vector.can_be_guarded() {
            source += &vector.kernel(&format!("k{k}_guarded"), shape, threads, true);
        }
        cases.push(Case { vector, shape, threads });
    }
    let mut wrong = Vec::new();
    for plain in [false, true] {
        let module = match parse(file, &source) {
            Ok(module) => module,
            Err(why) => return vec![why],
        };
        let mut memory = Memory::new(Capacity::default()).expect("memory");
        let mut program = Program::load(file, &source, module, &mut memory).expect("the module loads");
        objects::create(&mut memory).expect("textures and surfaces");
        if plain {
            program = program.without_vector_units();
        }
        let units = if plain { "without vector units" } else { "with vector units" };
        for (k, case) in cases.iter().enumerate() {
            for guarded in [false, true] {
                if guarded && !case.vector.can_be_guarded() {
                    continue;
                }
                let name = format!("k{k}{}", if guarded { "_guarded" } else { "" });
                let mode = format!("{}, {units}", if guarded { "some lanes" } else { "all lanes" });
                match launch(case, &name, guarded, &mut program, &mut memory) {
                    Ok((out, cells)) => {
                        case.check(&out, guarded, &mode, file, &mut wrong);
                        let text = &case.vector.text;
                        let line = case.vector.rows[0].line;
                        let idle = (0..case.threads).filter(|&t| !Case::executes(t, guarded));
                        for t in idle.filter(|&t| cells[t * CELL_BYTES..][..CELL_BYTES] != CELL) {
                            wrong.push(format!("{file}:{line}: `{text}`: thread {t} is masked off but wrote memory"));
                        }
                    }
                    Err(why) => {
                        let line = case.vector.rows[0].line;
                        wrong.push(format!("{file}:{line}: `{}`, {mode}: {why}", case.vector.text));
                    }
                }
            }
        }
    }
    wrong
}

/// Launches one kernel; gives its output and the cells in global memory.
fn launch(
    case: &Case<'_>,
    name: &str,
    guarded: bool,
    program: &mut Program,
    memory: &mut Memory,
) -> Result<(Vec<u8>, Vec<u8>), String> {
    let input = case.input(guarded);
    let buffer = |bytes: usize, name: &str| -> Result<Addr, String> {
        Ok(memory.alloc(Bytes(bytes.max(1) as u64), false, name).map_err(|e| e.to_string())?.start)
    };
    let from = buffer(input.len(), "inputs")?;
    let mut out = vec![0; case.shape.outputs.len() * case.threads * SLOT];
    let to = buffer(out.len(), "outputs")?;
    let mut cells = CELL.repeat(case.threads);
    let cells_at = buffer(cells.len(), "cells")?;
    let mut params = Vec::new();
    for address in [from, to, cells_at] {
        params.extend(address.0.to_le_bytes());
    }
    params.resize(32, 0);
    params.extend(CELL);
    let config =
        LaunchConfig { params, ..LaunchConfig::new(Dim3::from((case.threads / LANES) as u32), Dim3::from(32)) };
    let result = (|| {
        memory.write(from, &input).map_err(|e| e.to_string())?;
        memory.write(cells_at, &cells).map_err(|e| e.to_string())?;
        program.launch(name, &config, memory, 1, &Output::default(), &|_| {}).map_err(|e| e.to_string())?;
        memory.read(to, &mut out).map_err(|e| e.to_string())?;
        memory.read(cells_at, &mut cells).map_err(|e| e.to_string())
    })();
    for address in [from, to, cells_at] {
        memory.free(address).map_err(|e| e.to_string())?;
    }
    result.map(|()| (out, cells))
}
