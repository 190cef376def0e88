//! What is found in small kernels: the paper's example, the three cases of loops, each limit, divergence.

use std::fmt::Write;
use strata_ptx::ast::{Function, Module, RegId};
use strata_tom::candidate::{Assumptions, Candidate, Found, Refusal, Trips, find};

/// Registers of the kernels below, and a first block that no candidate can contain, since it asks who the thread is.
const BEGIN: &str = "
    .reg .pred %p, %q; .reg .u32 %t, %i, %n, %k, %a, %b, %j; .reg .f32 %x, %y, %v, %delta; .reg .u64 %wide; .reg .f64 %d;
    .reg .b16 %h; .shared .u32 tile[32]; .local .f32 own[32];
    mov.u32 %t, %tid.x;
    ld.param.u32 %n, [count];
    ld.param.u32 %k, [other];
    ld.param.f32 %v, [v];
    ld.param.f32 %delta, [delta];
    mad.lo.u32 %a, %t, 4, %n;
    mad.lo.u32 %b, %t, 4, %k;
    bar.sync 0;
";

fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 32\n.tex .u64 picture;\n.func helper() {{ ret; }}\n\
         .visible .entry k(.param .u32 count, .param .u32 other, .param .f32 v, .param .f32 delta) {{{BEGIN}{body}}}"
    );
    let parsed = strata_ptx::parse("test.ptx", &text);
    let rendered = parsed.render(&text, false);
    parsed.module.unwrap_or_else(|| panic!("{rendered}"))
}

fn search(module: &Module) -> (&Function, Found) {
    let found = find(module, &Assumptions::default()).pop().expect("the kernel comes last");
    (&module.functions[found.function], found)
}

/// One candidate in a line; program counters begin behind [`BEGIN`].
fn line(function: &Function, candidate: &Candidate) -> String {
    let name = |r: RegId| &function.registers[r.0 as usize].name;
    let first = 8;
    let Candidate { kind, begin, end, traffic, change, iterations, .. } = candidate;
    let mut out = format!(
        "{kind:?} {}..={}: {} in, {} out, {} loads, {} stores, x{iterations} = {}",
        begin - first,
        end - first,
        traffic.registers_in,
        traffic.registers_out,
        traffic.loads,
        traffic.stores,
        change.total(),
    );
    if let Some(condition) = candidate.condition {
        let minus = condition.minus.map_or(String::new(), |r| format!(" - {}", name(r)));
        let sign = if condition.at_most { "<=" } else { ">=" };
        let _ = write!(out, " if {}{minus} {sign} {}", name(condition.register), condition.threshold);
        if let Some((stride, multiple)) = condition.stride {
            let _ = write!(out, " + {multiple} * {}", name(stride));
        }
    }
    out
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let module = module(body);
    let (function, found) = search(&module);
    let lines: Vec<_> = found.candidates.iter().map(|c| line(function, c)).collect();
    assert_eq!(lines, expected, "{:?}", found.refused);
}

/// The first loop of Figure 4, `L_b[n] = -v * delta / (1.0 + delta * L[n])`, counted down.
const LIBOR: &str = "
    next:
        ld.global.f32 %x, [%a];
        fma.rn.f32 %x, %delta, %x, 0f3F800000;
        mul.f32 %y, %v, %delta;
        neg.f32 %y, %y;
        div.full.f32 %x, %y, %x;
        st.global.f32 [%b], %x;
        add.u32 %a, %a, 4;
        add.u32 %b, %b, 4;
        sub.u32 %n, %n, 1;
        setp.ne.u32 %p, %n, 0;
        @%p bra next;
        ret;";

#[test]
fn the_loop_of_the_paper() {
    check(LIBOR, &["Loop 0..=10: 5 in, 0 out, 1 loads, 1 stores, x4 = -39 if %n >= 4"]);
    let module = module(LIBOR);
    let (function, found) = search(&module);
    let libor = &found.candidates[0];
    let words: Vec<_> = (1..=4).map(|n| Assumptions::default().change(&libor.traffic, n).total()).collect();
    assert_eq!(words, [110.25, 60.5, 10.75, -39.0]);
    assert!(!libor.change.saves_tx() && libor.change.saves_rx());
    let names: Vec<_> = libor.live_in.iter().map(|r| function.registers[r.0 as usize].name.as_str()).collect();
    assert_eq!(names, ["%n", "%a", "%b", "%v", "%delta"]);
    assert!(libor.live_out.is_empty());
    assert!(matches!(libor.trips, Some(Trips::Known(_))));
}

