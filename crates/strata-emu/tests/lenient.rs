//! Lenient launches: reads outside allocations get what lies there, writes and wild addresses fail.

use strata_core::{Addr, Bytes, Dim3};
use strata_emu::{Capacity, LaunchConfig, LaunchError, Memory, Output, Program};

/// What was told of reads outside: the first of an instruction, and how many.
type Outside = Vec<(String, u64)>;

/// Each of 40 threads reads element `tid` of a buffer of 32, then stores it at `b`; thread 0 does `more`.
fn run(more: &str, lenient: bool) -> (Result<(), LaunchError>, Vec<u32>, Outside) {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {{
    .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b];
    mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
    ld.global.u32 %r1, [%rd3];
    st.global.u32 [%rd4], %r1;
    setp.ne.u32 %p0, %r0, 0; @%p0 bra END;
    {more}
END:
    ret;
}}"
    );
    let module = strata_ptx::parse("lenient.ptx", &text).module.expect("no errors");
    let mut memory = Memory::new(Capacity::default()).expect("address space");
    let mut program = Program::load("lenient.ptx", &text, module, &mut memory).expect("room");
    let alloc = |memory: &mut Memory, bytes: u64| memory.alloc(Bytes(bytes), false, "buffer").expect("room").start;
    let (a, b) = (alloc(&mut memory, 128), alloc(&mut memory, 4 * 64));
    let ones: Vec<u8> = (0..32u32).flat_map(|k| (k + 1).to_le_bytes()).collect();
    memory.write(a, &ones).expect("inside");
    let params = [a, b].iter().flat_map(|p: &Addr| p.0.to_le_bytes()).collect();
    let config = LaunchConfig { params, lenient, ..LaunchConfig::new(Dim3::from(1), Dim3::from(40)) };
    let output = Output::default();
    let result = program.launch("k", &config, &mut memory, 1, &output, &|_| {}).map(|_| ());
    let mut bytes = [0; 160];
    memory.read(b, &mut bytes).expect("inside");
    let words = bytes.chunks(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    let outside = output.take_outside().into_iter().map(|(fault, count)| (fault.to_string(), count)).collect();
    (result, words, outside)
}

#[test]
fn reads_past_the_end_get_zeros_and_are_counted() {
    let (result, words, outside) = run("", true);
    result.expect("it runs");
    let expected: Vec<u32> = (1..33).chain([0; 8]).collect();
    assert_eq!(words, expected);
    let [(first, count)] = &outside[..] else { panic!("one instruction: {outside:?}") };
    assert_eq!(*count, 8);
    assert!(first.contains("lenient.ptx:8") && first.contains("thread (32,0,0)"), "{first}");
    let (result, _, outside) = run("", false);
    assert!(result.is_err() && outside.is_empty());
}

/// Device memory begins where the first allocation does: what a program reads before it is zero.
#[test]
fn reads_before_the_first_allocation_get_zeros() {
    let (result, _, outside) = run("mov.u64 %rd5, 0x7f0000000000; ld.global.v2.u32 {%r2, %r3}, [%rd5-256];", true);
    result.expect("it runs");
    assert_eq!(outside.len(), 2);
}

#[test]
fn writes_null_pointers_and_misaligned_reads_fail_all_the_same() {
    for (more, message) in [
        ("st.global.u32 [%rd0+128], %r1;", "out of bounds"),
        ("mov.u64 %rd5, 8; ld.global.u32 %r2, [%rd5];", "null pointer"),
        ("ld.global.u32 %r2, [%rd0+1];", "misaligned"),
        ("atom.global.add.u32 %r2, [%rd0+128], 1;", "out of bounds"),
    ] {
        let text = run(more, true).0.expect_err("it fails").to_string();
        assert!(text.contains(message), "{more}: {text}");
    }
}
