//! Warps and blocks take turns: nobody gets far ahead, and who waits for a block that runs beside it does not wait long.

use crate::args;
use crate::machine::{Machine, kernel, kernel_with};

/// The barrier that programs of ten years ago make of memory: block 0 waits for the flags of all, then takes them back. The
/// loads that wait are neither volatile nor atomic.
const SOFTWARE_BARRIER: &str = "
    membar.gl; bar.sync 0;
    setp.ne.u32 %p0, %r10, 0;
    @%p0 bra OTHERS;
    setp.ne.u32 %p1, %r0, 0;
    @!%p1 st.volatile.global.u32 [%rd0], 1;
    bar.sync 0;
    mov.u32 %r11, %r0;
PEERS:
    setp.ge.u32 %p2, %r11, %r12;
    @%p2 bra ALL_CAME;
    mul.wide.u32 %rd5, %r11, 4; add.s64 %rd5, %rd0, %rd5;
WAIT:
    ld.global.cg.u32 %r13, [%rd5]; membar.cta;
    setp.eq.u32 %p3, %r13, 0;
    @%p3 bra WAIT;
    add.u32 %r11, %r11, %r14;
    bra PEERS;
ALL_CAME:
    bar.sync 0;
    mov.u32 %r11, %r0;
BACK:
    setp.ge.u32 %p2, %r11, %r12;
    @%p2 bra PASSED;
    mul.wide.u32 %rd5, %r11, 4; add.s64 %rd5, %rd0, %rd5;
    st.volatile.global.u32 [%rd5], 0;
    add.u32 %r11, %r11, %r14;
    bra BACK;
OTHERS:
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra MEET;
    mul.wide.u32 %rd5, %r10, 4; add.s64 %rd5, %rd0, %rd5;
    st.volatile.global.u32 [%rd5], 1;
ACKNOWLEDGED:
    ld.global.cg.u32 %r13, [%rd5]; membar.cta;
    setp.eq.u32 %p3, %r13, 1;
    @%p3 bra ACKNOWLEDGED;
MEET:
    bar.sync 0;
PASSED:";

#[test]
fn barriers_of_plain_loads_and_fences_end_and_soon() {
    let (blocks, threads, rounds) = (100u32, 64u32, 20u32);
    // In each round a block adds what its neighbour had to its own number.
    let text = kernel(&format!(
        "
    mov.u32 %r10, %ctaid.x; mov.u32 %r12, %nctaid.x; mov.u32 %r14, %ntid.x;
    add.u32 %r15, %r10, 1; rem.u32 %r15, %r15, %r12;
    mul.wide.u32 %rd6, %r10, 4; add.s64 %rd6, %rd1, %rd6;
    mul.wide.u32 %rd7, %r15, 4; add.s64 %rd7, %rd1, %rd7;
    setp.eq.u32 %p4, %r0, 0;
    mov.u32 %r16, 0;
ROUND:
    @%p4 ld.global.u32 %r17, [%rd7];
    bra ONE;
TWO:
    @%p4 ld.global.u32 %r18, [%rd6];
    @%p4 add.u32 %r18, %r18, %r17;
    @%p4 st.global.u32 [%rd6], %r18;
    mov.u32 %r19, 1;
    bra AGAIN;
ONE:
    mov.u32 %r19, 0;
AGAIN:
    {SOFTWARE_BARRIER}
    setp.eq.u32 %p5, %r19, 0;
    @%p5 bra TWO;
    add.u32 %r16, %r16, 1;
    setp.lt.u32 %p5, %r16, %r31;
    @%p5 bra ROUND;
    ret;"
    ));
    let mut m = Machine::new(&text);
    let mut expected: Vec<u32> = (0..blocks).map(|b| b * b % 7).collect();
    let (flags, numbers) = (m.buffer("flags", &vec![0u32; blocks as usize]), m.buffer("numbers", &expected));
    m.options.instruction_limit = Some(100_000_000);
    m.run("k", blocks, threads, args![flags, numbers, rounds]);
    for _ in 0..rounds {
        expected =
            (0..blocks as usize).map(|b| expected[b].wrapping_add(expected[(b + 1) % blocks as usize])).collect();
    }
    assert_eq!(m.read::<u32>(numbers, blocks as usize), expected);
}

/// Without a barrier behind the loop, a warp that is through overwrites what the others read: on hardware they are through, too.
#[test]
fn warps_keep_step_where_a_barrier_was_forgotten() {
    let text = kernel_with(
        ".shared .align 4 .b32 tile[256];",
        "
    mov.u64 %rd5, tile; add.s64 %rd6, %rd5, %rd2;
    st.shared.u32 [%rd6], 1;
    bar.sync 0;
    mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u64 %rd7, %rd5;
LOOP:
    ld.shared.u32 %r3, [%rd7]; add.s64 %rd7, %rd7, 4;
    // What a real program does with each element.
    mul.lo.u32 %r4, %r3, 3; xor.b32 %r4, %r4, 5; shl.b32 %r4, %r4, 2; and.b32 %r4, %r4, 0; mul.lo.u32 %r4, %r4, 3;
    xor.b32 %r5, %r3, 5; shl.b32 %r5, %r5, 2; and.b32 %r5, %r5, 0; mul.lo.u32 %r5, %r5, 3; add.u32 %r4, %r4, %r5;
    add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 256;
    @%p0 bra LOOP;
    st.shared.u32 [%rd6], 1000;
    st.global.u32 [%rd3], %r2;
    ret;",
    );
    let mut m = Machine::new(&text);
    let sums = m.buffer("sums", &[0u32; 256]);
    m.run("k", 1, 256, args![sums, sums, 0u32]);
    assert_eq!(m.read::<u32>(sums, 256), [256; 256]);
}