/// `L_b[n] = b * L_b[n]` from n = Nmat to N, the second loop: both ends are in registers.
#[test]
fn a_count_between_two_registers() {
    check(
        "next:
            ld.global.f32 %x, [%a];
            mul.f32 %x, %x, %v;
            st.global.f32 [%a], %x;
            add.u32 %a, %a, 4;
            add.u32 %n, %n, 1;
            setp.lt.u32 %p, %n, %k;
            @%p bra next;
            ret;",
        &["Loop 0..=6: 4 in, 0 out, 1 loads, 1 stores, x3 = -21.25 if %k - %n >= 3"],
    );
}

/// A loop that copies one word, with `head` before it, `control` at its end and `top` at its beginning.
fn copy_loop(head: &str, top: &str, control: &str) -> String {
    format!(
        "{head}
        next:
            {top}
            ld.global.u32 %j, [%a];
            st.global.u32 [%b], %j;
            {control}
        done:
            ret;"
    )
}

#[test]
fn counts_known_before_entry() {
    let check = |head: &str, top: &str, control: &str, expected: &str| {
        let module = module(&copy_loop(head, top, control));
        let (function, found) = search(&module);
        let [only] = &found.candidates[..] else { panic!("{control}: {found:?}") };
        let shown = line(function, only);
        assert_eq!(shown.split_once(", 1 stores, ").map(|(_, rest)| rest), Some(expected), "{control}");
    };
    let constant = "mov.u32 %i, 0;";
    // From a constant up to a register, in each way of writing it.
    let expected = "x3 = -21.25 if %n >= 3";
    check(constant, "", "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra next;", expected);
    check(constant, "", "add.u32 %i, %i, 1; setp.ge.s32 %p, %i, %n; @!%p bra next;", expected);
    check(constant, "", "add.u32 %i, %i, 1; setp.gt.u32 %p, %n, %i; @%p bra next;", expected);
    check(constant, "", "add.u32 %i, 1, %i; setp.ge.u32 %p, %i, %n; @%p bra done; bra next;", expected);
    check(constant, "", "setp.ge.u32 %p, %i, %n; add.u32 %i, %i, 1; @%p bra done; bra next;", "x3 = -21.25 if %n >= 2");
    check(constant, "", "setp.lt.u32 %p, %i, %n; add.u32 %i, %i, 1; @%p bra next;", "x3 = -21.25 if %n >= 2");
    check(constant, "", "add.u32 %i, %i, 1; setp.le.u32 %p, %i, %n; @%p bra next;", "x3 = -21.25 if %n >= 2");
    check(constant, "", "add.u32 %i, %i, 4; setp.lt.u32 %p, %i, %n; @%p bra next;", "x3 = -21.25 if %n >= 9");
    check(constant, "setp.ge.u32 %p, %i, %n; @%p bra done;", "add.u32 %i, %i, 1; bra next;", expected);
    // Through another register and a copy, as compilers write it.
    check(constant, "", "add.u32 %k, %i, 1; setp.lt.u32 %p, %k, %n; mov.u32 %i, %k; @%p bra next;", expected);
    check("mov.u32 %k, 0; mov.u32 %i, %k;", "", "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra next;", expected);
    // By a register: the loop over a grid.
    let expected = "x4 = -39 if %n - %t >= 1 + 3 * %k";
    check("", "", "add.u32 %t, %t, %k; setp.lt.u32 %p, %t, %n; @%p bra next;", expected);
    check("", "setp.ge.u32 %p, %t, %n; @%p bra done;", "add.u32 %t, %k, %t; bra next;", expected);
    check("", "", "sub.u32 %n, %n, %k; setp.gt.s32 %p, %n, 0; @%p bra next;", "x3 = -21.25 if %n >= 1 + 2 * %k");
    check(
        constant,
        "",
        "add.u32 %i, %i, %k; add.u32 %t, %i, 7; setp.le.u32 %p, %t, %n; @%p bra next;",
        "x4 = -39 if %n >= 7 + 3 * %k",
    );
    // Down to a constant or a register, up to a constant.
    check("", "", "sub.u32 %n, %n, 2; setp.gt.s32 %p, %n, 7; @%p bra next;", "x2 = -3.5 if %n >= 10");
    check("", "", "add.s32 %n, %n, -4; setp.ne.s32 %p, %n, 0; @%p bra next;", "x2 = -3.5 if %n >= 5");
    check("", "", "add.u32 %n, %n, 0xffffffff; setp.ge.s32 %p, %n, %k; @%p bra next;", "x3 = -21.25 if %n - %k >= 2");
    check("", "", "add.s32 %n, %n, 1; setp.ne.s32 %p, %n, 0; @%p bra next;", "x2 = -3.5 if %n <= -2");
    check(
        "mov.u32 %i, 100;",
        "",
        "sub.u32 %i, %i, 1; setp.gt.s32 %p, %i, %n; @%p bra next;",
        "x3 = -21.25 if %n <= 97",
    );
}

