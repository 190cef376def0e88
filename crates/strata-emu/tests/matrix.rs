//! Matrix products as programs form them: loaded, multiplied and stored by whole warps, against sums in f64.
//!
//! Layouts and exact sums are in `vectors/matrix.txt`; here is rounding, and lanes that do not come together.

use half::{bf16, f16};
use strata_core::{Bytes, Dim3};
use strata_emu::{Capacity, LaunchConfig, LaunchError, Memory, Output, Program};

/// Runs the kernel `k` of 32 threads on a buffer; gives the buffer back.
fn run(text: &str, buffer: &[u8]) -> Result<Vec<u8>, LaunchError> {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}");
    let parsed = strata_ptx::parse("k.ptx", &text);
    let module = parsed.module.as_ref().unwrap_or_else(|| panic!("{}", parsed.render(&text, false))).clone();
    let mut memory = Memory::new(Capacity::default()).expect("memory");
    let mut program = Program::load("k.ptx", &text, module, &mut memory).expect("a program");
    let at = memory.alloc(Bytes(buffer.len() as u64), false, "buffer").expect("room").start;
    memory.write(at, buffer).expect("in bounds");
    let config =
        LaunchConfig { params: at.0.to_le_bytes().to_vec(), ..LaunchConfig::new(Dim3::from(1), Dim3::from(32)) };
    program.launch("k", &config, &mut memory, 1, &Output::default(), &|_| {})?;
    let mut out = vec![0; buffer.len()];
    memory.read(at, &mut out).expect("in bounds");
    Ok(out)
}

/// Numbers in [-1, 1) from a seed, of widely different sizes.
fn numbers(count: usize, mut seed: u64) -> Vec<f32> {
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 40) as f32 / (1 << 24) as f32
    };
    (0..count).map(|_| (next() * 2.0 - 1.0) * 2f32.powi(-(next() * 8.0) as i32)).collect()
}

/// `d = a * b + c` of 16 by 16 matrices in the buffer (a and c by rows, b by columns), of elements of `ty`.
fn check(ty: &str, k: usize, bytes: usize, round: impl Fn(f32) -> (Vec<u8>, f32)) {
    let registers = |letter: &str, n: usize| (0..n).map(|r| format!("%{letter}{r}")).collect::<Vec<_>>().join(", ");
    let operands = if ty == "f16" { 8 } else { 4 };
    let (a, b, c, d) = (registers("a", operands), registers("b", operands), registers("c", 8), registers("d", 8));
    let shape = format!("m16n16k{k}");
    let types = if ty == "f16" { "f32.f32".to_owned() } else { format!("f32.{ty}.{ty}.f32") };
    let (at_b, at_c) = (16 * k * bytes, 32 * k * bytes);
    let kernel = format!(
        ".visible .entry k(.param .u64 p) {{\n.reg .b32 %a<8>, %b<8>, %c<8>, %d<8>; .reg .b64 %p;\n\
         ld.param.u64 %p, [p];\n\
         wmma.load.a.sync.aligned.row.{shape}.global.{ty} {{{a}}}, [%p], {k};\n\
         wmma.load.b.sync.aligned.col.{shape}.global.{ty} {{{b}}}, [%p+{at_b}], {k};\n\
         wmma.load.c.sync.aligned.row.{shape}.global.f32 {{{c}}}, [%p+{at_c}], 16;\n\
         wmma.mma.sync.aligned.row.col.{shape}.{types} {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}};\n\
         wmma.store.d.sync.aligned.row.{shape}.global.f32 [%p+{at_c}], {{{d}}}, 16;\nret;\n}}"
    );
    for seed in 0..20 {
        let (mut buffer, mut values) = (Vec::new(), Vec::new());
        for number in numbers(32 * k, seed) {
            let (encoded, value) = round(number);
            buffer.extend(encoded);
            values.push(f64::from(value));
        }
        let sums = numbers(256, seed + 1000);
        buffer.extend(sums.iter().flat_map(|s| s.to_le_bytes()));
        let out = run(&kernel, &buffer).expect("runs");
        let (a, b) = values.split_at(16 * k);
        for at in 0..256 {
            let (row, column) = (at / 16, at % 16);
            let products = || (0..k).map(|n| a[row * k + n] * b[column * k + n]);
            let wanted = f64::from(sums[at]) + products().sum::<f64>();
            let magnitude = f64::from(sums[at]).abs() + products().map(f64::abs).sum::<f64>();
            let bytes = out[at_c + 4 * at..][..4].try_into().expect("four bytes");
            let got = f64::from(f32::from_le_bytes(bytes));
            // One rounding to f32, of at most half a unit in the last place, for each of k sums.
            let tolerance = k as f64 * magnitude * 2f64.powi(-24);
            assert!((got - wanted).abs() <= tolerance, "{ty}, seed {seed}, ({row}, {column}): {got}, not {wanted}");
        }
    }
}

