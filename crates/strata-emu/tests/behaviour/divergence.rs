//! Lanes part and meet again: results, and how many warp instructions it took.

use crate::args;
use crate::machine::{Machine, PROLOGUE, kernel, kernel_with};

/// Runs one warp; checks `a[lane]` and the number of warp instructions behind the prologue.
#[track_caller]
fn check(text: &str, warp_instructions: u64, expected: impl Fn(u32) -> u32) {
    let mut m = Machine::new(text);
    let (a, b) = (m.buffer("a", &[0u32; 32]), m.buffer("b", &[0u32; 32]));
    let counts = m.run("k", 1, 32, args![a, b, 5u32]);
    assert_eq!(m.read::<u32>(a, 32), (0..32).map(expected).collect::<Vec<_>>());
    assert_eq!(counts.warp_instructions() - PROLOGUE, warp_instructions);
}

#[test]
fn nested_branches_meet_inside_out() {
    let text = kernel(
        "
    mov.u32 %r1, 0;
    and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 0;
    @%p0 bra EVEN;
    and.b32 %r3, %r0, 2; setp.eq.u32 %p1, %r3, 0;
    @%p1 bra INNER;
    add.u32 %r1, %r1, 100;
INNER:
    add.u32 %r1, %r1, 10;
    bra MEET;
EVEN:
    add.u32 %r1, %r1, 1;
MEET:
    add.u32 %r1, %r1, 1000;
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    // 4 before, 3 + 1 in the odd arm, 2 where it meets inside, 1 in the even arm, 3 where all meet.
    check(&text, 4 + 3 + 1 + 2 + 1 + 3, |t| 1000 + if t % 2 == 0 { 1 } else { 10 + if t & 2 != 0 { 100 } else { 0 } });
}

#[test]
fn loops_of_different_length_end_together() {
    let text = kernel(
        "
    mov.u32 %r1, 0; mov.u32 %r2, 0;
LOOP:
    add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; setp.le.u32 %p0, %r2, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    check(&text, 2 + 32 * 4 + 2, |t| t * (t + 1) / 2);
}

#[test]
fn early_returns_do_not_hold_the_others() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 4;
    st.global.u32 [%rd3], 1;
    @%p0 ret;
    setp.lt.u32 %p0, %r0, 8;
    @%p0 exit;
    setp.gt.u32 %p1, %r0, 20;
    @%p1 bra LEAVE;
    st.global.u32 [%rd3], 2;
LEAVE:
    @%p1 ret;
    st.global.u32 [%rd3], 3;
    ret;",
    );
    check(&text, 11, |t| if (8..=20).contains(&t) { 3 } else { 1 });
}