#[test]
fn static_counts() {
    let check = |head: &str, control: &str, count: u64| {
        let module = module(&copy_loop(head, "", control));
        let (_, found) = search(&module);
        let [only] = &found.candidates[..] else { panic!("{control}: {found:?}") };
        assert_eq!((only.trips, only.condition), (Some(Trips::Static(count)), None), "{control}");
        assert_eq!(only.iterations, count);
    };
    let zero = "mov.u32 %i, 0;";
    check(zero, "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 100; @%p bra next;", 100);
    check(zero, "add.u32 %i, %i, 1; setp.le.u32 %p, %i, 100; @%p bra next;", 101);
    check(zero, "add.u32 %i, %i, 3; setp.lt.u32 %p, %i, 100; @%p bra next;", 34);
    check(zero, "add.u32 %i, %i, 4; setp.ne.u32 %p, %i, 64; @%p bra next;", 16);
    check(zero, "setp.lt.u32 %p, %i, 100; add.u32 %i, %i, 1; @%p bra next;", 101);
    check("mov.u32 %i, 64;", "add.u32 %i, %i, -4; setp.gt.s32 %p, %i, 0; @%p bra next;", 16);
    check("mov.u32 %i, 0; mov.u32 %n, 10;", "add.u32 %i, %i, 1; setp.ne.u32 %p, %i, %n; @%p bra next;", 10);
}

#[test]
fn a_static_count_that_is_too_low_is_no_candidate() {
    let module = module(&copy_loop("mov.u32 %i, 0;", "", "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 1; @%p bra next;"));
    let (_, found) = search(&module);
    assert_eq!(found.candidates, []);
    assert!(matches!(found.refused[..], [refused] if refused.refusal == Refusal::Costs(46.25)), "{found:?}");
}

#[test]
fn counts_that_turn_out_while_the_loop_runs() {
    let check = |head: &str, control: &str| {
        let module = module(&copy_loop(head, "", control));
        let (_, found) = search(&module);
        assert!(found.candidates.iter().all(|c| c.condition.is_none()), "{control}");
        assert!(found.candidates.iter().all(|c| matches!(c.trips, None | Some(Trips::Unknown))), "{control}");
        assert!(found.candidates.len() + found.refused.len() > 0);
    };
    check("", "ld.global.u32 %n, [%a+4]; setp.ne.u32 %p, %n, 0; @%p bra next;");
    check("mov.u32 %i, 0;", "shl.b32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra next;");
    check("mov.u32 %i, 0;", "add.u32 %i, %i, %j; setp.lt.u32 %p, %i, %n; @%p bra next;");
    check("mov.u32 %i, 0;", "add.u32 %i, %i, %k; setp.ne.u32 %p, %i, %n; @%p bra next;");
    check("mov.u32 %i, 0;", "@%q add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra next;");
    check("mov.u32 %i, 0;", "add.u32 %i, %i, 1; setp.gt.u32 %p, %i, %n; @%p bra next;");
    check("mov.u32 %i, 0;", "add.u32 %i, %i, 1; setp.lt.and.u32 %p, %i, %n, %q; @%p bra next;");
    check("mov.u32 %i, 1;", "add.u32 %i, %i, 4; setp.ne.u32 %p, %i, 64; @%p bra next;");
    // Two ways out.
    check(
        "mov.u32 %i, 0;",
        "setp.eq.u32 %q, %j, 0; @%q bra done; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra next;",
    );
}

