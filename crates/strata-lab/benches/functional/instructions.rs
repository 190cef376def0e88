//! Single instructions: loops of many copies of one instruction, by a warp with all lanes and one with half of them.

use crate::programs::best_and_median;
use std::fmt::Write;
use strata_core::{Bytes, Dim3};
use strata_emu::{Capacity, LaunchConfig, Memory, Output, Program};
use strata_lab::stopwatch::timed;

/// Copies of the instruction in the loop: enough that the loop itself does not count.
const COPIES: usize = 128;
const ITERATIONS: u32 = 20_000;
/// Bytes that loads and stores may touch: more than the first-level cache holds, less than the last.
const BYTES: u64 = 1 << 20;

/// Name, set-up before the loop, and one copy of what is measured. `%r0` is the lane, `%rd0` a buffer, `%rd1` the lane's
/// own word of it, `%rd2` a word that a hash of the lane chooses.
const CASES: [(&str, &str, &str); 22] = [
    ("mov.u32", "", "mov.u32 %r2, %r0;"),
    ("add.s32", "", "add.s32 %r2, %r2, %r0;"),
    ("mad.lo.s32", "", "mad.lo.s32 %r2, %r2, %r0, %r3;"),
    ("add.s64", "", "add.s64 %rd4, %rd4, %rd1;"),
    ("mul.wide.s32", "", "mul.wide.s32 %rd4, %r0, 4;"),
    ("cvt.s64.s32", "", "cvt.s64.s32 %rd4, %r0;"),
    ("fma.rn.f32", "", "fma.rn.f32 %f1, %f1, %f2, %f3;"),
    ("div.rn.f32", "mov.f32 %f2, 0f40490FDB;", "div.rn.f32 %f1, %f2, %f3;"),
    ("ex2.approx.f32", "", "ex2.approx.f32 %f1, %f2;"),
    ("selp.b32", "setp.lt.u32 %p1, %r0, 7;", "selp.b32 %r2, %r0, %r3, %p1;"),
    ("setp.lt.s32", "", "setp.lt.s32 %p1, %r0, %r3;"),
    ("setp + bra, all or none", "", "setp.lt.s32 %p1, %r0, 0;\n@%p1 bra NEXT;\nNEXT:"),
    ("setp + bra, divergent", "", "setp.lt.s32 %p1, %r0, 8;\n@%p1 bra NEXT;\nadd.s32 %r2, %r2, 1;\nNEXT:"),
    ("ld.global.u32 coalesced", "", "ld.global.u32 %r2, [%rd1];"),
    ("ld.global.u32 broadcast", "", "ld.global.u32 %r2, [%rd0];"),
    ("ld.global.u32 random", "", "ld.global.u32 %r2, [%rd2];"),
    ("st.global.u32 coalesced", "", "st.global.u32 [%rd1], %r0;"),
    ("st.global.u32 random", "", "st.global.u32 [%rd2], %r0;"),
    ("ld.shared.u32 coalesced", "", "ld.shared.u32 %r2, [%r4];"),
    ("st.shared.u32 coalesced", "", "st.shared.u32 [%r4], %r0;"),
    ("shfl.sync.bfly.b32", "", "shfl.sync.bfly.b32 %r2, %r0, 1, 31, -1;"),
    ("atom.global.add.u32", "", "atom.global.add.u32 %r2, [%rd1], 1;"),
];

fn kernel(set_up: &str, copy: &str) -> String {
    let mut body = String::new();
    for k in 0..COPIES {
        let _ = writeln!(body, "{}", copy.replace("NEXT", &format!("NEXT{k}")));
    }
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 buffer)
{{
    .reg .pred %p<4>; .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    .shared .align 4 .b8 tile[128];
    ld.param.u64 %rd0, [buffer];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd3, %r0, 4;
    add.s64 %rd1, %rd0, %rd3;
    mul.lo.u32 %r1, %r0, 0x9E3779B1;
    shr.u32 %r1, %r1, 14;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd2, %rd0, %rd3;
    mov.u32 %r2, 1; mov.u32 %r3, 5; mov.u64 %rd4, 0;
    cvt.rn.f32.u32 %f1, %r0; mov.f32 %f2, %f1; mov.f32 %f3, 0f3F800000;
    mov.u32 %r4, tile;
    mad.lo.u32 %r4, %r0, 4, %r4;
    mov.u32 %r5, 0;
    setp.eq.u32 %p1, %r0, 99;
    {set_up}
LOOP:
{body}
    add.s32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, {ITERATIONS};
    @%p2 bra LOOP;
    st.global.u32 [%rd1], %r2;
    st.global.f32 [%rd1], %f1;
    st.global.u64 [%rd0], %rd4;
    selp.u32 %r2, 1, 0, %p1;
    st.global.u32 [%rd1], %r2;
    ret;
}}"
    )
}

/// Nanoseconds of CPU time per warp instruction, for a block of so many threads.
fn measure(set_up: &str, copy: &str, threads: u32, repeat: usize) -> Result<f64, String> {
    let text = kernel(set_up, copy);
    let parsed = strata_ptx::parse("instruction.ptx", &text);
    let module = parsed.module.clone().ok_or_else(|| parsed.render(&text, false))?;
    // Small, so that tools which reserve little address space (callgrind) can run this, too.
    let capacity =
        Capacity { device: Bytes(16 << 20), managed: Bytes(2 << 20), local: Bytes(1 << 20), ..Capacity::default() };
    let mut memory = Memory::new(capacity).map_err(|e| e.to_string())?;
    let mut program = Program::load("instruction.ptx", &text, module, &mut memory).map_err(|e| e.to_string())?;
    let buffer = memory.alloc(Bytes(BYTES), false, "buffer").map_err(|e| e.to_string())?.start;
    memory.fill(buffer, Bytes(BYTES), 1).map_err(|e| e.to_string())?;
    let params = buffer.0.to_le_bytes().to_vec();
    let config = LaunchConfig { params, ..LaunchConfig::new(Dim3::from(1), Dim3::from(threads)) };
    let output = Output::default();
    let mut costs = Vec::new();
    for _ in 0..repeat {
        let (counts, took) = timed(|| program.launch("k", &config, &mut memory, 1, &output, &|_| {}));
        let counts = counts.map_err(|e| e.to_string())?;
        costs.push(took.cpu.as_secs_f64() * 1e9 / counts.warp_instructions() as f64);
    }
    Ok(best_and_median(costs.into_iter()).0)
}

/// Measures and prints every case.
pub(crate) fn run(repeat: usize) -> Result<(), String> {
    println!("CPU nanoseconds per warp instruction, one core, best of {repeat}");
    println!("{:<26} {:>9} {:>9}", "instruction", "32 lanes", "16 lanes");
    for (name, set_up, copy) in CASES {
        let (full, half) = (measure(set_up, copy, 32, repeat)?, measure(set_up, copy, 16, repeat)?);
        println!("{name:<26} {full:>9.2} {half:>9.2}");
    }
    Ok(())
}