#[test]
fn branch_tables_part_lanes_and_meet() {
    let text = kernel(
        "
    and.b32 %r2, %r0, 3;
    mov.u32 %r1, 5;
TABLE: .branchtargets L0, L1, L2, L2;
    brx.idx %r2, TABLE;
L0: mov.u32 %r1, 10; bra MEET;
L1: mov.u32 %r1, 11; bra MEET;
L2: mov.u32 %r1, 12;
MEET:
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    check(&text, 3 + 2 + 2 + 1 + 2, |t| [10, 11, 12, 12][t as usize % 4]);
}

/// `triple` and `square`, and `choose`, which calls one of them by address.
const FUNCTIONS: &str = "
.func (.param .b32 out) triple(.param .b32 in) {
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [in]; mul.lo.u32 %r2, %r1, 3; st.param.b32 [out], %r2; ret;
}
.func (.param .b32 out) square(.param .b32 in) {
    .reg .b32 %r<4>; .reg .pred %p<6>;
    ld.param.u32 %r1, [in];
    setp.eq.u32 %p1, %r1, 8; setp.ne.u32 %p2, %r1, 9; setp.ne.u32 %p3, %r1, 10; setp.ne.u32 %p4, %r1, 12;
    mul.lo.u32 %r2, %r1, %r1;
    @%p1 add.u32 %r2, %r2, 1000;
    st.param.b32 [out], %r2; ret;
}
";

#[test]
fn a_call_in_one_arm_returns_to_its_lanes() {
    let text = kernel_with(
        FUNCTIONS,
        "
    .param .b32 arg; .param .b32 res;
    mov.u32 %r1, %r0; setp.lt.u32 %p0, %r0, 10;
    @%p0 bra SKIP;
    st.param.b32 [arg], %r0;
    call.uni (res), triple, (arg);
    ld.param.b32 %r1, [res];
SKIP:
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    check(&text, 3 + 2 + 4 + 1 + 2, |t| if t < 10 { t } else { 3 * t });
}

#[test]
fn a_guarded_call_skips_the_other_lanes() {
    let text = kernel_with(
        FUNCTIONS,
        "
    .param .b32 arg; .param .b32 res;
    setp.lt.u32 %p0, %r0, 10;
    st.param.b32 [arg], %r0; st.param.b32 [res], 7;
    @%p0 call (res), triple, (arg);
    ld.param.b32 %r1, [res];
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    let mut m = Machine::new(&text);
    let a = m.buffer("a", &[0u32; 32]);
    m.run("k", 1, 32, args![a, a, 0u32]);
    assert_eq!(m.read::<u32>(a, 10), (0..10).map(|t| 3 * t).collect::<Vec<_>>());
}

#[test]
fn lanes_call_different_functions_by_address() {
    let text = kernel_with(
        FUNCTIONS,
        "
    .param .b32 arg; .param .b32 res;
PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);
    and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 0;
    mov.u64 %rd5, triple; mov.u64 %rd6, square;
    selp.b64 %rd7, %rd5, %rd6, %p0;
    st.param.b32 [arg], %r0;
    call (res), %rd7, (arg), PROTO;
    ld.param.b32 %r1, [res];
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    check(&text, 7 + 4 + 9 + 3, |t| if t % 2 == 0 { 3 * t } else { t * t });
}

/// Frames of different functions overlap in the register file; what one lane's callee does must not reach the
/// predicates of another's.
#[test]
fn frames_of_parted_lanes_do_not_touch_each_other() {
    let before = "
.func leaf() { .reg .b32 %r<2>; mov.u32 %r1, 1; ret; }
.func (.param .b32 out) small(.param .b32 in) {
    .reg .b32 %r<4>;
    call.uni leaf; call.uni leaf;
    ld.param.u32 %r1, [in]; st.param.b32 [out], %r1; ret;
}
.func (.param .b32 out) large(.param .b32 in) {
    .reg .b32 %r<20>; .reg .pred %p<12>;
    ld.param.u32 %r1, [in];
    setp.eq.u32 %p0, %r1, 1000; setp.eq.u32 %p1, %r1, 1001; setp.eq.u32 %p2, %r1, 1002; setp.eq.u32 %p3, %r1, 1003;
    setp.eq.u32 %p4, %r1, 1004; setp.eq.u32 %p5, %r1, 1005; setp.eq.u32 %p6, %r1, 1006; setp.eq.u32 %p7, %r1, 1007;
    mov.u32 %r3, 0;
    // Waits for the lanes in `small`, which have called `leaf` by then.
    bar.warp.sync 0xffffffff;
    @%p0 add.u32 %r3, %r3, 1; @%p1 add.u32 %r3, %r3, 2; @%p2 add.u32 %r3, %r3, 4; @%p3 add.u32 %r3, %r3, 8;
    @%p4 add.u32 %r3, %r3, 16; @%p5 add.u32 %r3, %r3, 32; @%p6 add.u32 %r3, %r3, 64; @%p7 add.u32 %r3, %r3, 128;
    st.param.b32 [out], %r3; ret;
}";
    let text = kernel_with(
        before,
        "
    .param .b32 arg; .param .b32 res;
    and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 0;
    st.param.b32 [arg], %r0;
    @%p0 bra LARGE;
    call.uni (res), small, (arg);
    bar.warp.sync 0xffffffff;
    bra MEET;
LARGE:
    call.uni (res), large, (arg);
MEET:
    ld.param.b32 %r1, [res];
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    let mut m = Machine::new(&text);
    let a = m.buffer("a", &[9u32; 32]);
    m.run("k", 1, 32, args![a, a, 0u32]);
    assert_eq!(m.read::<u32>(a, 32), (0..32).map(|t| if t % 2 == 0 { 0 } else { t }).collect::<Vec<_>>());
}

#[test]
fn an_exit_inside_a_function_ends_the_thread() {
    let before = ".func leave(.param .b32 in) {
    .reg .b32 %r<2>; .reg .pred %p<2>;
    ld.param.u32 %r1, [in]; setp.gt.u32 %p1, %r1, 15; @%p1 exit; ret;
}";
    let text = kernel_with(
        before,
        "
    .param .b32 arg;
    st.param.b32 [arg], %r0;
    call.uni leave, (arg);
    st.global.u32 [%rd3], 1;
    ret;",
    );
    check(&text, 2 + 4 + 2, |t| u32::from(t <= 15));
}

#[test]
fn compiled_calls() {
    let mut m = Machine::load("functions");
    let out = m.buffer("out", &[0f32; 64]);
    m.run("virtual_functions", 1, 64, args![out]);
    let area = |i: usize| if i.is_multiple_of(3) { (i * i + 4) as f32 } else { (3 * i * i) as f32 };
    assert_eq!(m.read::<f32>(out, 64), (0..64).map(area).collect::<Vec<_>>());

    let out = m.buffer("out", &[0i32; 40]);
    m.run("function_pointers", 1, 40, args![out]);
    let global = |i: i32| [i + 5, i - 5, i * 5][i as usize % 3];
    let constant = |i: i32| [i * 7, i + 7][i as usize % 2];
    let both = |i: i32| global(i) * 1000 + constant(i);
    assert_eq!(m.read::<i32>(out, 40), (0..40).map(both).collect::<Vec<_>>());

    let out = m.buffer("out", &[0i32; 33]);
    m.run("recursion", 1, 33, args![out]);
    let fibonacci = |n: i32| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    assert_eq!(m.read::<i32>(out, 33), (0..33).map(|t| fibonacci(t % 12)).collect::<Vec<_>>());
}

/// `Big` of `functions.cu`.
#[derive(Clone)]
struct Big {
    d: f64,
    list: [i32; 7],
    s: i16,
    c: u8,
}

impl Big {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.d.to_le_bytes().to_vec();
        bytes.extend(self.list.iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(self.s.to_le_bytes());
        bytes.extend([self.c, 0]);
        bytes
    }
}

#[test]
fn structures_are_passed_and_returned() {
    let mut m = Machine::load("functions");
    let out = m.buffer("out", &[0u8; 40 * 40]);
    let given = Big { d: 0.5, list: [0, 10, 20, 30, 40, 50, 60], s: 77, c: 0x33 };
    m.run("structures", 1, 40, &[crate::machine::Arg(given.bytes()), out.into()]);
    let expected: Vec<u8> = (0..40usize)
        .flat_map(|t| {
            let mut b = given.clone();
            b.list[0] = t as i32;
            b.d += t as f64;
            for i in 0..7 {
                b.list[(i + t) % 7] += i as i32;
            }
            (b.s, b.c) = (-b.s, b.c ^ 0x55);
            b.bytes()
        })
        .collect();
    let mut got = m.read::<u8>(out, 40 * 40);
    // The last byte of a structure is padding.
    got.iter_mut().skip(39).step_by(40).for_each(|b| *b = 0);
    assert_eq!(got, expected);
}
