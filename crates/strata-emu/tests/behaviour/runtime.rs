//! `printf`, `malloc`, clocks and the registers that say where a thread is.

use crate::args;
use crate::machine::{Machine, kernel};

#[test]
fn text_comes_in_the_order_of_blocks_and_threads() {
    let mut m = Machine::load("runtime");
    m.run("prints", 2, 3, args![1.25f32, 0u64]);
    insta::assert_snapshot!(m.printed());
}

#[test]
fn device_memory_is_allocated_and_freed_by_threads() {
    let mut m = Machine::load("runtime");
    let out = m.buffer("out", &[0i32; 64]);
    let before = m.contents().len();
    m.run("linked_list", 1, 64, args![out, 9]);
    assert_eq!(m.read::<i32>(out, 64), (0..64).map(|t| 36 * t).collect::<Vec<_>>());
    assert_eq!(m.contents().len(), before, "everything was given back");
}

#[test]
fn clocks_only_go_forward() {
    let mut m = Machine::load("runtime");
    let out = m.buffer("out", &[0i64; 4 * 40]);
    m.run("clocks", 1, 40, args![out]);
    for times in m.read::<i64>(out, 4 * 40).chunks(4) {
        assert!(times.is_sorted() && times[0] < times[3], "{times:?}");
    }
}

#[test]
fn a_clock_counts_the_instructions_between_two_readings() {
    let text = kernel(
        "
    mov.u32 %r1, %clock;
    add.u32 %r2, %r0, 1; add.u32 %r2, %r2, 1;
    mov.u32 %r3, %clock;
    sub.u32 %r3, %r3, %r1;
    st.global.u32 [%rd3], %r3;
    ret;",
    );
    let mut m = Machine::new(&text);
    let a = m.buffer("a", &[0u32; 32]);
    m.run("k", 1, 32, args![a, a, 0u32]);
    assert_eq!(m.read::<u32>(a, 32), [3; 32]);
}

#[test]
fn threads_know_their_place() {
    let mut m = Machine::load("runtime");
    let out = m.buffer("out", &[0u32; 4 * 2 * 48]);
    m.run("where", 2, (16, 3), args![out]);
    for (i, got) in m.read::<u32>(out, 4 * 2 * 48).chunks(4).enumerate() {
        let thread = i as u32 % 48;
        let (lane, warp) = (thread % 32, thread / 32);
        assert_eq!(got, [lane | warp << 8, 1, (1 << lane) - 1, !((1 << lane) - 1)]);
    }
}

#[test]
fn integer_divisions_by_zero_are_counted() {
    let text = kernel(
        "
    and.b32 %r1, %r0, 3;
    div.u32 %r2, %r0, %r1; rem.s32 %r3, %r0, %r1;
    st.global.u32 [%rd3], %r2;
    ret;",
    );
    let mut m = Machine::new(&text);
    let a = m.buffer("a", &[0u32; 40]);
    let counts = m.run("k", 1, 40, args![a, a, 0u32]);
    assert_eq!(counts.divisions_by_zero, 20);
    let expected = |t: u32| t.checked_div(t % 4).unwrap_or(u32::MAX);
    assert_eq!(m.read::<u32>(a, 40), (0..40).map(expected).collect::<Vec<_>>());
}