/// Behind a barrier, all warps read which of two queues is in use; one warp then changes it for the next round. Nothing but
/// that all have just come from the barrier sees to it that the others have read by then.
#[test]
fn what_stands_right_behind_a_barrier_is_done_by_all_before_one_goes_on() {
    let text = kernel_with(
        ".shared .align 4 .b32 odd[1];",
        "
    mov.u64 %rd5, odd; setp.ne.u32 %p1, %r0, 0;
    @!%p1 st.shared.u32 [%rd5], 1;
    mov.u32 %r1, 0; mov.u32 %r2, 0;
ROUND:
    bar.sync 0;
    ld.shared.u32 %r3, [%rd5];
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra EVEN;
    add.u32 %r2, %r2, 1;
EVEN:
    @%p1 bra NEXT;
    xor.b32 %r3, %r3, 1; st.shared.u32 [%rd5], %r3;
NEXT:
    add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 10;
    @%p0 bra ROUND;
    st.global.u32 [%rd3], %r2;
    ret;",
    );
    let mut m = Machine::new(&text);
    let rounds = m.buffer("rounds", &[0u32; 256]);
    m.run("k", 1, 256, args![rounds, rounds, 0u32]);
    assert_eq!(m.read::<u32>(rounds, 256), [5; 256]);
}

/// Level by level, as the breadth-first search of the ISPASS 2009 suite does it: who is marked takes its mark back and marks its
/// neighbour for the next launch, in the same array. Only that all blocks begin together keeps a launch from doing two levels.
#[test]
fn blocks_that_read_their_own_mark_first_do_so_before_others_set_it() {
    let text = kernel(
        "
    mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mad.lo.u32 %r12, %r10, %r11, %r0;
    mul.wide.u32 %rd5, %r12, 4; add.s64 %rd6, %rd0, %rd5; add.s64 %rd7, %rd1, %rd5;
    ld.global.u32 %r13, [%rd6];
    setp.eq.u32 %p0, %r13, 0;
    @%p0 bra DONE;
    st.global.u32 [%rd6], 0;
    mov.u32 %r14, 0;
NEXT:
    ld.global.u32 %r15, [%rd7];
    mul.wide.u32 %rd8, %r15, 4; add.s64 %rd8, %rd0, %rd8;
    st.global.u32 [%rd8], 1;
    add.u32 %r14, %r14, 1; setp.lt.u32 %p1, %r14, 2;
    @%p1 bra NEXT;
DONE:
    ret;",
    );
    let (blocks, threads) = (20u32, 64u32);
    let nodes = (blocks * threads) as usize;
    let mut m = Machine::new(&text);
    let mut marks = vec![0u32; nodes];
    marks[3] = 1;
    // Each leads to the same thread of the next block.
    let next: Vec<u32> = (0..nodes as u32).map(|n| (n + threads) % nodes as u32).collect();
    let (on_device, neighbours) = (m.buffer("marks", &marks), m.buffer("next", &next));
    for level in 1..8 {
        m.run("k", blocks, threads, args![on_device, neighbours, 0u32]);
        let marked: Vec<usize> =
            m.read::<u32>(on_device, nodes).iter().enumerate().filter(|m| *m.1 != 0).map(|m| m.0).collect();
        assert_eq!(marked, [3 + level * threads as usize]);
    }
}

/// Eight warps with the same numbers add the same products to the same sums: each begins with what was there before the launch.
#[test]
fn warps_that_read_where_a_sum_begins_do_so_before_others_write_it() {
    let text = kernel(
        "
    and.b32 %r10, %r0, 31; mul.wide.u32 %rd5, %r10, 4; add.s64 %rd5, %rd0, %rd5;
    ld.global.u32 %r11, [%rd5];
    mov.u32 %r12, 0;
LOOP:
    add.u32 %r11, %r11, %r12;
    st.global.u32 [%rd5], %r11;
    add.u32 %r12, %r12, 1; setp.lt.u32 %p0, %r12, 1000;
    @%p0 bra LOOP;
    ret;",
    );
    let mut m = Machine::new(&text);
    let sums = m.buffer("sums", &[7u32; 32]);
    m.run("k", 1, 256, args![sums, sums, 0u32]);
    assert_eq!(m.read::<u32>(sums, 32), [7 + 499_500; 32]);
}
