//! Checked launches warn of reads of shared and local memory that nothing has written, and change nothing else.

use strata_core::{Addr, Bytes, Dim3, GridSource, OpBatch, Space, Stop, WarpSource};
use strata_emu::{Capacity, Cause, Execution, Fault, LaunchConfig, Memory, Output, Program};

/// A kernel of this body; `%r0` is the thread's number, `%rd0` the address of its 4 bytes of `out`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<10>; .reg .b64 %rd<10>;
    .shared .align 16 .b8 tile[512];
    .local .align 16 .b8 stack[32];
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd0, %rd0, %rd1;
    mov.u32 %r1, tile;
    mad.lo.s32 %r2, %r0, 4, %r1;
{body}
    ret;
}}"
    )
}

struct Set {
    memory: Memory,
    program: Program,
    out: Addr,
    config: LaunchConfig,
}

impl Set {
    fn new(text: &str, blocks: u32, threads: u32) -> Self {
        let parsed = strata_ptx::parse("k.ptx", text);
        let module = parsed.module.clone().unwrap_or_else(|| panic!("{}", parsed.render(text, false)));
        let mut memory = Memory::new(Capacity::default()).unwrap();
        let program = Program::load("k.ptx", text, module, &mut memory).unwrap();
        let out = memory.alloc(Bytes(4096), false, "out").unwrap().start;
        memory.fill(out, Bytes(4096), 0x11).unwrap();
        let params = out.0.to_le_bytes().to_vec();
        let config = LaunchConfig { params, check: true, ..LaunchConfig::new(Dim3::from(blocks), Dim3::from(threads)) };
        Self { memory, program, out, config }
    }

    fn launch(&mut self) -> Vec<Fault> {
        let output = Output::default();
        self.program.launch("k", &self.config, &mut self.memory, 1, &output, &|_| {}).expect("the kernel is right");
        output.take_warnings()
    }

    fn contents(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        self.memory.read(self.out, &mut bytes).unwrap();
        bytes
    }
}

/// Warnings of one block of 64 threads: space, offset, first unwritten byte, thread.
fn warnings(body: &str) -> Vec<(Space, u64, u64, u32)> {
    let told = Set::new(&kernel(body), 1, 64).launch();
    told.iter()
        .map(|w| match w.cause {
            Cause::Uninitialised { space, address, unwritten, .. } => (space, address.0, unwritten, w.thread.x),
            ref other => panic!("not a warning: {other}"),
        })
        .collect()
}

#[test]
fn a_read_of_unwritten_shared_memory_is_told_once_and_names_its_place() {
    let mut set = Set::new(&kernel("ld.shared.u32 %r3, [%r2+8];\nst.global.u32 [%rd0], %r3;"), 3, 64);
    let told = set.launch();
    assert_eq!(
        told.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["uninitialised: 4 bytes are read at shared address 0x8, which nothing has written\n  --> k.ptx:15\n   | \
          ld.shared.u32 %r3, [%r2+8]\n   = kernel `k`, block (0,0,0), thread (0,0,0)"]
    );
}

#[test]
fn what_another_thread_wrote_before_a_barrier_is_written() {
    let body = "st.shared.u32 [%r2], %r0;
        bar.sync 0;
        xor.b32 %r4, %r0, 63;
        mad.lo.s32 %r4, %r4, 4, %r1;
        ld.shared.u32 %r3, [%r4];
        st.global.u32 [%rd0], %r3;";
    assert_eq!(warnings(body), []);
}

#[test]
fn each_block_starts_with_nothing_written() {
    // Block 0 writes and reads; block 1 only reads.
    let body = "mov.u32 %r5, %ctaid.x;
        setp.eq.u32 %p1, %r5, 0;
        @%p1 st.shared.u32 [%r2], %r0;
        ld.shared.u32 %r3, [%r2];";
    let told = Set::new(&kernel(body), 2, 32).launch();
    assert_eq!(told.iter().map(|w| (w.block.x, w.thread.x)).collect::<Vec<_>>(), [(1, 0)]);
}

#[test]
fn the_check_is_exact_to_the_byte_and_vectors_count_whole() {
    let half = "st.shared.u16 [%r2], %h1;\nld.shared.u32 %r3, [%r2];";
    assert_eq!(warnings(half), [(Space::Shared, 0, 2, 0)]);
    let other_half =
        "st.shared.u16 [%r2], %h1;\nst.shared.u8 [%r2+3], %h1;\nld.shared.u8 %h2, [%r2+3];\nld.shared.u8 %h2, [%r2+2];";
    assert_eq!(warnings(other_half), [(Space::Shared, 2, 2, 0)]);
    let vector = "mad.lo.s32 %r4, %r0, 8, %r1;
        st.shared.v2.u32 [%r4], {%r0, %r0};
        bar.sync 0;
        and.b32 %r5, %r0, 31;
        mad.lo.s32 %r5, %r5, 16, %r1;
        ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];";
    assert_eq!(warnings(vector), []);
}

#[test]
fn inactive_lanes_neither_write_nor_read() {
    let body = "setp.lt.u32 %p1, %r0, 5;
        @%p1 st.shared.u32 [%r2], %r0;
        @%p1 ld.shared.u32 %r3, [%r2];
        ld.shared.u32 %r3, [%r2];";
    assert_eq!(warnings(body), [(Space::Shared, 20, 20, 5)]);
}

