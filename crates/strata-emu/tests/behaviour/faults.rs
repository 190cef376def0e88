//! What a wrong program or launch is told, word for word.

use crate::args;
use crate::machine::{Machine, kernel, kernel_with};
use strata_core::Dim3;

/// Runs `k` of a hand-written module on buffers `a` (40 words) and `b` (10 words), and gives the message.
#[track_caller]
fn told(text: &str, block: impl Into<Dim3>) -> String {
    let mut m = Machine::new(text);
    let (a, b) = (m.buffer("a", &[0u32; 40]), m.buffer("b", &[0u32; 10]));
    m.fail("k", 2, block, args![a, b, 0u32])
}

/// The messages of one test.
#[derive(Default)]
struct Said(Vec<String>);

impl Said {
    fn push(&mut self, message: String) {
        self.0.push(message);
    }

    fn text(&self) -> String {
        self.0.join("\n\n")
    }
}

#[test]
fn out_of_bounds() {
    let mut said = Said::default();
    said.push(told(&kernel("    st.global.u32 [%rd3], %r0;\n    ret;"), 64));
    insta::assert_snapshot!(said.text());
}

#[test]
fn across_the_end() {
    let mut said = Said::default();
    said.push(told(
        &kernel("    ld.global.v2.u32 {%r1, %r2}, [%rd0+152];\n    ld.global.u64 %rd5, [%rd0+156];\n    ret;"),
        1,
    ));
    insta::assert_snapshot!(said.text());
}

#[test]
fn shared_and_local_memory_have_ends() {
    let mut said = Said::default();
    let shared = kernel_with(
        ".shared .align 4 .b32 tile[32];",
        "    mov.u32 %r1, tile; shl.b32 %r2, %r0, 3; add.u32 %r1, %r1, %r2;\n    st.shared.u32 [%r1], 1;\n    ret;",
    );
    said.push(told(&shared, (32, 4)));
    let local = kernel(
        "    .local .align 4 .b32 own[4];\n    mov.u64 %rd5, own; shl.b32 %r2, %r0, 2; cvt.u64.u32 %rd6, %r2;
    add.s64 %rd5, %rd5, %rd6;\n    st.local.u32 [%rd5], 1;\n    ret;",
    );
    said.push(told(&local, 32));
    insta::assert_snapshot!(said.text());
}

#[test]
fn misaligned() {
    let mut said = Said::default();
    said.push(told(&kernel("    st.global.u32 [%rd3+2], %r0;\n    ret;"), 8));
    said.push(told(
        &kernel_with(".shared .align 8 .b32 tile[32];", "    ld.shared.v2.u32 {%r1, %r2}, [tile+12];\n    ret;"),
        8,
    ));
    insta::assert_snapshot!(said.text());
}

#[test]
fn null_and_wild_pointers() {
    let mut said = Said::default();
    said.push(told(&kernel("    mov.u64 %rd5, 0;\n    ld.global.u32 %r1, [%rd5+8];\n    ret;"), 1));
    said.push(told(&kernel("    mov.u64 %rd5, 0x123456789000;\n    ld.u32 %r1, [%rd5];\n    ret;"), 1));
    insta::assert_snapshot!(said.text());
}

#[test]
fn memory_that_the_host_freed() {
    let mut said = Said::default();
    let mut m = Machine::new(&kernel("    st.global.u32 [%rd4], %r0;\n    ret;"));
    let (a, b) = (m.buffer("a", &[0u32; 32]), m.buffer("weights", &[0u32; 32]));
    m.run("k", 1, 32, args![a, b, 0u32]);
    m.free(b);
    said.push(m.fail("k", 1, 32, args![a, b, 0u32]));
    insta::assert_snapshot!(said.text());
}

#[test]
fn deadlocks_say_who_waits_where() {
    let mut said = Said::default();
    said.push(told(
        &kernel(
            "    setp.lt.u32 %p0, %r0, 32;\n    @%p0 bra OTHER;\n    bar.sync 1, 96;\n    ret;\nOTHER:\n    bar.sync 2, 64;\n    ret;",
        ),
        64));
    said.push(told(
        &kernel("    setp.lt.u32 %p0, %r0, 4;\n    @%p0 bra OTHER;\n    bar.warp.sync 0xffffffff;\n    ret;\nOTHER:\n    bar.sync 0;\n    ret;"),
        32));
    insta::assert_snapshot!(said.text());
}

#[test]
fn barriers_beyond_the_sixteenth() {
    let mut said = Said::default();
    said.push(told(&kernel("    bar.sync %r31;\n    mov.u32 %r1, 16;\n    bar.sync %r1;\n    ret;"), 32));
    insta::assert_snapshot!(said.text());
}