#[test]
fn a_loop_of_unknown_count_whose_body_pays_is_offloaded_always() {
    check(
        "next:
            ld.global.v4.f32 {%x, %y, %v, %delta}, [%a];
            st.global.v4.f32 [%a], {%x, %y, %v, %delta};
            ld.global.u32 %a, [%a+16];
            setp.ne.u32 %p, %a, 0;
            @%p bra next;
            ret;",
        &["Loop 0..=4: 1 in, 0 out, 5 loads, 4 stores, x1 = -183.5"],
    );
}

/// Four loads and two stores, one register: a piece that pays.
const PIECE: &str = "ld.global.v4.u32 {%i, %n, %k, %j}, [%a]; st.global.u32 [%a], %i; st.global.u32 [%a+4], %j;";
const PAYS: &str = "Piece 0..=2: 1 in, 0 out, 4 loads, 2 stores, x1 = -100.5";

#[test]
fn a_piece_of_a_block_pays() {
    check(&format!("{PIECE} ret;"), &[PAYS]);
}

/// The piece twice, with an instruction between that no candidate may contain: two candidates, not one.
#[test]
fn each_limit() {
    let check = |forbidden: &str| {
        check(&format!("{PIECE} {forbidden} {PIECE} ret;"), &[PAYS, &PAYS.replace("0..=2", "4..=6")]);
    };
    for shared in ["ld.shared.u32 %t, [tile];", "st.shared.u32 [tile], %t;", "atom.shared.add.u32 %t, [tile], 1;"] {
        check(shared);
    }
    for synchronisation in ["bar.sync 0;", "barrier.sync 0;", "membar.gl;", "fence.acq_rel.gpu;", "cp.async.wait_all;"]
    {
        check(synchronisation);
    }
    for atomic in ["atom.global.add.u32 %t, [%a], 1;", "red.global.add.u32 [%a], 1;"] {
        check(atomic);
    }
    for ordered in
        ["ld.volatile.global.u32 %t, [%a];", "st.release.gpu.global.u32 [%a], %t;", "ld.global.cv.u32 %t, [%a];"]
    {
        check(ordered);
    }
    for collective in ["shfl.sync.idx.b32 %t, %t, 0, 31, -1;", "vote.sync.ballot.b32 %t, %p, -1;", "activemask.b32 %t;"]
    {
        check(collective);
    }
    check("call helper;");
    check("tex.1d.v4.f32.f32 {%x, %y, %v, %delta}, [picture, {%x}];");
    for whereabouts in ["mov.u32 %t, %warpid;", "mov.u32 %t, %clock;", "mov.u32 %t, %smid;"] {
        check(whereabouts);
    }
    for machine in ["nanosleep.u32 20;", "brkpt;"] {
        check(machine);
    }
}

#[test]
fn what_is_allowed_and_counts_nothing() {
    for free in
        ["mov.u32 %t, %ntid.x;", "mov.u32 %t, %laneid;", "prefetch.global.L1 [%a];", "ld.param.u32 %t, [count];"]
    {
        check(&format!("{PIECE} {free} {PIECE} ret;"), &["Piece 0..=6: 1 in, 0 out, 8 loads, 4 stores, x1 = -233"]);
    }
}

#[test]
fn who_a_thread_is_goes_along_as_a_register() {
    let check = |reads: &str, end: u32, registers: u32| {
        let saved = 233 - 32 * (registers - 1);
        let expected = format!("Piece 0..={end}: {registers} in, 0 out, 8 loads, 4 stores, x1 = -{saved}");
        check(&format!("{PIECE} {reads} {PIECE} ret;"), &[&expected]);
    };
    check("mov.u32 %t, %tid.x;", 6, 2);
    check("mov.u32 %t, %tid.x; add.u32 %t, %t, %tid.x;", 7, 2);
    check("mad.lo.u32 %t, %ctaid.x, %ntid.x, %tid.y;", 6, 3);
}