#[test]
fn sums_of_products_are_those_of_f64_but_for_one_rounding_each() {
    check("f16", 16, 2, |v| (f16::from_f32(v).to_le_bytes().to_vec(), f16::from_f32(v).to_f32()));
    check("bf16", 16, 2, |v| (bf16::from_f32(v).to_le_bytes().to_vec(), bf16::from_f32(v).to_f32()));
    let tf32 = |v: f32| f32::from_bits(v.to_bits() & !0x1fff);
    check("tf32", 8, 4, |v| (v.to_le_bytes().to_vec(), tf32(v)));
}

/// A kernel in which lanes take different ways: those below 16 run `low`, the others `high`, then all run `end`.
fn parted(low: &str, high: &str, end: &str) -> Result<Vec<u8>, LaunchError> {
    let kernel = format!(
        ".visible .entry k(.param .u64 p) {{\n.reg .b32 %r<9>; .reg .b64 %p, %w; .reg .pred %q;\n\
         ld.param.u64 %p, [p]; mov.u32 %r0, %laneid; mul.wide.u32 %w, %r0, 4; add.u64 %p, %p, %w;\n\
         setp.lt.u32 %q, %r0, 16; mov.u32 %r1, %r0; mov.u32 %r2, 0;\n\
         @!%q bra HIGH;\n{low}\nbra END;\nHIGH:\n{high}\nEND:\n{end}\nst.global.u32 [%p], %r2;\nret;\n}}"
    );
    run(&kernel, &[0; 128])
}

const TRANSPOSE: &str = "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;";

#[test]
fn lanes_that_come_one_after_the_other_multiply_together() {
    let straight = parted("", "", TRANSPOSE).expect("runs");
    // A barrier of half the warp keeps the halves apart behind the branch.
    let late = parted("bar.warp.sync 0xffff;", "bar.warp.sync 0xffff0000;", TRANSPOSE).expect("runs");
    assert_eq!(straight, late);
    assert_ne!(straight, vec![0; 128]);
}

#[test]
fn lanes_at_different_instructions_are_told() {
    let error = parted(TRANSPOSE, TRANSPOSE, "").expect_err("cannot run").to_string();
    assert!(error.contains("all lanes of a warp must execute this instruction"), "{error}");
    assert!(error.contains("movmatrix.sync.aligned.m8n8.trans.b16"), "{error}");
}

#[test]
fn a_matrix_outside_memory_is_a_fault_with_its_address() {
    let kernel = ".visible .entry k(.param .u64 p) {\n.reg .b32 %d<4>; .reg .b64 %p;\nld.param.u64 %p, [p];\n\
         wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {%d0, %d1, %d2, %d3}, [%p], 16;\nret;\n}";
    assert!(run(kernel, &[0; 512]).is_ok());
    let error = run(kernel, &[0; 500]).expect_err("too small").to_string();
    assert!(error.contains("out of bounds"), "{error}");
}