#[test]
fn endless_loops_meet_the_limit() {
    let mut said = Said::default();
    let mut m = Machine::new(&kernel("LOOP:\n    add.u32 %r1, %r1, 1;\n    bra LOOP;"));
    let a = m.buffer("a", &[0u32]);
    m.options.instruction_limit = Some(1000);
    said.push(m.fail("k", 1, 32, args![a, a, 0u32]));
    insta::assert_snapshot!(said.text());
}

#[test]
fn traps_and_wrong_targets() {
    let mut said = Said::default();
    said.push(told(&kernel("    setp.eq.u32 %p0, %r0, 5;\n    @%p0 trap;\n    ret;"), 32));
    said.push(told(&kernel("T: .branchtargets L0, L1;\n    brx.idx %r0, T;\nL0:\n    ret;\nL1:\n    ret;"), 32));
    said.push(told(&kernel("P: .callprototype _ ();\n    mov.u64 %rd5, 64;\n    call %rd5, (), P;\n    ret;"), 32));
    insta::assert_snapshot!(said.text());
}

#[test]
fn compiled_programs_name_their_source() {
    let mut said = Said::default();
    let mut m = Machine::load("faults");
    let out = m.buffer("out", &[0i32; 100]);
    said.push(m.fail("past_the_end", 4, 32, args![out, 3]));
    let input: Vec<i32> = (0..32).map(|i| if i == 9 { 7 } else { 0 }).collect();
    let input = m.buffer("in", &input);
    said.push(m.fail("asserts", 1, 32, args![input, out]));
    said.push(m.fail("in_a_function", 1, 32, args![out, 4]));
    said.push(m.fail("recurses", 1, 1, args![out]));
    said.push(m.fail("uses_freed_memory", 1, 1, args![out]));
    said.push(m.fail("overruns_shared", 1, (32, 1), args![out, 2]));
    said.push(m.fail("overruns_shared", 1, (32, 1), args![out, -1]));
    insta::assert_snapshot!(said.text());
}

#[test]
fn recursion_without_local_memory_ends_too() {
    let mut said = Said::default();
    let before = ".func deep(.param .b32 in) {\n    .reg .b32 %r<2>; .param .b32 arg;
    ld.param.u32 %r1, [in]; st.param.b32 [arg], %r1;\n    call.uni deep, (arg);\n    ret;\n}";
    said.push(told(
        &kernel_with(before, "    .param .b32 arg; st.param.b32 [arg], 0;\n    call.uni deep, (arg);\n    ret;"),
        32,
    ));
    insta::assert_snapshot!(said.text());
}

#[test]
fn double_free() {
    let mut said = Said::default();
    let before = ".extern .func free(.param .b64 p);";
    said.push(told(
        &kernel_with(before, "    .param .b64 arg; st.param.b64 [arg], %rd4;\n    call.uni free, (arg);\n    ret;"),
        32,
    ));
    insta::assert_snapshot!(said.text());
}

#[test]
fn instructions_that_are_not_executed() {
    let mut said = Said::default();
    let text = ".version 8.0\n.target sm_75\n.address_size 64
.visible .entry k(.param .u64 t)
{
    .reg .f32 %f<5>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [t];
    tex.grad.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}], {%f1, %f2}, {%f3, %f3};
    wgmma.fence.sync.aligned;
    ret;
}";
    let mut m = Machine::new(text);
    said.push(m.fail("k", 1, 32, args![0u64]));
    insta::assert_snapshot!(said.text());
}

#[test]
fn launches_that_are_refused() {
    let mut said = Said::default();
    let mut m = Machine::new(&kernel("    ret;"));
    let a = m.buffer("a", &[0u32]);
    said.push(m.fail("k", 1, 1025, args![a, a, 0u32]));
    said.push(m.fail("k", 1, (32, 64), args![a, a, 0u32]));
    said.push(m.fail("k", (1, 70000), 32, args![a, a, 0u32]));
    said.push(m.fail("k", 0, 32, args![a, a, 0u32]));
    said.push(m.fail("k", 1, (1, 1, 65), args![a, a, 0u32]));
    said.push(m.fail("k", 1, 32, args![a, a]));
    said.push(m.fail("kk", 1, 32, args![]));
    m.options.shared = 300 << 10;
    said.push(m.fail("k", 1, 32, args![a, a, 0u32]));
    insta::assert_snapshot!(said.text());
}

#[test]
fn blocks_of_another_shape_than_the_kernel_demands() {
    let mut said = Said::default();
    let text = |directive: &str| {
        format!(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{directive}\n{{ ret; }}")
    };
    said.push(Machine::new(&text(".reqntid 32, 2")).fail("k", 1, 64, args![]));
    said.push(Machine::new(&text(".maxntid 64")).fail("k", 1, 96, args![]));
    let huge =
        kernel("    .local .align 4 .b8 own[8000000];\n    mov.u64 %rd5, own; st.local.u8 [%rd5], %r0;\n    ret;");
    let mut m = Machine::new(&huge);
    said.push(m.fail("k", 1, 64, args![0u64, 0u64, 0u32]));
    insta::assert_snapshot!(said.text());
}