#[test]
fn accesses_count_by_width() {
    let check = |access: &str, loads: u64, stores: u64| {
        let module = module(&format!("{PIECE} {access} ret;"));
        let (_, found) = search(&module);
        let traffic = found.candidates[0].traffic;
        assert_eq!((traffic.loads, traffic.stores), (4 + loads, 2 + stores), "{access}");
    };
    check("ld.global.u8 %h, [%a];", 1, 0);
    check("ld.global.nc.u64 %wide, [%a];", 2, 0);
    check("st.global.v2.f64 [%a], {%d, %d};", 0, 4);
    check("st.local.f32 [own], %x;", 0, 1);
    check("ld.u32 %t, [%a];", 1, 0);
    check("ld.const.u32 %t, [%a];", 0, 0);
}

#[test]
fn a_generic_access_may_be_shared_once_a_shared_address_is_generic() {
    let twice = format!("{PIECE} ld.u32 %t, [%a]; {PIECE}");
    check(&format!("{twice} ret;"), &["Piece 0..=6: 1 in, 0 out, 9 loads, 4 stores, x1 = -249.5"]);
    check(&format!("{twice} bar.sync 0; cvta.shared.u32 %t, %t; ret;"), &[PAYS, &PAYS.replace("0..=2", "4..=6")]);
}

#[test]
fn registers_count_by_width() {
    // %wide and %d need two words each, %p none; %x is read after it is written; %y lives on without being named.
    let stores = "st.global.v2.u32 [%a+8], {%t, %t};".repeat(4);
    check(
        &format!(
            "st.global.u64 [%a], %wide; st.global.f64 [%a+8], %d; mov.f32 %x, 0f00000000; @%p st.global.f32 [%a], %x;
            {stores} add.u64 %wide, %wide, 1; setp.eq.u32 %q, %t, 0; mov.b16 %h, 1;
            bar.sync 0; st.global.u64 [%a], %wide; @%q st.global.f32 [%a], %y; st.global.u16 [%a], %h; ret;"
        ),
        &["Piece 0..=10: 6 in, 3 out, 0 loads, 13 stores, x1 = -144.25"],
    );
}

/// A register that only some lanes write must come with the others' value.
#[test]
fn a_guarded_write_needs_the_old_value() {
    let with =
        |guard: &str| format!("{PIECE} {guard} mov.f32 %x, 0f00000000; bar.sync 0; st.global.f32 [%a], %x; ret;");
    check(&with(""), &["Piece 0..=3: 1 in, 1 out, 4 loads, 2 stores, x1 = -68.5"]);
    check(&with("@%p"), &["Piece 0..=3: 2 in, 1 out, 4 loads, 2 stores, x1 = -36.5"]);
}

#[test]
fn divergence_inside_a_region() {
    // Both arms meet in the region; their accesses do not count, for a warp may take one of them only.
    check(
        &format!(
            "setp.eq.u32 %p, %t, 7; @%p bra out;
            {PIECE} setp.eq.u32 %p, %i, 0; @%p bra other;
            st.global.u32 [%a+8], %k; bra meet;
        other:
            st.global.u32 [%a+12], %k;
        meet:
            {PIECE}
        out:
            ret;"
        ),
        &["Region 2..=12: 1 in, 0 out, 8 loads, 4 stores, x1 = -233"],
    );
}

#[test]
fn divergence_across_a_block() {
    // One arm leaves the function: what follows the branch is no part of what precedes it.
    check(
        &format!("{PIECE} setp.eq.u32 %p, %i, 0; @%p bra out; {PIECE} bar.sync 0; out: ret;"),
        &[
            "Piece 0..=3: 1 in, 0 out, 4 loads, 2 stores, x1 = -100.5",
            "Piece 5..=7: 1 in, 0 out, 4 loads, 2 stores, x1 = -100.5",
        ],
    );
    // A jump into the middle: two ways in.
    check(
        &format!(
            "setp.eq.u32 %p, %t, 0; @%p bra middle; bar.sync 0; {PIECE} st.global.u32 [%a], %t; middle: {PIECE} ret;"
        ),
        &[
            "Piece 3..=6: 2 in, 0 out, 4 loads, 3 stores, x1 = -101.75",
            "Piece 7..=9: 1 in, 0 out, 4 loads, 2 stores, x1 = -100.5",
        ],
    );
}