#[test]
fn local_memory_belongs_to_each_lane() {
    let body = "st.local.u32 [stack], %r0;
        st.local.u32 [stack+4], %r0;
        setp.ne.u32 %p1, %r0, 37;
        @%p1 st.local.u32 [stack+8], %r0;
        ld.local.v2.u32 {%r3, %r4}, [stack];
        ld.local.u32 %r3, [stack+8];
        ld.local.u64 %rd2, [stack+16];";
    assert_eq!(warnings(body), [(Space::Local, 8, 8, 37), (Space::Local, 16, 16, 0)]);
}

#[test]
fn generic_addresses_are_followed() {
    let body = "mov.u64 %rd2, tile;
        cvta.shared.u64 %rd3, %rd2;
        add.s64 %rd3, %rd3, %rd1;
        st.u32 [%rd3], %r0;
        ld.shared.u32 %r3, [%r2];
        ld.u32 %r3, [%rd3+128];
        mov.u64 %rd4, stack;
        cvta.local.u64 %rd5, %rd4;
        st.u32 [%rd5+4], %r0;
        ld.u64 %rd6, [%rd5];
        ld.u32 %r3, [%rd0];";
    assert_eq!(warnings(body), [(Space::Shared, 128, 128, 0), (Space::Local, 0, 0, 0)]);
}

#[test]
fn atomics_read_and_then_have_written() {
    let body = "atom.shared.add.u32 %r3, [%r1], 1;
        ld.shared.u32 %r3, [%r1];
        red.shared.max.u32 [%r1+4], %r0;
        atom.global.add.u32 %r3, [%rd0], 1;";
    assert_eq!(warnings(body), [(Space::Shared, 0, 0, 0), (Space::Shared, 4, 4, 0)]);
}

#[test]
fn asynchronous_copies_write_their_destination() {
    let body = "cp.async.ca.shared.global [%r2], [%rd0], 4;
        cp.async.wait_all;
        ld.shared.u32 %r3, [%r2];
        ld.shared.u32 %r3, [%r2+256];";
    assert_eq!(warnings(body), [(Space::Shared, 256, 256, 0)]);
}

const MIXED: &str = "mov.u32 %r5, %ctaid.x;
    setp.lt.u32 %p1, %r5, 3;
    @%p1 st.shared.u32 [%r2], %r0;
    ld.shared.u32 %r3, [%r2];
    st.local.u32 [stack], %r3;
    ld.local.u64 %rd3, [stack];
    st.global.u32 [%rd0], %r3;";

#[test]
fn host_threads_and_outside_control_tell_the_same() {
    let text = kernel(MIXED);
    let expected = Set::new(&text, 40, 64).launch();
    assert_eq!(expected.iter().map(|w| w.block.x).collect::<Vec<_>>(), [3, 0]);
    let mut parallel = Set::new(&text, 40, 64);
    parallel.config.threads = 4;
    assert_eq!(parallel.launch(), expected);
    let mut driven = Set::new(&text, 40, 64);
    let output = Output::default();
    let drive = |execution: &mut Execution<'_>| {
        let mut batch = OpBatch::default();
        for cta in 0..execution.ctas() {
            execution.start_cta(0, cta);
            for w in 0..execution.warps_per_cta() {
                let warp = execution.warp(0, w);
                while execution.advance(warp, &mut batch) == Stop::Ready {
                    batch.clear();
                }
            }
        }
    };
    driven.program.drive("k", &driven.config, &mut driven.memory, 1, &output, drive).unwrap();
    assert_eq!(output.take_warnings(), expected);
}

#[test]
fn results_are_those_of_an_unchecked_launch_which_warns_of_nothing() {
    let text = kernel(MIXED);
    let mut checked = Set::new(&text, 4, 64);
    assert!(!checked.launch().is_empty());
    let mut unchecked = Set::new(&text, 4, 64);
    unchecked.config.check = false;
    assert_eq!(unchecked.launch(), []);
    assert_eq!(checked.contents(), unchecked.contents());
    // The same program again, the other way round: both forms of the kernel are kept.
    checked.config.check = false;
    assert_eq!(checked.launch(), []);
}

#[test]
fn warnings_before_a_fault_are_kept() {
    let mut set = Set::new(&kernel("ld.shared.u32 %r3, [%r2];\nld.shared.u32 %r3, [%r2+4096];"), 1, 32);
    let output = Output::default();
    let result = set.program.launch("k", &set.config, &mut set.memory, 1, &output, &|_| {});
    assert!(result.unwrap_err().to_string().contains("out of bounds"));
    assert_eq!(output.take_warnings().len(), 1, "the read that is out of bounds is no warning");
}

#[test]
fn what_matrix_instructions_write_counts_as_written() {
    // Two warps store the same matrix of 8 by 8 halves, 128 bytes; the byte behind it was never written.
    let store = "and.b32 %r4, %r0, 7;\nmad.lo.s32 %r4, %r4, 16, %r1;\n\
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r0};\nbar.sync 0;\n";
    assert_eq!(warnings(&format!("{store}ld.shared.u32 %r3, [%r1+124];")), []);
    assert_eq!(warnings(&format!("{store}ld.shared.u32 %r3, [%r1+128];")), [(Space::Shared, 128, 128, 0)]);
}