#[test]
fn what_follows_a_loop_may_stand_elsewhere() {
    let body = "next:
            ld.global.v4.f32 {%x, %y, %v, %delta}, [%a];
            st.global.v4.f32 [%a], {%x, %y, %v, %delta};
            ld.global.u32 %a, [%a+16];
            setp.eq.u32 %p, %a, 0;
            @%p bra done;
            bra next;
        other:
            bar.sync 0;
        done:
            setp.eq.u32 %q, %n, %t;
            @%q bra other;
            ret;";
    check(body, &["Loop 0..=5: 1 in, 0 out, 5 loads, 4 stores, x1 = -183.5"]);
    let module = module(body);
    assert_eq!(search(&module).1.candidates[0].resume, 8 + 7);
}

#[test]
fn a_loop_may_be_entered_in_its_middle() {
    let body = "bra header;
        store:
            st.global.v4.f32 [%a], {%x, %y, %v, %delta};
            add.u32 %a, %a, 16;
            sub.u32 %n, %n, 1;
            bra header;
        header:
            setp.eq.u32 %p, %n, 0;
            @%p bra done;
            ld.global.v4.f32 {%x, %y, %v, %delta}, [%a];
            bra store;
        done:
            ret;";
    check(body, &["Loop 1..=8: 2 in, 0 out, 4 loads, 4 stores, x1 = -135"]);
    let module = module(body);
    assert_eq!(search(&module).1.candidates[0].entry, 8 + 5);
}

#[test]
fn a_loop_left_in_the_middle_by_two_ways_is_refused() {
    let body = copy_loop(
        "",
        "setp.eq.u32 %q, %n, 7; @%q bra elsewhere;",
        "sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra next; bar.sync 0; elsewhere:",
    );
    let module = module(&body);
    let (_, found) = search(&module);
    assert_eq!(found.candidates, []);
    assert!(matches!(found.refused[..], [refused] if refused.refusal == Refusal::Leaves(14)), "{found:?}");
}

#[test]
fn an_arm_in_a_loop_counts() {
    check(
        "next:
            ld.global.u32 %j, [%a];
            setp.eq.u32 %q, %j, 0;
            @%q bra skip;
            st.global.u32 [%b], %j;
        skip:
            sub.u32 %n, %n, 1;
            setp.ne.u32 %p, %n, 0;
            @%p bra next;
            ret;",
        &["Loop 0..=6: 3 in, 0 out, 1 loads, 1 stores, x2 = -3.5 if %n >= 2"],
    );
}

/// An inner loop of static count is a factor of the accesses of the outer one.
#[test]
fn nested_loops() {
    check(
        "outer:
            mov.u32 %i, 0;
        inner:
            ld.global.u32 %j, [%a];
            st.global.u32 [%b], %j;
            add.u32 %a, %a, 4;
            add.u32 %i, %i, 1;
            setp.lt.u32 %p, %i, 8;
            @%p bra inner;
            sub.u32 %n, %n, 1;
            setp.ne.u32 %p, %n, 0;
            @%p bra outer;
            ret;",
        &["Loop 0..=9: 3 in, 0 out, 8 loads, 8 stores, x1 = -302"],
    );
}

#[test]
fn the_table_keeps_the_best() {
    let body = format!("{} {PIECE} {PIECE} bar.sync 0; ret;", format!("{PIECE} bar.sync 0;").repeat(45));
    let module = module(&body);
    let (_, found) = search(&module);
    assert_eq!((found.candidates.len(), found.dropped), (40, 6));
    assert!(found.candidates.is_sorted_by_key(|c| c.begin));
    // The last piece saves most.
    assert_eq!(found.candidates[39].begin, 8 + 45 * 4);
}

#[test]
fn a_guard_that_ends_the_kernel_is_taken_to_let_it_go_on() {
    // A region begins with a basic block.
    let guarded = |end: &str| {
        format!("bra on; on: add.u32 %a, %tid.x, 4; setp.ge.u32 %p, %a, 64; @%p bra end; {PIECE} end: {end} ret;")
    };
    check(&guarded(""), &["Region 1..=6: 1 in, 0 out, 4 loads, 2 stores, x1 = -100.5"]);
    // What follows belongs to the kernel's work: the guard may well be taken.
    check(&guarded("add.u32 %t, %t, 1;"), &[&PAYS.replace("0..=2", "4..=6")]);
}
